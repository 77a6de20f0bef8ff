"""Starting the servers of this folder through a gateway, and counting what is left of them."""

import sys
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from tests.tools.patience import LIMIT, Clock
from tests.waiting import eventually

from athand.errors import NotFound
from athand.tools.gateway import Gateway, Listing
from athand.tools.model import CALL_SECONDS, CONNECT_SECONDS, Launch, ServerKey

__all__ = ["HERE", "MARK", "Scene", "eventually", "handles", "key", "marked", "scene", "supervisors_of"]

HERE = Path(__file__).parent
MARK = "ATHAND_TEST_MARK"


def key(name: str) -> ServerKey:
    return ("here", name)


class Scene:
    """A gateway with servers, what they listed, and a mark by which all their processes are known."""

    def __init__(self, **options: Any) -> None:
        self.mark = uuid.uuid4().hex
        self.launches: dict[ServerKey, Launch] = {}
        self.listings: dict[ServerKey, list[Listing]] = {}
        self.threads: set[str] = set()
        self.gateway = Gateway(self._launch, self._listed, **{"tokens": None, **options})

    @cached_property
    def clock(self) -> Clock:
        """The clock of the gateway."""
        return Clock(self.gateway)

    def chaos(self, fault: str, name: str = "", **options: Any) -> ServerKey:
        """A server of this folder with one fault."""
        args = ("-I", "-S", str(HERE / "server.py"), fault)
        env = {MARK: f"{self.mark}.{name or fault}."}
        return self.add(Launch(name or fault, "stdio", sys.executable, args, env, **options))

    def script(self, name: str, *words: str, env: dict[str, str] | None = None, **options: Any) -> ServerKey:
        """A server of this folder that is a file of its own."""
        args = ("-I", str(HERE / f"{name}.py"), *words)
        return self.add(Launch(name, "stdio", sys.executable, args, {MARK: self.mark, **(env or {})}, **options))

    def add(self, launch: Launch) -> ServerKey:
        """A server; where nothing is said of its limits, they are beyond what a busy machine can take."""
        connect = LIMIT if launch.connect_seconds == CONNECT_SECONDS else launch.connect_seconds
        call = LIMIT if launch.call_seconds == CALL_SECONDS else launch.call_seconds
        self.launches[key(launch.name)] = replace(launch, connect_seconds=connect, call_seconds=call)
        return key(launch.name)

    def text(self, server: ServerKey, tool: str = "echo", seconds: float | None = None, **arguments: Any) -> str:
        """What a tool answers as text."""
        return str(self.gateway.call(server, tool, arguments, seconds=seconds)["content"][0]["text"])

    def names(self, server: ServerKey) -> list[str]:
        """The names of the tools in the last listing."""
        return [tool["name"] for tool in self.listings[server][-1].tools]

    def left(self) -> list[int]:
        """The processes of these servers that are still there."""
        return marked(self.mark)

    def is_silent(self, server: ServerKey) -> bool:
        """Whether a server has come to where it will never say what is wanted."""
        return any(_name(process) == "silent" for process in marked(f"{self.mark}.{server[1]}."))

    def _launch(self, server: ServerKey) -> Launch:
        if server not in self.launches:
            raise NotFound(f"There is no server {server[1]}.")
        return self.launches[server]

    def _listed(self, server: ServerKey, listing: Listing) -> None:
        self.threads.add(threading.current_thread().name)
        self.listings.setdefault(server, []).append(listing)


@contextmanager
def scene(**options: Any) -> Iterator[Scene]:
    """A scene that leaves nothing behind."""
    ours = Scene(**options)
    try:
        yield ours
    finally:
        ours.gateway.close()


def marked(mark: str) -> list[int]:
    """The processes whose environment has the mark."""
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit() and _has(path, mark)]


def _has(process: Path, mark: str) -> bool:
    try:
        return f"{MARK}={mark}".encode() in (process / "environ").read_bytes()
    except OSError:
        return False


def _name(process: int) -> str:
    try:
        return Path(f"/proc/{process}/comm").read_text().strip()
    except OSError:
        return ""


def supervisors_of(pid: int) -> list[int]:
    """The processes that a process has started to keep servers."""
    found = []
    for thread in Path(f"/proc/{pid}/task").iterdir():
        found += [int(child) for child in (thread / "children").read_text().split()]
    return [child for child in found if b"supervisor.py" in Path(f"/proc/{child}/cmdline").read_bytes()]


def handles() -> int:
    """How many files this process has open."""
    return len(list(Path("/proc/self/fd").iterdir()))
