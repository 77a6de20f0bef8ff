import pytest
from hypothesis import given
from hypothesis import strategies as st

from athand.text_length import estimate_tokens, shorten


@pytest.mark.parametrize(
    ("text", "longest", "expected"),
    [
        ("short", 5, "short"),
        ("longer", 5, "long…"),
        ("two words", 5, "two…"),
        ("", 5, ""),
        ("ab", 1, "…"),
    ],
)
def test_a_long_text_ends_in_an_ellipsis_within_its_limit(text, longest, expected):
    assert shorten(text, longest) == expected


@given(st.text(), st.integers(1, 20))
def test_a_shortened_text_fits_and_is_not_shortened_again(text, longest):
    short = shorten(text, longest)
    assert len(short) <= longest
    assert shorten(short, longest) == short


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("a", 1), ("four", 1), ("fives", 2), ("日本語", 3), ("caffè nero", 4)]
)
def test_a_token_is_four_ascii_characters_or_one_other(text, tokens):
    assert estimate_tokens(text) == tokens


@given(st.text())
def test_no_text_costs_more_tokens_than_characters(text):
    assert len(text) / 4 <= estimate_tokens(text) <= len(text)
