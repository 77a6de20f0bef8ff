"""What of a step matched a query, and a step in one line."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import lru_cache
from typing import Any

from athand.flows.model import UNKNOWN, FlowSession, Observation, Step
from athand.text import terms

LONGEST_SELECTOR = 30
MOST_MATCHES = 3

Wanted = Sequence[Set[str]]  # for each word of the query, the terms that stand for it
Field = tuple[str, str]  # as it is reported, and what of it is matched


def matched_fields(session: FlowSession, step: Step, wanted: Wanted) -> tuple[str, ...]:
    """The fields that have a word of the query, each once: the step's, its session's, then what else was visible."""
    seen = step.before or Observation()
    every = frozenset(term for word in wanted for term in word)
    nodes = [node for node in seen.a11y if not every.isdisjoint(_terms(str(node.get("name") or "")))]
    others = [each for each in seen.visible_test_ids if not every.isdisjoint(_terms(each))]
    named = (
        *(name for name, value in _of_step(step) if not every.isdisjoint(_terms(value))),
        *_first(wanted, ((_node(node), str(node["name"])) for node in nodes)),
        *(name for name, value in _of_session(session) if not every.isdisjoint(_terms(value))),
        *_first(wanted, ((f"visible:{each}", each) for each in others if each != step.target.get("testId"))),
    )
    return tuple(dict.fromkeys(named))


def snippet(step: Step, matched: Sequence[str] = ()) -> str:
    """A step in one line: what matched, its target, its labels, its screen, its error."""
    parts = [f"match: {', '.join(matched[:MOST_MATCHES])}"] if matched else []
    parts += _target(step.target)
    parts += [f"labels: {', '.join(step.labels)}"] if step.labels else []
    parts += [f"screen: {step.screen}"] if step.screen != UNKNOWN else []
    parts += [f"error: {step.error['code']}"] if step.error else []
    return ", ".join(parts) or step.tool


def _of_step(step: Step) -> Iterator[Field]:
    target = step.target
    yield f"tool:{step.tool}", step.verb
    if step.screen != UNKNOWN:
        yield f"screen:{step.screen}", step.screen
    yield from ((f"{kind}:{target[kind]}", target[kind]) for kind in ("testId", "selector") if kind in target)
    if "name" in target:
        yield _node(target), target["name"]
    yield from ((f"label:{label}", label) for label in step.labels)


def _of_session(session: FlowSession) -> Iterator[Field]:
    yield "goal", session.goal or ""
    yield from ((f"flowTag:{tag}", tag) for tag in session.flow_tags)
    yield from ((f"tag:{tag}", tag) for tag in session.tags)
    branch = str((session.git or {}).get("branch") or "")
    yield f"branch:{branch}", branch


def _node(node: Mapping[str, Any]) -> str:
    return f'a11y:{node.get("role", "")}:"{node.get("name", "")}"'


def _first(wanted: Wanted, fields: Iterable[Field]) -> list[str]:
    """For each word of the query the first that has it: a page has more of them than anyone would read."""
    listed = list(fields)
    found = (next((name for name, value in listed if not word.isdisjoint(_terms(value))), None) for word in wanted)
    return [name for name in found if name is not None]


@lru_cache(maxsize=1 << 14)  # the steps of a session see the same names again and again
def _terms(value: str) -> frozenset[str]:
    return frozenset(terms(value))


def _target(target: Mapping[str, str]) -> list[str]:
    """How the step's target is named: by what was used, in this order."""
    if "testId" in target:
        return [f"testId: {target['testId']}"]
    if "a11yRef" in target:
        return [f"ref: {target['a11yRef']}"]
    if "selector" in target:
        return [f"selector: {target['selector'][:LONGEST_SELECTOR]}"]
    return [f"name: {target['name']}"] if target.get("name") else []
