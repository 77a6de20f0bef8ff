"""Builds a Playwright test from a recorded session, independent of the language it is written in. Pure."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import SplitResult, urlsplit

from athand.errors import InvalidInput
from athand.flows.actions import (
    ACTIONS,
    INPUT_VERBS,
    count_matches,
    find_node,
    input_value,
    is_redacted,
    locators,
    successful_actions,
)
from athand.flows.descriptions import describe_action
from athand.flows.model import TITLE, FlowSession, Observation, Step
from athand.flows.origins import origin_of
from athand.flows.screens import route_of
from athand.text import split_identifier
from athand.types import Noun

CHROMIUM_VARIABLE = "ATHAND_CHROMIUM"  # the environment variable with the path of the browser
EXTENSION_NOTE = "An extension was used: run this in a browser that has it loaded, with its address as BASE_URL."
_WEB_SCHEMES = ("http", "https", "chrome-extension")
_ELEMENT_ACTIONS = ("click", "type", "select", "hover")
_PICKER_TYPES = ("date", "time", "datetime-local", "month", "week", "color", "range")
_TAB_OPTIONS = {"index": int, "url": str, "title": str}  # how a tab may be named
_MAX_TYPED = 200  # characters that are typed key by key; longer texts are filled in
_REDACTED = "[redacted"
_TEXT_ROLE = "generic"  # a clickable element that has only its text


@dataclass(frozen=True, slots=True)
class ScriptValue(Noun):
    """A text, or the environment variable that holds it."""

    text: str = ""
    variable: str | None = None


@dataclass(frozen=True, slots=True)
class ScriptLocator(Noun):
    """How to find an element: `kind` is testId, selector, role or text; frames are selectors from the page down."""

    kind: str
    value: str
    name: str = ""
    frames: tuple[str, ...] = ()
    only_visible: bool = False  # hidden elements match too
    ignores_case: bool = False  # CSS may show the name in other case than the page has it


@dataclass(frozen=True, slots=True)
class ScriptAction(Noun):
    """One action of a test, and what it expects afterwards."""

    position: int
    comment: str
    verb: str
    locator: ScriptLocator | None = None
    argument: str = ""  # the name of the value: text, key, value, label or url
    value: ScriptValue | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    expected_url: str | None = None  # a regular expression
    expected_element: ScriptLocator | None = None
    expected_text: str | None = None  # a part of what became visible, in any case
    origin: str | None = None  # where a secret is typed: nowhere else


@dataclass(frozen=True, slots=True)
class Script(Noun):
    """A test independent of its language: title, start address and actions."""

    title: str
    name: str  # an identifier
    base: str  # the origin of its addresses; empty if they have none
    start: ScriptValue | None
    test_id_attribute: str
    actions: tuple[ScriptAction, ...]

    def relative_url(self, url: str) -> str | None:
        """An address relative to the base; None for one outside of it."""
        rest = url.removeprefix(self.base)
        return rest if self.base and rest != url and rest[:1] in ("", "/", "?", "#") else None

    @property
    def limits_origins(self) -> bool:
        """Whether it types secrets, each at its origin only."""
        return any(action.origin for action in self.actions)

    def is_base(self, origin: str) -> bool:
        """Whether an origin is that of the base."""
        return origin == origin_of(self.base)

    @property
    def needs_tabs(self) -> bool:
        """Whether it switches or closes tabs."""
        return any(action.verb in ("switch_tab", "close_tab") for action in self.actions)

    @property
    def needs_variables(self) -> bool:
        """Whether it reads values from environment variables."""
        values = (self.start, *(action.value for action in self.actions))
        return any(value is not None and value.variable for value in values)


def build_script(session: FlowSession, steps: Sequence[Step], test_id_attribute: str) -> Script:
    """The test of a session: its successful actions, each with what was seen after it."""
    actions = successful_actions(steps)
    if not actions:
        raise InvalidInput(f"Session {session.id} has no successful action: there is nothing to export.")
    start = _start_url(steps, actions[0])
    variables = _Variables()
    script_actions = [_build_action(step, _steps_after(step, steps), variables) for step in actions]
    return Script(
        title=session.goal or f"Session {session.id}",
        name="_".join(re.findall(r"[a-z0-9]+", " ".join(split_identifier(session.goal or ""))))[:60] or "session",
        base=_origin(start),
        start=None if actions[0].verb == "navigate" else variables.to_value("start url", start),
        test_id_attribute=test_id_attribute,
        actions=tuple(script_actions),
    )


def escape_unprintable(text: str, escape: Callable[[str], str]) -> str:
    """A text with unprintable characters escaped, so that nothing in it ends a line or is invisible."""
    return "".join(each if each.isprintable() else escape(each) for each in text)


def escape_pattern(text: str) -> str:
    """A text as a regular expression that is read alike by Python and JavaScript."""
    return re.sub(r"[\\^$.*+?()\[\]{}|/]", r"\\\g<0>", text)


class _Variables:
    """Environment variables for redacted values: one for each field."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def to_value(self, field: str, text: str) -> ScriptValue:
        """A text, or the variable that holds it if it was redacted."""
        return ScriptValue(variable=self._name(field)) if is_redacted(text) else ScriptValue(text)

    def _name(self, field: str) -> str:
        if field not in self._names:
            name = "FLOW_" + ("_".join(re.findall(r"[A-Z0-9]+", field.upper())) or "VALUE")
            same = sum(re.fullmatch(rf"{name}(_\d+)?", each) is not None for each in self._names.values())
            self._names[field] = f"{name}_{same + 1}" if same else name
        return self._names[field]


def _start_url(steps: Sequence[Step], first: Step) -> str:
    """The address of the first action, or the first address that the browser opened."""
    urls = [first.before.url if first.before else "", *(str(step.input.get("url") or "") for step in steps)]
    if first.verb == "navigate":
        urls = urls[1:]
    return next(filter(None, urls), "about:blank")


def _origin(url: str) -> str:
    parts = _split_url(url)
    return f"{parts.scheme}://{parts.netloc}" if parts.scheme in _WEB_SCHEMES and not is_redacted(url) else ""


def _split_url(url: str) -> SplitResult:
    """The parts of an address; empty ones for what is not an address."""
    try:
        return urlsplit(url)
    except ValueError:
        return urlsplit("")


def _build_action(step: Step, following: Sequence[Step], variables: _Variables) -> ScriptAction:
    after = following[0].before if following else None
    found = locators(step)
    if not found and (step.verb in _ELEMENT_ACTIONS or step.target):
        raise InvalidInput(
            f"Step {step.position} of session {step.session_id} ({step.verb}) was done to an element that cannot be "
            "found again: it had neither a test id, nor a selector, nor a role and name."
        )
    name, text = input_value(step) or ("", "")
    page = origin_of(step.before.url) if step.before and step.verb in INPUT_VERBS and is_redacted(text) else ""
    return ScriptAction(
        position=step.position,
        comment=f"{describe_action(step)} on {step.screen}",
        verb=step.verb,
        locator=_build_locator(found[0], step) if found else None,
        argument="label" if step.input.get("by") == "label" else name,
        value=variables.to_value(_field_name(step), text) if name else None,
        options=_action_options(step, text),
        expected_url=_expected_url(step, after),
        expected_element=_expected_element(step, after),
        expected_text=_expected_text(step, following),
        origin=page or None,
    )


def _field_name(step: Step) -> str:
    target = step.target
    return target.get("testId") or target.get("name") or target.get("selector") or step.verb


def _build_locator(recorded: Mapping[str, str], step: Step) -> ScriptLocator:
    kind = next(iter(recorded))
    node = find_node(step.target, step.before) or {}
    frames = tuple(node.get("frame") or ())
    if recorded.get("role") == _TEXT_ROLE:
        return ScriptLocator("text", recorded["name"], frames=frames)
    is_repeated = step.before is not None and "testId" in recorded and _is_repeated(recorded["testId"], step.before)
    if kind == "role":
        return _role_locator(recorded["role"], recorded["name"], node, frames)
    return ScriptLocator(kind, recorded[kind], recorded.get("name", ""), frames, only_visible=is_repeated)


def _role_locator(role: str, name: str, node: Mapping[str, Any], frames: tuple[str, ...] = ()) -> ScriptLocator:
    """By role, and the name as the page has it; where that was not recorded, capitals may come from CSS."""
    written = str(node.get("written") or "")
    return ScriptLocator("role", role, written or name, frames, ignores_case=not written and name.isupper())


def _is_repeated(test_id: str, seen: Observation) -> bool:
    """Whether several elements have the test id, hidden ones among them."""
    return [each["testId"] for each in seen.test_ids].count(test_id) > 1


def _action_options(step: Step, text: str) -> Mapping[str, Any]:
    """The arguments of the recorded tool call beyond the value."""
    node = find_node(step.target, step.before) or {}
    is_filled = len(text) > _MAX_TYPED or node.get("inputType") in _PICKER_TYPES
    tab = {name: step.input[name] for name, kind in _TAB_OPTIONS.items() if isinstance(step.input.get(name), kind)}
    clear, submit = step.input.get("clear", True), step.input.get("submit", False)
    return {**tab, "clear": clear, "submit": submit, "fill": is_filled}


def _steps_after(step: Step, steps: Sequence[Step]) -> list[Step]:
    """The steps after an action up to the next one, which is the last of them."""
    after = sorted((each for each in steps if each.position > step.position), key=lambda each: each.position)
    until = next((at for at, each in enumerate(after) if each.verb in ACTIONS), len(after))
    return after[: until + 1] if after and after[0].position == step.position + 1 else []


def _expected_url(step: Step, after: Observation | None) -> str | None:
    """A regular expression for the address if the action changed it; ids in the path match anything."""
    if after is None or is_redacted(after.url) or _split_url(after.url).scheme not in (*_WEB_SCHEMES, "file"):
        return None
    is_same = step.before is not None and route_of(step.before.url) == route_of(after.url)
    return None if is_same else _url_pattern(after.url)


def _url_pattern(url: str) -> str:
    parts = _split_url(url)
    if not parts.fragment.startswith(("/", "!/")):
        return f"{_path_pattern(parts.path or '/')}([?#].*)?$"
    route = parts.fragment.partition("?")[0]
    return rf"{_path_pattern(parts.path or '/')}(\?[^#]*)?#{_path_pattern(route)}([?&].*)?$"


def _path_pattern(path: str) -> str:
    return "/".join("[^/?#]+" if _is_id(each) else re.sub(r"[^\w%~-]", r"\\\g<0>", each) for each in path.split("/"))


def _is_id(segment: str) -> bool:
    return ":id" in route_of(f"http://host/{segment}") if segment else False


def _expected_element(step: Step, after: Observation | None) -> ScriptLocator | None:
    """A test id or heading that is new on another screen, and without digits in its name."""
    if after is None or step.before is None or after.screen == step.screen or step.verb == "close_tab":
        return None
    reached = {node.get("testId") for node in after.a11y if not node.get("frame")} if after.a11y else None
    new = [each for each in after.visible_test_ids if each not in step.before.visible_test_ids]
    new_ids = (
        each
        for each in new
        if (reached is None or each in reached)
        and not _has_digits(each)
        and count_matches({"testId": each}, after) == 1
    )
    if (test_id := next(new_ids, None)) is not None:
        return ScriptLocator("testId", test_id, only_visible=_is_repeated(test_id, after))
    before = {node.get("name") for node in step.before.a11y}
    names = (
        str(node.get("name", "")) for node in after.a11y if node.get("role") == "heading" and not node.get("frame")
    )
    headings = (
        name for name in names if name and name not in before and not _has_digits(name) and not is_redacted(name)
    )
    heading = next((name for name in headings if count_matches({"role": "heading", "name": name}, after) == 1), None)
    if heading is None:
        return None
    node = next(node for node in after.a11y if node.get("role") == "heading" and node.get("name") == heading)
    return _role_locator("heading", heading, node)


def _expected_text(step: Step, following: Sequence[Step]) -> str | None:
    """A text that the action made visible, at once or until the next action; of none whose place is unclear."""
    looks = [each for each in following if each.verb not in ACTIONS]
    texts = (text for each in (step, *looks) for text in each.appeared)
    seen = following[0].before if following else None
    if step.verb == "close_tab" or seen is None or any(node.get("frame") for node in seen.a11y):
        return None
    return next((text for text in texts if _is_lasting(text)), None)


def _is_lasting(text: str) -> bool:
    """Whether a text will be on the page again: not the title, and without data such as a time or a secret."""
    return not text.startswith(TITLE) and not _has_digits(text) and not is_redacted(text) and _REDACTED not in text


def _has_digits(text: str) -> bool:
    return any(map(str.isdigit, text))
