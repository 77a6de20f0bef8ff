"""The life of a browser and of the session it writes; every call is done in the browser's thread and recorded."""

import threading
import time
import weakref
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from athand.errors import ActionFailed, AthandError, Conflict, NotFound
from athand.flows.browser import tabs
from athand.flows.browser.actions import Attempt
from athand.flows.browser.context import PageContext
from athand.flows.browser.model import Closed, Launched
from athand.flows.browser.options import LaunchOptions, check_seconds
from athand.flows.browser.process import BrowserProcess
from athand.flows.browser.recorder import StepRecorder
from athand.flows.browser.snapshot import LIMIT
from athand.flows.model import UNKNOWN, Observation, Step

if TYPE_CHECKING:
    from athand.flows.service import Flows

T = TypeVar("T")


class BrowserLifecycle:
    """Launches and ends a browser, does work in it, and keeps each piece of work as a step."""

    def __init__(self, flows: "Flows", **options: Any) -> None:
        self._flows = flows
        self._options = options
        self._lock = threading.RLock()
        self._process: BrowserProcess | None = None
        self._recorder: StepRecorder | None = None
        self._end: Callable[[], Any] = lambda: None

    @property
    def is_open(self) -> bool:
        """Whether a browser was launched and not cleaned up."""
        return self._process is not None

    @property
    def is_alive(self) -> bool:
        """Whether the browser that was launched still answers."""
        running = self._process
        return running is not None and running.is_alive()

    @property
    def session_id(self) -> str | None:
        """The session that steps are recorded in."""
        return self._recorder.session.id if self._recorder else None

    def launch(self, **options: Any) -> Launched:
        """Start a browser and a session, as the options say; those the browser was made with are the defaults."""
        attempt = Attempt("launch")
        with self._lock:
            if self.is_alive:
                busy = Conflict("A browser is running already. Use it, or clean up first.", code="ALREADY_LAUNCHED")
                raise self._failed(attempt, busy)
            self._close()
            chosen = LaunchOptions.checked({**self._options, **options})
            recorder = self._recorder = StepRecorder(self._flows, chosen)
            pictures = chosen.screenshots or self._flows.pictures(recorder.session.id)
            running = self._process = BrowserProcess(replace(chosen, screenshots=pictures), recorder.profile)
            self._end = weakref.finalize(self, running.close)  # also for one that is forgotten, or when we exit
            attempt.begun, attempt.given = time.perf_counter(), chosen.shown
            try:
                self._start(attempt, running)
                step, _ = self._do(attempt, lambda context: tabs.arrive(context, attempt, chosen.url))
            except BaseException:
                self._close()
                raise
            return Launched(recorder.session.id, recorder.session.app, *place(attempt), step.id, note(attempt))

    def cleanup(self) -> Closed:
        """Close the browser and take its profile away; it may be launched again."""
        with self._lock:
            was_open = self.is_open
            try:
                step = self._recorder.keep(Attempt("cleanup")) if self._recorder and was_open else None
            except NotFound:  # its session was deleted meanwhile: there is nothing to write into
                step = None
            finally:
                self._close()
            return Closed(self.session_id, was_open, step.id if step else None)

    def observe(self, limit: int = LIMIT) -> Observation:
        """What is on the page, without a record of having looked; its refs can be used."""
        with self._lock:
            running, _ = self._need(Attempt("describe_screen"))
            return running.run(lambda context: context.show(limit=limit), running.context.options.timeout_s).observation

    @contextmanager
    def recording(self, session_id: str | None = None, **more: Any) -> Iterator[None]:
        """While it lasts, steps go into another session, and actions have more in their input."""
        with self._lock:
            _, recorder = self._need(Attempt("launch"))
            with recorder.elsewhere(session_id, more):
                yield

    def _start(self, attempt: Attempt, running: BrowserProcess) -> None:
        try:
            running.start()
        except AthandError as error:
            raise self._failed(attempt, error) from error

    def _do(
        self,
        attempt: Attempt,
        work: Callable[[PageContext], Awaitable[T]],
        *,
        before_keeping: Callable[[StepRecorder], None] = lambda recorder: None,
    ) -> tuple[Step, T]:
        """Do it, keep it as a step, and hand back both; what fails is kept too, and raised."""
        with self._lock:
            running, recorder = self._need(attempt)
            attempt.begun = attempt.begun or time.perf_counter()
            try:
                limit = running.context.options.timeout_s
                if attempt.timeout_s is not None:
                    limit = check_seconds("timeout_s", attempt.timeout_s)
                done = running.run(work, limit)
                before_keeping(recorder)
            except AthandError as error:
                raise self._failed(attempt, error) from error.__cause__
            attempt.notes += running.context.news()
            return recorder.keep(attempt), done

    def _need(self, attempt: Attempt) -> tuple[BrowserProcess, StepRecorder]:
        """The browser and its session, or the error that there is none."""
        if self._process is None or self._recorder is None:
            missing = ActionFailed("No browser is running. Launch one first.", code="NOT_LAUNCHED")
            raise self._failed(attempt, missing)
        return self._process, self._recorder

    def _failed(self, attempt: Attempt, error: AthandError) -> AthandError:
        """The same error, recorded where there is a session."""
        if self._recorder is not None:
            self._recorder.keep(attempt, error)
        return error

    def _close(self) -> None:
        self._process = None
        self._end()


def place(attempt: Attempt) -> tuple[str, str]:
    """Screen and address where an attempt led."""
    seen = attempt.after.observation if attempt.after else Observation()
    return seen.screen or UNKNOWN, seen.url


def note(attempt: Attempt) -> str | None:
    """What should be known about an attempt that went well."""
    return " ".join(attempt.notes) or None
