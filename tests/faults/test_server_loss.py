"""Servers are killed and wires are cut while many write: what was acknowledged is there, once."""

import time
from contextlib import closing, suppress
from pathlib import Path
from random import Random

import psutil
import psycopg
import pytest
from proxy import TO_CLIENT, TO_SERVER
from servers import Writers, assert_kept, works_again
from stores import made_up_word
from tests.postgres import Server

from athand import Athand
from athand.app import SCHEMAS
from athand.errors import StoreError
from athand.store import open_store
from athand.store.postgres import connections, counts
from athand.store.postgres.connections import LimitedConnection

pytestmark = pytest.mark.usefixtures("often")


@pytest.fixture(scope="module")
def victim():
    """A server of our own, to be killed."""
    with Server() as server:
        yield server


# Servers that die

many_kills = pytest.mark.parametrize(
    "kills", [4, pytest.param(20, marks=pytest.mark.slow), pytest.param(200, marks=pytest.mark.soak)]
)


@many_kills
def test_what_was_acknowledged_survives_kill_9_of_a_backend(victim, seed, kills):
    """The server ends all others too when one of its processes dies, and recovers from its log."""
    _survives(victim, Random(seed), kills, _kill_a_backend)


@many_kills
def test_what_was_acknowledged_survives_kill_9_of_the_server(victim, seed, kills):
    _survives(victim, Random(seed), kills, _kill_the_server)


def _survives(server, random, kills, kill):
    url = server.create()
    with Athand(url) as athand:
        with Writers(athand.memories, random) as writers:
            for _ in range(kills):
                writers.wait_for(random.randint(1, 20))
                kill(server, random)
            writers.wait_for(1)
        print(f"{len(writers.kept)} kept, {len(writers.unsure - writers.kept)} unsure, {writers.errors}")  # noqa: T201
        assert_kept(athand, writers)
    server.drop(url)


def _kill_a_backend(server, random):
    time.sleep(random.uniform(0, 0.02))
    while not (serving := _backends(server)):  # the last kill may just be taking effect
        time.sleep(0.005)
    with suppress(psutil.NoSuchProcess):
        random.choice(serving).kill()


def _backends(server):
    try:
        children = psutil.Process(server.process.get_pid()).children()
        return [each for each in children if "test_" in " ".join(each.cmdline())]
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return []


def _kill_the_server(server, random):
    postmaster = psutil.Process(server.process.get_pid())
    orphans = postmaster.children()
    postmaster.kill()
    time.sleep(random.uniform(0, 0.02))  # they may finish what they are at
    for each in orphans:
        with suppress(psutil.NoSuchProcess):
            each.kill()
    while not all(map(_is_gone, (postmaster, *orphans))):
        time.sleep(0.005)
    # In a container nobody may bury the dead at once: a new server would take the old one for alive.
    for lock in (server.process.pgdata / "postmaster.pid", Path(server.host) / ".s.PGSQL.5432.lock"):
        lock.unlink(missing_ok=True)
    server.process.ensure_postgres_running()


def _is_gone(process):
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_a_number_given_out_again_after_a_crash_is_not_taken_for_the_lost_write(victim):
    """Numbers of transactions are written to the log with the first change: after a crash some are free again."""
    url = victim.create()
    with closing(open_store(url, SCHEMAS)) as store:
        with pytest.raises(StoreError, match="not known"), store.transaction(spaces=()) as transaction:
            [(backend, lost)] = transaction.rows("SELECT pg_backend_pid(), pg_current_xact_id()::text")
            with closing(psycopg.connect(url)) as witness:
                psutil.Process(backend).kill()
                _await_the_crash(witness)
            while _next_number(url) < int(lost):
                pass
        assert _next_number(url) > int(lost)
    victim.drop(url)


def _await_the_crash(witness):
    """A server that lost a process ends all the others before it recovers."""
    with suppress(psycopg.OperationalError):
        while True:
            witness.execute("SELECT 1")


def _next_number(url):
    """The number of a transaction that takes place; 0 while the server recovers."""
    try:
        with psycopg.connect(url) as connection:
            return int(connection.execute("SELECT pg_current_xact_id()::text").fetchone()[0])
    except psycopg.OperationalError:
        return 0


# Wires that are cut


@pytest.mark.parametrize(
    "cuts", [15, pytest.param(40, marks=pytest.mark.slow), pytest.param(1000, marks=pytest.mark.soak)]
)
def test_what_was_acknowledged_survives_a_cut_of_the_wire_at_any_byte(far_url, proxy, seed, cuts):
    random = Random(seed)
    with Athand(far_url) as athand, Writers(athand.memories, random, threads=0) as writer:
        writer.add(random)
        for _ in range(cuts):
            direction, most = random.choice(((TO_SERVER, 20_000), (TO_CLIENT, 5_000)))
            proxy.cut_after(random.randrange(most), direction)
            while proxy.is_waiting():
                writer.add(random)
        assert proxy.cuts == cuts
        assert_kept(athand, writer)


@pytest.mark.parametrize(
    "cuts", [6, pytest.param(20, marks=pytest.mark.slow), pytest.param(1000, marks=pytest.mark.soak)]
)
def test_several_writers_survive_cuts_of_all_their_wires(far_url, proxy, seed, cuts):
    random = Random(seed)
    with Athand(far_url) as athand:
        with Writers(athand.memories, random) as writers:
            for _ in range(cuts):
                writers.wait_for(random.randint(1, 20))
                time.sleep(random.uniform(0, 0.02))
                proxy.cut()
            writers.wait_for(1)
        assert_kept(athand, writers)


def test_a_commit_that_libpq_takes_for_unfinished_is_acknowledged(postgres_url, monkeypatch):
    """On a busy machine it is cut while it is sent: the command then looks as if it went on."""
    execute = LimitedConnection.execute

    def cut(connection, query, *arguments, **options):
        if query != "COMMIT":
            return execute(connection, query, *arguments, **options)
        connection.pgconn.send_query(b"COMMIT")
        while connection.pgconn.flush():
            pass
        raise psycopg.OperationalError("flushing failed")

    with Athand(postgres_url) as athand:
        monkeypatch.setattr(LimitedConnection, "execute", cut)
        added = athand.memories.add("The commit of this was sent")
        monkeypatch.undo()
        assert athand.memories.get(added.id) == added and athand.check() == []


def test_a_write_whose_commit_was_not_answered_is_acknowledged(far_url, proxy, seed):
    random = Random(seed)
    with Athand(far_url) as athand, Writers(athand.memories, random, threads=0) as writer:
        for _ in range(10):
            proxy.cut_at(b"COMMIT", delivered=True)
            writer.add(random)
        assert proxy.cuts == len(writer.kept) == 10
        assert not writer.errors
        assert_kept(athand, writer)


def test_a_write_whose_commit_did_not_arrive_is_refused_and_can_be_repeated(far_url, proxy, seed):
    id_ = made_up_word(Random(seed))
    with Athand(far_url) as athand:
        athand.memories.add("The first one opens a connection.")
        for _ in range(3):
            proxy.cut_at(b"COMMIT", delivered=False)
            with pytest.raises(StoreError, match="Nothing of it was kept"):
                athand.memories.add(id_, id=id_, key=id_)
            assert athand.memories.count() == {"default": 1}
        assert athand.memories.add(id_, id=id_, key=id_).id == id_
        assert athand.memories.count() == {"default": 2}
        assert athand.check() == []


def test_a_write_is_acknowledged_even_if_what_is_tidied_up_after_it_fails(far_url, proxy, monkeypatch):
    monkeypatch.setattr(counts, "COMPACTED_ROWS", 1)
    with Athand(far_url) as athand:
        proxy.cut_at(b"WHERE NOT compacted RETURNING", delivered=False)
        athand.memories.add("This one brings the statistics up to date.", id="kept")
        assert proxy.cuts == 1
        assert athand.memories.get("kept").id == "kept"
        assert athand.check() == []


class Clock:
    """A clock that is put forward by as long as the longest wait whenever somebody sleeps."""

    def __init__(self):
        self._ahead = 0

    def monotonic(self):
        return time.monotonic() + self._ahead

    def sleep(self, seconds):
        self._ahead += max(seconds, connections.CONNECT_SECONDS)


def test_a_write_is_not_said_to_be_kept_or_lost_while_nobody_can_know(far_url, proxy, monkeypatch, seed):
    id_ = made_up_word(Random(seed))
    monkeypatch.setattr(connections, "time", Clock())
    with Athand(far_url) as athand:
        athand.memories.add("The first one opens a connection.")
        proxy.refuse()
        proxy.cut_at(b"COMMIT", delivered=True)
        with pytest.raises(StoreError, match="not known"):
            athand.memories.add(id_, id=id_, key=id_)
        proxy.heal()
        works_again(lambda: athand.memories.add(id_, id=id_, key=id_))
        assert athand.memories.count() == {"default": 2}
        assert athand.check() == []
