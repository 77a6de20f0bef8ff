"""Requests that make no sense: each is answered with a problem, none with a failure."""

import json
from urllib.parse import quote

import pytest
from fastapi.testclient import TestClient
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.adapters.test_tools_http import is_problem
from tests.tools.servers.kit import TEXT, Board, a_tool, write_config
from tests.waiting import PATIENCE

from athand import Athand
from athand.adapters.http.responses import AsciiJsonResponse
from athand.adapters.http.tools import tools_app


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """Routes to a live server, and to a list of tools without one."""
    folder = tmp_path_factory.mktemp("http")
    box = Board(folder / "box.json", [a_tool("take_note", "Write a note down.", {"text": TEXT}), a_tool("sleep")])
    with Athand(folder / "r.db") as athand, TestClient(tools_app(athand)) as client:
        athand.tools.load(write_config(folder / "mcp.json", box=box.entry()))
        assert athand.tools.wait(PATIENCE)
        athand.tools.add("megaphone", [a_tool("shout", "Say something loudly.")], catalogue="other")
        yield client


@pytest.mark.parametrize("body", [b"", b"{", b"\xff\xfe", b"[" * 100_000, b'"text"', b"null", b"NaN"])
@pytest.mark.parametrize("route", ["/tools/box__sleep", "/search"])
def test_a_body_that_is_no_json_object_is_a_problem_of_the_caller(client, route, body):
    answer = client.post(route, content=body, headers={"Content-Type": "application/json"})
    assert is_problem(answer, answer.status_code)
    assert answer.status_code in (400, 422)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/search", 422),
        ("/search?query=x&limit=0", 422),
        ("/search?query=x&limit=many", 422),
        ("/search?query=x&threshold=nan", 422),
        ("/search?query=x&mode=psychic", 422),
        ("/search?query=x&mode=semantic&alpha=0.5", 422),
        ("/search?query=x&output=xml", 422),
        ("/search?query=x&thresold=1", 422),
        ("/tools?state=lost", 422),
        ("/tools/nope", 404),
        ("/tools/a%2Fb", 404),
        ("/runtime/tools.py?filter=nope*", 404),
        ("/nowhere", 404),
        ("/continuations/x?max_chars=0", 422),
    ],
)
def test_what_cannot_be_answered_is_a_problem(client, path, status):
    assert is_problem(client.get(path), status)


def test_another_method_is_a_problem_that_names_the_right_one(client):
    answer = client.delete("/servers")
    assert is_problem(answer, 405)
    assert answer.headers["allow"] == "GET"


def test_answers_are_json_whatever_servers_say():
    said = {"half": "\ud800", "not a number": float("nan"), "endless": [float("inf")]}
    read = json.loads(AsciiJsonResponse(said).body.decode("ascii"))
    assert read == {"half": "\ud800", "not a number": None, "endless": [None]}


@pytest.mark.parametrize("many", [40, pytest.param(150, marks=pytest.mark.slow)])
def test_any_text_anywhere_is_answered_without_a_failure_of_ours(client, many):
    @settings(max_examples=many)
    @given(text=st.text(max_size=30), path=st.sampled_from(["/search", "/tools", "/servers", "/runtime/tools.py"]))
    @example("\0", "/search")
    @example("\0", "/tools")
    @example("\0", "/servers")
    @example("\0", "/runtime/tools.py")
    def ask(text, path):
        asked = {name: text for name in ("query", "filter", "server", "catalogue", "state", "mode")}
        assert client.get(path, params=asked).status_code < 500
        assert client.post(path, json=asked).status_code < 500
        body = {"arguments": {"text": text}, "kinds": []}
        assert client.post("/tools/box__take_note", json=body).status_code == 403
        assert client.get(f"/continuations/{quote(text, safe='')}").status_code < 500

    ask()


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=9)
    | st.sampled_from(["keyword", "types"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=5,
)
FIELDS = st.sampled_from("query limit threshold alpha server catalogue mode output".split())
OF_CALL = st.sampled_from("arguments kinds max_chars seconds".split())


@pytest.mark.parametrize("many", [50, pytest.param(150, marks=pytest.mark.slow)])
def test_any_body_is_answered_without_a_failure_of_ours(client, many):
    @settings(max_examples=many)
    @given(search=st.dictionaries(FIELDS, ANYTHING) | ANYTHING, call=st.dictionaries(OF_CALL, ANYTHING) | ANYTHING)
    def ask(search, call):
        for path, body in (("/search", search), ("/tools/box__take_note", call), ("/tools/megaphone__shout", call)):
            answer = client.post(path, content=json.dumps(body), headers={"Content-Type": "application/json"})
            assert answer.status_code != 500
            assert answer.is_success or is_problem(answer, answer.status_code)

    ask()
