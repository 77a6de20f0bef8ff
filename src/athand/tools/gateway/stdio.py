"""Stdio transport: starts a server under its supervisor and exchanges JSON-RPC lines, robust against any output."""

import asyncio
import json
import logging
import os
import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCRequest, JSONRPCResponse, jsonrpc_message_adapter

from athand.tools import supervisor
from athand.tools.gateway.diagnostics import Diagnostics
from athand.tools.gateway.timing import run_to_end

log = logging.getLogger("athand")

LONGEST_LINE = 16_000_000  # bytes
MOST_NOISE = 10_000  # lines in a row that are not messages
MOST_UNANSWERED = 1_000  # unanswered requests of the server
_CHUNK = 65_536
_EXIT_WAIT = 1.0  # seconds to wait for the exit code
_SUPERVISOR = Path(supervisor.__file__)


@dataclass(frozen=True, slots=True)
class _ServerProcess:
    """The supervisor process of a server, the server's streams, and the pipe whose closing stops both."""

    process: asyncio.subprocess.Process
    stdin: asyncio.StreamWriter
    stdout: asyncio.StreamReader
    stderr: asyncio.StreamReader
    lifeline: int


@asynccontextmanager
async def stdio_server(diagnostics: Diagnostics) -> AsyncIterator[tuple[Any, Any]]:
    """The message streams of a server process, which runs as long as the context is open."""
    child = await _start_supervisor()
    incoming, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    sent, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    command = asyncio.create_task(_send_command(child, diagnostics))
    work = (_read(child, incoming, diagnostics), _write(child, outgoing, diagnostics), _read_stderr(child, diagnostics))
    tasks = [asyncio.create_task(each) for each in work]
    try:
        yield received, sent
    finally:
        diagnostics.is_ending = True
        with anyio.CancelScope(shield=True):
            await run_to_end(_clean_up(child, diagnostics, command, tasks, (incoming, received, sent, outgoing)))


async def _start_supervisor() -> _ServerProcess:
    reading, lifeline = os.pipe()  # not inherited, except for the end that is passed on
    pipe = asyncio.subprocess.PIPE
    argv = (sys.executable, "-I", "-S", str(_SUPERVISOR), str(reading))
    try:
        process = await asyncio.create_subprocess_exec(
            *argv, stdin=pipe, stdout=pipe, stderr=pipe, env={}, pass_fds=(reading,), start_new_session=True
        )
        if process.stdin is None or process.stdout is None or process.stderr is None:
            raise RuntimeError("a process was started without its streams")
    except BaseException:
        os.close(lifeline)  # a supervisor that was started after all sees this and exits
        raise
    finally:
        os.close(reading)
    return _ServerProcess(process, process.stdin, process.stdout, process.stderr, lifeline)


async def _clean_up(
    child: _ServerProcess,
    diagnostics: Diagnostics,
    command: asyncio.Task[None],
    tasks: list[asyncio.Task[None]],
    streams: Iterable[Any],
) -> None:
    await _cancel(command)  # it must not write to the pipe that is closed next
    await _stop(child, diagnostics)
    await _cancel(*tasks)
    for stream in streams:
        stream.close()


async def _cancel(*tasks: asyncio.Task[None]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _send_command(child: _ServerProcess, diagnostics: Diagnostics) -> None:
    """Send the launch command to the supervisor; ignored if it has already exited."""
    launch = diagnostics.launch
    where = str(launch.cwd) if launch.cwd else ""
    command = {"argv": [launch.command, *launch.args], "env": dict(launch.env), "cwd": where}
    data = json.dumps(command).encode() + b"\n"
    os.set_blocking(child.lifeline, False)
    with suppress(BrokenPipeError):
        while data:
            try:
                data = data[os.write(child.lifeline, data) :]
            except BlockingIOError:
                await asyncio.sleep(0.001)


async def _read(child: _ServerProcess, incoming: Any, diagnostics: Diagnostics) -> None:
    """Pass on messages until the server closes its output or exceeds a limit."""
    try:
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):  # the receiver is gone
            async for line in _read_lines(child.stdout, diagnostics):
                message = _parse_line(line, diagnostics)
                if message is not None:
                    await incoming.send(message)
            diagnostics.is_closed = diagnostics.problem is None and not diagnostics.is_ending
    finally:
        incoming.close()
        await _record_exit_code(child, diagnostics)
        diagnostics.on_end()


async def _read_lines(stdout: asyncio.StreamReader, diagnostics: Diagnostics) -> AsyncIterator[bytes]:
    """Lines of limited length; every byte is copied once."""
    pieces: list[bytes] = []
    size = 0
    while diagnostics.problem is None and (chunk := await stdout.read(_CHUNK)):
        *whole, rest = chunk.split(b"\n")
        for end in whole:
            yield b"".join((*pieces, end))
            pieces, size = [], 0
        pieces.append(rest)
        size += len(rest)
        if size > LONGEST_LINE:
            diagnostics.problem = f"it wrote a line longer than {LONGEST_LINE // 1_000_000} MB"


def _parse_line(line: bytes, diagnostics: Diagnostics) -> SessionMessage | None:
    """The message in a line; None for noise, which is counted."""
    text = line.strip()
    if not text:
        return None
    try:
        message = _parse_message(text)
    except (ValueError, RecursionError):
        diagnostics.noise += 1
        diagnostics.noise_in_a_row += 1
        if diagnostics.noise_in_a_row > MOST_NOISE:
            diagnostics.problem = "it writes other lines than messages to its standard output"
        return None
    diagnostics.messages += 1
    diagnostics.noise_in_a_row = 0
    diagnostics.unanswered += isinstance(message, JSONRPCRequest)
    if diagnostics.unanswered > MOST_UNANSWERED:
        diagnostics.problem = "it sends requests without end and reads no response"
    return SessionMessage(message)


def _parse_message(text: bytes) -> Any:
    """Parse a JSON-RPC message; lone surrogates, as JavaScript produces by cutting texts, are replaced."""
    if not text.startswith(b"{"):
        raise ValueError("a message is an object")
    try:
        return jsonrpc_message_adapter.validate_json(text.decode("utf-8", "replace"), by_name=False)
    except ValueError:
        whole = json.dumps(json.loads(text), ensure_ascii=False).encode("utf-8", "replace")
        return jsonrpc_message_adapter.validate_json(whole, by_name=False)


async def _write(child: _ServerProcess, outgoing: Any, diagnostics: Diagnostics) -> None:
    with suppress(ConnectionError):  # the reader notices the same, and reports it
        async for item in outgoing:
            child.stdin.write(item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
            await child.stdin.drain()
            diagnostics.unanswered -= isinstance(item.message, JSONRPCResponse | JSONRPCError)


async def _read_stderr(child: _ServerProcess, diagnostics: Diagnostics) -> None:
    """Keep the tail of stderr; a server that writes without end is slowed down."""
    while chunk := await child.stderr.read(_CHUNK):
        diagnostics.add_stderr(chunk)
        await asyncio.sleep(0.01 if len(chunk) == _CHUNK else 0)


async def _stop(child: _ServerProcess, diagnostics: Diagnostics) -> None:
    """Close stdin and the lifeline, and wait until the supervisor has ended everything."""
    await _record_exit_code(child, diagnostics)
    child.stdin.close()
    os.close(child.lifeline)
    if not await _wait_for_exit(child, supervisor.GRACE + supervisor.TERM + supervisor.KILL + 1.0):
        log.warning("The supervisor of %s does not end; it is killed.", diagnostics.launch.name)
    child.process._transport.close()  # type: ignore[attr-defined]  # nothing public closes what a survivor holds open
    await _wait_for_exit(child, supervisor.KILL)


async def _record_exit_code(child: _ServerProcess, diagnostics: Diagnostics) -> None:
    """Record the exit code of a server that ended by itself."""
    if diagnostics.is_closed and await _wait_for_exit(child, _EXIT_WAIT):
        diagnostics.exit_code = child.process.returncode


async def _wait_for_exit(child: _ServerProcess, seconds: float) -> bool:
    """Whether the process exits in time. Polls, since `wait()` also waits for the streams."""
    until = asyncio.get_running_loop().time() + seconds
    while child.process.returncode is None and asyncio.get_running_loop().time() < until:
        await asyncio.sleep(0.01)
    return child.process.returncode is not None
