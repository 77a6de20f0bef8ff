"""Checks of what callers record: each returns the clean value, or says what is wrong with it."""

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

from recollect.errors import InvalidInput
from recollect.flows.model import TARGETS, Observation
from recollect.inputs import check_name, check_text
from recollect.types import plain

LONGEST_VALUE = 10_000  # characters of one text that was typed, seen or said
MOST_SEEN = 5_000  # test ids, or nodes, of one observation
_NAMES = {"test_id": "testId", "a11y_ref": "a11yRef", "ref": "a11yRef"}


def check_id(what: str, value: object) -> str:
    """An id of a session: a name that can never be a path."""
    name = check_name(what, value)
    if name.startswith(".") or any(character in name for character in "/\\:\0"):
        raise InvalidInput(f"{what} {name!r} looks like a path. Use letters, digits, - and _.", code="BAD_ID")
    return name


def check_target(value: object) -> dict[str, str]:
    """A target of a record: what was used, and what it resolved to."""
    given = check_mapping("target", value)
    named = {_NAMES.get(key, key): each for key, each in given.items() if each is not None}
    unknown = sorted(set(named) - set(TARGETS))
    if unknown:
        raise InvalidInput(f"target has unknown parts: {', '.join(unknown)}. Known: {', '.join(TARGETS)}.")
    for key, each in named.items():
        if not isinstance(each, str) or (key != "name" and not each):
            raise InvalidInput(f"The {key} of a target must be text, not {each!r}.")
    if "role" in named and "name" not in named:
        raise InvalidInput("A target by role needs a name too.")
    return {key: storable(each) for key, each in named.items()}


def check_error(value: object, *, ok: bool) -> dict[str, Any] | None:
    """The error of a failed step, with code and message; none of one that went well."""
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
            value.get("test_ids", value.get("testIds", ())),
            value.get("a11y", ()),
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
        raise InvalidInput(f"{what} must be a list, not {values!r}.")
    listed = list(values)
    if len(listed) > MOST_SEEN:
        raise InvalidInput(f"{what} has {len(listed):,} entries; at most {MOST_SEEN:,} are kept. Leave out the rest.")
    for each in listed:
        if not isinstance(each, Mapping) or not isinstance(each.get(needed), str):
            raise InvalidInput(f"Every entry of {what} needs a {needed}, and {each!r} has none.")
        yield plain_mapping(what, each)


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
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not math.isfinite(value) or value < 0:
        raise InvalidInput(f"{what} must be a number of at least 0, not {value!r}.")
    return float(value)


def plain_mapping(what: str, value: object) -> dict[str, Any]:
    """A dictionary of what JSON can hold; texts that no store could keep are mended, long ones cut."""
    shown = plain(check_mapping(what, value))
    try:
        json.dumps(shown, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"{what} cannot be kept as JSON: {error}.") from error
    mended: dict[str, Any] = _mended(shown)
    return mended


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, dict):
        return {storable(key): _mended(each) for key, each in value.items()}
    return [_mended(each) for each in value] if isinstance(value, list) else value


def storable(text: str) -> str:
    """A text from a page as a store can keep it."""
    if len(text) > LONGEST_VALUE:
        text = text[:LONGEST_VALUE] + "…"
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode("utf-8")


def check_tool(value: object) -> str:
    """The name of a tool."""
    return check_name("tool", check_text("tool", value))
