"""Exhaustive search: every passage within a cosine of a vector, or containing a text."""

import json
from collections.abc import Sequence
from typing import Any

import apsw
import numpy as np

from athand.store.contract import Index
from athand.store.sqlite.candidates import ITEM_JOIN, space_numbers
from athand.store.sqlite.matrix import MatrixView
from athand.store.sqlite.sql import rows
from athand.types import Scan, ScanMatch

_LETTERS = 3  # of a trigram
_MOST_RUNS = 64  # trigrams of a text that are looked up; the caller verifies the match


def scan_passages(connection: apsw.Connection, index: Index, scan: Scan, view: MatrixView | None) -> list[ScanMatch]:
    """The passages that match the scan, in the order of their numbers."""
    spaces = None if scan.spaces is None else space_numbers(connection, index, scan.spaces)
    literal = _find_literal(connection, index, scan, spaces) if scan.texts else set()
    near: set[int] = set()
    if view is not None and scan.vectors:
        near, with_text = view.within_cosine(scan.vectors, (scan.least, scan.least_with_text), spaces)
        if scan.least_with_text > -1:
            literal &= with_text
    passing = _load_passing(connection, index, scan, sorted(literal), spaces, "t.content")
    passing = sorted([*passing, *_load_passing(connection, index, scan, sorted(near - literal), spaces, "NULL")])
    numbers = np.array([row[0] for row in passing], np.int64)
    columns = [] if view is None else [view.cosines(numbers, vector).tolist() for vector in scan.vectors]
    cosines = list(zip(*columns, strict=True)) if columns else [()] * len(passing)
    return [
        ScanMatch(space, item_id, position, id_, each, content)
        for (_, id_, item_id, space, position, content), each in zip(passing, cosines, strict=True)
    ]


def _find_literal(connection: apsw.Connection, index: Index, scan: Scan, spaces: Sequence[int] | None) -> set[int]:
    """The passages that may contain one of the texts; all of them if a text is shorter than a trigram."""
    folded = [text.casefold() for text in scan.texts]
    if any(len(text) < _LETTERS for text in folded):
        inside = "" if spaces is None else "WHERE space IN (SELECT value FROM json_each(?))"
        values = () if spaces is None else (json.dumps(spaces),)
        return {row[0] for row in rows(connection, f"SELECT number FROM {index.corpus}_passages {inside}", values)}
    table = f"{index.corpus}_literals"
    match = " OR ".join(f"({_trigram_expression(text)})" for text in folded)
    return {row[0] for row in rows(connection, f"SELECT rowid FROM {table} WHERE {table} MATCH ?", (match,))}


def _trigram_expression(text: str) -> str:
    """An FTS5 expression for all trigrams of a text, each a quoted string."""
    runs = dict.fromkeys(text[at : at + _LETTERS] for at in range(len(text) - _LETTERS + 1))
    return " AND ".join('"' + run.replace('"', '""') + '"' for run in list(runs)[:_MOST_RUNS])


def _load_passing(
    connection: apsw.Connection,
    index: Index,
    scan: Scan,
    numbers: Sequence[int],
    spaces: Sequence[int] | None,
    content: str,
) -> list[tuple[Any, ...]]:
    """Number, id, item, space, position and content of the passages in the spaces that pass the filter."""
    inside = "" if spaces is None else "AND p.space IN (SELECT value FROM json_each(:inside))"
    item = ITEM_JOIN.format(index.corpus) if scan.filter.where else "JOIN spaces s ON s.number = p.space"
    condition = f"AND ({scan.filter.where})" if scan.filter.where else ""
    return rows(
        connection,
        f"SELECT p.number, p.id, p.item_id, s.space, t.position, {content} FROM json_each(:numbers) n "
        f"CROSS JOIN {index.corpus}_passages p ON p.number = n.value {item} "
        f"JOIN {index.texts} t ON t.space = s.space AND t.id = p.id WHERE 1 = 1 {inside} {condition}",
        {**scan.filter.parameters, "numbers": json.dumps(numbers), "inside": json.dumps(spaces)},
    )
