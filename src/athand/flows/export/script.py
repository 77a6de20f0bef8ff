"""A session as a Playwright test: what is done, where, with what, and what is to be seen then. Pure.

The plan is the same for all languages; each of them only writes it down.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import SplitResult, urlsplit

from athand.errors import InvalidInput
from athand.flows.actions import node_of
from athand.flows.export import python, typescript
from athand.flows.export.source import Deed, Place, Script, Value
from athand.flows.model import FlowSession, Observation, Step
from athand.flows.moves import actions_of, count, given, in_words, is_masked, ways
from athand.flows.screens import path_of
from athand.text import split_identifier

LANGUAGES = ("python", "typescript")
_WRITERS = {"python": python.written, "typescript": typescript.written}
_WEB = ("http", "https", "chrome-extension")
_TARGETED = ("click", "type", "select")
_WRITTEN_AT_ONCE = ("date", "time", "datetime-local", "month", "week", "color", "range")
_TABS = {"index": int, "url": str, "title": str}  # how a tab may be named
_LONG_TEXT = 200
_NO_ROLE = "generic"  # something to click that says nothing but its text


def export_script(
    session: FlowSession, steps: Sequence[Step], language: str, *, test_id_attribute: str = "data-testid"
) -> str:
    """A test that does what the session did, in its own words nothing but data."""
    actions = actions_of(steps)
    if not actions:
        raise InvalidInput(f"Session {session.id} has no action that worked: there is nothing to export.")
    start = _start(steps, actions[0])
    names = _Names()
    deeds = [_deed(step, _seen_after(step, steps), names) for step in actions]
    script = Script(
        title=session.goal or f"Session {session.id}",
        name="_".join(re.findall(r"[a-z0-9]+", " ".join(split_identifier(session.goal or ""))))[:60] or "session",
        base=_origin(start),
        start=None if actions[0].verb == "navigate" else names.value("start url", start),
        attribute=test_id_attribute,
        deeds=tuple(deeds),
    )
    return _WRITERS[language](script)


class _Names:
    """The environment variables that hold what the session does not: one for each field."""

    def __init__(self) -> None:
        self._fields: dict[str, str] = {}

    def value(self, field: str, text: str) -> Value:
        """A text, or the variable that has it where it was secret."""
        return Value(variable=self._of(field)) if is_masked(text) else Value(text)

    def _of(self, field: str) -> str:
        if field not in self._fields:
            name = "FLOW_" + ("_".join(re.findall(r"[A-Z0-9]+", field.upper())) or "VALUE")
            taken = sum(re.fullmatch(rf"{name}(_\d+)?", each) is not None for each in self._fields.values())
            self._fields[field] = f"{name}_{taken + 1}" if taken else name
        return self._fields[field]


def _start(steps: Sequence[Step], first: Step) -> str:
    """Where the first action was done, or where the browser was sent at first."""
    urls = [first.before.url if first.before else "", *(str(step.input.get("url") or "") for step in steps)]
    if first.verb == "navigate":
        urls = urls[1:]
    return next(filter(None, urls), "about:blank")


def _origin(url: str) -> str:
    parts = _split(url)
    return f"{parts.scheme}://{parts.netloc}" if parts.scheme in _WEB and not is_masked(url) else ""


def _split(url: str) -> SplitResult:
    """The parts of an address; what is none has none."""
    try:
        return urlsplit(url)
    except ValueError:
        return urlsplit("")


def _deed(step: Step, after: Observation | None, names: _Names) -> Deed:
    found = ways(step)
    if not found and (step.verb in _TARGETED or step.target):
        raise InvalidInput(
            f"Step {step.position} of session {step.session_id} ({step.verb}) was done to an element that cannot be "
            "found again: it had neither a test id, nor a selector, nor a role and name."
        )
    name, text = given(step) or ("", "")
    return Deed(
        position=step.position,
        words=f"{in_words(step)} on {step.screen}",
        verb=step.verb,
        place=_place(found[0], step) if found else None,
        argument="label" if step.input.get("by") == "label" else name,
        value=names.value(_field(step), text) if name else None,
        options=_options(step, text),
        url=_expected_url(step, after),
        shown=_expected_place(step, after),
    )


def _field(step: Step) -> str:
    target = step.target
    return target.get("testId") or target.get("name") or target.get("selector") or step.verb


def _place(way: dict[str, str], step: Step) -> Place:
    kind = next(iter(way))
    node = node_of(step.target, step.before) or {}
    frames = tuple(node.get("frame") or ())
    if way.get("role") == _NO_ROLE:
        return Place("text", way["name"], frames=frames)
    several = step.before is not None and "testId" in way and _is_several(way["testId"], step.before)
    return Place(kind, way[kind], way.get("name", ""), frames, only_visible=several)


def _is_several(test_id: str, seen: Observation) -> bool:
    """Whether others that cannot be seen have the test id too."""
    return [each["testId"] for each in seen.test_ids].count(test_id) > 1


def _options(step: Step, text: str) -> Mapping[str, Any]:
    """How it was done, beyond the value."""
    node = node_of(step.target, step.before) or {}
    at_once = len(text) > _LONG_TEXT or node.get("inputType") in _WRITTEN_AT_ONCE
    kept = {name: step.input[name] for name, kind in _TABS.items() if isinstance(step.input.get(name), kind)}
    return {**kept, "clear": step.input.get("clear", True), "submit": step.input.get("submit", False), "fill": at_once}


def _seen_after(step: Step, steps: Sequence[Step]) -> Observation | None:
    """What the next step saw."""
    return next((each.before for each in steps if each.position == step.position + 1), None)


def _expected_url(step: Step, after: Observation | None) -> str | None:
    """A pattern for the address, where the action led to another; data in it may be any."""
    if after is None or is_masked(after.url) or _split(after.url).scheme not in (*_WEB, "file"):
        return None
    is_same = step.before is not None and path_of(step.before.url) == path_of(after.url)
    return None if is_same else _pattern(after.url)


def _pattern(url: str) -> str:
    parts = _split(url)
    if not parts.fragment.startswith(("/", "!/")):
        return f"{_segments(parts.path or '/')}([?#].*)?$"
    route = parts.fragment.partition("?")[0]
    return rf"{_segments(parts.path or '/')}(\?[^#]*)?#{_segments(route)}([?&].*)?$"


def _segments(path: str) -> str:
    return "/".join("[^/?#]+" if _is_data(each) else re.sub(r"[^\w%~-]", r"\\\g<0>", each) for each in path.split("/"))


def _is_data(segment: str) -> bool:
    return ":id" in path_of(f"http://host/{segment}") if segment else False


def _expected_place(step: Step, after: Observation | None) -> Place | None:
    """An element that came with another screen, and has no data in its name."""
    if after is None or step.before is None or after.screen == step.screen or step.verb == "close_tab":
        return None
    reached = {node.get("testId") for node in after.a11y if not node.get("frame")} if after.a11y else None
    new = [each for each in after.visible_test_ids if each not in step.before.visible_test_ids]
    new_ids = (
        each
        for each in new
        if (reached is None or each in reached) and not _has_digits(each) and count({"testId": each}, after) == 1
    )
    if (test_id := next(new_ids, None)) is not None:
        return Place("testId", test_id, only_visible=_is_several(test_id, after))
    before = {node.get("name") for node in step.before.a11y}
    names = (
        str(node.get("name", "")) for node in after.a11y if node.get("role") == "heading" and not node.get("frame")
    )
    headings = (name for name in names if name and name not in before and not _has_digits(name) and not is_masked(name))
    heading = next((name for name in headings if count({"role": "heading", "name": name}, after) == 1), None)
    return None if heading is None else Place("role", "heading", heading)


def _has_digits(text: str) -> bool:
    return any(map(str.isdigit, text))
