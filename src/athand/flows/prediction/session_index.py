"""The sessions of an app, and how similar their goals are to another one: by common words and by meaning."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from athand.embed import Embedder, LazyEmbedder, embed_texts
from athand.flows.goal_parameters import words_in
from athand.flows.rows import purpose
from athand.rank import Numbers, calibrate_cosine
from athand.store import Row, Snapshot, select_in
from athand.text import FLOW_STOP_WORDS, stem, text_hash
from athand.types import Calibration, Matrix, Vector

WORD_WEIGHT = 0.6  # the weight of common words in the similarity of two goals; the rest is their meaning
WITHOUT_GOAL = 0.4  # the similarity if one of two sessions has no goal
_PRIME = 1_000_003  # times are summed modulo this: a sum of whole ones would overflow
_SELECT_SESSION = "SELECT id, goal, flow_tags, tags, app_version, created_at, steps, updated_at FROM flows"

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """What prediction uses of a session."""

    id: str
    goal: str | None
    flow_tags: tuple[str, ...]
    purpose: str  # goal and tags as one text
    app_version: str | None
    created_at: int
    state: tuple[int, int]  # number of steps, and when it was last updated


@dataclass(frozen=True, slots=True)
class PurposeTexts:
    """The distinct purposes of sessions: their content words, and their vectors while a model works."""

    rows: Mapping[str, int] = field(default_factory=dict)
    sizes: Numbers = field(default_factory=lambda: np.zeros(0))  # number of content words
    postings: Mapping[str, Sequence[int]] = field(default_factory=dict)  # word → rows
    matrix: Matrix | None = None
    model_id: str | None = None
    calibration: Calibration | None = None

    def similarities(self, text: str, vector: Vector | None) -> Numbers:
        """The similarity of each text to this one, on [0, 1]: Dice coefficient of their words, and cosine."""
        words = content_words(text)
        shared = np.zeros(len(self.rows))
        for word in words:
            shared[list(self.postings.get(word, ()))] += 1
        by_words: Numbers = 2 * shared / np.maximum(1, self.sizes + len(words))
        if vector is None or self.matrix is None or self.calibration is None:
            return by_words
        by_meaning = calibrate_cosine((self.matrix @ vector).astype(np.float64), self.calibration)
        return WORD_WEIGHT * by_words + (1 - WORD_WEIGHT) * by_meaning


@dataclass(frozen=True, slots=True)
class SessionIndex:
    """The sessions of an app ordered by id, and their purposes; each array has one number per session."""

    sessions: Mapping[str, SessionInfo] = field(default_factory=dict)
    positions: Mapping[str, int] = field(default_factory=dict)
    created: Integers = field(default_factory=lambda: np.zeros(0, np.int64))
    states: Integers = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    text_rows: Integers = field(default_factory=lambda: np.zeros(0, np.int64))  # -1 without a purpose
    texts: PurposeTexts = field(default_factory=PurposeTexts)

    @classmethod
    def build(cls, sessions: Mapping[str, SessionInfo], texts: PurposeTexts) -> "SessionIndex":
        """The index of these sessions."""
        ids = sorted(sessions)
        listed = [sessions[id_] for id_ in ids]
        return cls(
            {each.id: each for each in listed},
            {id_: position for position, id_ in enumerate(ids)},
            np.array([each.created_at for each in listed], np.int64),
            np.array([each.state for each in listed], np.int64).reshape(-1, 2),
            np.array([texts.rows.get(each.purpose, -1) for each in listed], np.int64),
            texts,
        )

    def checksum(self, excluded: str) -> tuple[int, int, int]:
        """A value that changes whenever a session changes, except the excluded one."""
        rows = [self.positions[excluded]] if excluded in self.positions else []
        states = np.delete(self.states, rows, axis=0)
        return len(states), int(states[:, 0].sum()), int((states[:, 1] % _PRIME).sum())

    def goal_similarities(self, text: str, embedder: LazyEmbedder) -> Numbers:
        """The similarity of each session's purpose to this one, on [0, 1]."""
        if not text:
            return np.full(len(self.sessions), WITHOUT_GOAL)
        own = self.texts.model_id
        vector = embedder.attempt(lambda model: model.embed_passages([text])[0] if model.model_id == own else None)
        similarities: Numbers = np.append(self.texts.similarities(text, vector), WITHOUT_GOAL)[self.text_rows]
        return similarities


def refresh_index(
    index: SessionIndex, snapshot: Snapshot, space: str, own: str, embedder: LazyEmbedder
) -> SessionIndex:
    """The index of an app's sessions as they are now; the caller's own session may be out of date."""
    if index.checksum(own) == _read_checksum(snapshot, space, own):
        return index
    sessions = _read_sessions(snapshot, space, index.sessions)
    purposes = {each.purpose for each in sessions.values()}
    return SessionIndex.build(sessions, _index_texts(snapshot, purposes, index.texts, embedder))


@lru_cache(maxsize=1 << 14)
def content_words(text: str) -> frozenset[str]:
    """The stems of the words of a purpose, without values and stop words."""
    return frozenset(stem(word) for word in words_in(text) if word not in FLOW_STOP_WORDS and len(word) > 1)


def _read_checksum(snapshot: Snapshot, space: str, excluded: str) -> tuple[int, ...]:
    """The same value as SessionIndex.checksum, computed by the store."""
    sql = (
        "SELECT count(*), coalesce(sum(steps), 0), coalesce(sum(updated_at - updated_at / :prime * :prime), 0) "
        "FROM flows WHERE space = :space AND id <> :excluded"
    )
    return tuple(map(int, snapshot.rows(sql, {"space": space, "excluded": excluded, "prime": _PRIME})[0]))


def _read_sessions(snapshot: Snapshot, space: str, cached: Mapping[str, SessionInfo]) -> dict[str, SessionInfo]:
    """The sessions of an app; only those that have changed are read completely."""
    sql = "SELECT id, steps, updated_at FROM flows WHERE space = :space"
    states = {id_: (steps, updated_at) for id_, steps, updated_at in snapshot.rows(sql, {"space": space})}
    changed = [id_ for id_, state in states.items() if id_ not in cached or cached[id_].state != state]
    read = {row[0]: _to_info(row) for row in select_in(snapshot, _SELECT_SESSION, "id", changed, {"space": space})}
    return {id_: read.get(id_) or cached[id_] for id_ in states}


def _to_info(row: Row) -> SessionInfo:
    id_, goal, flow_tags, tags, app_version, created_at, steps, updated_at = row
    flows = tuple(json.loads(flow_tags))
    text = purpose(goal, flows, json.loads(tags))
    return SessionInfo(id_, goal, flows, text, app_version, created_at, (steps, updated_at))


def _index_texts(
    snapshot: Snapshot, purposes: Iterable[str], cached: PurposeTexts, embedder: LazyEmbedder
) -> PurposeTexts:
    """The index of these texts; cached vectors are used again."""
    texts = sorted(filter(None, purposes))
    postings: dict[str, list[int]] = {}
    for row, text in enumerate(texts):
        for word in content_words(text):
            postings.setdefault(word, []).append(row)
    sizes = np.fromiter((len(content_words(text)) for text in texts), np.float64, len(texts))
    vectors = embedder.attempt(
        lambda model: (_embed_texts(snapshot, texts, cached, model), model.model_id, model.calibration)
    )
    return PurposeTexts({text: row for row, text in enumerate(texts)}, sizes, postings, *(vectors or ()))


def _embed_texts(snapshot: Snapshot, texts: Sequence[str], cached: PurposeTexts, model: Embedder) -> Matrix:
    """The vectors of these texts: from memory, from the store, or from the model."""
    old = cached.matrix if cached.model_id == model.model_id else None
    missing = [text for text in texts if old is None or text not in cached.rows]
    new = embed_texts(model, missing, snapshot.cached_vectors).by_hash
    matrix: Matrix = np.zeros((len(texts), model.dimensions), np.float32)
    for row, text in enumerate(texts):
        matrix[row] = old[cached.rows[text]] if old is not None and text in cached.rows else new[text_hash(text)]
    return matrix
