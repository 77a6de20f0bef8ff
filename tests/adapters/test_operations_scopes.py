"""What scopes keep apart: who may only search changes nothing, who may only write reads nothing that others stored."""

import json

import pytest
from tests.adapters.operations_kit import arguments, opened
from tests.tools.servers.kit import WEATHER

from athand.adapters.operations import Caller, operations
from athand.adapters.operations.answers import HIDDEN
from athand.errors import AthandError, Refused
from athand.store.values import digest

READER, WRITER = (Caller(scope, frozenset([scope])) for scope in ("search", "write"))
READS, WRITES = ([each for each in operations().values() if each.scope == scope] for scope in ("search", "write"))
MARKER = "zyzzogeton"
LONG = (
    f"Nobody but the owner of {MARKER} may know that the blue key of the second vault lies below the old stone stairs"
)
SCREEN = {
    "url": "https://wallet.test/home",
    "test_ids": [{"testId": "send", "tag": "button", "text": f"Send {MARKER}"}],
}
STEP = {"tool": "click", "target": {"testId": "send"}, "before": SCREEN}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("scopes")


@pytest.fixture(scope="module")
def store(folder):
    """A store with something of everything, and a word that somebody else has written everywhere."""
    with opened(folder) as ctx:
        _mark(ctx.athand)
        yield ctx


def _mark(athand):
    names = {"tags": [MARKER], "concepts": [MARKER], "files": [MARKER], "author": MARKER}
    texts = {"summary": f"About {MARKER}", "context": f"From {MARKER}"}
    for memory in athand.memories.list(limit=1000):
        athand.memories.update(memory.id, content=f"{memory.content} {MARKER}", **texts, **names)
    athand.memories.add(LONG, project=MARKER, id="vault")
    athand.memories.add(f"The deleted one is {MARKER}", id="deleted-marker", project=MARKER)
    athand.memories.delete("deleted-marker")
    athand.memories.end_session("audit", summary=MARKER)
    athand.memories.folder("default").create("/memories/marked.md", f"first\n{MARKER}\n")
    for id_ in ("one", "two"):
        athand.flows.start_session(id=id_, goal=f"Send {MARKER}", tags=[MARKER], app="wallet")
        athand.flows.record(id_, **STEP, input={"text": MARKER})
    athand.tools.add("weather", WEATHER)


@pytest.fixture(scope="module")
def given(store, folder):
    """Arguments for every operation that needs search or write; an operation that has none here fails its tests."""
    flow, tool = {"session_id": "one"}, "weather__get_forecast"
    return {
        **arguments(store, folder),
        "memory_restore": {"id": "deleted-marker"},
        "search_tools": {"query": "weather forecast"},
        "describe_tool": {"id": tool},
        "list_tools": {},
        "list_servers": {},
        "tool_stubs": {"ids": [tool]},
        "tool_stats": {},
        "knowledge_search": {"query": "send coins"},
        "knowledge_last": {},
        "knowledge_sessions": {},
        "knowledge_session": flow,
        "knowledge_steps": flow,
        "knowledge_summarize": flow,
        "knowledge_prior": {**flow, "observation": SCREEN},
        "knowledge_profiles": {},
        "knowledge_script": flow,
        "knowledge_start_session": {"id": "three", "app": "wallet"},
        "knowledge_record": {"session_id": "one", "tool": "click", "target": {"testId": "send"}},
        "knowledge_delete": {"session_id": "two"},
        "knowledge_reject_heal": {**flow, "position": 1, "element": "button"},
    }


def rows_of(store):
    """A hash over all rows of each table; full-text indexes have tables of their own."""
    tables = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
    with store.athand.memories.store.snapshot() as snapshot:
        names = [row[0] for row in snapshot.rows(tables)]
        return {name: digest(snapshot.rows(f"SELECT * FROM {name}")) for name in names}


@pytest.mark.parametrize("operation", READS, ids=lambda each: each.name)
def test_who_may_only_search_changes_no_row(store, given, operation, monkeypatch):
    monkeypatch.setattr("athand.tools.usage._FLUSH_AFTER", 1)  # what is counted is written at once
    own = {"session": "a-new-one"} if operation.name == "memory_search" else {}
    before = rows_of(store)
    assert operation.perform(store, {**given[operation.name], **own}, caller=READER) is not None
    assert rows_of(store) == before


@pytest.mark.parametrize(("scopes", "counted"), [("search", 0), ("search write", 1), ("search call-tools", 1)])
def test_a_search_of_tools_is_counted_if_its_caller_may_change_something(store, given, scopes, counted):
    before = store.athand.tools.stats().searches
    caller = Caller("one", frozenset(scopes.split()))
    assert operations()["search_tools"].perform(store, given["search_tools"], caller=caller)
    assert store.athand.tools.stats().searches == before + counted


@pytest.mark.parametrize("operation", WRITES, ids=lambda each: each.name)
def test_who_may_only_write_reads_nothing_of_others(store, given, operation):
    answer = operation.perform(store, given[operation.name], caller=WRITER)
    assert MARKER not in json.dumps(answer)


@pytest.mark.parametrize("operation", WRITES, ids=lambda each: each.name)
@pytest.mark.parametrize("id_", ["vaul", "nothing", "audi", "marked"])
def test_errors_tell_who_may_only_write_nothing_of_others(store, given, operation, id_):
    wrong = {
        name: id_ if name == "id" or name.endswith("_id") else each for name, each in given[operation.name].items()
    }
    try:
        said = json.dumps(operation.perform(store, wrong, caller=WRITER))
    except AthandError as error:
        said = str(error)
    assert MARKER not in said


def test_a_near_duplicate_tells_its_id_and_not_its_text(store):
    answer = operations()["memory_add"].perform(
        store, {"content": LONG.replace("may know", "may currently know"), "project": MARKER}, caller=WRITER
    )
    assert (answer["id"], answer["deduplicated"], answer["content"]) == ("vault", True, HIDDEN)


@pytest.mark.parametrize("command", [{"command": "view"}, {"command": "str_replace", "old_str": "first"}])
def test_files_are_not_read_by_who_may_only_write(store, command):
    with pytest.raises(Refused, match="scope search"):
        operations()["memory_folder"].perform(store, {"path": "/memories/marked.md", **command}, caller=WRITER)


def test_what_a_writer_gave_comes_back_to_it(store):
    answer = operations()["memory_add"].perform(store, {"content": "Lunch is at noon", "tags": ["food"]}, caller=WRITER)
    assert (answer["content"], answer["tags"], answer["pinned"]) == ("Lunch is at noon", ["food"], False)
    assert answer["id"]
    assert answer["created_at"] == answer["valid_from"]
