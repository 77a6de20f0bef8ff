"""What the fault tests share: a store to write to, what it was told, and whether all of it is still there."""

import multiprocessing
import os
import signal
import warnings
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from functools import cache
from itertools import count

import apsw

from athand.app import SCHEMAS
from athand.embed import LazyEmbedder
from athand.memories import Memories
from athand.store.sqlite import SqliteStore
from athand.store.sqlite.engine import SqliteTransaction

# One lazy embedder for all stores and forked processes. Its tokenizer must not have threads when a process forks.
os.environ["TOKENIZERS_PARALLELISM"] = "false"
EMBEDDER = LazyEmbedder("athand-static-1")
SECRET = "The zorblaxing quuxify passphrase opens the vault behind the aquarium"
WORDS = (
    "deploy staging server password meeting budget invoice customer garden coffee travel doctor school music birthday "
    "database backup network printer holiday airport kitchen recipe contract lawyer insurance bicycle winter summer"
).split()
NOW = datetime(2026, 3, 1, tzinfo=UTC)  # salience fades with time: answers can be compared only at one moment


@contextmanager
def opened(path, vfs=None):
    """A store and its memories, with a model that is loaded already."""
    store = SqliteStore(str(path), SCHEMAS, vfs)
    try:
        yield store, Memories(store, EMBEDDER, clock=lambda: NOW)
    finally:
        store.close()


def sentence(random, last_word=""):
    return " ".join([*random.choices(WORDS, k=8), last_word]).strip()


def made_up_word(random):
    """A word nobody uses: fine as an id, and easy to search for."""
    return "".join(random.choices("bcdfghjklmnpqrstvwxz", k=14))


def fill(memories, random, count):
    """Many memories in one write."""
    prefix = made_up_word(random)
    ids = [f"{prefix}{at}" for at in range(count)]
    memories.add_many({"content": sentence(random, f"item{at % 1000}"), "id": id_} for at, id_ in enumerate(ids))
    return ids


def write_something(memories, random, alive, tell):
    """Add one or several, delete or erase; `tell` hears `?` of the ids before, and what has become of them after."""
    kind = random.choice(("add", "add", "add", "add several", "delete", "erase"))
    if kind.startswith("add") or not alive:
        ids = [made_up_word(random) for _ in range(random.randint(2, 20) if kind == "add several" else 1)]
        tell("?", ids)
        memories.add_many({"content": sentence(random, id_), "id": id_} for id_ in ids)
        alive += ids
        tell("kept", ids)
    else:
        ids = [alive.pop(random.randrange(len(alive)))]
        tell("?", ids)
        memories.delete(ids[0], hard=kind == "erase")
        tell("erased" if kind == "erase" else "deleted", ids)


def assert_kept(store, memories, told):
    """Every acknowledged write is there, and one that was cut short is there entirely or not at all."""
    with store.snapshot() as snapshot:
        rows = snapshot.rows("SELECT id, is_deleted FROM memories")
    found = {id_: "deleted" if is_deleted else "kept" for id_, is_deleted in rows}
    expected = {id_: state for state, ids in told for id_ in ids}
    lost = {
        id_: (state, found.get(id_, "erased"))
        for id_, state in expected.items()
        if state not in ("?", found.get(id_, "erased"))
    }
    assert not lost
    assert set(found) <= set(expected)
    if told and told[-1][0] == "?":
        assert len({found.get(id_) for id_ in told[-1][1]}) == 1
    if last := next((ids[-1] for state, ids in reversed(told) if state == "kept" and found.get(ids[-1]) == "kept"), 0):
        assert memories.get(last).id == last
        assert_found(memories, last)
    return found


def assert_found(memories, word):
    """The memory with this made-up word is found by the word and by its vector."""
    [best, *_] = memories.search(memories.get(word).content, limit=3)
    assert best.id == word
    assert best.why.signals["semantic"].raw > 0.99 and best.why.signals["keyword"].raw > 0


def assert_sides_agree(path):
    """What is remembered, its passages, their words and their vectors are the same ones."""
    with closing(apsw.Connection(str(path))) as database:
        passages = set(database.execute("SELECT number FROM memories_passages"))
        assert set(database.execute("SELECT id FROM memories_words_docsize")) == passages
        with_vector = "SELECT p.number FROM memories_passages p JOIN vectors v ON v.hash = p.hash"
        assert set(database.execute(with_vector)) == passages
        live = set(database.execute("SELECT id FROM memories WHERE NOT is_deleted"))
        assert set(database.execute("SELECT item_id FROM memories_passages")) == live


def fork(work, *arguments):
    """A process that shares nothing but what it inherits: starting one takes milliseconds."""
    _load_the_model()
    process = multiprocessing.get_context("fork").Process(target=work, args=arguments)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of forks beside threads of libraries
        process.start()
    return process


def die_at_step(number):
    """From now on this process dies before the step of a write that has this number, whatever it writes."""
    numbers = count(1)

    def counted(step):
        def counting(*given):
            if next(numbers) == number:
                os.kill(os.getpid(), signal.SIGKILL)
            return step(*given)

        return counting

    for name in ("execute", "execute_many", "put", "remove"):
        setattr(SqliteTransaction, name, counted(getattr(SqliteTransaction, name)))


@cache
def _load_the_model():
    with opened(":memory:") as (_, memories):
        memories.add("Something to embed.")


def join_all(processes):
    """Wait for all of them; each must have ended well."""
    for process in processes:
        process.join(120)
    hanging = [process for process in processes if process.exitcode is None]
    for process in hanging:
        process.kill()
    assert not hanging
    assert [process.exitcode for process in processes] == [0] * len(processes)
