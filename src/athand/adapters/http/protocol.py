"""HTTP/1.1 as the server speaks it: nobody holds a connection with half a request, and what is no HTTP is a problem."""

import asyncio
from http import HTTPStatus

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from athand.adapters.http.answers import Problem
from athand.adapters.http.observing import HEADERS

HEAD_SECONDS = 15.0  # for the head of a request: connections are few, and this is before any token


class Protocol(H11Protocol):
    """One connection."""

    _hurry: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Somebody has come: what he wants must be said soon."""
        super().connection_made(transport)
        self._mind_the_head()

    def data_received(self, data: bytes) -> None:
        """Take what comes; a head that has begun must end in time, however often a little of it comes."""
        super().data_received(data)
        self._mind_the_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is over."""
        self._stop_hurrying()
        super().connection_lost(exc)

    def _mind_the_head(self) -> None:
        if self.conn.their_state is not h11.IDLE:
            self._stop_hurrying()
        elif self._hurry is None:
            self._hurry = self.loop.call_later(HEAD_SECONDS, self.timeout_keep_alive_handler)

    def _stop_hurrying(self) -> None:
        if self._hurry is not None:
            self._hurry.cancel()
            self._hurry = None

    def _unsupported_upgrade_warning(self) -> None:
        """Nothing: the request is answered as if it had not asked, and the log is not for anybody to fill."""

    def send_400_response(self, msg: str) -> None:
        """Answer what cannot be read, unless an answer has begun, and close the connection."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            problem = Problem(HTTPStatus.BAD_REQUEST, f"{msg} Its head is broken, or longer than 64 kB.")
            headers = [*problem.raw_headers, *HEADERS.items(), (b"connection", b"close")]
            response = h11.Response(status_code=problem.status_code, headers=headers, reason=b"Bad Request")
            for event in (response, h11.Data(data=bytes(problem.body)), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
