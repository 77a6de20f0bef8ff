"""What an agent pays for: lean answers, which keep to a budget of characters and lose nothing that it needs."""

import json

import jsonschema
import pytest
from tests.adapters.mcp_kit import ERAS, opened, serve, talk

from athand.adapters.mcp.lean import make_lean_schema
from athand.adapters.mcp.lean.compact import compact, relax
from athand.adapters.mcp.lean.snippets import find_snippet
from athand.adapters.mcp.lean.tools import drop_titles, render_signature
from athand.adapters.mcp.tool_list import ToolList, is_wrapped
from athand.adapters.operations import DEFAULT_SCOPES, operations

LONG = "The first sentence is about something else. " * 20


def size(answer):
    return len(json.dumps(answer, ensure_ascii=False, separators=(",", ":")))


def ask(server, name, era="legacy", /, **arguments):
    async def call(client):
        return await client.call_tool(name, arguments)

    return talk(server, call, mode=era)


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    with opened(tmp_path_factory.mktemp("lean")) as workspace:
        workspace.athand.memories.supersede("vpn", "gate")
        yield workspace


def test_the_tools_of_every_day_cost_at_most_9000_characters():
    tools = ToolList().list_tools(DEFAULT_SCOPES)
    assert len(tools) <= 12
    assert sum(len(each.name) + len(each.description) + size(each.input_schema) for each in tools) <= 9_000


def test_with_recorded_flows_a_tool_for_them_is_among_those_of_every_day_within_the_same_characters():
    tools = ToolList(has_flows=True).list_tools(DEFAULT_SCOPES)
    assert {each.name for each in tools} - {each.name for each in ToolList().list_tools(DEFAULT_SCOPES)} == {
        "knowledge_search"
    }
    assert sum(len(each.name) + len(each.description) + size(each.input_schema) for each in tools) <= 9_000


def test_parameters_that_agents_never_need_are_listed_with_a_choice_of_toolsets_only():
    short, whole = ToolList().list_tools(DEFAULT_SCOPES), ToolList(["all"]).list_tools(DEFAULT_SCOPES)
    rare = {"weights", "mode", "valid_from", "valid_until", "key", "reinforce", "catalogue"}
    assert not rare & {name for each in short for name in each.input_schema["properties"]}
    assert rare <= {name for each in whole for name in each.input_schema["properties"]}


def test_a_parameter_that_is_not_listed_is_taken(workspace):
    found = ask(serve(workspace), "memory_search", query="VPN", mode="keyword", include_superseded=True)
    assert {hit["id"] for hit in found.structured_content["hits"]} == {"vpn", "gate"}


def test_an_answer_has_nothing_empty_and_no_long_number():
    full = {"a": None, "b": [], "c": {}, "d": "", "e": 0, "f": False, "g": 0.123456, "h": [{"i": None, "j": 1}]}
    assert compact(full) == {"e": 0, "f": False, "g": 0.123, "h": [{"j": 1}]}


def test_what_others_define_stays_as_it_is():
    schema = {"input_schema": {"default": None, "required": []}}
    assert compact(schema) == schema


def test_a_time_is_as_exact_as_an_agent_needs():
    when = "2026-11-19T21:27:09.056299+00:00"
    assert compact({"created_at": when, "updated_at": when}) == {"created_at": when[:19] + "Z", "updated_at": when}


@pytest.mark.parametrize("name", list(operations()))
def test_a_lean_answer_is_a_list_where_the_full_one_is(name):
    """Over MCP an answer that is no object is wrapped; both forms have one schema."""
    operation = operations()[name]
    assert is_wrapped(make_lean_schema(operation)) == is_wrapped(operation.answer)


def test_nothing_found_is_said():
    assert compact({"hits": [], "notes": []}) == {"hits": []}


def test_a_short_text_is_shown_whole():
    assert find_snippet("One.\n\n\nTwo   three.", ["two"]) == "One.\nTwo three."


def test_of_a_long_text_the_part_is_shown_that_matched():
    snippet = find_snippet(LONG + "Staging deploys need the VPN. " + LONG, ["deploys", "VPN"])
    assert snippet.startswith("…") and "Staging deploys need the VPN." in snippet and len(snippet) <= 300


def test_a_word_in_the_middle_of_a_sentence_without_end_is_shown():
    snippet = find_snippet("word " * 400 + "needle " + "word " * 400, ["needle"])
    assert "needle" in snippet and len(snippet) <= 300


def test_a_text_without_a_match_is_shown_from_its_beginning():
    assert find_snippet(LONG, ["zebra"]).startswith("The first sentence")


def test_a_signature_has_what_is_required_first_and_says_what_may_be_left_out():
    properties = {
        "page": {"type": ["integer", "null"]},
        "paths": {"type": "array", "items": {"type": "string"}},
        "side": {"enum": ["left", "right"]},
        "since": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    }
    schema = {"properties": properties, "required": ["paths", "side"]}
    assert render_signature(schema) == '(paths: string[], side: "left"|"right", page?: integer, since?: string)'


def test_titles_of_parameters_are_left_out_but_not_a_parameter_title():
    schema = {"title": "xArguments", "properties": {"title": {"title": "Title", "type": "string"}}}
    assert drop_titles(schema) == {"properties": {"title": {"type": "string"}}}


def test_the_schema_of_a_lean_answer_requires_nothing_and_knows_no_null():
    full = {"type": "object", "required": ["a"], "properties": {"a": {"type": ["string", "null"]}}}
    assert relax(full) == {"type": "object", "properties": {"a": {"type": "string"}}}


@pytest.mark.parametrize("mode", ERAS)
def test_a_write_says_what_changed_in_250_characters(workspace, mode):
    text = f"The {mode} VPN was renamed to Gate in March, " + "and more was said about it. " * 20
    added = ask(serve(workspace), "memory_add", mode, content=text, project="shop", id=f"again-{mode}")
    assert added.structured_content["id"] == f"again-{mode}" and size(added.structured_content) <= 250
    assert "updated_at" not in added.structured_content


@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.parametrize(
    ("id_", "has"),
    [
        ("vpn", {"superseded_by": "gate"}),
        ("gate", {"supersedes": "vpn"}),
        ("files__read_file", {"next": "call_tool"}),
        ("kettle", {"steps": "click add-to-cart"}),
        ("notes/deploying.md:3", {"text": "Staging deploys need the VPN and a ticket."}),
    ],
)
def test_one_call_opens_any_hit_with_what_is_around_it(workspace, mode, id_, has):
    server = serve(workspace)
    opened = ask(server, "open", mode, id=id_)
    assert not opened.is_error, opened
    for key, value in has.items():
        assert value in json.dumps(opened.structured_content[key])
    schema = next(each.output_schema for each in ToolList().list_tools(DEFAULT_SCOPES) if each.name == "open")
    jsonschema.validate(opened.structured_content, schema)


def test_every_hit_of_a_search_can_be_opened_by_the_call_it_names(workspace):
    server = serve(workspace)
    questions = ("What was the VPN renamed to?", "ticket for staging deploys", "read a file", "buy a kettle")
    hits = [hit for each in questions for hit in ask(server, "search", query=each).structured_content["hits"]]
    assert {hit["corpus"] for hit in hits} == {"memories", "documents", "tools", "flows"}
    for hit in hits:
        assert hit["next"] == f'open("{hit["id"]}")'
        assert not ask(server, "open", id=hit["id"]).is_error


def test_an_id_that_nothing_has_is_an_error_that_says_what_to_do(workspace):
    missing = ask(serve(workspace), "open", id="nobody")
    assert missing.is_error and "Nothing has the id 'nobody'" in missing.content[0].text


def test_detail_is_lean_or_full(workspace):
    wrong = ask(serve(workspace), "search", query="x", detail="everything")
    assert wrong.is_error and "lean, full" in wrong.content[0].text


@pytest.mark.slow
def test_answers_keep_to_their_budget_over_10000_memories(tmp_path):
    def fill(athand, folder):
        athand.memories.add_many(
            {"content": f"Note {number}: the {number % 97}th build of service {number % 31} was deployed. {LONG}"}
            for number in range(10_000)
        )

    with opened(tmp_path, fill) as workspace:
        server = serve(workspace)
        for limit, most in ((5, 3_000), (10, 6_000)):
            asked = {"query": "which build of service 7 was deployed?", "limit": limit}
            found = ask(server, "search", **asked).structured_content
            assert len(found["hits"]) == limit and size(found) <= most
