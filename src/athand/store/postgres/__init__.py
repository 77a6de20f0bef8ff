from athand.store.postgres.engine import PostgresStore

__all__ = ["PostgresStore"]
