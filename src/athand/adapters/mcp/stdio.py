"""MCP over stdio: one JSON-RPC message per line; nothing else uses stdin and stdout."""

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

from athand.adapters.mcp.request_validation import has_wrong_id, wrong_id_error
from athand.adapters.mcp.startup_answers import StartupAnswers
from athand.adapters.mcp.stdio_fds import StdioFds
from athand.adapters.operations import AppContext
from athand.errors import AthandError

log = logging.getLogger("athand")

_EXIT_INTERRUPTED = 130
_GRACE_SECONDS = 10.0  # for pending requests after the client has closed stdin
_POLL_SECONDS = 0.02
_CANCELLED = "notifications/cancelled"
_CLOSE_SECONDS = 20.0  # for closing servers, browsers and the store

Incoming = MemoryObjectSendStream[SessionMessage | Exception]
Outgoing = MemoryObjectSendStream[SessionMessage]


def serve(fds: StdioFds, ctx: AppContext, server: Server[Any], first: StartupAnswers) -> NoReturn:
    """Serve until the client disconnects or a signal arrives, close everything, and exit the process."""
    threading.Thread(target=_open_store, args=(ctx, first), name="athand-open", daemon=True).start()
    try:
        code = anyio.run(_run_until_end, fds, server, first)
    except Exception:
        log.exception("The MCP server has failed")
        code = 1
    closing = threading.Thread(target=ctx.close, name="athand-close", daemon=True)
    closing.start()
    closing.join(_CLOSE_SECONDS)
    sys.stderr.flush()
    # Worker threads may still block on input or on an abandoned request: exit without joining them.
    os._exit(code)


def _open_store(ctx: AppContext, first: StartupAnswers) -> None:
    """Open the store during the handshake; an error is raised again by the requests that need the store."""
    try:
        first.note_flows(has_flows=bool(ctx.athand.flows.sessions(1)))
    except AthandError as error:
        log.warning("%s", error)


async def _run_until_end(fds: StdioFds, server: Server[Any], first: StartupAnswers) -> int:
    async with anyio.create_task_group() as tasks:
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
            tasks.start_soon(_StdioSession(fds, first).run, server, tasks.cancel_scope)
            async for number in signals:
                tasks.cancel_scope.cancel()
                return _EXIT_INTERRUPTED if number == signal.SIGINT else 0
    return 0


class _StdioSession:
    """Reads and writes messages; requests made before the client closed stdin are still answered."""

    def __init__(self, fds: StdioFds, first: StartupAnswers) -> None:
        self._fds = fds
        self._first = first
        self._pending: dict[str, str | None] = {}  # unanswered requests by id, with the method if its answer is kept

    async def run(self, server: Server[Any], server_scope: anyio.CancelScope) -> None:
        """Serve until the client disconnects, then cancel the server's scope."""
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
        server_scope.cancel()

    async def _receive(self, incoming: Incoming, outgoing: Outgoing) -> None:
        """Read messages; a line that is not one is answered with a JSON-RPC parse error."""
        limiter, read = anyio.CapacityLimiter(1), self._first.readline
        self._first.end()
        async with incoming, outgoing:
            while line := await anyio.to_thread.run_sync(read, abandon_on_cancel=True, limiter=limiter):
                if line.strip():
                    await self._handle_line(line, incoming, outgoing)
            with anyio.move_on_after(_GRACE_SECONDS):
                while self._pending and self._fds.is_connected():
                    await anyio.sleep(_POLL_SECONDS)

    async def _handle_line(self, line: bytes, incoming: Incoming, outgoing: Outgoing) -> None:
        try:
            message = _parse_message(line)
        except (ValueError, RecursionError):
            await outgoing.send(SessionMessage(_parse_error()))
            return
        if isinstance(message, types.JSONRPCNotification) and has_wrong_id(line):
            await outgoing.send(SessionMessage(wrong_id_error()))
            return
        if isinstance(message, types.JSONRPCRequest):
            if message.method == "initialize":
                self._first.learn_client(message.params)
            self._pending[str(message.id)] = self._first.find_method(message.method, message.params)
        elif isinstance(message, types.JSONRPCNotification) and message.method == _CANCELLED:
            self._pending.pop(str((message.params or {}).get("requestId")), None)
        await incoming.send(SessionMessage(message))

    async def _send(self, answers: MemoryObjectReceiveStream[SessionMessage]) -> None:
        limiter = anyio.CapacityLimiter(1)
        async with answers:
            async for answer in answers:
                message = answer.message
                if not self._is_answered(message):
                    line = f"{message.model_dump_json(by_alias=True, exclude_unset=True)}\n".encode()
                    await anyio.to_thread.run_sync(self._fds.write, line, abandon_on_cancel=True, limiter=limiter)
                if isinstance(message, types.JSONRPCResponse | types.JSONRPCError):
                    method = self._pending.pop(str(message.id), None)
                    if method is not None and isinstance(message, types.JSONRPCResponse):
                        self._first.learn(method, message.result)

    def _is_answered(self, message: types.JSONRPCMessage) -> bool:
        if not isinstance(message, types.JSONRPCResponse | types.JSONRPCError) or message.id is None:
            return False
        return self._first.is_answered(message.id)


def _parse_message(line: bytes) -> types.JSONRPCMessage:
    """The message of a line; lone surrogates, which clients that truncate texts leave, are replaced."""
    try:
        return types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError:
        repaired = json.dumps(json.loads(line), ensure_ascii=False).encode(errors="replace")
        return types.jsonrpc_message_adapter.validate_json(repaired, by_name=False)


def _parse_error() -> types.JSONRPCError:
    text = "This line is no JSON-RPC message. Send one message in one line of UTF-8."
    return types.JSONRPCError(jsonrpc="2.0", id=None, error=types.ErrorData(code=types.PARSE_ERROR, message=text))
