"""MCP over standard input and output, which carry nothing else as long as it lasts."""

import json
import logging
import os
import signal
import sys
import threading
from typing import Any, NoReturn

import anyio
import anyio.to_thread
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp import types
from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from athand.adapters.mcp.wire import Wire
from athand.adapters.operations import AppContext
from athand.errors import AthandError

log = logging.getLogger("athand")

_EXIT_INTERRUPTED = 130
_GRACE = 10.0  # seconds for what was asked before the client closed its end
_A_LOOK = 0.02
_CANCELLED = "notifications/cancelled"
_LONGEST_FAREWELL = 20.0  # seconds for servers, browsers and the store to be closed

Incoming = MemoryObjectSendStream[SessionMessage | Exception]
Outgoing = MemoryObjectSendStream[SessionMessage]


def serve(wire: Wire, workspace: AppContext, server: Server[Any]) -> NoReturn:
    """Answer until the client leaves or a signal comes, close everything, and end the process."""
    threading.Thread(target=_open, args=(workspace,), name="athand-open", daemon=True).start()
    try:
        code = anyio.run(_until_the_end, wire, server)
    except Exception:
        log.exception("The MCP server has failed")
        code = 1
    closing = threading.Thread(target=workspace.close, name="athand-close", daemon=True)
    closing.start()
    closing.join(_LONGEST_FAREWELL)
    sys.stderr.flush()
    # Threads may still wait for input that never comes, or for an answer that nobody wants: they are not waited for.
    os._exit(code)


def _open(workspace: AppContext) -> None:
    """Open the store while the client says hello; what is wrong with it is told to whoever uses it."""
    try:
        _ = workspace.athand
    except AthandError as error:
        log.warning("%s", error)


async def _until_the_end(wire: Wire, server: Server[Any]) -> int:
    async with anyio.create_task_group() as tasks:
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
            tasks.start_soon(_Conversation(wire).hold, server, tasks.cancel_scope)
            async for number in signals:
                tasks.cancel_scope.cancel()
                return _EXIT_INTERRUPTED if number == signal.SIGINT else 0
    return 0


class _Conversation:
    """Lines in and lines out; what was asked before the client closed its end is answered still."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._owed: set[str] = set()  # the ids of what is not answered yet

    async def hold(self, server: Server[Any], whole: anyio.CancelScope) -> None:
        """Serve until the client has left, then end the whole."""
        incoming, messages = anyio.create_memory_object_stream[SessionMessage | Exception]()
        outgoing, answers = anyio.create_memory_object_stream[SessionMessage]()
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._receive, incoming, outgoing.clone())
                tasks.start_soon(self._send, answers)
                await server.run(messages, outgoing, server.create_initialization_options())
                tasks.cancel_scope.cancel()
        except* BrokenPipeError:
            log.info("The client has gone.")
        whole.cancel()

    async def _receive(self, incoming: Incoming, outgoing: Outgoing) -> None:
        """Every line is a message; what is none is answered with an error, as JSON-RPC wants it."""
        limiter, read = anyio.CapacityLimiter(1), self._wire.reading.readline
        async with incoming, outgoing:
            while line := await anyio.to_thread.run_sync(read, abandon_on_cancel=True, limiter=limiter):
                if line.strip():
                    await self._take(line, incoming, outgoing)
            with anyio.move_on_after(_GRACE):
                while self._owed and self._wire.is_read():
                    await anyio.sleep(_A_LOOK)

    async def _take(self, line: bytes, incoming: Incoming, outgoing: Outgoing) -> None:
        try:
            message = _message(line)
        except (ValueError, RecursionError):
            await outgoing.send(SessionMessage(_not_understood()))
            return
        if isinstance(message, types.JSONRPCRequest):
            self._owed.add(str(message.id))
        elif isinstance(message, types.JSONRPCNotification) and message.method == _CANCELLED:
            self._owed.discard(str((message.params or {}).get("requestId")))
        await incoming.send(SessionMessage(message))

    async def _send(self, answers: MemoryObjectReceiveStream[SessionMessage]) -> None:
        limiter = anyio.CapacityLimiter(1)
        async with answers:
            async for answer in answers:
                text = answer.message.model_dump_json(by_alias=True, exclude_unset=True)
                line = f"{text}\n".encode()
                await anyio.to_thread.run_sync(self._wire.write, line, abandon_on_cancel=True, limiter=limiter)
                if isinstance(answer.message, types.JSONRPCResponse | types.JSONRPCError):
                    self._owed.discard(str(answer.message.id))


def _message(line: bytes) -> types.JSONRPCMessage:
    """The message of a line; clients that cut texts leave half a character at an end, which is mended."""
    try:
        return types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError:
        whole = json.dumps(json.loads(line), ensure_ascii=False).encode(errors="replace")
        return types.jsonrpc_message_adapter.validate_json(whole, by_name=False)


def _not_understood() -> types.JSONRPCError:
    text = "This line is no JSON-RPC message. Send one message in one line of UTF-8."
    return types.JSONRPCError(jsonrpc="2.0", id=None, error=types.ErrorData(code=types.PARSE_ERROR, message=text))
