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
from athand.flows.browser.acting import Attempt
from athand.flows.browser.journal import Journal
from athand.flows.browser.observing import LIMIT
from athand.flows.browser.options import LaunchOptions, check_seconds
from athand.flows.browser.results import Closed, Launched
from athand.flows.browser.running import Running
from athand.flows.browser.window import Window
from athand.flows.model import UNKNOWN, Observation, Step

if TYPE_CHECKING:
    from athand.flows.service import Flows

T = TypeVar("T")


class Driver:
    """Launches and ends a browser, does work in it, and keeps each piece of work as a step."""

    def __init__(self, flows: "Flows", **options: Any) -> None:
        self._flows = flows
        self._options = options
        self._lock = threading.RLock()
        self._running: Running | None = None
        self._journal: Journal | None = None
        self._end: Callable[[], Any] = lambda: None

    @property
    def is_open(self) -> bool:
        """Whether a browser was launched and not cleaned up."""
        return self._running is not None

    @property
    def is_alive(self) -> bool:
        """Whether the browser that was launched still answers."""
        running = self._running
        return running is not None and running.is_alive()

    @property
    def session_id(self) -> str | None:
        """The session that steps are recorded in."""
        return self._journal.session.id if self._journal else None

    def launch(self, **options: Any) -> Launched:
        """Start a browser and a session, as the options say; those the browser was made with are the defaults."""
        attempt = Attempt("launch")
        with self._lock:
            if self.is_alive:
                busy = Conflict("A browser is running already. Use it, or clean up first.", code="ALREADY_LAUNCHED")
                raise self._failed(attempt, busy)
            self._close()
            chosen = LaunchOptions.checked({**self._options, **options})
            journal = self._journal = Journal(self._flows, chosen)
            pictures = chosen.screenshots or self._flows.pictures(journal.session.id)
            running = self._running = Running(replace(chosen, screenshots=pictures), journal.profile)
            self._end = weakref.finalize(self, running.close)  # also for one that is forgotten, or when we exit
            attempt.begun, attempt.given = time.perf_counter(), chosen.shown
            try:
                self._start(attempt, running)
                step, _ = self._do(attempt, lambda window: tabs.arrive(window, attempt, chosen.url))
            except BaseException:
                self._close()
                raise
            return Launched(journal.session.id, journal.session.app, *place(attempt), step.id, note(attempt))

    def cleanup(self) -> Closed:
        """Close the browser and take its profile away; it may be launched again."""
        with self._lock:
            was_open = self.is_open
            try:
                step = self._journal.keep(Attempt("cleanup")) if self._journal and was_open else None
            except NotFound:  # its session was deleted meanwhile: there is nothing to write into
                step = None
            finally:
                self._close()
            return Closed(self.session_id, was_open, step.id if step else None)

    def observe(self, limit: int = LIMIT) -> Observation:
        """What is on the page, without a record of having looked; its refs can be used."""
        with self._lock:
            running, _ = self._need(Attempt("describe_screen"))
            return running.run(lambda window: window.show(limit=limit), running.window.options.timeout_s).observation

    @contextmanager
    def recording(self, session_id: str | None = None, **more: Any) -> Iterator[None]:
        """While it lasts, steps go into another session, and actions have more in their input."""
        with self._lock:
            _, journal = self._need(Attempt("launch"))
            with journal.elsewhere(session_id, more):
                yield

    def _start(self, attempt: Attempt, running: Running) -> None:
        try:
            running.start()
        except AthandError as error:
            raise self._failed(attempt, error) from error

    def _do(
        self,
        attempt: Attempt,
        work: Callable[[Window], Awaitable[T]],
        *,
        before_keeping: Callable[[Journal], None] = lambda journal: None,
    ) -> tuple[Step, T]:
        """Do it, keep it as a step, and hand back both; what fails is kept too, and raised."""
        with self._lock:
            running, journal = self._need(attempt)
            attempt.begun = attempt.begun or time.perf_counter()
            try:
                limit = running.window.options.timeout_s
                if attempt.timeout_s is not None:
                    limit = check_seconds("timeout_s", attempt.timeout_s)
                done = running.run(work, limit)
                before_keeping(journal)
            except AthandError as error:
                raise self._failed(attempt, error) from error.__cause__
            attempt.notes += running.window.news()
            return journal.keep(attempt), done

    def _need(self, attempt: Attempt) -> tuple[Running, Journal]:
        """The browser and its session, or the error that there is none."""
        if self._running is None or self._journal is None:
            missing = ActionFailed("No browser is running. Launch one first.", code="NOT_LAUNCHED")
            raise self._failed(attempt, missing)
        return self._running, self._journal

    def _failed(self, attempt: Attempt, error: AthandError) -> AthandError:
        """The same error, recorded where there is a session."""
        if self._journal is not None:
            self._journal.keep(attempt, error)
        return error

    def _close(self) -> None:
        self._running = None
        self._end()


def place(attempt: Attempt) -> tuple[str, str]:
    """Screen and address where an attempt led."""
    seen = attempt.after.observation if attempt.after else Observation()
    return seen.screen or UNKNOWN, seen.url


def note(attempt: Attempt) -> str | None:
    """What should be known about an attempt that went well."""
    return " ".join(attempt.notes) or None
