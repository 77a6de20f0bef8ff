"""The session a browser writes: every attempt becomes a step, whatever came of it."""

import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from athand.errors import AthandError, NotFound
from athand.flows.actions import ACTIONS
from athand.flows.browser.actions import Attempt
from athand.flows.browser.options import LaunchOptions, git_here
from athand.flows.model import FlowSession, Step

if TYPE_CHECKING:
    from athand.flows.service import Flows


class StepRecorder:
    """Where the steps of one browser go, and the last action among them."""

    def __init__(self, flows: "Flows", options: LaunchOptions) -> None:
        self._flows = flows
        self.session = _begun(flows, options)
        self.profile = flows.profile(self.session.app)
        self._previous: Step | None = None
        self._more: Mapping[str, Any] = {}

    @contextmanager
    def elsewhere(self, session_id: str | None, more: Mapping[str, Any]) -> Iterator[None]:
        """For a while, write into another session, and more into the input of actions."""
        kept = (self.session, self._previous, self._more)
        if session_id is not None:
            self.session, self._previous = self._flows.session(session_id), None
            self._flows.share_secrets(kept[0].id, session_id)
        self._more = {**self._more, **more}
        try:
            yield
        finally:
            self._flows.share_secrets(self.session.id, kept[0].id)
            self.session, self._previous, self._more = kept

    def inform(self, attempt: Attempt) -> None:
        """Add what earlier sessions know about the screen, after the last action here."""
        if attempt.before is not None:
            seen = attempt.before.observation
            attempt.knowledge = self._flows.prior_knowledge(self.session.id, seen, previous=self._previous)

    def keep(self, attempt: Attempt, error: AthandError | None = None) -> Step:
        """Record an attempt as a step."""
        taken = None if attempt.begun is None else time.perf_counter() - attempt.begun
        after = attempt.after.observation.screen if attempt.after else None
        step = self._flows.record(
            self.session.id,
            tool=f"{self.profile.prefix}{attempt.verb}",
            target=attempt.target,
            input={**attempt.given, **(self._more if attempt.verb in ACTIONS else {})},
            ok=error is None,
            error=None if error is None else {"code": _code(error), "message": str(error)},
            before=attempt.before.observation if attempt.before else None,
            after_screen=after or None,
            screenshot=attempt.screenshot,
            duration_ms=None if taken is None else round(taken * 1000, 1),
            prior_knowledge=attempt.knowledge,
        )
        if step.ok and step.verb in ACTIONS:
            self._previous = step
        return step


def _code(error: AthandError) -> str:
    """A word for programs: the error's own, or the name of its kind."""
    return error.code or re.sub("(?<!^)(?=[A-Z])", "_", type(error).__name__).upper()


def _begun(flows: "Flows", options: LaunchOptions) -> FlowSession:
    """The session that was named; where there is none of that id, it begins now."""
    if options.session is None:
        return _new(flows, options)
    try:
        return flows.session(options.session)
    except NotFound:
        return _new(flows, options)


def _new(flows: "Flows", options: LaunchOptions) -> FlowSession:
    return flows.start_session(
        goal=options.goal,
        flow_tags=options.flow_tags,
        tags=options.tags,
        app=options.app,
        app_version=options.app_version,
        git=git_here() if options.git is None else options.git,
        launch=options.shown,
        id=options.session,
    )
