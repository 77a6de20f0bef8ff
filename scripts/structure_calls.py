"""Counts what a call of the product passes through: modules entered, and calls from one module to another.

Only public names are used, so that it works on any tree of the product: the class is named as the package, servers are
started by its command. A server runs in a process of its own with the same counter, which a pipe switches on and off.
"""

import dis
import importlib
import inspect
import json
import os
import subprocess
import sys
import tempfile
import threading
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

QUESTION = "database migrations"
Figures = dict[str, int]
_CAN_RESUME = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


class Counter:
    """Counts calls of functions of one package, in every thread, while it is on."""

    def __init__(self, package: ModuleType) -> None:
        self._root = str(Path(str(package.__file__)).parent) + os.sep
        self._modules: set[str] = set()
        self._calls = self._crossings = 0
        self.is_on = False

    def install(self) -> None:
        """Watch this thread and all that start from now on."""
        threading.setprofile(self._note)
        sys.setprofile(self._note)

    def start(self) -> None:
        self._modules, self._calls, self._crossings, self.is_on = set(), 0, 0, True

    def stop(self) -> Figures:
        self.is_on = False
        return {"modules": len(self._modules), "calls": self._calls, "crossings": self._crossings}

    def _note(self, frame: FrameType, event: str, _: Any) -> None:
        if not self.is_on or event != "call":
            return
        file = frame.f_code.co_filename
        if not file.startswith(self._root) or _is_resumed(frame):
            return
        self._modules.add(file)
        self._calls += 1
        caller = frame.f_back.f_code.co_filename if frame.f_back is not None else ""
        self._crossings += caller.startswith(self._root) and caller != file


def _is_resumed(frame: FrameType) -> bool:
    """Whether a generator or coroutine goes on: that is no new call."""
    code = frame.f_code
    first = code.co_code[::2].find(dis.opmap["RESUME"]) * 2
    return bool(code.co_flags & _CAN_RESUME) and frame.f_lasti > first


def count_calls(package: str) -> dict[str, Figures]:
    """Figures of seven calls, each after one to warm up."""
    module = importlib.import_module(package)
    with tempfile.TemporaryDirectory(prefix="structure-") as name:
        home = Path(name)
        for variable in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
            os.environ[variable] = str(home)
        return {**_count_library(module, home), **_count_servers(package, home)}


def _count_library(package: ModuleType, home: Path) -> dict[str, Figures]:
    counter, figures = Counter(package), {}
    counter.install()
    try:
        with _public_class(package)(home / "store.db") as app:
            _fill(app, home)
            for name, call in _library_calls(app, home).items():
                call()
                counter.start()
                call()
                figures[name] = counter.stop()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    return figures


def _public_class(package: ModuleType) -> Any:
    return next(getattr(package, name) for name in package.__all__ if name.lower() == package.__name__)


def _fill(app: Any, home: Path) -> None:
    """Twenty memories, a folder of twenty files, and three sessions of one flow."""
    for number in range(20):
        app.memories.add(f"We decided to use release {number} of the tool for {QUESTION} in part {number % 3}")
    app.documents.add(_write_folder(home / "notes"))
    for _ in range(3):
        session = app.flows.start_session(goal="order a book", id=None)
        for step in range(3):
            app.flows.record(session.id, **_step(step))


def _step(number: int) -> dict[str, Any]:
    button = {"ref": f"e{number}", "role": "button", "name": f"Next {number}"}
    seen = {"url": f"https://shop.example.com/{number}", "a11y": [button]}
    return {"tool": "click", "target": {"a11yRef": f"e{number}"}, "before": seen}


def _write_folder(folder: Path) -> Path:
    folder.mkdir()
    for number in range(20):
        text = f"# Part {number}\n\nHow {QUESTION} are done in part {number}.\n\n## Steps\n\nFirst stop the service.\n"
        (folder / f"part-{number}.md").write_text(text, "utf-8")
    return folder


def _library_calls(app: Any, home: Path) -> dict[str, Callable[[], object]]:
    names = iter(("first", "second"))
    folders = iter((_write_folder(home / "folder-1"), _write_folder(home / "folder-2")))
    session = app.flows.start_session(goal="order a book")
    app.flows.record(session.id, **_step(0))
    return {
        "memory search": lambda: app.memories.search(QUESTION),
        "memory add": lambda: app.memories.add(f"The {next(names)} thing to know about the office is its door"),
        "search over everything": lambda: app.search(QUESTION),
        "flow suggestion": lambda: app.flows.suggest(session.id),
        "indexing 20 files": lambda: app.documents.add(next(folders)),
    }


def _count_servers(package: str, home: Path) -> dict[str, Figures]:
    with _counted_server(package, home, "serve", "--port", "0", "--json") as (server, count):
        ready = json.loads(server.stdout.readline())
        token = Path(ready["token_file"]).read_text("utf-8").strip()
        http = count(lambda: _post(ready["url"], token))
    with _counted_server(package, home, "mcp") as (server, count):
        _tell(server, "initialize", 0, protocolVersion="2025-06-18", capabilities={}, clientInfo=_CLIENT)
        _send(server, {"jsonrpc": "2.0", "method": "notifications/initialized"})
        question = {"name": "memory_search", "arguments": {"query": QUESTION}}
        mcp = count(lambda: _tell(server, "tools/call", 1, **question))
    return {"HTTP memory search": http, "MCP memory search": mcp}


_CLIENT = {"name": "structure", "version": "1"}


def _post(url: str, token: str) -> None:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    body = json.dumps({"query": QUESTION}).encode()
    request = urllib.request.Request(f"{url}/v1/memories/search", body, headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        assert json.load(answer)


def _tell(server: Any, method: str, number: int, **parameters: Any) -> None:
    """Send a request and wait for its answer."""
    _send(server, {"jsonrpc": "2.0", "id": number, "method": method, "params": parameters})
    while (answer := json.loads(server.stdout.readline())).get("id") != number:
        pass
    assert "result" in answer and not answer["result"].get("isError"), answer


def _send(server: Any, message: dict[str, Any]) -> None:
    server.stdin.write(json.dumps(message) + "\n")
    server.stdin.flush()


@contextmanager
def _counted_server(package: str, home: Path, *command: str) -> Iterator[tuple[Any, Callable[..., Figures]]]:
    """A command of the product with a counter inside; and what counts a call to it, after one to warm up."""
    orders, ours = os.pipe()
    theirs, answers = os.pipe()
    arguments = [sys.executable, __file__, package, str(orders), str(answers), *command]
    with subprocess.Popen(
        [*arguments, "--store", str(home / "store.db"), "--data-dir", str(home / "data")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        pass_fds=(orders, answers),
    ) as server:
        os.close(orders)
        os.close(answers)
        with os.fdopen(ours, "w", buffering=1) as order, os.fdopen(theirs) as answer:

            def switch() -> dict[str, int]:
                order.write("next\n")
                return dict(json.loads(answer.readline()))

            def count(call: Callable[[], object]) -> Figures:
                call()
                switch()
                call()
                return switch()

            try:
                yield server, count
            finally:
                server.terminate()


def _serve(package: str, orders: int, answers: int, command: list[str]) -> None:
    """Run a command with a counter, which each line from the pipe switches."""
    counter = Counter(importlib.import_module(package))
    counter.install()

    def obey() -> None:
        sys.setprofile(None)
        with os.fdopen(orders) as lines, os.fdopen(answers, "w", buffering=1) as out:
            for _ in lines:
                figures = counter.stop() if counter.is_on else counter.start() or {}
                out.write(json.dumps(figures) + "\n")

    threading.Thread(target=obey, daemon=True).start()
    sys.argv = [package, *command]
    importlib.import_module(f"{package}.adapters.cli").main()


if __name__ == "__main__":
    _serve(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
