"""Any query is answered: whatever the words, through the operations, over HTTP and over MCP."""

import json
import time
from random import Random

import pytest
from tests.faults.hostile import HANDMADE, UNITS, a_megabyte, a_query
from tests.faults.surfaces import Home, Mcp, Serve, request_of, running
from tests.waiting import PATIENCE

from athand import Athand
from athand.adapters.operations import AppContext, operations
from athand.errors import InvalidInput

SLOWEST = 60  # seconds: a question that takes so long on any machine holds up all others
LONGEST_ADDRESS, LONGEST_BODY = 60_000, 8_000_000  # bytes; what is longer is refused before anybody looks at it
LONGEST_TERM = 4_000
INVALID_PARAMS = -32602
SEARCHES = {  # of every corpus, and over everything
    "search": lambda query: {"query": query},
    "memory_search": lambda query: {"query": query, "include_documents": True},
    "memory_search_documents": lambda query: {"query": query},
    "search_documents": lambda query: {"query": query},
    "find_documents": lambda query: {"query": query},
    "search_content": lambda query: {"semantic_concepts": [query], "exact_terms": [query]},
    "search_tools": lambda query: {"query": query},
    "knowledge_search": lambda query: {"query": query},
}


def a_question(random):
    """The name of a search, and its arguments."""
    name = random.choice(list(SEARCHES))
    return name, SEARCHES[name](a_query(random))


def may_be_refused(name, arguments):
    """Concepts and exact terms are something to be found: what no text of a store can hold is none."""
    if name != "search_content":
        return False
    term = arguments["exact_terms"][0]
    data = term.encode("utf-8", "surrogatepass")
    return not term.strip() or "\0" in term or len(data) > LONGEST_TERM or data != term.encode("utf-8", "ignore")


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return Home(tmp_path_factory.mktemp("hostile")).fill()


@pytest.fixture(scope="module")
def workspace(home):
    opened = AppContext(lambda: Athand(home.database))
    opened.athand.tools.load(home.data / "mcp.json")
    assert opened.athand.tools.wait(PATIENCE)
    yield opened
    opened.close()


def ask(workspace, name, arguments):
    started = time.monotonic()
    try:
        json.dumps(operations()[name].perform(workspace, arguments), allow_nan=False)
    except InvalidInput as error:
        assert may_be_refused(name, arguments), (name, arguments, error)
    assert time.monotonic() - started < SLOWEST, (name, str(arguments)[:500])


def ask_over_http(server, random, count):
    connection = server.connect()
    for _ in range(count):
        name, arguments = a_question(random)
        path, body = request_of(name, arguments)
        method = "GET" if body is None else "POST"
        if len(path) > LONGEST_ADDRESS or len(body or "") > LONGEST_BODY:
            assert is_answered_or_closed(server, method, path, body)
            continue
        answer = server.send(method, path, body, connection=connection)
        told = (answer.status, answer.data, name, str(arguments)[:500])
        if answer.status == 200:
            json.loads(answer.data)
        else:
            assert json.loads(answer.data)["status"] == 422 and may_be_refused(name, arguments), told
    connection.close()


def is_answered_or_closed(server, method, path, body):
    """What is more than anybody reads is cut off while it is sent, or answered all the same."""
    try:
        return server.send(method, path, body).status < 500
    except (ConnectionResetError, BrokenPipeError):
        return True


def ask_over_mcp(server, random, count):
    for _ in range(count):
        name, arguments = a_question(random)
        answer = server.perform(name, arguments)
        told = (answer, name, str(arguments)[:500])
        if "error" in answer:
            assert answer["error"]["code"] == INVALID_PARAMS, told
        elif answer["result"].get("isError"):
            assert may_be_refused(name, arguments), told


def test_every_handmade_query_is_answered_by_every_search(workspace):
    for name, arguments in SEARCHES.items():
        for query in HANDMADE:
            ask(workspace, name, arguments(query))


@pytest.mark.parametrize("name", SEARCHES)
def test_a_megabyte_holds_up_nobody(workspace, name):
    for unit in UNITS:
        ask(workspace, name, SEARCHES[name](a_megabyte(unit)))


@pytest.mark.parametrize("count", [100, pytest.param(300, marks=pytest.mark.slow)])
def test_hostile_queries_are_answered(workspace, seed, count):
    random = Random(seed)
    for _ in range(count):
        ask(workspace, *a_question(random))


@pytest.mark.parametrize("count", [30, pytest.param(150, marks=pytest.mark.slow)])
def test_hostile_queries_are_answered_over_http_and_mcp(home, seed, count):
    with running(Serve, home) as http:
        ask_over_http(http, Random(seed), count)
        assert http.call("search", query="staging")["hits"]
    with running(Mcp, home, "--toolsets", "all") as mcp:
        ask_over_mcp(mcp, Random(seed + 1), count)
        assert mcp.call("search", query="staging, cut in the middle of \ud83d")["hits"]
        assert mcp.call("search", query="staging")["hits"]


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_fifty_thousand_hostile_queries_are_answered(home, workspace, seed):
    random = Random(seed)
    for _ in range(40_000):
        ask(workspace, *a_question(random))
    with running(Serve, home) as http, running(Mcp, home, "--toolsets", "all") as mcp:
        ask_over_http(http, random, 5_000)
        ask_over_mcp(mcp, random, 5_000)
        assert http.call("search", query="staging")["hits"] and mcp.call("search", query="staging")["hits"]
