"""The filters of `search`, `list` and `forget` as conditions in SQL."""

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from athand.errors import InvalidInput
from athand.inputs import check_choice, check_fraction, check_name, check_names, check_time, check_time_or_age
from athand.memories.model import HISTORY, WRITERS
from athand.memories.rows import IN_SPACE
from athand.memories.salience import LEAST, SALIENCE_NOW_SQL
from athand.memories.sectors import MEMORY_TYPES, SECTORS, TIERS
from athand.store import to_microseconds
from athand.types import Filter

Check = Callable[[object], object]


def _time_check(what: str) -> Check:
    return lambda value: to_microseconds(check_time(what, value))


def _flag_check(what: str) -> Check:
    def check(value: object) -> int:
        if not isinstance(value, bool):
            raise InvalidInput(f"{what} must be true or false, not {value!r}.")
        return int(value)

    return check


_IN_SESSION = "i.id IN (SELECT memory_id FROM memory_links WHERE session = :in_session)"

_HELD = "i.valid_from <= :as_of AND (i.valid_until IS NULL OR i.valid_until > :as_of)"

# Each filter with its check and its condition.
_CONDITIONS: Mapping[str, tuple[Check, str]] = {
    "project": (lambda value: check_name("project", value), f"i.project = :project AND {IN_SPACE}"),
    "sector": (lambda value: check_choice("sector", value, SECTORS), "i.sector = :sector"),
    "tier": (lambda value: check_choice("tier", value, TIERS), "i.tier = :tier"),
    "memory_type": (lambda value: check_choice("memory_type", value, MEMORY_TYPES), "i.memory_type = :memory_type"),
    "author": (lambda value: check_name("author", value), "i.author = :author"),
    "written_by": (lambda value: check_choice("written_by", value, WRITERS), "i.written_by = :written_by"),
    "in_session": (lambda value: check_name("in_session", value), _IN_SESSION),
    "since": (_time_check("since"), "i.created_at >= :since"),
    "until": (_time_check("until"), "i.created_at < :until"),
    "as_of": (_time_check("as_of"), _HELD),
    "pinned": (_flag_check("pinned"), "i.pinned = :pinned"),
    "min_salience": (lambda value: check_fraction("min_salience", value), f"{SALIENCE_NOW_SQL} >= :min_salience"),
    "max_salience": (lambda value: check_fraction("max_salience", value), f"{SALIENCE_NOW_SQL} <= :max_salience"),
}
NAMES = (*_CONDITIONS, "tags", "superseded")


def build_filter(now: datetime, **given: Any) -> Filter:
    """The condition for memories that pass all these filters; None leaves a filter out."""
    asked = {name: value for name, value in given.items() if value is not None}
    asked |= {name: check_time_or_age(name, asked[name], now) for name in ("since", "until") if name in asked}
    tags = check_names("tags", asked.pop("tags", ()))
    superseded = asked.pop("superseded", None)
    if unknown := sorted(set(asked) - set(_CONDITIONS)):
        raise InvalidInput(f"Memories cannot be chosen by {', '.join(unknown)}. Known: {', '.join(NAMES)}.")
    parameters = {name: _CONDITIONS[name][0](value) for name, value in asked.items()}
    if parameters.get("min_salience", 1) <= LEAST:  # type: ignore[operator]  # no memory has less
        del parameters["min_salience"]
    where = [_CONDITIONS[name][1] for name in parameters]
    # Removing a tag changes the list only if it has the tag: exact in case and characters on every engine.
    where += [f"replace(i.tags, :tag{at}, '') <> i.tags" for at in range(len(tags))]
    parameters |= {f"tag{at}": json.dumps(tag, ensure_ascii=False) for at, tag in enumerate(tags)}
    if superseded is not None:
        where.append(f"{'' if superseded else 'NOT '}{_ENDED}")
    return Filter(" AND ".join(where), {**parameters, "now": to_microseconds(now)})


# What somebody wanted to be remembered, rather than read from transcripts.
DELIBERATE = Filter(f"i.written_by <> '{HISTORY}'", {})
_ENDED = "(i.valid_until IS NOT NULL AND i.valid_until <= :now)"


def visible_filter(
    now: datetime, as_of: datetime | None, sessions: tuple[str | None, ...], *, with_superseded: bool
) -> Filter:
    """The condition for memories valid now or at a time; excludes session-tier memories of other sessions."""
    where = ["(i.tier <> 'session' OR i.session IN (:session, :within))"]
    if as_of is not None:
        where.append("i.valid_from <= :moment")
    if not with_superseded:
        where.append("(i.valid_until IS NULL OR i.valid_until > :moment)")
    session, within = (each or "" for each in sessions)
    return Filter(" AND ".join(where), {"moment": to_microseconds(as_of or now), "session": session, "within": within})


def and_(one: Filter, other: Filter) -> Filter:
    """The condition that both hold."""
    where = " AND ".join(filter(None, (one.where, other.where)))
    return Filter(where, {**one.parameters, **other.parameters})
