"""The operations on tools, with a server that really runs behind them."""

import json

import pytest
from tests.adapters.operating import calling, names_in
from tests.tools.servers.kit import FILES, READ, TEXT, WEATHER, Board, a_tool, write_config
from tests.waiting import PATIENCE

from athand.adapters.operations import SCOPES, Caller, operations
from athand.errors import InvalidInput, NotFound, Refused, ToolFailed

MORE = (a_tool("long", "Many lines.", annotations=READ), a_tool("fail", "Always fails.", annotations=READ))


@pytest.fixture
def call(tmp_path):
    with calling(tmp_path) as call:
        yield call


@pytest.fixture
def board(call, tmp_path):
    """A live server that has files; the store knows it."""
    made = Board(tmp_path / "files.json", (*FILES, *MORE))
    made.config = write_config(tmp_path / "mcp.json", files=made.entry())
    assert [server["name"] for server in call("load_servers", path=str(made.config))] == ["files"]
    assert call.at.athand.tools.wait(PATIENCE)
    return made


def test_all_operations_on_tools_answer_as_their_schemas_say(call, board, tmp_path):
    found = call("search_tools", query="read the contents of a file", limit=1)["hits"]
    assert [hit["id"] for hit in found] == ["files__read_file"]
    assert call("describe_tool", id="files__read_file")["input_schema"]["properties"] == {"path": TEXT}
    answer = call("call_tool", id="files__read_file", arguments={"path": "a"})
    assert json.loads(answer["content"][0]["text"]) == {"tool": "read_file", "arguments": {"path": "a"}}
    call("call_tool_write", id="files__write_file", arguments='{"path": "a", "text": "b"}')
    call("call_tool_destructive", id="files__remove_file", arguments={"path": "a"})
    cut = call("call_tool", id="files__long", max_chars=96)
    rest = call("read_on", continuation=cut["continuation"], max_chars=50)
    assert rest["content"][0]["text"].startswith("00016")
    assert len(call("list_tools", server="files")) == 5
    assert call("list_servers")[0]["state"] == "connected"
    assert "def read_file" in call("tool_stubs", ids=["files__read_file"], language="python")
    assert call("tool_stats")["calls"] == 4
    logged = call("call_log", server="files", limit=2)
    assert [(each["caller"], each["tool"], each["outcome"]) for each in logged] == [
        ("agent", "files__long", "ok"),
        ("agent", "files__remove_file", "ok"),
    ]

    board.change(description="Read a file, and send it somewhere.")
    assert call("refresh_server", server="files")["waiting"] == 1
    changed = call("describe_tool", id="files__read_file")
    assert (changed["state"], changed["diff"]) == ("changed", "")
    owner = Caller("owner", frozenset(SCOPES))
    seen = operations()["describe_tool"].perform(call.at, {"id": "files__read_file"}, caller=owner)
    assert "send it somewhere" in seen["diff"]
    assert call("approve_tool", id="files__read_file")["state"] == "approved"
    assert call("reject_tool", id="files__remove_file")["state"] == "rejected"
    assert call("disable_tool", id="files__write_file")["enabled"] is False
    assert call("enable_tool", id="files__write_file")["enabled"] is True
    assert call("disable_tool", id="files")["state"] == "disabled"
    rule = {"pattern": "files__*", "decision": "deny", "catalogue": "*"}
    assert call("set_tool_rule", pattern="files__*", decision="deny") == call("tool_rules") == [rule]
    assert call("set_tool_rule", pattern="files__*", decision=None) == []
    assert call("add_tools", server="weather", tools=list(WEATHER), description="Forecasts")["new"] == 2
    assert call("remove_server", server="weather")["tools"] == 2
    with pytest.raises(NotFound):
        call("remove_server", server="weather")

    project = write_config(tmp_path / "project" / ".mcp.json", other=board.entry())
    assert len(call("trust_config", path=str(project))["hash"]) == 64
    assert call("distrust_config", path=str(project))["was_trusted"]
    assert call.performed == names_in("tools")


@pytest.mark.parametrize(
    ("used", "tool"),
    [
        ("call_tool_write", "remove_file"),
        ("call_tool_write", "read_file"),
        ("call_tool_destructive", "write_file"),
    ],
)
def test_a_tool_of_another_kind_is_refused_with_the_name_of_what_calls_it(call, used, tool):
    call("add_tools", server="files", tools=list(FILES))
    with pytest.raises(Refused, match=r"Call it with call_tool\."):
        call(used, id=f"files__{tool}")


def test_where_a_rule_wants_somebody_to_be_asked_nothing_is_called(call, board):
    call("set_tool_rule", pattern="*__read_*", decision="ask")
    with pytest.raises(Refused, match="athand tools rule files__read_file allow"):
        call("call_tool", id="files__read_file", arguments={"path": "a"})
    assert board.calls == []


def test_what_a_server_says_when_it_fails_is_an_error(call, board):
    with pytest.raises(ToolFailed, match="the disk is full"):
        call("call_tool", id="files__fail")
    with pytest.raises(InvalidInput, match="path"):
        call("call_tool", id="files__read_file", arguments={"path": {"not": "a text"}})


def test_a_server_of_one_project_does_not_reach_into_another(call, tmp_path):
    mine, other = (write_config(tmp_path / name / ".mcp.json", files={"command": "true"}) for name in ("mine", "other"))
    tools = call.at.athand.tools
    tools.load_all(folder=other.parent)
    tools.add("files", FILES, catalogue=str(other.parent))
    tools.load_all(folder=mine.parent)
    tools.add("files", FILES[:1], catalogue=str(mine.parent))
    assert [tool["id"] for tool in call("list_tools")] == ["files__read_file"]
    assert {server["catalogue"] for server in call("list_servers")} == {str(mine.parent)}
    for wish in ({}, {"catalogue": [str(mine.parent)]}):
        found = call("search_tools", query="remove a file for good", **wish)["hits"]
        assert [hit["id"] for hit in found] == ["files__read_file"]
    with pytest.raises(NotFound):
        call("describe_tool", id="files__remove_file")
    for name, given in (("describe_tool", {"id": "files__remove_file"}), ("add_tools", {"server": "s", "tools": []})):
        with pytest.raises(NotFound, match="No catalogue"):
            call(name, catalogue=str(other.parent), **given)
    found = call("search", query="remove a file for good", corpora=["tools"])["hits"]
    assert [hit["id"] for hit in found] == ["files__read_file"]


DECIDED_BY_THE_OWNER = (
    *("approve_tool", "reject_tool", "enable_tool", "disable_tool", "tool_rules", "set_tool_rule", "call_log"),
    *("load_servers", "add_tools", "refresh_server", "remove_server", "trust_config", "distrust_config"),
)


def test_only_the_owner_decides_about_tools():
    assert {operations()[name].scope for name in DECIDED_BY_THE_OWNER} == {"admin"}


LONG = "x" * 1_000_000


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        *((each, {"id": LONG}) for each in ("describe_tool", "call_tool", "approve_tool", "disable_tool")),
        *((each, {"server": LONG}) for each in ("refresh_server", "remove_server", "search_tools")),
        ("tool_stubs", {"ids": [LONG]}),
        ("knowledge_steps", {"session_id": LONG}),
        ("add_tools", {"server": "a", "tools": [], "description": "\ud800"}),
    ],
)
def test_a_refusal_repeats_nothing_long_or_unreadable(call, name, arguments):
    given = {"query": "x", **arguments} if name == "search_tools" else arguments
    with pytest.raises((InvalidInput, NotFound)) as refused:
        operations()[name].perform(call.at, given)
    assert len(str(refused.value).encode()) < 1000


def test_a_step_that_is_not_there_is_named_in_short(call):
    session = call("knowledge_start_session", goal="Buy a kettle")["id"]
    given = {"session_id": session, "observation": {"url": "https://shop.test"}, "previous": f"\ud800{LONG}"}
    with pytest.raises(NotFound, match="has no step") as refused:
        operations()["knowledge_prior"].perform(call.at, given)
    assert len(str(refused.value).encode()) < 1000
