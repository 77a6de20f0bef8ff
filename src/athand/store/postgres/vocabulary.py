"""The terms of the searched spaces and their BM25 statistics."""

from collections.abc import Sequence
from typing import Any

from athand.store.contract import Index
from athand.store.postgres.counts import PASSAGES, length_of, source
from athand.store.postgres.sql import Connection, rows
from athand.store.query_terms import Lexicon, LexiconCache
from athand.types import Statistics


class PostgresVocabulary:
    """The vocabulary of the searched spaces at the connection's snapshot."""

    def __init__(
        self, connection: Connection, index: Index, spaces: tuple[str, ...] | None, lexicons: LexiconCache
    ) -> None:
        self._scope = (index.corpus, spaces)
        self._connection = connection
        self._index = index
        self._source = source(index.corpus, spaces)
        self._values: dict[str, Any] = {} if spaces is None else {"spaces": list(spaces)}
        self._lexicons = lexicons
        self._totals: dict[str, int] | None = None
        self._last = 0

    @property
    def lexicon(self) -> Lexicon:
        """Every word of the spaces with its term."""
        passages = self._fetch_totals().get(PASSAGES, 0)
        return self._lexicons.get(self._scope, (self._last, passages), self._read_words)

    @property
    def statistics(self) -> Statistics:
        """Number of passages and average length of each field."""
        totals = self._fetch_totals()
        passages = totals.get(PASSAGES, 0)
        lengths = [totals.get(length_of(field), 0) for field in self._index.fields]
        return Statistics(passages, tuple(length / passages if passages else 0.0 for length in lengths))

    def frequencies(self, terms: Sequence[str]) -> dict[str, int]:
        """Document frequencies of the terms that occur."""
        counted = self._count(terms)
        return {term: counted[term] for term in terms if term in counted}

    def with_prefixes(self, prefixes: Sequence[str], limit: int) -> dict[str, dict[str, int]]:
        """The most frequent terms that begin with each of these."""
        if not prefixes:
            return {}
        each = " UNION ALL ".join(
            f"(SELECT {at}, term, sum(frequency) FROM {self._source} WHERE term >= :from{at} AND term < :to{at} "
            "GROUP BY term HAVING sum(frequency) > 0 ORDER BY 3 DESC, 2 LIMIT :limit)"
            for at in range(len(prefixes))
        )
        bounds = {f"from{at}": prefix for at, prefix in enumerate(prefixes)}
        bounds |= {f"to{at}": prefix + chr(0x10FFFF) for at, prefix in enumerate(prefixes)}
        longer: dict[str, dict[str, int]] = {prefix: {} for prefix in prefixes}
        for at, term, count in rows(self._connection, each, {**self._values, **bounds, "limit": limit}):
            longer[prefixes[at]][term] = int(count)
        return longer

    def _read_words(self) -> dict[str, str]:
        """Every word, in its first spelling since it last disappeared, with its term."""
        running = f"SELECT *, sum(frequency) OVER (PARTITION BY term ORDER BY change) AS now FROM {self._source}"
        since = f"SELECT *, max(change) FILTER (WHERE now = 0) OVER (PARTITION BY term) AS gone FROM ({running}) r"
        # As two strings: thousands of rows would take longer to fetch than to split.
        [(terms, words)] = rows(
            self._connection,
            "SELECT string_agg(term, ' '), string_agg(word, ' ') FROM "
            f"(SELECT term, (array_agg(word ORDER BY change))[1] AS word FROM ({since}) s "
            "WHERE term >= '!' AND (gone IS NULL OR change > gone) GROUP BY term) k",
            self._values,
        )
        return dict(zip(words.split(" "), terms.split(" "), strict=True)) if words else {}

    def _fetch_totals(self) -> dict[str, int]:
        return self._count(()) if self._totals is None else self._totals

    def _count(self, terms: Sequence[str]) -> dict[str, int]:
        """The frequencies of terms; the first call fetches the statistics, too."""
        pseudo = [] if self._totals is not None else [PASSAGES, *map(length_of, self._index.fields)]
        found = rows(
            self._connection,
            f"SELECT term, sum(frequency), max(change) FROM {self._source} WHERE term = ANY(:terms) "
            "GROUP BY term HAVING sum(frequency) > 0",
            {**self._values, "terms": [*terms, *pseudo]},
        )
        counts = {term: int(count) for term, count, _ in found}
        if self._totals is None:
            self._totals = counts
            self._last = next((last for term, _, last in found if term == PASSAGES), 0)
        return counts
