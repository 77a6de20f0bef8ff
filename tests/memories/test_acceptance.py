"""What the memory search promises, criterion by criterion, and the defects that must not come back."""

import math
from datetime import UTC, datetime, timedelta

import pytest
from tests.engines import one_engine

from athand import SEED_WEIGHTS
from athand.errors import InvalidInput, NotFound

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def memories(timed):
    return timed


@pytest.fixture
def project(memories):
    """Three memories of one session."""
    memories.start_session("proj1", id="sess1")
    for content, sector in (
        ("Decided to use React with TypeScript for the frontend", "reflective"),
        ("To deploy, run npm build then upload to S3", "procedural"),
        ("The API routes are defined in src/routes/api.ts", "semantic"),
    ):
        memories.add(content, project="proj1", session="sess1", sector=sector)
    return memories


def ids(hits):
    return [hit.id for hit in hits]


def contents(hits):
    return [hit.item.content for hit in hits]


class TestKeyword:
    @pytest.fixture(autouse=True)
    def two_memories(self, memories):
        memories.add("The authentication module handles user login and JWT tokens", project="proj1")
        memories.add("Database migrations are run with the migrate command", project="proj1")

    def test_finds_memories_by_keyword_with_marked_highlights(self, memories):
        [hit] = memories.search("authentication", project="proj1", mode="keyword")
        assert hit.highlights == ("The <mark>authentication</mark> module handles user login and JWT tokens",)

    def test_matches_prefixes(self, memories):
        [hit] = memories.search("auth", project="proj1", mode="keyword")
        assert "<mark>authentication</mark>" in hit.highlights[0]

    def test_keeps_to_the_project(self, memories):
        memories.add("authentication in another project", project="proj2")
        assert len(memories.search("authentication", project="proj1", mode="keyword")) == 1

    @pytest.mark.parametrize("query", ["", "   ", "\n\t"])
    @one_engine
    def test_an_empty_query_finds_nothing(self, memories, query):
        assert memories.search(query, project="proj1") == []

    @pytest.mark.parametrize(
        "query",
        [
            '"authentication"',
            "authentication?!",
            "(auth*) AND",
            "user's login",
            "NEAR(login jwt)",
            "login-",
            "a:b login",
        ],
    )
    def test_punctuation_and_quotes_are_not_syntax(self, memories, query):
        assert "authentication" in memories.search(query, project="proj1")[0].item.content


def test_meaning_finds_what_shares_no_word(memories):
    memories.add("User authentication with JWT tokens and OAuth2", project="proj1")
    memories.add("Database schema design with foreign keys", project="proj1")
    hits = memories.search("login system security", project="proj1", mode="semantic")
    assert hits[0].item.content.startswith("User authentication")
    assert hits[0].match_type == "semantic"
    assert 0 < hits[0].score <= 1


def test_hybrid_unites_both_sides(project):
    hits = project.search("React TypeScript", project="proj1")
    assert hits[0].match_type == "both"
    assert {"keyword", "semantic", "salience", "recency", "sector"} <= set(hits[0].why.signals)


@one_engine
def test_modes_use_their_side_alone_and_scores_stay_comparable(project):
    query = "Decided to use React with TypeScript for the frontend"
    totals = {
        mode: project.search(query, project="proj1", mode=mode)[0].why for mode in ("hybrid", "keyword", "semantic")
    }
    assert "semantic" not in totals["keyword"].signals
    assert "keyword" not in totals["semantic"].signals
    assert totals["keyword"].signals["keyword"].weight == totals["semantic"].signals["semantic"].weight == 1.0
    assert max(why.total for why in totals.values()) < 1.25 * min(why.total for why in totals.values())


def test_the_seed_ranking_can_be_had_exactly(project, clock):
    clock.advance(days=20)
    old = project.add("The old API endpoint is /v1", project="proj1")
    new = project.add("The new API endpoint is /v2", project="proj1")
    project.supersede(old.id, new.id)
    for mode, weights in (("hybrid", (0.4, 0.25)), ("keyword", (0, 0.65)), ("semantic", (0.65, 0))):
        hits = project.search(
            "API endpoint", project="proj1", weights=SEED_WEIGHTS, include_superseded=True, reinforce=False, mode=mode
        )
        assert len(hits) >= 3 if mode != "keyword" else len(hits) == 3
        for hit in hits:
            raw = {name: signal.raw for name, signal in hit.why.signals.items()}
            days = (clock.now - hit.item.created_at) / timedelta(days=1)
            expected = (
                weights[0] * raw.get("semantic", 0)
                + weights[1] * min(1, abs(raw.get("keyword", 0)) / 10)
                + 0.2 * hit.item.effective_salience
                + 0.15 * math.exp(-0.05 * days)
            )
            expected *= {"reflective": 1.2, "semantic": 1.1, "procedural": 1.0, "emotional": 0.9, "episodic": 0.8}[
                hit.item.sector
            ]
            expected *= 0.5 if hit.is_superseded else 1
            assert hit.why.total == pytest.approx(expected, abs=1e-9)
            assert hit.score == pytest.approx(min(1, max(0, expected)))


@one_engine
def test_sector_salience_and_recency_modulate_but_never_create(memories, clock):
    memories.add("The gardener waters the roses", created_at=START - timedelta(days=300), sector="episodic")
    clock.advance(days=1)
    memories.add("Completely unrelated note on tax forms", sector="reflective", pinned=True, importance=1.0)
    hits = memories.search("gardener roses")
    assert contents(hits) == ["The gardener waters the roses"]
    for name in ("salience", "recency", "sector"):
        assert 0.9 <= hits[0].why.signals[name].weight <= 1.1


@pytest.mark.parametrize(
    ("better", "worse"),
    [("reflective", "semantic"), ("semantic", "procedural"), ("procedural", "emotional"), ("emotional", "episodic")],
)
@one_engine
def test_sectors_are_boosted_in_their_order(memories, better, worse):
    low = memories.add("the cache is cleared at night", project="a", sector=worse)
    high = memories.add("the cache is cleared at night", project="b", sector=better)
    assert ids(memories.search("cache cleared")) == [high.id, low.id]


class TestFilters:
    def test_sector_tier_type_and_tags(self, memories):
        memories.add("deploy alpha", sector="procedural", memory_type="gotcha", tags=("ci", "prod"))
        memories.add("deploy beta", sector="episodic", tags=("ci",))
        memories.add("deploy gamma", tier="global", tags=("CI",))
        assert contents(memories.search("deploy", sector="procedural")) == ["deploy alpha"]
        assert contents(memories.search("deploy", tier="global")) == ["deploy gamma"]
        assert contents(memories.search("deploy", memory_type="gotcha")) == ["deploy alpha"]
        assert contents(memories.search("deploy", tags=["ci", "prod"])) == ["deploy alpha"]
        assert set(contents(memories.search("deploy", tags=["ci"]))) == {"deploy alpha", "deploy beta"}
        assert memories.search("deploy", tags=["c"]) == []

    def test_salience(self, memories, clock):
        memories.add("deploy notes of old", sector="episodic")
        clock.advance(days=100)
        memories.add("deploy notes of today")
        assert contents(memories.search("deploy notes", min_salience=0.5, reinforce=False)) == ["deploy notes of today"]
        assert len(memories.search("deploy notes", min_salience=0.05, reinforce=False)) == 2

    def test_a_session_filters_what_it_has_used(self, project):
        project.start_session("proj1", id="sess2")
        project.add("Only in session 2", project="proj1", session="sess2")
        hits = project.search("session", project="proj1", in_session="sess2")
        assert contents(hits) == ["Only in session 2"]
        assert hits[0].source_session.id == "sess2"

    def test_filters_never_leave_a_page_short(self, memories):
        """Ten that pass among hundreds that match better: they must all come."""
        items = [{"content": f"deploy deploy deploy number {at} of many", "sector": "semantic"} for at in range(300)]
        wanted = [
            {
                "content": f"a rather long story {at} that somewhere mentions a deploy among so many other things",
                "sector": "episodic",
                "tier": "global",
                "tags": ["rare"],
                "session": "s",
                "memory_type": "gotcha",
            }
            for at in range(10)
        ]
        memories.add_many(items + wanted)
        for filters in (
            {"sector": "episodic"},
            {"tier": "global"},
            {"tags": ["rare"]},
            {"in_session": "s"},
            {"memory_type": "gotcha"},
        ):
            assert len(memories.search("deploy", limit=10, reinforce=False, **filters)) == 10, filters


class TestSessions:
    def test_hits_carry_their_source_session(self, project):
        project.end_session("sess1", summary="Chose the frontend")
        hit = project.search("React", project="proj1")[0]
        assert (hit.source_session.id, hit.source_session.summary) == ("sess1", "Chose the frontend")
        assert hit.source_session.project == "proj1"
        assert hit.source_session.started_at == START

    @one_engine
    def test_a_memory_of_no_session_has_no_source(self, memories):
        memories.add("lonely note")
        assert memories.search("lonely")[0].source_session is None
        assert memories.session_context(memories.list()[0].id) is None

    def test_session_context_tells_usage_and_size(self, project):
        memory = project.add("Test memory", project="proj1", session="sess1")
        context = project.session_context(memory.id)
        assert (context.session.id, context.usage_type, context.memories_in_session) == ("sess1", "created", 4)

    def test_recall_of_another_sessions_memory_is_linked(self, project, clock):
        """One parameter for filter and caller made this impossible."""
        memory = project.add("To be recalled", project="proj1", session="sess1")
        project.start_session("proj1", id="sess2")
        clock.advance(minutes=5)
        assert memory.id in ids(project.search("recalled", project="proj1", session="sess2"))
        context = project.session_context(memory.id)
        assert (context.session.id, context.usage_type) == ("sess2", "recalled")
        assert memory.id in ids(project.search("recalled", project="proj1", in_session="sess2"))

    def test_a_session_tier_memory_shows_in_its_session_only(self, memories):
        memories.add("scratch: the port is 4711", session="s1", tier="session")
        assert memories.search("port") == []
        assert memories.search("port", session="s2") == []
        assert len(memories.search("port", session="s1")) == 1
        assert len(memories.search("port", in_session="s1")) == 1
        assert "4711" not in memories.brief("default")


class TestSupersession:
    @pytest.fixture
    def pair(self, memories, clock):
        old = memories.add("Old API endpoint is /v1", project="proj1")
        clock.advance(days=1)
        new = memories.add("New API endpoint is /v2", project="proj1")
        memories.supersede(old.id, new.id)
        return old, new

    def test_excluded_by_default(self, memories, pair):
        assert ids(memories.search("API endpoint", project="proj1")) == [pair[1].id]

    def test_included_with_state_and_successor_when_asked(self, memories, pair):
        old, new = pair
        hits = memories.search("API endpoint", project="proj1", include_superseded=True)
        assert ids(hits) == [new.id, old.id]
        assert hits[1].is_superseded
        assert (hits[1].superseded_by.id, hits[1].superseded_by.content) == (new.id, new.content)
        assert hits[1].why.signals["superseded"].weight == 0.5
        assert not hits[0].is_superseded
        assert hits[0].superseded_by is None

    @one_engine
    def test_the_end_of_the_chain_is_the_successor(self, memories, pair):
        newest = memories.add("Newest API endpoint is /v3 " + "x" * 300, project="proj1")
        memories.supersede(pair[1].id, newest.id)
        [hit] = [each for each in memories.search("API endpoint", include_superseded=True) if each.id == pair[0].id]
        assert hit.superseded_by.id == newest.id
        assert len(hit.superseded_by.content) == 200

    def test_as_of_asks_what_was_valid_then(self, memories, pair, clock):
        old, new = pair
        assert ids(memories.search("API endpoint", as_of=START + timedelta(hours=1))) == [old.id]
        assert memories.search("API endpoint", as_of=START - timedelta(days=1)) == []
        assert ids(memories.search("API endpoint", as_of=clock.now)) == [new.id]
        assert [each.id for each in memories.list(as_of=START + timedelta(hours=1))] == [old.id]
        assert [each.id for each in memories.list(as_of=clock.now)] == [new.id]

    @one_engine
    def test_as_of_does_not_punish_what_was_valid_then(self, memories, pair):
        [hit] = memories.search("API endpoint", as_of=START + timedelta(hours=1))
        assert hit.why.signals["superseded"].weight == 1.0
        assert hit.is_superseded

    def test_undone(self, memories, pair):
        memories.unsupersede(pair[0].id)
        assert set(ids(memories.search("API endpoint"))) == {pair[0].id, pair[1].id}
        assert memories.related(pair[0].id) == []


def test_relations_to_existing_memories_are_counted(memories):
    one, two, three = (memories.add(f"Memory number {name}", project="p") for name in ("one", "two", "three"))
    memories.relate(one.id, two.id, "RELATED_TO")
    memories.relate(three.id, one.id, "BUILDS_ON", by="agent")
    count = {hit.id: hit.related_count for hit in memories.search("Memory number", project="p")}
    assert count == {one.id: 2, two.id: 1, three.id: 1}
    memories.delete(two.id)
    assert memories.search("Memory number one", project="p")[0].related_count == 1


class TestTimeline:
    def test_neighbours_in_order_with_their_sessions(self, memories, clock):
        added = []
        for number in range(9):
            added.append(memories.add(f"event {number} happened", project="p", session=f"s{number // 3}").id)
            clock.advance(minutes=1)
        memories.add("elsewhere", project="q")
        timeline = memories.timeline(added[4], before=2, after=3)
        assert [memory.id for memory in (*timeline.before, timeline.anchor, *timeline.after)] == added[2:8]
        assert set(timeline.sessions) == {"s0", "s1", "s2"}

    def test_equal_times_are_never_dropped(self, memories):
        """The first implementation compared times alone."""
        given = sorted(memories.add(f"at the same moment {number}", project="p").id for number in range(7))
        timeline = memories.timeline(given[3], before=9, after=9)
        assert [memory.id for memory in timeline.before] == given[:3]
        assert [memory.id for memory in timeline.after] == given[4:]

    @one_engine
    def test_an_unknown_anchor_is_named(self, memories):
        with pytest.raises(NotFound, match="no-such-memory"):
            memories.timeline("no-such-memory")


class TestSalience:
    def test_being_returned_reinforces_a_little(self, memories, clock):
        memory = memories.add("the port is 4711", importance=0.5, sector="semantic")
        clock.advance(days=30)
        felt = memories.get(memory.id).effective_salience
        assert felt == pytest.approx(math.exp(-0.005 / 0.6 * 30))
        memories.search("port")
        after = memories.get(memory.id)
        assert after.salience == pytest.approx(felt + 0.02 * (1 - felt))
        assert (after.access_count, after.last_accessed) == (1, clock.now)

    @one_engine
    def test_previews_do_not_reinforce(self, memories, clock):
        memory = memories.add("the port is 4711")
        clock.advance(days=30)
        memories.search("port", reinforce=False)
        assert memories.get(memory.id) == memory

    @one_engine
    def test_fading_does_not_compound(self, memories, clock):
        """Written back every hour, 0.72 had become 0.05 in a day."""
        memory = memories.add("the port is 4711", importance=0.5, sector="semantic")
        for _ in range(24 * 3):
            clock.advance(hours=1)
            memories.get(memory.id)
            memories.list()
            memories.search("port", reinforce=False)
        assert memories.get(memory.id).effective_salience == pytest.approx(math.exp(-0.005 / 0.6 * 3))
        assert memories.get(memory.id).salience == 1.0

    @one_engine
    def test_one_recall_does_not_erase_months(self, memories, clock):
        memory = memories.add("the port is 4711", sector="episodic")
        clock.advance(days=60)
        faded = memories.get(memory.id).effective_salience
        assert memories.reinforce(memory.id).salience == pytest.approx(faded + 0.1 * (1 - faded))

    @one_engine
    def test_deemphasized_and_never_below_the_least(self, memories):
        memory = memories.add("the port is 4711")
        assert memories.deemphasize(memory.id).salience == pytest.approx(0.8)
        for _ in range(9):
            memories.deemphasize(memory.id)
        assert memories.get(memory.id).salience == 0.05

    @pytest.mark.parametrize(
        ("sector", "rate"),
        [("emotional", 0.003), ("semantic", 0.005), ("reflective", 0.008), ("procedural", 0.01), ("episodic", 0.02)],
    )
    @one_engine
    def test_each_sector_fades_at_its_rate_and_importance_slows_it(self, memories, clock, sector, rate):
        plain = memories.add("plain", sector=sector)
        weighty = memories.add("weighty", sector=sector, importance=1.0)
        pinned = memories.add("pinned", sector=sector, pinned=True)
        clock.advance(days=10)
        assert memories.get(plain.id).effective_salience == pytest.approx(math.exp(-rate / 0.6 * 10))
        assert memories.get(weighty.id).effective_salience == pytest.approx(math.exp(-rate / 1.1 * 10))
        assert memories.get(pinned.id).effective_salience == 1.0

    @one_engine
    def test_what_is_older_when_added_has_faded_already(self, memories):
        memory = memories.add("long ago", created_at=START - timedelta(days=100), sector="semantic")
        assert memories.get(memory.id).effective_salience == pytest.approx(math.exp(-0.005 / 0.6 * 100))


@one_engine
def test_a_memory_added_by_hand_is_found_by_meaning(memories):
    """The first implementation embedded only what its own pipeline had extracted."""
    memories.add("Alice likes her car red")
    assert contents(memories.search("automobile colour", mode="semantic")) == ["Alice likes her car red"]


def test_a_changed_text_is_found_by_its_new_meaning(memories):
    memory = memories.add("Alice likes her car red")
    memories.update(memory.id, content="Bob plays the violin in an orchestra")
    assert memories.search("automobile colour", mode="semantic") == []
    assert ids(memories.search("musical instrument", mode="semantic")) == [memory.id]


def test_what_only_its_neighbours_say_is_a_hit_by_context(memories, clock):
    for content in (
        "Did you hear about the zebra at the circus?",
        "No way!",
        "Lunch is at noon",
        "The invoice is paid",
    ):
        memories.add(content, session="talk")
        clock.advance(minutes=1)
    hits = {hit.item.content: hit.match_type for hit in memories.search("zebra circus", mode="keyword")}
    assert hits == {"Did you hear about the zebra at the circus?": "keyword", "No way!": "context"}


@one_engine
def test_who_said_it_counts_when_the_query_names_them(memories):
    memories.add("I adopted a puppy", author="Caroline")
    memories.add("I adopted a puppy too", author="Melanie")
    hits = memories.search("What did Melanie adopt?")
    assert hits[0].item.author == "Melanie"
    assert hits[0].why.signals["author"].contribution > 0


class TestGlobal:
    def test_shows_in_every_project_a_little_below_its_own(self, memories):
        everywhere = memories.add("Answers are kept short", project="home", tier="global")
        own = memories.add("Answers are kept short", project="shop")
        hits = memories.search("short answers", project="shop")
        assert ids(hits) == [own.id, everywhere.id]
        assert hits[1].item.project == "home"
        assert hits[1].why.signals["global"].weight < 1 == hits[0].why.signals["global"].weight

    def test_becomes_one_project_again(self, memories):
        memory = memories.add("Answers are kept short", project="home", tier="global")
        memories.update(memory.id, tier="project")
        assert memories.search("short answers", project="shop") == []
        assert ids(memories.search("short answers", project="home")) == [memory.id]

    @one_engine
    def test_the_space_of_all_projects_is_no_project(self, memories):
        with pytest.raises(InvalidInput, match="global"):
            memories.add("x", project="*")
        with pytest.raises(InvalidInput, match="global"):
            memories.search("x", project="*")
