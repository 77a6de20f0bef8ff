"""The lines of an export: each has one noun, checked when it is read."""

import dataclasses
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from athand.errors import InvalidInput
from athand.inputs import check_choice, check_count, check_fraction, check_name, check_text, check_time
from athand.memories.model import RELATIONS, USAGES, WRITERS, Memory, Relation, Session
from athand.memories.validation import EDITABLE, check_project
from athand.redaction import clean
from athand.types import Noun

HEADER = {"format": "athand-memories", "version": 1}
_MOST_ACCESSES = 2**53

Check = Callable[[Any], Any]


@dataclasses.dataclass(frozen=True, slots=True)
class Link(Noun):
    """A memory that a session has used, how and when."""

    project: str
    session: str
    memory_id: str
    usage: str
    linked_at: datetime


@dataclasses.dataclass(frozen=True, slots=True)
class Key(Noun):
    """The idempotency key of an add, and the memory it added."""

    project: str
    name: str
    memory_id: str
    fingerprint: str


def _name_check(what: str) -> Check:
    return lambda value: check_name(what, value)


def _time_check(what: str) -> Check:
    return lambda value: check_time(what, value)


def _choice_check(what: str, choices: tuple[str, ...]) -> Check:
    return lambda value: check_choice(what, value, choices)


_MEMORY: Mapping[str, Check] = {
    **EDITABLE,
    **{what: _time_check(what) for what in ("created_at", "updated_at", "last_accessed", "valid_from", "deleted_at")},
    "id": _name_check("id"),
    "project": check_project,
    "session": _name_check("session"),
    "written_by": _choice_check("written_by", WRITERS),
    "pinned_by": _choice_check("pinned_by", WRITERS),
    "salience": lambda value: check_fraction("salience", value),
    "access_count": lambda value: check_count("access_count", value, _MOST_ACCESSES),
}
_SESSION: Mapping[str, Check] = {
    "id": _name_check("id"),
    "project": check_project,
    "started_at": _time_check("started_at"),
    "ended_at": _time_check("ended_at"),
    "summary": lambda value: clean(check_text("summary", value)),
}
_LINK: Mapping[str, Check] = {
    "project": check_project,
    "session": _name_check("session"),
    "memory_id": _name_check("memory_id"),
    "usage": _choice_check("usage", USAGES),
    "linked_at": _time_check("linked_at"),
}
_RELATION: Mapping[str, Check] = {
    "source_id": _name_check("source_id"),
    "target_id": _name_check("target_id"),
    "type": _choice_check("relation", RELATIONS),
    "by": _name_check("by"),
    "valid_from": _time_check("valid_from"),
    "valid_until": _time_check("valid_until"),
}
_KEY: Mapping[str, Check] = {
    "project": check_project,
    "name": _name_check("name"),
    "memory_id": _name_check("memory_id"),
    "fingerprint": _name_check("fingerprint"),
}
_KINDS: Mapping[str, tuple[type[Noun], Mapping[str, Check]]] = {
    "session": (Session, _SESSION),
    "memory": (Memory, _MEMORY),
    "link": (Link, _LINK),
    "relation": (Relation, _RELATION),
    "key": (Key, _KEY),
}
_KIND_OF = {noun: kind for kind, (noun, _) in _KINDS.items()}


def to_line(noun: Noun) -> dict[str, Any]:
    """The noun as it stands in an export."""
    kind = _KIND_OF[type(noun)]
    return {"kind": kind} | {name: value for name, value in noun.to_dict().items() if name in _KINDS[kind][1]}


def from_line(line: Mapping[str, Any]) -> Noun:
    """The noun of a line; raises InvalidInput if it has errors."""
    kind = check_choice("kind", line.get("kind"), tuple(_KINDS))
    noun, checks = _KINDS[kind]
    given = {name: value for name, value in line.items() if name != "kind"}
    if unknown := sorted(set(given) - set(checks)):
        raise InvalidInput(f"A {kind} has no {', '.join(unknown)}.")
    required = {each.name for each in dataclasses.fields(noun) if _is_required(each)}  # type: ignore[arg-type]
    if missing := sorted(name for name in required if given.get(name) is None):
        raise InvalidInput(f"The {kind} lacks {', '.join(missing)}.")
    return noun(**{name: checks[name](value) for name, value in given.items() if value is not None})


def _is_required(field: "dataclasses.Field[Any]") -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
