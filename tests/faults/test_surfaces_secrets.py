"""Nobody gets out of the folders, nothing secret gets out of the process: asked of the servers as they run."""

import socket
import threading
import zipfile
from itertools import cycle, islice

import pytest
from tests.faults.surfaces import Home, Mcp, Serve, resource, running
from tests.faults.test_document_paths import CANARY, TRAVERSALS
from tests.waiting import PATIENCE

from athand.adapters.http.token_registry import create_token
from athand.adapters.operations import DEFAULT_SCOPES, operations

# Put together here, so that no complete token stands in this file.
KEY = "sk-" + "ant-api03-" + "A1b2C3d4" * 10
PASSWORD = "Tr0mbone-Vault-9f3c"
ASKED = "zorblaxing-quuxify-question"
SCRIPT = "<script>alert('stored')</script><img src=x onerror=alert(1)>"
REFUSED = (400, 404, 421, 422)
# Addresses as no library sends them.
ADDRESSES = (
    *("/../../../../etc/passwd", "//etc/passwd", "/docs/../../outside/canary.md", "/docs/%2e%2e/%2e%2e/etc/passwd"),
    *("/%2e%2e%2f%2e%2e%2fetc%2fpasswd", "/v1/..%2f..%2ftoken", "/tools/..%2f..%2ftoken", "/tools/%00", "/v1//search"),
    *(
        "/runtime/../../token",
        "/continuations/..%2f..%2ftoken",
        "/static/..;/token",
        "/token",
        "/mcp.json",
        "\\..\\token",
    ),
    *(
        "/docs/..\\..\\token",
        "/%c0%ae%c0%ae/token",
        "/%uff0e%uff0e/token",
        "http://localhost/../token",
        "/." + "/.." * 50,
    ),
)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A home whose notes have links out of them, with a canary outside."""
    home = Home(tmp_path_factory.mktemp("secrets"))
    outside = home.place / "outside"
    outside.mkdir()
    (outside / "canary.md").write_text(f"# Canary\n\n{CANARY}\n")
    (home.notes / "out.md").symlink_to(outside / "canary.md")
    (home.notes / "outside").symlink_to(outside)
    (home.notes / "chain").symlink_to("outside")
    return home.fill()


@pytest.fixture(scope="module")
def http(home):
    with running(Serve, home, "--verbose", "--log-json") as server:
        _, server.agent = create_token(home.data, "agent", DEFAULT_SCOPES)
        yield server


@pytest.fixture(scope="module")
def mcp(home, http):
    with running(Mcp, home, "--toolsets", "all") as server:
        yield server


def places(home):
    outside = str(home.place / "outside")
    return [each.replace("{outside}", outside.lstrip("/")) for each in TRAVERSALS if len(each) < 20_000]


def asking_with(path):
    """Every operation on documents that takes a path, and that path."""
    return {
        "explore": {"folder_id": "notes", "path": path},
        "list_documents": {"folder_id": "notes", "path": path},
        "get_document_data": {"folder_id": "notes", "document_id": path},
        "get_document_text": {"folder_id": "notes", "document_id": path},
        "search_documents": {"query": "canary", "path": path},
        "get_chunks": {"folder_id": path, "chunk_ids": [path]},
    }


def by_turns(asking, number, each):
    """So many of all that can be asked, others for the next number."""
    return islice(cycle(asking.items()), number % len(asking), number % len(asking) + each)


@pytest.mark.parametrize("operations_each", [1, pytest.param(6, marks=pytest.mark.slow)])
def test_no_path_leads_out_of_a_folder_over_http(home, http, operations_each):
    connection = http.connect()
    for number, path in enumerate(places(home)):
        for name, arguments in by_turns(asking_with(path), number, operations_each):
            answer = http.perform(name, arguments, connection=connection)
            assert answer.status == 200 or answer.status in REFUSED, (name, path, answer.status, answer.data)
            assert CANARY.encode() not in answer.data and b"root:" not in answer.data
    connection.close()


def test_no_path_leads_out_of_a_folder_over_mcp(home, mcp):
    for path in places(home):
        read = mcp.ask("resources/read", {"uri": resource("notes", path)})
        called = mcp.perform("get_document_text", {"folder_id": "notes", "document_id": path})
        assert "error" in read and called["result"]["isError"], (path, read, called)
        assert CANARY not in f"{read}{called}"


@pytest.mark.parametrize("path", ADDRESSES)
def test_no_address_leads_to_a_file(http, path):
    with socket.create_connection(("127.0.0.1", http.port), timeout=PATIENCE) as connection:
        head = (
            f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {http.token}\r\nConnection: close\r\n\r\n"
        )
        connection.sendall(head.encode())
        answer = b"".join(iter(lambda: connection.recv(65_536), b""))
    status = int(answer.split()[1])
    assert status in REFUSED, answer
    assert CANARY.encode() not in answer and http.token.encode() not in answer


def test_a_file_that_becomes_a_link_while_it_is_read_leads_nowhere(home, http):
    target, spare, end = home.notes / "swapped.md", home.place / "spare", threading.Event()

    def swap():
        while not end.is_set():
            spare.unlink(missing_ok=True)
            spare.symlink_to(home.place / "outside" / "canary.md")
            spare.replace(target)
            spare.write_text("# Inside\n\nAn ordinary note.\n")
            spare.replace(target)

    swapping = threading.Thread(target=swap)
    swapping.start()
    try:
        for _ in range(15):
            http.call("refresh_folder", folder_id="notes")
            found = http.call("search_content", exact_terms=[CANARY])
            assert found["data"]["results"] == []
            read = http.perform("get_document_text", {"folder_id": "notes", "document_id": "swapped.md"})
            assert CANARY.encode() not in read.data
    finally:
        end.set()
        swapping.join()
        target.unlink(missing_ok=True)


def paths_of_the_machine():
    """The operations that take a path on the server's machine."""
    taking = {"path", "config_path", "folder", "config"}
    return [
        each for each in operations().values() if each.scope == "admin" and taking & each.arguments.model_fields.keys()
    ]


def test_whoever_is_not_the_owner_names_no_path_of_the_machine(home, http, mcp):
    wanted = home.place / "outside" / "written"
    assert len(paths_of_the_machine()) >= 6
    for operation in paths_of_the_machine():
        name = next(
            each for each in ("path", "config_path", "folder", "config") if each in operation.arguments.model_fields
        )
        answer = http.perform(operation.name, {name: str(wanted)}, token=http.agent)
        assert answer.status == 403, (operation.name, answer.data)
        assert mcp.perform(operation.name, {name: str(wanted)})["error"]["code"] == -32602
    assert not wanted.exists()


def test_secrets_are_nowhere_on_the_disk_and_in_no_log(home, http, mcp):
    http.call("memory_add", content=f"The key of the staging account is {KEY}", id="key")
    mcp.call("memory_add", content=f"It is still {KEY}, as before", id="key-again", project="other")
    step = {"tool": "ui_type", "target": {"testId": "password"}, "input": {"text": PASSWORD}}
    http.call("knowledge_record", session_id="kettle", **step)
    http.call("search", query=ASKED)
    http.perform("search", {"query": ASKED, "no_such": KEY})
    http.perform("memory_get", {"id": ASKED})
    http.send("GET", f"/v1/search?query={ASKED}", token=KEY)
    http.send("GET", f"/{ASKED}", token=f"{http.token}x")
    exported = home.place / "exported"
    exported.mkdir()
    http.call("memory_export", path=str(exported / "memories.jsonl"))
    http.call("export_store", path=str(exported / "all.zip"))
    http.call("backup_store", path=str(exported / "backup.db"))
    assert http.call("memory_get", id="key")["content"] != ""
    for secret in (KEY, PASSWORD, http.token, http.agent):
        assert [name for name, data in all_files(home) if secret.encode() in data] == [], secret
        assert secret not in http.said() + mcp.said()
    assert ASKED not in http.said() + mcp.said()
    assert '"route": "/v1/search"' in http.said()


def all_files(home):
    """Every file in the home but the owner's token, and what is inside of what was packed."""
    for path in (each for each in home.place.rglob("*") if each.is_file() and each != home.data / "token"):
        yield path.name, path.read_bytes()
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                yield from ((name, archive.read(name)) for name in archive.namelist())


def test_stored_script_is_inert_wherever_it_is_shown(http):
    http.call("memory_add", content=f"A page said {SCRIPT} to us", id="script", project="<script>", tags=["<b>"])
    http.call("add_tools", server="evil", tools=[{"name": "evil", "description": SCRIPT}])
    page = http.send("GET", "/docs")
    assert page.headers["Content-Type"].startswith("text/html") and b"<script" not in page.data.lower()
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]
    for path in (
        "/v1/search?query=page+said",
        "/v1/memories/get?id=script",
        "/search?query=evil&output=types",
        "/tools",
        "/runtime/tools.ts",
        f"/{SCRIPT[:8]}",
        "/metrics",
        "/openapi.json",
        "/healthz",
    ):
        answer = http.send("GET", path)
        assert answer.headers["X-Content-Type-Options"] == "nosniff", path
        assert (
            "html" not in answer.headers["Content-Type"]
            and "default-src 'none'" in answer.headers["Content-Security-Policy"]
        )
