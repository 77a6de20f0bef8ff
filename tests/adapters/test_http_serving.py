"""`athand serve` as a process: it starts, answers, and ends without leaving anything behind."""

import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import sysconfig
import time
from contextlib import closing, contextmanager
from http.client import HTTPConnection, HTTPSConnection
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest
import trustme
from tests.waiting import PATIENCE

ASKER = Path(__file__).parents[1] / "tools" / "servers" / "asker_older.py"
# A server that waits long enough for whoever is slow to ask what he has begun to ask.
PATIENT = """
from athand.adapters.http import server
server._GRACE_SECONDS = server._ANSWER_SECONDS = 600
from athand.adapters.cli import main
main()
"""


# Its tool servers, its browsers or its store need for ever to end.
STUCK = """
import threading
from athand.adapters.http import server
from athand.adapters.operations import AppContext
server._GRACE_SECONDS = server._ANSWER_SECONDS = 1
AppContext.close = lambda self: threading.Event().wait()
from athand.adapters.cli import main
main()
"""


class Served:
    """A server that was started, and a client for it."""

    def __init__(self, process, told, context=None):
        self.process, self.told, self.context = process, told, context
        self.place = urlsplit(told["url"])
        self.token = Path(told["token_file"]).read_text().strip()

    def connect(self):
        if self.place.scheme == "https":
            return HTTPSConnection(self.place.hostname, self.place.port, timeout=PATIENCE, context=self.context)
        return HTTPConnection(self.place.hostname, self.place.port, timeout=PATIENCE)

    def ask(self, method, path, body=None):
        connection = self.connect()
        try:
            connection.request(method, path, body and json.dumps(body), self.headers())
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()

    def headers(self):
        return {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}

    def half_a_request(self, body):
        """A request that is being answered: all of it is sent but the last byte."""
        connection = self.connect()
        connection.putrequest("POST", "/v1/memories/add")
        for name, value in {**self.headers(), "Content-Length": str(len(body))}.items():
            connection.putheader(name, value)
        connection.endheaders()
        connection.send(body[:-1])
        self.ask("GET", "/healthz")  # answered after the other was begun
        return connection

    def end(self, signal_number):
        self.process.send_signal(signal_number)
        return self.process.wait(PATIENCE)


@contextmanager
def served(home, *options, context=None, program=PATIENT):
    """A server with a home of its own; it is gone afterwards in any case."""
    home.mkdir(exist_ok=True)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ATHAND_")}
    environment = {**kept, "ATHAND_HOME": str(home), "ATHAND_CONFIG": str(home / "config.toml")}
    command = [sys.executable, "-c", program, "serve", "--port=0", "--json", *options]
    with (home / "log").open("ab") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, env=environment, cwd=home)
    try:
        told = process.stdout.readline()
        assert told, (home / "log").read_text()
        yield Served(process, json.loads(told), context)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.fixture(scope="module")
def standing(tmp_path_factory):
    """A server that several ask."""
    with served(tmp_path_factory.mktemp("standing") / "home", "--no-mcp") as server:
        yield server


def wait_for(what):
    """Wait until something is so."""
    patience = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < patience
        time.sleep(0.05)


def test_a_server_finishes_what_it_does_and_leaves_nothing_behind(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    clock = {"command": str(Path(sysconfig.get_path("scripts")) / "mcp-server-time")}
    (home / "mcp.json").write_text(json.dumps({"mcpServers": {"clock": clock}}))
    with served(home, "--log-json") as server:
        wait_for(lambda: server.ask("GET", "/tools")[1])
        children = psutil.Process(server.process.pid).children(recursive=True)
        assert children
        assert server.ask("GET", "/v1/search?query=whispered")[0] == 200
        begun = server.half_a_request(b'{"content": "Staging deploys need the VPN"}')
        server.process.send_signal(signal.SIGTERM)
        wait_for(lambda: not is_listening(server))
        begun.send(b"}")
        assert begun.getresponse().status == 200
        begun.close()
        assert server.process.wait(PATIENCE) == 0
        assert not psutil.wait_procs(children, PATIENCE)[1]
    assert {each.name for each in home.iterdir()} == {"log", "mcp.json", "athand.db", "token", "sessions.json"}
    check_log((home / "log").read_text(), server.token)


def is_listening(server):
    with socket.socket() as probe:
        return probe.connect_ex((server.place.hostname, server.place.port)) == 0


def check_log(text, token):
    """One line for each request, with its route and its caller; never what was asked."""
    lines = [json.loads(line) for line in text.splitlines()]
    searches = [line for line in lines if line.get("route") == "/v1/search"]
    assert [(each["method"], each["status"], each["caller"]) for each in searches] == [("GET", 200, "owner")]
    assert "whispered" not in text
    assert "VPN" not in text
    assert token not in text


def test_a_server_that_was_killed_starts_again_and_knows_everything(tmp_path):
    with served(tmp_path / "home", "--no-mcp") as server:
        token = server.token
        assert server.ask("POST", "/v1/memories/add", {"content": "Kept for good", "id": "kept"})[0] == 200
        server.end(signal.SIGKILL)
    with served(tmp_path / "home", "--no-mcp") as again:
        assert again.token == token
        assert again.told["mcp"] is None
        assert again.ask("GET", "/v1/memories/get?id=kept")[1]["content"] == "Kept for good"
        assert again.end(signal.SIGINT) == 130


def test_over_tls_other_machines_may_ask_and_a_second_signal_ends_at_once(tmp_path):
    authority = trustme.CA()
    authority.issue_cert("localhost").private_key_and_cert_chain_pem.write_to_path(str(tmp_path / "pem"))
    context = ssl.create_default_context()
    authority.configure_trust(context)
    files = (f"--tls-cert={tmp_path / 'pem'}", f"--tls-key={tmp_path / 'pem'}")
    with served(tmp_path / "home", "--no-mcp", "--host=0.0.0.0", *files, context=context) as server:
        server.place = server.place._replace(netloc=f"localhost:{server.place.port}")
        assert server.told["url"].startswith("https://")
        assert server.ask("GET", "/v1/status")[0] == 200
        begun = server.half_a_request(b'{"content": "never sent"}')
        server.process.send_signal(signal.SIGTERM)
        wait_for(lambda: not is_listening(server))
        assert server.end(signal.SIGTERM) == 128 + signal.SIGTERM
        begun.close()


def test_a_call_whose_client_leaves_is_called_off_at_its_server(tmp_path):
    home, notes = tmp_path / "home", tmp_path / "notes"
    home.mkdir()
    asker = {"command": sys.executable, "args": ["-I", "-S", str(ASKER), str(notes)]}
    (home / "mcp.json").write_text(json.dumps({"mcpServers": {"asker": asker}}))
    with served(home, "--no-mcp") as server:
        wait_for(lambda: "asker__wait" in {each["id"] for each in server.ask("GET", "/tools")[1]})
        connection = server.connect()
        head = {**server.headers(), "Content-Type": "application/json"}
        connection.request("POST", "/tools/asker__wait", b'{"arguments": {}}', head)
        wait_for(notes.with_suffix(".begun").exists)
        assert not notes.with_suffix(".cancelled").exists()
        connection.close()
        wait_for(notes.with_suffix(".cancelled").exists)
        server.end(signal.SIGTERM)
    assert "did not wait" not in (home / "log").read_text()


def test_a_server_of_which_something_does_not_end_is_gone_when_its_grace_is_over(tmp_path):
    with served(tmp_path / "home", "--no-mcp", program=STUCK) as server:
        assert server.end(signal.SIGTERM) == 128 + signal.SIGTERM
    assert "still running 1 s after the signal" in (tmp_path / "home" / "log").read_text()


@pytest.mark.timeout(2 * PATIENCE)  # one that does not would answer here for ever
def test_a_server_may_end_by_itself(run, monkeypatch):
    monkeypatch.setattr("athand.adapters.http.server.configure_logging", lambda **_: None)
    ended = run("serve", "--port=0", "--json", "--stop-after=0", "--no-mcp")
    assert (ended.code, ended.json["mcp"]) == (0, None)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
def test_other_machines_are_not_let_in_without_tls(run, host):
    outcome = run("serve", "--host", host, "--port", "0")
    assert outcome.code == 77
    assert "--tls-cert" in outcome.err
    assert "--insecure-bind" in outcome.err


def test_a_port_that_is_taken_is_told_with_what_to_do(run):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        outcome = run("serve", "--port", str(taken.getsockname()[1]))
    assert outcome.code == 69
    assert "--port 0" in outcome.err


def test_what_cannot_be_served_is_told(run, tmp_path, monkeypatch):
    def resolve(host, *_, **__):
        raise socket.gaierror(socket.EAI_NONAME, f"{host} is not known")

    (tmp_path / "cert.pem").write_text("no certificate")
    certificate = ("--tls-cert", str(tmp_path / "cert.pem"))
    assert run("serve", *certificate).code == 2
    assert run("serve", *certificate, "--tls-key", str(tmp_path / "cert.pem")).code == 65
    assert run("serve", "--insecure-bind", "--host", "192.0.2.1").code == 69
    monkeypatch.setattr(socket, "getaddrinfo", resolve)  # some networks know every name
    assert run("serve", "--insecure-bind", "--host", "nowhere.invalid").code == 2


def test_what_is_no_http_or_too_long_is_a_problem_too(standing):
    for sent in (b"nonsense\r\n\r\n", b"GET /healthz HTTP/1.1\r\nHost:" + b"x" * 65_600):
        with socket.create_connection((standing.place.hostname, standing.place.port), PATIENCE) as connection:
            connection.sendall(sent)
            answer = b"".join(iter(lambda: connection.recv(10_000), b""))
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert b"application/problem+json" in answer
        assert b"nosniff" in answer


def test_a_page_from_another_port_of_this_machine_is_refused(standing):
    with closing(standing.connect()) as connection:
        connection.request("GET", "/healthz", headers={"Origin": "http://127.0.0.1:1"})
        assert connection.getresponse().status == 403


@pytest.fixture
def curl():
    """The program, in a version that knows all that the examples say."""
    program = shutil.which("curl")
    if program is None or "--json" not in subprocess.check_output([program, "--help", "all"], text=True):
        pytest.skip("needs curl 7.82 or newer")


@pytest.mark.usefixtures("curl")
def test_the_examples_of_the_documentation_work(standing):
    page = (Path(__file__).parents[2] / "docs" / "http.md").read_text("utf-8")
    for block in re.findall(r"```bash\n(.*?)```", page, re.DOTALL):
        script = block.replace("http://127.0.0.1:7325", standing.told["url"])
        script = script.replace("~/.local/share/athand/token", standing.told["token_file"])
        done = subprocess.run(["bash", "-euc", script], capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 0, done.stderr
        assert '"hits":[{' in done.stdout


@pytest.fixture
def at_home(standing, monkeypatch, run):
    """Runs a command with the data folder of the server."""
    monkeypatch.delenv("ATHAND_STORE")
    monkeypatch.setenv("ATHAND_HOME", str(Path(standing.told["token_file"]).parent))
    return run


def test_open_finds_the_server_that_runs_and_its_link_logs_in_once(standing, at_home, monkeypatch):
    opened = []
    monkeypatch.setattr("click.launch", lambda link: opened.append(link) or 0)
    assert at_home("open").code == 0
    link = at_home("open", "--print").out.strip()
    told = at_home("open", "--json").json
    assert told["url"] == standing.told["url"] and len({*opened, link, told["page"], standing.told["page"]}) == 4
    for each in (*opened, link, told["page"], standing.told["page"]):
        assert each.startswith(f"{standing.told['url']}/ui/login#")
        assert log_in(standing, each) == 200
        assert log_in(standing, each) == 401


def log_in(server, link):
    connection = server.connect()
    body = json.dumps({"code": link.partition("#")[2]})
    connection.request("POST", "/v1/session", body, {"Content-Type": "application/json", "X-Athand": "page"})
    with closing(connection):
        return connection.getresponse().status


def test_a_server_that_was_killed_or_has_another_store_is_not_found(tmp_path):
    from athand.adapters.cli.server_file import find_server, note_server

    with note_server(tmp_path, "/a.db", "http://127.0.0.1:1"), note_server(tmp_path, "/b.db", "http://127.0.0.1:2"):
        assert find_server(tmp_path, "/a.db") == "http://127.0.0.1:1"
        assert find_server(tmp_path, "/b.db") is None
        left = (tmp_path / "serving.json").read_bytes()
    assert find_server(tmp_path, "/a.db") is None
    (tmp_path / "serving.json").write_bytes(left)
    assert find_server(tmp_path, "/a.db") is None, "nobody holds it"
