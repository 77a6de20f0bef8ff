"""A hard delete leaves nothing: no word, no vector, no hash, in no file."""

import re
from contextlib import closing
from hashlib import sha256
from random import Random

import apsw
import pytest
from stores import SECRET, assert_sides_agree, fill, made_up_word, opened, sentence

from athand import Athand


def files(path):
    """The database, its log, and everything in the folder of its vectors."""
    return [
        file for start in path.parent.glob(f"{path.name}*") for file in (start, *start.rglob("*")) if file.is_file()
    ]


def traces(path, *needles):
    """Where any of these bytes are on disk."""
    return [(file.name, needle) for file in files(path) for needle in needles if needle in file.read_bytes()]


def vector_of(path, text):
    """The stored bytes of a text's vector."""
    with closing(apsw.Connection(str(path))) as database:
        sql = "SELECT vector FROM vectors WHERE hash = ?"
        return database.execute(sql, (sha256(text.encode()).digest(),)).fetchone()[0]


def needles_of(path):
    words = [b"zorblax", b"quuxif", b"passphrase opens", b"aquarium"]
    return [
        *words,
        vector_of(path, SECRET),
        sha256(SECRET.encode()).digest(),
        sha256(SECRET.encode()).hexdigest().encode(),
    ]


@pytest.fixture(params=["few", "many"])
def store_with_a_secret(request, tmp_path, large):
    """A secret among others, written and searched for; of the many, the vectors are in files."""
    path = large if request.param == "many" else tmp_path / "few.db"
    with opened(path) as (store, memories):
        if request.param == "few":
            memories.add(SECRET, id="secret")
            fill(memories, Random(1), 50)
        assert memories.search("zorblaxing")[0].id == "secret"
        needles = needles_of(path)
        assert {needle for _, needle in traces(path, *needles)} >= set(needles[:-1])
        yield path, memories, needles
        assert request.param == "many" or store.check_integrity() == []
    assert_sides_agree(path)
    assert traces(path, *needles) == []


def test_a_hard_delete_leaves_nothing(store_with_a_secret):
    path, memories, needles = store_with_a_secret
    memories.delete("secret", hard=True)
    assert traces(path, *needles) == []
    assert "secret" not in [hit.id for hit in memories.search(SECRET)]


def test_a_hard_delete_of_a_deleted_memory_leaves_nothing(store_with_a_secret):
    path, memories, needles = store_with_a_secret
    memories.delete("secret")
    memories.delete("secret", hard=True)
    assert traces(path, *needles) == []


def test_a_hard_delete_of_a_restored_memory_leaves_nothing(store_with_a_secret):
    path, memories, needles = store_with_a_secret
    memories.delete("secret")
    memories.restore("secret")
    assert memories.search("zorblaxing")[0].id == "secret"
    memories.delete("secret", hard=True)
    assert traces(path, *needles) == []


def test_a_hard_delete_after_a_reindex_leaves_nothing(store_with_a_secret):
    path, memories, needles = store_with_a_secret
    memories.reindex()
    memories.search("zorblaxing")
    memories.delete("secret", hard=True)
    assert traces(path, *needles) == []


def test_a_hard_delete_is_complete_where_another_process_has_the_vectors_in_memory(tmp_path, block, seed):
    path, random = tmp_path / "r.db", Random(seed)
    with opened(path) as (_, memories), opened(path) as (_, others):
        memories.add(SECRET, id="secret")
        fill(memories, random, 100)
        assert others.search("zorblaxing")[0].id == "secret"
        needles = needles_of(path)
        memories.delete("secret", hard=True)
        fill(others, random, block)
        assert others.search("deploy")
        assert traces(path, *needles) == []


def test_the_same_text_elsewhere_keeps_its_vector(tmp_path):
    path = tmp_path / "r.db"
    with opened(path) as (store, memories):
        memories.add(SECRET, project="here", id="here")
        memories.add(SECRET, project="there", id="there")
        memories.delete("here", hard=True)
        [hit] = memories.search(SECRET)
        assert hit.id == "there" and hit.why.signals["semantic"].raw > 0.99
        assert store.check_integrity() == []
    assert_sides_agree(path)


def test_the_way_a_word_was_written_goes_with_the_last_memory_that_wrote_it_so(tmp_path):
    path = tmp_path / "r.db"
    with opened(path) as (_, memories):
        memories.add("They were zorblaxing all day", id="secret")
        memories.add("It zorblaxed", id="other")
        memories.delete("secret", hard=True)
        assert traces(path, b"zorblaxing") == []
        assert memories.search("zorblaxed")[0].id == "other"


@pytest.mark.parametrize(("kept", "gone"), [(90, 30), pytest.param(200, 100, marks=pytest.mark.slow)])
def test_hard_deletes_leave_nothing_on_pages_that_were_split_and_merged(tmp_path, seed, kept, gone):
    """Many secrets of many words: some lie at the borders of pages, some were moved when pages filled up."""
    path, random = tmp_path / "r.db", Random(seed)
    with opened(path) as (_, memories):
        secrets = {}
        for _ in range(kept + gone):
            words = [made_up_word(random) for _ in range(random.choice((1, 10, 100)))]
            content = sentence(random, " ".join(words))
            secrets[memories.add(content, id=words[0]).id] = (content, words)
        erased = random.sample(sorted(secrets), gone)
        for id_ in erased:
            memories.delete(id_, hard=True)
        content = path.read_bytes()
        assert [id_ for id_ in erased if sha256(secrets[id_][0].encode()).digest() in content] == []
        parts = {part for id_ in erased for word in secrets[id_][1] for part in _parts(word)}
        assert parts & _all_parts(content) == set()


def _parts(word, length=9):
    return {word[at : at + length] for at in range(len(word) - length + 1)}


def _all_parts(content):
    return {part for run in re.findall(r"[a-z]{9,}", content.decode("latin-1")) for part in _parts(run)}


def test_rewriting_a_large_database_is_told(tmp_path, monkeypatch, caplog):
    with Athand(tmp_path / "r.db") as athand:
        athand.memories.add("Not for long", id="a")
        athand.memories.delete("a", hard=True)
        assert "written anew" not in caplog.text
        monkeypatch.setattr("athand.store.sqlite.engine._LARGE", 0)
        athand.memories.add("Nor this", id="b")
        athand.memories.delete("b", hard=True)
    assert "is written anew (" in caplog.text
