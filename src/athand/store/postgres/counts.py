"""Term statistics of a space for BM25 and typo correction: passages, field lengths, document frequencies.

Writes append their changes as rows and reads sum them up, so no row is updated by every writer, and writers of one
space do not wait for those of another. Now and then the changes are compacted into sums (column `compacted`).
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any

from athand.store.contract import Index
from athand.store.postgres.sql import Connection, execute, insert, rows, value

ALL_SPACES = ""
# Pseudo-terms begin with a blank, which no term has: the number of passages, and the total length of each field.
PASSAGES = " passages"
# About this many changes are compacted at once.
COMPACTED_ROWS = 20_000
# A write of this many rows is stored as sums, which need no compaction.
PRESUMMED_ROWS = 2_000
_SUMS = 8  # more sums of one term are merged
_COMPACT_LOCK = 0x4154_4801  # advisory lock: one process compacts at a time

TermChanges = Mapping[str, Counter[str]]  # space → term → change


def length_of(field: str) -> str:
    """The pseudo-term of the total length of a field."""
    return f" {field}"


def count_terms(index: Index, passages: Iterable[tuple[str, Sequence[str]]], sign: int) -> TermChanges:
    """The changes that adding (+1) or removing (-1) passages (space, terms of each field) makes to the counts."""
    changes: dict[str, Counter[str]] = defaultdict(Counter)
    for space, fields in passages:
        here = changes[space]
        for term in {*"".join(fields).split(), PASSAGES}:
            here[term] += sign
        for name, field in zip(index.fields, fields, strict=True):
            here[length_of(name)] += sign * len(field)
    return changes


def append(connection: Connection, corpus: str, changes: TermChanges, words: Mapping[str, str]) -> int:
    """Appends the changes; returns how many rows await compaction."""
    new = _to_rows(changes, words)
    if len(new) < PRESUMMED_ROWS:
        _insert(connection, corpus, new, compacted=False)
        return len(new)
    everywhere: Counter[str] = Counter()
    for terms in changes.values():
        everywhere.update(terms)
    _insert(connection, corpus, [*new, *_to_rows({ALL_SPACES: everywhere}, words)], compacted=True)
    return 0


def _to_rows(changes: TermChanges, words: Mapping[str, str]) -> list[tuple[str, str, str, int]]:
    return [
        (space, term, words.get(term, term), change)
        for space, terms in changes.items()
        for term, change in sorted(terms.items())
        if change
    ]


def _insert(connection: Connection, corpus: str, new: Sequence[tuple[str, str, str, int]], *, compacted: bool) -> None:
    columns = {"space": "text", "term": "text", "word": "text", "frequency": "bigint", "compacted": "boolean"}
    insert(connection, f"{corpus}_counts", columns, [(*row, compacted) for row in new])


def should_compact(changed: int, chance: bytes) -> bool:
    """Random decision with p = changed / COMPACTED_ROWS, whichever processes write."""
    return int.from_bytes(chance[:4], "big") % COMPACTED_ROWS < changed


def compact(connection: Connection, corpus: str) -> None:
    """Replaces the changes since the last compaction by sums, unless another process is doing it."""
    if not value(connection, "SELECT pg_try_advisory_xact_lock(:lock)", {"lock": _COMPACT_LOCK}):
        return
    columns = "space, term, word, frequency, change"
    fresh = rows(connection, f"DELETE FROM {corpus}_counts WHERE NOT compacted RETURNING {columns}")
    touched: dict[str, set[str]] = defaultdict(set)
    for space, term, *_ in fresh:
        touched[space].add(term)
        touched[ALL_SPACES].add(term)
    older = [
        row
        for space, terms in touched.items()
        for row in rows(
            connection,
            f"DELETE FROM {corpus}_counts WHERE compacted AND space = :space AND term = ANY(:terms) "
            f"RETURNING {columns}",
            {"space": space, "terms": list(terms)},
        )
    ]
    everywhere = [(ALL_SPACES, *row[1:]) for row in fresh]
    _insert(connection, corpus, _sums([*older, *fresh, *everywhere]), compacted=True)


def merge_sums(connection: Connection, corpus: str) -> None:
    """Merges the sums of each term where bulk writes left many; needs the lock of all writers."""
    table = f"{corpus}_counts"
    crowded = rows(
        connection,
        f"SELECT space FROM {table} WHERE term = :term AND compacted GROUP BY space HAVING count(*) > :most",
        {"term": PASSAGES, "most": _SUMS},
    )
    for (space,) in crowded:
        here = {"space": space, "last": value(connection, f"SELECT max(change) FROM {table}")}
        execute(
            connection,
            f"INSERT INTO {table} (space, term, word, frequency, compacted) "
            "SELECT space, term, (array_agg(word ORDER BY change))[1], sum(frequency), TRUE "
            f"FROM {table} WHERE space = :space AND compacted GROUP BY space, term HAVING sum(frequency) <> 0",
            here,
        )
        execute(connection, f"DELETE FROM {table} WHERE space = :space AND compacted AND change <= :last", here)


def _sums(changes: Iterable[tuple[Any, ...]]) -> list[tuple[str, str, str, int]]:
    """One row per term of a space that still occurs, with the first spelling since it last disappeared."""
    frequencies: Counter[tuple[str, str]] = Counter()
    words: dict[tuple[str, str], str] = {}
    for space, term, word, frequency, _ in sorted(changes, key=itemgetter(4)):
        frequencies[space, term] += frequency
        words.setdefault((space, term), word)
        if not frequencies[space, term]:
            del words[space, term]
    return [(space, term, words[space, term], count) for (space, term), count in frequencies.items() if count]


def source(corpus: str, spaces: Sequence[str] | None) -> str:
    """SQL source of the rows to sum up: those of these spaces, or of all."""
    searched = f"space = '{ALL_SPACES}' OR NOT compacted" if spaces is None else "space = ANY(:spaces)"
    return f"(SELECT term, word, change, frequency FROM {corpus}_counts WHERE {searched}) c"
