"""The database: SQLite in one file, or PostgreSQL on a server."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from athand.distribution import install_hint
from athand.errors import Conflict, InvalidInput, StoreError, Unavailable
from athand.store.contract import Index, Passage, Row, Schema, Snapshot, Store, Transaction, holds_json
from athand.store.values import check_types, new_id, one_of, select_in, to_datetime, to_datetimes, to_microseconds

__all__ = [
    "Index",
    "Passage",
    "Row",
    "Schema",
    "Snapshot",
    "Store",
    "Transaction",
    "check_target",
    "check_types",
    "holds_json",
    "new_id",
    "one_of",
    "open_store",
    "restore_store",
    "select_in",
    "to_datetime",
    "to_datetimes",
    "to_microseconds",
]


def open_store(location: str, schemas: Sequence[Schema]) -> Store:
    """The store at a path, `:memory:` or an address, with the tables of these corpora.

    The engine is imported here, so others need not be installed.
    """
    if location.startswith(("postgresql://", "postgres://")):
        return _open_postgres(location, schemas)
    if "://" in location:
        engine = location.split("://")[0]
        raise InvalidInput(f"No store engine for {engine}://. Give a file path, :memory:, or a postgresql:// address.")
    from athand.store.sqlite import SqliteStore

    return SqliteStore(location, schemas)


def restore_store(location: str, backup: Path, now: datetime) -> Path | None:
    """Replaces a SQLite store by a backup; returns where the previous file was moved, if there was one."""
    if "://" in location or location == ":memory:":
        raise InvalidInput(
            "Only a SQLite file can be restored. "
            "Restore a dump of PostgreSQL with: pg_restore --clean --dbname=ADDRESS FILE"
        )
    from athand.store.sqlite.backup import restore

    place = Path(location).expanduser().absolute()
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    return restore(place, backup, now)


def check_target(store: Store, target: Path) -> None:
    """Raises if writing `target` would overwrite the store itself, a folder or a device."""
    if target.exists() and not target.is_file():
        raise StoreError(f"{target} cannot be written: it is there, and is no file. Choose another path.")
    place = Path(store.location).resolve()
    own = [file for file in (place, Path(f"{place}-wal"), Path(f"{place}-shm")) if file.exists()]
    if target.exists() and any(target.samefile(file) for file in own):
        raise Conflict(f"{target} is the store itself. Give another path.")


def _open_postgres(location: str, schemas: Sequence[Schema]) -> Store:
    try:
        from athand.store.postgres import PostgresStore
    except ModuleNotFoundError as error:
        if error.name not in ("psycopg", "psycopg_pool"):
            raise
        raise Unavailable(f"PostgreSQL needs another package. Install it with: {install_hint('postgres')}") from error
    return PostgresStore(location, schemas)
