"""Calls that run in worker threads, over one request of their client or, where they ask it something, over several."""

import asyncio
import hashlib
import json
import secrets
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any

from mcp import MCPError, types

from athand.adapters.mcp.client_requests import ClientChannel
from athand.adapters.mcp.notifications import RequestContext
from athand.adapters.operations import Caller

Work = Callable[[ClientChannel], Coroutine[Any, Any, types.CallToolResult]]
CallAnswer = types.CallToolResult | types.InputRequiredResult
_GONE = "This question is not open any more. Call the tool again, without requestState."


@dataclass(slots=True)
class _RunningCall:
    channel: ClientChannel
    task: asyncio.Task[types.CallToolResult]
    identity: str  # what the client has to repeat

    async def wait(self) -> dict[str, types.InputRequest] | None:
        """Wait until the client is asked something, which is returned, or until the call has ended."""
        asked = asyncio.create_task(self.channel.has_questions.wait())
        try:
            await asyncio.wait((self.task, asked), return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self.channel.close(is_cancelled=True)
            self.task.cancel()
            raise
        finally:
            asked.cancel()
        return None if self.task.done() else self.channel.take_questions()


class RunningCalls:
    """The calls of one server. Those that wait for an answer are found again by the state that the client returns."""

    def __init__(self) -> None:
        self._waiting: dict[str, _RunningCall] = {}
        self._open_questions: Counter[str] = Counter()

    async def start(
        self, name: str, arguments: Mapping[str, Any], context: RequestContext, caller: Caller, work: Work
    ) -> CallAnswer:
        """The result of a new call, or what its client has to answer first."""
        channel = ClientChannel(context, caller, self._open_questions)
        task = asyncio.create_task(work(channel))
        task.add_done_callback(lambda done: done.cancelled() or done.exception())  # retrieved, if nobody waits
        task.add_done_callback(lambda _: channel.close())
        return await self._go_on(_RunningCall(channel, task, _identify(name, arguments, caller)))

    async def resume(
        self,
        name: str,
        arguments: Mapping[str, Any],
        context: RequestContext,
        caller: Caller,
        state: str,
        answers: Mapping[str, Any],
    ) -> CallAnswer:
        """Go on with a call that has asked its client something."""
        call = self._waiting.get(state)
        if call is None or call.identity != _identify(name, arguments, caller):
            raise MCPError(types.INVALID_PARAMS, _GONE)
        del self._waiting[state]
        call.channel.attach(context, answers)
        return await self._go_on(call)

    async def _go_on(self, call: _RunningCall) -> CallAnswer:
        questions = await call.wait()
        if questions is None:
            return call.task.result()
        state = secrets.token_urlsafe(32)
        self._waiting[state] = call
        call.task.add_done_callback(lambda _: self._waiting.pop(state, None))
        return types.InputRequiredResult(input_requests=questions, request_state=state)


def _identify(name: str, arguments: Mapping[str, Any], caller: Caller) -> str:
    """The call and its caller, in few characters."""
    whole = json.dumps([caller.name, name, arguments], sort_keys=True, default=str)
    return hashlib.sha256(whole.encode()).hexdigest()
