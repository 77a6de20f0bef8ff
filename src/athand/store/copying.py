"""Moving tables from one store to another, whatever their engines: batch by batch, and on from where it was cut off."""

from collections.abc import Callable, Iterator, Sequence

from athand.errors import Conflict, DataError
from athand.store.base import Row, Snapshot, Store, Transaction
from athand.store.fingerprint import digest
from athand.store.tables import KEYS, columns

BATCH = 500
_MARK = "copied_from"  # in the target's settings, until the copy is complete

Replaced = Callable[[Transaction, Sequence[Row], Sequence[Row]], None]  # told the rows before and after, keys first


def begin(source: Snapshot, target: Store) -> None:
    """Mark the target as a copy that is not complete; one that holds anything else is refused."""
    [(origin,)] = source.rows("SELECT value FROM settings WHERE name = 'store_id'")
    with target.transaction() as transaction:
        if transaction.rows("SELECT value FROM settings WHERE name = 'store_id'") == [(origin,)]:
            raise Conflict(f"{target.location} is the store to be copied. Give another one.")
        marks = transaction.rows("SELECT value FROM settings WHERE name = :name", {"name": _MARK})
        if marks == [(origin,)]:
            return
        if marks or any(transaction.rows(f"SELECT 1 FROM {table} LIMIT 1") for table in KEYS):
            raise Conflict(f"{target.location} is not empty. Nothing was copied; give a store that is new.")
        transaction.execute(
            "INSERT INTO settings (name, value) VALUES (:name, :value)", {"name": _MARK, "value": origin}
        )


def finish(target: Store) -> None:
    """The copy is complete: from now on it is a store like any other."""
    with target.transaction() as transaction:
        transaction.execute("DELETE FROM settings WHERE name = :name", {"name": _MARK})


def count(snapshot: Snapshot) -> int:
    """How many rows there are to copy."""
    return sum(int(snapshot.rows(f"SELECT count(*) FROM {table}")[0][0]) for table in KEYS)


def copy_table(
    source: Snapshot, target: Store, table: str, replaced: Replaced, progress: Callable[[int], None]
) -> None:
    """Make the target's table equal to the source's; what is there already is not written again."""
    after: Row | None = None
    more = True
    while more:
        rows = _between(source, table, after, None, BATCH)
        more = len(rows) == BATCH
        last = _key(table, rows[-1]) if more else None  # the last batch also stands for all that lies behind it
        with target.transaction() as transaction:
            there = _between(transaction, table, after, last)
            if there != rows:
                _replace(transaction, table, after, last, rows)
                replaced(transaction, there, rows)
        after = last
        progress(len(rows))


def verify(source: Snapshot, target: Snapshot) -> dict[str, int]:
    """Compare every table by count and hash; the counts."""
    counts = {}
    for table in KEYS:
        (ours, our_hash), (theirs, their_hash) = (_summary(snapshot, table) for snapshot in (source, target))
        if our_hash != their_hash:
            raise DataError(
                f"The copy differs: of {table} there are {ours:,} here and {theirs:,} there, or they are not the same. "
                "Is somebody writing there? Copy again: what is right already is not copied twice."
            )
        counts[table] = ours
    return counts


def _summary(snapshot: Snapshot, table: str) -> tuple[int, str]:
    """How many rows, and a hash over them."""
    rows = 0

    def counted() -> Iterator[Row]:
        nonlocal rows
        after: Row | None = None
        while batch := _between(snapshot, table, after, None, BATCH):
            rows += len(batch)
            yield from batch
            after = _key(table, batch[-1])

    hashed = digest(counted())
    return rows, hashed


def _names(table: str) -> list[str]:
    """All columns, those of the key first."""
    return list(dict.fromkeys((*KEYS[table], *columns(table))))


def _key(table: str, row: Row) -> Row:
    return row[: len(KEYS[table])]


def _range(table: str, after: Row | None, last: Row | None) -> tuple[str, dict[str, object]]:
    """The condition that a key lies behind one and not behind another."""
    key = KEYS[table]
    where: list[str] = ["1 = 1"]
    values: dict[str, object] = {}
    for name, sign, place in (("after", ">", after), ("last", "<=", last)):
        if place is not None:
            where.append(f"({', '.join(key)}) {sign} ({', '.join(f':{name}{at}' for at in range(len(key)))})")
            values |= {f"{name}{at}": value for at, value in enumerate(place)}
    return " AND ".join(where), values


def _between(
    snapshot: Snapshot, table: str, after: Row | None, last: Row | None, limit: int | None = None
) -> list[Row]:
    where, values = _range(table, after, last)
    rest = f"ORDER BY {', '.join(KEYS[table])}" + (f" LIMIT {limit}" if limit else "")
    return snapshot.rows(f"SELECT {', '.join(_names(table))} FROM {table} WHERE {where} {rest}", values)


def _replace(transaction: Transaction, table: str, after: Row | None, last: Row | None, rows: Sequence[Row]) -> None:
    """Put these rows in the place of what is there between the keys."""
    where, values = _range(table, after, last)
    transaction.execute(f"DELETE FROM {table} WHERE {where}", values)
    names = _names(table)
    marks = ", ".join(f":{name}" for name in names)
    insert = f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})"
    for row in rows:
        transaction.execute(insert, dict(zip(names, row, strict=True)))
