"""One folder on both engines: the same answers to the same questions."""

import pytest

CONCEPTS = (
    "postgres connection pool|chunks of Markdown by headings|continuation tokens|license|how vectors are stored|"
    "reading a PDF|secrets in files|a|sourdough bread|files that changed since the last look|naïve café 東京"
).split("|")
TERMS = 'sqlite|vector|the|_LONGEST|useState|PRAGMA|%|::|é|a|Q4|def __init__|"""|(\'|space = :space|…|İ|ß'.split("|")
QUESTIONS = (
    "how are tokens sealed?|where is casefold used|connection pool|reindex|what happens when a folder is unmounted|"
    "BM25|path_matches|who reads docx files|zzzzqqq|vektor|MAXIMUM SCORE|key phrases of documents"
).split("|")

ASKED = [
    *({"semantic_concepts": [concept], "min_score": least} for concept in CONCEPTS for least in (0, 0.4)),
    *({"exact_terms": [term], "limit": 50} for term in TERMS),
    *(
        {"semantic_concepts": CONCEPTS[at : at + 2], "exact_terms": TERMS[at : at + 3], "min_score": 0, "limit": 50}
        for at in range(0, 10, 2)
    ),
    *({"exact_terms": TERMS[:4], "path": path} for path in ("docs", "*.py", "src/**/store/**", "[a-m]*.md", "nowhere")),
]
assert len(ASKED) + len(QUESTIONS) >= 60


def differences(one, other):
    return [pair for pair in zip(one, other, strict=True) if abs(pair[0] - pair[1]) > 1e-9]


def shown(answer):
    fields = "folder_id document_id chunk_id chunk_index content document_keywords heading start_line end_line".split()
    return [[getattr(each, name) for name in fields] for each in answer.data.results]


@pytest.mark.parametrize("asked", ASKED, ids=str)
def test_search_content_answers_alike(real_sqlite, real_postgres, asked):
    one, other = real_sqlite.search_content(**asked), real_postgres.search_content(**asked)
    assert shown(one) == shown(other)
    assert not differences(
        [each.why.total for each in one.data.results], [each.why.total for each in other.data.results]
    )
    assert one.data.statistics == other.data.statistics
    assert one.status == other.status
    assert one.navigation_hints.related_queries == other.navigation_hints.related_queries


@pytest.mark.parametrize("query", QUESTIONS)
def test_search_and_find_documents_answer_alike(real_sqlite, real_postgres, query):
    one, other = real_sqlite.search(query, limit=30), real_postgres.search(query, limit=30)
    assert [hit.id for hit in one] == [hit.id for hit in other]
    assert not differences([hit.why.total for hit in one], [hit.why.total for hit in other])
    assert [hit.keywords for hit in one] == [hit.keywords for hit in other]
    found = [
        [(each.document_id, each.keywords, each.best_chunk_id) for each in documents.find_documents(query)]
        for documents in (real_sqlite, real_postgres)
    ]
    assert found[0] == found[1]


def test_looking_around_shows_the_same(real_sqlite, real_postgres):
    for call in (
        lambda documents: documents.explore("athand", "src/athand").to_dict(),
        lambda documents: documents.list_documents("athand", "*.md", 100).to_dict(),
        lambda documents: documents.get_document_data("athand", "docs/store.md").to_dict(),
        lambda documents: documents.get_document_text("athand", "docs/store.md", max_chars=200_000).to_dict(),
    ):
        one, other = call(real_sqlite), call(real_postgres)
        one.pop("freshness", None), other.pop("freshness", None)
        assert one == other


def test_what_is_derived_is_the_same(real_sqlite, real_postgres):
    assert real_sqlite.fingerprint() == real_postgres.fingerprint()
    assert real_sqlite.count() == real_postgres.count()
