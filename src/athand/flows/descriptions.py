"""Steps in words: which of their fields match a query, a snippet for search results, and sentences for people. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import lru_cache
from typing import Any

from athand.flows.actions import IDENTIFYING_INPUTS, input_value, is_redacted
from athand.flows.model import UNKNOWN, FlowSession, Observation, Step, Target
from athand.text import terms

_MAX_SELECTOR = 30
_MAX_MATCHES = 3

QueryTerms = Sequence[Set[str]]  # for each word of the query, the terms that match it
Field = tuple[str, str]  # its name in the result, and the text that is matched


def matched_fields(session: FlowSession, step: Step, query: QueryTerms) -> tuple[str, ...]:
    """The fields that match a word of the query, each once: the step's, its session's, then what else was visible."""
    seen = step.before or Observation()
    every = frozenset(term for word in query for term in word)
    nodes = [node for node in seen.a11y if not every.isdisjoint(_terms(str(node.get("name") or "")))]
    others = [each for each in seen.visible_test_ids if not every.isdisjoint(_terms(each))]
    named = (
        *(name for name, value in _step_fields(step) if not every.isdisjoint(_terms(value))),
        *_first_match_per_word(query, ((_node_field(node), str(node["name"])) for node in nodes)),
        *(name for name, value in _session_fields(session) if not every.isdisjoint(_terms(value))),
        *_first_match_per_word(
            query, ((f"visible:{each}", each) for each in others if each != step.target.get("testId"))
        ),
    )
    return tuple(dict.fromkeys(named))


def snippet(step: Step, matched: Sequence[str] = ()) -> str:
    """One line about a step: matched fields, target, labels, screen, error."""
    parts = [f"match: {', '.join(matched[:_MAX_MATCHES])}"] if matched else []
    parts += _describe_target(step.target)
    parts += [f"labels: {', '.join(step.labels)}"] if step.labels else []
    parts += [f"screen: {step.screen}"] if step.screen != UNKNOWN else []
    parts += [f"error: {step.error['code']}"] if step.error else []
    return ", ".join(parts) or step.tool


def _step_fields(step: Step) -> Iterator[Field]:
    target = step.target
    yield f"tool:{step.tool}", step.verb
    if step.screen != UNKNOWN:
        yield f"screen:{step.screen}", step.screen
    yield from ((f"{kind}:{target[kind]}", target[kind]) for kind in ("testId", "selector") if kind in target)
    if "name" in target:
        yield _node_field(target), target["name"]
    yield from ((f'appeared:"{text}"', text) for text in step.appeared)
    yield from ((f"label:{label}", label) for label in step.labels)


def _session_fields(session: FlowSession) -> Iterator[Field]:
    yield "goal", session.goal or ""
    yield from ((f"flowTag:{tag}", tag) for tag in session.flow_tags)
    yield from ((f"tag:{tag}", tag) for tag in session.tags)
    branch = str((session.git or {}).get("branch") or "")
    yield f"branch:{branch}", branch


def _node_field(node: Mapping[str, Any]) -> str:
    return f'a11y:{node.get("role", "")}:"{node.get("name", "")}"'


def _first_match_per_word(query: QueryTerms, fields: Iterable[Field]) -> list[str]:
    """The first field that matches each word of the query: a page has too many to list all."""
    listed = list(fields)
    found = (next((name for name, value in listed if not word.isdisjoint(_terms(value))), None) for word in query)
    return [name for name in found if name is not None]


@lru_cache(maxsize=1 << 14)  # the steps of a session share most of their names
def _terms(value: str) -> frozenset[str]:
    return frozenset(terms(value))


def _describe_target(target: Mapping[str, str]) -> list[str]:
    """The target, by its test id, ref, selector or name."""
    if "testId" in target:
        return [f"testId: {target['testId']}"]
    if "a11yRef" in target:
        return [f"ref: {target['a11yRef']}"]
    if "selector" in target:
        return [f"selector: {target['selector'][:_MAX_SELECTOR]}"]
    return [f"name: {target['name']}"] if target.get("name") else []


def element_label(step: Step) -> str:
    """The name of a step's element for people: role and name, test id, or selector."""
    target = step.target
    name = f'{target.get("role") or "element"} "{target["name"]}"' if target.get("name") else ""
    return name or target.get("testId") or target.get("selector") or ""


def describe_action(step: Step) -> str:
    """An action in words, without typed text: `click button "Send"`."""
    value = input_value(step) if step.verb in ("press", "navigate") else None
    return " ".join(filter(None, (step.verb.replace("_", " "), value[1] if value else "", element_label(step))))


def describe_step(step: Step) -> str:
    """A step as a sentence: what was done, with which value, to which element, on which screen, and what came of it."""
    value, element = input_value(step), element_label(step) or step.target.get("a11yRef", "")
    words = [step.verb.replace("_", " ")]
    words += [repr(value[1])] if value else []
    words += ["into" if step.verb == "type" else "in"] if value and element else []
    words += [element] if element else []
    words += ["on", step.screen] if step.screen != UNKNOWN else []
    words += [f"(failed: {step.error['code']})"] if step.error else []
    words += [f'→ "{step.appeared[0]}"'] if step.appeared else []
    return " ".join(words)


def summarize_action(verb: str, target: Target, input: Mapping[str, Any]) -> str:
    """Verb, key or URL, and element in a few words, without secrets."""
    element = target.get("name") or target.get("testId") or target.get("selector") or ""
    value = str(input.get(IDENTIFYING_INPUTS.get(verb, ""), ""))
    return " ".join(filter(None, (verb, "" if is_redacted(value) else value, element)))
