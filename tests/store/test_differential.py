"""SQLite and PostgreSQL give the same answers."""

from contextlib import closing
from datetime import UTC, datetime

import pytest
from tests.store import texts

from athand.app import SCHEMAS
from athand.embed import LazyEmbedder
from athand.embed.models import DEFAULT_MODEL
from athand.memories import Memories
from athand.store import open_store
from athand.store.postgres import PostgresStore, vector_index
from athand.store.sqlite import matrix
from athand.types import Query

NOW = datetime(2026, 5, 1, tzinfo=UTC)
EMBEDDER = LazyEmbedder(DEFAULT_MODEL)
INDEX_FROM = 500


@pytest.fixture(scope="module")
def engines(module_postgres_url):
    """The same memories in both engines, added in the same order."""
    url = module_postgres_url
    with (
        closing(open_store(":memory:", SCHEMAS)) as sqlite,
        closing(PostgresStore(url, SCHEMAS, exact=True)) as postgresql,
    ):
        both = [Memories(store, EMBEDDER, clock=lambda: NOW) for store in (sqlite, postgresql)]
        for memories in both:
            memories.add_many(texts.memories())
        yield (*both, url)


def test_both_hold_the_same(engines):
    sqlite, postgresql, _ = engines
    assert sqlite.fingerprint() == postgresql.fingerprint()
    assert sqlite.stats() == postgresql.stats()


@pytest.mark.parametrize("count", [60, pytest.param(300, marks=pytest.mark.slow)])
def test_questions_get_the_same_hits_in_the_same_order_with_the_same_scores(engines, monkeypatch, count):
    monkeypatch.setattr(matrix, "EXACT", 1_000_000)
    sqlite, postgresql, _ = engines
    found = 0
    for question, project in texts.questions(count):
        one, other = (each.search(question, project=project, reinforce=False) for each in (sqlite, postgresql))
        assert [hit.id for hit in one] == [hit.id for hit in other], question
        assert [hit.score for hit in one] == pytest.approx([hit.score for hit in other], abs=0.0005), question
        assert one.did_you_mean == other.did_you_mean
        found += len(one)
    assert found > 6 * count


@pytest.mark.parametrize(
    "options",
    [
        {"mode": "keyword"},
        {"mode": "semantic"},
        {"sector": "episodic"},
        {"in_session": "talk2-3"},
        {"limit": 50, "min_score": 0.0},
        {"as_of": NOW, "tags": ["none"]},
    ],
)
def test_filters_and_modes_agree_too(engines, options):
    sqlite, postgresql, _ = engines
    for question, _ in list(texts.questions(12)):
        one, other = (each.search(question, reinforce=False, **options) for each in (sqlite, postgresql))
        assert [(hit.id, round(hit.score, 3)) for hit in one] == [(hit.id, round(hit.score, 3)) for hit in other]


def test_misspelt_words_are_corrected_alike(engines):
    sqlite, postgresql, _ = engines
    for question in ("aquarum", "sourdoug bred", "marahton runner", "recieps", "grandmothers fram"):
        one, other = (each.search(question, reinforce=False) for each in (sqlite, postgresql))
        assert one.did_you_mean == other.did_you_mean
        assert [hit.id for hit in one] == [hit.id for hit in other]


def test_the_vector_index_finds_nearly_what_reading_all_finds(engines, monkeypatch):
    """An index over a few hundred vectors is not slower, only approximate: it is made here to see how much."""
    _, exact, url = engines
    monkeypatch.setattr(vector_index, "INDEX_MS", 0.0)
    monkeypatch.setattr(vector_index, "INDEXED_FROM", INDEX_FROM)
    with closing(PostgresStore(url, SCHEMAS)) as store:
        store.activate_model("memories", DEFAULT_MODEL)
        shares = [_shared(exact.store, store, question) for question, _ in texts.questions(100)]
        assert _uses_the_index(store)
    assert sum(shares) / len(shares) >= 0.95


def _shared(exact, approximate, question):
    """Which share of the twenty nearest passages both find."""
    vector = EMBEDDER.attempt(lambda model: model.embed_query(question))
    query = Query(question, (), vector, DEFAULT_MODEL, candidates=20)
    found = []
    for store in (exact, approximate):
        with store.snapshot() as snapshot:
            model = snapshot._model("memories", DEFAULT_MODEL)
            best = vector_index.nearest(snapshot._connection, "memories", query, model, 10**6, store._ann_policy)
            found.append(set(best(20)))
    return len(found[0] & found[1]) / 20


def _uses_the_index(store):
    with store.snapshot() as snapshot:
        model = snapshot._model("memories", DEFAULT_MODEL)
        return vector_index.index_size(snapshot._connection, "memories", model) >= INDEX_FROM
