"""Exact terms: when case matters, what counts as there, and what it is worth."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from athand.documents.content_search import find_terms, is_case_sensitive, term_boost, terms_only_score


@pytest.mark.parametrize(
    "term",
    "useState snake_case Foo.bar PascalCase __init__ std::vector ptr->next run() MAX_SIZE größeÄndern WebSocket "
    "src/App.tsx iPhone userID".split(),
)
def test_code_is_found_in_its_own_case_only(term):
    assert is_case_sensitive(term)
    assert find_terms(f"x {term} y", [term]).terms == (term,)
    assert find_terms(f"x {term.swapcase()} y", [term]).terms == ()


@pytest.mark.parametrize(
    "term",
    [
        *"Q4 v4 API node.js CI/CD Input/Output word Word WORD 3.11 e.g. 100% C++ c# foo-bar a@b état 東京".split(),
        *("plain words", "Two Words", "a.b", "HTML5"),
    ],
)
def test_words_acronyms_and_versions_are_found_in_any_case(term):
    assert not is_case_sensitive(term)
    for written in (term, term.upper(), term.lower()):
        assert find_terms(f"x {written} y", [term]).terms == (term,)


@pytest.mark.parametrize(
    ("term", "text"),
    [
        ("straße", "STRAẞE"),
        ("ÜBER", "über"),
        ("σοφος", "ΣΟΦΟΣ"),
        ("ΣΟΦΌΣ", "σοφός"),
        ("İstanbul", "i̇stanbul"),
        ("東京", "東京タワー"),
        ("K", "kelvin"),
    ],
)
def test_letters_of_other_scripts_have_their_cases_too(term, text):
    assert find_terms(text, [term]).terms == (term,)


def test_a_term_is_literal_whatever_characters_it_has():
    for term in ["100%", "a_b", "it's", '"quoted"', "back\\slash", "[x]", "(.*)", "a|b", "^$", "  two  spaces ", "?"]:
        assert find_terms(f"before {term} after", [term]).terms == (term,)
        assert find_terms("nothing of the kind", [term]).terms == ()


def test_a_term_is_found_inside_of_words_and_whole_words_are_told_apart():
    found = find_terms("cat catalogue concat cat.", ["cat"])
    assert (found.occurrences, found.whole) == (4, 2)
    assert find_terms("cat_", ["cat"]).whole == 0
    assert find_terms("f(x)(x)", ["(x)"]).whole == 2


def test_what_terms_are_worth_grows_with_each_distinct_one():
    assert [terms_only_score(count) for count in range(4)] == pytest.approx([0, 0.33333, 0.55556, 0.7037], abs=1e-4)
    assert [term_boost(count) for count in range(4)] == [1, 1.5, 2.25, 3.375]


@given(st.text(max_size=40), st.text(min_size=1, max_size=5), st.text(max_size=40))
def test_whatever_stands_in_a_text_is_found_in_it(before, term, after):
    found = find_terms(before + term + after, [term])
    assert found.terms == (term,)
    assert found.occurrences >= max(1, found.whole)
