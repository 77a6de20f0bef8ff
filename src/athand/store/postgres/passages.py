"""Writes the passages of a corpus and their term counts, in the caller's transaction."""

from collections.abc import Iterable, Sequence
from typing import Any

from athand.store.contract import Index, Passage
from athand.store.postgres import counts
from athand.store.postgres.sql import Connection, execute, insert, rows
from athand.text import analyze, terms_and_words, text_hash


def put(connection: Connection, index: Index, passages: Sequence[Passage]) -> int:
    """Indexes these passages by their terms; returns how many count rows await compaction."""
    words: dict[str, str] = {}
    indexed: list[tuple[Any, ...]] = []
    for each in passages:
        fields = []
        for terms, written in map(analyze, each.fields):
            words.update(written)
            fields.append(terms)
        indexed.append((each.space, each.id, each.item_id, text_hash(each.text), each.created_at, *fields))
    columns = {"space": "text", "id": "text", "item_id": "text", "hash": "bytea", "created_at": "bigint"}
    insert(connection, f"{index.corpus}_passages", columns | dict.fromkeys(index.fields, "text"), indexed)
    changes = counts.count_terms(index, ((row[0], row[5:]) for row in indexed), +1)
    return counts.append(connection, index.corpus, changes, words)


def remove(connection: Connection, index: Index, space: str, item_ids: Iterable[str]) -> int:
    """Removes the passages of these items; returns how many count rows await compaction."""
    gone = rows(
        connection,
        f"DELETE FROM {index.corpus}_passages WHERE space = :space AND item_id = ANY(:ids) "
        f"RETURNING space, {', '.join(index.fields)}",
        {"space": space, "ids": list(item_ids)},
    )
    changes = counts.count_terms(index, ((row[0], row[1:]) for row in gone), -1)
    return counts.append(connection, index.corpus, changes, {})


def forget(connection: Connection, corpus: str, passage: Passage) -> None:
    """Deletes the vectors of a text that no passage has any more, and its spelling of words that others have too."""
    values = {"space": passage.space, "hash": text_hash(passage.text)}
    execute(
        connection,
        f"DELETE FROM {corpus}_vectors WHERE space = :space AND hash = :hash AND NOT EXISTS "
        f"(SELECT 1 FROM {corpus}_passages p WHERE p.space = :space AND p.hash = :hash)",
        values,
    )
    pairs = sorted({pair for field in passage.fields for pair in terms_and_words(field)})
    execute(
        connection,
        f"UPDATE {corpus}_counts c SET word = c.term FROM unnest(:terms::text[], :words::text[]) AS n (term, word) "
        "WHERE c.space IN (:space, :everywhere) AND c.term = n.term AND c.word = n.word AND c.word <> c.term",
        {
            "space": passage.space,
            "everywhere": counts.ALL_SPACES,
            "terms": [term for term, _ in pairs],
            "words": [word for _, word in pairs],
        },
    )
