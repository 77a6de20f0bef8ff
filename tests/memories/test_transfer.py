"""Out and in: the same file again, other tools' files, and nothing of a failed import."""

import json
from contextlib import closing

import pytest
from tests.engines import one_engine

from athand import Athand
from athand.app import SCHEMAS
from athand.embed import LazyEmbedder
from athand.embed.models import DEFAULT_MODEL
from athand.errors import Conflict, InvalidInput, NotFound, StoreError
from athand.memories import Memories
from athand.store import open_store


@pytest.fixture
def full(timed, clock):
    """Memories of every kind, with sessions, relations, a supersession, keys and a deleted one."""
    timed.start_session("shop", id="s1")
    one = timed.add("Carts live in Redis", project="shop", session="s1", tags=["db"], key="k1", author="mira")
    clock.advance(days=3)
    two = timed.add("Carts live in PostgreSQL", project="shop", session="s1", memory_type="decision", files=["a.sql"])
    timed.supersede(one.id, two.id)
    everywhere = timed.add("Answers are kept short\nand \u2028 friendly", tier="global", pinned=True, written_by="user")
    timed.pin(two.id)
    timed.relate(two.id, everywhere.id, "APPLIES_TO", by="agent")
    timed.delete(timed.add("gone by now", project="blog").id)
    timed.end_session("s1", summary="moved the carts")
    clock.advance(days=9)
    timed.search("carts", session="s2")
    timed.deemphasize(everywhere.id)
    return timed


def test_an_export_imported_elsewhere_exports_the_identical_file(full, clock, tmp_path, fresh):
    assert full.export(tmp_path / "one.jsonl") == 4
    assert fresh.import_(tmp_path / "one.jsonl").new == 4
    fresh.export(tmp_path / "two.jsonl")
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "two.jsonl").read_bytes()
    for query in ("carts", "short answers", "databases"):
        assert [hit.to_dict() for hit in fresh.search(query, include_superseded=True, reinforce=False)] == [
            hit.to_dict() for hit in full.search(query, include_superseded=True, reinforce=False)
        ]
    assert fresh.fingerprint() == full.fingerprint()
    assert fresh.add("Carts live in Redis", project="shop", key="k1").id == full.list(tags=["db"])[0].id
    [gone] = [memory for memory in fresh.list(include_deleted=True) if memory.is_deleted]
    assert fresh.restore(gone.id).content == "gone by now"


@one_engine
def test_importing_twice_changes_nothing(full, tmp_path, fresh):
    full.export(tmp_path / "one.jsonl")
    for _ in range(2):
        fresh.import_(tmp_path / "one.jsonl")
    fresh.export(tmp_path / "two.jsonl")
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "two.jsonl").read_bytes()


def test_a_backup_can_be_read_into_the_store_it_came_from(full, tmp_path):
    full.export(tmp_path / "one.jsonl")
    full.search("carts")
    full.pin(full.list(tags=["db"])[0].id)
    before = full.list(include_deleted=True)
    assert full.import_(tmp_path / "one.jsonl").new == 0
    assert full.list(include_deleted=True) == before


def test_one_project_alone(full, tmp_path, fresh):
    assert full.export(tmp_path / "shop.jsonl", project="shop") == 2
    fresh.import_(tmp_path / "shop.jsonl")
    assert {memory.project for memory in fresh.list()} == {"shop"}
    assert fresh.stats().relations == 1
    assert {session.id for session in fresh.sessions()} == {"s1", "s2"}


@one_engine
def test_an_export_is_for_its_owner_alone_and_complete_or_absent(full, tmp_path):
    full.export(tmp_path / "one.jsonl")
    assert (tmp_path / "one.jsonl").stat().st_mode & 0o777 == 0o600
    with pytest.raises(StoreError, match=r"missing/one.jsonl cannot be written"):
        full.export(tmp_path / "missing" / "one.jsonl")
    with pytest.raises(StoreError, match="cannot be written"):
        full.export(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["one.jsonl"]


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """An export of 99 memories."""
    path = tmp_path_factory.mktemp("export") / "good.jsonl"
    with closing(open_store(":memory:", SCHEMAS)) as store:
        memories = Memories(store, LazyEmbedder(DEFAULT_MODEL))
        memories.add_many({"content": f"note number {number} of many"} for number in range(99))
        memories.export(path)
    return path


class TestBrokenImports:
    @pytest.fixture
    def lines(self, good):
        return good.read_text("utf-8").splitlines()

    @pytest.mark.parametrize(
        ("broken", "message"),
        [
            ("{not json", "line 57: This is not JSON"),
            ("[1, 2]", "line 57: This is not a JSON object"),
            ('{"kind": "song"}', "line 57: No kind 'song'"),
            ('{"kind": "memory", "id": "x"}', "line 57: The memory lacks content, created_at"),
            ('{"kind": "memory", "mood": "fine"}', "line 57: A memory has no mood"),
            ('{"kind": "link", "project": "p"}', "line 57: The link lacks"),
            (
                '{"kind": "relation", "source_id": "a", "target_id": "b", "type": "CONFIRMS", "by": "user", '
                '"valid_from": "2026-01-01"}',
                "line 57: There is no memory 'a'",
            ),
        ],
    )
    def test_line_57_of_100_is_named_and_nothing_stays(self, fresh, lines, tmp_path, broken, message):
        lines[56] = broken
        (tmp_path / "bad.jsonl").write_text("\n".join(lines), "utf-8")
        with pytest.raises((InvalidInput, NotFound), match=message):
            fresh.import_(tmp_path / "bad.jsonl")
        assert fresh.list(include_deleted=True) == fresh.sessions() == []
        assert fresh.fingerprint() == Memories(open_store(":memory:", SCHEMAS), fresh.embedder).fingerprint()
        with fresh.store.snapshot() as snapshot:
            assert snapshot.rows("SELECT count(*) FROM vectors") == [(0,)]

    @pytest.mark.parametrize(
        ("name", "value", "message"),
        [
            ("sector", "musical", "line 57: No sector 'musical'"),
            ("created_at", "yesterday", "line 57: created_at 'yesterday' is not a time"),
            ("importance", 7, "line 57: importance must be a number"),
            ("access_count", -1, "line 57: access_count must be"),
            ("content", "", "line 57: content is empty"),
        ],
    )
    def test_a_bad_value_is_named(self, fresh, lines, tmp_path, name, value, message):
        lines[56] = json.dumps(json.loads(lines[56]) | {name: value})
        (tmp_path / "bad.jsonl").write_text("\n".join(lines), "utf-8")
        with pytest.raises(InvalidInput, match=message):
            fresh.import_(tmp_path / "bad.jsonl")
        assert fresh.list(include_deleted=True) == []

    @one_engine
    def test_an_id_that_is_taken_by_another_text(self, timed, good, lines, tmp_path):
        timed.import_(good)
        changed = json.loads(lines[56]) | {"content": "something else"}
        (tmp_path / "bad.jsonl").write_text("\n".join([*lines[:56], json.dumps(changed), *lines[57:]]), "utf-8")
        before = timed.list(limit=1000)
        with pytest.raises(Conflict, match=f"line 57: there is another memory {changed['id']} already"):
            timed.import_(tmp_path / "bad.jsonl")
        assert timed.list(limit=1000) == before

    def test_a_circle_of_supersessions(self, fresh, lines, tmp_path):
        ids = [json.loads(line)["id"] for line in lines[1:4]]
        for source, target in zip(ids, [*ids[1:], ids[0]], strict=True):
            relation = {"kind": "relation", "source_id": source, "target_id": target, "type": "SUPERSEDES"}
            lines.append(json.dumps(relation | {"by": "user", "valid_from": "2026-01-01"}))
        (tmp_path / "bad.jsonl").write_text("\n".join(lines), "utf-8")
        with pytest.raises(Conflict, match="supersedes itself"):
            fresh.import_(tmp_path / "bad.jsonl")
        assert fresh.list() == []

    @pytest.mark.parametrize("content", ["", "\n", "{}", '{"format": "athand-memories", "version": 99}'])
    def test_what_is_no_export_of_ours(self, fresh, tmp_path, content):
        (tmp_path / "bad.jsonl").write_text(content)
        with pytest.raises(InvalidInput, match=r"line 1: It (does not begin with|is of version 99)"):
            fresh.import_(tmp_path / "bad.jsonl")

    def test_a_file_that_is_not_there_or_not_text(self, fresh, tmp_path):
        with pytest.raises(NotFound, match=r"nowhere.jsonl"):
            fresh.import_(tmp_path / "nowhere.jsonl")
        (tmp_path / "binary.jsonl").write_bytes(b"\xff\xfe\x00")
        with pytest.raises(InvalidInput, match="not UTF-8"):
            fresh.import_(tmp_path / "binary.jsonl")
        with pytest.raises(InvalidInput, match="No format 'xml'"):
            fresh.import_(tmp_path / "binary.jsonl", format="xml")


def test_markdown_notes_become_memories_under_their_headings(fresh, tmp_path):
    (tmp_path / "shop.md").write_text(
        """---
title: Shop
---
# Shop

Carts live in PostgreSQL,
not in Redis.

## Deploys
- Staging needs the VPN
  and a fresh token
- Production does not
1. First tag, then release

```sh
# not a heading
make release

make announce
```
""",
        "utf-8",
    )
    assert fresh.import_(tmp_path / "shop.md", project="shop").new == 5
    memories = {memory.content: memory for memory in fresh.list(project="shop")}
    assert set(memories) == {
        "Carts live in PostgreSQL,\nnot in Redis.",
        "Staging needs the VPN\n  and a fresh token",
        "Production does not",
        "First tag, then release",
        "```sh\n# not a heading\nmake release\n\nmake announce\n```",
    }
    note = memories["Production does not"]
    assert (note.context, note.files, note.written_by) == ("shop > Shop > Deploys", ("shop.md",), "import")
    again = fresh.import_(tmp_path, project="shop")  # a folder of notes; all known already
    assert (again.memories, again.new) == (5, 0)
    assert len(fresh.list(project="shop")) == 5


def test_the_file_of_the_mcp_memory_server(fresh, tmp_path):
    lines = [
        {"type": "entity", "name": "Mira", "entityType": "person", "observations": ["likes tea", "lives in Oslo"]},
        {"type": "entity", "name": "Shop", "entityType": "project", "observations": []},
        {"type": "relation", "from": "Mira", "to": "Shop", "relationType": "works_on"},
    ]
    (tmp_path / "memory.jsonl").write_text("\n".join(map(json.dumps, lines)), "utf-8")
    assert fresh.import_(tmp_path / "memory.jsonl", project="team").new == 4
    contents = {memory.content: memory for memory in fresh.list(project="team")}
    assert set(contents) == {"Mira: likes tea", "Mira: lives in Oslo", "Shop is a project", "Mira works on Shop"}
    assert contents["Mira: likes tea"].concepts == ("Mira",)
    assert contents["Mira: likes tea"].tags == ("person",)
    assert fresh.search("where does Mira live?")[0].item.content == "Mira: lives in Oslo"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"type": "entity", "observations": []}, "line 2: It is neither"),
        ({"type": "relation", "from": "a"}, "line 2: A relation needs"),
        ({"type": "entity", "name": "x" * 300, "observations": ["y"]}, "line 2: concepts has 300 bytes"),
    ],
)
def test_a_bad_line_of_another_tool_is_named_and_nothing_stays(fresh, tmp_path, line, message):
    good = {"type": "entity", "name": "Mira", "observations": ["likes tea"]}
    (tmp_path / "memory.jsonl").write_text(json.dumps(good) + "\n" + json.dumps(line), "utf-8")
    with pytest.raises(InvalidInput, match=message):
        fresh.import_(tmp_path / "memory.jsonl")
    assert fresh.list() == []


@one_engine
def test_an_import_survives_a_reopened_store(full, tmp_path):
    full.export(tmp_path / "one.jsonl")
    with Athand(str(tmp_path / "store.db")) as athand:
        athand.memories.import_(tmp_path / "one.jsonl")
        before = athand.memories.fingerprint()
        assert athand.check() == []
    with Athand(str(tmp_path / "store.db")) as athand:
        assert athand.memories.reindex() == 3
        assert athand.memories.fingerprint() == before


def test_links_in_a_folder_of_notes_are_not_followed(memories, tmp_path):
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "mine.md").write_text("Staging deploys need the VPN")
    (tmp_path / "secret.md").write_text("The vault opens with 4711")
    (notes / "link.md").symlink_to(tmp_path / "secret.md")
    assert memories.import_(notes).new == 1
    assert [memory.content for memory in memories.list()] == ["Staging deploys need the VPN"]
