"""Filters of sessions and steps: which there are, how their values are checked, and their SQL conditions."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Annotated, Any, TypedDict

from athand.errors import InvalidInput
from athand.flows.validation import check_id, check_number
from athand.inputs import check_choice, check_name
from athand.parameters import Choice, Range
from athand.store import to_microseconds
from athand.types import Filter

OUTCOMES = ("ok", "error")


class FilterKeys(TypedDict, total=False):
    """Which sessions and steps are searched."""

    flow_tag: str
    tag: str
    screen: str
    since_hours: Annotated[float, Range(0)]
    git_branch: str
    app: str
    app_version: str
    outcome: Annotated[str, Choice(OUTCOMES)]
    session: str


# How a value is checked that is not just a name.
_CHECKS: Mapping[str, Callable[[str, object], object]] = {
    "since_hours": check_number,
    "app": check_id,
    "outcome": lambda what, value: check_choice(what, value, OUTCOMES),
    "session": check_id,
}
_CAMEL = {
    "flowTag": "flow_tag",
    "sinceHours": "since_hours",
    "gitBranch": "git_branch",
    "appVersion": "app_version",
    "sessionId": "session",
}
# The columns of a session without metadata are NULL, so that it matches none of these.
_SESSION_CONDITIONS = {
    # Removing the tag changes the list only if it is in it: exact in case and characters on every engine.
    "flow_tag": "replace(i.flow_tags, :flow_tag, '') <> i.flow_tags",
    "tag": "replace(i.tags, :tag, '') <> i.tags",
    "git_branch": "i.branch = :git_branch",
    "app": "i.space = :app",
    "app_version": "i.app_version = :app_version",
    "session": "i.id = :session",
}
_STEP_CONDITIONS = {"screen": "t.screen = :screen", "outcome": "t.is_ok = :outcome"}
_STEP_EXISTS = "EXISTS (SELECT 1 FROM flow_steps t WHERE t.space = i.space AND {own} AND {conditions})"

_HAS_SUCCESS = _STEP_EXISTS.format(own="t.session = i.id", conditions="t.is_ok = 1 AND t.action <> ''")


@dataclass(frozen=True, slots=True)
class FlowFilters:
    """Filters of sessions and their steps; all of them must match."""

    values: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def parse(cls, given: object) -> "FlowFilters":
        """The filters of a dictionary with snake or camel case names, without None; raises InvalidInput."""
        if given is None:
            return cls()
        if not isinstance(given, Mapping):
            raise InvalidInput(f"filters must be a dictionary, not {type(given).__name__}.")
        named = {_CAMEL.get(str(name), str(name)): value for name, value in given.items() if value is not None}
        known = FilterKeys.__annotations__
        if unknown := sorted(set(named) - set(known)):
            raise InvalidInput(f"Flows have no filter {', '.join(unknown)}. Known: {', '.join(known)}.")
        return cls({name: _CHECKS.get(name, check_name)(name, value) for name, value in named.items()})

    @property
    def app(self) -> str | None:
        """The app to search, if one is given."""
        app: str | None = self.values.get("app")
        return app

    def within_session(self, id_: str) -> "FlowFilters":
        """These filters, restricted to one session."""
        if self.values.get("session", id_) != id_:
            raise InvalidInput(
                f"The scope is the session {id_!r}, and the filter {self.values['session']!r}. Give one."
            )
        return FlowFilters({**self.values, "session": id_})

    def session_condition(self, now: datetime) -> Filter:
        """The condition for sessions; a step filter matches if any step of the session does."""
        return self._condition(now, "i.created_at", "t.session = i.id")

    def step_condition(self, now: datetime) -> Filter:
        """The condition for steps, where `p` is the passage of a step and `i` its session."""
        return self._condition(now, "p.created_at", "t.id = p.id")

    def search_condition(self, now: datetime) -> Filter:
        """The condition for steps that a search finds: of sessions without success only if a filter asks for them."""
        found = self.step_condition(now)
        if {"outcome", "session"} & self.values.keys():
            return found
        return Filter(" AND ".join(filter(None, (found.where, _HAS_SUCCESS))), found.parameters)

    def _condition(self, now: datetime, time: str, own: str) -> Filter:
        where = [_SESSION_CONDITIONS[name] for name in self.values if name in _SESSION_CONDITIONS]
        steps = [_STEP_CONDITIONS[name] for name in self.values if name in _STEP_CONDITIONS]
        if steps:
            where.append(_STEP_EXISTS.format(own=own, conditions=" AND ".join(steps)))
        if "since_hours" in self.values:
            where.append(f"{time} >= :since")
        return Filter(" AND ".join(where), self._parameters(now))

    def _parameters(self, now: datetime) -> dict[str, Any]:
        values = {name: value for name, value in self.values.items() if name != "since_hours"}
        values |= {name: json.dumps(values[name], ensure_ascii=False) for name in ("flow_tag", "tag") if name in values}
        if "outcome" in values:
            values["outcome"] = int(values["outcome"] == "ok")
        if "since_hours" in self.values:
            values["since"] = _since(now, self.values["since_hours"])
        return values


def _since(now: datetime, hours: float) -> int:
    """The time so many hours ago; 0 before the calendar begins."""
    try:
        return to_microseconds(now - timedelta(hours=hours))
    except OverflowError:
        return 0
