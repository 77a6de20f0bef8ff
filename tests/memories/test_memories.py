from datetime import UTC, datetime, timedelta, timezone

import pytest
from tests.engines import one_engine

from athand import Athand
from athand.app import SCHEMAS
from athand.embed import LazyEmbedder
from athand.embed.models import DEFAULT_MODEL
from athand.errors import Conflict, InvalidInput, NotFound
from athand.memories import Memories
from athand.store import open_store


def titles(hits):
    return [hit.title for hit in hits]


def test_what_is_added_is_found_by_word_and_by_meaning(memories):
    memories.add("Staging deploys need the VPN", project="shop")
    memories.add("Alice likes her car red")
    assert titles(memories.search("how do I deploy to staging?")) == ["Staging deploys need the VPN"]
    assert titles(memories.search("automobile colour"))[:1] == ["Alice likes her car red"]


def test_a_memory_comes_back_as_it_was_given(memories):
    when = datetime(2024, 5, 8, 13, 56, 0, 123456, tzinfo=timezone(timedelta(hours=2)))
    added = memories.add(
        "text", project="p", tags=("a", "b", "a"), context="about", author="mira", created_at=when, id="my-id"
    )
    assert added == memories.get("my-id")
    assert added.created_at == when
    assert added.created_at.tzinfo == UTC
    assert added.tags == ("a", "b")
    assert memories.add("x", created_at="2024-05-08T13:56:00").created_at == datetime(2024, 5, 8, 13, 56, tzinfo=UTC)


@one_engine
def test_ids_sort_by_time(memories):
    ids = [memories.add(f"memory {number}").id for number in range(3)]
    assert len(set(ids)) == 3


def test_author_context_and_tags_are_found_too(memories):
    memories.add("We should paint it", author="Melanie", context="a photo of a sunrise", tags=("art",))
    for query in ("Melanie", "sunrise photo", "art"):
        assert len(memories.search(query)) == 1


def test_a_project_sees_its_own_memories_only(memories):
    memories.add("the database is PostgreSQL", project="shop")
    memories.add("the database is SQLite", project="blog")
    assert titles(memories.search("database", project="blog")) == ["the database is SQLite"]
    assert len(memories.search("database")) == 2
    assert memories.search("database", project="nowhere") == []


@one_engine
def test_the_parts_of_every_score_add_up(memories):
    memories.add_many({"content": f"note {number} about deploys and the VPN"} for number in range(30))
    hits = memories.search("deploy vpn note")
    assert hits
    for hit in hits:
        assert sum(signal.contribution for signal in hit.why.signals.values()) == pytest.approx(hit.why.total, abs=1e-9)
        assert hit.score == pytest.approx(min(1, max(0, hit.why.total)))
        assert set(hit.why.matched) == {"deploy", "vpn", "note"}
    assert [hit.why.total for hit in hits] == sorted((hit.why.total for hit in hits), reverse=True)


def test_equal_memories_are_ordered_by_recency_then_id(memories):
    day = datetime(2024, 1, 1, tzinfo=UTC)
    for id_, when in (("b", day), ("a", day), ("c", day)):
        memories.add("exactly the same text", id=id_, created_at=when, project=f"project of {id_}")
    assert [hit.id for hit in memories.search("exactly the same text")] == ["a", "b", "c"]


@one_engine
@pytest.mark.parametrize(
    "query", ["qwxyz zzgrmpf", "how tall is the Eiffel tower", "best laptop for students", "translate hello to French"]
)
def test_nothing_fits_what_no_memory_is_about(memories, query):
    memories.add_many({"content": text} for text in ("Staging deploys need the VPN", "dark mode", "a cat sat"))
    assert memories.search(query) == []


@pytest.mark.parametrize(
    "query",
    [
        "the of and",
        '"',
        "NEAR(",
        "\x00",
        "🚀",
        "北京",
        "a" * 1_000_000,
        "word " * 200_000,
        "\ud800",
        "%_",
        "' OR 1=1 --",
        "*",
    ],
)
def test_every_query_is_answered(memories, query):
    memories.add("The rocket of 北京 and the moon")
    assert isinstance(memories.search(query), list)


def test_chinese_words_of_two_characters_are_found(memories):
    memories.add("我在北京大学学习")
    memories.add("完全不同的内容")
    assert titles(memories.search("北京")) == ["我在北京大学学习"]


@one_engine
def test_an_empty_query_has_no_hits(memories):
    memories.add("something")
    assert memories.search("") == []


def test_a_typo_is_corrected_and_said(memories):
    memories.add("Tokens rotate every day")
    hits = memories.search("tokns")
    assert hits.did_you_mean == {"tokns": "tokens"}
    assert len(hits) == 1


def test_two_typos_in_a_question_find_what_one_does(athand, memories):
    memories.add("Staging deploys need the VPN")
    memories.add("Tokens rotate every 12 hours")
    memories.add("Mira owns the billing service")
    for question, meant in (
        ("how do I deply to stagin?", "Staging deploys need the VPN"),
        ("when do tokns rotat?", "Tokens rotate every 12 hours"),
        ("who owns the biling servce?", "Mira owns the billing service"),
    ):
        for hits in (memories.search(question), athand.search(question)):
            assert hits[0].item.content == meant
            assert hits[0].score > 0.7
            assert len(hits.did_you_mean) == 2 or "rotat" in question


@one_engine
def test_an_english_word_is_not_taken_for_another(memories):
    memories.add("I read the contract on the train back")
    assert memories.search("bread from the bank", min_score=0).did_you_mean == {}


def test_a_question_about_something_else_has_no_hits_but_the_closest_titles(athand, memories):
    memories.add("Staging deploys need the VPN")
    memories.add("Mira owns the billing service\nsince last spring")
    question = "which violin teacher owns the summer cottage?"
    for hits in (memories.search(question), athand.search(question, corpora=["memories"])):
        assert list(hits) == []
        assert hits.closest[0] == "Mira owns the billing service"
    assert memories.search(question, min_score=0.01) != []


def test_limit_and_min_score_are_respected(memories):
    memories.add_many({"content": f"deploy number {number}"} for number in range(30))
    assert len(memories.search("deploy", limit=7)) == 7
    assert len(memories.search("deploy", limit=30)) == 30
    assert memories.search("deploy", min_score=1.0) == [] or memories.search("deploy", min_score=1.0)[0].score == 1.0


def test_deleted_memories_are_not_found_until_restored(memories):
    id_ = memories.add("the zebra crossing").id
    assert memories.delete(id_).is_deleted
    assert memories.search("zebra") == []
    assert memories.list() == []
    assert [each.id for each in memories.list(include_deleted=True)] == [id_]
    memories.restore(id_)
    assert len(memories.search("zebra")) == 1


@one_engine
def test_restoring_what_is_not_deleted_is_a_conflict(memories):
    with pytest.raises(Conflict, match="is not deleted"):
        memories.restore(memories.add("x").id)


def test_a_hard_delete_forgets_the_memory(memories):
    id_ = memories.add("the zebra crossing").id
    memories.delete(id_, hard=True)
    with pytest.raises(NotFound, match=id_):
        memories.get(id_)


def test_the_newest_memories_are_listed_first(memories):
    for day in (1, 3, 2):
        memories.add(f"day {day}", created_at=f"2024-01-0{day}", project="p")
    assert [each.content for each in memories.list(project="p", limit=2)] == ["day 3", "day 2"]


def test_many_are_added_together_or_not_at_all(memories):
    with pytest.raises(InvalidInput):
        memories.add_many([{"content": "fine"}, {"content": ""}])
    with pytest.raises(Conflict):
        memories.add_many([{"content": "one", "id": "x"}, {"content": "two", "id": "x"}])
    assert memories.list() == []


def test_an_id_is_taken_once(memories):
    memories.add("first", id="x")
    with pytest.raises(Conflict, match="athand memory show x"):
        memories.add("second", id="x", project="elsewhere")
    assert memories.get("x").content == "first"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"content": ""}, "content is empty"),
        ({"content": "  \n"}, "content is empty"),
        ({"content": "x" * 1_000_001}, "1,000,001 bytes; at most 1,000,000"),
        ({"content": "\ud800"}, "not valid Unicode"),
        ({"content": 5}, "content must be text, not int"),
        ({"content": "x", "project": ""}, "project is empty"),
        ({"content": "x", "project": "a\nb"}, "control characters"),
        ({"content": "x", "id": "y" * 300}, "id has 300 bytes"),
        ({"content": "x", "tags": "oops"}, "tags must be a list"),
        ({"content": "x", "created_at": "yesterday"}, "created_at 'yesterday' is not a time"),
        ({"content": "x", "colour": "red"}, "no colour"),
    ],
)
@one_engine
def test_bad_memories_are_refused_with_a_reason(memories, arguments, message):
    with pytest.raises(InvalidInput, match=message):
        memories.add_many([arguments])
    assert memories.list() == []


@pytest.mark.parametrize("limit", [0, -1, 10**9, 2.5, True, None])
@one_engine
def test_a_bad_limit_is_refused(memories, limit):
    with pytest.raises(InvalidInput, match="limit must be a whole number from 1"):
        memories.search("x", limit=limit)


@pytest.mark.parametrize("id_", ["nope", "", "'; DROP TABLE memories", "\x00"])
def test_an_unknown_id_is_named(memories, id_):
    for operation in (memories.get, memories.delete, memories.restore):
        with pytest.raises(NotFound, match="athand memory list"):
            operation(id_)


class CountingEmbedder(LazyEmbedder):
    """Counts the texts that are really embedded."""

    def __init__(self):
        super().__init__(DEFAULT_MODEL)
        self.embedded = []

    def attempt(self, action):
        real = self._load()
        counting = type("Counting", (), {})()
        for name in ("model_id", "dimensions", "calibration", "embed_query"):
            setattr(counting, name, getattr(real, name))
        counting.embed_passages = lambda texts: self.embedded.extend(texts) or real.embed_passages(texts)
        return action(counting)


def test_unchanged_text_is_never_embedded_twice():
    embedder = CountingEmbedder()
    memories = Memories(open_store(":memory:", SCHEMAS), embedder)
    id_ = memories.add("the same text").id
    memories.add("the same text", project="elsewhere")
    memories.delete(id_)
    memories.restore(id_)
    memories.reindex()
    assert embedder.embedded == ["the same text"]


def test_without_the_cache_it_is_embedded_each_time():
    embedder = CountingEmbedder()
    memories = Memories(open_store(":memory:", SCHEMAS), embedder, use_cache=False)
    memories.add("the same text")
    memories.add("the same text", project="elsewhere")
    assert embedder.embedded == ["the same text"] * 2


def answered(memories):
    return memories.search("deploy note", reinforce=False).to_dict()


def test_a_new_index_is_identical_to_the_old(timed):
    memories = timed  # salience fades: answers are the same only at the same moment
    memories.add_many({"content": f"note {number} on deploys", "project": f"p{number % 3}"} for number in range(40))
    memories.delete(memories.list()[0].id)
    before, answers = memories.fingerprint(), answered(memories)
    assert memories.reindex() == 39
    assert memories.fingerprint() == before
    assert answered(memories) == answers


def test_a_store_is_found_again_by_its_path(tmp_path):
    path = tmp_path / "folder" / "store.db"
    with Athand(str(path)) as athand:
        athand.memories.add("kept on disk", id="a")
    with Athand(str(path)) as athand:
        assert titles(athand.memories.search("disk")) == ["kept on disk"]


@pytest.mark.parametrize("id_", ["\ud800", "a\0b", 5, None, "x" * 5000])
def test_what_cannot_be_an_id_is_not_found(memories, id_):
    with pytest.raises((NotFound, InvalidInput)):
        memories.get(id_)
    with pytest.raises(NotFound):
        memories.end_session(id_)
