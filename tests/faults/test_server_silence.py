"""While the server is away or silent, a search fails in time; once it is back, it answers."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from random import Random

import pytest
from proxy import TO_CLIENT, TO_SERVER
from servers import LIMIT, PATIENCE, works_again

from recollect import Recollect
from recollect.errors import StoreError
from recollect.store.postgres import connections, engine


def _seconds(work):
    begun = time.monotonic()
    with suppress(StoreError):
        work()
    return time.monotonic() - begun


@pytest.mark.parametrize("troubles", [("silence",), ("refuse", "cut")], ids=["silent", "gone"])
def test_a_search_fails_in_time_while_the_server_is_away_and_works_once_it_is_back(far_url, proxy, hasty, troubles):
    with Recollect(far_url) as recollect:
        recollect.memories.add("The deploy key is in the safe.", id="key")
        for _ in range(2):
            assert [hit.id for hit in recollect.memories.search("deploy key")] == ["key"]
            for trouble in troubles:
                getattr(proxy, trouble)()
            for _ in range(2):
                begun = time.monotonic()
                with pytest.raises(StoreError, match="cannot be reached"):
                    recollect.memories.search("deploy key")
                assert time.monotonic() - begun < 2 * LIMIT + 1
            proxy.heal()
            works_again(lambda: recollect.memories.search("deploy key"))


@pytest.mark.parametrize("cuts", [40, pytest.param(1000, marks=pytest.mark.soak)])
def test_a_search_that_is_cut_off_fails_or_answers_but_never_hangs(far_url, proxy, hasty, seed, cuts):
    random = Random(seed)
    with Recollect(far_url) as recollect:
        recollect.memories.add("The deploy key is in the safe.", id="key")
        for _ in range(cuts):
            direction, most = random.choice(((TO_SERVER, 3_000), (TO_CLIENT, 3_000)))
            proxy.cut_after(random.randrange(most), direction)
            while proxy.is_waiting():
                assert _seconds(lambda: recollect.memories.search("deploy key")) < 2 * LIMIT + 1
        works_again(lambda: recollect.memories.search("deploy key"))
        assert proxy.cuts == cuts


def test_a_search_that_falls_silent_halfway_fails_in_time(far_url, proxy, hasty, monkeypatch, seed):
    random = Random(seed)
    monkeypatch.setattr(engine, "WRITING", LIMIT)
    with Recollect(far_url) as recollect:
        recollect.memories.add("The deploy key is in the safe.", id="key")
        for _ in range(5):
            works_again(lambda: recollect.memories.search("deploy key"))
            time.sleep(random.uniform(0, 0.02))
            with ThreadPoolExecutor(1) as thread:
                searching = thread.submit(_seconds, lambda: recollect.memories.search("deploy key"))
                time.sleep(random.uniform(0, 0.02))
                proxy.silence()
                assert searching.result() < 4 * LIMIT + 1
            proxy.heal()


def test_all_connections_of_a_pool_may_be_lost_at_once(far_url, proxy):
    """As after a restart of the server; the next search must not try them one by one."""
    with Recollect(far_url) as recollect:
        recollect.memories.add("The deploy key is in the safe.", id="key")
        with ThreadPoolExecutor(connections.POOL_SIZE) as threads:
            everybody = threading.Barrier(connections.POOL_SIZE)

            def hold():
                with recollect._store.snapshot():
                    everybody.wait(PATIENCE)

            for each in [threads.submit(hold) for _ in range(connections.POOL_SIZE)]:
                each.result()
        proxy.cut()
        begun = time.monotonic()
        assert [hit.id for hit in recollect.search("deploy key")] == ["key"]
        assert time.monotonic() - begun < 30
