"""Launch and cleanup of a browser and its session; every tool call runs in the browser's thread and is recorded."""

import threading
import time
import weakref
from collections.abc import Awaitable, Callable, Iterator, Set
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from athand.errors import ActionFailed, AthandError, Conflict, NotFound
from athand.flows.browser import actions
from athand.flows.browser.context import PageContext
from athand.flows.browser.model import CleanupResult, LaunchOptions, LaunchResult, check_seconds
from athand.flows.browser.process import BrowserProcess
from athand.flows.browser.recorder import Attempt, StepRecorder
from athand.flows.browser.snapshot import DEFAULT_TEST_IDS
from athand.flows.model import Observation, Step

if TYPE_CHECKING:
    from athand.flows.service import Flows

T = TypeVar("T")


class BrowserLifecycle:
    """Launches and closes a browser, runs tool calls in it, and records each of them as a step."""

    def __init__(self, flows: "Flows", **options: Any) -> None:
        self._flows = flows
        self._options = options
        self._lock = threading.RLock()
        self._process: BrowserProcess | None = None
        self._recorder: StepRecorder | None = None
        self._finalizer: Callable[[], Any] = lambda: None

    @property
    def is_open(self) -> bool:
        """Whether a browser was launched and not cleaned up."""
        return self._process is not None

    @property
    def is_alive(self) -> bool:
        """Whether the browser that was launched still answers."""
        process = self._process
        return process is not None and process.is_alive()

    @property
    def session_id(self) -> str | None:
        """The session that steps are recorded in."""
        return self._recorder.session.id if self._recorder else None

    def launch(self, **options: Any) -> LaunchResult:
        """Starts a browser and a session; options default to those given when the browser was prepared."""
        attempt = Attempt("launch")
        with self._lock:
            if self.is_alive:
                busy = Conflict("A browser is running already. Use it, or clean up first.", code="ALREADY_LAUNCHED")
                raise self._record_failure(attempt, busy)
            self._close()
            chosen = LaunchOptions.parse({**self._options, **options})
            recorder = self._recorder = StepRecorder(self._flows, chosen)
            attempt.started, attempt.input = time.perf_counter(), chosen.launch_record
            try:
                self._start(attempt, chosen, recorder)
                step, _ = self._run(attempt, lambda context: actions.open_first_page(context, attempt, chosen.url))
            except BaseException:
                self._close()
                raise
            return LaunchResult(recorder.session.id, recorder.session.app, *attempt.location, step.id, attempt.note)

    def cleanup(self) -> CleanupResult:
        """Closes the browser and removes its profile; it can be launched again."""
        with self._lock:
            was_open = self.is_open
            try:
                step = self._recorder.record(Attempt("cleanup")) if self._recorder and was_open else None
            except NotFound:  # the session was deleted meanwhile
                step = None
            finally:
                self._close()
            return CleanupResult(self.session_id, was_open, step.id if step else None)

    def observe(self, limit: int = DEFAULT_TEST_IDS) -> Observation:
        """What is on the page, with new refs; not recorded as a step."""
        with self._lock:
            process, _ = self._require_open(Attempt("describe_screen"))
            timeout_s = process.context.options.timeout_s
            return process.run(lambda context: context.take_ref_snapshot(limit=limit), timeout_s).observation

    @contextmanager
    def record_into(self, session_id: str | None = None, **extra_input: Any) -> Iterator[None]:
        """Records steps into another session meanwhile, with more in the input of actions."""
        with self._lock:
            _, recorder = self._require_open(Attempt("launch"))
            with recorder.redirect(session_id, extra_input):
                yield

    @contextmanager
    def only_at(self, origins: Set[str] | None) -> Iterator[None]:
        """Texts, keys and options are given to pages of these origins only meanwhile; None: to all."""
        with self._lock:
            process, _ = self._require_open(Attempt("launch"))
            before, process.context.allowed_origins = process.context.allowed_origins, origins
            try:
                yield
            finally:
                process.context.allowed_origins = before

    def _start(self, attempt: Attempt, options: LaunchOptions, recorder: StepRecorder) -> None:
        screenshots = options.screenshots or self._flows.pictures(recorder.session.id)
        process = self._process = BrowserProcess(replace(options, screenshots=screenshots), recorder.profile)
        self._finalizer = weakref.finalize(self, process.close)  # also when it is garbage-collected, and at exit
        try:
            process.start()
        except AthandError as error:
            raise self._record_failure(attempt, error) from error

    def _run(
        self,
        attempt: Attempt,
        work: Callable[[PageContext], Awaitable[T]],
        *,
        before_recording: Callable[[StepRecorder], None] = lambda recorder: None,
    ) -> tuple[Step, T]:
        """Runs a tool call and records it; returns step and result. A failure is recorded too, and raised."""
        with self._lock:
            process, recorder = self._require_open(attempt)
            attempt.started = attempt.started or time.perf_counter()
            try:
                timeout_s = process.context.options.timeout_s
                if attempt.timeout_s is not None:
                    timeout_s = check_seconds("timeout_s", attempt.timeout_s)
                result = process.run(work, timeout_s)
                before_recording(recorder)
            except AthandError as error:
                raise self._record_failure(attempt, error) from error.__cause__
            attempt.notes += process.context.take_new_messages()
            return recorder.record(attempt), result

    def _require_open(self, attempt: Attempt) -> tuple[BrowserProcess, StepRecorder]:
        """The process and its recorder; raises NOT_LAUNCHED if there is none."""
        if self._process is None or self._recorder is None:
            error = ActionFailed("No browser is running. Launch one first.", code="NOT_LAUNCHED")
            raise self._record_failure(attempt, error)
        return self._process, self._recorder

    def _record_failure(self, attempt: Attempt, error: AthandError) -> AthandError:
        """Records a failed call if there is a session, and returns the error."""
        if self._recorder is not None:
            self._recorder.record(attempt, error)
        return error

    def _close(self) -> None:
        self._process = None
        self._finalizer()
