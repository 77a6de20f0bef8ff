"""Writes the passages of a corpus, their words and term statistics, in the caller's transaction."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import apsw

from athand.store.contract import Index, Passage
from athand.store.spelling import SPELLING_PASSAGES
from athand.store.sqlite.sql import rows, value
from athand.text import analyze, terms_and_words, text_hash

ALL_SPACES = ""


def space_number(connection: apsw.Connection, corpus: str, space: str) -> int:
    """The number of a space, assigned on first use."""
    connection.execute("INSERT OR IGNORE INTO spaces (corpus, space) VALUES (?, ?)", (corpus, space))
    number: int = value(connection, "SELECT number FROM spaces WHERE corpus = ? AND space = ?", (corpus, space))
    return number


def put(connection: apsw.Connection, index: Index, passages: Sequence[Passage]) -> None:
    """Indexes these passages by their terms."""
    numbers = {space: space_number(connection, index.corpus, space) for space in {each.space for each in passages}}
    table = f"{index.corpus}_passages"
    last = value(connection, "SELECT seq FROM sqlite_sequence WHERE name = ?", (table,)) or 0
    words: dict[str, str] = {}
    indexed: list[tuple[Any, ...]] = []
    for number, each in enumerate(passages, last + 1):
        fields = []
        for terms, written in map(analyze, each.fields):
            words.update(written)
            fields.append(terms)
        space, address = numbers[each.space], text_hash(each.text)
        indexed.append((number, space, each.id, each.item_id, address, each.created_at, *fields))
    columns = ", ".join(index.fields)
    marks = ", ".join("?" * len(index.fields))
    connection.executemany(
        f"INSERT INTO {table} (number, space, id, item_id, hash, created_at, {columns}) "
        f"VALUES (?, ?, ?, ?, ?, ?, {marks})",
        indexed,
    )
    connection.executemany(
        f"INSERT INTO {index.corpus}_words (rowid, space, {columns}) VALUES (?, ?, {marks})",
        ((row[0], row[1], *row[6:]) for row in indexed),
    )
    if index.texts:
        contents = ((row[0], each.content.casefold()) for row, each in zip(indexed, passages, strict=True))
        connection.executemany(f"INSERT INTO {index.corpus}_literals (rowid, content) VALUES (?, ?)", contents)
    _count(connection, index, [(row[1], row[6:]) for row in indexed], +1, words)


def remove(connection: apsw.Connection, index: Index, space: str, item_ids: Iterable[str]) -> list[int]:
    """Removes the passages of these items and returns their numbers, for the vector files."""
    columns = ", ".join(index.fields)
    found = rows(
        connection,
        f"SELECT number, space, {columns} FROM {index.corpus}_passages WHERE item_id IN "
        "(SELECT value FROM json_each(?)) AND space = (SELECT number FROM spaces WHERE corpus = ? AND space = ?)",
        (json.dumps(list(item_ids)), index.corpus, space),
    )
    marks = ", ".join("?" * len(index.fields))
    words = f"{index.corpus}_words"
    # An external-content FTS5 table needs the indexed words to delete them.
    connection.executemany(
        f"INSERT INTO {words} ({words}, rowid, space, {columns}) VALUES ('delete', ?, ?, {marks})",
        ((row[0], row[1], *row[2:]) for row in found),
    )
    if index.texts:
        _remove_literals(connection, index, space, [row[0] for row in found])
    connection.executemany(f"DELETE FROM {index.corpus}_passages WHERE number = ?", ((row[0],) for row in found))
    _count(connection, index, [(row[1], row[2:]) for row in found], -1, {})
    return [row[0] for row in found]


def _remove_literals(connection: apsw.Connection, index: Index, space: str, numbers: Sequence[int]) -> None:
    """Removes passages from the trigram index, which needs their texts: so texts are deleted after passages."""
    table = f"{index.corpus}_literals"
    written = rows(
        connection,
        f"SELECT p.number, t.content FROM {index.corpus}_passages p "
        f"JOIN {index.texts} t ON t.space = ? AND t.id = p.id WHERE p.number IN (SELECT value FROM json_each(?))",
        (space, json.dumps(numbers)),
    )
    connection.executemany(
        f"INSERT INTO {table} ({table}, rowid, content) VALUES ('delete', ?, ?)",
        ((number, content.casefold()) for number, content in written),
    )


def forget_vectors(connection: apsw.Connection, corpora: Iterable[str], passages: Iterable[Passage]) -> None:
    """Deletes the vectors of these texts, where no passage has the text any more."""
    used = " UNION ALL ".join(f"SELECT 1 FROM {each}_passages WHERE hash = ?1" for each in corpora)
    hashes = {text_hash(passage.text) for passage in passages}
    connection.executemany(f"DELETE FROM vectors WHERE hash = ?1 AND NOT EXISTS ({used})", ((each,) for each in hashes))


def forget_words(connection: apsw.Connection, index: Index, passages: Iterable[Passage]) -> dict[int, list[str]]:
    """Replaces the spelling of words by their stem where it may be that of these passages; the terms by space."""
    written = {
        (passage.space, *pair) for passage in passages for field in passage.fields for pair in terms_and_words(field)
    }
    terms: dict[int, list[str]] = defaultdict(list)
    for space, term, word in written:
        changed = rows(
            connection,
            "UPDATE vocabulary SET word = term WHERE term = ? AND word = ? AND word <> term "
            "AND space IN (SELECT number FROM spaces WHERE corpus = ? AND space IN (?, '')) RETURNING space",
            (term, word, index.corpus, space),
        )
        for (number,) in changed:
            terms[number].append(term)
    return terms


def find_items(connection: apsw.Connection, index: Index, space: int, terms: Sequence[str]) -> list[tuple[str, str]]:
    """Some items of a space, by number, that have any of these terms."""
    inside = f"{match_any([str(space)], 'space')} AND "
    everywhere = space_number(connection, index.corpus, ALL_SPACES)
    found = rows(
        connection,
        f"SELECT DISTINCT s.space, p.item_id FROM (SELECT rowid AS number FROM {index.corpus}_words "
        f"WHERE {index.corpus}_words MATCH ? ORDER BY rowid LIMIT {SPELLING_PASSAGES}) w "
        f"CROSS JOIN {index.corpus}_passages p USING (number) JOIN spaces s ON s.number = p.space",
        (f"{'' if space == everywhere else inside}{match_any(terms, '-space')}",),
    )
    return [(name, item_id) for name, item_id in found]


def spell(connection: apsw.Connection, space: int, words: Mapping[str, str]) -> None:
    """Writes terms of a space as these words, see `forget_words`."""
    connection.executemany(
        "UPDATE vocabulary SET word = ? WHERE space = ? AND term = ? AND word = term",
        ((word, space, term) for term, word in words.items()),
    )


def match_any(terms: Sequence[str], columns: str) -> str:
    """An FTS5 expression for any of these terms, each a quoted string."""
    quoted = " OR ".join('"' + term.replace('"', '""') + '"' for term in terms)
    return f"{columns} : ({quoted})"


def _count(
    connection: apsw.Connection,
    index: Index,
    rows: Sequence[tuple[int, Sequence[str]]],
    sign: int,
    words: dict[str, str],
) -> None:
    """Adds (+1) or removes (-1) passages in the statistics of their spaces and of the whole corpus."""
    everywhere = space_number(connection, index.corpus, ALL_SPACES)
    frequencies: dict[int, Counter[str]] = defaultdict(Counter)
    passages: Counter[int] = Counter()
    lengths: dict[int, list[int]] = defaultdict(lambda: [0] * len(index.fields))
    for space, fields in rows:
        distinct = set("".join(fields).split())
        for number in (space, everywhere):
            frequencies[number].update(distinct)
            passages[number] += 1
            lengths[number] = [before + len(field) for before, field in zip(lengths[number], fields, strict=True)]
    for number, counted in frequencies.items():
        _count_terms(connection, number, counted, sign, words)
    for number, count in passages.items():
        _count_passages(connection, number, sign * count, [sign * length for length in lengths[number]])


def _count_terms(
    connection: apsw.Connection, space: int, frequencies: Counter[str], sign: int, words: dict[str, str]
) -> None:
    connection.executemany(
        "INSERT INTO vocabulary (space, term, word, frequency) VALUES (?1, ?2, ?3, ?4) "
        "ON CONFLICT (space, term) DO UPDATE SET frequency = frequency + ?4",
        ((space, term, words.get(term, term), sign * count) for term, count in sorted(frequencies.items())),
    )
    if sign < 0:
        connection.executemany(
            "DELETE FROM vocabulary WHERE space = ? AND term = ? AND frequency <= 0",
            ((space, term) for term in frequencies),
        )


def _count_passages(connection: apsw.Connection, space: int, passages: int, lengths: Sequence[int]) -> None:
    before = json.loads(value(connection, "SELECT lengths FROM spaces WHERE number = ?", (space,)))
    total = [old + new for old, new in zip(before or [0] * len(lengths), lengths, strict=True)]
    connection.execute(
        "UPDATE spaces SET passages = passages + ?, lengths = ? WHERE number = ?", (passages, json.dumps(total), space)
    )
