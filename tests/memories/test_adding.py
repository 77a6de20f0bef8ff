"""Adding: what is new is kept, what is said already is reinforced, what is secret is not written."""

import pytest
from tests.engines import one_engine

from athand import Athand
from athand.errors import Conflict, InvalidInput
from test_redaction import SECRETS

LONG = "Staging deploys need the VPN and a fresh token before the pipeline will accept the release image"


def test_a_memory_has_all_its_fields(timed, clock):
    memory = timed.add(
        LONG,
        project="shop",
        session="s1",
        memory_type="gotcha",
        importance=0.8,
        tags=["deploy"],
        concepts=["VPN"],
        files=["ci/deploy.yml"],
        summary="VPN for staging",
        context="release notes",
        author="mira",
        written_by="user",
        pinned=True,
    )
    assert memory == timed.get(memory.id)
    assert (memory.sector, memory.tier, memory.session) == ("procedural", "project", "s1")
    assert memory.valid_from == memory.created_at == memory.last_accessed == clock.now
    assert memory.title == "VPN for staging"
    for query in ("VPN", "deploy.yml", "release notes", "mira"):
        assert timed.search(query)


@pytest.mark.parametrize(
    ("content", "given", "sector"),
    [
        ("Decided to use React with TypeScript for the frontend", {}, "reflective"),
        ("To deploy, run npm build then upload to S3", {}, "procedural"),
        ("The API routes are defined in src/routes/api.ts", {}, "semantic"),
        ("Xyzzy", {}, "semantic"),
        ("Decided to use React", {"memory_type": "preference"}, "emotional"),
        ("Decided to use React", {"memory_type": "preference", "sector": "episodic"}, "episodic"),
        ("Xyzzy", {"memory_type": "turn_summary"}, "reflective"),
        ("Xyzzy", {"memory_type": "task_completion"}, "episodic"),
    ],
)
@one_engine
def test_the_sector_is_given_or_follows_type_or_text(memories, content, given, sector):
    assert memories.add(content, **given).sector == sector


@one_engine
def test_a_changed_type_changes_the_sector(memories):
    memory = memories.add("Xyzzy plugh")
    assert memories.update(memory.id, memory_type="decision").sector == "reflective"
    assert memories.update(memory.id, content="Yesterday we met").sector == "reflective"


class TestDuplicates:
    def test_the_same_text_reinforces_the_existing_memory(self, timed, clock):
        first = timed.add("the port is 4711", session="s1")
        clock.advance(days=50)
        felt = timed.get(first.id).effective_salience
        again = timed.add("  The PORT is\n4711 ", session="s2")
        assert (again.id, again.deduplicated, first.deduplicated) == (first.id, True, False)
        assert again.salience == pytest.approx(felt + 0.1 * (1 - felt))
        assert again.content == "the port is 4711"
        assert timed.session_context(first.id).usage_type == "reinforced"
        assert len(timed.list()) == 1

    def test_what_the_second_telling_adds_is_kept(self, memories):
        first = memories.add("the port is 4711", tags=["net"], importance=0.3)
        again = memories.add("The port is 4711", tags=["prod", "net"], files=["a.cfg"], importance=0.9, pinned=True)
        assert again == memories.get(first.id)
        assert (again.tags, again.files, again.importance, again.pinned) == (("net", "prod"), ("a.cfg",), 0.9, True)
        assert [hit.id for hit in memories.search("prod", mode="keyword")] == [first.id]

    @one_engine
    def test_nearly_the_same_long_text_does_too(self, memories):
        first = memories.add(LONG)
        again = memories.add(LONG.replace("before the", "before") + ".")
        assert (again.id, again.deduplicated) == (first.id, True)

    @pytest.mark.parametrize(
        "other",
        [
            LONG.replace("need", "do not need"),
            LONG.replace("Staging", "Production"),
            LONG + " v2",
            LONG.replace("a fresh token", "2 fresh tokens"),
        ],
    )
    @one_engine
    def test_a_number_a_negation_or_a_name_is_no_duplicate(self, memories, other):
        memories.add(LONG)
        added = memories.add(other)
        assert not added.deduplicated
        assert added.similar[0].content == LONG

    def test_other_projects_authors_and_tiers_are_other_matters(self, memories):
        first = memories.add("the port is 4711")
        others = [
            memories.add("the port is 4711", project="elsewhere"),
            memories.add("the port is 4711", author="mira"),
            memories.add("the port is 4711", tier="global"),
            memories.add("the port is 4711", tier="session", session="s"),
            memories.add("the port is 4711", tier="session", session="t"),
        ]
        assert not any(other.deduplicated for other in others)
        assert len({first.id, *(other.id for other in others)}) == 6

    def test_nothing_is_merged_into_what_is_superseded_or_deleted(self, memories):
        old, new = memories.add("the port is 4711"), memories.add("the port is 4712")
        memories.supersede(old.id, new.id)
        again = memories.add("the port is 4711")
        assert (again.deduplicated, again.id != old.id) == (False, True)
        memories.delete(again.id)
        assert memories.add("the port is 4711").id not in (old.id, again.id)

    def test_within_one_batch_too(self, memories):
        added = memories.add_many({"content": text} for text in ("twice", "once", "Twice", LONG, LONG + "."))
        assert [memory.deduplicated for memory in added] == [False, False, True, False, True]
        assert len(memories.list()) == 3
        assert len(memories.search("twice", mode="keyword")) == 1


class TestSimilar:
    def test_an_add_tells_what_it_may_contradict(self, memories):
        old = memories.add("Auth tokens rotate every 24 hours", project="shop")
        memories.add("Customers in Norway are charged in NOK", project="shop")
        memories.add("Auth tokens rotate every 24 hours", project="elsewhere")
        added = memories.add("Auth tokens rotate every 12 hours since the audit", project="shop")
        assert [each.id for each in added.similar] == [old.id]
        assert 0.5 <= added.similar[0].score <= 1

    @one_engine
    def test_nothing_similar_is_nothing(self, memories):
        memories.add("Customers in Norway are charged in NOK")
        assert memories.add("The gardener waters the roses").similar == ()

    def test_what_is_superseded_is_not_similar(self, memories):
        old, new = memories.add("Tokens rotate every 24 hours"), memories.add("Tokens rotate every 12 hours")
        memories.supersede(old.id, new.id)
        assert old.id not in [each.id for each in memories.add("Tokens rotate every 6 hours").similar]


class TestKeys:
    def test_a_retried_add_adds_nothing(self, memories):
        first = memories.add("pay the invoice", key="job-1")
        memories.update(first.id, content="paid the invoice")
        again = memories.add("pay the invoice", key="job-1")
        assert (again.id, again.content) == (first.id, "paid the invoice")
        assert memories.add("pay the invoice", key="job-1", project="other").id != first.id

    @one_engine
    def test_one_name_for_two_texts_is_a_conflict(self, memories):
        first = memories.add("pay the invoice", key="job-1")
        with pytest.raises(Conflict, match=f"'job-1'.*athand memory show {first.id}"):
            memories.add("feed the cat", key="job-1")
        assert len(memories.list()) == 1

    def test_also_for_what_was_merged(self, memories):
        first = memories.add("pay the invoice")
        assert memories.add("pay the invoice", key="k").deduplicated
        memories.update(first.id, content="something else entirely")
        assert memories.add("pay the invoice", key="k").id == first.id


class TestSecrets:
    @pytest.mark.parametrize("kind", SECRETS)
    def test_no_secret_reaches_the_disk(self, kind, tmp_path, caplog):
        secret = SECRETS[kind]
        with Athand(str(tmp_path / "store.db")) as athand:
            kept = athand.memories.add(
                f"Remember: {secret} for the login", context=f"see {secret}", tags=[secret[:250]], summary=secret
            )
            athand.memories.update(kept.id, content=f"Now it is {secret} indeed")
            athand.memories.search(secret)
            athand.memories.end_session(athand.memories.start_session().id, summary=f"used {secret}")
            athand.memories.export(tmp_path / "export.jsonl")
            assert_nowhere(tmp_path, caplog, secret)
        assert_nowhere(tmp_path, caplog, secret)
        assert "[redacted: " in kept.content

    @one_engine
    def test_private_text_is_not_stored(self, memories):
        memory = memories.add("The door code <private>is 1234</private> changes monthly")
        assert memory.content == "The door code changes monthly"
        with pytest.raises(InvalidInput, match="private from beginning to end"):
            memories.add("<private>is 1234</private>")

    @one_engine
    def test_ordinary_text_is_untouched(self, memories):
        text = (
            "The password is stored hashed; token: see docs; sk-learn; commit 9fceb02d0ae598e95dc970b74767f19372d61af8"
        )
        assert memories.add(text).content == text


@pytest.mark.parametrize("what", ["project", "session", "id", "key"])
@one_engine
def test_a_name_that_looks_like_a_secret_is_refused(memories, what):
    with pytest.raises(InvalidInput, match=f"{what} looks like a secret") as raised:
        memories.add("fine", **{what: "password=hunter2"})
    assert "hunter2" not in str(raised.value)


def test_a_batch_keeps_its_order_and_names_what_is_wrong(memories):
    added = memories.add_many({"content": f"step {number} of the recipe"} for number in range(20))
    assert [memory.id for memory in memories.list()] == [memory.id for memory in reversed(added)]
    with pytest.raises(InvalidInput, match="Memory 3 of the batch: content is empty"):
        memories.add_many([{"content": "a"}, {"content": "b"}, {"content": ""}])
    with pytest.raises(InvalidInput, match="not str"):
        memories.add_many(["a", "b"])


def assert_nowhere(folder, caplog, secret):
    """In no file, and in no line of the log; a secret of several lines by each of its lines."""
    pieces = [piece for piece in secret.splitlines() if len(piece) > 24 and "-----" not in piece] or [secret]
    for piece in pieces:
        assert piece not in caplog.text
        for file in folder.rglob("*"):
            if file.is_file():
                assert piece.encode() not in file.read_bytes(), file.name


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sector": "musical"}, "No sector 'musical'. Choose one of: emotional, reflective"),
        ({"tier": "galaxy"}, "No tier 'galaxy'. Choose one of: session, project, global"),
        ({"tier": "session"}, "say which: session"),
        ({"memory_type": "song"}, "No memory_type 'song'"),
        ({"written_by": "cat"}, "No written_by 'cat'"),
        ({"importance": 1.5}, "importance must be a number from 0 to 1"),
        ({"importance": "high"}, "importance must be a number from 0 to 1"),
        ({"created_at": "2999-01-01"}, "created_at 2999-01-01.* lies in the future"),
        ({"created_at": "2024-02-30"}, "created_at '2024-02-30' is not a time"),
        ({"created_at": 12}, "created_at 12 is not a time"),
        ({"pinned": "yes"}, "pinned must be true or false"),
        ({"tags": "oops"}, "tags must be a list"),
        ({"files": [1]}, "files must be text"),
        ({"session": ""}, "session is empty"),
        ({"key": "a\nb"}, "control characters"),
        ({"colour": "red"}, "no colour"),
        ({"created_at": "2025-01-01", "valid_until": "2024-01-01"}, "valid_until 2024.* lies before valid_from 2025"),
    ],
)
@one_engine
def test_bad_input_is_named(memories, given, message):
    with pytest.raises(InvalidInput, match=message):
        memories.add_many([{"content": "fine"}, {"content": "x", **given}])
    assert memories.list() == []


@one_engine
@pytest.mark.parametrize("name", [SECRETS["GitHub token"], "<private>me</private>"])
def test_a_secret_is_no_name(memories, name):
    one, other = memories.add("Carts live in PostgreSQL"), memories.add("Carts live in Redis")
    for refused in (
        lambda: memories.start_session("shop", id=name),
        lambda: memories.supersede(one.id, other.id, by=name),
        lambda: memories.relate(one.id, other.id, "BUILDS_ON", by=name),
    ):
        with pytest.raises(InvalidInput, match="looks like a secret") as error:
            refused()
        assert name not in str(error.value)
