"""The terms of the searched spaces."""

import json
from collections.abc import Sequence
from functools import cached_property

import apsw

from athand.store.query_terms import Lexicon, LexiconCache
from athand.store.sqlite.sql import rows, value


class SqliteVocabulary:
    """The vocabulary of the searched spaces at the connection's snapshot."""

    def __init__(self, connection: apsw.Connection, corpus: str, spaces: Sequence[int], lexicons: LexiconCache) -> None:
        self._connection = connection
        self._scope = (corpus, tuple(spaces))
        self._spaces = json.dumps(spaces)
        self._lexicons = lexicons

    @cached_property
    def lexicon(self) -> Lexicon:
        """Every word of the spaces with its term."""
        return self._lexicons.get(self._scope, self._state(), self._read_words)

    def frequencies(self, terms: Sequence[str]) -> dict[str, int]:
        """Document frequencies of the terms that occur."""
        found = rows(
            self._connection,
            "SELECT term, sum(frequency) FROM vocabulary WHERE space IN (SELECT value FROM json_each(?1)) "
            "AND term IN (SELECT value FROM json_each(?2)) GROUP BY term",
            (self._spaces, json.dumps(terms)),
        )
        return {term: count for term, count in found}

    def with_prefixes(self, prefixes: Sequence[str], limit: int) -> dict[str, dict[str, int]]:
        """The most frequent terms that begin with each of these."""
        found = rows(
            self._connection,
            "SELECT p.value, v.term, sum(v.frequency) FROM json_each(?2) p CROSS JOIN vocabulary v "
            "ON v.space IN (SELECT value FROM json_each(?1)) AND v.term >= p.value "
            "AND v.term < p.value || char(1114111) GROUP BY p.value, v.term ORDER BY 3 DESC, 2",
            (self._spaces, json.dumps(prefixes)),
        )
        longer: dict[str, dict[str, int]] = {prefix: {} for prefix in prefixes}
        for prefix, term, count in found:
            if len(longer[prefix]) < limit:
                longer[prefix][term] = count
        return longer

    def _state(self) -> tuple[int, int]:
        """A version of the vocabulary: the last passage number, which only grows, and the number of passages."""
        corpus, _ = self._scope
        last = value(self._connection, "SELECT seq FROM sqlite_sequence WHERE name = ?", (f"{corpus}_passages",))
        count = value(self._connection, "SELECT passages FROM spaces WHERE corpus = ? AND space = ''", (corpus,))
        return last or 0, count or 0

    def _read_words(self) -> dict[str, str]:
        """Every word with its term."""
        # As two strings: thousands of rows would take longer to fetch than to split.
        [(terms, words)] = rows(
            self._connection,
            "SELECT group_concat(term, ' '), group_concat(word, ' ') FROM vocabulary "
            "WHERE space IN (SELECT value FROM json_each(?))",
            (self._spaces,),
        )
        return dict(zip(words.split(" "), (terms or "").split(" "), strict=True)) if words else {}
