"""Reading what was done before: walks of other sessions, what was done on a screen, and what failed there."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from athand.flows import rows
from athand.flows.model import UNKNOWN, Step
from athand.flows.prior.confidence import Move, Walk
from athand.flows.prior.goals import Past, Remembered
from athand.flows.prior.similar import Look, is_same_place
from athand.store import Row, Snapshot, select_in

NEWEST_HERE = 500  # successful steps on a screen that are looked at
NEWEST_FAILURES = 300
MOST_LOOKS = 60  # different looks of a screen that is unknown
_MOVE = "session, id, action, verb, screen, created_at, observation, record"


@dataclass(frozen=True, slots=True)
class Here:
    """A step that was done on this screen."""

    id: str
    session: str
    action: str
    previous: str
    error_code: str | None
    created_at: int
    observation: str | None


@dataclass(slots=True)
class Reader:
    """One visit to the store, for one app and one place in it."""

    snapshot: Snapshot
    remembered: Remembered
    space: str
    screen: str
    look: Look
    _unknown: set[str] = field(default_factory=set)

    def here(self, *, ok: bool) -> list[Here]:
        """The newest steps on this screen, newest first."""
        sql = (
            "SELECT id, session, action, previous, error_code, created_at, observation FROM flow_steps "
            "WHERE space = :space AND screen = :screen AND is_ok = :ok ORDER BY created_at DESC LIMIT :limit"
        )
        limit = NEWEST_HERE if ok else NEWEST_FAILURES
        rows = self.snapshot.rows(sql, {"space": self.space, "screen": self.screen, "ok": int(ok), "limit": limit})
        found = [Here(*row) for row in rows]
        return found if self.screen != UNKNOWN else [each for each in found if self.is_here(UNKNOWN, each.observation)]

    def is_here(self, screen: str, observation: str | None) -> bool:
        """Whether a step was done on the screen that is shown now."""
        if UNKNOWN not in (screen, self.screen):
            return screen == self.screen
        if observation is None or screen != self.screen:
            return False
        return is_same_place(screen, self.look, self.screen, self._few_looks(observation))

    def walks(self, sessions: Iterable[Past]) -> dict[str, Walk]:
        """What these sessions did; only what is not remembered is read."""
        wanted = {past.id: past for past in sessions}
        found = {id_: self.remembered.walk(self.space, past) for id_, past in wanted.items()}
        missing = [id_ for id_, walk in found.items() if walk is None]
        for id_, walk in self._read_walks(missing).items():
            self.remembered.keep_walk(self.space, wanted[id_], walk)
            found[id_] = walk
        return {id_: walk for id_, walk in found.items() if walk is not None}

    def own(self, session: str, until: int | None) -> tuple[list[Move], list[str]]:
        """What a session has done itself so far, and what failed since its last success."""
        sql = (
            f"SELECT {_MOVE}, is_ok FROM flow_steps WHERE space = :space AND session = :session AND action <> '' "
            f"{'' if until is None else 'AND position <= :until'} ORDER BY position"
        )
        values = {"space": self.space, "session": session} | ({} if until is None else {"until": until})
        moves: list[Move] = []
        failed: list[str] = []
        for *row, is_ok in self.snapshot.rows(sql, values):
            failed = [] if is_ok else [*failed, row[2]]
            moves += [_to_move(row)] if is_ok else []
        return moves, failed

    def looks(self, hashes: Iterable[str]) -> dict[str, Look]:
        """What was seen, by its hash."""
        wanted = set(hashes)
        found = {hash_: look for hash_ in wanted if (look := self.remembered.look(self.space, hash_)) is not None}
        sql = "SELECT hash, content FROM flow_observations"
        for hash_, content in self._rows_by(sql, "hash", wanted - set(found)):
            found[hash_] = Look.of(rows.to_observation(json.loads(content)))
            self.remembered.keep_look(self.space, hash_, found[hash_])
        return found

    def steps(self, ids: Sequence[str]) -> dict[str, Step]:
        """Steps as they were recorded, without what was seen."""
        found = self._rows_by(f"SELECT {rows.STEP_COLUMNS} FROM flow_steps", "id", ids)
        return {row[1]: rows.to_step(row, None) for row in found}

    def _few_looks(self, observation: str) -> Look | None:
        """What was seen; only so many are read that a page can wait for it."""
        look = self.remembered.look(self.space, observation)
        if look is None and len(self._unknown) < MOST_LOOKS:
            self._unknown.add(observation)
            look = self.looks([observation]).get(observation)
        return look

    def _read_walks(self, ids: Sequence[str]) -> dict[str, Walk]:
        rows = self._rows_by(f"SELECT {_MOVE}, position FROM flow_steps", "session", ids, is_ok=1)
        moves: dict[str, list[Move]] = {id_: [] for id_ in ids}
        for *row, _ in sorted(rows, key=lambda row: int(row[-1])):
            if row[2]:  # an action, not only a look
                moves[row[0]].append(_to_move(row))
        return {id_: Walk(id_, tuple(each)) for id_, each in moves.items()}

    def _rows_by(self, select: str, column: str, values: Iterable[str], **where: Any) -> list[Row]:
        return select_in(self.snapshot, select, column, values, {"space": self.space, **where})


def _to_move(row: Sequence[Any]) -> Move:
    _, id_, action, verb, screen, created_at, observation, record = row
    rest = json.loads(record)
    return Move(id_, action, verb, screen, rest["target"], rest["input"], created_at, observation, rest["after_screen"])
