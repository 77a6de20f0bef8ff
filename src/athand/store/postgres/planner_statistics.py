"""Statistics of the planner, made after bulk writes: until autovacuum comes by, tables are planned for as if empty."""

from collections import Counter
from collections.abc import Iterable

from athand.store.contract import Schema
from athand.store.postgres.sql import Connection, execute, value
from athand.store.tables import read_tables

# Passages written before statistics are made for the first time, and by which part a corpus grows until the next time.
_FIRST, _GROWTH = 100, 0.2


class StatisticsPolicy:
    """Decides by the passages that this process has written whether the statistics of a corpus are out of date."""

    def __init__(self) -> None:
        self._written: Counter[str] = Counter()
        self._due_after: dict[str, int] = {}

    def note_written(self, corpus: str, passages: int) -> bool:
        """Adds to what was written since the last statistics; whether new ones are due."""
        self._written[corpus] += passages
        return self._written[corpus] >= self._due_after.get(corpus, _FIRST)

    def note_made(self, corpus: str, passages: int) -> None:
        """The statistics of a corpus were made, when it had so many passages."""
        self._written[corpus] = 0
        self._due_after[corpus] = max(_FIRST, int(passages * _GROWTH))


def make_statistics(connection: Connection, schema: Schema) -> int:
    """Lets the server read a sample of every table of a corpus; returns about how many passages there are."""
    corpus = schema.index.corpus
    execute(connection, f"ANALYZE (SKIP_LOCKED) {', '.join(list_tables_of(schema))}")
    about = value(
        connection, "SELECT reltuples FROM pg_class WHERE oid = to_regclass(:table)", {"table": f"{corpus}_passages"}
    )
    return int(about or 0)


def list_tables_of(schema: Schema) -> Iterable[str]:
    """The tables of a corpus, those of its index among them."""
    derived = [f"{schema.index.corpus}_{name}" for name in ("passages", "vectors", "counts")]
    return [*read_tables([schema]), *derived]
