"""The gateway over HTTP, with servers that really run behind it."""

import json
import sys
import sysconfig
from contextlib import contextmanager
from pathlib import Path

import pytest
from fastapi import Depends, FastAPI, HTTPException
from fastapi.testclient import TestClient
from tests.tools.patience import LIMIT, Clock, begun
from tests.waiting import PATIENCE, eventually

from athand import Athand
from athand.adapters.http.tools import tools_app, tools_router

SERVER = '''
from pathlib import Path
import anyio
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations

server = MCPServer("box")
reading, writing = ToolAnnotations(read_only_hint=True), ToolAnnotations(destructive_hint=False)

@server.tool(annotations=reading)
def count_to(number: int) -> list[int]:
    """Count from one to a number."""
    return list(range(1, number + 1))

@server.tool(annotations=reading, structured_output=False)
def long_text(letters: int) -> str:
    """A long text of many letters."""
    return "x" * letters

@server.tool(annotations=writing)
def take_note(text: str) -> str:
    """Write a note down."""
    return f"noted: {text}"

@server.tool()
def break_down() -> str:
    """Always fails."""
    raise ToolError("it is broken")

@server.tool()
async def sleep(until: str) -> str:
    """Answer when there is a file of this name; those who wait are noted beside it."""
    with open(f"{until}.waiting", "a") as noted:
        noted.write("one\\n")
    while not Path(until).exists():
        await anyio.sleep(0.02)
    return "good morning"

server.run()
'''
LIMITS = {"connectSeconds": LIMIT, "callSeconds": LIMIT}
WRONG = {"name": "shout", "description": "Say something loudly", "inputSchema": {"type": "object"}}


@contextmanager
def opened(folder):
    """A store with two servers that run, and a list of tools in a catalogue of its own."""
    (folder / "server.py").write_text(SERVER)
    time = str(Path(sysconfig.get_path("scripts")) / "mcp-server-time")
    servers = {
        "box": {"command": sys.executable, "args": ["-I", str(folder / "server.py")], **LIMITS},
        "time": {"command": time, "args": ["--local-timezone", "UTC"], **LIMITS},
    }
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    with Athand(folder / "r.db") as athand:
        athand.tools.load(folder / "mcp.json")
        assert athand.tools.wait(PATIENCE)
        athand.tools.add("megaphone", [WRONG], catalogue="other")
        yield athand


@pytest.fixture(scope="module")
def athand(tmp_path_factory):
    with opened(tmp_path_factory.mktemp("http")) as athand:
        yield athand


@pytest.fixture(scope="module")
def client(athand):
    with TestClient(tools_app(athand)) as client:
        yield client


def is_problem(response, status):
    problem = response.json()
    assert response.headers["content-type"] == "application/problem+json"
    assert (response.status_code, problem["status"]) == (status, status), problem
    assert problem.keys() == {"type", "title", "status", "detail"}
    return problem["detail"]


def test_tools_are_found_by_address_and_by_body(client, athand):
    asked = {"query": "get the current time in a time zone", "limit": 2}
    found = client.get("/search", params=asked).json()
    assert found == client.post("/search", json=asked).json()
    assert found["hits"][0]["id"] == "time__get_current_time"
    assert found == json.loads(json.dumps(athand.tools.search(**asked).to_dict()))


@pytest.mark.parametrize(
    ("option", "is_found"),
    [
        ({"server": "time"}, False),
        ({"catalogue": "other"}, False),
        ({"mode": "keyword"}, True),
        ({"alpha": 0}, True),
        ({"limit": 1}, True),
    ],
)
def test_every_option_of_a_search_counts(client, option, is_found):
    hits = client.get("/search", params={"query": "keep a note of what I need to buy", **option}).json()["hits"]
    assert ("box__take_note" in [hit["id"] for hit in hits]) == is_found
    assert len(hits) <= option.get("limit", 3)
    has_meaning = [hit for hit in hits if hit["semantic"] > 0]
    assert not has_meaning or not option.keys() & {"mode", "alpha"}


def test_a_higher_threshold_finds_less(client):
    asked = {"query": "remember what I say, in a notebook"}
    assert client.get("/search", params=asked).json()["hits"]
    assert client.get("/search", params={**asked, "threshold": 0.9}).json()["hits"] == []


def test_nothing_is_found_where_nothing_fits(client):
    assert client.get("/search", params={"query": "qwxyz zzgrmpf"}).json()["hits"] == []


@pytest.mark.parametrize(("output", "call"), [("types", "await time.get"), ("python", "= time.get")])
def test_a_search_answers_with_stubs_for_the_reader(client, output, call):
    answer = client.get("/search", params={"query": "get_current_time", "limit": 1, "output": output})
    assert answer.headers["content-type"] == "text/markdown; charset=utf-8"
    assert answer.text.startswith("| Tool | Confidence | Reason |")
    assert call in answer.text
    assert "http://testserver" in answer.text


def test_a_module_knows_its_gateway_wherever_the_routes_are(athand):
    app = FastAPI()
    app.include_router(tools_router(athand), prefix="/routes")
    app.mount("/mounted", tools_app(athand))
    client = TestClient(app, base_url="https://tools.example:8443", root_path="/proxied")
    for place in ("routes", "mounted"):
        module = client.get(f"/proxied/{place}/runtime/tools.py").text
        assert f"_GATEWAY: Final[str | None] = 'https://tools.example:8443/proxied/{place}'" in module


def test_servers_and_statistics_are_told(client, athand):
    servers = client.get("/servers", params={"catalogue": "default"}).json()
    assert {each["name"]: each["state"] for each in servers} == {"box": "connected", "time": "connected"}
    assert client.get("/search/stats").json().keys() == athand.tools.stats().to_dict().keys()


@pytest.mark.parametrize(
    ("asked", "count"),
    [
        ({}, 8),
        ({"filter": "time__*"}, 2),
        ({"filter": "time__*, box__sleep,nothing"}, 3),
        ({"server": "box"}, 5),
        ({"state": "quarantined"}, 0),
        ({"state": "approved", "filter": "*note"}, 1),
        ({"catalogue": ["other", "default"], "filter": "*"}, 8),
    ],
)
def test_tools_are_listed_by_filter_server_and_state(client, asked, count):
    assert len(client.get("/tools", params=asked).json()) == count


def test_a_tool_is_described(client, athand):
    answer = client.get("/tools/box__take_note").json()
    assert answer == json.loads(json.dumps(athand.tools.describe("box__take_note").to_dict()))
    assert answer["kind"] == "write"


@pytest.mark.parametrize("arguments", [{"number": 3}, {"number": "3"}, '{"number": 3}'])
def test_a_tool_is_called_with_arguments_in_any_form(client, arguments):
    answer = client.post("/tools/box__count_to", json={"arguments": arguments}).json()
    assert answer["structured"] == {"result": [1, 2, 3]}
    assert not answer["truncated"]


def test_a_long_answer_is_cut_and_read_on(client):
    answer = client.post("/tools/box__long_text", json={"arguments": {"letters": 45_000}}).json()
    sizes = [len(answer["content"][0]["text"])]
    while answer["continuation"]:
        answer = client.get(f"/continuations/{answer['continuation']}").json()
        sizes.append(len(answer["content"][0]["text"]))
    assert sizes == [20_000, 20_000, 5_000]
    assert "nothing more to read" in is_problem(client.get("/continuations/nope"), 404)


@pytest.mark.parametrize(("most", "length"), [(None, 45_000), (7, 7)])
def test_the_caller_says_how_much_of_an_answer_is_wanted(client, most, length):
    body = {"arguments": {"letters": 45_000}, "max_chars": most}
    assert len(client.post("/tools/box__long_text", json=body).json()["content"][0]["text"]) == length


@pytest.mark.parametrize(
    ("id", "body", "status", "said"),
    [
        ("box__nope", {}, 404, "athand tools list"),
        ("box__count_to", {"arguments": {"number": "many"}}, 422, "number: must be a whole number"),
        ("box__count_to", {"arguments": {"numbr": 1}}, 422, "did you mean 'number'"),
        ("box__take_note", {"arguments": {"text": "x"}, "kinds": ["read"]}, 403, "changes things"),
        ("box__break_down", {"arguments": {}}, 502, "it is broken"),
        ("megaphone__shout", {"arguments": {}}, 503, "without a server"),
        ("box__sleep", {"seconds": -1}, 422, "seconds"),
        ("box__sleep", {"kinds": ["all"]}, 422, "kinds"),
        ("box__sleep", {"arguments": [1]}, 422, "arguments"),
        ("box__sleep", {"argumnts": {}}, 422, "argumnts"),
        ("box__sleep", [], 422, "the body"),
    ],
)
def test_what_goes_wrong_with_a_call_is_a_problem_with_its_reason(client, id, body, status, said):
    assert said in is_problem(client.post(f"/tools/{id}", json=body), status)


def waiting(until):
    """How many calls wait for a file."""
    noted = Path(f"{until}.waiting")
    return len(noted.read_text().splitlines()) if noted.exists() else 0


def test_a_call_that_takes_longer_than_the_caller_allows_is_a_problem(client, athand, tmp_path):
    body = {"arguments": {"until": str(tmp_path / "never")}, "seconds": 100}
    call = begun(lambda: client.post("/tools/box__sleep", json=body))
    assert eventually(lambda: waiting(tmp_path / "never") == 1)
    Clock(athand.tools._running._gateway).advance(100)
    assert "gave no answer within" in is_problem(call.result(PATIENCE), 503)


def test_what_the_user_has_decided_holds_over_http(client, athand):
    body = {"arguments": {"text": "milk"}}
    athand.tools.rule("box__take_*", "ask")
    assert "athand tools rule box__take_note allow" in is_problem(client.post("/tools/box__take_note", json=body), 403)
    athand.tools.rule("box__take_*", "deny")
    assert "athand tools rules" in is_problem(client.post("/tools/box__take_note", json=body), 403)
    athand.tools.rule("box__take_*", None)
    assert "noted: milk" in client.post("/tools/box__take_note", json=body).text
    athand.tools.disable("box__take_note")
    assert "athand tools enable" in is_problem(client.post("/tools/box__take_note", json=body), 403)
    assert is_problem(client.get("/runtime/tools.py", params={"filter": "box__take_note"}), 404)
    athand.tools.enable("box__take_note")


def test_an_app_for_some_catalogues_reaches_no_others(athand):
    client = TestClient(tools_app(athand, catalogue="other"))
    assert [tool["id"] for tool in client.get("/tools").json()] == ["megaphone__shout"]
    assert client.get("/search", params={"query": "get_current_time"}).json()["hits"] == []
    for path in ("/tools", "/servers", "/search?query=x", "/tools/time__get_current_time"):
        assert "No catalogue" in is_problem(client.get(path, params={"catalogue": "default", "query": "x"}), 404)
    assert is_problem(client.post("/tools/time__get_current_time?catalogue=default", json={}), 404)
    assert is_problem(client.post("/tools/time__get_current_time", json={}), 404)


def test_of_one_id_in_several_catalogues_the_first_counts(tmp_path):
    with Athand(tmp_path / "r.db") as athand:
        for catalogue in ("one", "two"):
            athand.tools.add("box", [{"name": "echo", "description": catalogue}], catalogue=catalogue)
        client = TestClient(tools_app(athand, catalogue=["two", "one"]))
        assert [tool["description"] for tool in client.get("/tools").json()] == ["two"]
        both = client.get("/tools", params={"catalogue": ["one", "two"]}).json()
        assert [tool["description"] for tool in both] == ["one"]
        ambiguous = TestClient(tools_app(athand))
        assert "several catalogues" in is_problem(ambiguous.get("/tools/box__echo"), 409)


def test_no_route_lets_in_whom_a_dependency_refuses(athand):
    def refuse():
        raise HTTPException(401, "Who are you?", {"WWW-Authenticate": "Bearer"})

    app = tools_app(athand, dependencies=[Depends(refuse)])
    client = TestClient(app)
    asked = [(method, route["path"]) for route in paths(app) for method in route["methods"]]
    assert len(asked) == 10
    for method, path in asked:
        answer = client.request(method, path.format(id="box__sleep", token="x"))
        assert is_problem(answer, 401) == "Who are you?"
        assert answer.headers["www-authenticate"] == "Bearer"


def paths(app):
    """Every path that the app answers, with its methods; the documents of the framework would be among them."""
    described = FastAPI.openapi(app)["paths"]
    known = [{"path": path, "methods": [each.upper() for each in methods]} for path, methods in described.items()]
    for unwanted in ("/docs", "/redoc", "/openapi.json"):
        assert TestClient(app).get(unwanted).status_code == 404
    return known
