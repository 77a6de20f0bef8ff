"""Where everything is kept: SQLite on one machine, PostgreSQL beyond."""

from recollect.errors import InvalidInput
from recollect.store.base import Index, Passage, Row, Snapshot, Store, Transaction
from recollect.store.ids import new_id
from recollect.store.times import to_datetime, to_microseconds

__all__ = [
    "Index",
    "Passage",
    "Row",
    "Snapshot",
    "Store",
    "Transaction",
    "new_id",
    "open_store",
    "to_datetime",
    "to_microseconds",
]


def open_store(location: str) -> Store:
    """The store at a path or `:memory:`; the engine is imported here, so that others need not be installed."""
    if "://" in location:
        raise InvalidInput(f"No store engine for {location.split('://')[0]}://. Give a file path, or :memory:.")
    from recollect.store.sqlite import SqliteStore

    return SqliteStore(location)
