"""What sessions were for, and how near that is to what another is for; kept in memory, read again where it changed."""

import json
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from athand.bounded_cache import BoundedCache
from athand.embed import Embedder, LazyEmbedder, embed_texts
from athand.flows.goal_parameters import words_in
from athand.flows.prior.confidence import Walk
from athand.flows.prior.similar import Look
from athand.flows.rows import purpose
from athand.rank import Numbers, calibrate_cosine
from athand.store import Row, Snapshot, select_in
from athand.text import FLOW_STOP_WORDS, stem, text_hash
from athand.types import Calibration, Matrix, Vector

WORDS = 0.6  # the share of common words in how near two goals are; the rest is their meaning
NO_GOAL = 0.4  # how near a session is that does not say what it is for
Times = npt.NDArray[np.int64]

_KEPT_WALKS = 1_000
_KEPT_LOOKS = 2_000
_PRIME = 1_000_003  # times are added up by what remains of them: whole ones are too large for a sum
_PAST = "SELECT id, goal, flow_tags, tags, app_version, created_at, steps, updated_at FROM flows"


@dataclass(frozen=True, slots=True)
class Past:
    """A session that may know something."""

    id: str
    goal: str | None
    flow_tags: tuple[str, ...]
    text: str  # all that it says about what it is for
    app_version: str | None
    created_at: int
    state: tuple[int, int]  # how many steps it has, and when it was last changed otherwise


@dataclass(frozen=True, slots=True)
class Texts:
    """The different texts of an app's sessions: their telling words, and their meaning where a model works."""

    rows: Mapping[str, int] = field(default_factory=dict)
    sizes: Numbers = field(default_factory=lambda: np.zeros(0))
    postings: Mapping[str, Sequence[int]] = field(default_factory=dict)
    matrix: Matrix | None = None
    model_id: str | None = None
    calibration: Calibration | None = None

    def nearness(self, text: str, vector: Vector | None) -> Numbers:
        """How near each text is to this one, from 0 to 1."""
        words = telling(text)
        shared = np.zeros(len(self.rows))
        for word in words:
            shared[list(self.postings.get(word, ()))] += 1
        alike: Numbers = 2 * shared / np.maximum(1, self.sizes + len(words))
        if vector is None or self.matrix is None or self.calibration is None:
            return alike
        meant = calibrate_cosine((self.matrix @ vector).astype(np.float64), self.calibration)
        return WORDS * alike + (1 - WORDS) * meant


@dataclass(frozen=True, slots=True)
class Known:
    """The sessions of an app, in the order of their ids, and their texts; the arrays have one number for each."""

    sessions: Mapping[str, Past] = field(default_factory=dict)
    places: Mapping[str, int] = field(default_factory=dict)
    created: Times = field(default_factory=lambda: np.zeros(0, np.int64))
    states: Times = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    rows: Times = field(default_factory=lambda: np.zeros(0, np.int64))  # of their texts; the last for those without
    texts: Texts = field(default_factory=Texts)

    @classmethod
    def of(cls, sessions: Mapping[str, Past], texts: Texts) -> "Known":
        """What is known, made ready to be compared."""
        ids = sorted(sessions)
        listed = [sessions[id_] for id_ in ids]
        return cls(
            {each.id: each for each in listed},
            {id_: at for at, id_ in enumerate(ids)},
            np.array([each.created_at for each in listed], np.int64),
            np.array([each.state for each in listed], np.int64).reshape(-1, 2),
            np.array([texts.rows.get(each.text, -1) for each in listed], np.int64),
            texts,
        )

    def state(self, own: str) -> tuple[int, int, int]:
        """Another value whenever a session was changed, but for one."""
        states = np.delete(self.states, [self.places[own]] if own in self.places else [], axis=0)
        return len(states), int(states[:, 0].sum()), int((states[:, 1] % _PRIME).sum())

    def nearness(self, text: str, embedder: LazyEmbedder) -> Numbers:
        """How near the goal of each session is; all the same if this one has none."""
        if not text:
            return np.full(len(self.sessions), NO_GOAL)
        is_of = self.texts.model_id
        vector = embedder.attempt(lambda model: model.embed_passages([text])[0] if model.model_id == is_of else None)
        near: Numbers = np.append(self.texts.nearness(text, vector), NO_GOAL)[self.rows]
        return near


class Remembered:
    """What is kept in memory between calls: the sessions of each app, the walks and looks that were read."""

    def __init__(self) -> None:
        self._known: dict[str, Known] = {}
        self._walks: BoundedCache[tuple[str, str], tuple[tuple[int, int], Walk]] = BoundedCache(_KEPT_WALKS)
        self._looks: BoundedCache[tuple[str, str], Look] = BoundedCache(_KEPT_LOOKS)
        self._lock = threading.Lock()

    def sessions(self, snapshot: Snapshot, space: str, own: str, embedder: LazyEmbedder) -> Known:
        """All sessions of an app as they are now; but for its own, to which the caller adds all the time."""
        with self._lock:
            before = self._known.get(space, Known())
        if before.state(own) == _state(snapshot, space, own):
            return before
        sessions = _sessions(snapshot, space, before.sessions)
        known = Known.of(sessions, _texts(snapshot, {each.text for each in sessions.values()}, before.texts, embedder))
        with self._lock:
            self._known[space] = known
        return known

    def forget(self, space: str) -> None:
        """Read everything of an app again: a session of it was deleted."""
        with self._lock:
            self._known.pop(space, None)

    def walk(self, space: str, past: Past) -> Walk | None:
        """The walk of a session, if it was read as it is now."""
        found = self._walks.get((space, past.id))
        return found[1] if found is not None and found[0] == past.state else None

    def keep_walk(self, space: str, past: Past, walk: Walk) -> None:
        """Remember a walk."""
        self._walks.put((space, past.id), (past.state, walk))

    def look(self, space: str, hash_: str) -> Look | None:
        """What was seen, if it was read before."""
        return self._looks.get((space, hash_))

    def keep_look(self, space: str, hash_: str, look: Look) -> None:
        """Remember what was seen."""
        self._looks.put((space, hash_), look)


@lru_cache(maxsize=1 << 14)
def telling(text: str) -> frozenset[str]:
    """The stems of the words that tell what a session is for; its values are not among them."""
    return frozenset(stem(word) for word in words_in(text) if word not in FLOW_STOP_WORDS and len(word) > 1)


def _state(snapshot: Snapshot, space: str, own: str) -> tuple[int, ...]:
    """Another value whenever a session changed."""
    sql = (
        "SELECT count(*), coalesce(sum(steps), 0), coalesce(sum(updated_at - updated_at / :prime * :prime), 0) "
        "FROM flows WHERE space = :space AND id <> :own"
    )
    return tuple(map(int, snapshot.rows(sql, {"space": space, "own": own, "prime": _PRIME})[0]))


def _sessions(snapshot: Snapshot, space: str, before: Mapping[str, Past]) -> dict[str, Past]:
    """The sessions as they are now; only those that changed are read."""
    sql = "SELECT id, steps, updated_at FROM flows WHERE space = :space"
    states = {id_: (steps, at) for id_, steps, at in snapshot.rows(sql, {"space": space})}
    changed = [id_ for id_, state in states.items() if id_ not in before or before[id_].state != state]
    fresh = {row[0]: _to_past(row) for row in select_in(snapshot, _PAST, "id", changed, {"space": space})}
    return {id_: fresh.get(id_) or before[id_] for id_ in states}


def _to_past(row: Row) -> Past:
    id_, goal, flow_tags, tags, app_version, created_at, steps, updated_at = row
    flows = tuple(json.loads(flow_tags))
    text = purpose(goal, flows, json.loads(tags))
    return Past(id_, goal, flows, text, app_version, created_at, (steps, updated_at))


def _texts(snapshot: Snapshot, wanted: Iterable[str], before: Texts, embedder: LazyEmbedder) -> Texts:
    """What is known of these texts; what was known already is not made again."""
    texts = sorted(filter(None, wanted))
    rows = {text: at for at, text in enumerate(texts)}
    postings: dict[str, list[int]] = {}
    for text, at in rows.items():
        for word in telling(text):
            postings.setdefault(word, []).append(at)
    sizes = np.fromiter((len(telling(text)) for text in texts), np.float64, len(texts))
    vectors = embedder.attempt(
        lambda model: (_vectors(snapshot, texts, before, model), model.model_id, model.calibration)
    )
    return Texts(rows, sizes, postings, *(vectors or ()))


def _vectors(snapshot: Snapshot, texts: Sequence[str], before: Texts, model: Embedder) -> Matrix:
    """The vectors of these texts: from memory, from the store, or made."""
    known, old = before.rows, before.matrix if before.model_id == model.model_id else None
    missing = [text for text in texts if old is None or text not in known]
    made = embed_texts(model, missing, snapshot.cached_vectors).by_hash
    matrix: Matrix = np.zeros((len(texts), model.dimensions), np.float32)
    for at, text in enumerate(texts):
        matrix[at] = old[known[text]] if old is not None and text in known else made[text_hash(text)]
    return matrix
