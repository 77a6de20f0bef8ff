"""Maintenance: integrity checks, fingerprints, clearing an index, erasing deleted words."""

from collections.abc import Iterator, Sequence

import apsw

from athand.store.contract import Index, Schema
from athand.store.sqlite.damage import find_damaged_rows
from athand.store.sqlite.embeddings import NEXT_EPOCH, STORED, is_whole
from athand.store.sqlite.sql import rows, value
from athand.store.values import digest

_PROBES = 500


def check_integrity(connection: apsw.Connection, schemas: Sequence[Schema] = ()) -> list[str]:
    """Lists every problem; empty if there is none."""
    return list(_find_problems(connection, schemas))


def _find_problems(connection: apsw.Connection, schemas: Sequence[Schema]) -> Iterator[str]:
    for row in find_damaged_rows(connection, schemas):
        yield f"{row}; " + (
            "run: athand reindex" if row.is_derived else "write what can be read with: athand export PATH"
        )
    for (finding,) in connection.execute("PRAGMA integrity_check"):
        if finding != "ok":
            yield f"database: {finding}"
    for row in connection.execute("PRAGMA foreign_key_check"):
        yield f"database: row {row[1]} of {row[0]} refers to a missing row of {row[2]}"
    for corpus in corpora(connection):
        yield from _find_corpus_problems(connection, corpus)
    damaged = sum(not is_whole(*row) for row in connection.execute(f"SELECT {STORED} FROM vectors v"))
    if damaged:
        yield f"{damaged} vectors are damaged; run: athand reindex"


def corpora(connection: apsw.Connection) -> list[str]:
    """The corpora that have tables in this database."""
    names = connection.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE '%\\_passages' ESCAPE '\\'"
    )
    return sorted(name.removesuffix("_passages") for (name,) in names)


def _find_corpus_problems(connection: apsw.Connection, corpus: str) -> Iterator[str]:
    if not connection.readonly("main") and not _words_match(connection, corpus):
        yield f"{corpus}: the keyword index does not match the passages; run: athand reindex"
    if not _literals_match(connection, corpus):
        yield f"{corpus}: the index of literal texts does not match the passages; run: athand reindex"
    counted = value(connection, "SELECT passages FROM spaces WHERE corpus = ? AND space = ''", (corpus,)) or 0
    passages = value(connection, f"SELECT count(*) FROM {corpus}_passages")
    if counted != passages:
        yield f"{corpus}: {passages} passages, but the statistics say {counted}; run: athand reindex"
    for model_id, without in connection.execute(
        f"SELECT m.model_id, (SELECT count(*) FROM {corpus}_passages p WHERE NOT EXISTS "
        "(SELECT 1 FROM vectors v WHERE v.model = m.number AND v.hash = p.hash)) "
        "FROM coverage c JOIN models m ON m.number = c.model WHERE c.corpus = ? AND c.complete",
        (corpus,),
    ):
        if without:
            yield f"{corpus}: {without} passages have no vector of {model_id}; run: athand reindex"


def items_without_passages(connection: apsw.Connection, corpus: str) -> list[tuple[str, str]]:
    """Space and id of every item that is not deleted and has no passage."""
    found = rows(
        connection,
        f"SELECT i.space, i.id FROM {corpus} i WHERE NOT i.is_deleted AND NOT EXISTS "
        f"(SELECT 1 FROM {corpus}_passages p JOIN spaces s ON s.number = p.space "
        "WHERE s.space = i.space AND p.item_id = i.id)",
    )
    return [(space, item_id) for space, item_id in found]


def _literals_match(connection: apsw.Connection, corpus: str) -> bool:
    """Whether a sample of passages is found by its first trigram."""
    if not value(connection, "SELECT 1 FROM sqlite_schema WHERE name = ?", (f"{corpus}_literals",)):
        return True
    chunks = connection.execute(
        f"SELECT p.number, c.content FROM {corpus}_passages p JOIN spaces s ON s.number = p.space "
        "JOIN document_chunks c ON c.space = s.space AND c.id = p.id WHERE p.number % ? = 0 LIMIT ?",
        (max(1, (value(connection, f"SELECT max(number) FROM {corpus}_passages") or 0) // _PROBES), _PROBES),
    )
    probe = f"SELECT 1 FROM {corpus}_literals WHERE {corpus}_literals MATCH ? AND rowid = ?"
    return all(
        value(connection, probe, ('"' + content.casefold()[:3].replace('"', '""') + '"', number))
        for number, content in chunks
        if len(content.casefold()) >= 3
    )


def _words_match(connection: apsw.Connection, corpus: str) -> bool:
    """Whether FTS5's integrity check passes: the index matches the passages."""
    try:
        connection.execute(f"INSERT INTO {corpus}_words ({corpus}_words, rank) VALUES ('integrity-check', 1)")
    except apsw.CorruptError:
        return False
    return True


def drop_unused_vectors(connection: apsw.Connection) -> None:
    """Deletes the cached vectors of texts that no passage has any more."""
    used = " AND ".join(
        f"NOT EXISTS (SELECT 1 FROM {corpus}_passages p WHERE p.hash = vectors.hash)" for corpus in corpora(connection)
    )
    connection.execute(f"DELETE FROM vectors WHERE {used}")


def merge_words(connection: apsw.Connection) -> None:
    """Merges every FTS5 index into one segment, which leaves nothing of deleted passages."""
    tables = connection.execute(
        "SELECT name FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL TABLE %fts5%'"
    ).fetchall()
    for (table,) in tables:
        connection.execute(f"INSERT INTO {table} ({table}) VALUES ('optimize')")


def clear(connection: apsw.Connection, index: Index) -> None:
    """Drops the derived data of a corpus; its items stay."""
    corpus = index.corpus
    if index.texts:
        connection.execute(f"INSERT INTO {corpus}_literals ({corpus}_literals) VALUES ('delete-all')")
    connection.execute(f"INSERT INTO {corpus}_words ({corpus}_words) VALUES ('delete-all')")
    connection.execute(f"DELETE FROM {corpus}_passages")
    connection.execute("DELETE FROM vocabulary WHERE space IN (SELECT number FROM spaces WHERE corpus = ?)", (corpus,))
    connection.execute("UPDATE spaces SET passages = 0, lengths = '[]' WHERE corpus = ?", (corpus,))
    connection.execute(f"UPDATE coverage SET epoch = {NEXT_EPOCH}, complete = 1 WHERE corpus = ?", (corpus,))


def fingerprint(connection: apsw.Connection, index: Index) -> str:
    """A hash over passages, vectors, vocabulary and statistics, equal to that of PostgreSQL for the same items."""
    fields = ", ".join(f"p.{field}" for field in index.fields)
    queries = (
        f"SELECT s.space, p.id, p.item_id, p.created_at, {fields}, m.model_id, CAST(v.vector AS BLOB) "
        f"FROM {index.corpus}_passages p JOIN spaces s ON s.number = p.space LEFT JOIN vectors v ON v.hash = p.hash "
        "LEFT JOIN models m ON m.number = v.model WHERE s.corpus = ? ORDER BY 1, 2, m.model_id",
        "SELECT s.space, y.term, y.frequency FROM vocabulary y JOIN spaces s ON s.number = y.space "
        "WHERE s.corpus = ? ORDER BY 1, 2",
        "SELECT space, passages, lengths FROM spaces WHERE corpus = ? AND passages > 0 ORDER BY 1",
    )
    return digest(*(connection.execute(sql, (index.corpus,)) for sql in queries))
