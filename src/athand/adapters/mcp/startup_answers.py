"""The first answers of `athand mcp`, given while the MCP SDK is still being imported.

The SDK takes most of a second to import, and until then clients wait. The answers to `initialize` and `tools/list` are
the same at every start with the same version, options and client: so they are kept in a file as the SDK gave them, and
given again from there. The SDK gets every `initialize` all the same; what it answers now is kept for the next start.
"""

import hashlib
import json
import logging
import os
import queue
import signal
import sys
import threading
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from athand import __version__
from athand.adapters.mcp.stdio_fds import StdioFds
from athand.files import make_private_folder, replace_atomically

log = logging.getLogger("athand")

_INITIALIZE, _LIST, _INITIALIZED = "initialize", "tools/list", "notifications/initialized"
_FLOWS_NOTE = Path("cache", "has-flows")  # below the data folder, empty
_MOST_CLIENTS = 8
_MOST_FILES = 32
_MOST_LINES = 64  # read and not yet taken by the SDK


class StartupAnswers:
    """Reads the lines of the client; answers the first requests from a file until the SDK reads."""

    def __init__(self, fds: StdioFds, file: Path | None, data_folder: Path | None = None) -> None:
        self._fds = fds
        self._data_folder = data_folder
        self._file = file
        self._known = _read(file)  # by client: what its `initialize` says, and the results by method
        self._client: str | None = None
        self._is_initialized = False
        self._answered: set[str] = set()  # ids of `initialize` that the client has an answer to, and the SDK not yet
        self._lines: queue.Queue[bytes] = queue.Queue(_MOST_LINES)
        self._lock = threading.Lock()
        self._is_answering = bool(self._known)
        self._is_reading = False
        self._first_line = threading.Event()

    def begin(self) -> None:
        """Wait for the first line and answer it, if any answers are known; later lines are read in a thread."""
        if self._known:
            signal.signal(signal.SIGTERM, lambda number, frame: os._exit(0))  # nothing is open yet
            self._is_reading = True
            threading.Thread(target=self._read_lines, name="athand-read", daemon=True).start()
            self._first_line.wait()

    def end(self) -> None:
        """From now on the SDK answers."""
        with self._lock:
            self._is_answering = False

    def readline(self) -> bytes:
        """The next line for the SDK; empty at the end."""
        return self._lines.get() if self._is_reading else self._fds.stdin.readline()

    def _read_lines(self) -> None:
        line = b"\n"
        while line:
            line = self._fds.stdin.readline()
            with self._lock:
                is_done = self._is_answering and self._answer(line)
            if not is_done:
                self._lines.put(line)
            self._first_line.set()

    def _answer(self, line: bytes) -> bool:
        """Answer a line, if its answer is known; whether the SDK needs not see it."""
        request = _parse(line)
        method, params = request.get("method"), request.get("params")
        if method == _INITIALIZE:
            self.learn_client(params)
        self._is_initialized |= method == _INITIALIZED
        result = self._known.get(self._client or "", {}).get(self.find_method(method, params) or "")
        if result is None or "id" not in request or (method == _LIST and not self._is_initialized):
            return False
        if method == _INITIALIZE:
            self._answered.add(str(request["id"]))
        answer = {"jsonrpc": "2.0", "id": request["id"], "result": result}
        try:
            self._fds.write(json.dumps(answer, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
        except BrokenPipeError:
            log.info("The client has gone.")
        return method == _LIST

    def learn_client(self, params: Any) -> None:
        """Remember who asks: answers are for clients that say the same of themselves."""
        self._client = _digest(params)

    def find_method(self, method: Any, params: Any) -> str | None:
        """The method, if its answer is kept; of a list only the first page."""
        is_kept = method == _INITIALIZE or (method == _LIST and not set(params or ()) - {"_meta"})
        return method if is_kept and self._client else None

    def is_answered(self, id_: str | int) -> bool:
        """Whether the client has this answer already; asked once for each answer."""
        is_answered = str(id_) in self._answered
        self._answered.discard(str(id_))
        return is_answered

    def learn(self, method: str, result: Any) -> None:
        """Keep a result for the next start, if it is not known."""
        own = self._known.get(self._client or "", {})
        if self._file is None or self._client is None or own.get(method) == result:
            return
        others = {name: known for name, known in self._known.items() if name != self._client}
        latest = list(others.items())[1 - _MOST_CLIENTS :]
        self._known = {**dict(latest), self._client: {**own, method: result}}
        try:
            _write(self._file, self._known)
        except OSError as error:
            log.info("The next start will not be faster: %s", error)

    def note_flows(self, *, has_flows: bool) -> None:
        """Keep for the next start whether the store has recorded flows, which it cannot ask before it answers."""
        if self._data_folder is None:
            return
        note = self._data_folder / _FLOWS_NOTE
        try:
            if has_flows and not note.is_file():
                make_private_folder(note.parent)
                note.touch(mode=0o600)
            elif not has_flows:
                note.unlink(missing_ok=True)
        except OSError as error:
            log.info("The next start will not know of the recorded flows: %s", error)


def has_flows(data_folder: Path) -> bool:
    """Whether the store had recorded flows when it was last opened for a client."""
    return (data_folder / _FLOWS_NOTE).is_file()


def find_file(data_folder: Path, options: Mapping[str, Any]) -> Path:
    """The file of answers for this version and these options."""
    package = Path(__file__).parents[2]
    sources = sorted(package.rglob("*.py"))
    libraries = [Path(spec.origin) for name in ("mcp", "pydantic") if (spec := find_spec(name)) and spec.origin]
    stamps = [(str(path), path.stat().st_mtime_ns) for path in (*sources, *libraries)]
    return data_folder / "cache" / "mcp" / f"{_digest([__version__, sys.version, options, stamps])}.json"


def _parse(line: bytes) -> dict[str, Any]:
    """The request of a line; empty if it is none that could be answered here."""
    try:
        value = json.loads(line.decode())
    except (ValueError, RecursionError):
        return {}
    is_request = isinstance(value, dict) and value.keys() <= {"jsonrpc", "id", "method", "params"}
    if not is_request or value.get("jsonrpc") != "2.0" or not isinstance(value.get("params", {}), dict):
        return {}
    id_ = value.get("id", 0)
    return value if isinstance(id_, str | int) and not isinstance(id_, bool) else {}


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:32]


def _read(file: Path | None) -> dict[str, dict[str, Any]]:
    try:
        known = json.loads(file.read_bytes()) if file else {}
    except (OSError, ValueError):  # none was written yet, or not by us: it is written anew
        return {}
    is_right = isinstance(known, dict) and all(isinstance(each, dict) for each in known.values())
    return known if is_right else {}


def _write(file: Path, known: Mapping[str, Any]) -> None:
    """Write the file, and remove the oldest ones: those of earlier versions."""
    make_private_folder(file.parent)
    with replace_atomically(file) as opened:
        opened.write(json.dumps(known).encode())
    files = sorted(file.parent.glob("*.json"), key=lambda each: each.stat().st_mtime_ns)
    for each in files[:-_MOST_FILES]:
        each.unlink(missing_ok=True)
