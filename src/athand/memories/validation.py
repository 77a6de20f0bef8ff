"""Makes memories of the arguments of callers: checked, redacted, with a sector."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from athand.errors import InvalidInput
from athand.inputs import (
    check_choice,
    check_fraction,
    check_name,
    check_names,
    check_past,
    check_text,
    check_time,
    show_value,
)
from athand.memories.model import GLOBAL_SPACE, WRITERS, Memory
from athand.memories.sectors import MEMORY_TYPES, SECTOR_OF_TYPE, SECTORS, TIERS, classify
from athand.redaction import clean, refuse_secret
from athand.store import new_id

Check = Callable[[Any], Any]


def _text_check(what: str) -> Check:
    def check(value: object) -> str:
        text = clean(check_text(what, value))
        if not text.strip():
            raise InvalidInput(f"{what} is private from beginning to end; there is nothing to keep.")
        return text

    return check


def _names_check(what: str) -> Check:
    # Redacted before they are checked: an error message shows the value.
    return lambda values: check_names(what, _clean_all(values) if isinstance(values, (list, tuple)) else values)


def _clean_all(values: Iterable[object]) -> list[object]:
    return [clean(each) if isinstance(each, str) else each for each in values]


def _check_flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise InvalidInput(f"pinned must be true or false, not {show_value(value)}.")
    return value


def _public_name_check(what: str) -> Check:
    """A check for names that are shown everywhere."""
    return lambda value: refuse_secret(what, check_name(what, value))


def check_project(value: object) -> str:
    """The name of a project; that of the global space is refused."""
    name: str = _public_name_check("project")(value)
    if name == GLOBAL_SPACE:
        raise InvalidInput(
            f'No project can be named {GLOBAL_SPACE}. For what holds in every project, say tier="global".'
        )
    return name


# The fields that can be changed, with their checks.
EDITABLE: Mapping[str, Check] = {
    "content": _text_check("content"),
    "summary": _text_check("summary"),
    "context": _text_check("context"),
    "author": lambda value: check_name("author", *_clean_all([value])),
    "sector": lambda value: check_choice("sector", value, SECTORS),
    "tier": lambda value: check_choice("tier", value, TIERS),
    "memory_type": lambda value: check_choice("memory_type", value, MEMORY_TYPES),
    "importance": lambda value: check_fraction("importance", value),
    "pinned": _check_flag,
    "tags": _names_check("tags"),
    "concepts": _names_check("concepts"),
    "files": _names_check("files"),
    "valid_until": lambda value: check_time("valid_until", value),
}
_FIXED: Mapping[str, Check] = {
    "project": check_project,
    "session": _public_name_check("session"),
    "written_by": lambda value: check_choice("written_by", value, WRITERS),
    "id": _public_name_check("id"),
    "key": _public_name_check("key"),
}
_CHECKS = {**EDITABLE, **_FIXED}
_SAYING = ("content", "summary", "context", "author")  # whoever changes one of these has written the memory
_TIMES = ("created_at", "valid_from")
OPTIONAL = ("summary", "context", "author", "memory_type", "valid_until")


def new_memory(given: Mapping[str, Any], now: datetime) -> Memory:
    """A memory from the arguments of `add`."""
    values = _check_all(given, now)
    values.pop("key", None)
    created_at = values.pop("created_at", now)
    sector = values.pop("sector", None) or sector_of(values["content"], values.get("memory_type"))
    memory = Memory(
        id=values.pop("id", None) or new_id(now),
        project=values.pop("project", "default"),
        content=values.pop("content"),
        created_at=created_at,
        updated_at=now,
        last_accessed=created_at,
        valid_from=values.pop("valid_from", created_at),
        sector=sector,
        **values,
    )
    if memory.tier == "session" and memory.session is None:
        raise InvalidInput('A memory with tier="session" shows in its session only; say which: session="…".')
    _refuse_empty_span(memory)
    return replace(memory, pinned_by=memory.written_by) if memory.pinned else memory


def apply_changes(memory: Memory, changes: Mapping[str, Any], now: datetime, by: str) -> Memory:
    """The memory with some of its fields changed, by a person or an agent; None empties a field that may be empty."""
    if fixed := sorted(set(changes) - set(EDITABLE)):
        raise InvalidInput(f"{', '.join(fixed)} cannot be changed. Known: {', '.join(EDITABLE)}.")
    values = {name: _check_change(name, value) for name, value in changes.items()}
    after = replace(memory, **values, updated_at=memory.next_update(now))
    after = _note_changer(memory, after, check_choice("changed_by", by, WRITERS))
    if after.tier == "session" and after.session is None:
        raise InvalidInput(f"Memory {memory.id} was created in no session; its tier cannot be session.")
    if "valid_until" in values:
        _refuse_empty_span(after)
    if "memory_type" in values and "sector" not in values:
        after = replace(after, sector=sector_of(after.content, after.memory_type))
    return after


def _note_changer(before: Memory, after: Memory, by: str) -> Memory:
    """The changed memory with who wrote its text and who pinned it, where that has changed."""
    if any(getattr(before, name) != getattr(after, name) for name in _SAYING):
        after = replace(after, written_by=by)
    if after.pinned == before.pinned:
        return after
    return replace(after, pinned_by=by if after.pinned else None)


def _refuse_empty_span(memory: Memory) -> None:
    if memory.valid_until is not None and memory.valid_until < memory.valid_from:
        raise InvalidInput(
            f"valid_until {memory.valid_until.isoformat()} lies before valid_from {memory.valid_from.isoformat()}."
        )


def _check_change(name: str, value: object) -> Any:
    return None if value is None and name in OPTIONAL else EDITABLE[name](value)


def sector_of(content: str, memory_type: str | None) -> str:
    """The sector that belongs to the type of a memory, else to its text."""
    return SECTOR_OF_TYPE[memory_type] if memory_type else classify(content)


def _check_all(given: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    asked = {name: value for name, value in given.items() if value is not None}
    if unknown := sorted(set(asked) - set(_CHECKS) - set(_TIMES)):
        raise InvalidInput(f"A memory has no {', '.join(unknown)}. Known: {', '.join((*_CHECKS, *_TIMES))}.")
    if "content" not in asked:
        raise InvalidInput("content is missing. Give the memory some text.")
    times = {name: check_past(name, asked[name], now) for name in _TIMES if name in asked}
    return {name: _CHECKS[name](value) for name, value in asked.items() if name in _CHECKS} | times
