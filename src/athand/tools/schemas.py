"""Arguments of a call, checked against the schema of a tool before the server sees them.

A schema comes from a server and may be anything, made to hang us too: what takes too long to check is not checked,
since the server checks as well.
"""

import json
import time
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from athand.errors import InvalidInput
from athand.tools.characters import visible
from athand.tools.coercion import coerced, parsed
from athand.tools.dialect import Form, Reference, understood

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

_MOST_STEPS, _MOST_SECONDS = 100_000, 2.0  # seconds of work: a busy machine must not leave arguments unchecked
_MOST_PROBLEMS, _MOST_KNOWN = 20, 200
_LONGEST_SCHEMA, _LONGEST_VALUE = 4_000, 80
_TOP = "arguments"
_WORDS = {"string": "text", "integer": "a whole number", "number": "a number", "boolean": "true or false"}
_WORDS |= {"array": "a list", "object": "an object", "null": "null"}


class _TooMuch(Exception):
    """Checking goes on for too long."""


class _Checker:
    """The validators of one check: they follow references to forms, and end when they have done too much."""

    def __init__(self) -> None:
        from jsonschema import Draft202012Validator as Draft
        from jsonschema.validators import extend

        self._steps, self._end = _MOST_STEPS, time.thread_time() + _MOST_SECONDS
        self._kind: Any = extend(Draft, {name: self._counted(each) for name, each in Draft.VALIDATORS.items()})

    def errors(self, value: Any, form: Form) -> Iterator["ValidationError"]:
        return iter(self._kind(form).iter_errors(value))

    def fits(self, value: Any, form: Form) -> bool:
        return next(self.errors(value, form), None) is None

    def spend(self, steps: int) -> None:
        self._steps -= steps
        if self._steps < 0 or time.thread_time() > self._end:
            raise _TooMuch

    def _counted(self, check: Any) -> Any:
        compares_all = check.__name__ == "uniqueItems"

        def counted(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
            self.spend(len(instance) ** 2 if compares_all and isinstance(instance, list) else 1)
            if isinstance(value, Reference):
                return validator.descend(instance, value.target)
            return check(validator, value, instance, schema)

        return counted


def prepare(arguments: object, schema: object) -> dict[str, Any]:
    """The arguments as the schema wants them; InvalidInput with all that is wrong if they cannot be."""
    given, form, checker = _as_object(arguments, schema), understood(schema), _Checker()
    try:
        ready: dict[str, Any] = coerced(given, form, checker)
        wrong = list(dict.fromkeys(islice(_problems(checker, ready, form), 2 * _MOST_PROBLEMS)))
    except (_TooMuch, RecursionError, OverflowError):  # it cannot be checked here; the server will
        return given
    if wrong:
        raise _refusal(wrong, schema)
    return ready


def _as_object(arguments: object, schema: object) -> dict[str, Any]:
    given = parsed(arguments) if isinstance(arguments, str) and arguments.strip() else arguments or {}
    if not isinstance(given, Mapping):
        raise _refusal([f"the arguments must be an object, not {_shown(given)}"], schema)
    return dict(given)


def _problems(checker: _Checker, arguments: dict[str, Any], form: Form) -> Iterator[str]:
    """All that is wrong; a name nobody knows counts only if there is more, since a server may take any."""
    errors = list(checker.errors(arguments, form))
    for error in errors:
        yield from _said(error)
    known = form.get("properties", {})
    if errors and known:
        yield from (_unknown(name, known) for name in arguments if name not in known)


def _said(error: "ValidationError") -> Iterator[str]:
    from jsonschema.exceptions import best_match

    nearest = best_match(iter([error]))
    inside = "" if not nearest.absolute_path else f"{_place(nearest)}: "
    if nearest.validator == "additionalProperties":
        known = nearest.schema.get("properties", {})
        yield from (inside + _unknown(name, known) for name in nearest.instance if name not in known)
    elif nearest.validator == "required":
        yield from (
            f"{inside}{_shown(name)} is missing" for name in nearest.validator_value if name not in nearest.instance
        )
    else:
        yield f"{_place(nearest)}: {_wanted(nearest)}"


def _place(error: "ValidationError") -> str:
    return "/".join(map(str, error.absolute_path)) or _TOP


def _wanted(error: "ValidationError") -> str:
    found = _shown(error.instance)
    if error.validator == "type":
        types = [error.validator_value] if isinstance(error.validator_value, str) else error.validator_value
        return f"must be {' or '.join(_WORDS[each] for each in types)}, not {found}"
    if error.validator in ("enum", "const"):
        listed = error.validator_value if error.validator == "enum" else [error.validator_value]
        return f"must be one of {_cut(', '.join(map(_shown, listed)), 400)}, not {found}"
    if error.validator in ("anyOf", "oneOf", "not"):
        return f"{found} does not fit the schema here"
    return _cut(error.message.replace(repr(error.instance), found), 200)


def _unknown(name: str, known: Mapping[str, Any]) -> str:
    from rapidfuzz import process

    nearest = process.extractOne(name[:_LONGEST_VALUE], list(known)[:_MOST_KNOWN], score_cutoff=60)
    hint = f"did you mean {nearest[0]!r}?" if nearest else f"known are: {_cut(', '.join(known) or 'none', 400)}"
    return f"there is no argument {_cut(name)!r}; {hint}"


def _shown(value: object) -> str:
    try:
        return _cut(json.dumps(value, ensure_ascii=False, default=str))
    except (ValueError, RecursionError):
        return "something that is no JSON"


def _cut(text: str, longest: int = _LONGEST_VALUE) -> str:
    return text if len(text) <= longest else f"{text[:longest]}…"


def _refusal(wrong: list[str], schema: object) -> InvalidInput:
    more = "\n- and more" if len(wrong) > _MOST_PROBLEMS else ""
    listed = "".join(f"\n- {each}" for each in wrong[:_MOST_PROBLEMS]) + more
    try:
        compact = json.dumps(schema, ensure_ascii=False, separators=(",", ":"), default=str)
    except (ValueError, RecursionError):
        compact = "(too deep to be shown)"
    return InvalidInput(
        visible(f"The arguments do not fit:{listed}\nNothing was called. The schema: {_cut(compact, _LONGEST_SCHEMA)}")
    )
