"""Where everything is kept: SQLite on one machine, PostgreSQL beyond."""

from recollect.errors import InvalidInput, Unavailable
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
    """The store at a path, `:memory:` or an address; the engine is imported here, so others need not be installed."""
    if location.startswith(("postgresql://", "postgres://")):
        return _open_postgres(location)
    if "://" in location:
        engine = location.split("://")[0]
        raise InvalidInput(f"No store engine for {engine}://. Give a file path, :memory:, or a postgresql:// address.")
    from recollect.store.sqlite import SqliteStore

    return SqliteStore(location)


def _open_postgres(location: str) -> Store:
    try:
        from recollect.store.postgres import PostgresStore
    except ModuleNotFoundError as error:
        if error.name not in ("psycopg", "psycopg_pool"):
            raise
        raise Unavailable(
            "PostgreSQL needs another package. Install it with: pip install 'recollect[postgres]'"
        ) from error
    return PostgresStore(location)
