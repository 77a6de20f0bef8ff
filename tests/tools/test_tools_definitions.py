"""Pinning: what a definition is, what its hash notices, and how a change is shown."""

import json
import random
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from athand.errors import BadData
from athand.tools.definitions import content_hash, diff, from_json, parse_definition, to_json
from athand.tools.model import Definition

RAW = {
    "name": "send",
    "title": "Send",
    "description": "Sends a message. It cannot be taken back.",
    "inputSchema": {"type": "object", "properties": {"to": {"type": "string", "description": "whom"}}},
    "annotations": {"readOnlyHint": False},
}


def _with(**changed: Any) -> Definition:
    return parse_definition({**RAW, **changed})


def test_a_definition_is_read_as_servers_and_as_data_sets_write_it() -> None:
    schema = RAW["inputSchema"]
    snake = {key: value for key, value in RAW.items() if key != "inputSchema"} | {"input_schema": schema}
    assert parse_definition(RAW) == parse_definition(snake)
    assert parse_definition(RAW).input_schema == schema


@pytest.mark.parametrize("odd", [None, [], "object", 3, True])
def test_a_schema_that_is_no_object_counts_as_empty(odd: Any) -> None:
    assert _with(inputSchema=odd).input_schema == {}
    assert _with(outputSchema=odd).output_schema is None
    assert _with(annotations=odd).annotations == {}


def test_a_description_that_is_no_text_is_kept_as_text() -> None:
    assert _with(description=None).description == ""
    assert _with(description=["a", 1]).description == '["a",1]'


@pytest.mark.parametrize("raw", [{}, {"name": ""}, {"name": " "}, {"name": 3}, {"name": "x" * 5_000}, [], None, "tool"])
def test_what_has_no_name_is_no_tool(raw: Any) -> None:
    with pytest.raises(BadData):
        parse_definition(raw)


def test_a_schema_without_end_is_refused_and_the_tool_named() -> None:
    deep: Any = {}
    for _ in range(10_000):
        deep = {"items": [deep]}
    with pytest.raises(BadData, match=r"'send'.*100 levels"):
        _with(inputSchema=deep)


def test_a_schema_that_contains_itself_is_refused() -> None:
    loop: dict[str, Any] = {}
    loop["one"] = loop["other"] = loop
    with pytest.raises(BadData, match="levels"):
        _with(inputSchema=loop)


def test_what_was_given_may_change_later_without_changing_the_definition() -> None:
    schema: dict[str, Any] = {"type": "object"}
    definition = _with(inputSchema=schema)
    schema["type"] = "array"
    assert definition.input_schema == {"type": "object"}


@pytest.mark.parametrize(
    "changed",
    [
        {"title": None},
        {"title": ""},
        {"description": "Sends a message. It cannot be taken back.\u200b"},
        {"description": "Sends a message. It cannot be taken back.\0"},
        {"description": "Sends a message. It cannot be taken back.\ud800"},
        {"description": "Sends a message. It cannot be taken back. "},
        {"outputSchema": {}},
        {"annotations": {"readOnlyHint": True}},
        {"inputSchema": {"type": "object", "properties": {"to": {"type": "string", "description": "Whom"}}}},
    ],
)
def test_every_change_changes_the_hash_and_is_shown(changed: dict[str, Any]) -> None:
    assert content_hash(_with(**changed)) != content_hash(parse_definition(RAW))
    assert diff(parse_definition(RAW), _with(**changed))


def test_normal_forms_are_different_texts() -> None:
    assert content_hash(_with(description="caf\u00e9")) != content_hash(_with(description="cafe\u0301"))


def test_the_order_of_keys_does_not_matter() -> None:
    turned = json.loads(json.dumps(RAW), object_pairs_hook=lambda pairs: dict(reversed(pairs)))
    assert content_hash(parse_definition(turned)) == content_hash(parse_definition(RAW))
    assert diff(parse_definition(turned), parse_definition(RAW)) == ""


def test_a_diff_names_the_field_and_shows_only_what_changed() -> None:
    shown = diff(parse_definition(RAW), _with(description="Sends a message. It can be taken back."))
    assert shown.splitlines() == [
        "--- description (approved)",
        "+++ description (now)",
        "@@ -1,2 +1,2 @@",
        " Sends a message.",
        "- It cannot be taken back.",
        "+ It can be taken back.",
    ]


@pytest.mark.parametrize(
    ("description", "seen"),
    [
        ("Sends a mes\u200bsage.", "<U+200B ZERO WIDTH SPACE>"),
        ("Sends a message.\U000e0041", "<U+E0041 TAG LATIN CAPITAL LETTER A>"),
        ("Sends a\u00a0message.", "<U+00A0 NO-BREAK SPACE>"),
        ("Sends a message.  ", "<2 SPACES>"),
        ("Sends a me\u0455sage.", "<U+0455 CYRILLIC SMALL LETTER DZE>"),
        ("Sends a message\x1b[8m", "<U+001B ESCAPE>"),
        ("Sends a message\ud83d", "<U+D83D LONE SURROGATE>"),
        ("Sends a messa\u0301ge", "<U+0301 COMBINING ACUTE ACCENT>"),
    ],
)
def test_what_the_eye_would_miss_is_written_out(description: str, seen: str) -> None:
    shown = diff(_with(description="Sends a message."), _with(description=description))
    assert seen in shown
    shown.encode("utf-8")


def test_text_in_other_languages_stays_readable_in_a_diff() -> None:
    shown = diff(_with(description="发送消息。café"), _with(description="发送邮件。café 👍🏽"))
    assert "发送邮件。café 👍🏽" in shown


def test_a_change_deep_in_a_schema_is_found_in_sorted_json() -> None:
    schema = json.loads(json.dumps(RAW["inputSchema"]))
    schema["properties"]["to"]["description"] = "whom\u2063"
    shown = diff(parse_definition(RAW), _with(inputSchema=schema))
    assert "input_schema (now)" in shown and '"whom<U+2063 INVISIBLE SEPARATOR>"' in shown


def test_a_field_of_very_many_lines_is_compared_in_time() -> None:
    rows = random.Random(3).choices("ab", k=200_000)
    shown = diff(_with(description="\n".join(rows)), _with(description="\n".join(reversed(rows))))
    assert 2 < len(shown.splitlines()) < 200


@given(st.text(st.characters(exclude_categories=["Cs"])), st.dictionaries(st.text(), st.floats() | st.text()))
def test_a_definition_comes_back_from_the_store_as_it_was(text: str, schema: dict[str, Any]) -> None:
    written = to_json(_with(description=text, inputSchema=schema))
    assert written.isascii() and "\0" not in written
    assert to_json(from_json(written)) == written
    assert from_json(written).description == text


def test_five_thousand_tools_are_hashed_in_a_moment() -> None:
    properties = {f"p{each}": {"type": "string", "description": "what it is for " * 3} for each in range(12)}
    tools = [
        parse_definition({**RAW, "name": f"t{each}", "inputSchema": {"properties": properties}})
        for each in range(5_000)
    ]
    began = time.thread_time()
    assert len({content_hash(each) for each in tools}) == 5_000
    assert time.thread_time() - began < 60
