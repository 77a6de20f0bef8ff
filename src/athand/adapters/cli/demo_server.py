"""The server that the demo leaves: started apart from us, ended by the next demo, by `--stop`, or by itself."""

import http.client
import json
import os
import subprocess
import time
from typing import Any
from urllib.parse import urlsplit

from athand.adapters.cli.demo_home import Home, note_server
from athand.adapters.cli.install import own_command
from athand.errors import Unavailable

MINUTES = 30
_WAIT = 60.0  # seconds until it answers
_A_LOOK = 0.05


def start(home: Home, handle: int, model: str | None) -> dict[str, Any]:
    """Start a server on the demo's store, and wait until it answers; where it is."""
    command = [*own_command(), "serve", "--json", "--port=0", f"--stop-after={MINUTES * 60}"]
    said, log = home.folder / "server.json", home.folder / "server.log"
    with said.open("wb") as out, log.open("wb") as err:
        process = subprocess.Popen(  # noqa: S603 - our own program
            [*command, f"--model={model}"] if model else command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            cwd=home.folder,
            env=home.environment(os.environ),
            pass_fds=(handle,),  # it holds the folder as long as it lives
            start_new_session=True,
        )
    note_server(handle, process.pid)
    try:
        return _answering(process, home)
    except BaseException:
        process.kill()
        process.wait()
        raise


def _answering(process: "subprocess.Popen[bytes]", home: Home) -> dict[str, Any]:
    patience = time.monotonic() + _WAIT
    said = home.folder / "server.json"
    while not (line := said.read_text("utf-8")).endswith("\n"):
        if process.poll() is not None or time.monotonic() > patience:
            told = (home.folder / "server.log").read_text("utf-8").strip().split("\n")[-1]
            raise Unavailable(f"The server did not start. {told} Try without it: athand demo --no-server")
        time.sleep(_A_LOOK)
    server: dict[str, Any] = json.loads(line)
    _check_ready(server["url"])
    return server | {"process_id": process.pid}


def _check_ready(url: str) -> None:
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=_WAIT)
    try:
        connection.request("GET", "/readyz")
        status = connection.getresponse().status
    finally:
        connection.close()
    if status != http.HTTPStatus.OK:
        raise Unavailable(f"The server is not ready: {url}/readyz answers {status}. Run: athand demo")
