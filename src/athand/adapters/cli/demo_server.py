"""The demo's folder, made anew each time, and the server that the demo leaves running on it."""

import fcntl
import http.client
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from athand.adapters.cli.install_entries import own_command
from athand.config import Settings
from athand.errors import Conflict, Unavailable

MINUTES = 30
_LOCK = "in-use"
_STOP_SECONDS = 20.0  # for a server to finish its requests, before it is killed
_START_SECONDS = 60.0
_POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Home:
    """A folder that holds the demo's store, configuration and tokens, so that the user's are not touched."""

    folder: Path

    @property
    def settings(self) -> Settings:
        """The settings of the demo, whatever the user has configured."""
        return Settings(home=str(self.folder))

    def environment(self, outside: Mapping[str, str]) -> dict[str, str]:
        """The environment variables for a process that works in this folder."""
        others = {name: value for name, value in outside.items() if not name.startswith("ATHAND_")}
        return others | {"ATHAND_HOME": str(self.folder), "ATHAND_CONFIG": str(self.folder / "config.toml")}

    @contextmanager
    def lock(self) -> Iterator[int]:
        """Empty the folder and lock it, for as long as this process, or one that inherits the handle, has it open."""
        self._check_ours()
        for folder in (self.folder.parent, self.folder):  # parents=True alone would leave the first open to others
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle = os.open(self.folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            _stop_previous(handle)
            os.ftruncate(handle, 0)
            self._empty()
            yield from self._remove_on_error(handle)
        finally:
            os.close(handle)

    def _remove_on_error(self, handle: int) -> Iterator[int]:
        """Delete the folder if the demo does not finish."""
        try:
            yield handle
        except BaseException:
            shutil.rmtree(self.folder)
            raise

    def remove(self) -> bool:
        """Stop the server, if one is running, and delete the folder; whether there was one."""
        if not self.folder.exists():
            return False
        with self.lock():
            shutil.rmtree(self.folder)
        return True

    def _check_ours(self) -> None:
        is_ours = (self.folder / _LOCK).is_file() and not self.folder.is_symlink()
        if os.path.lexists(self.folder) and not is_ours:
            raise Conflict(f"{self.folder} was not made by a demo. Move it away, or name another --data-dir.")

    def _empty(self) -> None:
        for each in self.folder.iterdir():
            if each.is_dir() and not each.is_symlink():
                shutil.rmtree(each)
            elif each.name != _LOCK:
                each.unlink()


def note_server(handle: int, process_id: int) -> None:
    """Write the id of the process that holds the folder from now on."""
    os.pwrite(handle, str(process_id).encode(), 0)


def _stop_previous(handle: int) -> None:
    """Lock the folder; a server that holds it is stopped first."""
    if _try_lock(handle):
        return
    process_id = os.pread(handle, 20, 0)
    if not process_id:
        raise Conflict("Another demo is running. Wait until it is done, then try again.")
    _signal(int(process_id), signal.SIGTERM)
    deadline = time.monotonic() + _STOP_SECONDS
    while not _try_lock(handle):
        if time.monotonic() > deadline:
            _signal(int(process_id), signal.SIGKILL)
        time.sleep(_POLL_SECONDS)


def _signal(process_id: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):  # it has just ended by itself
        os.kill(process_id, number)


def _try_lock(handle: int) -> bool:
    """Lock the folder if no other process holds it; whether that worked."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def start_server(home: Home, handle: int, model: str | None) -> dict[str, Any]:
    """Start a server on the demo's store and wait until it answers; returns its addresses and token file."""
    command = [*own_command(), "serve", "--json", "--port=0", f"--stop-after={MINUTES * 60}"]
    output, log = home.folder / "server.json", home.folder / "server.log"
    with output.open("wb") as out, log.open("wb") as err:
        process = subprocess.Popen(  # noqa: S603 - our own program
            [*command, f"--model={model}"] if model else command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            cwd=home.folder,
            env=home.environment(os.environ),
            pass_fds=(handle,),  # it keeps the folder locked as long as it runs
            start_new_session=True,
        )
    note_server(handle, process.pid)
    try:
        return _wait_until_ready(process, home)
    except BaseException:
        process.kill()
        process.wait()
        raise


def _wait_until_ready(process: "subprocess.Popen[bytes]", home: Home) -> dict[str, Any]:
    """The addresses that the server prints when it listens, and its process id."""
    deadline = time.monotonic() + _START_SECONDS
    output = home.folder / "server.json"
    while not (line := output.read_text("utf-8")).endswith("\n"):
        if process.poll() is not None or time.monotonic() > deadline:
            reason = (home.folder / "server.log").read_text("utf-8").strip().split("\n")[-1]
            raise Unavailable(f"The server did not start. {reason} Run the demo without it: athand demo --no-server")
        time.sleep(_POLL_SECONDS)
    server: dict[str, Any] = json.loads(line)
    _check_ready(server["url"])
    return server | {"process_id": process.pid}


def _check_ready(url: str) -> None:
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=_START_SECONDS)
    try:
        connection.request("GET", "/readyz")
        status = connection.getresponse().status
    finally:
        connection.close()
    if status != http.HTTPStatus.OK:
        raise Unavailable(f"The server is not ready: {url}/readyz answers {status}. Run: athand demo")
