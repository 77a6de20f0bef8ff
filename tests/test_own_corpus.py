"""A corpus of one's own, added by one line, is searched by itself and with all others, on every surface."""

import json
from contextlib import closing

import pytest
from click.testing import CliRunner
from starlette.testclient import TestClient
from tests.adapters.mcp_kit import serve, talk
from tests.toys import Toys

from athand import Athand
from athand.adapters.cli.main import cli
from athand.adapters.cli.session import Session
from athand.adapters.http.app import create_app
from athand.adapters.http.token_registry import TokenRegistry, ensure_owner_token
from athand.adapters.operations import AppContext, operations
from athand.errors import InvalidInput

QUESTION = "something that flies in the wind"


@pytest.fixture(params=["sqlite", "postgres"])
def location(request):
    """A new store of each engine: what other tests share must not keep the tables of toys."""
    if request.param == "sqlite":
        yield ":memory:"
    else:
        with request.getfixturevalue("postgres").database() as url:
            yield url


@pytest.fixture
def athand(location):
    with Athand(location, corpora=(Toys,)) as opened:  # the one line
        fill(opened)
        yield opened


def fill(athand):
    toys = athand.corpora["toys"]
    toys.add("kite", "It flies in the wind, on a long string.", shelf="garden")
    toys.add("marbles", "Small balls of glass that roll on the floor.", shelf="floor")
    athand.memories.add("The wind in the harbour is strongest in March", project="sailing")


def test_it_is_searched_by_itself(athand):
    hits = athand.corpora["toys"].search(QUESTION)
    assert (hits[0].id, hits[0].item.shelf) == ("kite", "garden")
    assert hits[0].why.total == pytest.approx(sum(each.contribution for each in hits[0].why.signals.values()))
    assert athand.corpora["toys"].search("kite", limit=1)[0].title == "kite"


def test_it_is_searched_with_all_others(athand):
    hits = athand.search(QUESTION)
    assert hits[0].corpus == "toys" and {hit.corpus for hit in hits} == {"toys", "memories"}
    assert hits.facets["toys"] == hits.facets["shelves"]["garden"] == 1
    assert {hit.corpus for hit in athand.search(QUESTION, corpora=["memories"])} == {"memories"}
    assert "toys" not in {hit.corpus for hit in athand.search(QUESTION, project="sailing")}
    with pytest.raises(InvalidInput, match="memories, documents, tools, flows, toys"):
        athand.search(QUESTION, corpora=["trains"])


def test_it_is_kept_as_the_others_are(athand, tmp_path):
    toys = athand.corpora["toys"]
    assert athand.status().corpora["toys"] == {"count": 2}
    before = toys.fingerprint()
    assert toys.reindex() == 2 and toys.fingerprint() == before
    assert athand.check() == []
    assert athand.copy_to(tmp_path / "copy.db")["toys"] == 2
    with Athand(tmp_path / "copy.db", corpora=(Toys,)) as copy:
        assert copy.corpora["toys"].search("kite")[0].item.about.startswith("It flies")


@pytest.fixture
def context(location):
    with closing(AppContext(lambda: Athand(location, corpora=(Toys,)), (Toys,))) as opened:
        fill(opened.athand)
        yield opened


def test_mcp_offers_it(context):
    async def converse(client):
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        own = await client.call_tool("toys_search", {"query": QUESTION, "limit": 1})
        everything = await client.call_tool("search", {"query": QUESTION, "corpora": ["toys"]})
        return tools, own, everything

    tools, own, everything = talk(serve(context), converse)
    described = tools["toys_search"]
    assert described.description == "Find toys by what one can do with them, best first, each with why."
    assert described.input_schema["properties"]["limit"]["maximum"] == 1000
    assert [hit["id"] for hit in own.structured_content["hits"]] == ["kite"]
    assert {hit["corpus"] for hit in everything.structured_content["hits"]} == {"toys"}
    assert "toys_search" in {tool.name for tool in talk(serve(context, toolsets=["toys"]), list_tools)}


async def list_tools(client):
    return (await client.list_tools()).tools


def test_http_serves_it(context, tmp_path):
    (tmp_path / "tokens").mkdir(mode=0o700)
    token = ensure_owner_token(tmp_path / "tokens")
    app = create_app(context, tokens=TokenRegistry(tmp_path / "tokens"))
    signed = {"Authorization": f"Bearer {token}"}
    with TestClient(app, base_url="http://127.0.0.1", headers=signed) as client:
        by_address = client.get("/v1/toys/search", params={"query": QUESTION})
        by_body = client.post("/v1/toys/search", json={"query": QUESTION})
        everything = client.get("/v1/search", params={"query": QUESTION, "corpora": "toys"})
        assert "toys" in client.get("/v1/status").json()["corpora"]
        assert "/v1/toys/search" in client.get("/openapi.json").json()["paths"]
    assert by_address.json()["hits"][0]["id"] == "kite"
    assert by_body.json() == by_address.json()
    assert everything.json()["hits"][0]["corpus"] == "toys"


@pytest.fixture
def run(location, tmp_path):
    place = str(tmp_path / "store.db") if location == ":memory:" else location
    with Athand(place, corpora=(Toys,)) as opened:
        fill(opened)

    def run(*arguments):
        session = Session(corpora=(Toys,))
        return CliRunner().invoke(cli, ["--store", place, *arguments], obj=session, catch_exceptions=False)

    return run


def test_the_command_line_has_it(run):
    own = run("toys", "search", QUESTION, "--limit", "1")
    assert " toy " in own.stdout and "kite" in own.stdout and "marbles" not in own.stdout
    assert "1 hit" in own.stderr and "toys 2" in own.stderr
    everything = run("search", QUESTION, "--corpus", "toys")
    assert " toy " in everything.stdout and "kite" in everything.stdout
    assert json.loads(run("search", QUESTION, "--json").stdout)["facets"]["toys"] == 1
    assert "toys       2" in run("status").stdout
    assert "2 toys" in run("reindex", "--verify").stderr
    assert "toys" in run("--help").stdout
    assert "Maximum number of results" in run("toys", "search", "--help").stdout


def test_without_it_nothing_offers_it():
    assert "toys_search" not in operations()
    assert CliRunner().invoke(cli, ["toys", "search", "x"]).exit_code == 2
