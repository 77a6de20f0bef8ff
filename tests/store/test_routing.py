"""What a service asks in one project names the space of every table, so that a cluster asks only the machine with it.

Every statement is recorded and explained by a plain server. A table that is read without a condition on its own space,
with values and not only those of another table, would be asked of all machines.
"""

import re
from contextlib import contextmanager

import psycopg
import pytest
from tests.tools.servers.kit import FILES

from athand import Athand
from athand.app import SCHEMAS
from athand.store.postgres import connections, schema
from athand.store.tables import read_tables

DERIVED = {f"{each.index.corpus}_{name}" for each in SCHEMAS for name in ("passages", "vectors", "counts")}
DISTRIBUTED = {*read_tables(SCHEMAS), *DERIVED}
NO_PLAN = ("BEGIN", "COMMIT", "ROLLBACK", "SET ", "SELECT pg_", "ANALYZE", "SHOW", "DROP", "CREATE", "VACUUM")


@contextmanager
def recorded(patch):
    """The statements that are sent in the block, with their values."""
    asked = []
    execute, many = connections.LimitedConnection.execute, psycopg.ClientCursor.executemany

    def note_one(self, query, values=None, **options):
        asked.append(psycopg.ClientCursor(self).mogrify(query, values))
        return execute(self, query, values, **options)

    def note_many(self, query, several, **options):
        several = list(several)
        asked.extend(psycopg.ClientCursor(self.connection).mogrify(query, values) for values in several)
        return many(self, query, several, **options)

    with patch.context() as patched:
        patched.setattr(connections.LimitedConnection, "execute", note_one)
        patched.setattr(psycopg.ClientCursor, "executemany", note_many)
        yield asked


def explain(connection, statement):
    """The plan of a statement."""
    [(explained,)] = connection.execute(f"EXPLAIN (VERBOSE, FORMAT JSON) {statement}".encode()).fetchall()
    return explained[0]["Plan"]


def nodes(plan):
    """A node of a plan and all below it."""
    yield plan
    for child in plan.get("Plans", ()):
        yield from nodes(child)


def conditions(node):
    """What has to be true of a row at a node of a plan."""
    return [str(value) for name, value in node.items() if name.endswith(("Cond", "Filter"))]


def read_without_space(plan):
    """The tables of a plan that are read without a condition that compares their space with values."""
    for node in nodes(plan):
        names_space = re.compile(rf"\b{re.escape(node.get('Alias', ''))}\.space = (ANY \()?'")
        is_scan = "Scan" in node["Node Type"] and node.get("Relation Name") in DISTRIBUTED
        if is_scan and not any(map(names_space.search, conditions(node))):
            yield node["Relation Name"]


@pytest.fixture
def filled(new_postgres_url, tmp_path, monkeypatch):
    """A store of which the client believes that its tables are distributed, with more in it than is scored at once."""
    monkeypatch.setattr(connections, "distributed_tables", lambda connection: ["memories"])
    for number in range(230):
        (tmp_path / f"{number}.md").write_text(f"# Note {number}\n\nThe pier has {number} planks.\n")
    with Athand(new_postgres_url) as athand:
        notes = [{"content": f"Note {number} on the pier", "project": "shop"} for number in range(230)]
        athand.memories.add_many([*notes, {"content": "Everybody shuts the gate", "tier": "global", "project": "shop"}])
        long = athand.memories.add("The pier is long", project="shop", session="monday", id="long")
        shut = athand.memories.add("Everybody locks the pier", tier="global", project="other")
        athand.memories.relate(long.id, shut.id, "APPLIES_TO")
        athand.memories.supersede(athand.memories.add("The pier is short", project="shop").id, long.id)
        athand.documents.add(tmp_path, folder_id="notes")
        athand.tools.add("files", FILES, catalogue="desk")
        athand.flows.start_session(goal="Pay", app="wallet", id="paid")
        athand.flows.record("paid", tool="ui_click", target={"testId": "send-button"})
        yield athand


@pytest.fixture
def without_a_model(filled, monkeypatch):
    """The same store, of whose passages no vector is known any more."""
    with filled._store.transaction() as transaction:
        transaction.execute("DELETE FROM coverage")
    return filled


MEMORIES = {
    "search": lambda m: m.search("note about the pier", project="shop", session="monday"),
    "search what was superseded": lambda m: m.search("the pier is short", project="shop", include_superseded=True),
    "search in a session": lambda m: m.search("how long is the pier", project="shop", in_session="monday"),
    "search with a typo": lambda m: m.search("planks of the pierr", project="shop", reinforce=False),
    "add": lambda m: m.add("The lighthouse needs paint", project="shop", session="monday"),
    "add the same": lambda m: m.add("Note 3 on the pier", project="shop", session="monday", key="once"),
    "add with a key again": lambda m: m.add("Note 3 on the pier", project="shop", key="once"),
    "add many": lambda m: m.add_many({"content": f"Boat {at} is blue", "project": "shop"} for at in range(120)),
    "list": lambda m: m.list(project="shop"),
    "brief": lambda m: m.brief("shop"),
    "stats": lambda m: m.stats("shop"),
    "sessions": lambda m: m.sessions("shop"),
    "go on with a session": lambda m: m.start_session("shop", id="monday"),
}
DOCUMENTS = {
    "search": lambda d: d.search("planks of the pier", folder_id="notes"),
    "search below a path": lambda d: d.search("planks of the pier", folder_id="notes", path="1*.md"),
    "search_content": lambda d: d.search_content("notes", semantic_concepts=["pier"], exact_terms=["planks"]),
    "find_documents": lambda d: d.find_documents("planks of the pier", folder_id="notes"),
    "explore": lambda d: d.explore("notes"),
    "list_documents": lambda d: d.list_documents("notes"),
    "get_document_data": lambda d: d.get_document_data("notes", "3.md"),
    "get_document_text": lambda d: d.get_document_text("notes", "3.md"),
}
TOOLS = {
    "search": lambda t: t.search("read a file", catalogue="desk"),
    "list": lambda t: t.list(catalogue="desk"),
    "describe": lambda t: t.describe("files__read_file", catalogue="desk"),
    "add": lambda t: t.add("more", [{**FILES[0], "name": "peek"}], catalogue="desk"),
    "add again": lambda t: t.add("files", [{**FILES[0], "description": "Something else"}], catalogue="desk"),
    "reject": lambda t: t.reject("files__read_file", catalogue="desk"),
    "disable": lambda t: t.disable("files", catalogue="desk"),
    "rule": lambda t: t.rule("files__*", "deny", catalogue="desk"),
    "remove": lambda t: t.remove("files", catalogue="desk"),
}
FLOWS = {
    "search": lambda f: f.search("pay", filters={"app": "wallet"}),
    "record": lambda f: f.record("paid", tool="ui_type", target={"testId": "amount"}, input={"text": "3"}),
    "steps": lambda f: f.steps("paid"),
    "start a session": lambda f: f.start_session(goal="Pay again", app="wallet"),
    "start a session of this id": lambda f: f.start_session(goal="Pay again", app="wallet", id="again"),
}
# What an id alone leads to is asked of every machine: nothing says in which project it is.
ASKED_EVERYWHERE = {
    ("memories", "search in a session"): {"memory_links"},
    ("flows", "start a session of this id"): {"flows"},
}


@pytest.mark.parametrize(
    ("corpus", "operations"),
    {"memories": MEMORIES, "documents": DOCUMENTS, "tools": TOOLS, "flows": FLOWS}.items(),
    ids=["memories", "documents", "tools", "flows"],
)
def test_an_operation_in_one_project_names_its_space_for_every_table(
    filled, new_postgres_url, monkeypatch, corpus, operations
):
    loose, impossible = {}, []
    with psycopg.connect(new_postgres_url, options=f"-c search_path={schema.SCHEMA},public") as connection:
        for name, operate in operations.items():
            with recorded(monkeypatch) as asked:
                operate(filled.corpora[corpus])
            statements = [each for each in asked if each and not each.startswith(NO_PLAN)]
            assert statements, name
            for statement in statements:
                plan = explain(connection, statement)
                for table in read_without_space(plan):
                    loose.setdefault((corpus, name), set()).add(table)
                if any("false" in conditions(node) for node in nodes(plan)):
                    impossible.append(statement)
    assert loose == {place: tables for place, tables in ASKED_EVERYWHERE.items() if place[0] == corpus}
    assert impossible == []


def test_without_vectors_no_join_has_a_condition_that_is_never_true(without_a_model, new_postgres_url, monkeypatch):
    with recorded(monkeypatch) as asked:
        without_a_model.memories.search("note about the pier", project="shop")
        without_a_model.documents.search("planks of the pier", folder_id="notes")
        without_a_model.documents.search_content("notes", exact_terms=["planks"])
    with psycopg.connect(new_postgres_url, options=f"-c search_path={schema.SCHEMA},public") as connection:
        plans = [explain(connection, each) for each in asked if each and not each.startswith(NO_PLAN)]
    assert any(node.get("Relation Name") == "memories_vectors" for plan in plans for node in nodes(plan))
    assert not any("false" in conditions(node) for plan in plans for node in nodes(plan))


@pytest.mark.parametrize("count", [120, 480])
def test_many_memories_take_as_many_statements_as_some(filled, monkeypatch, count):
    notes = [
        {"content": f"Boat {at} is blue", "project": "shop", "session": "monday", "key": f"boat {at}"}
        for at in range(count)
    ]
    with recorded(monkeypatch) as asked:
        assert len(filled.memories.add_many(notes)) == count
    assert len([each for each in asked if each]) < 60
