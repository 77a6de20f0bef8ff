"""What is asked runs in a thread, so that nobody waits for another; long work tells how far it is."""

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

from mcp import MCPError, types

from athand.adapters.mcp.logs import Context, heard
from athand.adapters.mcp.results import answered, failed
from athand.adapters.mcp.telling import Telling
from athand.adapters.operations import AppContext, Operation
from athand.adapters.operations.threads import Threads, is_slow
from athand.errors import AthandError, InvalidInput, NotFound

log = logging.getLogger("athand")

T = TypeVar("T")
_BETWEEN_NEWS = 0.1  # seconds


class Calls:
    """Runs what is asked. What is given up ends by itself, and its answer is lost."""

    def __init__(self, workspace: AppContext, threads: Threads) -> None:
        self._workspace = workspace
        self._threads = threads

    async def call(self, operation: Operation, arguments: Mapping[str, Any], context: Context) -> types.CallToolResult:
        """What an operation answers; the error it raises is a result too, for the model to read."""
        telling = Telling()
        perform = partial(operation.perform, self._workspace, arguments, progress=_News(context, telling))
        try:
            with heard(context, telling), _foreseen(operation.name):
                return await self._threads.run(lambda: answered(operation, perform()), slow=is_slow(operation))
        except AthandError as error:
            return failed(error)
        finally:
            telling.end()

    async def ask(self, what: str, question: Callable[..., T], *given: Any) -> T:
        """What a function answers; the error it raises is one of the protocol."""
        try:
            with _foreseen(what):
                return await self._threads.run(partial(question, *given))
        except (InvalidInput, NotFound) as error:
            raise MCPError(types.INVALID_PARAMS, str(error)) from error
        except AthandError as error:
            raise MCPError(types.INTERNAL_ERROR, str(error)) from error


@contextmanager
def _foreseen(what: str) -> Iterator[None]:
    """An error that is none of ours is told to the log; the client only hears that there was one."""
    try:
        yield
    except (AthandError, MCPError):
        raise
    except Exception as error:
        log.exception("%s failed", what)
        text = f"{what} failed in a way that was not foreseen. The log of the server says more."
        raise MCPError(types.INTERNAL_ERROR, text) from error


class _News:
    """Tells the client how far an operation is: not too often, and only ever more."""

    def __init__(self, context: Context, telling: Telling) -> None:
        self._report = context.session.report_progress
        self._telling = telling
        self._done, self._told_at = -1, 0.0

    def __call__(self, done: int, total: int) -> None:
        is_due = done >= total or time.monotonic() - self._told_at >= _BETWEEN_NEWS
        if done <= self._done or not is_due:
            return
        self._done, self._told_at = done, time.monotonic()
        self._telling.tell(self._report, done, total)
