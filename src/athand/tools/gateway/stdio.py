"""Talking to a server over its standard input and output, whatever comes out of it."""

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

from athand.tools import keeper
from athand.tools.gateway.link import Link
from athand.tools.gateway.timing import undisturbed

log = logging.getLogger("athand")

LONGEST_LINE = 16_000_000  # bytes
MOST_NOISE = 10_000  # lines in a row that are no messages
MOST_QUESTIONS = 1_000  # of the server, while it does not read our answers
_CHUNK = 65_536
_LAST_WORDS = 1.0  # seconds to learn with which code a server ended
_KEEPER = Path(keeper.__file__)


@dataclass(frozen=True, slots=True)
class _Child:
    """The keeper of a server, with the streams of the server and the pipe that keeps both alive."""

    process: asyncio.subprocess.Process
    stdin: asyncio.StreamWriter
    stdout: asyncio.StreamReader
    stderr: asyncio.StreamReader
    life: int


@asynccontextmanager
async def stdio_server(link: Link) -> AsyncIterator[tuple[Any, Any]]:
    """The streams of messages from and to a server that runs as long as this is open."""
    child = await _started()
    incoming, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    sent, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    order = asyncio.create_task(_order(child, link))
    work = (_read(child, incoming, link), _write(child, outgoing, link), _overhear(child, link))
    tasks = [asyncio.create_task(each) for each in work]
    try:
        yield received, sent
    finally:
        link.is_ending = True
        with anyio.CancelScope(shield=True):
            await undisturbed(_cleared_away(child, link, order, tasks, (incoming, received, sent, outgoing)))


async def _started() -> _Child:
    reading, life = os.pipe()  # neither is inherited, but for the one handed on
    pipe = asyncio.subprocess.PIPE
    keep = (sys.executable, "-I", "-S", str(_KEEPER), str(reading))
    try:
        process = await asyncio.create_subprocess_exec(
            *keep, stdin=pipe, stdout=pipe, stderr=pipe, env={}, pass_fds=(reading,), start_new_session=True
        )
        if process.stdin is None or process.stdout is None or process.stderr is None:
            raise RuntimeError("a process was started without its streams")
    except BaseException:
        os.close(life)  # a keeper that was started after all sees it and leaves
        raise
    finally:
        os.close(reading)
    return _Child(process, process.stdin, process.stdout, process.stderr, life)


async def _cleared_away(
    child: _Child, link: Link, order: asyncio.Task[None], tasks: list[asyncio.Task[None]], streams: Iterable[Any]
) -> None:
    await _cancelled(order)  # it must not write to what is closed next
    await _stopped(child, link)
    await _cancelled(*tasks)
    for stream in streams:
        stream.close()


async def _cancelled(*tasks: asyncio.Task[None]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _order(child: _Child, link: Link) -> None:
    """Say what to start; a keeper that has died already needs no telling."""
    launch = link.launch
    where = str(launch.cwd) if launch.cwd else ""
    order = {"argv": [launch.command, *launch.args], "env": dict(launch.env), "cwd": where}
    data = json.dumps(order).encode() + b"\n"
    os.set_blocking(child.life, False)
    with suppress(BrokenPipeError):
        while data:
            try:
                data = data[os.write(child.life, data) :]
            except BlockingIOError:
                await asyncio.sleep(0.001)


async def _read(child: _Child, incoming: Any, link: Link) -> None:
    """Hand messages on until the server closes its output or cannot be borne any longer."""
    try:
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):  # then nobody listens any more
            async for line in _lines(child.stdout, link):
                message = _parsed(line, link)
                if message is not None:
                    await incoming.send(message)
            link.is_closed = link.problem is None and not link.is_ending
    finally:
        incoming.close()
        await _learn_the_end(child, link)
        link.on_end()


async def _lines(stdout: asyncio.StreamReader, link: Link) -> AsyncIterator[bytes]:
    """Line after line, none longer than is allowed; every byte is looked at once."""
    pieces: list[bytes] = []
    size = 0
    while link.problem is None and (chunk := await stdout.read(_CHUNK)):
        *whole, rest = chunk.split(b"\n")
        for end in whole:
            yield b"".join((*pieces, end))
            pieces, size = [], 0
        pieces.append(rest)
        size += len(rest)
        if size > LONGEST_LINE:
            link.problem = f"it wrote a line longer than {LONGEST_LINE // 1_000_000} MB"


def _parsed(line: bytes, link: Link) -> SessionMessage | None:
    """The message in a line; None for noise, which is counted."""
    text = line.strip()
    if not text:
        return None
    try:
        message = _message(text)
    except (ValueError, RecursionError):
        link.noise += 1
        link.noise_in_a_row += 1
        if link.noise_in_a_row > MOST_NOISE:
            link.problem = "it writes something else than messages to its standard output"
        return None
    link.messages += 1
    link.noise_in_a_row = 0
    link.questions += isinstance(message, JSONRPCRequest)
    if link.questions > MOST_QUESTIONS:
        link.problem = "it asks without end, and reads no answer"
    return SessionMessage(message)


def _message(text: bytes) -> Any:
    """The message of a line. Halves of characters, which JavaScript leaves where it cuts a text, are replaced."""
    if not text.startswith(b"{"):
        raise ValueError("a message is an object")
    try:
        return jsonrpc_message_adapter.validate_json(text.decode("utf-8", "replace"), by_name=False)
    except ValueError:
        whole = json.dumps(json.loads(text), ensure_ascii=False).encode("utf-8", "replace")
        return jsonrpc_message_adapter.validate_json(whole, by_name=False)


async def _write(child: _Child, outgoing: Any, link: Link) -> None:
    with suppress(ConnectionError):  # the reader notices too, and says so
        async for item in outgoing:
            child.stdin.write(item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
            await child.stdin.drain()
            link.questions -= isinstance(item.message, JSONRPCResponse | JSONRPCError)


async def _overhear(child: _Child, link: Link) -> None:
    """Keep the end of what the server complains about; one that complains without end has to wait in between."""
    while chunk := await child.stderr.read(_CHUNK):
        link.complained(chunk)
        await asyncio.sleep(0.01 if len(chunk) == _CHUNK else 0)


async def _stopped(child: _Child, link: Link) -> None:
    """Close all that keeps it alive, and wait until the keeper has seen to the rest."""
    await _learn_the_end(child, link)
    child.stdin.close()
    os.close(child.life)
    if not await _ended(child, keeper.GRACE + keeper.TERM + keeper.KILL + 1.0):
        log.warning("The process that keeps %s does not end; it is killed.", link.launch.name)
    child.process._transport.close()  # type: ignore[attr-defined]  # nothing public closes what a survivor holds open
    await _ended(child, keeper.KILL)


async def _learn_the_end(child: _Child, link: Link) -> None:
    """The exit code of a server that ended before we wanted it to."""
    if link.is_closed and await _ended(child, _LAST_WORDS):
        link.exit_code = child.process.returncode


async def _ended(child: _Child, seconds: float) -> bool:
    """Whether it ended in time. Asking is better than waiting: that waits for the streams, too."""
    until = asyncio.get_running_loop().time() + seconds
    while child.process.returncode is None and asyncio.get_running_loop().time() < until:
        await asyncio.sleep(0.01)
    return child.process.returncode is not None
