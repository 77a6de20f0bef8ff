"""Ids of tools: plain names stay, others are made safe, and no two tools share one."""

import re

from hypothesis import example, given
from hypothesis import strategies as st

from athand.tools.definitions import tool_id

SAFE = re.compile(r"[A-Za-z0-9_-]{1,64}")
NAMES = st.one_of(
    st.text(alphabet="ab_-é ", max_size=6),
    st.text(st.characters(exclude_categories=()), max_size=80),  # lone surrogates too
    st.text(alphabet="ab_", min_size=60, max_size=70),
)
PAIRS = st.tuples(NAMES, NAMES)


def test_plain_names_stay_as_they_are() -> None:
    assert tool_id("git", "git_status") == "git__git_status"
    assert tool_id("claude-code", "read__file") == "claude-code__read__file"


def test_a_changed_name_can_still_be_recognised() -> None:
    id_ = tool_id("Wetter (Büro)", "heute & morgen")
    assert re.fullmatch(r"Wetter_Buro__heute_morgen-[0-9a-f]{16}", id_)


def test_names_without_any_safe_letter_get_words_instead() -> None:
    assert re.fullmatch(r"server__tool-[0-9a-f]{16}", tool_id("天気", "今日"))


def test_names_that_differ_only_in_unsafe_letters_get_different_ids() -> None:
    assert len({tool_id("s", name) for name in ("a b", "a.b", "a/b", "a\u200bb", "a  b")}) == 5


def test_underscores_at_the_seam_do_not_make_two_tools_one() -> None:
    pairs = [("a", "_b"), ("a_", "b"), ("a__", "b"), ("a", "__b"), ("a__b", "c"), ("a", "b__c"), ("", "a"), ("a", "")]
    assert len({tool_id(*pair) for pair in pairs}) == len(pairs)


def test_a_tool_that_calls_itself_like_a_changed_one_is_no_twin_of_it() -> None:
    changed = tool_id("my server", "a b")
    server, _, tool = changed.partition("__")
    assert tool_id(server, tool) != changed


def test_very_long_names_fit_and_stay_apart() -> None:
    one, other = tool_id("s" * 300, "t" * 300 + "1"), tool_id("s" * 300, "t" * 300 + "2")
    assert one != other and len(one) <= 64


@given(PAIRS, PAIRS)
@example(("a", "_b"), ("a_", "b"))
@example(("a", "b"), ("a__b", ""))
def test_every_pair_has_a_safe_id_of_its_own(one: tuple[str, str], other: tuple[str, str]) -> None:
    assert SAFE.fullmatch(tool_id(*one)) and "__" in tool_id(*one)
    assert (tool_id(*one) == tool_id(*other)) == (one == other)
