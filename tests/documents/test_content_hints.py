"""What search_content says beside its results: hints that can be followed, and a sentence that can be read."""

import ast
import inspect
import re

import pytest
from tests.engines import one_engine

from athand.text import terms

CALL = re.compile(r"\b([a-z_]+\(.*\))")


def calls(answer):
    """The calls that the hints name, as Python."""
    return [match[1] for action in answer.navigation_hints.next_actions if (match := CALL.search(action))]


def follow(documents, call):
    """Make the call of a hint, if it is a whole one; its name must be one of ours in any case."""
    name = call.partition("(")[0]
    method = getattr(documents, name)
    if "…" in call or call == "add(path)":
        return None
    node = ast.parse(call, mode="eval").body
    args = [ast.literal_eval(each) for each in node.args]
    keywords = {each.arg: ast.literal_eval(each.value) for each in node.keywords}
    inspect.signature(method).bind(*args, **keywords)
    return method(*args, **keywords)


@pytest.fixture
def folder(documents, tree):
    tree.write_all(
        {
            'it\'s a "name".md': "# Quoting\n\nThe zebra crossing is painted white and black.",
            "auth.md": "# Authentication\n\nAuthentication of users by password yields a session token.",
            **{f"many/{number:02}.md": f"# Note {number}\n\nneedle number {number}" for number in range(30)},
        }
    )
    return documents.add(tree).folder_id


SHAPES = {
    "few strong": {"semantic_concepts": ["authentication of users by password"], "min_score": 0.6},
    "few weak": {"exact_terms": ["zebra"]},
    "many": {"exact_terms": ["needle"], "limit": 50},
    "many middling": {"semantic_concepts": ["numbered notes"], "min_score": 0.01, "limit": 50},
    "more pages": {"exact_terms": ["needle"], "limit": 5},
    "none of terms": {"exact_terms": ['it\'s "absent"']},
    "none of concepts": {"semantic_concepts": ["quantum chromodynamics lattice"], "min_score": 0.9},
    "none of either": {"semantic_concepts": ["lattice"], "exact_terms": ["absent"]},
}


@one_engine
def test_every_hint_names_a_call_that_exists_and_works(documents, folder):
    for asked in SHAPES.values():
        answer = documents.search_content(folder, **asked)
        assert answer.navigation_hints.next_actions
        assert calls(answer)
        for call in calls(answer):
            follow(documents, call)


@one_engine
def test_few_strong_hits_say_read_this_document(documents, folder):
    answer = documents.search_content(folder, **SHAPES["few strong"])
    read, outline = calls(answer)
    assert read.startswith("get_document_text(")
    assert outline.startswith("get_document_data(")
    assert follow(documents, read).text == answer.data.results[0].content
    assert follow(documents, outline).document.document_id == "auth.md"


def test_a_hint_quotes_any_name(documents, folder):
    answer = documents.search_content(folder, exact_terms=["zebra"])
    around, outline = calls(answer)
    assert follow(documents, around)[0].chunk_id == answer.data.results[0].chunk_id
    assert follow(documents, outline).document.document_id == 'it\'s a "name".md'


@one_engine
def test_many_middling_hits_say_narrow_or_find_documents_first(documents, folder):
    answer = documents.search_content(folder, **SHAPES["many middling"])
    assert answer.data.statistics.total_results > 20
    actions = answer.navigation_hints.next_actions
    assert "exact_terms" in actions[0]
    assert "find_documents(" in actions[1]


@one_engine
def test_more_pages_give_the_token(documents, folder):
    answer = documents.search_content(folder, **SHAPES["more pages"])
    following = follow(documents, calls(answer)[-1])
    assert len(following.data.results) == 5
    assert not {each.chunk_id for each in following.data.results} & {each.chunk_id for each in answer.data.results}


@one_engine
def test_no_hits_say_what_to_try(documents, folder):
    for shape in ("none of terms", "none of concepts", "none of either"):
        answer = documents.search_content(folder, **SHAPES[shape])
        assert not answer.data.results
        named = {call.partition("(")[0] for call in calls(answer)}
        assert {"search", "explore"} <= named
    assert "search_content" in {
        call.partition("(")[0] for call in calls(documents.search_content(folder, **SHAPES["none of terms"]))
    }


def test_related_queries_say_something_that_was_not_asked(real_sqlite):
    some = False
    for concept in ("postgres connection pool", "chunks of Markdown by headings", "continuation token"):
        answer = real_sqlite.search_content(semantic_concepts=[concept], exact_terms=["vector"], min_score=0.1)
        related = answer.navigation_hints.related_queries
        known = {phrase for result in answer.data.results for phrase in result.document_keywords}
        assert set(related) <= known
        assert len(related) <= 5
        assert len(set(related)) == len(related)
        for phrase in related:
            assert not set(terms(phrase)) & set(terms(f"{concept} vector"))
        some = some or bool(related)
    assert some


@one_engine
def test_the_interpretation_is_one_readable_sentence(documents, folder):
    for asked, words in (
        ({"semantic_concepts": ["login"]}, "about login in project, scoring at least 0.5."),
        ({"exact_terms": ["useState"]}, 'that contain "useState" (case matters) in project.'),
        (
            {"semantic_concepts": ["login", "sessions"], "exact_terms": ["JWT"], "path": "docs", "min_score": 0},
            'about login and sessions, preferring those that contain "JWT" in project under docs.',
        ),
        ({"exact_terms": ["a", "b", "c"]}, 'that contain "a", "b" and "c" in project.'),
    ):
        sentence = documents.search_content(folder, **asked).data.statistics.search_interpretation
        assert sentence == f"Passages {words}"


@one_engine
def test_the_interpretation_stays_one_line_of_a_readable_length(documents, folder):
    for text in ("two\nlines", "x" * 3000, "a\tb", "\x1b[31mred"):
        for asked in ({"exact_terms": [text]}, {"semantic_concepts": [text]}):
            sentence = documents.search_content(folder, **asked).data.statistics.search_interpretation
            assert len(sentence.splitlines()) == 1
            assert len(sentence) < 200
            assert sentence.isprintable()
            assert sentence.endswith(".")


@one_engine
def test_hints_keep_to_the_folder_that_was_searched(documents, folder, another_tree):
    another_tree.write("other.md", "needle in another folder, and a zebra")
    documents.add(another_tree)
    for shape in SHAPES:
        for call in calls(documents.search_content(folder, **SHAPES[shape])):
            if not call.startswith(("add", "search_content(continuation")):
                assert f"'{folder}'" in call, call
