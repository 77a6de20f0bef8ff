"""Live changes at /v1/events, as server-sent events: which corpora have changed, whoever changed them.

Two looks a second at the store serve all streams, as long as there are any; other processes write into it, too.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request
from starlette.responses import Response, StreamingResponse

from athand.adapters.eviction import Most, choose_to_leave
from athand.adapters.http.middleware import CALLER, IS_STILL_KNOWN
from athand.adapters.http.route_table import EVENTS_PATH
from athand.adapters.operations import AppContext
from athand.adapters.operations.threads import Threads

if TYPE_CHECKING:
    from athand.app import Athand

_LOOK_SECONDS = 0.5
_CHECK_SECONDS = 0.25  # between looks of a stream whether there is something to tell, and whether it may go on
_ALIVE_SECONDS = 15.0  # without anything to tell, a comment keeps the connection open
_RETRY_MS = 2000  # after which a browser connects again
_STREAMS = Most(of_one=32, of_all=128)

State = Mapping[str, Any]  # by corpus: what differs after every change


@dataclass(eq=False, slots=True)
class _Listener:
    """An open stream: whose it is, and whether it has to end."""

    group: str
    is_still_known: Callable[[], bool]
    idle_since: float = field(default_factory=time.monotonic)
    is_ended: bool = False


class Events:
    """The streams of a server, and what they tell."""

    def __init__(self, ctx: AppContext, threads: Threads) -> None:
        self._ctx, self._threads = ctx, threads
        self._listeners: list[_Listener] = []
        self._task: asyncio.Task[None] | None = None
        self._state: State = {}

    def end(self) -> None:
        """End all streams: the server ends."""
        for each in self._listeners:
            each.is_ended = True

    async def listen(self, caller: str, is_still_known: Callable[[], bool]) -> AsyncIterator[bytes]:
        """The events of one stream, until its client leaves, its token is revoked, or the server ends."""
        listener = _Listener(caller, is_still_known)
        self._listeners.append(listener)
        if (leaving := choose_to_leave(self._listeners, caller, _STREAMS)) is not None:
            leaving.is_ended = True
        try:
            self._state = await self._read()
            self._ensure_task()
            async for event in self._tell(listener):
                yield event
        finally:
            self._listeners.remove(listener)

    async def _tell(self, listener: _Listener) -> AsyncIterator[bytes]:
        told, quiet_since = self._state, time.monotonic()
        yield f"retry: {_RETRY_MS}\n\nevent: ready\ndata: {{}}\n\n".encode()
        while not listener.is_ended and listener.is_still_known() and self._task and not self._task.done():
            now, news = self._state, b""
            if now is not told:
                changed = [name for name in now if now[name] != told[name]]
                news = b"".join(f"event: {name}\ndata: {{}}\n\n".encode() for name in changed)
                told = now
            elif time.monotonic() - quiet_since > _ALIVE_SECONDS:
                news = b": alive\n\n"
            if news:
                quiet_since = time.monotonic()
                yield news
            await asyncio.sleep(_CHECK_SECONDS)

    def _ensure_task(self) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._look())

    async def _look(self) -> None:
        """Look as long as somebody listens. An error ends the streams, and their clients connect again."""
        while self._listeners:
            await asyncio.sleep(_LOOK_SECONDS)
            self._state = await self._read()

    async def _read(self) -> State:
        return await self._threads.run(lambda: read_state(self._ctx.athand))


def read_state(athand: "Athand") -> State:
    """What differs after every change, by corpus."""
    folders, servers = athand.documents.list_folders(), athand.tools.servers()
    return {
        "memories": athand.memories.last_change(),
        "documents": [(each.folder_id, each.state, each.done, each.documents, each.indexed_at) for each in folders],
        "tools": [(each.catalogue, each.name, each.state, each.reason, each.tools, each.waiting) for each in servers],
        "flows": (athand.flows.count_steps(), [step.id for step in athand.flows.last(1)]),
    }


def events_router(events: Events) -> APIRouter:
    """The route of the stream."""
    router = APIRouter(include_in_schema=False)  # OpenAPI has no words for a stream

    @router.get(EVENTS_PATH)
    async def listen(request: Request) -> Response:
        """Tell which corpora have changed: memories, documents, tools, flows."""
        stream = events.listen(request.scope[CALLER].name, request.scope[IS_STILL_KNOWN])
        return StreamingResponse(stream, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})

    return router
