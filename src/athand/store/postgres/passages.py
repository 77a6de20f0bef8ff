"""Writes the passages of a corpus and their term counts, in the caller's transaction."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from athand.store.contract import Index, Passage
from athand.store.postgres import counts
from athand.store.postgres.sql import Connection, execute, insert, rows
from athand.store.spelling import SPELLING_PASSAGES
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


def forget_vectors(connection: Connection, corpus: str, passages: Sequence[Passage]) -> None:
    """Deletes the vectors of these texts, where no passage of the space has the text any more."""
    for space in sorted({passage.space for passage in passages}):
        hashes = sorted({text_hash(passage.text) for passage in passages if passage.space == space})
        execute(
            connection,
            f"DELETE FROM {corpus}_vectors v WHERE v.space = :space AND v.hash = ANY(:hashes) AND NOT EXISTS "
            f"(SELECT 1 FROM {corpus}_passages p WHERE p.space = :space AND p.hash = v.hash)",
            {"space": space, "hashes": hashes},
        )


def forget_words(connection: Connection, corpus: str, passages: Sequence[Passage]) -> dict[str, list[str]]:
    """Replaces the spelling of words by their stem where it may be that of these passages; the terms by space."""
    written = {
        (space, *pair)
        for passage in passages
        for field in passage.fields
        for pair in terms_and_words(field)
        for space in (passage.space, counts.ALL_SPACES)
    }
    terms: dict[str, list[str]] = defaultdict(list)
    for space in sorted({space for space, *_ in written}):
        pairs = sorted(pair for other, *pair in written if other == space)
        changed = rows(
            connection,
            f"UPDATE {corpus}_counts c SET word = c.term FROM unnest(:terms::text[], :words::text[]) AS n (term, word) "
            "WHERE c.space = :space AND c.term = n.term AND c.word = n.word AND c.word <> c.term RETURNING c.term",
            {"space": space, "terms": [term for term, _ in pairs], "words": [word for _, word in pairs]},
        )
        if found := sorted({term for (term,) in changed}):
            terms[space] = found
    return terms


def find_items(connection: Connection, corpus: str, space: str, terms: Sequence[str]) -> list[tuple[str, str]]:
    """Some items of a space, by number, that have any of these terms."""
    found = rows(
        connection,
        f"SELECT p.space, p.item_id FROM {corpus}_passages p WHERE p.words && :terms::text[] "
        f"{'' if space == counts.ALL_SPACES else 'AND p.space = :space'} ORDER BY p.number LIMIT {SPELLING_PASSAGES}",
        {"terms": list(terms), "space": space},
    )
    return [(name, item_id) for name, item_id in dict.fromkeys(found)]


def spell(connection: Connection, corpus: str, space: str, words: Mapping[str, str]) -> None:
    """Writes terms of a space as these words, see `forget_words`."""
    execute(
        connection,
        f"UPDATE {corpus}_counts c SET word = n.word FROM unnest(:terms::text[], :words::text[]) AS n (term, word) "
        "WHERE c.space = :space AND c.term = n.term AND c.word = c.term",
        {"space": space, "terms": list(words), "words": list(words.values())},
    )
