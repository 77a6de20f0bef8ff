"""How much processor time it takes to begin: a search on the shell, and the first answers of `athand mcp`.

Seconds of user and system time of the process, the least of several runs: the wall clock would count what else the
machine does. Modules are compiled before. Beside them stand the floor, which is Python alone, and the import of the
MCP SDK, which is the least that a server begins with that imports it before it answers.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psutil

from benchmarks.tables import table

RUNS = 7
FLOOR, SDK = "Python alone", "import of the MCP SDK"
SHELL = {"athand --version": ("--version",), "athand search": ("search", "deploy"), "athand --help": ("--help",)}
FIRST, LATER = "athand mcp, first start", "athand mcp, later starts"
_HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
_SEARCH = {"name": "search", "arguments": {"query": "deploy"}}
_REQUESTS = {"initialize": ("initialize", _HELLO), "tools/list": ("tools/list", {}), "search": ("tools/call", _SEARCH)}

Seconds = dict[str, float]


def measure() -> dict[str, Any]:
    """Commands as a whole, and answers over MCP by request."""
    with TemporaryDirectory() as name:
        home = _environment(Path(name))
        _run(home, *_athand("memory", "add", "Staging deploys need the VPN", "--project", "shop"))
        commands = {FLOOR: ("-c", "pass"), SDK: ("-c", "import mcp")}
        commands |= {name: _athand(*words) for name, words in SHELL.items()}
        seconds = {name: _least(lambda words=words: {"s": _run(home, *words)})["s"] for name, words in commands.items()}
        answers = {FIRST: _least(lambda: _ask(_forget(home))), LATER: _least(lambda: _ask(home))}
    return {"runs": RUNS, "commands": seconds, "answers": answers}


def _athand(*words: str) -> Sequence[str]:
    return ("-m", "athand", *words)


def _environment(folder: Path) -> dict[str, str]:
    """A home and compiled modules of its own."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"ATHAND_HOME": str(folder / "home"), "PYTHONPYCACHEPREFIX": str(folder / "compiled")}


def _forget(home: Mapping[str, str]) -> Mapping[str, str]:
    """The same home without the answers that were kept."""
    for file in (Path(home["ATHAND_HOME"]) / "cache" / "mcp").glob("*.json"):
        file.unlink()
    return home


def _least(run: Callable[[], Seconds]) -> Seconds:
    """The least of several runs by name, after one that compiles and fills caches."""
    run()
    found = [run() for _ in range(RUNS)]
    return {name: min(each[name] for each in found) for name in found[0]}


def _run(home: Mapping[str, str], *words: str) -> float:
    """The processor seconds of a command."""
    process = subprocess.Popen([sys.executable, *words], env=home, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(words)} ended with {process.returncode}.")
    return used.ru_utime + used.ru_stime


def _ask(home: Mapping[str, str]) -> Seconds:
    """The processor seconds of a server up to each answer; the client asks at once, as no agent does."""
    command = [sys.executable, *_athand("mcp")]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    seconds: Seconds = {}
    with subprocess.Popen(command, env=home, **pipes) as server:
        for number, (name, (method, params)) in enumerate(_REQUESTS.items()):
            _say(server, {"jsonrpc": "2.0", "id": number, "method": method, "params": params})
            answer = json.loads(server.stdout.readline())
            used = psutil.Process(server.pid).cpu_times()
            seconds[name] = used.user + used.system
            if number == 0:
                _say(server, {"jsonrpc": "2.0", "method": "notifications/initialized"})
        server.stdin.close()
    if not answer["result"]["structuredContent"]["hits"]:
        raise SystemExit("The first search found nothing: this is not what is to be measured.")
    return seconds


def _say(server: subprocess.Popen[bytes], message: Any) -> None:
    server.stdin.write(json.dumps(message).encode() + b"\n")
    server.stdin.flush()


def tables(results: Mapping[str, Any]) -> Iterator[str]:
    """Markdown: commands, then answers over MCP."""
    yield f"Processor seconds, the least of {results['runs']} runs:\n"
    yield table(("command", "s"), [(name, f"{s:.2f}") for name, s in results["commands"].items()]) + "\n"
    rows = [(name, *(f"{each[what]:.2f}" for what in _REQUESTS)) for name, each in results["answers"].items()]
    yield "Processor seconds until `athand mcp` has answered, asked at once:\n"
    yield table(("server", *_REQUESTS), rows) + "\n"
