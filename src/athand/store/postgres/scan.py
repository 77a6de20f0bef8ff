"""Exhaustive search: every passage within a cosine of a vector, or containing a text."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from athand.store.contract import Index
from athand.store.postgres.embeddings import Model, matches_checksum, unpack
from athand.store.postgres.sql import Connection, execute, rows
from athand.store.postgres.vector_index import vector_text
from athand.types import Scan, ScanMatch, Vector

# The server rounds the query to float16, so its cosine may be too small by up to 2^-11.
_ROUNDING = 1e-3


def scan_passages(connection: Connection, index: Index, scan: Scan, model: Model | None) -> list[ScanMatch]:
    """The passages that match the scan, in the order of their numbers."""
    vectors = scan.vectors if model else ()
    has_text, values = _text_condition(scan)
    inside = "" if scan.spaces is None else "AND {}.space = ANY(:spaces)"
    passed = f"AND ({scan.filter.where})" if scan.filter.where else ""
    near = _near_condition(len(vectors), ":least") or "FALSE"
    near_with_text = _near_condition(len(vectors), ":least_with_text") or "TRUE"
    values |= {f"asked{at}": vector_text(vector) for at, vector in enumerate(vectors)}
    values |= {"least": scan.least - _ROUNDING, "least_with_text": scan.least_with_text - _ROUNDING}
    values |= {"spaces": list(scan.spaces or ())}
    values |= {**scan.filter.parameters, "model": model.number if model else 0}
    corpus = index.corpus
    found = _rows_without_nested_loops(
        connection,
        "SELECT p.space, p.item_id, t.position, p.id, halfvec_send(v.vector), v.checksum, "
        f"CASE WHEN {has_text} THEN t.content END FROM {corpus}_passages p "
        f"JOIN {corpus} i ON i.space = p.space AND i.id = p.item_id {inside.format('i')} "
        f"JOIN {index.texts} t ON t.space = p.space AND t.id = p.id {inside.format('t')} "
        f"LEFT JOIN {corpus}_vectors v ON v.space = p.space AND v.hash = p.hash AND v.model = :model "
        f"{inside.format('v')} WHERE ({has_text} AND ({near_with_text}) OR {near}) {inside.format('p')} {passed} "
        "ORDER BY p.number",
        values,
    )
    cosines = _cosines([row[4:6] for row in found], vectors)
    return [ScanMatch(row[0], row[1], row[2], row[3], each, row[6]) for row, each in zip(found, cosines, strict=True)]


def _near_condition(vectors: int, least: str) -> str:
    """SQL condition: within the least cosine of one of the vectors, or without a vector if the least is -1."""
    conditions = [f"v.vector <#> :asked{at}::halfvec <= -({least}::float8)" for at in range(vectors)]
    return f"({' OR '.join(conditions)} OR {least}::float8 <= -1)" if conditions else ""


def _rows_without_nested_loops(connection: Connection, sql: str, values: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Runs a query without nested loops, which a server that has no table statistics yet would choose."""
    execute(connection, "SET LOCAL enable_nestloop = off")
    found = rows(connection, sql, values)
    execute(connection, "SET LOCAL enable_nestloop TO DEFAULT")
    return found


def _text_condition(scan: Scan) -> tuple[str, dict[str, Any]]:
    """SQL condition: may contain one of the texts; non-ASCII content always may, as case folding differs."""
    if not scan.texts:
        return "FALSE", {}
    values = {f"text{at}": _like_pattern(text) for at, text in enumerate(scan.texts)}
    likes = [f"lower(t.content) LIKE :{name}" for name in values]
    return f"({' OR '.join(likes)} OR octet_length(t.content) <> char_length(t.content))", dict(values)


def _like_pattern(text: str) -> str:
    """A LIKE pattern for the text, lower case and escaped; a non-ASCII character becomes a wildcard."""
    escaped = "".join(f"\\{each}" if each in "\\%_" else each if each.isascii() else "%" for each in text.lower())
    return f"%{escaped}%"


def _cosines(sent: Sequence[tuple[bytes | None, int]], vectors: Sequence[Vector]) -> list[tuple[float, ...]]:
    """Cosines in double precision, rounded as in SQLite; NaN where a vector is missing or damaged."""
    if not sent or not vectors:
        return [()] * len(sent)
    asked = np.stack(vectors).T.astype(np.float64)
    missing = np.full(len(asked), np.nan)
    known = [None if packed is None else unpack(packed) for packed, _ in sent]
    whole = [
        vector.astype(np.float64) if vector is not None and matches_checksum(vector, checksum) else missing
        for vector, (_, checksum) in zip(known, sent, strict=True)
    ]
    return [tuple(row) for row in (np.stack(whole) @ asked).round(9).tolist()]
