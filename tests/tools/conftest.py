import os

import pytest
from tests.tools.patience import patience_with_this_machine  # noqa: F401
from tests.tools.servers.kit import FILES, MAIL, WEATHER, Board, CountingEmbedder, write_config
from tests.waiting import PATIENCE

from athand.app import SCHEMAS
from athand.embed import DEFAULT_MODEL, LazyEmbedder
from athand.store import open_store
from athand.tools import Choices, Tools


@pytest.fixture
def tools(athand):
    return athand.tools


@pytest.fixture
def stocked(tools):
    """Tools of three servers."""
    for server, listed in (("files", FILES), ("weather", WEATHER), ("mail", MAIL)):
        tools.add(server, listed)
    return tools


@pytest.fixture
def counting():
    return CountingEmbedder()


@pytest.fixture
def open_tools():
    """Opens the tools of a store by themselves, with any model and choices; all are closed at the end."""
    opened = []

    def open_tools(location=":memory:", embedder=None, environment=None, use_cache=True, **choices):
        store = open_store(str(location), SCHEMAS)
        environment = dict(os.environ) if environment is None else environment
        model = embedder or LazyEmbedder(DEFAULT_MODEL)
        made = Tools(store, model, environment=environment, use_cache=use_cache, choices=Choices(**choices))
        opened.append((made, store))
        return made

    yield open_tools
    for made, store in opened:
        made.close()
        store.close()


@pytest.fixture
def board(tmp_path):
    """Makes live servers, each with tools of its own."""
    return lambda name="files", tools=FILES: Board(tmp_path / f"{name}.json", tools)


@pytest.fixture
def live(tools, board, tmp_path):
    """Connects the tools to a live server; what it offers can be changed."""

    def live(*words, listed=FILES, **more):
        made = board("files", listed)
        tools.load(write_config(tmp_path / "user" / "mcp.json", files=made.entry(*words, **more)))
        assert tools.wait(PATIENCE)
        return made

    return live
