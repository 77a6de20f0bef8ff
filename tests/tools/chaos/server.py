"""A server with one fault, named on the command line. It uses nothing but the standard library."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path


def say(message: object) -> None:
    write(json.dumps(message).encode() + b"\n")


def write(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def be_silent() -> None:
    """Let everybody see, by the name of this process, that what is wanted will not come any more."""
    Path("/proc/self/comm").write_text("silent")


def hang() -> None:
    be_silent()
    while True:
        time.sleep(60)


def tool(name: str, description: str = "does something") -> dict[str, object]:
    return {"name": name, "description": description, "inputSchema": {"type": "object"}}


class Server:
    """Healthy, in the older dialect; the faults are methods that replace one of these."""

    tools = (tool("echo"),)

    def start(self) -> None:
        pass

    def initialize(self, request: dict) -> None:
        about = {"protocolVersion": "2025-06-18", "serverInfo": {"name": "chaos", "version": "1"}}
        self.answer(request, {**about, "capabilities": {"tools": {"listChanged": True}}})

    def list(self, request: dict) -> None:
        self.answer(request, {"tools": list(self.tools)})

    def call(self, request: dict) -> None:
        text = json.dumps(request["params"].get("arguments"))
        self.answer(request, {"content": [{"type": "text", "text": text}]})

    def end(self) -> None:
        pass

    def answer(self, request: dict, result: object) -> None:
        say({"jsonrpc": "2.0", "id": request["id"], "result": result})

    def run(self) -> None:
        self.start()
        handlers = {"initialize": self.initialize, "tools/list": self.list, "tools/call": self.call}
        for line in sys.stdin:
            request = json.loads(line)
            if request.get("method") in handlers:
                handlers[request["method"]](request)
            elif "id" in request and "method" in request:
                say({"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32601, "message": "unknown"}})
        self.end()


class HangsAtStart(Server):
    def start(self) -> None:
        hang()


class HangsAtInitialize(Server):
    def initialize(self, request: dict) -> None:
        hang()


class HangsAtList(Server):
    def list(self, request: dict) -> None:
        hang()


class HangsAtCall(Server):
    def call(self, request: dict) -> None:
        hang()


class CrashesAtStart(Server):
    def start(self) -> None:
        sys.exit("no configuration found, password=hunter2hunter2")


class TellsSecretAndStops(Server):
    def start(self) -> None:
        sys.exit(f"nobody is let in with {os.environ['SERVICE_KEY']}, sorry")


class CrashesAtList(Server):
    def list(self, request: dict) -> None:
        os.kill(os.getpid(), signal.SIGSEGV)


class CrashesAtCall(Server):
    def call(self, request: dict) -> None:
        os.write(2, b"out of memory\n")
        os._exit(7)


class NoisyAtStart(Server):
    def start(self) -> None:
        write(b"Welcome!\nlistening on stdio\n\n[1, 2]\n{not json}\n")


class NoisyBetween(Server):
    def answer(self, request: dict, result: object) -> None:
        write(b"DEBUG: handling a request\n")
        super().answer(request, result)
        write(b"DEBUG: done\n")


class OnlyNoise(Server):
    def start(self) -> None:
        while True:
            write(b"y\n" * 30_000)


class LongLine(Server):
    def call(self, request: dict) -> None:
        self.answer(request, {"content": [{"type": "text", "text": "x" * 10_000_000}]})


class TooLongLine(Server):
    def list(self, request: dict) -> None:
        self.answer(request, {"tools": [tool("long", "x" * 40_000_000)]})


class HalfCharacters(Server):
    """Cuts texts in the middle of a character, as JavaScript does."""

    def call(self, request: dict) -> None:
        self.answer(request, {"content": [{"type": "text", "text": "party \ud83c"}]})


class InvalidUtf8(Server):
    def answer(self, request: dict, result: object) -> None:
        write(b"\xff\xfe\x00 broken\n")
        super().answer(request, result)


class ManyTools(Server):
    tools = tuple(tool(f"tool_{number}", "does one of many things") for number in range(5000))


class EndlessPages(Server):
    def list(self, request: dict) -> None:
        self.answer(request, {"tools": [tool(f"t{time.monotonic_ns()}")], "nextCursor": str(time.monotonic_ns())})


class HugePages(Server):
    def list(self, request: dict) -> None:
        number = str(time.monotonic_ns())
        self.answer(request, {"tools": [tool(f"t{number}", "x" * 8_000_000)], "nextCursor": number})


class DuplicateNames(Server):
    tools = (tool("twice", "the first"), tool("twice", "the second"))


class ChangesAllTheTime(Server):
    def list(self, request: dict) -> None:
        self.answer(request, {"tools": [tool(f"t{time.monotonic_ns()}")]})
        for _ in range(50):
            say({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})


class OneBytePerSecond(Server):
    def initialize(self, request: dict) -> None:
        be_silent()
        for byte in json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": {"x": "x" * 10_000}}).encode():
            write(bytes([byte]))
            time.sleep(1)


class NeverExits(Server):
    def start(self) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)

    def end(self) -> None:
        hang()


class LeavesDaemon(Server):
    def start(self) -> None:
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                for stream in (0, 1, 2):
                    os.close(stream)
                hang()
            os._exit(0)
        os.wait()


class HasChildren(Server):
    def start(self) -> None:
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])


class FloodsStderr(Server):
    def start(self) -> None:
        if os.fork() == 0:
            while True:
                os.write(2, b"warning: this is fine\n" * 1000)


class FloodsNotices(Server):
    def start(self) -> None:
        if os.fork() == 0:
            line = json.dumps({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}).encode() + b"\n"
            while True:
                write(line * 50)  # few enough for the system to write them in one piece, so that no answer is torn


class AsksWithoutEnd(Server):
    """Asks and asks, and reads no answer."""

    def list(self, request: dict) -> None:
        line = json.dumps({"jsonrpc": "2.0", "id": "mine", "method": "roots/list"}).encode() + b"\n"
        while True:
            write(line * 100)


class WrongIds(Server):
    def answer(self, request: dict, result: object) -> None:
        for number in (None, -1, "1", 10**30, {}):
            say({"jsonrpc": "2.0", "id": number, "result": result})
        be_silent()


class WrongTypes(Server):
    def initialize(self, request: dict) -> None:
        self.answer(request, {"protocolVersion": 7, "capabilities": [], "serverInfo": None})


class WrongShape(Server):
    def list(self, request: dict) -> None:
        self.answer(request, {"tools": {"name": "no list"}})


class ClosesStdout(Server):
    def list(self, request: dict) -> None:
        os.close(1)
        hang()


class DiesOfQuestions(Server):
    """Leaves at the first question it does not know, as some old servers do."""

    def run(self) -> None:
        line = sys.stdin.readline()
        if json.loads(line)["method"] != "initialize":
            sys.exit(1)
        self.initialize(json.loads(line))
        super().run()


class AsksBack(Server):
    """Wants to sample, to elicit and to see the roots before it answers."""

    def call(self, request: dict) -> None:
        answers = []
        for method in ("sampling/createMessage", "elicitation/create", "roots/list", "ping"):
            say({"jsonrpc": "2.0", "id": f"mine-{method}", "method": method, "params": {}})
            reply = json.loads(sys.stdin.readline())
            answers.append("error" if "error" in reply else "result")
        self.answer(request, {"content": [{"type": "text", "text": ",".join(answers)}]})


class RefusesArguments(Server):
    def call(self, request: dict) -> None:
        say({"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32602, "message": "bad arguments"}})


class TellsEnvironment(Server):
    def call(self, request: dict) -> None:
        self.answer(request, {"content": [{"type": "text", "text": json.dumps(dict(os.environ))}]})


class NotesCancellation(Server):
    """Answers no call, but writes down that it was called off."""

    def call(self, request: dict) -> None:
        be_silent()
        for line in sys.stdin:
            Path(os.environ["NOTES"]).write_text(json.loads(line)["method"], encoding="utf-8")


if __name__ == "__main__":
    globals()[sys.argv[1]]().run()
