"""What else is known around a screen: sessions that are related, steps in like places, and what to avoid."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from athand.flows.descriptions import snippet
from athand.flows.model import Avoid, RelatedSession, SimilarStep, Step
from athand.flows.prior.goals import Past
from athand.flows.prior.hints import as_words
from athand.flows.prior.scene import Scene
from athand.flows.prior.similar import BEST, Look, points
from athand.flows.prior.walks import Reader
from athand.store import to_datetime

MOST_RELATED = 5
MOST_SIMILAR = 10
MOST_AVOIDED = 5
RELATED = 0.35  # as near as the goal of a related session is
OFTEN = 2  # failures that are no accident
_COMPARED_HERE, _COMPARED_ELSEWHERE = 24, 16  # steps whose place is compared with this one
_HOUR = 3_600_000_000


@dataclass(frozen=True, slots=True)
class Avoided:
    """An action that fails here, with how, how often, and the newest step that shows it."""

    action: str
    code: str
    number: int
    step: str


@dataclass(frozen=True, slots=True)
class Like:
    """A step that may have been done in a like place."""

    id: str
    screen: str
    action: str
    observation: str | None
    created_at: int


def avoided(scene: Scene) -> list[Avoided]:
    """What failed here more than once in the same way, and never went well since."""
    last_success: dict[str, int] = {}
    for each in scene.here:
        last_success.setdefault(each.action, each.created_at)
    since = [each for each in scene.failures if each.created_at > last_success.get(each.action, 0)]
    counted = Counter((each.action, each.error_code or "") for each in since if " " in each.action)
    newest = {(each.action, each.error_code or ""): each.id for each in reversed(since)}
    often = [(pair, number) for pair, number in counted.most_common() if number >= OFTEN]
    return [Avoided(action, code, number, newest[action, code]) for (action, code), number in often]


def shown_avoids(reader: Reader, some: Sequence[Avoided]) -> tuple[Avoid, ...]:
    """The most frequent of them, as they are shown."""
    shown = some[:MOST_AVOIDED]
    steps = reader.steps([each.step for each in shown])
    return tuple(_to_avoid(each, steps[each.step]) for each in shown)


def _to_avoid(each: Avoided, step: Step) -> Avoid:
    target = {part: value for part, value in step.target.items() if part != "a11yRef"}
    words = as_words(step.verb, step.target, step.input)
    return Avoid(
        rationale=f"{words.capitalize()} failed {each.number} times here with {each.code}, and never went well since.",
        target=target or None,
        error_code=each.code,
        frequency=each.number,
        action=step.verb,
    )


def related(scene: Scene, window_hours: float) -> tuple[RelatedSession, ...]:
    """Sessions of the last hours with a like goal, or that were here; the newest and nearest first."""
    sessions, were_here = list(scene.known.sessions.values()), {each.session for each in scene.here}
    window = max(window_hours, 1.0) * _HOUR
    ages = scene.now - scene.known.created
    recent = np.flatnonzero((ages <= window_hours * _HOUR) & (scene.near >= 0)).tolist()
    fit = [at for at in recent if scene.near[at] >= RELATED or sessions[at].id in were_here]
    scores = scene.near * 0.5 ** (ages / window)
    best = sorted(fit, key=lambda at: (-scores[at], ages[at], sessions[at].id))[:MOST_RELATED]
    return tuple(_to_related(sessions[at], float(scene.near[at])) for at in best)


def _to_related(past: Past, near: float) -> RelatedSession:
    return RelatedSession(past.id, to_datetime(past.created_at), past.goal, past.flow_tags, round(near, 3))


def similar(scene: Scene, reader: Reader) -> tuple[SimilarStep, ...]:
    """What was done in places like this one, each action once; the most alike first, then the newest."""
    some = [
        *_distinct(_done_here(scene, reader), _COMPARED_HERE),
        *_distinct(_done_elsewhere(scene, reader), _COMPARED_ELSEWHERE),
    ]
    looks = reader.looks(each.observation for each in some if each.observation)
    scored = [(_points(reader, each, looks.get(each.observation or "", Look())), each) for each in some]
    alike = sorted(
        ((found, each) for found, each in scored if found), key=lambda one: (-one[0], -one[1].created_at, one[1].id)
    )
    steps = reader.steps([each.id for _, each in alike[:MOST_SIMILAR]])
    return tuple(_to_similar(steps[each.id], found) for found, each in alike[:MOST_SIMILAR])


def _points(reader: Reader, each: Like, look: Look) -> int:
    return points(reader.screen, reader.look, each.screen, look, is_action=bool(each.action))


def _done_here(scene: Scene, reader: Reader) -> Iterator[Like]:
    for each in scene.here:
        if scene.is_other(each.session):
            yield Like(each.id, reader.screen, each.action, each.observation, each.created_at)


def _done_elsewhere(scene: Scene, reader: Reader) -> Iterator[Like]:
    for id_ in sorted(scene.walks, key=lambda id_: (-scene.nearness(id_), id_)):
        for move in scene.walks[id_].moves:
            if not reader.is_here(move.screen, move.observation):
                yield Like(move.id, move.screen, move.action, move.observation, move.created_at)


def _distinct(some: Iterator[Like], most: int) -> list[Like]:
    """The first of each action on each screen."""
    found: dict[tuple[str, str], Like] = {}
    for each in some:
        found.setdefault((each.screen, each.action), each)
        if len(found) == most:
            break
    return list(found.values())


def _to_similar(step: Step, found: int) -> SimilarStep:
    target = {part: value for part, value in step.target.items() if part != "a11yRef"}
    named = {part: step.target[part] for part in ("role", "name") if step.target.get(part)}
    return SimilarStep(
        session_id=step.session_id,
        timestamp=step.timestamp,
        tool=step.tool,
        screen=step.screen,
        snippet=snippet(step),
        labels=step.labels,
        target=target or None,
        a11y_hint=named if len(named) == 2 else None,
        confidence=round(found / BEST, 3),
    )
