"""Runs requests in worker threads, and turns their errors into MCP results or protocol errors."""

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from mcp import MCPError, types

from athand.adapters.mcp.calls import CallAnswer, RunningCalls
from athand.adapters.mcp.client_requests import ClientChannel
from athand.adapters.mcp.lean import FULL, LEAN
from athand.adapters.mcp.notifications import RequestContext, forward_logs
from athand.adapters.mcp.render import render_error, render_result
from athand.adapters.mcp.tool_list import ToolList
from athand.adapters.operations import AppContext, Caller, Operation
from athand.adapters.operations.threads import Threads
from athand.adapters.project import FoundProject, find_project_of, folder_of_address
from athand.errors import AthandError, InvalidInput, NotFound
from athand.inputs import check_choice
from athand.tools.relay import LIST_ROOTS, ClientCannot

log = logging.getLogger("athand")
_ROOTS_SECONDS = 10.0

T = TypeVar("T")


class Dispatcher:
    """Runs requests in threads. Work that was given up is told to stop, where it can; its result is dropped."""

    def __init__(self, ctx: AppContext, tools: ToolList, threads: Threads, *, asks_roots: bool = False) -> None:
        self._ctx = ctx
        self._tools = tools
        self._threads = threads
        self._calls = RunningCalls()
        self._asks_roots = asks_roots  # until the one client has been asked
        self._project_of_roots: FoundProject | None = None

    async def call(
        self, operation: Operation, params: types.CallToolRequestParams, context: RequestContext, caller: Caller
    ) -> CallAnswer:
        """Run an operation as a tool, or go on with one that has asked the client something."""
        arguments = params.arguments or {}
        if params.request_state is not None:
            answers = params.input_responses or {}
            return await self._calls.resume(operation.name, arguments, context, caller, params.request_state, answers)
        work = partial(self._perform, operation, arguments, caller)
        return await self._calls.start(operation.name, arguments, context, caller, work)

    async def _perform(
        self, operation: Operation, arguments: Mapping[str, Any], caller: Caller, channel: ClientChannel
    ) -> types.CallToolResult:
        """The result of an operation; its errors are results too, for the model to read."""
        offered = self._tools.filter(caller.scopes)
        caller = replace(caller, client=channel, project=await self._find_project(caller, channel))
        given = dict(arguments)
        detail = given.pop("detail", LEAN)
        perform = partial(operation.perform, self._ctx, given, caller=caller, progress=channel.progress)
        try:
            with forward_logs(channel.sender), _hide_details(operation.name):
                check_choice("detail", detail, (LEAN, FULL))
                run = partial(_render, operation, perform, offered, is_lean=detail == LEAN)
                return await self._threads.run(run, slow=operation.is_slow)
        except AthandError as error:
            return render_error(error, offered)

    async def _find_project(self, caller: Caller, channel: ClientChannel) -> str | None:
        """The project that the client's roots are in, else that of the caller."""
        if self._asks_roots:
            self._asks_roots = False
            with suppress(ClientCannot, TimeoutError):
                asked = asyncio.wrap_future(channel.request(LIST_ROOTS, {}))
                answer = await asyncio.wait_for(asked, _ROOTS_SECONDS)
                folders = [folder_of_address(str(each["uri"])) for each in answer["roots"]]
                self._project_of_roots = find_project_of([each for each in folders if each])
        return self._project_of_roots.name if self._project_of_roots else caller.project

    async def run(self, name: str, function: Callable[..., T], *arguments: Any) -> T:
        """Run a function; its errors are protocol errors."""
        try:
            with _hide_details(name):
                return await self._threads.run(partial(function, *arguments))
        except (InvalidInput, NotFound) as error:
            raise MCPError(types.INVALID_PARAMS, str(error)) from error
        except AthandError as error:
            raise MCPError(types.INTERNAL_ERROR, str(error)) from error


def _render(
    operation: Operation, perform: Callable[[], Any], offered: Mapping[str, Operation], *, is_lean: bool
) -> types.CallToolResult:
    return render_result(operation, perform(), offered, is_lean=is_lean)


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
