"""Runs the app with uvicorn: socket, TLS, the HTTP/1.1 protocol, logging and a graceful shutdown."""

import asyncio
import ipaddress
import logging
import os
import resource
import signal
import socket
import ssl
import sys
import threading
from collections.abc import Callable, Sequence
from http import HTTPStatus
from pathlib import Path
from types import FrameType

import h11
import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from athand.adapters.eviction import Most, choose_to_leave
from athand.adapters.http.middleware import CALLER
from athand.adapters.http.middleware.access_log import SECURITY_HEADERS, JsonLogFormatter, TextLogFormatter, requests
from athand.adapters.http.responses import ProblemResponse
from athand.errors import BadData, InvalidInput, Unavailable

log = logging.getLogger("athand")
HEAD_SECONDS = 15.0  # for the head of a request, which arrives before any token is checked
_GRACE_SECONDS = 10  # from a signal to the end of the process
_ANSWER_SECONDS = 6  # of them, for requests that are being answered; the rest is for servers, browsers and the store
_KEEP_ALIVE_SECONDS = 75
_MAX_HEAD_BYTES = 65_536
_BACKLOG = 512
_MAX_CONNECTIONS = 1024
_MAX_STRANGERS = 512  # connections from one address that have not shown a token yet
_FILES = 4096  # that the process should be allowed to open: connections, databases, pipes to servers
_EXIT_CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}


def bind(host: str, port: int) -> socket.socket:
    """A bound socket; port 0 means any free one."""
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except socket.gaierror as error:
        raise InvalidInput(f"{host!r} is no address of this machine. Try: athand serve --host 127.0.0.1") from error
    # asyncio sets TCP_NODELAY only if the protocol is given; without it small responses wait for 40 ms.
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind(address)
    except OSError as error:
        bound.close()
        reason = (error.strerror or str(error)).lower()
        raise Unavailable(
            f"Cannot listen at {host} port {port}: {reason}. Take a port that is free with: athand serve --port 0"
        ) from error
    return bound


def allow_connections() -> int:
    """How many connections there may be: a quarter of the files that this process may open, at most 1,024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= soft < _FILES:
        soft = _FILES if hard == resource.RLIM_INFINITY else min(_FILES, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return _MAX_CONNECTIONS if soft < 0 else min(_MAX_CONNECTIONS, soft // 4)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address."""
    return host.lower() == "localhost" if is_name(host) else ipaddress.ip_address(host).is_loopback


def is_name(host: str) -> bool:
    """Whether it is a host name, not an IP address."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return True
    return False


def tls_context(certificate: Path, key: Path) -> ssl.SSLContext:
    """A server context, TLS 1.2 or newer, with this certificate and key."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(certificate, key)
    except ssl.SSLError as error:
        raise BadData(f"{certificate} and {key} are no certificate with its key: {error.reason or error}.") from error
    return context


def serve(
    app: FastAPI,
    bound: socket.socket,
    *,
    tls: ssl.SSLContext | None,
    on_ready: Callable[[], None],
    stop_after: float | None = None,
) -> bool:
    """Serve until a signal arrives or `stop_after` seconds have passed; true if SIGINT ended it."""
    config = uvicorn.Config(
        app,
        http=HttpProtocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=_BACKLOG,
        limit_concurrency=allow_connections() + 1,
        h11_max_incomplete_event_size=_MAX_HEAD_BYTES,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=_ANSWER_SECONDS,
        ssl_context_factory=(lambda *_: tls) if tls is not None else None,
    )
    server = _UvicornServer(config, app.state.begin_to_end, on_ready, stop_after)
    server.run(sockets=[bound])
    return server.ended_by == signal.SIGINT


class _UvicornServer(uvicorn.Server):
    """Shuts down gracefully on the first signal, at once on the second."""

    def __init__(
        self,
        config: uvicorn.Config,
        begin_to_end: Sequence[Callable[[], None]],
        on_ready: Callable[[], None],
        stop_after: float | None,
    ) -> None:
        super().__init__(config)
        self._begin_to_end, self._on_ready, self._stop_after = begin_to_end, on_ready, stop_after
        self.ended_by: int | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then call `on_ready`."""
        await super().startup(sockets)
        if self._stop_after is not None:
            asyncio.get_running_loop().call_later(self._stop_after, self._stop)
        self._on_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End event streams and what takes long, then wait for the other requests."""
        if self.ended_by is not None:
            last = threading.Timer(_GRACE_SECONDS, _end_now, (self.ended_by,))
            last.daemon = True
            last.start()
        for begin in self._begin_to_end:
            begin()
        await super().shutdown(sockets)

    def _stop(self) -> None:
        self.should_exit = True

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Request shutdown. The signal is not raised again afterwards, so that the exit code is 0."""
        if self.ended_by is not None:
            os._exit(_EXIT_CODES.get(signal.Signals(sig), 1))
        self.ended_by = sig
        self.should_exit = True


def _end_now(sig: int) -> None:
    """End the process although something of it still runs. What was answered is on the disk; tool servers end, too."""
    log.warning("Something was still running %s s after the signal, and was ended.", _GRACE_SECONDS)
    os._exit(_EXIT_CODES.get(signal.Signals(sig), 1))


def configure_logging(*, as_json: bool, log_requests: bool) -> None:
    """Log to stderr, as JSON or as text; requests are logged with JSON or if wanted."""
    formatter = JsonLogFormatter() if as_json else TextLogFormatter("%(levelname)s %(message)s")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    logging.getLogger().handlers[:] = [handler]
    requests.setLevel(logging.INFO if as_json or log_requests else logging.WARNING)


class HttpProtocol(H11Protocol):
    """An HTTP/1.1 connection: request heads must arrive in time, and malformed ones are answered with a problem.

    Where there are too many connections, an idle one is closed for the new one.
    """

    _head_timer: asyncio.TimerHandle | None = None
    _last_answer: float

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Make room, and start the timer for the first request head."""
        super().connection_made(transport)
        self._last_answer = self.loop.time()
        self._make_room()
        self._update_timer()

    def data_received(self, data: bytes) -> None:
        """Handle data; the timer of an incomplete head goes on, however often a little of it arrives (Slowloris)."""
        super().data_received(data)
        self._update_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        self._stop_timer()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """Note the time: the connection is idle from now on."""
        self._last_answer = self.loop.time()
        super().on_response_complete()

    @property
    def group(self) -> tuple[str, str | None]:
        """The address of the client, and the name of the token that it has shown."""
        caller = self.scope.get(CALLER) if self.scope is not None else None
        return (self.client or ("",))[0], None if caller is None else caller.name  # type: ignore[attr-defined]

    @property
    def idle_since(self) -> float | None:
        """Since when nothing has been answered; None while something is."""
        return self._last_answer if self.cycle is None or self.cycle.response_complete else None

    def _make_room(self) -> None:
        """Close an idle connection if there are more than may be; a new one has shown no token yet."""
        everyone: set[HttpProtocol] = self.connections  # type: ignore[assignment]
        most = Most(_MAX_STRANGERS, (self.limit_concurrency or sys.maxsize) - 1)
        leaving = choose_to_leave(everyone, self.group, most)
        if leaving is not None:
            self.connections.discard(leaving)
            leaving.transport.abort()

    def _update_timer(self) -> None:
        if self.conn.their_state is not h11.IDLE:
            self._stop_timer()
        elif self._head_timer is None:
            self._head_timer = self.loop.call_later(HEAD_SECONDS, self.timeout_keep_alive_handler)

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _unsupported_upgrade_warning(self) -> None:
        """Log nothing: the upgrade is ignored, and strangers must not fill the log."""

    def send_400_response(self, msg: str) -> None:
        """Answer a malformed request with a problem unless a response has started, and close the connection."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            problem = ProblemResponse(HTTPStatus.BAD_REQUEST, f"{msg} Its head is broken, or longer than 64 kB.")
            headers = [*problem.raw_headers, *SECURITY_HEADERS.items(), (b"connection", b"close")]
            response = h11.Response(status_code=problem.status_code, headers=headers, reason=b"Bad Request")
            for event in (response, h11.Data(data=bytes(problem.body)), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
