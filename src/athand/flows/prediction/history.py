"""What past sessions of an app did: their actions, read from the store and cached in memory."""

import json
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from athand.bounded_cache import BoundedCache
from athand.embed import LazyEmbedder
from athand.flows import rows
from athand.flows.model import UNKNOWN, Step, Target
from athand.flows.prediction.page import PageSignature
from athand.flows.prediction.session_index import SessionIndex, SessionInfo, refresh_index
from athand.store import Row, Snapshot, select_in

MAX_SUCCESSES, MAX_FAILURES = 500, 300  # the newest steps on a screen that are read
MAX_UNKNOWN_PAGES = 60  # pages without a screen name that are read and compared for one prediction
_CACHED_TRACES, _CACHED_SIGNATURES = 1_000, 2_000
_ACTION_COLUMNS = "session, id, action, verb, screen, created_at, observation, record"

TraceKey = tuple[str, str, tuple[int, int]]  # space, id and state of a session


@dataclass(frozen=True, slots=True)
class Action:
    """A successful action of a session, as it was recorded."""

    id: str  # of the step
    key: str  # equality key: see actions.action_key
    verb: str
    screen: str
    target: Target
    input: Mapping[str, Any]
    created_at: int
    observation: str | None = None
    after_screen: str | None = None
    appeared: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Trace:
    """The successful actions of a session, in order."""

    session_id: str
    actions: tuple[Action, ...]


@dataclass(frozen=True, slots=True)
class ScreenStep:
    """A step that was done on the current screen."""

    id: str
    session_id: str
    key: str  # of its action; empty for a step that only looked
    previous: str  # the key of the successful action before it
    error_code: str | None
    created_at: int
    observation: str | None


class HistoryCache:
    """What is kept between predictions: the index of each app's sessions, traces and page signatures."""

    def __init__(self) -> None:
        self._indexes: dict[str, SessionIndex] = {}
        self.traces: BoundedCache[TraceKey, Trace] = BoundedCache(_CACHED_TRACES)
        self.signatures: BoundedCache[tuple[str, str], PageSignature] = BoundedCache(_CACHED_SIGNATURES)
        self._lock = threading.Lock()

    def session_index(self, snapshot: Snapshot, space: str, own: str, embedder: LazyEmbedder) -> SessionIndex:
        """The index of an app's sessions as they are now; the caller's own session may be out of date."""
        with self._lock:
            cached = self._indexes.get(space, SessionIndex())
        index = refresh_index(cached, snapshot, space, own, embedder)
        if index is not cached:
            with self._lock:
                self._indexes[space] = index
        return index

    def forget(self, space: str) -> None:
        """Drops the index of an app: one of its sessions was deleted."""
        with self._lock:
            self._indexes.pop(space, None)


@dataclass(slots=True)
class HistoryReader:
    """Reads the history of one app for one prediction, within one snapshot of the store."""

    snapshot: Snapshot
    cache: HistoryCache
    space: str
    screen: str
    page: PageSignature
    _unknown_pages: set[str] = field(default_factory=set)

    def session_index(self, own: str, embedder: LazyEmbedder) -> SessionIndex:
        """The sessions of the app; the caller's own session may be out of date."""
        return self.cache.session_index(self.snapshot, self.space, own, embedder)

    def steps_on_screen(self, *, ok: bool) -> list[ScreenStep]:
        """The newest successful or failed steps on the current screen, newest first."""
        sql = (
            "SELECT id, session, action, previous, error_code, created_at, observation FROM flow_steps "
            "WHERE space = :space AND screen = :screen AND is_ok = :ok ORDER BY created_at DESC LIMIT :limit"
        )
        limit = MAX_SUCCESSES if ok else MAX_FAILURES
        values = {"space": self.space, "screen": self.screen, "ok": int(ok), "limit": limit}
        steps = [ScreenStep(*row) for row in self.snapshot.rows(sql, values)]
        if self.screen != UNKNOWN:
            return steps
        return [step for step in steps if self._is_current(UNKNOWN, step.observation)]

    def traces(self, sessions: Iterable[SessionInfo]) -> dict[str, Trace]:
        """The traces of these sessions; only those that are not cached are read."""
        keys = {info.id: (self.space, info.id, info.state) for info in sessions}
        found = {id_: self.cache.traces.get(key) for id_, key in keys.items()}
        for id_, trace in self._read_traces([id_ for id_, trace in found.items() if trace is None]).items():
            self.cache.traces.put(keys[id_], trace)
            found[id_] = trace
        return {id_: trace for id_, trace in found.items() if trace is not None}

    def select_on_screen(self, traces: Iterable[Trace]) -> frozenset[str]:
        """The ids of the actions in these traces that were done on the current screen."""
        actions = (action for trace in traces for action in trace.actions)
        return frozenset(action.id for action in actions if self._is_current(action.screen, action.observation))

    def own_actions(self, session: str, until: int | None) -> tuple[list[Action], list[str]]:
        """The successful actions of a session up to a position, and the keys of what failed since the last of them."""
        sql = (
            f"SELECT {_ACTION_COLUMNS}, is_ok FROM flow_steps WHERE space = :space AND session = :session "
            f"AND action <> '' {'' if until is None else 'AND position <= :until'} ORDER BY position"
        )
        values = {"space": self.space, "session": session} | ({} if until is None else {"until": until})
        actions: list[Action] = []
        failed: list[str] = []
        for *row, is_ok in self.snapshot.rows(sql, values):
            if is_ok:
                actions.append(_to_action(row))
                failed = []
            else:
                failed.append(row[2])
        return actions, failed

    def signatures(self, observations: Iterable[str]) -> dict[str, PageSignature]:
        """The page signatures of these observations, by their hash."""
        wanted = set(observations)
        cached = {each: self.cache.signatures.get((self.space, each)) for each in wanted}
        found = {each: signature for each, signature in cached.items() if signature is not None}
        sql = "SELECT hash, content FROM flow_observations"
        for hash_, content in self._select(sql, "hash", wanted - set(found)):
            found[hash_] = PageSignature.of(rows.to_observation(json.loads(content)))
            self.cache.signatures.put((self.space, hash_), found[hash_])
        return found

    def steps(self, ids: Sequence[str]) -> dict[str, Step]:
        """These steps as they were recorded, without their observations."""
        found = self._select(f"SELECT {rows.STEP_COLUMNS} FROM flow_steps", "id", ids)
        return {row[1]: rows.to_step(row, None) for row in found}

    def _is_current(self, screen: str, observation: str | None) -> bool:
        """Whether a step was done on the current screen; unknown screens are compared by their elements."""
        if screen != self.screen or screen != UNKNOWN:
            return screen == self.screen
        page = None if observation is None else self._unknown_page(observation)
        return page is not None and self.page.is_same_page(page)

    def _unknown_page(self, observation: str) -> PageSignature | None:
        """The signature of an observation; None if it is not cached and too many have been read already."""
        page = self.cache.signatures.get((self.space, observation))
        if page is None and len(self._unknown_pages) < MAX_UNKNOWN_PAGES:
            self._unknown_pages.add(observation)
            page = self.signatures([observation]).get(observation)
        return page

    def _read_traces(self, ids: Sequence[str]) -> dict[str, Trace]:
        found = self._select(f"SELECT {_ACTION_COLUMNS}, position FROM flow_steps", "session", ids, is_ok=1)
        actions: dict[str, list[Action]] = {id_: [] for id_ in ids}
        for *row, _ in sorted(found, key=lambda row: int(row[-1])):
            if row[2]:  # a step that only looked has no action key
                actions[row[0]].append(_to_action(row))
        return {id_: Trace(id_, tuple(each)) for id_, each in actions.items()}

    def _select(self, select: str, column: str, values: Iterable[str], **where: Any) -> list[Row]:
        return select_in(self.snapshot, select, column, values, {"space": self.space, **where})


def _to_action(row: Sequence[Any]) -> Action:
    _, id_, key, verb, screen, created_at, observation, record = row
    rest = json.loads(record)
    return Action(
        id_,
        key,
        verb,
        screen,
        rest["target"],
        rest["input"],
        created_at,
        observation,
        rest["after_screen"],
        tuple(rest.get("appeared", ())),
    )
