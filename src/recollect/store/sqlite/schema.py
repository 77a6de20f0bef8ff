"""The tables, and how a database of an older version becomes one of this version."""

from contextlib import closing
from pathlib import Path

import apsw

from recollect.errors import DataError

APPLICATION_ID = 0x5243_4C54  # "RCLT": tells our files from other SQLite databases

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

-- In how many passages of a space a term is, and a word as someone wrote it, to show in corrections.
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

_MEMORIES = """
CREATE TABLE memories (
    space TEXT NOT NULL,
    id TEXT NOT NULL,
    content TEXT NOT NULL,
    context TEXT,
    author TEXT,
    tags TEXT NOT NULL DEFAULT '[]',
    created_at INTEGER NOT NULL, -- microseconds since 1970, UTC
    updated_at INTEGER NOT NULL,
    is_deleted INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (space, id)
) WITHOUT ROWID;
CREATE UNIQUE INDEX memories_by_id ON memories (id);
CREATE INDEX memories_by_time ON memories (space, created_at, id);
"""

_MEMORIES_IN_FULL = """
-- Where a memory is searched is its space: its project, or '*' for the global ones.
ALTER TABLE memories ADD COLUMN project TEXT NOT NULL DEFAULT '';
ALTER TABLE memories ADD COLUMN summary TEXT;
ALTER TABLE memories ADD COLUMN sector TEXT NOT NULL DEFAULT 'semantic';
ALTER TABLE memories ADD COLUMN tier TEXT NOT NULL DEFAULT 'project';
ALTER TABLE memories ADD COLUMN memory_type TEXT;
ALTER TABLE memories ADD COLUMN importance REAL NOT NULL DEFAULT 0.5;
ALTER TABLE memories ADD COLUMN salience REAL NOT NULL DEFAULT 1.0; -- as of last_accessed
ALTER TABLE memories ADD COLUMN access_count INTEGER NOT NULL DEFAULT 0;
ALTER TABLE memories ADD COLUMN last_accessed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE memories ADD COLUMN concepts TEXT NOT NULL DEFAULT '[]';
ALTER TABLE memories ADD COLUMN files TEXT NOT NULL DEFAULT '[]';
ALTER TABLE memories ADD COLUMN valid_from INTEGER NOT NULL DEFAULT 0;
ALTER TABLE memories ADD COLUMN valid_until INTEGER;
ALTER TABLE memories ADD COLUMN deleted_at INTEGER;
ALTER TABLE memories ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0;
ALTER TABLE memories ADD COLUMN session TEXT; -- where it was created
ALTER TABLE memories ADD COLUMN written_by TEXT NOT NULL DEFAULT 'user';
ALTER TABLE memories ADD COLUMN fingerprint TEXT NOT NULL DEFAULT ''; -- equal for the same content; derived
ALTER TABLE memories ADD COLUMN gist TEXT NOT NULL DEFAULT ''; -- equal for nearly the same content; derived
UPDATE memories SET project = space, last_accessed = created_at, valid_from = created_at,
    deleted_at = CASE WHEN is_deleted THEN updated_at END;
DROP INDEX memories_by_time;
CREATE INDEX memories_by_time ON memories (project, created_at, id);
CREATE INDEX memories_by_session ON memories (space, session, created_at, id) WHERE session IS NOT NULL;
CREATE INDEX memories_by_fingerprint ON memories (space, fingerprint);
CREATE INDEX memories_by_gist ON memories (space, gist) WHERE gist <> '';

CREATE TABLE memory_sessions (
    space TEXT NOT NULL,
    id TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    ended_at INTEGER,
    summary TEXT,
    PRIMARY KEY (space, id)
) WITHOUT ROWID;
CREATE UNIQUE INDEX memory_sessions_by_id ON memory_sessions (id);

-- The space of the following tables is the project of the memory: that never changes, while its tier may.
CREATE TABLE memory_links (
    space TEXT NOT NULL,
    session TEXT NOT NULL,
    memory_id TEXT NOT NULL,
    usage TEXT NOT NULL,
    linked_at INTEGER NOT NULL,
    PRIMARY KEY (space, session, memory_id, usage)
) WITHOUT ROWID;
CREATE INDEX memory_links_by_memory ON memory_links (memory_id, linked_at);
CREATE INDEX memory_links_by_session ON memory_links (session, memory_id);

CREATE TABLE memory_relations (
    space TEXT NOT NULL,
    source_id TEXT NOT NULL,
    target_id TEXT NOT NULL,
    type TEXT NOT NULL,
    made_by TEXT NOT NULL,
    valid_from INTEGER NOT NULL,
    valid_until INTEGER,
    PRIMARY KEY (space, source_id, target_id, type)
) WITHOUT ROWID;
CREATE INDEX memory_relations_by_source ON memory_relations (source_id);
CREATE INDEX memory_relations_by_target ON memory_relations (target_id);

-- What a caller named an add, so that adding again by that name adds nothing.
CREATE TABLE memory_keys (
    space TEXT NOT NULL,
    name TEXT NOT NULL,
    memory_id TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    PRIMARY KEY (space, name)
) WITHOUT ROWID;
CREATE INDEX memory_keys_by_memory ON memory_keys (memory_id);
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
    INSERT INTO {corpus}_words ({corpus}_words, rank) VALUES ('secure-delete', 1);
    """


MIGRATIONS = (
    _ENGINE_TABLES
    + "INSERT INTO settings VALUES ('store_id', lower(hex(randomblob(16))));"
    + _MEMORIES
    + _passage_tables("memories", "content", "context"),
    _MEMORIES_IN_FULL,
)
VERSION = len(MIGRATIONS)


def version_of(connection: apsw.Connection) -> int:
    """The schema version of an opened database; refuses what is not ours or newer than we are."""
    with connection:  # all three of one moment: another process may be creating the tables
        tables = connection.execute("SELECT count(*) FROM sqlite_schema").get
        application = connection.pragma("application_id")
        version = int(connection.pragma("user_version"))
    if application not in (0, APPLICATION_ID) or (application == 0 and tables):
        raise DataError(f"{connection.filename} is a database of another program. Choose another path with --store.")
    if version > VERSION:
        raise DataError(
            f"{connection.filename} was written by a newer Recollect (schema {version}, this one knows {VERSION}). "
            "Nothing was changed. Upgrade with: pip install --upgrade recollect"
        )
    return version


def migrate(connection: apsw.Connection) -> None:
    """Bring the database to this version, all or nothing, after a copy of one that already had content."""
    if version_of(connection) == VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = version_of(connection)  # another process may have been faster
        if version:
            _copy_before_migration(connection.filename, version)
        for step in MIGRATIONS[version:]:
            connection.execute(step).fetchall()
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {VERSION}").fetchall()
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def _copy_before_migration(filename: str, version: int) -> None:
    """The database as it was, beside it; readable by its owner alone, like the original."""
    if not filename:
        return
    copy = Path(f"{filename}.v{version}.bak")
    copy.touch(mode=0o600)
    with (
        closing(apsw.Connection(filename)) as source,
        closing(apsw.Connection(str(copy))) as target,
        target.backup("main", source, "main") as backup,
    ):
        backup.step()
