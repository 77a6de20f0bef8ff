"""What the tests of the servers share: a home to serve from, the two servers as processes, and callers of them."""

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import uuid
from contextlib import closing, contextmanager, nullcontext
from urllib.parse import quote, urlencode, urlsplit

import psutil
from tests.tools.chaos.harness import MARK, marked
from tests.tools.servers.kit import FILES, Board, write_config
from tests.waiting import PATIENCE, until

from athand import Athand
from athand.adapters.http.token_registry import create_token
from athand.adapters.operations import operations

TIME = {"command": sys.executable, "args": ["-m", "mcp_server_time", "--local-timezone", "UTC"]}
NOTE = "# Deploying\n\nStaging deploys need the VPN and a ticket.\n"
_GREETING = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


class Home:
    """Somebody's home: data, notes, temporary files and sockets have their places in it, and all processes a mark."""

    def __init__(self, place, *, real_server=False):
        self.data, self.notes, self.temporary = place / "data", place / "notes", place / "tmp"
        self.mark = uuid.uuid4().hex
        for folder in (self.notes, self.temporary, place / "run", place / "home"):
            folder.mkdir(parents=True)
        (self.notes / "deploying.md").write_text(NOTE)
        own = {"env": {MARK: self.mark}}
        self.upstream = {"files": Board(place / "files.json", FILES).entry(**own)}
        if real_server:
            self.upstream["time"] = TIME | own
        write_config(self.data / "mcp.json", **self.upstream)
        self.data.chmod(0o700)
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("ATHAND_", "XDG_"))},
            "HOME": str(place / "home"),
            "ATHAND_HOME": str(self.data),
            "TMPDIR": str(self.temporary),
            "XDG_RUNTIME_DIR": str(place / "run"),
            MARK: self.mark,
        }
        self.place = place

    @property
    def database(self):
        return self.data / "athand.db"

    def fill(self):
        """Something of everything."""
        with Athand(self.database) as athand:
            athand.memories.add("Staging deploys need the VPN", project="shop", id="vpn", pinned=True)
            athand.documents.add(self.notes, folder_id="notes")
            walk = athand.flows.start_session(goal="Buy a kettle", app="shop", id="kettle")
            athand.flows.record(walk.id, tool="ui_click", target={"testId": "add-to-cart"})
        return self

    def files(self):
        """All that is there, but the notes and what the upstream server writes down."""
        found = {path.relative_to(self.place).as_posix() for path in self.place.rglob("*")}
        return {name for name in found if not name.startswith(("notes/", "files."))}

    def processes(self):
        """Everybody who was started from here and is still there."""
        return marked(self.mark)


class Serve:
    """`athand serve` as a process of its own."""

    COMMAND = ("serve", "--port", "0", "--json")

    def __init__(self, home, *words):
        self.home = home
        self.process = start(home, *self.COMMAND, *words)
        self.log = _drained(self.process.stderr)
        line = self.process.stdout.readline()
        assert line, self.said()
        self.url = json.loads(line)["url"]
        self.port = urlsplit(self.url).port
        self.token = (home.data / "token").read_text().strip()

    def said(self):
        """All that it has written to the log so far."""
        return b"".join(self.log).decode()

    def give_token(self, name, *scopes):
        """A new token, which the server knows."""
        token = create_token(self.home.data, name, scopes)[1]
        until(lambda: self.send("GET", "/nowhere", token=token).status == 404)
        return token

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)

    def send(self, method, path, body=None, *, connection=None, token=None, **headers):
        """Send a request; the answer, and all of its body."""
        given = {"Authorization": f"Bearer {token or self.token}", "Content-Type": "application/json", **headers}
        with nullcontext(connection) if connection else closing(self.connect()) as own:
            own.request(method, path, body, given)
            answer = own.getresponse()
            answer.data = answer.read()
        return answer

    def perform(self, name, arguments, **more):
        """Send an operation as its route takes it."""
        path, body = request_of(name, arguments)
        return self.send("GET" if body is None else "POST", path, body, **more)

    def call(self, name, **arguments):
        """What an operation answers."""
        answer = self.perform(name, arguments)
        assert answer.status == 200, answer.data
        return json.loads(answer.data)

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)


class Mcp:
    """`athand mcp` as a process of its own, spoken to line by line."""

    COMMAND = ("mcp",)

    def __init__(self, home, *words):
        self.process = start(home, *self.COMMAND, *words)
        self.log = _drained(self.process.stderr)
        self._number = 0
        self.ask("initialize", _GREETING)
        self.tell({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def said(self):
        return b"".join(self.log).decode()

    def tell(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method, params):
        """The message that answers; there is always one."""
        self._number += 1
        self.tell({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        line = self.process.stdout.readline()
        assert line, self.said()
        answer = json.loads(line)
        assert answer["id"] == self._number, answer
        return answer

    def perform(self, name, arguments):
        return self.ask("tools/call", {"name": name, "arguments": arguments})

    def call(self, name, **arguments):
        result = self.perform(name, arguments)["result"]
        assert not result.get("isError"), result
        return result["structuredContent"]

    def stop(self, number=None):
        """By a signal, or by leaving."""
        if number is None:
            self.process.stdin.close()
        else:
            self.process.send_signal(number)
        return self.process.wait(PATIENCE)


def start(home, *words):
    """A command of Athand, in a home."""
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    command = [sys.executable, "-m", "athand", *words]
    return subprocess.Popen(command, env=home.environment, cwd=home.environment["HOME"], **streams)


@contextmanager
def running(kind, home, *words):
    """A server that is sure to be gone afterwards."""
    server = kind(home, *words)
    try:
        yield server
    finally:
        end(server)


def end(server):
    server.process.kill()
    server.process.wait(PATIENCE)
    for stream in (server.process.stdin, server.process.stdout):
        stream.close()


def request_of(name, arguments):
    """The address and the body of an operation; no body where it is a read, which the address has all of."""
    operation = operations()[name]
    if operation.kind == "read":
        given = {name: json.dumps(value) if isinstance(value, dict) else value for name, value in arguments.items()}
        return f"/v1/{operation.path}?{urlencode(given, doseq=True, errors='surrogatepass')}", None
    return f"/v1/{operation.path}", json.dumps(arguments)


def descendants(server):
    """Every process that a server has started, and those that these have started."""
    return psutil.Process(server.process.pid).children(recursive=True)


def still_there(processes):
    _, alive = psutil.wait_procs(processes, timeout=PATIENCE)
    return alive


def resource(folder, path):
    """The address of a document for MCP clients, however odd its path."""
    return f"athand://document/{folder}/{quote(path, errors='surrogatepass')}"


def _drained(stream):
    """What comes out of a stream: read at once, so that nobody ever waits to write to it."""
    lines = []

    def read():
        with stream:
            lines.extend(stream)

    threading.Thread(target=read, daemon=True).start()
    return lines
