"""The SQLite engine: one file, many threads and processes."""

from athand.store.sqlite.engine import SqliteStore

__all__ = ["SqliteStore"]
