"""Which sessions and steps are meant: the words of a search, as conditions in SQL."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from athand.errors import InvalidInput
from athand.flows.entry import check_id, check_number
from athand.inputs import check_choice, check_name
from athand.store import to_microseconds
from athand.types import Filter

OUTCOMES = ("ok", "error")


def _hours(value: object) -> float | None:
    return check_number("since_hours", value)


# What may be asked for, and how it is checked.
_CHECKS: Mapping[str, Callable[[object], object]] = {
    "flow_tag": lambda value: check_name("flow_tag", value),
    "tag": lambda value: check_name("tag", value),
    "screen": lambda value: check_name("screen", value),
    "since_hours": _hours,
    "git_branch": lambda value: check_name("git_branch", value),
    "app": lambda value: check_id("app", value),
    "app_version": lambda value: check_name("app_version", value),
    "outcome": lambda value: check_choice("outcome", value, OUTCOMES),
    "session": lambda value: check_id("session", value),
}
_CAMEL = {
    "flowTag": "flow_tag",
    "sinceHours": "since_hours",
    "gitBranch": "git_branch",
    "appVersion": "app_version",
    "sessionId": "session",
}
# A session without metadata has none of its columns, and so none of these holds for it.
_OF_SESSIONS = {
    # Taking the tag out changes the list only if it is in: exact in case and characters on every engine.
    "flow_tag": "replace(i.flow_tags, :flow_tag, '') <> i.flow_tags",
    "tag": "replace(i.tags, :tag, '') <> i.tags",
    "git_branch": "i.branch = :git_branch",
    "app": "i.space = :app",
    "app_version": "i.app_version = :app_version",
    "session": "i.id = :session",
}
_OF_STEPS = {"screen": "t.screen = :screen", "outcome": "t.is_ok = :outcome"}
_A_STEP = "EXISTS (SELECT 1 FROM flow_steps t WHERE t.space = i.space AND {own} AND {conditions})"


@dataclass(frozen=True, slots=True)
class Filters:
    """What is asked of sessions and of their steps; all of it must hold."""

    given: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def checked(cls, given: object) -> "Filters":
        """The filters, in snake or camel case, or the error that names what is wrong; what is None is not asked."""
        if given is None:
            return cls()
        if not isinstance(given, Mapping):
            raise InvalidInput(f"filters must be a dictionary, not {type(given).__name__}.")
        named = {_CAMEL.get(str(name), str(name)): value for name, value in given.items() if value is not None}
        if unknown := sorted(set(named) - set(_CHECKS)):
            raise InvalidInput(f"Flows cannot be chosen by {', '.join(unknown)}. Known: {', '.join(_CHECKS)}.")
        return cls({name: _CHECKS[name](value) for name, value in named.items()})

    @property
    def app(self) -> str | None:
        """The app that is asked for."""
        app: str | None = self.given.get("app")
        return app

    def of_session(self, id_: str) -> "Filters":
        """The same, within one session."""
        if self.given.get("session", id_) != id_:
            raise InvalidInput(f"The scope is the session {id_!r}, and the filter {self.given['session']!r}. Give one.")
        return Filters({**self.given, "session": id_})

    def on_sessions(self, now: datetime) -> Filter:
        """The condition for sessions; one of a step holds if it does for any of theirs."""
        return self._condition(now, "i.created_at", "t.session = i.id")

    def on_steps(self, now: datetime) -> Filter:
        """The condition for steps, where `p` is the passage of one and `i` its session."""
        return self._condition(now, "p.created_at", "t.id = p.id")

    def _condition(self, now: datetime, time: str, own: str) -> Filter:
        where = [_OF_SESSIONS[name] for name in self.given if name in _OF_SESSIONS]
        steps = [_OF_STEPS[name] for name in self.given if name in _OF_STEPS]
        if steps:
            where.append(_A_STEP.format(own=own, conditions=" AND ".join(steps)))
        if "since_hours" in self.given:
            where.append(f"{time} >= :since")
        return Filter(" AND ".join(where), self._parameters(now))

    def _parameters(self, now: datetime) -> dict[str, Any]:
        values = {name: value for name, value in self.given.items() if name != "since_hours"}
        values |= {name: json.dumps(values[name], ensure_ascii=False) for name in ("flow_tag", "tag") if name in values}
        if "outcome" in values:
            values["outcome"] = int(values["outcome"] == "ok")
        if "since_hours" in self.given:
            values["since"] = _since(now, self.given["since_hours"])
        return values


def _since(now: datetime, hours: float) -> int:
    """So many hours ago; beyond the calendar, the beginning of it."""
    try:
        return to_microseconds(now - timedelta(hours=hours))
    except OverflowError:
        return 0
