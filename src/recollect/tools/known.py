"""What is remembered of a catalogue between searches: the names of its tools, and how near they are to each other."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from recollect.store import Row, Snapshot
from recollect.text import split_identifier, text_hash
from recollect.tools import records
from recollect.tools.scoring import INDEX
from recollect.types import Candidate, Query

_SAMPLE = 48  # tools whose nearest neighbours are looked for
_NEIGHBOURS = 8
_FEW = 5  # tools say little about a catalogue: until there are more, this is believed of it too
_USUAL = 0.3
_CACHED = 16  # catalogues, or sets of them
_MOST_WORDS = 6  # of a server's name that is recognised, and of a tool's that may be misspelt
_SHORTEST = 4  # letters of a name that may be misspelt

Place = tuple[str, str]  # a catalogue, and a tool in it


@dataclass(frozen=True, slots=True)
class Known:
    """The tools of some catalogues: where they are, what they are called, and how near neighbours are."""

    places: Sequence[Place]
    names: Sequence[str]  # of each, split into words
    by_name: Mapping[str, Sequence[Place]]  # with the server's name before it, or without
    servers: Mapping[str, Sequence[str]]  # the words of a server's name, and the servers that are called so
    longest: int
    nearness: float
    is_settled: bool  # False while vectors are being made: then the nearness is a guess
    hidden: frozenset[Place]  # by a tool of the same id in a catalogue that was named before theirs

    def named(self, request: str) -> Mapping[Place, int]:
        """The tools whose name the request is, with how many letters are wrong in it."""
        if len(request) > 2 * self.longest:
            return {}
        words = key(request)
        found = self.by_name.get(words, ())
        return {place: 0 for place in found} or self._misspelt(words)

    def servers_in(self, request: str) -> set[str]:
        """The servers that a request of several words names."""
        words = key(request).split()
        runs = ((at, end) for at in range(len(words)) for end in range(at + 1, at + _MOST_WORDS + 1))
        return {server for at, end in runs for server in self.servers.get(" ".join(words[at:end]), ())}

    def like(self, request: str, most: int) -> list[Place]:
        """The tools with the names most like a short request, best first."""
        from rapidfuzz import fuzz, process

        if len(request) > self.longest + 2:
            return []
        near = process.extract(key(request), self.names, scorer=fuzz.ratio, limit=most, score_cutoff=60)
        return [self.places[at] for _, _, at in near]

    def _misspelt(self, words: str) -> dict[Place, int]:
        from rapidfuzz.distance import OSA
        from rapidfuzz.process import cdist

        most = 0 if len(words) < _SHORTEST else 1 if len(words) <= 8 else 2
        if not most or not self.by_name or words.count(" ") >= _MOST_WORDS:
            return {}
        names = list(self.by_name)
        edits = cdist([words], names, scorer=OSA.distance, score_cutoff=most)[0]
        least = int(edits.min())
        near = np.flatnonzero(edits == least).tolist() if least <= most else []
        return {place: least for at in near for place in self.by_name[names[at]]}


class Remembered:
    """What is known of each set of catalogues, read again when one of them has changed."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], tuple[object, Known]] = {}
        self._lock = threading.Lock()

    def of(self, snapshot: Snapshot, spaces: tuple[str, ...] | None, model_id: str | None) -> Known:
        """What is known now of these catalogues."""
        place, state = (spaces, model_id), records.generations(snapshot, spaces)
        with self._lock:
            before = self._known.get(place)
        if before is not None and before[0] == state:
            return before[1]
        known = _read(snapshot, spaces, model_id)
        if not known.is_settled:
            return known
        with self._lock:
            while len(self._known) >= _CACHED:
                self._known.pop(next(iter(self._known)))
            self._known[place] = (state, known)
        return known


def key(name: str) -> str:
    """A name as its words: however it is written, it is the same."""
    return " ".join(split_identifier(name))


def _read(snapshot: Snapshot, spaces: tuple[str, ...] | None, model_id: str | None) -> Known:
    rows = records.searched_names(snapshot, spaces)
    servers: dict[str, list[str]] = {}
    for server in sorted({row[2] for row in rows}):
        servers.setdefault(key(server), []).append(server)
    names = [key(name) for *_, name in rows]
    by_name = _by_name(rows, names)
    nearness = _nearness(snapshot, spaces, model_id)
    return Known(
        places=[(space, id_) for space, id_, _, _ in rows],
        names=names,
        by_name=by_name,
        servers=servers,
        longest=max(map(len, by_name), default=0),
        nearness=_USUAL if nearness is None else nearness,
        is_settled=nearness is not None,
        hidden=_hidden(snapshot, spaces),
    )


def _by_name(rows: Sequence[Row], names: Sequence[str]) -> dict[str, list[Place]]:
    """The tools under all that they are called: their name, with the server before it, and their id."""
    found: dict[str, list[Place]] = {}
    for (space, id_, server, _), name in zip(rows, names, strict=True):
        for each in filter(None, {name, f"{key(server)} {name}".strip(), key(id_)}):
            found.setdefault(each, []).append((space, id_))
    return found


def _hidden(snapshot: Snapshot, spaces: tuple[str, ...] | None) -> frozenset[Place]:
    """What a tool of the same id hides; also one that is not shown itself, since it is the one that would be called."""
    if spaces is None or len(spaces) < 2:
        return frozenset()
    places = records.places(snapshot, spaces)
    first: dict[str, str] = {}
    for space, id_ in sorted(places, key=lambda place: spaces.index(place[0])):
        first.setdefault(id_, space)
    return frozenset((space, id_) for space, id_ in places if first[id_] != space)


def _nearness(snapshot: Snapshot, spaces: tuple[str, ...] | None, model_id: str | None) -> float | None:
    """How near a tool's nearest neighbour is to it, of most of them; a few tools are believed to be like others.

    None while there are no vectors to tell.
    """
    passages = records.sample(snapshot, spaces, _SAMPLE) if model_id else []
    vectors = snapshot.cached_vectors(model_id or "", [text_hash(passage.text) for passage in passages])
    near: list[float] = []
    for passage in passages:
        vector = vectors.get(text_hash(passage.text))
        if vector is None and vectors:  # one that is damaged
            continue
        query = Query("", (), vector, model_id, spaces, records.SEARCHED, candidates=_NEIGHBOURS)
        found = snapshot.candidates(INDEX, query)
        if not found.by_vector:
            return None
        near += _nearest(passage.id, found.passages)
    return (median(near) * len(near) + _USUAL * _FEW) / (len(near) + _FEW) if near else _USUAL


def _nearest(id_: str, found: Sequence[Candidate]) -> list[float]:
    """The cosine of the nearest tool of another name: a server may be there twice, and says nothing about others."""
    own = {each.item[1] for each in found if each.id == id_}
    others = [each.cosine for each in found if each.item[1] not in own and each.cosine is not None]
    return [max(others)] if others else []
