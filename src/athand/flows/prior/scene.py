"""Setting the scene for prior knowledge: the session that asks, and the others that may know something."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from athand.flows.actions import action_key
from athand.flows.context import FlowContext
from athand.flows.model import FlowSession, Step
from athand.flows.prior.confidence import Move, Walk
from athand.flows.prior.goals import Known, Past
from athand.flows.prior.walks import Here, Reader
from athand.flows.rows import purpose
from athand.rank import Numbers
from athand.store import to_microseconds

_BY_GOAL, _AFTER_THE_SAME, _NEWEST = 24, 20, 10  # sessions that are asked


@dataclass(frozen=True, slots=True)
class Scene:
    """All that is known when a screen is shown."""

    session: FlowSession
    now: int
    known: Known
    near: Numbers  # how near the goal of each session is, in the order of what is known; below 0 its own
    own: Sequence[Move]
    failed: Sequence[str]  # what this session has tried in vain since its last success
    here: Sequence[Here]  # successes on this screen, newest first
    failures: Sequence[Here]
    walks: Mapping[str, Walk]

    def nearness(self, id_: str) -> float:
        """How near the goal of another session is."""
        return float(self.near[self.known.places[id_]])

    def is_other(self, id_: str) -> bool:
        """Whether that is another session, and known."""
        return id_ != self.session.id and id_ in self.known.places


def set_scene(context: FlowContext, reader: Reader, session: FlowSession, previous: Step | None) -> Scene:
    """All that is known here, read in one visit."""
    known = context.history_cache.sessions(reader.snapshot, session.app, session.id, context.embedder)
    near = known.nearness(purpose(session.goal, session.flow_tags, session.tags), context.embedder)
    if session.id in known.places:
        near[known.places[session.id]] = -1.0
    own, failed = _history(reader, session, previous)
    here = reader.here(ok=True)
    others = [each for each in here if each.session != session.id and each.session in known.places]
    asked = _asked(known, near, others, own[-1].action if own else "")
    return Scene(
        session=session,
        now=to_microseconds(context.now()),
        known=known,
        near=near,
        own=own,
        failed=failed,
        here=here,
        failures=reader.here(ok=False),
        walks=reader.walks(asked),
    )


def _history(reader: Reader, session: FlowSession, previous: Step | None) -> tuple[list[Move], list[str]]:
    """What the session did until now, or until the step it says was the last."""
    is_own = previous is not None and previous.session_id == session.id
    moves, failed = reader.own(session.id, previous.position if previous is not None and is_own else None)
    if previous is None or is_own:
        return moves, failed
    key = action_key(previous.verb, previous.target, previous.input)
    if not key or not previous.ok:
        return moves, [*failed, *filter(None, [key])]
    at = to_microseconds(previous.timestamp)
    return [*moves, Move(previous.id, key, previous.verb, previous.screen, previous.target, previous.input, at)], []


def _asked(known: Known, near: Numbers, here: Sequence[Here], last: str) -> list[Past]:
    """The sessions that may know what comes next: of the nearest goals, that stood just here, and the newest here."""
    sessions, ids = known.sessions, list(known.places)
    nearest = np.lexsort((-known.created, -near))[:_BY_GOAL].tolist()
    by_goal = [ids[at] for at in nearest if near[at] >= 0]
    after_the_same = dict.fromkeys(each.session for each in here if each.action and each.previous == last)
    newest = dict.fromkeys(each.session for each in here)
    chosen = (*by_goal, *list(after_the_same)[:_AFTER_THE_SAME], *list(newest)[:_NEWEST])
    return [sessions[id_] for id_ in dict.fromkeys(chosen)]
