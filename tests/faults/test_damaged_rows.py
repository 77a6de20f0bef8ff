"""A store with damaged rows: every method answers or says what is wrong; the rest can be exported."""

import shutil
from contextlib import closing, suppress
from itertools import product

import apsw
import pytest
from tests.tools.servers.kit import FILES, WEATHER

from athand import Athand
from athand.app import SCHEMAS
from athand.errors import AthandError, DataError
from athand.flows import Observation
from athand.store.tables import read_tables

INNER = {
    "spaces": ("passages", "lengths"),
    "vocabulary": ("word", "frequency"),
    "models": ("model_id", "dimensions"),
    "coverage": ("complete", "epoch"),
    "vectors": ("vector", "checksum"),
}
DAMAGE = {
    "missing": "NULL",
    "a blob": "x'00ff13'",
    "no JSON": "'{\"a\": '",
    "other JSON": "'7'",
    "no UTF-8": "CAST(x'61ff62' AS TEXT)",
}
PLACES = [
    *((table.name, column) for table in read_tables(SCHEMAS).values() for column in table.columns),
    *((table, column) for table, columns in INNER.items() for column in columns),
    *(
        (f"{schema.index.corpus}_passages", column)
        for schema in SCHEMAS
        for column in ("item_id", "hash", "created_at")
    ),
    *((f"{schema.index.corpus}_passages", schema.index.fields[0]) for schema in SCHEMAS),
]
CASES = [(table, column, kind) for (table, column), kind in product(PLACES, DAMAGE)]
CASES += [(table, "", "rows are gone") for table in dict.fromkeys(table for table, _ in PLACES)]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A small store with something of everything, closed."""
    folder = tmp_path_factory.mktemp("whole")
    notes = folder / "notes"
    notes.mkdir()
    for name in ("deploy", "rollback"):
        (notes / f"{name}.md").write_text(
            f"# About {name}\n\nThe {name} of staging needs the VPN.\n\n## More\n\nText.\n"
        )
    with Athand(folder / "r.db") as athand:
        _fill(athand, notes)
    return folder / "r.db"


def _fill(athand, notes):
    for number in range(4):
        athand.memories.add(f"Fact {number} about staging and kettle{number}", id=f"m{number}", tags=["a"], session="s")
    athand.memories.relate("m0", "m1", "CONTRADICTS")
    athand.memories.delete("m3")
    athand.memories.search("kettle1", session="s")
    athand.documents.add(notes, folder_id="notes")
    athand.tools.add("files", FILES)
    athand.tools.add("weather", WEATHER, catalogue="other")
    athand.tools.rule("files__*", "deny")
    athand.flows.start_session(goal="Send 0.1 ETH", app="wallet", id="walk")
    for screen in ("home", "send", "confirm"):
        athand.flows.record(
            "walk",
            tool="ui_click",
            target={"testId": f"{screen}-button"},
            before=Observation(screen, "http://shop/", ({"testId": f"{screen}-button"},), ()),
        )


def actions(athand, folder):
    """What is done with a store, most of it reading."""
    memories, documents, tools, flows = (athand.corpora[name] for name in ("memories", "documents", "tools", "flows"))
    yield "check", athand.check
    yield "status", athand.status
    yield "search", lambda: athand.search("staging kettle files button")
    yield "export", lambda: athand.export(folder / "all.zip", force=True)
    yield "memories.search", lambda: memories.search("kettle1 staging", session="s")
    yield "memories.list", lambda: memories.list(limit=10)
    yield "memories.get", lambda: memories.get("m1")
    yield "memories.brief", memories.brief
    yield "memories.stats", memories.stats
    yield "memories.timeline", lambda: memories.timeline("m1")
    yield "memories.related", lambda: memories.related("m0")
    yield "memories.sessions", memories.sessions
    yield "memories.export", lambda: memories.export(folder / "memories.jsonl")
    yield "memories.update", lambda: memories.update("m1", content="Another fact about carpets")
    yield "memories.add", lambda: memories.add("One more fact about lamps")
    yield "memories.delete", lambda: memories.delete("m2", hard=True)
    yield "documents.search", lambda: documents.search("deploy staging")
    yield (
        "documents.search_content",
        lambda: documents.search_content(semantic_concepts=["staging"], exact_terms=["VPN"]),
    )
    yield "documents.find_documents", lambda: documents.find_documents("rollback")
    yield "documents.list_documents", lambda: documents.list_documents("notes")
    yield "documents.explore", lambda: documents.explore("notes")
    yield "documents.get_document_data", lambda: documents.get_document_data("notes", "deploy.md")
    yield "documents.get_document_text", lambda: documents.get_document_text("notes", "deploy.md")
    yield "documents.list_folders", documents.list_folders
    yield "documents.refresh", lambda: documents.refresh("notes")
    yield "tools.search", lambda: tools.search("read a file")
    yield "tools.list", tools.list
    yield "tools.servers", tools.servers
    yield "tools.rules", tools.rules
    yield "tools.stats", tools.stats
    yield "tools.approve", lambda: tools.approve(f"files__{FILES[0]['name']}")
    yield "flows.search", lambda: flows.search("click the button")
    yield "flows.sessions", flows.sessions
    yield "flows.steps", lambda: flows.steps("walk")
    yield "flows.summarize", lambda: flows.summarize("walk")
    yield "flows.suggest", lambda: flows.suggest("walk")
    yield "flows.record", lambda: flows.record("walk", tool="ui_click", target={"testId": "last"})
    yield "reindex", lambda: [corpus.reindex() for corpus in athand.corpora.values()]
    yield "check again", athand.check


def damage(path, table, column, kind):
    """Damages a row of a table, past the rules that the table has; or deletes all of them."""
    with closing(apsw.Connection(str(path))) as connection:
        if not column:
            connection.execute(f"DELETE FROM {table}")
            return
        [(sql,)] = connection.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (table,)).fetchall()
        loose = sql.replace(f"{column} TEXT NOT NULL", f"{column} TEXT").replace("INTEGER NOT NULL", "INTEGER")
        loose = loose.replace("BLOB NOT NULL", "BLOB").replace("REAL NOT NULL", "REAL")
        _rewrite(connection, table, loose)
    with closing(apsw.Connection(str(path))) as connection:
        order = "LIMIT 1" if "WITHOUT ROWID" in sql else "ORDER BY rowid LIMIT 1"
        key = ", ".join(row[1] for row in connection.execute(f"PRAGMA table_info({table})") if row[5]) or "rowid"
        with suppress(apsw.ConstraintError):  # a key cannot be missing
            connection.execute(
                f"UPDATE {table} SET {column} = {DAMAGE[kind]} WHERE ({key}) IN (SELECT {key} FROM {table} {order})"
            )
        _rewrite(connection, table, sql)


def _rewrite(connection, table, sql):
    connection.execute("PRAGMA writable_schema = ON")
    connection.execute("UPDATE sqlite_schema SET sql = ? WHERE name = ?", (sql, table))
    connection.execute("PRAGMA writable_schema = RESET")


@pytest.mark.parametrize("every", [71, pytest.param(1, marks=pytest.mark.soak)])
def test_whatever_is_damaged_every_method_answers_or_raises_an_error_of_ours(whole, tmp_path, every):
    for case in CASES[::every]:
        for file in tmp_path.glob("r.db*"):
            file.unlink()
        path = shutil.copy(whole, tmp_path / "r.db")
        damage(path, *case)
        assert (case, use(path, tmp_path)) == (case, {})


def test_an_export_has_what_can_be_read_and_names_the_rest(whole, tmp_path):
    path = shutil.copy(whole, tmp_path / "r.db")
    damage(path, "memories", "tags", "no JSON")
    damage(path, "flow_steps", "record", "missing")
    with Athand(path) as athand, Athand(tmp_path / "other.db") as other:
        problems = athand.check()
        assert problems[0].startswith("memories: the row 'default', 'm0' is damaged in tags; ")
        assert any(each.startswith("flow_steps: the row 'wallet', ") for each in problems)
        with pytest.raises(DataError, match=r"'m0' is damaged in tags.*athand export"):
            athand.memories.list()
        done = athand.export(tmp_path / "all.zip")
        assert done.memories == 3 and "'m0'" in done.problems[0]
        assert other.import_(tmp_path / "all.zip").memories == 3
        assert {memory.id for memory in other.memories.list(include_deleted=True)} == {"m1", "m2", "m3"}
    assert list(tmp_path.glob(".*unfinished*")) == []


def test_a_vector_that_is_gone_is_named_and_made_anew_while_words_still_find(whole, tmp_path):
    path = shutil.copy(whole, tmp_path / "r.db")
    damage(path, "vectors", "vector", "missing")
    with Athand(path) as athand:
        assert any("1 vectors are damaged; run: athand reindex" in problem for problem in athand.check())
        assert athand.memories.search("kettle1")[0].id == "m1"
        for corpus in athand.corpora.values():
            corpus.reindex()
        assert athand.check() == []


@pytest.mark.parametrize(
    ("table", "column"), [("models", "dimensions"), ("vectors", "checksum"), ("coverage", "epoch")]
)
def test_reindex_mends_what_only_the_index_needs(whole, tmp_path, table, column):
    for kind in DAMAGE:
        path = shutil.copy(whole, tmp_path / f"{kind}.db")
        damage(path, table, column, kind)
        with Athand(path) as athand:
            with suppress(DataError):
                athand.search("staging kettle files button")
            for corpus in athand.corpora.values():
                corpus.reindex()
            assert (kind, athand.check()) == (kind, [])
            assert athand.memories.search("kettle1")[0].id == "m1"


def test_a_memory_in_another_space_than_its_own_is_named_and_reindex_ends(whole, tmp_path):
    for kind in ("a blob", "no JSON"):
        path = shutil.copy(whole, tmp_path / f"{kind}.db")
        damage(path, "memories", "space", kind)
        with Athand(path) as athand:
            with suppress(DataError):
                athand.memories.reindex()
            assert any(problem.startswith("memories: the row ") for problem in athand.check())


@pytest.mark.parametrize(
    ("table", "column", "kind", "action"),
    [
        ("document_folders", "path", "missing", lambda athand: athand.documents.refresh("notes")),
        ("document_folders", "path", "a blob", lambda athand: athand.search("staging")),
        ("tool_servers", "failure", "a blob", lambda athand: athand.tools.servers()),
        (
            "flows",
            "git",
            "other JSON",
            lambda athand: athand.flows.record("walk", tool="ui_click", target={"testId": "last"}),
        ),
    ],
)
def test_a_row_with_a_value_of_another_type_is_named(whole, tmp_path, table, column, kind, action):
    path = shutil.copy(whole, tmp_path / "r.db")
    damage(path, table, column, kind)
    with Athand(path) as athand, pytest.raises(DataError, match=f"{table}: the row .* is damaged in {column}"):
        action(athand)


@pytest.mark.parametrize("kind", ["missing", "a blob", "no UTF-8"])
def test_a_damaged_row_is_named_with_its_columns(whole, tmp_path, kind):
    path = shutil.copy(whole, tmp_path / "r.db")
    for column in ("content", "updated_at") if kind != "no UTF-8" else ("content", "summary"):
        damage(path, "memories", column, kind)
    with Athand(path) as athand:
        [problem] = [each for each in athand.check() if each.startswith("memories: the row ")]
    assert " is damaged in content and updated_at" in problem or " is damaged in content and summary" in problem


def test_an_error_that_no_damage_explains_stays_what_it_is(whole, tmp_path):
    with (
        Athand(shutil.copy(whole, tmp_path / "r.db")) as athand,
        pytest.raises(KeyError, match="mine"),
        athand._store.snapshot(),
    ):
        raise KeyError("mine")


def use(path, folder):
    """Does everything with a store; what was raised that is no error of ours, by action."""
    wrong = {}
    try:
        with Athand(path) as athand:
            for name, action in actions(athand, folder):
                try:
                    action()
                except AthandError:
                    pass
                except Exception as error:
                    wrong[name] = error
    except AthandError:
        pass
    return wrong
