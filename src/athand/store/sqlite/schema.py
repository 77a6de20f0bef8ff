"""Creates the tables in SQLite, and migrates those of an older version."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import apsw

from athand.errors import DataError
from athand.store.contract import Schema
from athand.store.tables import CORPUS_VERSION, check_version

APPLICATION_ID = 0x4154_4844  # "ATHD": tells our files from other SQLite databases

_ENGINE_TABLES = """
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

-- A corpus's spaces, and one row without a name for all of them together. BM25 takes its statistics from here.
CREATE TABLE spaces (
    number INTEGER PRIMARY KEY,
    corpus TEXT NOT NULL,
    space TEXT NOT NULL,
    passages INTEGER NOT NULL DEFAULT 0,
    lengths TEXT NOT NULL DEFAULT '[]',
    UNIQUE (corpus, space)
);

-- In how many passages of a space a term occurs, and a word as it was written, to show in corrections.
CREATE TABLE vocabulary (
    space INTEGER NOT NULL,
    term TEXT NOT NULL,
    word TEXT NOT NULL,
    frequency INTEGER NOT NULL,
    PRIMARY KEY (space, term)
) WITHOUT ROWID;

CREATE TABLE models (number INTEGER PRIMARY KEY, model_id TEXT NOT NULL UNIQUE, dimensions INTEGER NOT NULL);

-- Whether every passage of a corpus has a vector of a model. The epoch changes when old passages get new vectors, or
-- all are indexed again: copies of the vectors made before are then stale.
CREATE TABLE coverage (
    corpus TEXT NOT NULL,
    model INTEGER NOT NULL REFERENCES models (number),
    complete INTEGER NOT NULL,
    epoch INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (corpus, model)
) WITHOUT ROWID;

-- Content-addressed: the same text is embedded once per model, whichever passages have it.
CREATE TABLE vectors (
    model INTEGER NOT NULL REFERENCES models (number),
    hash BLOB NOT NULL,
    vector BLOB NOT NULL,
    checksum INTEGER NOT NULL,
    PRIMARY KEY (model, hash)
);
"""


def _passage_tables(corpus: str, *fields: str) -> str:
    """The derived tables of a corpus. AUTOINCREMENT: numbers only grow, so 'newer than N' finds all that is new."""
    columns = ", ".join(fields)
    typed = ", ".join(f"{field} TEXT NOT NULL" for field in fields)
    return f"""
    CREATE TABLE {corpus}_passages (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        space INTEGER NOT NULL REFERENCES spaces (number),
        id TEXT NOT NULL,
        item_id TEXT NOT NULL,
        hash BLOB NOT NULL,
        created_at INTEGER NOT NULL,
        {typed}
    );
    CREATE UNIQUE INDEX {corpus}_passages_by_id ON {corpus}_passages (space, id);
    CREATE INDEX {corpus}_passages_by_item ON {corpus}_passages (space, item_id);
    CREATE INDEX {corpus}_passages_by_hash ON {corpus}_passages (hash);
    CREATE VIRTUAL TABLE {corpus}_words USING fts5(
        space, {columns}, content='{corpus}_passages', content_rowid='number', tokenize='ascii'
    );
    """


def _enable_secure_delete(corpus: str) -> str:
    """SQL that makes FTS5 overwrite removed words at once: slow for large corpora, for which `erase_traces` does it."""
    return f"INSERT INTO {corpus}_words ({corpus}_words, rank) VALUES ('secure-delete', 1);"


_LITERALS = """
-- Which passages have which three characters in a row, in lower case: for literal search.
CREATE VIRTUAL TABLE {corpus}_literals USING fts5(
    content, content='', columnsize=0, detail=none, tokenize='trigram case_sensitive 1'
);
"""


# The engine's own tables: each step leads to the next version. Corpora have versions of their own, in the settings.
STEPS = (_ENGINE_TABLES + "INSERT INTO settings VALUES ('store_id', lower(hex(randomblob(16))));",)
VERSION = len(STEPS)


def _corpus_tables(schema: Schema) -> str:
    """The SQL of all tables of a corpus, in their first version."""
    corpus = schema.index.corpus
    literals = _LITERALS.format(corpus=corpus) if schema.index.texts else ""
    erasing = _enable_secure_delete(corpus) if schema.secure_delete else ""
    return schema.steps[0] + _passage_tables(corpus, *schema.index.fields) + literals + erasing


def version_of(connection: apsw.Connection) -> int:
    """The schema version; refuses databases of other programs and of a newer program."""
    with connection:  # all three of one moment: another process may be creating the tables
        tables = connection.execute("SELECT count(*) FROM sqlite_schema").get
        application = connection.pragma("application_id")
        version = int(connection.pragma("user_version"))
    if application not in (0, APPLICATION_ID) or (application == 0 and tables):
        raise DataError(f"{connection.filename} is a database of another program. Choose another path with --store.")
    check_version(connection.filename, "store", version, VERSION)
    return version


def is_current(connection: apsw.Connection, schemas: Sequence[Schema]) -> bool:
    """Whether the tables of the engine and of these corpora are there, in the versions known here."""
    if version_of(connection) != VERSION:
        return False
    versions = _corpus_versions(connection)
    for schema in schemas:
        check_version(connection.filename, schema.index.corpus, versions.get(schema.index.corpus, 0), schema.version)
    return all(versions.get(schema.index.corpus) == schema.version for schema in schemas)


def migrate(connection: apsw.Connection, schemas: Sequence[Schema]) -> None:
    """Creates or migrates the tables, all or nothing; a file whose tables change is copied first."""
    if is_current(connection, schemas):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = version_of(connection)  # another process may have been faster
        for step in STEPS[version:]:
            connection.execute(step).fetchall()
        _migrate_corpora(connection, schemas)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {VERSION}").fetchall()
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def _migrate_corpora(connection: apsw.Connection, schemas: Sequence[Schema]) -> None:
    versions = _corpus_versions(connection)
    for schema in schemas:
        corpus = schema.index.corpus
        before = versions.get(corpus, 0)
        check_version(connection.filename, corpus, before, schema.version)
        if 0 < before < schema.version:
            _copy_before_migration(connection.filename, f"{corpus}-v{before}")
        for step in (_corpus_tables(schema), *schema.steps[1:])[before:]:
            connection.execute(step).fetchall()
        connection.execute(
            "INSERT OR REPLACE INTO settings VALUES (?, ?)", (f"{CORPUS_VERSION}{corpus}", str(schema.version))
        ).fetchall()


def _corpus_versions(connection: apsw.Connection) -> dict[str, int]:
    """The versions of the corpora that have tables in this database."""
    found = connection.execute(
        "SELECT substr(name, length(?1) + 1), value FROM settings WHERE substr(name, 1, length(?1)) = ?1",
        (CORPUS_VERSION,),
    )
    return {corpus: int(version) for corpus, version in found}


def _copy_before_migration(filename: str, version: str) -> None:
    """Copies the database to a private file beside it."""
    if not filename:
        return
    copy = Path(f"{filename}.{version}.bak")
    copy.touch(mode=0o600)
    with (
        closing(apsw.Connection(filename)) as source,
        closing(apsw.Connection(str(copy))) as target,
        target.backup("main", source, "main") as backup,
    ):
        backup.step()
