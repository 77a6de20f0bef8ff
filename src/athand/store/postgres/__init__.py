"""The PostgreSQL engine, with pgvector, and Citus where it is spread over machines."""

from athand.store.postgres.engine import PostgresStore

__all__ = ["PostgresStore"]
