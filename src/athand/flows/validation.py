"""Validation of what callers record: each function returns the checked value or raises InvalidInput."""

import json
import reprlib
from collections.abc import Iterable, Mapping
from typing import Any

from athand.errors import InvalidInput
from athand.flows.model import TARGETS, Observation
from athand.inputs import check_name, check_text
from athand.redaction import refuse_secret
from athand.text_length import shorten
from athand.types import plain

_short_repr = reprlib.Repr().repr
MAX_TEXT = 10_000  # characters of one text
MAX_TEXTS = 20  # that appeared after one step
MAX_ELEMENTS = 5_000  # test ids, or nodes, of one observation
TARGET_ALIASES = {"test_id": "testId", "a11y_ref": "a11yRef", "ref": "a11yRef"}  # other names of parts of a target
_MAX_ID = 200  # bytes: an id is also the name of a folder
_MAX_PATH = 4_096
_MAX_VALUE = 1e15
_MAX_JSON = 2_000_000  # characters of JSON
_MAX_DEPTH = 50  # nested objects and lists
_TEXT_KEYS = ("ref", "role", "name", "testId", "selector", "tag", "text", "htmlName", "inputType", "autocomplete")
_LIST_KEYS = ("path", "frame", "options")


def check_id(what: str, value: object) -> str:
    """An id of a session or app: a name that is no path."""
    name = refuse_secret(what, check_name(what, value))
    if name.startswith(".") or any(character in name for character in "/\\:\0") or not name.isprintable():
        raise InvalidInput(f"{what} {name!r} looks like a path. Use letters, digits, - and _.", code="BAD_ID")
    if len(name.encode("utf-8")) > _MAX_ID:
        raise InvalidInput(f"{what} {name[:20]!r}… is too long: at most {_MAX_ID} bytes fit.", code="BAD_ID")
    return name


def check_path(what: str, value: object) -> str:
    """A path of a file; it is not opened."""
    path = check_text(what, str(value), longest=_MAX_PATH)
    if not path.isprintable():
        raise InvalidInput(f"{what} {path!r} has control characters in it. Leave them out.")
    return path


def check_target(value: object) -> dict[str, str]:
    """A target: how the element was located, and its role and name."""
    given = check_mapping("target", value)
    named = {TARGET_ALIASES.get(str(key), str(key)): each for key, each in given.items() if each is not None}
    unknown = sorted(set(named) - set(TARGETS))
    if unknown:
        raise InvalidInput(f"target has unknown parts: {', '.join(unknown)}. Known: {', '.join(TARGETS)}.")
    for key, each in named.items():
        if not isinstance(each, str) or (key != "name" and not each):
            raise InvalidInput(f"The {key} of a target must be text, not {_short_repr(each)}.")
    if "role" in named and "name" not in named:
        raise InvalidInput("A target by role needs a name too.")
    return {key: to_storable(each) for key, each in named.items()}


def check_error(value: object, *, ok: bool) -> dict[str, Any] | None:
    """The error of a failed step, with code and message; None for a successful one."""
    if not isinstance(ok, bool):
        raise InvalidInput(f"ok must be True or False, not {_short_repr(ok)}.")
    if ok:
        if value is not None:
            raise InvalidInput("A step that went well has no error. Say ok=False, or leave the error out.")
        return None
    given = check_mapping("error", value)
    code = given.pop("code", None) or "FAILED"
    message = given.pop("message", None) or ""
    return {
        "code": check_name("error code", code),
        "message": to_storable(str(message)),
        **check_json_object("error", given),
    }


def check_observation(value: object) -> Observation | None:
    """An observation, given as such or as a dictionary."""
    if value is None:
        return None
    if isinstance(value, Mapping):
        known = {"screen", "url", "test_ids", "testIds", "a11y"}
        if unknown := sorted(set(map(str, value)) - known):
            raise InvalidInput(f"An observation has no {', '.join(unknown)}. Known: {', '.join(sorted(known))}.")
        value = Observation(
            value.get("screen"),
            value.get("url") or "",
            value.get("test_ids") or value.get("testIds") or (),
            value.get("a11y") or (),
        )
    if not isinstance(value, Observation):
        raise InvalidInput(f"before must be an Observation, not {type(value).__name__}.")
    return Observation(
        None if value.screen is None else check_name("screen", value.screen),
        to_storable(check_string("url", value.url)),
        tuple(_check_elements("test_ids", "testId", value.test_ids)),
        tuple(_check_elements("a11y", "role", value.a11y)),
    )


def _check_elements(what: str, needed: str, values: object) -> Iterable[Mapping[str, Any]]:
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise InvalidInput(f"{what} must be a list, not {_short_repr(values)}.")
    listed = list(values)
    if len(listed) > MAX_ELEMENTS:
        raise InvalidInput(
            f"{what} has {len(listed):,} entries; at most {MAX_ELEMENTS:,} are kept. Leave out the rest."
        )
    for each in listed:
        if not isinstance(each, Mapping) or not isinstance(each.get(needed), str):
            raise InvalidInput(f"Every entry of {what} needs a {needed}, and {_short_repr(each)} has none.")
        yield _check_element(what, check_json_object(what, each))


def _check_element(what: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """A test id or node with the types of its known parts checked, without parts that are None."""
    for key, value in given.items():
        is_texts = isinstance(value, list) and all(isinstance(each, str) for each in value)
        if value is not None and (
            (key in _TEXT_KEYS and not isinstance(value, str)) or (key in _LIST_KEYS and not is_texts)
        ):
            raise InvalidInput(f"The {key} of an entry of {what} must be {'texts' if key in _LIST_KEYS else 'text'}.")
    return {key: value for key, value in given.items() if value is not None}


def check_mapping(what: str, value: object) -> dict[str, Any]:
    """A dictionary; an empty one for None."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{what} must be a dictionary, not {type(value).__name__}.")
    return dict(value)


def check_string(what: str, value: object) -> str:
    """A text that may be empty."""
    if not isinstance(value, str):
        raise InvalidInput(f"{what} must be text, not {type(value).__name__}.")
    return value


def check_texts(what: str, values: object) -> tuple[str, ...]:
    """A few texts, each cut at what is kept."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise InvalidInput(f"{what} must be a list of texts, not {_short_repr(values)}.")
    listed = list(values)
    if len(listed) > MAX_TEXTS or not all(isinstance(each, str) for each in listed):
        raise InvalidInput(f"{what} must be a list of at most {MAX_TEXTS} texts, not {_short_repr(listed)}.")
    return tuple(to_storable(check_string(what, each)) for each in listed)


def check_number(what: str, value: object) -> float | None:
    """A number of zero or more, or None."""
    if value is None:
        return None
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value <= _MAX_VALUE:
        raise InvalidInput(f"{what} must be a number from 0 to {_MAX_VALUE:g}.")
    return float(value)


def check_json_object(what: str, value: object) -> dict[str, Any]:
    """A dictionary of JSON values with storable texts."""
    given = check_mapping(what, value)
    try:
        shown = plain(given)
        if len(json.dumps(shown, allow_nan=False)) > _MAX_JSON:
            raise ValueError(f"it has more than {_MAX_JSON:,} characters")
        storable: dict[str, Any] = _make_storable(shown, _MAX_DEPTH)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"{what} cannot be kept as JSON: {error}.") from error
    return storable


def _make_storable(value: Any, depth: int) -> Any:
    if not depth:
        raise ValueError(f"it has more than {_MAX_DEPTH} nested objects and lists")
    if isinstance(value, str):
        return to_storable(value)
    if isinstance(value, dict):
        return {to_storable(key): _make_storable(each, depth - 1) for key, each in value.items()}
    return [_make_storable(each, depth - 1) for each in value] if isinstance(value, list) else value


def to_storable(text: str) -> str:
    """A text without NUL and lone surrogates, cut to the maximum length."""
    if text.isascii() and "\0" not in text and len(text) <= MAX_TEXT:
        return text
    return shorten(text, MAX_TEXT).replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode("utf-8")


def check_tool(value: object) -> str:
    """The name of a tool."""
    return refuse_secret("tool", check_name("tool", check_text("tool", value)))
