"""A token for some tool servers sees, finds and calls nothing of any other, whichever way it asks."""

import pytest
from tests.adapters.gateway import is_problem, opened
from tests.adapters.mcp_kit import ERAS, gateway
from tests.adapters.mcp_kit import opened as workspace_with
from tests.adapters.test_mcp_http import converse
from tests.tools.servers.kit import READ, a_tool

from athand.adapters.http.token_registry import create_token, list_tokens
from athand.errors import InvalidInput

GIT = (a_tool("show_history", "Show the history of commits of a repository.", annotations=READ),)
MARK = "quagga"
ZEBRA = (a_tool("show_zebra", f"Show the history of messages of a mailbox. {MARK}", annotations=READ),)
SCOPES = ("search", "write", "call-tools")


def stock(athand, folder=None):
    athand.tools.add("git", GIT)
    athand.tools.add("zebramail", ZEBRA)


@pytest.fixture
def http(tmp_path):
    with opened(tmp_path) as gateway:
        stock(gateway.workspace.athand)
        yield gateway


@pytest.fixture
def limited(http):
    return create_token(http.folder, "reviewer", SCOPES, ["git", "time"])[1]


READING = [
    ("GET", "/search?query=show history of messages in a mailbox", None),
    ("GET", "/search?query=zebramail__show_zebra", None),
    ("GET", "/search?query=show_zebra&output=types", None),
    ("GET", "/servers", None),
    ("GET", "/tools", None),
    ("GET", "/tools?server=zebramail", None),
    ("GET", "/runtime/tools.ts", None),
    ("GET", "/runtime/tools.py?filter=zebramail*", None),
    ("POST", "/v1/tools/search", {"query": "show_zebra", "mode": "keyword", "threshold": 0}),
    ("POST", "/v1/tools/search", {"query": "messages of a mailbox", "threshold": 0, "limit": 100}),
    ("POST", "/v1/tools/search", {"query": "show_zebre"}),
    ("POST", "/v1/tools/list", {}),
    ("POST", "/v1/tools/servers", {}),
    ("POST", "/v1/search", {"query": "show the history of messages of a mailbox", "min_score": 0}),
    ("POST", "/v1/search", {"query": "show_zebra", "corpora": ["tools"]}),
    ("POST", "/v1/status", {}),
]


@pytest.mark.parametrize(("method", "path", "body"), READING)
def test_no_answer_names_a_server_or_a_tool_out_of_reach(http, limited, method, path, body):
    told = http.ask(method, path, limited, json=body).text
    assert MARK not in told
    assert "zebra" not in told or "zebra" in f"{path}{body}"  # an error may repeat what was asked


@pytest.mark.parametrize(("method", "path", "body"), [*READING[:1], *READING[3:5], *READING[11:16]])
def test_the_owner_and_other_tokens_see_them(http, limited, method, path, body):
    http.ask(method, path, limited, json=body)  # what a limited token was shown is not what others are shown
    assert "zebra" in http.ask(method, path, http.token(*SCOPES), json=body).text


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/tools/zebramail__show_zebra", None),
        ("POST", "/tools/zebramail__show_zebra", {"arguments": {}}),
        ("POST", "/v1/tools/describe", {"id": "zebramail__show_zebra"}),
        ("POST", "/v1/tools/stubs", {"ids": ["zebramail__show_zebra"]}),
        ("POST", "/v1/tools/call", {"id": "zebramail__show_zebra"}),
        ("POST", "/v1/tools/call_destructive", {"id": "zebramail__show_zebra"}),
    ],
)
def test_a_tool_out_of_reach_is_as_if_it_were_not_there(http, limited, method, path, body):
    assert is_problem(http.ask(method, path, limited, json=body), 404)


def test_a_tool_within_reach_is_there(http, limited):
    assert http.get("/tools/git__show_history", limited).json()["name"] == "show_history"
    assert is_problem(http.post("/v1/tools/call", {"id": "git__show_history"}, limited), 503)  # it has no live server


@pytest.mark.parametrize("mode", ERAS)
def test_over_mcp_it_is_the_same(tmp_path, mode):
    (tmp_path / "tokens").mkdir(mode=0o700)
    limited = create_token(tmp_path / "tokens", "reviewer", SCOPES, ["git"])[1]

    async def ask(client):
        found = await client.call_tool("search_tools", {"query": "show history", "threshold": 0, "limit": 100})
        called = await client.call_tool("call_tool", {"id": "zebramail__show_zebra"})
        everything = await client.call_tool("search", {"query": "show the history of messages"})
        return found.model_dump_json() + everything.model_dump_json(), called

    with workspace_with(tmp_path, stock) as workspace, gateway(workspace, tmp_path / "tokens") as (url, owner):
        for token, is_limited in ((limited, True), (owner, False), (limited, True)):
            found, called = converse(url, token, ask, mode)
            assert "show_history" in found and ("show_zebra" in found) is not is_limited
            assert called.is_error and ("No tool" in called.content[0].text) is is_limited


def test_a_limit_belongs_to_a_token_of_no_owner(tmp_path):
    tmp_path.chmod(0o700)
    for scopes, servers in ((("admin",), ["git"]), (SCOPES, []), (SCOPES, [""])):
        with pytest.raises(InvalidInput):
            create_token(tmp_path, "x", scopes, servers)
    create_token(tmp_path, "x", SCOPES, ["git"])
    assert list_tokens(tmp_path)[0].to_dict()["servers"] == ["git"]


def test_the_command_creates_and_lists_it(run):
    made = run("token", "create", "reviewer", "--servers", "git, time")
    assert made.code == 0 and "tools of git, time only" in made.err
    assert "only git, time" in run("token", "list").out
    assert run("token", "list", "--json").json[0]["servers"] == ["git", "time"]
    assert run("token", "create", "other", "--servers", "git", "--scope", "admin").code == 2
    assert run("token", "create", "another", "--servers", ",").code == 2
