"""Checks of what callers record: each returns the clean value, or says what is wrong with it."""

import json
import reprlib
from collections.abc import Iterable, Mapping
from typing import Any

from athand.errors import InvalidInput
from athand.flows.model import TARGETS, Observation
from athand.inputs import check_name, check_text
from athand.types import plain

brief = reprlib.Repr().repr
LONGEST_VALUE = 10_000  # characters of one text that was typed, seen or said
MOST_SEEN = 5_000  # test ids, or nodes, of one observation
NAMES = {"test_id": "testId", "a11y_ref": "a11yRef", "ref": "a11yRef"}  # other words for parts of a target
_LONGEST_ID = 200  # bytes, so that a folder can have it as its name
_LONGEST_PATH = 4_096
_LARGEST_NUMBER = 1e15
_LARGEST_MAPPING = 2_000_000  # characters of JSON
_DEEPEST = 50  # objects and lists in one another
_TEXTS = ("ref", "role", "name", "testId", "selector", "tag", "text", "htmlName", "inputType", "autocomplete")
_LISTS = ("path", "frame", "options")


def check_id(what: str, value: object) -> str:
    """An id of a session: a name that can never be a path."""
    name = check_name(what, value)
    if name.startswith(".") or any(character in name for character in "/\\:\0") or not name.isprintable():
        raise InvalidInput(f"{what} {name!r} looks like a path. Use letters, digits, - and _.", code="BAD_ID")
    if len(name.encode("utf-8")) > _LONGEST_ID:
        raise InvalidInput(f"{what} {name[:20]!r}… is too long: at most {_LONGEST_ID} bytes fit.", code="BAD_ID")
    return name


def check_path(what: str, value: object) -> str:
    """Where a file is; it is only told, never opened."""
    path = check_text(what, str(value), longest=_LONGEST_PATH)
    if not path.isprintable():
        raise InvalidInput(f"{what} {path!r} has control characters in it. Leave them out.")
    return path


def check_target(value: object) -> dict[str, str]:
    """A target of a record: what was used, and what it resolved to."""
    given = check_mapping("target", value)
    named = {NAMES.get(str(key), str(key)): each for key, each in given.items() if each is not None}
    unknown = sorted(set(named) - set(TARGETS))
    if unknown:
        raise InvalidInput(f"target has unknown parts: {', '.join(unknown)}. Known: {', '.join(TARGETS)}.")
    for key, each in named.items():
        if not isinstance(each, str) or (key != "name" and not each):
            raise InvalidInput(f"The {key} of a target must be text, not {brief(each)}.")
    if "role" in named and "name" not in named:
        raise InvalidInput("A target by role needs a name too.")
    return {key: storable(each) for key, each in named.items()}


def check_error(value: object, *, ok: bool) -> dict[str, Any] | None:
    """The error of a failed step, with code and message; none of one that went well."""
    if not isinstance(ok, bool):
        raise InvalidInput(f"ok must be True or False, not {brief(ok)}.")
    if ok:
        if value is not None:
            raise InvalidInput("A step that went well has no error. Say ok=False, or leave the error out.")
        return None
    given = check_mapping("error", value)
    code = given.pop("code", None) or "FAILED"
    message = given.pop("message", None) or ""
    return {"code": check_name("error code", code), "message": storable(str(message)), **plain_mapping("error", given)}


def check_observation(value: object) -> Observation | None:
    """What was seen, each part as it should be; also as a dictionary."""
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
        storable(check_string("url", value.url)),
        tuple(_seen("test_ids", "testId", value.test_ids)),
        tuple(_seen("a11y", "role", value.a11y)),
    )


def _seen(what: str, needed: str, values: object) -> Iterable[Mapping[str, Any]]:
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise InvalidInput(f"{what} must be a list, not {brief(values)}.")
    listed = list(values)
    if len(listed) > MOST_SEEN:
        raise InvalidInput(f"{what} has {len(listed):,} entries; at most {MOST_SEEN:,} are kept. Leave out the rest.")
    for each in listed:
        if not isinstance(each, Mapping) or not isinstance(each.get(needed), str):
            raise InvalidInput(f"Every entry of {what} needs a {needed}, and {brief(each)} has none.")
        yield _entry(what, plain_mapping(what, each))


def _entry(what: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """A test id or a node whose known parts are what they should be; what is None is not there."""
    for key, value in given.items():
        is_texts = isinstance(value, list) and all(isinstance(each, str) for each in value)
        if value is not None and ((key in _TEXTS and not isinstance(value, str)) or (key in _LISTS and not is_texts)):
            raise InvalidInput(f"The {key} of an entry of {what} must be {'texts' if key in _LISTS else 'text'}.")
    return {key: value for key, value in given.items() if value is not None}


def check_mapping(what: str, value: object) -> dict[str, Any]:
    """A dictionary; None is an empty one."""
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


def check_number(what: str, value: object) -> float | None:
    """A number of zero or more, or none."""
    if value is None:
        return None
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value <= _LARGEST_NUMBER:
        raise InvalidInput(f"{what} must be a number from 0 to {_LARGEST_NUMBER:g}.")
    return float(value)


def plain_mapping(what: str, value: object) -> dict[str, Any]:
    """A dictionary of what JSON can hold; texts that no store could keep are mended, long ones cut."""
    given = check_mapping(what, value)
    try:
        shown = plain(given)
        if len(json.dumps(shown, allow_nan=False)) > _LARGEST_MAPPING:
            raise ValueError(f"it has more than {_LARGEST_MAPPING:,} characters")
        mended: dict[str, Any] = _mended(shown, _DEEPEST)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"{what} cannot be kept as JSON: {error}.") from error
    return mended


def _mended(value: Any, depth: int) -> Any:
    if not depth:
        raise ValueError(f"it has more than {_DEEPEST} objects and lists in one another")
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, dict):
        return {storable(key): _mended(each, depth - 1) for key, each in value.items()}
    return [_mended(each, depth - 1) for each in value] if isinstance(value, list) else value


def storable(text: str) -> str:
    """A text from a page as a store can keep it."""
    if text.isascii() and "\0" not in text and len(text) <= LONGEST_VALUE:
        return text
    if len(text) > LONGEST_VALUE:
        text = text[:LONGEST_VALUE] + "…"
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode("utf-8")


def check_tool(value: object) -> str:
    """The name of a tool."""
    return check_name("tool", check_text("tool", value))
