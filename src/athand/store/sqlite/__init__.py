from athand.store.sqlite.engine import SqliteStore

__all__ = ["SqliteStore"]
