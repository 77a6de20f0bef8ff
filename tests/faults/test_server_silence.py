"""While the server is away or silent, a search fails in time; once it is back, it answers."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from random import Random

import pytest
from proxy import TO_CLIENT, TO_SERVER
from servers import no_patience, works_again
from tests.waiting import PATIENCE

from athand import Athand
from athand.errors import StoreError
from athand.store.postgres import connections

pytestmark = pytest.mark.usefixtures("often")


def _ends_in_time(work):
    begun = time.monotonic()
    work()
    assert time.monotonic() - begun < PATIENCE


@pytest.mark.parametrize("troubles", [("silence",), ("refuse", "cut")], ids=["silent", "gone"])
def test_a_search_fails_in_time_while_the_server_is_away_and_works_once_it_is_back(far_url, proxy, troubles):
    with Athand(far_url) as athand:

        def fail():
            with pytest.raises(StoreError, match="cannot be reached"):
                athand.memories.search("deploy key")

        athand.memories.add("The deploy key is in the safe.", id="key")
        for _ in range(2):
            assert [hit.id for hit in athand.memories.search("deploy key")] == ["key"]
            for trouble in troubles:
                getattr(proxy, trouble)()
            with no_patience(athand):
                for _ in range(2):
                    _ends_in_time(fail)
            proxy.heal()
            works_again(lambda: athand.memories.search("deploy key"))


@pytest.mark.parametrize(
    "cuts", [15, pytest.param(40, marks=pytest.mark.slow), pytest.param(1000, marks=pytest.mark.soak)]
)
def test_a_search_that_is_cut_off_fails_or_answers_but_never_hangs(far_url, proxy, seed, cuts):
    random = Random(seed)
    with Athand(far_url) as athand:

        def search():
            with suppress(StoreError):
                athand.memories.search("deploy key")

        athand.memories.add("The deploy key is in the safe.", id="key")
        for _ in range(cuts):
            direction, most = random.choice(((TO_SERVER, 3_000), (TO_CLIENT, 3_000)))
            proxy.cut_after(random.randrange(most), direction)
            while proxy.is_waiting():
                _ends_in_time(search)
        works_again(lambda: athand.memories.search("deploy key"))
        assert proxy.cuts == cuts


@pytest.mark.parametrize("times", [2, pytest.param(5, marks=pytest.mark.slow)])
def test_a_search_that_falls_silent_halfway_fails_in_time(far_url, proxy, seed, times):
    random = Random(seed)
    with Athand(far_url) as athand:

        def search():
            with suppress(StoreError):
                athand.memories.search("deploy key")

        athand.memories.add("The deploy key is in the safe.", id="key")
        for _ in range(times):
            works_again(lambda: athand.memories.search("deploy key"))
            time.sleep(random.uniform(0, 0.02))
            with no_patience(athand), ThreadPoolExecutor(1) as thread:
                searching = thread.submit(_ends_in_time, search)
                time.sleep(random.uniform(0, 0.02))
                proxy.silence()
                searching.result()
            proxy.heal()


def test_all_connections_of_a_pool_may_be_lost_at_once(far_url, proxy):
    """As after a restart of the server; the next search must not try them one by one until it may wait no longer."""
    with Athand(far_url) as athand:
        athand.memories.add("The deploy key is in the safe.", id="key")
        with ThreadPoolExecutor(connections.POOL_SIZE) as threads:
            everybody = threading.Barrier(connections.POOL_SIZE)

            def hold():
                with athand._store.snapshot():
                    everybody.wait(PATIENCE)

            for each in [threads.submit(hold) for _ in range(connections.POOL_SIZE)]:
                each.result()
        proxy.cut()
        assert [hit.id for hit in athand.search("deploy key")] == ["key"]
