"""An agent calls tools of every kind with one tool; what may destroy something waits for a rule or for a person."""

import json
import re

import pytest
from mcp import types
from tests.adapters.mcp_kit import ERAS, opened, serve, talk
from tests.tools.servers.kit import FILES, Board, a_tool, write_config

from athand.adapters.mcp.advice import BY_OWNER, translate_advice
from athand.adapters.mcp.tool_list import ToolList, render_instructions
from athand.adapters.operations import DEFAULT_SCOPES, SCOPES, operations

DELETE = a_tool("delete_file", "Delete a file.", {"path": {"type": "string"}}, annotations={"destructiveHint": True})
CALLED = {"path": "a", "text": "b"}
COMMAND = re.compile(r"\bathand [a-z]+")


class Person:
    """Answers what it is asked, and remembers it."""

    def __init__(self, action, **content):
        self.answer = types.ElicitResult(action=action, content=content or None)
        self.asked = []

    async def __call__(self, context, params):
        self.asked.append(params.message)
        return self.answer


@pytest.fixture
def board(tmp_path):
    return Board(tmp_path / "files.json", (*FILES, DELETE))


@pytest.fixture
def workspace(tmp_path, board):
    def fill(athand, folder):
        athand.tools.load(write_config(tmp_path / "mcp.json", files=board.entry()))
        athand.tools.wait()

    with opened(tmp_path, fill) as workspace:
        yield workspace


def call(workspace, name, mode="legacy", **options):
    async def ask(client):
        return await client.call_tool("call_tool", {"id": f"files__{name}", "arguments": {"path": "a"}})

    return talk(serve(workspace), ask, mode=mode, **options)


def test_what_reads_and_what_only_adds_is_called_at_once(workspace, board):
    async def ask(client):
        read = await client.call_tool("call_tool", {"id": "files__read_file", "arguments": {"path": "a"}})
        return read, await client.call_tool("call_tool", {"id": "files__write_file", "arguments": CALLED})

    assert not any(result.is_error for result in talk(serve(workspace), ask))
    assert len(board.calls) == 2


@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.parametrize("name", ["delete_file", "remove_file"])
def test_what_may_destroy_something_is_called_when_the_person_agrees(workspace, board, mode, name):
    person = Person("accept", call=True)
    assert not call(workspace, name, mode, elicitation_callback=person).is_error
    assert len(board.calls) == 1 and len(person.asked) == 1
    assert f"files__{name}" in person.asked[0] and '{"path": "a"}' in person.asked[0]


def test_a_client_that_only_lets_its_person_accept_has_agreed(workspace, board):
    assert not call(workspace, "remove_file", elicitation_callback=Person("accept")).is_error
    assert len(board.calls) == 1


@pytest.mark.parametrize(("action", "content"), [("accept", {"call": False}), ("decline", {})])
def test_nothing_is_called_when_the_person_does_not_agree(workspace, board, action, content):
    refused = call(workspace, "remove_file", elicitation_callback=Person(action, **content))
    assert refused.is_error and "the answer was no" in refused.content[0].text and board.calls == []


@pytest.mark.parametrize("mode", ERAS)
def test_where_nobody_can_be_asked_the_refusal_says_who_can_allow_it(workspace, board, mode):
    refused = call(workspace, "remove_file", mode)
    text = refused.content[0].text
    assert refused.is_error and board.calls == []
    assert "does not say whether it changes anything" in text and BY_OWNER in text and not COMMAND.search(text)


def test_a_question_that_nobody_answers_is_no_refusal_of_the_person(workspace, board):
    refused = call(workspace, "remove_file", elicitation_callback=Person("cancel"))
    assert refused.is_error and board.calls == []
    assert "nobody answered" in refused.content[0].text and BY_OWNER in refused.content[0].text


def test_a_rule_decides_before_anybody_is_asked(workspace, board):
    tools, person = workspace.athand.tools, Person("accept", call=True)
    tools.rule("files__remove_*", "allow")
    assert not call(workspace, "remove_file", elicitation_callback=person).is_error and person.asked == []
    tools.rule("files__*", "deny")
    refused = call(workspace, "remove_file", elicitation_callback=person)
    assert refused.is_error and "The rule 'files__*' denies" in refused.content[0].text
    assert len(board.calls) == 1


def test_a_rule_that_asks_is_heeded_by_the_tools_for_one_kind_too(workspace, board):
    async def write(client):
        return await client.call_tool("call_tool_write", {"id": "files__write_file", "arguments": CALLED})

    workspace.athand.tools.rule("files__write_*", "ask")
    server = serve(workspace, toolsets=["tools"])
    assert talk(server, write, elicitation_callback=Person("decline")).is_error and board.calls == []
    assert not talk(server, write, elicitation_callback=Person("accept", call=True)).is_error
    assert len(board.calls) == 1


def test_a_rule_that_asks_is_named_where_nobody_can_be_asked(workspace, board):
    workspace.athand.tools.rule("files__read_*", "ask")
    refused = call(workspace, "read_file")
    assert refused.is_error and "The rule 'files__read_*' wants a person to be asked" in refused.content[0].text
    assert board.calls == []


def test_the_tools_of_every_day_name_no_tool_that_is_not_among_them():
    tools = ToolList().list_tools(DEFAULT_SCOPES)
    known = {each.name for each in tools}
    others = {name for name in operations() if "_" in name} - known
    shown = json.dumps([each.model_dump(mode="json", exclude={"output_schema"}) for each in tools])
    whole = shown + render_instructions(known)
    assert {name for name in others if re.search(rf"\b{name}\b", whole)} == set()
    assert not COMMAND.search(whole)


@pytest.mark.parametrize(
    ("said", "heard"),
    [
        ("No tool 'x'. Find one with: athand tools search WORDS", "No tool 'x'. Call search_tools."),
        ("It is new. If this is right, run: athand tools approve x", f"It is new. {BY_OWNER}"),
        ("No memory 'x'. See it with: athand memory show x", "No memory 'x'. Call open."),
        ("Nothing has this id.", "Nothing has this id."),
    ],
)
def test_advice_names_tools_that_are_offered_instead_of_commands(said, heard):
    assert translate_advice(said, ToolList().filter(SCOPES)) == heard
