"""Changing what is remembered: update, delete, restore, forget, pin, and what belongs together."""

import pytest
from tests.engines import one_engine

from athand.errors import Conflict, InvalidInput, NotFound
from athand.memories.salience import LEAST


def ids(hits):
    return [hit.id for hit in hits]


class TestUpdate:
    def test_changes_what_is_named_and_nothing_else(self, timed, clock):
        memory = timed.add("the port is 4711", author="mira", tags=["net"], context="prod")
        clock.advance(minutes=1)
        after = timed.update(memory.id, content="the port is 4712", tags=["net", "new"], context=None)
        assert after == timed.get(memory.id)
        assert (after.content, after.tags, after.context, after.author) == (
            "the port is 4712",
            ("net", "new"),
            None,
            "mira",
        )
        assert (after.created_at, after.updated_at) == (memory.created_at, clock.now)
        assert timed.search("4711") == []
        assert ids(timed.search("4712")) == ids(timed.search("new")) == [memory.id]

    def test_whoever_saw_an_older_state_is_refused(self, timed):
        memory = timed.add("the port is 4711")
        timed.update(memory.id, content="the port is 4712", expected_updated_at=memory.updated_at)
        with pytest.raises(Conflict, match=f"was changed at .*athand memory show {memory.id}"):
            timed.update(memory.id, content="the port is 4713", expected_updated_at=memory.updated_at.isoformat())
        assert timed.get(memory.id).content == "the port is 4712"

    @one_engine
    def test_a_search_in_between_is_no_conflict(self, timed):
        memory = timed.add("the port is 4711")
        timed.search("port")
        after = timed.update(memory.id, importance=0.9, expected_updated_at=memory.updated_at)
        assert after.access_count == 1

    def test_is_linked_with_the_session(self, timed, clock):
        memory = timed.add("the port is 4711", session="s1")
        clock.advance(minutes=1)
        timed.update(memory.id, pinned=True, session="s2")
        context = timed.session_context(memory.id)
        assert (context.session.id, context.usage_type) == ("s2", "updated")

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"project": "other"}, "project cannot be changed"),
            ({"content": None}, "content must be text"),
            ({"content": " "}, "content is empty"),
            ({"tier": "session"}, "created in no session"),
            ({"sector": "x"}, "No sector 'x'"),
            ({"mood": "good"}, "mood cannot be changed"),
        ],
    )
    @one_engine
    def test_bad_changes_are_named_and_change_nothing(self, memories, changes, message):
        memory = memories.add("the port is 4711")
        with pytest.raises(InvalidInput, match=message):
            memories.update(memory.id, **changes)
        assert memories.get(memory.id) == memory

    @one_engine
    def test_what_is_deleted_must_be_restored_first(self, memories):
        memory = memories.add("x")
        memories.delete(memory.id)
        for change in (
            lambda: memories.update(memory.id, content="y"),
            lambda: memories.pin(memory.id),
            lambda: memories.reinforce(memory.id),
            lambda: memories.supersede(memory.id, memories.add("y").id),
        ):
            with pytest.raises(Conflict, match=f"athand memory restore {memory.id}"):
                change()


def test_pinned_memories_neither_fade_nor_are_forgotten(timed, clock):
    memory = timed.add("keep me", project="p")
    other = timed.add("drop me", project="p")
    timed.pin(memory.id)
    clock.advance(days=1000)
    assert timed.get(memory.id).effective_salience == 1.0
    assert ids(timed.forget(project="p", dry_run=False)) == [other.id]
    timed.unpin(memory.id)
    assert timed.get(memory.id).effective_salience < 1
    assert ids(timed.forget(project="p")) == [memory.id]


class TestForget:
    @pytest.fixture
    def some(self, timed, clock):
        timed.add("old and faded", sector="episodic", tags=["a"])
        clock.advance(days=200)
        timed.add("new and fresh", sector="episodic", tags=["a", "b"], author="mira")
        timed.add("another project", project="p")
        return timed

    @pytest.mark.parametrize(
        ("filters", "expected"),
        [
            ({"max_salience": 0.1}, ["old and faded"]),
            ({"project": "default"}, ["old and faded", "new and fresh"]),
            ({"tags": ["b"]}, ["new and fresh"]),
            ({"author": "mira"}, ["new and fresh"]),
            ({"sector": "semantic"}, ["another project"]),
            ({"until": "2026-04-01"}, ["old and faded"]),
            ({"since": "2026-04-01", "project": "default"}, ["new and fresh"]),
        ],
    )
    def test_a_dry_run_tells_and_the_real_one_does_the_same(self, some, filters, expected):
        assert [memory.content for memory in some.forget(**filters)] == expected
        assert len(some.list()) == 3
        gone = some.forget(dry_run=False, **filters)
        assert [memory.content for memory in gone] == expected
        assert all(memory.is_deleted for memory in gone)
        assert len(some.list()) == 3 - len(expected)
        some.restore(gone[0].id)

    @one_engine
    def test_everything_at_once_is_not_offered(self, some):
        for filters in ({}, {"project": None}):
            with pytest.raises(InvalidInput, match="Name at least one filter"):
                some.forget(**filters)

    @one_engine
    def test_an_unknown_filter_is_named(self, some):
        with pytest.raises(InvalidInput, match=r"chosen by mood\. Known: project"):
            some.forget(mood="bad")
        with pytest.raises(InvalidInput, match="chosen by mood"):
            some.list(mood="bad")


class TestDelete:
    def test_thirty_days_to_think_it_over(self, timed, clock):
        first, second = timed.add("the first regret"), timed.add("the second regret")
        timed.delete(first.id)
        clock.advance(days=29)
        assert timed.restore(first.id).deleted_at is None
        timed.delete(first.id)
        clock.advance(days=31)
        timed.delete(second.id)
        with pytest.raises(NotFound):
            timed.get(first.id)
        assert timed.get(second.id).is_deleted

    @one_engine
    def test_deleting_twice_does_not_prolong_it(self, timed, clock):
        memory = timed.add("regret")
        when = timed.delete(memory.id).deleted_at
        clock.advance(days=10)
        assert timed.delete(memory.id).deleted_at == when

    def test_an_erased_link_of_a_chain_is_bridged(self, timed, clock):
        chain = []
        for version in (1, 2, 3):
            chain.append(timed.add(f"the API is at /v{version}"))
            clock.advance(days=1)
        timed.supersede(chain[0].id, chain[1].id)
        timed.supersede(chain[1].id, chain[2].id)
        timed.delete(chain[1].id, hard=True)
        [hit] = [each for each in timed.search("API", include_superseded=True) if each.id == chain[0].id]
        assert hit.superseded_by.id == chain[2].id
        timed.delete(chain[2].id, hard=True)
        assert timed.search("API") == []
        [hit] = timed.search("API", include_superseded=True)
        assert (hit.id, hit.is_superseded, hit.superseded_by) == (chain[0].id, True, None)
        timed.unsupersede(chain[0].id)
        assert ids(timed.search("API")) == [chain[0].id]


class TestRelations:
    def test_both_ends_see_a_relation_with_its_maker(self, memories):
        one, two = memories.add("we use Redis"), memories.add("Redis is slow on Mondays")
        relation = memories.relate(two.id, one.id, "CONTRADICTS", by="agent")
        for end, other in ((one, two), (two, one)):
            [found] = memories.related(end.id)
            assert (found.relation, found.memory) == (relation, other)
        assert relation.by == "agent"

    def test_the_relation_supersedes_is_a_supersession(self, memories):
        old, new = memories.add("port 1"), memories.add("port 2")
        memories.relate(new.id, old.id, "SUPERSEDES")
        assert memories.get(old.id).valid_until == new.valid_from

    @pytest.mark.parametrize("kind", ["LIKES", "", "related_to"])
    @one_engine
    def test_an_unknown_relation_is_named(self, memories, kind):
        one, two = memories.add("a a"), memories.add("b b")
        with pytest.raises(InvalidInput, match=f"No relation '{kind}'. Choose one of: SUPERSEDES, CONTRADICTS"):
            memories.relate(one.id, two.id, kind)

    def test_unknown_memories_are_named(self, memories):
        one = memories.add("a a")
        for attempt in (
            lambda: memories.relate(one.id, "ghost", "CONFIRMS"),
            lambda: memories.supersede("ghost", one.id),
            lambda: memories.supersede(one.id, "ghost"),
            lambda: memories.unsupersede("ghost"),
            lambda: memories.related("ghost"),
            lambda: memories.update("ghost", content="x"),
            lambda: memories.session_context("ghost"),
        ):
            with pytest.raises(NotFound, match="'ghost'"):
                attempt()

    @one_engine
    def test_projects_are_crossed_only_to_a_global_memory(self, memories):
        here, there = memories.add("a a", project="p"), memories.add("b b", project="q")
        for attempt in (memories.relate, lambda *ends: memories.supersede(*ends[:2])):
            with pytest.raises(InvalidInput, match="relations stay within a project"):
                attempt(here.id, there.id, "CONFIRMS")
        everywhere = memories.add("c c", project="q", tier="global")
        memories.relate(here.id, everywhere.id, "CONFIRMS")
        memories.supersede(here.id, everywhere.id)
        assert memories.search("a", project="p", mode="keyword") == []

    def test_no_circle_and_no_second_successor(self, memories):
        one, two, three = (memories.add(f"version {name}") for name in "abc")
        memories.supersede(one.id, two.id)
        memories.supersede(two.id, three.id)
        with pytest.raises(Conflict, match="circle"):
            memories.supersede(three.id, one.id)
        with pytest.raises(InvalidInput, match="itself"):
            memories.supersede(three.id, three.id)
        with pytest.raises(Conflict, match=f"superseded by {two.id} already.*athand memory unsupersede {one.id}"):
            memories.supersede(one.id, three.id)
        with pytest.raises(Conflict, match="is not superseded"):
            memories.unsupersede(three.id)


class TestSessions:
    def test_begin_and_end(self, timed, clock):
        session = timed.start_session("shop")
        clock.advance(hours=1)
        ended = timed.end_session(session.id, summary="moved the carts")
        assert (ended.started_at, ended.ended_at) == (session.started_at, clock.now)
        assert timed.sessions("shop") == [ended]

    @one_engine
    def test_what_is_no_name_is_no_session(self, memories):
        memory = memories.add("x")
        for attempt in (memories.reinforce, memories.update):
            with pytest.raises(InvalidInput, match="session"):
                attempt(memory.id, session="")

    def test_what_was_erased_meanwhile_is_not_linked(self, memories, tmp_path):
        from athand.memories import sessions

        memory = memories.add("x", session="s")
        memories.delete(memory.id, hard=True)
        with memories.store.transaction() as transaction:
            sessions.link(transaction, "s", [memory], "recalled", memory.created_at)
        memories.export(tmp_path / "x.jsonl")
        assert '"link"' not in (tmp_path / "x.jsonl").read_text("utf-8")

    @one_engine
    def test_a_session_is_begun_once(self, memories):
        first = memories.start_session("shop", id="s")
        assert memories.start_session("shop", id="s") == first
        with pytest.raises(Conflict, match="of another project already"):
            memories.start_session("blog", id="s")

    def test_naming_a_session_begins_it(self, timed):
        timed.add("x", session="s", project="shop", created_at="2025-01-01")
        [session] = timed.sessions()
        assert (session.id, session.project, session.started_at.year) == ("s", "shop", 2025)

    @one_engine
    def test_unknown_sessions_are_named(self, memories):
        for attempt in (lambda: memories.end_session("ghost"), lambda: memories.search("x", in_session="ghost")):
            with pytest.raises(NotFound, match=r"No session 'ghost'.*athand memory sessions"):
                attempt()


class TestBrief:
    def test_pinned_decisions_and_the_last_session_come_first(self, timed, clock):
        for number in range(30):
            timed.add(f"Ordinary fact number {number} about the warehouse", project="shop", sector="episodic")
        timed.add("Carts live in PostgreSQL", project="shop", memory_type="decision", author="mira")
        timed.pin(timed.add("Never deploy on Fridays", project="shop").id)
        timed.add("Answers are kept short", project="home", tier="global")
        timed.add("Secret of another project", project="blog")
        old = timed.add("Tokens last a day", project="shop")
        timed.supersede(old.id, timed.add("Tokens last an hour", project="shop").id)
        timed.end_session(timed.start_session("shop").id, summary="Moved the carts")
        clock.advance(days=1)
        brief = timed.brief("shop", max_tokens=300)
        places = [
            brief.index(part) for part in ("Moved the carts", "Never deploy", "Carts live", "Answers are kept short")
        ]
        assert places == sorted(places)
        assert "mira" in brief
        assert "Secret" not in brief
        assert "last a day" not in brief

    @one_engine
    def test_says_what_no_person_wrote(self, memories):
        memories.add("The owner wants every test deleted", project="shop", id="a", pinned=True)
        memories.add("Carts live in PostgreSQL", project="shop", id="b", author="mira", written_by="user")
        lines = memories.brief("shop").splitlines()
        assert [line.partition(" (")[2].count("written by agent") for line in lines if line.startswith("- ")] == [1, 0]
        assert "pinned by agent" in lines[1]
        memories.unpin("a")
        memories.pin("a", changed_by="user")
        assert "pinned by" not in memories.brief("shop")

    @pytest.mark.parametrize("budget", [0, 5, 20, 100, 400])
    @one_engine
    def test_keeps_to_its_budget(self, memories, budget):
        memories.add_many({"content": f"Fact {number} about 北京 and the warehouse " * 3} for number in range(40))
        brief = memories.brief("default", max_tokens=budget)
        others = sum(not character.isascii() for character in brief)
        assert (len(brief) - others) / 4 + others <= budget

    @one_engine
    def test_of_nothing_is_nothing(self, memories):
        assert memories.brief("empty") == ""


@pytest.mark.parametrize("hard", [False, True])
def test_forget_takes_the_oldest_first_and_some_at_a_time(timed, clock, monkeypatch, hard):
    monkeypatch.setattr("athand.memories.write._AT_ONCE", 2)
    for name in ("one", "two", "three", "four", "five"):
        timed.add(f"The {name} build of the day", id=name)
        clock.advance(seconds=1)
    assert [each.id for each in timed.forget(project="default", limit=3)] == ["one", "two", "three"]
    gone = timed.forget(project="default", limit=3, dry_run=False, hard=hard, longest=12)
    assert [(each.id, each.content[:4]) for each in gone] == [("one", "The "), ("two", "The "), ("three", "The ")]
    assert {each.id for each in timed.list()} == {"four", "five"}
    assert [each.id for each in timed.forget(project="default", dry_run=False, hard=hard)] == ["four", "five"]
    assert len(timed.list(include_deleted=True)) == (0 if hard else 5)
    clock.advance(days=31)
    timed.add("Something else", id="else")
    timed.delete("else")  # erases what cannot be restored any more
    assert [each.id for each in timed.list(include_deleted=True)] == ["else"]
    assert timed.check() == []


def test_who_pins_is_kept_whoever_wrote(memories):
    text = memories.add("Carts live in Redis", id="a", written_by="user")
    assert (text.pinned_by, memories.pin("a").pinned_by, memories.get("a").pin_note) == (
        None,
        "agent",
        "pinned by agent",
    )
    assert memories.pin("a", changed_by="user").pinned_by == "agent"  # it was pinned already
    assert memories.unpin("a").pinned_by is None
    assert memories.pin("a", changed_by="user").pin_note == "pinned"
    again = memories.add("Carts live in Redis", pinned=True)
    assert (again.deduplicated, again.pinned_by, again.written_by) == (True, "user", "user")
    memories.unpin("a")
    assert memories.add("Carts live in Redis", pinned=True).pinned_by == "agent"
    with pytest.raises(InvalidInput, match="pinned_by cannot be changed"):
        memories.update("a", pinned_by="user")


@one_engine
def test_who_changes_the_text_has_written_it(memories):
    memories.add("Deploys wait for the smoke test", id="a", written_by="user")
    assert memories.update("a", importance=0.9, tags=["deploy"]).written_by == "user"
    assert memories.update("a", content="Deploys wait for nothing").written_by == "agent"
    assert memories.update("a", summary="Deploys", changed_by="user").written_by == "user"


def test_stats_count_what_there_is(timed, clock):
    timed.add("a fact", project="p", session="s")
    timed.pin(timed.add("a decision", memory_type="decision").id)
    timed.delete(timed.add("gone").id)
    old = timed.add("port 1")
    timed.supersede(old.id, timed.add("port 2").id)
    clock.advance(days=1)
    stats = timed.stats()
    assert (stats.memories, stats.superseded, stats.deleted, stats.pinned) == (4, 1, 1, 1)
    assert (stats.sessions, stats.relations) == (1, 1)
    assert stats.by_project == {"default": 3, "p": 1}
    assert stats.by_type == {"decision": 1}
    assert sum(stats.by_sector.values()) == sum(stats.by_tier.values()) == 4
    assert 0 < stats.salience < 1
    assert timed.stats("p").memories == 1


@one_engine
def test_documents_are_asked_through_memories(memories):
    assert memories.search_documents("x") == []
    assert "No folder of documents" in memories.search_documents("x").notes[0]
    memories.add("deploy notes")
    hits = memories.search("deploy", include_documents=True)
    assert len(hits) == 1
    assert any("No folder of documents" in note for note in hits.notes)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"mode": "psychic"}, "No mode 'psychic'"),
        ({"sector": "x"}, "No sector 'x'"),
        ({"tier": "x"}, "No tier 'x'"),
        ({"memory_type": "x"}, "No memory_type 'x'"),
        ({"min_salience": 2}, "min_salience must be a number"),
        ({"min_score": -1}, "min_score must be a number"),
        ({"as_of": "2999-01-01"}, "as_of 2999.* lies in the future"),
        ({"as_of": "long ago"}, "as_of 'long ago' is not a time"),
        ({"limit": 0}, "limit must be"),
        ({"limit": -1}, "limit must be"),
        ({"limit": 10**9}, "limit must be"),
        ({"tags": "x"}, "tags must be a list"),
        ({"project": ""}, "project is empty"),
        ({"weights": 3}, "weights must be Weights"),
    ],
)
@one_engine
def test_a_bad_search_is_named(memories, given, message):
    with pytest.raises(InvalidInput, match=message):
        memories.search("x", **given)


@one_engine
def test_timeline_sizes_are_checked(memories):
    id_ = memories.add("x").id
    assert memories.timeline(id_, before=0, after=0).before == ()
    with pytest.raises(InvalidInput, match="before must be a whole number from 0"):
        memories.timeline(id_, before=-1)


@one_engine
def test_an_answer_stands_when_it_cannot_be_noted(memories, monkeypatch, caplog):
    from athand.errors import StoreError

    memories.add("the port is 4711")

    def full(**_):
        raise StoreError("The disk is full.")

    monkeypatch.setattr(memories.store, "transaction", full)
    hits = memories.search("port")
    assert len(hits) == 1
    assert hits.notes == memories.search("port").notes == ("Not reinforced: The disk is full.",)
    assert caplog.text.count("disk is full") == 1


@one_engine
def test_what_was_last_used_ages_ago_has_faded_to_the_least_and_comes_back(timed, clock):
    timed.add("The old lighthouse was sold yesterday", id="old", importance=0.0, sector="episodic")
    clock.advance(days=365 * 60)
    assert timed.get("old").effective_salience == timed.stats().salience == LEAST
    assert timed.search("lighthouse", min_salience=0.06) == []
    assert timed.search("lighthouse", reinforce=False)
    assert timed.reinforce("old").salience > LEAST
