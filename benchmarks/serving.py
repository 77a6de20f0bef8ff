"""The servers as their users meet them: how soon they answer after a start, and how they do under load."""

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

from benchmarks.data import CACHE, ROOT, passages, questions
from benchmarks.engines import ATHAND
from benchmarks.fresh import call
from benchmarks.serving_load import Load, Maker, of_athand, of_plain
from benchmarks.tables import table

SIZE = 100_000
CALLERS, SECONDS, WARM_UP = 16, 60, 5
STARTS = 7
PLAIN = "FastAPI + FTS5"
SERVE = (sys.executable, "-m", "athand", "serve", "--port", "0", "--json")
MCP = (sys.executable, "-m", "athand", "mcp")
HELP = (sys.executable, "-m", "athand", "--help")
_GREETING = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
_STDIO = ("initialize", "tools/list", "search")

Results = dict[str, Any]


def measure(size: int = SIZE, seconds: float = SECONDS) -> Results:
    """Starts and load, on one store."""
    CACHE.mkdir(exist_ok=True)
    with TemporaryDirectory(dir=CACHE) as name:
        home = Path(name)
        print(f"{size:,} passages: building …", flush=True)
        built = {engine: _built(engine, size, home) for engine in (ATHAND, "FTS5")}
        found: Results = {"passages": size, "build_s": built, "callers": CALLERS, "starts": _starts(home)}
        found["load"] = {ATHAND: _load_athand(home, seconds), PLAIN: _load_plain(home, seconds)}
    return found


def _built(engine: str, size: int, home: Path) -> float:
    seconds: float = call("benchmarks.latency_tasks:build", engine, size, str(home))["build_s"]
    if engine == ATHAND:
        _run(home, "docs", "add", str(ROOT / "docs"))
    return seconds


def _starts(home: Path) -> Results:
    """The first answers of `athand mcp`, and the time of `--help`."""
    print("starts …", flush=True)
    return {
        "warm": _medians([_first_answers(home, {}) for _ in range(STARTS)]),
        "cold": _medians([_cold(home) for _ in range(STARTS)]),
        "uncompiled": _medians([_uncompiled(home) for _ in range(3)]),
        "help_s": statistics.median(_seconds_of(HELP, home) for _ in range(STARTS)),
    }


def _cold(home: Path) -> Results:
    """As after the machine was switched on: the files of the program, the model and the store are not in memory."""
    for folder in (home, ROOT / "src", Path(sys.prefix) / "lib"):
        for path in folder.rglob("*"):
            if path.is_file():
                with path.open("rb") as file:
                    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    with TemporaryDirectory(dir=CACHE) as empty:
        return _first_answers(home, {"HOME": empty})


def _uncompiled(home: Path) -> Results:
    """As after an installation by a tool that compiles nothing: Python compiles every module that is used."""
    with TemporaryDirectory(dir=CACHE) as empty:
        return _first_answers(home, {"PYTHONPYCACHEPREFIX": empty, "HOME": empty})


def _first_answers(home: Path, more: dict[str, str]) -> Results:
    """Seconds from the start of the process to each answer."""
    started = time.perf_counter()
    server = subprocess.Popen(
        MCP, env=_environment(home) | more, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    times = {}
    search = {"name": "search", "arguments": {"query": "how do aircraft wings behave at high speed?"}}
    for number, (what, params) in enumerate(zip(_STDIO, (_GREETING, {}, search), strict=True)):
        method = "tools/call" if what == "search" else what
        _say(server, {"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        answer = json.loads(server.stdout.readline())
        times[what] = time.perf_counter() - started
        if number == 0:
            _say(server, {"jsonrpc": "2.0", "method": "notifications/initialized"})
    if not answer["result"]["structuredContent"]["hits"]:
        raise SystemExit("The first search found nothing: this is not what is to be measured.")
    server.communicate()
    return times


def _say(server: subprocess.Popen[bytes], message: Any) -> None:
    server.stdin.write(json.dumps(message).encode() + b"\n")
    server.stdin.flush()


def _seconds_of(command: Sequence[str], home: Path) -> float:
    started = time.perf_counter()
    subprocess.run(command, env=_environment(home), stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - started


def _medians(runs: Sequence[Results]) -> Results:
    return {what: statistics.median(run[what] for run in runs) for what in runs[0]}


def _load_athand(home: Path, seconds: float) -> Results:
    print(f"{ATHAND}: {CALLERS} callers …", flush=True)
    with _process(SERVE, _environment(home), stdout=subprocess.PIPE) as server:
        told = json.loads(server.stdout.readline())
        token = Path(told["token_file"]).read_text("utf-8").strip()
        return _loaded(server, urlsplit(told["url"]).port, token, of_athand, seconds)


def _load_plain(home: Path, seconds: float) -> Results:
    print(f"{PLAIN}: {CALLERS} callers …", flush=True)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = (sys.executable, "-m", "benchmarks.serving_load", str(home / "fts5.db"), str(port))
    with _process(command, dict(os.environ)) as server:
        _wait_for(port)
        return _loaded(server, port, "", of_plain, seconds)


def _loaded(server: subprocess.Popen[bytes], port: int, token: str, make: Maker, seconds: float) -> Results:
    new = [each["content"] for each in islice(passages(SIZE + 500), SIZE, None)]
    load = Load(port, token, make, questions(400), new)
    load.run(CALLERS, min(WARM_UP, seconds))
    before = _processor_seconds(server.pid)
    found = load.run(CALLERS, seconds)
    spent = _processor_seconds(server.pid) - before
    return {**found, "cpu_ms": spent / found["requests"] * 1000, "memory_mb": _memory(server.pid)}


@contextmanager
def _process(command: Sequence[str], environment: dict[str, str], **streams: Any) -> Iterator[subprocess.Popen[bytes]]:
    server = subprocess.Popen(command, env=environment, cwd=ROOT, **streams)
    try:
        yield server
    finally:
        server.terminate()
        server.communicate(timeout=60)


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except ConnectionRefusedError:
            time.sleep(0.1)
    raise SystemExit(f"Nobody listens at port {port}.")


def _processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _memory(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _run(home: Path, *words: str) -> None:
    command = (sys.executable, "-m", "athand", *words)
    subprocess.run(command, env=_environment(home), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)


def _environment(home: Path) -> dict[str, str]:
    """The user's, without his own settings, data and servers."""
    home.chmod(0o700)
    return {**os.environ, "ATHAND_HOME": str(home), "ATHAND_CONFIG": os.devnull}


def tables(results: Results) -> Iterator[str]:
    """Starts, then load, then its routes."""
    starts = results["starts"]
    rows = [[kind, *(f"{starts[kind][what]:.2f}" for what in _STDIO)] for kind in ("warm", "cold", "uncompiled")]
    yield (
        f"### Starts\n\nSeconds from the start of `athand mcp` to each answer, on a store of "
        f"{results['passages']:,} passages; medians. Cold: no file of the program, the model or the store is in "
        f"memory. Uncompiled: Python has to compile every module.\n\n"
        f"{table(['', *_STDIO], rows)}\n\n`athand --help`: {starts['help_s']:.2f} s"
    )
    yield (
        f"### Load\n\n{results['callers']} callers over HTTP who ask again as soon as they are answered; one request "
        f"in ten writes. The callers run on the same machine.\n\n{_load_table(results['load'])}"
    )


def _load_table(load: Results) -> str:
    header = ["server", "requests", "per s", "p50 ms", "p95", "p99", "errors", "CPU ms each", "memory MB"]
    rows = []
    for name, found in load.items():
        seconds = found["requests"] / found["per_s"]
        more = [str(found["errors"]), f"{found['cpu_ms']:.1f}", f"{found['memory_mb']:.0f}"]
        rows.append([name, *_row(found, seconds), *more])
        rows += [[f"… {route}", *_row(part, seconds), "", "", ""] for route, part in sorted(found["routes"].items())]
    return table(header, rows)


def _row(found: Results, seconds: float) -> list[str]:
    times = (f"{found[part]:.0f}" for part in ("p50", "p95", "p99"))
    return [f"{found['requests']:,}", f"{found['requests'] / seconds:.0f}", *times]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=SIZE)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    given = parser.parse_args()
    print("\n" + "\n\n".join(tables(measure(given.size, given.seconds))))
