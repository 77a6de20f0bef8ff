"""What else is known about a screen: actions that fail on it, related sessions, and steps on similar pages."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from athand.flows.descriptions import snippet, summarize_action
from athand.flows.model import Avoid, RelatedSession, SimilarStep, Step
from athand.flows.prediction.history import HistoryReader, ScreenStep, Trace
from athand.flows.prediction.page import MAX_POINTS, PageSignature, similarity_points
from athand.flows.prediction.session_index import SessionIndex, SessionInfo
from athand.rank import Numbers
from athand.store import to_datetime

MAX_RELATED, MAX_SIMILAR, MAX_AVOIDED = 5, 10, 5
RELATED_GOAL = 0.35  # goal similarity of a related session
MIN_FAILURES = 2  # once may be an accident
_COMPARED_HERE, _COMPARED_ELSEWHERE = 24, 16  # distinct steps whose page is compared with the current one
_HOUR = 3_600_000_000


@dataclass(frozen=True, slots=True)
class RepeatedFailure:
    """An action that failed several times on the screen with the same code, and the newest step that shows it."""

    key: str
    code: str
    count: int
    step: str


@dataclass(frozen=True, slots=True)
class PastStep:
    """A step whose page is compared with the current one."""

    id: str
    screen: str
    key: str  # of its action; may be empty
    observation: str | None
    created_at: int


def find_repeated_failures(successes: Sequence[ScreenStep], failures: Sequence[ScreenStep]) -> list[RepeatedFailure]:
    """The actions that failed on a screen several times with the same code and never succeeded since."""
    last_success: dict[str, int] = {}
    for step in successes:
        last_success.setdefault(step.key, step.created_at)
    since = [step for step in failures if step.created_at > last_success.get(step.key, 0)]
    counts = Counter((step.key, step.error_code or "") for step in since if " " in step.key)
    newest = {(step.key, step.error_code or ""): step.id for step in reversed(since)}
    often = [(pair, count) for pair, count in counts.most_common() if count >= MIN_FAILURES]
    return [RepeatedFailure(key, code, count, newest[key, code]) for (key, code), count in often]


def to_avoids(reader: HistoryReader, failures: Sequence[RepeatedFailure]) -> tuple[Avoid, ...]:
    """The most frequent failures as they are returned."""
    most = failures[:MAX_AVOIDED]
    steps = reader.steps([each.step for each in most])
    return tuple(_to_avoid(each, steps[each.step]) for each in most)


def related_sessions(
    index: SessionIndex, similarities: Numbers, on_screen: Iterable[ScreenStep], now: int, window_hours: float
) -> tuple[RelatedSession, ...]:
    """Sessions of the last hours with a similar goal or a step on this screen; the newest and most similar first."""
    sessions, were_here = list(index.sessions.values()), {step.session_id for step in on_screen}
    window = max(window_hours, 1.0) * _HOUR
    ages = now - index.created
    recent = np.flatnonzero((ages <= window_hours * _HOUR) & (similarities >= 0)).tolist()
    related = [at for at in recent if similarities[at] >= RELATED_GOAL or sessions[at].id in were_here]
    scores = similarities * 0.5 ** (ages / window)
    best = sorted(related, key=lambda at: (-scores[at], ages[at], sessions[at].id))[:MAX_RELATED]
    return tuple(_to_related_session(sessions[at], float(similarities[at])) for at in best)


def similar_steps(
    reader: HistoryReader, on_screen: Iterable[ScreenStep], traces: Iterable[Trace], ids_on_screen: frozenset[str]
) -> tuple[SimilarStep, ...]:
    """Steps on pages like the current one, each action once; the most similar first, then the newest."""
    here = (PastStep(each.id, reader.screen, each.key, each.observation, each.created_at) for each in on_screen)
    elsewhere = (
        PastStep(each.id, each.screen, each.key, each.observation, each.created_at)
        for trace in traces
        for each in trace.actions
        if each.id not in ids_on_screen
    )
    steps = [*_distinct_actions(here, _COMPARED_HERE), *_distinct_actions(elsewhere, _COMPARED_ELSEWHERE)]
    best = _rank_by_page(reader, steps)[:MAX_SIMILAR]
    recorded = reader.steps([step.id for _, step in best])
    return tuple(_to_similar_step(recorded[step.id], points) for points, step in best)


def _rank_by_page(reader: HistoryReader, steps: Sequence[PastStep]) -> list[tuple[int, PastStep]]:
    """The steps on pages that have something in common with the current one, with their points, best first."""
    pages: Mapping[str, PageSignature] = reader.signatures(each.observation for each in steps if each.observation)
    unobserved = PageSignature()
    scored = [
        (
            similarity_points(
                reader.screen,
                reader.page,
                step.screen,
                pages.get(step.observation or "", unobserved),
                has_action=bool(step.key),
            ),
            step,
        )
        for step in steps
    ]
    similar = [(points, step) for points, step in scored if points]
    return sorted(similar, key=lambda each: (-each[0], -each[1].created_at, each[1].id))


def _distinct_actions(steps: Iterator[PastStep], most: int) -> list[PastStep]:
    """The first step of each action on each screen."""
    found: dict[tuple[str, str], PastStep] = {}
    for step in steps:
        found.setdefault((step.screen, step.key), step)
        if len(found) == most:
            break
    return list(found.values())


def _to_avoid(failure: RepeatedFailure, step: Step) -> Avoid:
    action = summarize_action(step.verb, step.target, step.input).capitalize()
    return Avoid(
        rationale=f"{action} failed {failure.count} times here with {failure.code} and has not succeeded since.",
        target=_without_ref(step),
        error_code=failure.code,
        frequency=failure.count,
        action=step.verb,
    )


def _to_related_session(info: SessionInfo, similarity: float) -> RelatedSession:
    return RelatedSession(info.id, to_datetime(info.created_at), info.goal, info.flow_tags, round(similarity, 3))


def _to_similar_step(step: Step, points: int) -> SimilarStep:
    named = {part: step.target[part] for part in ("role", "name") if step.target.get(part)}
    return SimilarStep(
        session_id=step.session_id,
        timestamp=step.timestamp,
        tool=step.tool,
        screen=step.screen,
        snippet=snippet(step),
        labels=step.labels,
        target=_without_ref(step),
        a11y_hint=named if len(named) == 2 else None,
        confidence=round(points / MAX_POINTS, 3),
    )


def _without_ref(step: Step) -> dict[str, str] | None:
    """The target of a step without its ref, which is no longer valid; None if nothing else is left."""
    return {part: value for part, value in step.target.items() if part != "a11yRef"} or None
