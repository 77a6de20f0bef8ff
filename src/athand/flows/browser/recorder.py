"""Records every tool call of a browser as a step of its session, whether it succeeds or fails."""

import re
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from athand.errors import AthandError, NotFound
from athand.flows.actions import ACTIONS
from athand.flows.browser.model import LaunchOptions
from athand.flows.browser.page_messages import find_appeared
from athand.flows.browser.snapshot import PageSnapshot
from athand.flows.model import UNKNOWN, FlowSession, Observation, PriorKnowledge, Step

if TYPE_CHECKING:
    from athand.flows.service import Flows


@dataclass(slots=True)
class Attempt:
    """One tool call in progress; it is filled in step by step, so that a failed call is recorded with what it has."""

    verb: str
    input: dict[str, Any] = field(default_factory=dict)
    target: dict[str, str] = field(default_factory=dict)
    before: PageSnapshot | None = None
    after: PageSnapshot | None = None
    notes: list[str] = field(default_factory=list)
    timeout_s: float | None = None  # default: the timeout of the launch
    started: float | None = None  # by time.perf_counter
    screenshot: str | None = None
    knowledge: PriorKnowledge | None = None
    origin: str | None = None  # of the page or frame that gets the input

    @property
    def location(self) -> tuple[str, str]:
        """Screen and address after the call."""
        observation = self.after.observation if self.after else Observation()
        return observation.screen or UNKNOWN, observation.url

    @property
    def note(self) -> str | None:
        """All notes as one text."""
        return " ".join(self.notes) or None


class StepRecorder:
    """Writes the steps of one browser into its session, and knows the last action."""

    def __init__(self, flows: "Flows", options: LaunchOptions) -> None:
        self._flows = flows
        self.session = _open_session(flows, options)
        self.profile = flows.profile(self.session.app)
        self._last_action: Step | None = None
        self._extra_input: Mapping[str, Any] = {}
        self._last_page: PageSnapshot | None = None  # as the step before has left it

    @contextmanager
    def redirect(self, session_id: str | None, extra_input: Mapping[str, Any]) -> Iterator[None]:
        """Records into another session meanwhile, and adds to the input of actions."""
        saved = (self.session, self._last_action, self._extra_input)
        if session_id is not None:
            self.session, self._last_action = self._flows.session(session_id), None
            self._flows.share_secrets(saved[0].id, session_id)
        self._extra_input = {**self._extra_input, **extra_input}
        try:
            yield
        finally:
            self._flows.share_secrets(self.session.id, saved[0].id)
            self.session, self._last_action, self._extra_input = saved

    def add_prior_knowledge(self, attempt: Attempt) -> None:
        """Adds what earlier sessions know about the screen, given the last action here."""
        if attempt.before is not None:
            observation = attempt.before.observation
            attempt.knowledge = self._flows.prior_knowledge(self.session.id, observation, previous=self._last_action)

    def refuse_secret(self, what: str, name: str) -> None:
        """Refuses a name that holds what was typed into a secret field, or that looks like a secret."""
        self._flows.refuse_typed_secret(self.session.id, what, name)

    def record(self, attempt: Attempt, error: AthandError | None = None) -> Step:
        """Records a tool call as a step."""
        seconds = None if attempt.started is None else time.perf_counter() - attempt.started
        screen = attempt.after.observation.screen if attempt.after else None
        appeared = self._find_appeared(attempt)
        step = self._flows.record(
            self.session.id,
            tool=f"{self.profile.prefix}{attempt.verb}",
            target=attempt.target,
            input={**attempt.input, **(self._extra_input if attempt.verb in ACTIONS else {})},
            ok=error is None,
            error=None if error is None else {"code": _error_code(error), "message": str(error)},
            before=attempt.before.observation if attempt.before else None,
            after_screen=screen or None,
            screenshot=attempt.screenshot,
            duration_ms=None if seconds is None else round(seconds * 1000, 1),
            prior_knowledge=attempt.knowledge,
            origin=attempt.origin,
            appeared=appeared,
        )
        if step.ok and step.verb in ACTIONS:
            self._last_action = step
        return step

    def _find_appeared(self, attempt: Attempt) -> tuple[str, ...]:
        """What became visible with this call; for one that only looks, since the call before."""
        before = attempt.before if attempt.before is not attempt.after else self._last_page
        self._last_page = attempt.after or attempt.before or self._last_page
        return find_appeared(before, attempt.after) if attempt.after else ()


def _error_code(error: AthandError) -> str:
    """The code of an error, or its class name in capitals."""
    return error.code or re.sub("(?<!^)(?=[A-Z])", "_", type(error).__name__).upper()


def _open_session(flows: "Flows", options: LaunchOptions) -> FlowSession:
    """The named session; a new one if it does not exist or none is named."""
    if options.session is not None:
        try:
            return flows.session(options.session)
        except NotFound:
            pass
    return flows.start_session(
        goal=options.goal,
        flow_tags=options.flow_tags,
        tags=options.tags,
        app=options.app,
        app_version=options.app_version,
        git=_read_git_state() if options.git is None else options.git,
        launch=options.launch_record,
        id=options.session,
    )


def _read_git_state() -> dict[str, Any] | None:
    """Branch, commit and whether there are changes in the working folder; None outside of a repository."""
    commit = _run_git("rev-parse", "HEAD")
    if not commit:
        return None
    branch, changes = _run_git("rev-parse", "--abbrev-ref", "HEAD"), _run_git("status", "-s")
    return {"branch": branch, "commit": commit, "dirty": bool(changes)}


def _run_git(*arguments: str) -> str:
    try:
        result = subprocess.run(["git", *arguments], capture_output=True, text=True, timeout=2, check=False)  # noqa: S603, S607
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return result.stdout.strip() if result.returncode == 0 else ""
