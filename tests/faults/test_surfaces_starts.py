"""No process, file or lock outlives a server, however it ends; and one that goes on for long does not grow."""

import signal
import time
from concurrent.futures import ThreadPoolExecutor
from random import Random

import psutil
import pytest
from tests.documents.makers import pdf
from tests.faults.stores import sentence
from tests.faults.surfaces import Home, Mcp, Serve, descendants, end, running, start, still_there
from tests.waiting import PATIENCE, eventually

from athand import Athand

ENDINGS = {Serve: (signal.SIGTERM, signal.SIGINT), Mcp: (signal.SIGTERM, signal.SIGINT, None)}
TOOLS = (("files__read_file", {"path": "a"}), ("time__get_current_time", {"timezone": "UTC"}))
FACTS = [sentence(Random(number)) for number in range(20)]
MOST_DRIFT = 0.05
# What a home has in it when nobody serves from it.
AT_REST = {"data", "data/mcp.json", "data/athand.db", "data/token", "home", "notes", "run", "tmp"}
# The beginnings of MCP, for the next start; who is logged in to the page; where the last server was, if it was killed.
KEPT = ("data/cache", "data/sessions.json", "data/serving.json")


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path).fill()


@pytest.fixture
def real_home(tmp_path):
    """One that has a real server, too."""
    return Home(tmp_path, real_server=True).fill()


class Lives:
    """Servers that are started and ended, one after the other, and what they were told meanwhile."""

    def __init__(self, home, random):
        self.home, self.random = home, random
        self.kept, self.children = [], []

    def live(self, kind, number):
        """Start one, keep it busy, end it: None is the client's own leaving."""
        server = kind(self.home)
        try:
            self._use(server)
            self.children += (found := descendants(server))
            assert found, "the upstream server should be a child"
            code = server.stop(number)
            assert code in ({-signal.SIGKILL} if number == signal.SIGKILL else {0, 130}), (code, server.said())
            if number != signal.SIGKILL:
                assert not still_there(found)
        finally:
            end(server)

    def die_at_birth(self, kind):
        """Kill one at any moment of its start."""
        process = start(self.home, *kind.COMMAND)
        time.sleep(self.random.uniform(0, 2))
        process.kill()
        process.communicate()

    def _use(self, server):
        """A memory, a file for the watcher and its reader, a call of each upstream server."""
        number = len(self.kept)
        server.call("memory_add", content=f"Fact number {number} is kept", id=f"fact-{number}")
        self.kept.append(f"fact-{number}")
        (self.home.notes / "paper.pdf").write_bytes(pdf([f"Paper number {number} about kettles"]))
        assert server.call("search", query="staging deploys")["hits"]
        for tool, arguments in TOOLS:
            if tool.partition("__")[0] in self.home.upstream:
                assert eventually(lambda tool=tool: is_known(server, tool), PATIENCE)
                server.call("call_tool", id=tool, arguments=arguments)


def is_known(server, tool):
    """Whether an upstream server has told its tools already."""
    return tool in [hit["id"] for hit in server.call("search_tools", query=tool)["hits"]]


def assert_nothing_is_left(lives):
    """No process, no file that was not there, and all that was kept; the last of them has ended properly."""
    home = lives.home
    assert not still_there(lives.children)
    assert eventually(lambda: not home.processes(), PATIENCE), home.processes()
    assert {each for each in home.files() if not each.startswith(KEPT)} == AT_REST
    with Athand(home.database) as athand:
        assert athand.check() == []
        assert [each for each in lives.kept if athand.memories.get(each).id != each] == []
        assert athand.documents.refresh("notes").state == "ready"


def test_nothing_is_left_of_servers_that_were_killed_once_another_has_ended(home, seed):
    lives = Lives(home, Random(seed))
    lives.live(Serve, signal.SIGKILL)
    lives.die_at_birth(Mcp)
    lives.live(Mcp, None)
    assert_nothing_is_left(lives)


@pytest.mark.slow
def test_nothing_is_left_of_servers_however_they_end(home, seed):
    lives = Lives(home, Random(seed))
    lives.live(Mcp, signal.SIGKILL)
    lives.die_at_birth(Mcp)
    lives.live(Serve, signal.SIGKILL)
    for kind, endings in ENDINGS.items():
        for number in endings:
            lives.live(kind, number)
    assert_nothing_is_left(lives)


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_nothing_is_left_of_two_hundred_servers(real_home, seed):
    lives = Lives(real_home, Random(seed))
    killed = [True] * 50 + [False] * 150
    lives.random.shuffle(killed)
    for is_killed in killed:
        kind = lives.random.choice((Serve, Mcp))
        if is_killed and lives.random.random() < 0.4:
            lives.die_at_birth(kind)
        else:
            lives.live(kind, signal.SIGKILL if is_killed else lives.random.choice(ENDINGS[kind]))
    lives.live(Serve, signal.SIGTERM)
    assert_nothing_is_left(lives)


def busy(server, random, rounds, callers):
    """Rounds of everything that is asked most; what is added is known already, so that the store does not grow."""

    def ask(number):
        word = random.choice(("staging", "kettle", "read a file", "nothing of the kind"))
        server.call("search", query=word)
        server.call("memory_search", query=word)
        server.call("memory_add", content=FACTS[number % len(FACTS)], project="growing")
        server.call("search_content", semantic_concepts=[word])
        server.call("call_tool", id="files__read_file", arguments={"path": word})

    with ThreadPoolExecutor(callers) as threads:
        list(threads.map(ask, range(rounds)))


def drift(server, random, warm_up, rounds, callers):
    """How much memory and how many handles it has more after many rounds than after some."""
    process = psutil.Process(server.process.pid)
    assert eventually(lambda: is_known(server, "files__read_file"), PATIENCE)
    busy(server, random, warm_up, callers)
    before, handles = process.memory_info().rss, process.num_fds()
    busy(server, random, rounds, callers)
    after = process.memory_info().rss
    print(f"{type(server).__name__}: {before / 1e6:.1f} MB, after {rounds} rounds {after / 1e6:.1f} MB")  # noqa: T201
    return (after - before) / before, process.num_fds() - handles


@pytest.mark.soak
@pytest.mark.parametrize(("kind", "callers"), [(Serve, 8), (Mcp, 1)])
def test_a_server_that_goes_on_does_not_grow(home, seed, kind, callers):
    with running(kind, home) as server:
        memory, handles = drift(server, Random(seed), 1_000, 4_000, callers)
    assert memory < MOST_DRIFT and handles <= 2
