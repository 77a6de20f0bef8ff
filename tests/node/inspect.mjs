// Runs commands of the MCP Inspector in one process, because starting Node takes longer than most of them:
// each line of standard input is a list of arguments, each line of the answer is what it printed.
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [entry, name] = process.argv.slice(2);
const run = (await import(pathToFileURL(entry).href))[name];
const write = process.stdout.write.bind(process.stdout);

for await (const line of createInterface({ input: process.stdin })) {
  let printed = "";
  process.stdout.write = (text, ...rest) => {
    printed += text;
    rest.find((each) => typeof each === "function")?.();
    return true;
  };
  let error = null;
  try {
    await run([process.execPath, entry, ...JSON.parse(line)]);
  } catch (failure) {
    error = String(failure?.message ?? failure);
  }
  process.stdout.write = write;
  write(JSON.stringify({ printed, error, code: process.exitCode ?? 0 }) + "\n");
  process.exitCode = 0;
}
process.exit(0);
