"""How often prior knowledge says what comes next, and how well it knows that it does.

python -m benchmarks.flows_next [tune]: simulated sessions of three apps that nothing was tuned on (or the three that it
was); each session is asked for as if it were the only one that is new, before each of its steps and at its end.
"""

import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from athand.app import SCHEMAS
from athand.embed import LazyEmbedder
from athand.flows import Flows, rows
from athand.flows.actions import ACTIONS, action_key
from athand.flows.model import FlowSession, Observation, Step, SuggestedAction
from athand.flows.prediction.predict import build_prior_knowledge
from athand.flows.record import ToolCall, prepare_step, write_step
from athand.store import open_store, to_microseconds
from benchmarks.flow_walks import FOR_REPORT, FOR_TUNING, App, Simulated, sessions

SESSIONS = (15, 60)  # of an app
NOW = datetime(2026, 3, 1, tzinfo=UTC)
BINS = 10


@dataclass(frozen=True)
class Outcome:
    """One suggestion: its rank, its confidence, and whether this is what came next."""

    rank: int
    confidence: float
    is_next: bool


@dataclass(frozen=True)
class Asked:
    """One moment of a session: what was suggested, and whether there was a next step at all."""

    outcomes: Sequence[Outcome]
    has_next: bool
    baseline: bool  # the most frequent action on the screen is what came next
    value: bool | None  # the value that the goal names was offered, where there is one


def new_flows(location: str = ":memory:") -> Flows:
    """A store and a clock that stands still."""
    return Flows(open_store(location, SCHEMAS), LazyEmbedder("athand-static-1"), clock=lambda: NOW)


def keep(flows: Flows, app: str, simulated: Sequence[Simulated]) -> None:
    """Record sessions, one a day."""
    with flows.store.transaction() as transaction:
        for at, each in enumerate(simulated):
            begun = NOW - timedelta(days=len(simulated) - at)
            session = FlowSession(f"{app}-{at}", app, begun, each.goal, app_version=each.version)
            rows.insert_row(transaction, "flows", rows.session_row(session, to_microseconds(begun)))
            for call in _calls(each, begun):
                write_step(transaction, prepare_step(flows, session, call), NOW)


def _calls(simulated: Simulated, begun: datetime) -> Iterator[ToolCall]:
    yield ToolCall("ui_launch", {}, {}, None, None, timestamp=begun)
    for at, step in enumerate(simulated.steps, 1):
        error = None if step.ok else {"code": "TIMEOUT", "message": "It did not come."}
        yield ToolCall(
            f"ui_{step.verb}", step.target, step.given, error, step.before, timestamp=begun + timedelta(seconds=at)
        )


def ask(flows: Flows, app: str) -> Iterator[Asked]:
    """Every moment of every session."""
    with flows.store.snapshot() as snapshot:
        found = snapshot.rows(f"SELECT {rows.SESSION_COLUMNS} FROM flows WHERE space = :app ORDER BY id", {"app": app})
        every = [(session, rows.read_steps(snapshot, session)) for session in map(rows.to_session, found)]
    frequent = _frequencies(every)
    for session, steps in every:
        for before, after in zip(steps, [*steps[1:], None], strict=True):
            if before.ok and (after is None or after.ok):  # what just failed is not suggested again, by rule
                seen = after.before if after else _last_seen(steps)
                yield _moment(flows, session, before, after, seen, frequent)


def _last_seen(steps: Sequence[Step]) -> Observation:
    return steps[-1].before or Observation()


def _moment(
    flows: Flows,
    session: FlowSession,
    before: Step,
    after: Step | None,
    seen: Observation | None,
    frequent: Any,
) -> Asked:
    found = build_prior_knowledge(flows, session, seen or Observation(), before)
    some = found.suggested_next_actions if found else ()
    outcomes = [Outcome(each.rank, each.confidence, is_next(each, after)) for each in some]
    if after is None:
        return Asked(outcomes, has_next=False, baseline=False, value=None)
    counts = frequent[after.screen] - frequent[after.screen, session.id]
    best = max(counts, key=lambda key: (counts[key], key), default="")
    return Asked(outcomes, True, best == _key(after), _value(session, after, some))


def _key(step: Step) -> str:
    return action_key(step.verb, step.target, step.input)


def _frequencies(every: Sequence[tuple[FlowSession, Sequence[Step]]]) -> dict[Any, Counter[str]]:
    found: dict[Any, Counter[str]] = defaultdict(Counter)
    for session, steps in every:
        for step in steps:
            if step.ok and step.verb in ACTIONS:
                found[step.screen][_key(step)] += 1
                found[step.screen, session.id][_key(step)] += 1
    return found


def is_next(suggested: SuggestedAction, step: Step | None) -> bool:
    """Whether a suggestion is the step that was done: the same action, on a target that it names."""
    if step is None or suggested.action != step.verb:
        return False
    given = {"select": "value", "press": "key", "navigate": "url"}.get(step.verb)
    if given and (suggested.input or {}).get(given) != step.input.get(given):
        return False
    named = {part: step.target[part] for part in ("role", "name") if part in step.target}
    ways = filter(None, (suggested.preferred_target, *suggested.fallback_targets))
    return any(way.value in (step.target.get(way.type), named) for way in ways) or not (
        step.target or suggested.preferred_target
    )


def _value(session: FlowSession, step: Step, some: Sequence[SuggestedAction]) -> bool | None:
    text = step.input.get("text")
    if step.verb != "type" or not text or text not in (session.goal or ""):
        return None
    return any(is_next(each, step) and (each.input or {}).get("text") == text for each in some)


def measures(asked: Sequence[Asked]) -> dict[str, Any]:
    """Top 1, top 3, the baseline, and how far confidence is from what happens."""
    steps = [each for each in asked if each.has_next]
    values = [each.value for each in steps if each.value is not None]
    outcomes = [outcome for each in asked for outcome in each.outcomes]
    table = reliability(outcomes)
    gap = sum(number * abs(confidence - share) for confidence, share, number in table) / max(1, len(outcomes))
    return {
        "moments": len(asked),
        "top-1": _share(any(one.is_next and one.rank == 1 for one in each.outcomes) for each in steps),
        "top-3": _share(any(one.is_next and one.rank <= 3 for one in each.outcomes) for each in steps),
        "frequency per screen, top-1": _share(each.baseline for each in steps),
        "values offered": _share(values),
        "calibration error": gap,
        "reliability": table,
    }


def _share(some: Any) -> float:
    listed = list(map(float, some))
    return sum(listed) / max(1, len(listed))


def reliability(outcomes: Sequence[Outcome]) -> list[tuple[float, float, int]]:
    """For each tenth of confidence: the mean confidence, the share that came next, and how many there are."""
    bins: dict[int, list[Outcome]] = defaultdict(list)
    for each in outcomes:
        bins[min(BINS - 1, int(each.confidence * BINS))].append(each)
    return [
        (_share(each.confidence for each in some), _share(each.is_next for each in some), len(some))
        for _, some in sorted(bins.items())
    ]


def run(apps: Sequence[App] = FOR_REPORT, seed: int = 1) -> dict[str, Any]:
    """The measures over some apps, by how many sessions each has."""
    found = {}
    for number in SESSIONS:
        asked: list[Asked] = []
        for app in apps:
            flows = new_flows()
            keep(flows, app.name, sessions(app, number, seed))
            asked += ask(flows, app.name)
            flows.store.close()
        found[f"{number} sessions per app"] = measures(asked)
    return found


def main() -> None:
    for name, measured in run(FOR_TUNING if "tune" in sys.argv[1:] else FOR_REPORT).items():
        print(f"\n{name}")
        for measure, value in measured.items():
            if measure != "reliability":
                print(f"  {measure:30} {value:.3f}" if isinstance(value, float) else f"  {measure:30} {value}")
        for confidence, share, number in measured["reliability"]:
            print(f"    confidence {confidence:.2f}   came next {share:.2f}   of {number}")


if __name__ == "__main__":
    main()
