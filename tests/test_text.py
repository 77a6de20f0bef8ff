import os
import subprocess
import sys
import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from athand.text import (
    FLOW_STOP_WORDS,
    allowed_edits,
    expand_synonyms,
    highlight,
    join_terms,
    nearest_words,
    split_identifier,
    stem,
    synonym_table,
    terms,
    terms_and_words,
    tokenize,
)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("sendETHButton", "send eth button"),
        ("step2Button", "step 2 button"),
        ("coin-overview_sendButton", "coin overview send button"),
        ("coin-overview-send-button", "coin overview send button"),
        ("sendTokenButton", "send token button"),
        ("send_token_btn", "send token btn"),
        ("HTTPServerError", "http server error"),
        ("PascalCase", "pascal case"),
        ("", ""),
        ("___", ""),
    ],
)
def test_identifiers_split_into_their_words(name, words):
    assert split_identifier(name) == words.split()


def test_a_query_loses_stop_words_and_keeps_the_order_of_the_rest():
    assert tokenize("send flow ETH to another account", FLOW_STOP_WORDS) == ["send", "eth", "another", "account"]
    assert tokenize("send to the account") == ["send", "account"]


def test_a_query_drops_single_characters_and_repetitions():
    assert tokenize("a b cd efg") == ["cd", "efg"]
    assert tokenize("send send SEND") == ["send"]


def test_the_tool_prefix_of_flows_is_a_stop_word():
    assert tokenize("mm_click", FLOW_STOP_WORDS) == ["click"]


@pytest.mark.parametrize("query", ["", "   ", "\x00", "!?*", "🚀🚀"])
def test_a_query_without_words_has_none(query):
    assert tokenize(query) == []


def test_a_query_of_stop_words_alone_keeps_them():
    assert tokenize("to be or not to be") == ["to", "be", "or", "not"]
    assert tokenize("a") == ["a"]


def test_identifiers_are_asked_for_whole_and_in_parts():
    assert tokenize("useState") == ["usestate", "state"]
    assert tokenize("v4") == ["v4"]


def test_terms_keep_every_occurrence_and_every_word_and_stem_them():
    assert terms("The deploys, the deploy and DEPLOYING") == ["the", "deploy", "the", "deploy", "and", "deploy"]


def test_terms_of_an_identifier_are_the_whole_and_its_parts():
    assert terms("sendETHButton") == ["sendethbutton", "send", "eth", "button"]


def test_accents_and_width_and_case_do_not_matter():
    assert terms("Café ＮＡÏＶＥ straße") == terms("cafe naive STRASSE")


def test_marks_of_other_scripts_are_kept():
    assert terms("हिन्दी") == ["हिन्दी"]


def test_chinese_is_indexed_by_characters_and_pairs_and_asked_for_by_pairs():
    assert terms("北京大学") == ["北", "京", "大", "学", "北京", "京大", "大学"]
    assert tokenize("北京") == ["北京"]
    assert tokenize("京") == ["京"]
    assert set(tokenize("北京 hello世界")) == {"北京", "hello", "世界"}


def test_korean_and_japanese_words_are_found_by_a_part():
    assert set(tokenize("한국")) <= set(terms("한국어"))
    assert set(tokenize("テスト")) <= set(terms("日本語テスト"))


def test_spaced_terms_are_counted_exactly():
    text = join_terms(["a", "ab", "a", "a", "b"])
    assert text.count(join_terms(["a"])) == 3
    assert text.count(join_terms(["ab"])) == 1


def test_the_word_behind_a_stem_is_known():
    assert dict(terms_and_words("Authentication tokens"))[stem("authentication")] == "authentication"


def test_synonyms_work_in_both_directions_and_only_for_known_words():
    table = synonym_table()
    assert set(expand_synonyms(["transfer"], table)) == {"send", "transfer", "pay"}
    assert set(expand_synonyms(["send"], table)) == {"send", "transfer", "pay"}
    assert expand_synonyms(["eth", "account", "balance"], table) == ["eth", "account", "balance"]
    expanded = expand_synonyms(["send", "transfer"], table)
    assert len(expanded) == len(set(expanded))


def test_synonyms_can_be_extended():
    table = synonym_table([("send", "transfer"), ("send", "wire")])
    assert expand_synonyms(["send"], table) == ["send", "transfer", "wire"]


@pytest.mark.parametrize(("word", "edits"), [("ab", 0), ("abc", 1), ("abcde", 1), ("abcdef", 2)])
def test_longer_words_may_have_more_typos(word, edits):
    assert allowed_edits(word) == edits


@pytest.mark.parametrize(
    ("typed", "meant", "edits"),
    [
        ("sned", "send", 1),
        ("authentcation", "authentication", 1),
        ("tokne", "token", 1),
        ("postgress", "postgres", 1),
        ("atuhenticaton", "authentication", 2),
    ],
)
def test_the_nearest_known_word_is_found(typed, meant, edits):
    known = ["send", "authentication", "token", "postgres", "author"]
    assert nearest_words([typed], known, [allowed_edits(typed)]) == [(edits, [meant])]


def test_two_edits_in_a_short_word_are_too_many():
    for typed, known in (("snedd", "send"), ("xy", "xz")):
        [(_, found)] = nearest_words([typed], [known], [allowed_edits(typed)])
        assert found == []
    assert nearest_words([], ["send"], []) == []
    assert nearest_words(["sned"], [], [1]) == [(2, [])]


def test_matches_are_highlighted_in_the_text_as_written():
    assert (
        highlight("Deploying needs the VPN.", {"deploy", "vpn"}) == "<mark>Deploying</mark> needs the <mark>VPN</mark>."
    )


@pytest.mark.parametrize("count", [50_000, pytest.param(500_000, marks=pytest.mark.slow)])
def test_runs_of_marks_take_no_quadratic_time(count):
    started = time.process_time()
    assert terms("e" + "\u0301\u0323" * count)
    assert time.process_time() - started < count / 25_000  # thirty times what it takes


def test_long_texts_are_folded_like_short_ones():
    word = "cafe\u0301s"
    assert terms(f"{word} " * 5000) == terms(word) * 5000


@given(st.text())
def test_any_text_can_be_indexed_and_asked(text):
    for term in terms(text):
        assert term
        assert not any(char.isspace() or char == '"' for char in term)
        assert all(unicodedata.category(char)[0] in "LNM" for char in term)
    assert len(tokenize(text)) == len(set(tokenize(text)))


@given(st.text(st.characters(min_codepoint=32, max_codepoint=0x2FF)))
def test_what_is_asked_is_among_what_was_indexed(text):
    assert {stem(word) for word in tokenize(text)} <= set(terms(text))


def test_the_word_that_stands_for_a_term_is_the_same_in_every_process():
    code = "from athand.text import analyze; print(analyze('games gaming game gamed: running runs run'))"
    seen = {
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2", "3", "4")
    }
    assert len(seen) == 1
