"""First start: who asks while servers are still starting waits a little, and hears which of them are not ready."""

import pytest
from tests.engines import one_engine
from tests.tools.patience import begun
from tests.tools.servers.kit import FILES, WEATHER, Board, ids, write_config
from tests.waiting import PATIENCE, eventually

from athand.errors import NotFound, Unavailable

pytestmark = one_engine

QUESTION = "weather forecast for a city"
NOTE = "weather is still starting, so their tools are not found yet. Ask again in a moment."


@pytest.fixture
def wait_for(monkeypatch):
    return lambda seconds: monkeypatch.setattr("athand.tools.startup.LONGEST_WAIT", seconds)


@pytest.fixture
def late(tools, tmp_path):
    """A server that does not start before it is told to."""
    made = Board(tmp_path / "weather.json", WEATHER)
    tools.load(write_config(tmp_path / "mcp.json", weather=made.entry("late")))
    return made


def release(board):
    board.path.with_suffix(".go").touch()


ASKS = {
    "search_tools": lambda athand: ids(athand.tools.search(QUESTION)),
    "search": lambda athand: ids(athand.search(QUESTION)),
    "list_tools": lambda athand: [tool.id for tool in athand.tools.list()],
    "describe_tool": lambda athand: [athand.tools.describe("weather__get_forecast").id],
    "call_tool": lambda athand: [athand.tools.call("weather__get_forecast", {"city": "Rome"}).tool],
}


@pytest.mark.parametrize("name", ASKS)
def test_who_would_find_nothing_waits_until_the_server_is_ready(name, athand, late, wait_for):
    wait_for(PATIENCE)
    answer = begun(lambda: ASKS[name](athand))
    assert not answer.done()
    release(late)
    assert "weather__get_forecast" in answer.result(PATIENCE)


def test_nobody_waits_for_a_server_that_has_failed(athand, tmp_path, wait_for):
    wait_for(PATIENCE * 100)
    athand.tools.load(write_config(tmp_path / "mcp.json", broken={"command": "no-such-command-anywhere"}))
    hits = begun(lambda: athand.tools.search(QUESTION)).result(PATIENCE)
    assert (list(hits), hits.notes) == ([], ())


@pytest.mark.parametrize("search", ["search_tools", "search"])
def test_a_search_that_waited_long_enough_names_the_servers_that_are_starting(search, athand, late, wait_for):
    wait_for(0.05)
    hits = athand.tools.search(QUESTION) if search == "search_tools" else athand.search(QUESTION)
    assert (list(hits), hits.notes) == ([], (NOTE,))


@pytest.mark.parametrize("name", ["list_tools", "describe_tool", "call_tool"])
def test_what_is_not_there_yet_is_not_said_to_be_missing(name, athand, late, wait_for):
    wait_for(0.05)
    with pytest.raises(Unavailable, match="weather is still starting: ask again in a moment"):
        ASKS[name](athand)


def test_what_is_found_is_answered_at_once_with_a_word_on_what_is_starting(athand, late, wait_for):
    wait_for(PATIENCE * 100)
    athand.tools.add("files", FILES)
    hits = begun(lambda: athand.tools.search("read the contents of a file")).result(PATIENCE)
    assert "files__read_file" in ids(hits)
    assert hits.notes == (NOTE,)


def test_a_server_that_is_known_already_is_not_waited_for(athand, tmp_path, late, wait_for):
    release(late)
    assert athand.tools.wait(PATIENCE)
    late.path.with_suffix(".go").unlink()
    write_config(tmp_path / "mcp.json", weather=late.entry("late", "again"))
    athand.tools.load(tmp_path / "mcp.json")
    wait_for(PATIENCE * 100)
    hits = begun(lambda: athand.tools.search("quantum chromodynamics")).result(PATIENCE)
    assert (list(hits), hits.notes) == ([], ())
    with pytest.raises(NotFound):
        begun(lambda: athand.tools.describe("weather__no_such_tool")).result(PATIENCE)


def test_servers_of_another_catalogue_are_not_waited_for(athand, late, wait_for):
    wait_for(PATIENCE * 100)
    hits = begun(lambda: athand.tools.search(QUESTION, catalogue="elsewhere")).result(PATIENCE)
    assert (list(hits), hits.notes) == ([], ())
    assert eventually(lambda: athand.tools.servers()[0].state == "connecting")
