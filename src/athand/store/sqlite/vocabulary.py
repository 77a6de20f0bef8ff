"""The terms of the searched spaces."""

import json
from collections.abc import Callable, Sequence
from functools import cache

import apsw

from athand.bounded_cache import BoundedCache
from athand.store.query_terms import Lexicon
from athand.store.sqlite.sql import rows, value

_CACHE_SIZE = 8


class VocabularyCache:
    """Caches the word lists of the latest scopes: correcting a typo needs every word, and reading them is slow."""

    def __init__(self) -> None:
        self._cached: BoundedCache[tuple[str, tuple[int, ...]], Lexicon] = BoundedCache(_CACHE_SIZE)

    def of(self, connection: apsw.Connection, corpus: str, spaces: Sequence[int]) -> "SpaceVocabulary":
        """The vocabulary of these spaces at the connection's snapshot."""
        return SpaceVocabulary(connection, spaces, cache(lambda: self._words(connection, corpus, tuple(spaces))))

    def _words(self, connection: apsw.Connection, corpus: str, spaces: tuple[int, ...]) -> Lexicon:
        state = _state(connection, corpus)
        words = self._cached.get((corpus, spaces))
        if words is None or words.state != state:
            words = _read(connection, spaces, state)
            self._cached.put((corpus, spaces), words)
        return words


class SpaceVocabulary:
    """The vocabulary of the searched spaces."""

    def __init__(self, connection: apsw.Connection, spaces: Sequence[int], words: Callable[[], Lexicon]) -> None:
        self._connection = connection
        self._spaces = json.dumps(spaces)
        self._words = words

    def frequencies(self, terms: Sequence[str]) -> dict[str, int]:
        """Document frequencies of the terms that occur."""
        return self._count("term IN (SELECT value FROM json_each(?2)) GROUP BY term", json.dumps(terms))

    def with_prefixes(self, prefixes: Sequence[str], limit: int) -> dict[str, dict[str, int]]:
        """The most frequent terms with each prefix."""
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

    def of_length(self, shortest: int, longest: int) -> list[str]:
        """The words of these lengths, as they were written."""
        return self._words().of_length(shortest, longest)

    def stems_of(self, words: Sequence[str]) -> list[str]:
        """The terms under which these words are indexed."""
        return self._words().stems_of(words)

    def _count(self, condition: str, *values: object) -> dict[str, int]:
        found = rows(
            self._connection,
            "SELECT term, sum(frequency) FROM vocabulary "
            f"WHERE space IN (SELECT value FROM json_each(?1)) AND {condition}",
            (self._spaces, *values),
        )
        return {term: count for term, count in found}


def _state(connection: apsw.Connection, corpus: str) -> tuple[int, int]:
    """A version of the vocabulary: the last passage number, which only grows, and the number of passages."""
    last = value(connection, "SELECT seq FROM sqlite_sequence WHERE name = ?", (f"{corpus}_passages",))
    count = value(connection, "SELECT passages FROM spaces WHERE corpus = ? AND space = ''", (corpus,))
    return last or 0, count or 0


def _read(connection: apsw.Connection, spaces: Sequence[int], state: tuple[int, int]) -> Lexicon:
    # As two strings: thousands of rows would take longer to fetch than to split.
    [(terms, words)] = rows(
        connection,
        "SELECT group_concat(term, ' '), group_concat(word, ' ') FROM vocabulary "
        "WHERE space IN (SELECT value FROM json_each(?))",
        (json.dumps(spaces),),
    )
    stems = dict(zip((words or "").split(" "), (terms or "").split(" "), strict=True)) if words else {}
    return Lexicon.from_stems(state, stems)
