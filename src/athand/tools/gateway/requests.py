"""Requests and notifications of a server while it runs a tool: passed on to the caller of that tool, or refused."""

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeVar

import mcp_types as types
from mcp.shared.dispatcher import ProgressFnT

from athand.text_length import shorten
from athand.tools.gateway.diagnostics import Diagnostics, mask_secrets, sanitize
from athand.tools.relay import ELICIT, LIST_ROOTS, SAMPLE, ClientCannot, Relay

T = TypeVar("T")
_LONGEST_LOG = 4_000  # characters of a log message that is passed on
_NAMES = {ELICIT: "an answer of a person (elicitation)", SAMPLE: "a model (sampling)", LIST_ROOTS: "folders (roots)"}
_NOBODY = "no call of one of its tools is running"
_UNSURE = "several callers use it at this moment, and it does not say whose call it is about"
_CANNOT = "whoever has called the tool cannot be asked: it is no MCP client"
_call: ContextVar["UpstreamCall | None"] = ContextVar("call", default=None)


@dataclass(eq=False, slots=True)
class UpstreamCall:
    """A call that a server is working on."""

    relay: Relay | None
    refusals: list[str] = field(default_factory=list)  # of what the server has asked for
    _questions: int = 0  # that the caller has not answered yet
    _asked_at: float = 0.0  # when the first of them was asked
    _seconds: float = 0.0  # that earlier ones took

    def pause_seconds(self) -> float:
        """The seconds that the server has waited for its caller, for which it is not to blame."""
        return self._seconds + (_now() - self._asked_at if self._questions else 0.0)

    @contextmanager
    def pause(self) -> Iterator[None]:
        """The time within does not count as time of the server."""
        if not self._questions:
            self._asked_at = _now()
        self._questions += 1
        try:
            yield
        finally:
            self._questions -= 1
            if not self._questions:
                self._seconds += _now() - self._asked_at


class ServerRequests:
    """What one server asks for and tells. Everything runs in the thread of the gateway."""

    def __init__(self, diagnostics: Diagnostics) -> None:
        self._launch = diagnostics.launch
        self._running: list[UpstreamCall] = []

    @contextmanager
    def during(self, call: UpstreamCall) -> Iterator[None]:
        """Passes on to the caller of this call what the server asks and tells meanwhile."""
        self._running.append(call)
        token = _call.set(call)
        try:
            yield
        finally:
            _call.reset(token)
            self._running.remove(call)

    async def elicit(self, context: Any, params: types.ElicitRequestParams) -> types.ElicitResult | types.ErrorData:
        """Ask the person behind the caller, who is told which server asks."""
        given = _to_json(params)
        given["message"] = f"The tool server {self._launch.name} asks: {mask_secrets(params.message, self._launch)}"
        return await self._ask(ELICIT, given, types.ElicitResult.model_validate)

    async def sample(
        self, context: Any, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult | types.ErrorData:
        """Ask the model of the caller."""
        return await self._ask(SAMPLE, _to_json(params), types.CreateMessageResult.model_validate)

    async def list_roots(self, context: Any) -> types.ListRootsResult | types.ErrorData:
        """The folders that the caller works in."""
        return await self._ask(LIST_ROOTS, {}, types.ListRootsResult.model_validate)

    async def log(self, params: types.LoggingMessageNotificationParams) -> None:
        """Pass on a log message."""
        call, _ = self._find_call()
        if call is not None and call.relay is not None:
            text = params.data if isinstance(params.data, str) else json.dumps(params.data, ensure_ascii=False)
            logger = f"{self._launch.name}.{sanitize(params.logger)}" if params.logger else self._launch.name
            call.relay.log(params.level, shorten(mask_secrets(text, self._launch), _LONGEST_LOG), logger)

    def progress_of(self, relay: Relay) -> ProgressFnT:
        """Passes on how far a call is."""

        async def report(progress: float, total: float | None, message: str | None) -> None:
            text = None if message is None else sanitize(mask_secrets(message, self._launch))
            relay.report(progress, total, text)

        return report

    async def _ask(self, method: str, params: dict[str, Any], parse: Callable[[Any], T]) -> T | types.ErrorData:
        call, reason = self._find_call()
        if call is None or call.relay is None:
            return self._refuse(call, method, reason)
        try:
            with call.pause():
                return parse(await asyncio.wrap_future(call.relay.request(method, params)))
        except ClientCannot as error:
            return self._refuse(call, method, str(error).rstrip("."))

    def _find_call(self) -> tuple[UpstreamCall | None, str]:
        """The call that a message of the server belongs to; else why it is not known, or leads nowhere."""
        own = _call.get()
        if own in self._running and own is not None:
            return own, _CANNOT
        if not self._running:
            return None, _NOBODY
        owners = {None if call.relay is None else call.relay.owner for call in self._running}
        return (self._running[-1], _CANNOT) if len(owners) == 1 else (None, _UNSURE)

    def _refuse(self, call: UpstreamCall | None, method: str, reason: str) -> types.ErrorData:
        """The error for the server; the callers learn of it if their call fails."""
        text = f"The server {self._launch.name} has asked for {_NAMES[method]}, which was refused: {reason}."
        for each in self._running if call is None else [call]:
            each.refusals.append(text)
        return types.ErrorData(code=types.INVALID_REQUEST, message=text)


def add_refusals(call: UpstreamCall, result: dict[str, Any]) -> dict[str, Any]:
    """The result of a call; one that says that it failed also says what was refused to its server."""
    if not result.get("isError") or not call.refusals:
        return result
    notes = [{"type": "text", "text": text} for text in dict.fromkeys(call.refusals)]
    return {**result, "content": [*(result.get("content") or ()), *notes]}


def _to_json(params: Any) -> dict[str, Any]:
    given: dict[str, Any] = params.model_dump(by_alias=True, mode="json", exclude_none=True)
    given.pop("_meta", None)
    given.pop("task", None)
    return given


def _now() -> float:
    return asyncio.get_running_loop().time()
