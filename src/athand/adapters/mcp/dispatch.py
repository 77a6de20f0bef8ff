"""Runs requests in worker threads, and turns their errors into MCP results or protocol errors."""

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

from mcp import MCPError, types

from athand.adapters.mcp.lean import FULL, LEAN
from athand.adapters.mcp.notifications import NotificationSender, ProgressReporter, RequestContext, forward_logs
from athand.adapters.mcp.render import render_error, render_result
from athand.adapters.operations import AppContext, Caller, Operation
from athand.adapters.operations.threads import Threads
from athand.errors import AthandError, InvalidInput, NotFound
from athand.inputs import check_choice

log = logging.getLogger("athand")

T = TypeVar("T")


class Dispatcher:
    """Runs requests in threads. A cancelled request runs to its end unseen, and its result is dropped."""

    def __init__(self, ctx: AppContext, threads: Threads) -> None:
        self._ctx = ctx
        self._threads = threads

    async def call(
        self, operation: Operation, arguments: Mapping[str, Any], context: RequestContext, caller: Caller
    ) -> types.CallToolResult:
        """Run an operation as a tool; its errors are results too, for the model to read."""
        given = dict(arguments)
        detail = given.pop("detail", LEAN)
        sender = NotificationSender()
        progress = ProgressReporter(context, sender)
        perform = partial(operation.perform, self._ctx, given, caller=caller, progress=progress)
        try:
            with forward_logs(context, sender), _hide_details(operation.name):
                check_choice("detail", detail, (LEAN, FULL))
                run = partial(_render, operation, perform, is_lean=detail == LEAN)
                return await self._threads.run(run, slow=operation.is_slow)
        except AthandError as error:
            return render_error(error)
        finally:
            sender.close()

    async def run(self, name: str, function: Callable[..., T], *arguments: Any) -> T:
        """Run a function; its errors are protocol errors."""
        try:
            with _hide_details(name):
                return await self._threads.run(partial(function, *arguments))
        except (InvalidInput, NotFound) as error:
            raise MCPError(types.INVALID_PARAMS, str(error)) from error
        except AthandError as error:
            raise MCPError(types.INTERNAL_ERROR, str(error)) from error


def _render(operation: Operation, perform: Callable[[], Any], *, is_lean: bool) -> types.CallToolResult:
    return render_result(operation, perform(), is_lean=is_lean)


@contextmanager
def _hide_details(name: str) -> Iterator[None]:
    """Logs unexpected exceptions; the client gets a generic internal error."""
    try:
        yield
    except (AthandError, MCPError):
        raise
    except Exception as error:
        log.exception("%s failed", name)
        text = f"{name} failed in a way that was not foreseen. The log of the server says more."
        raise MCPError(types.INTERNAL_ERROR, text) from error
