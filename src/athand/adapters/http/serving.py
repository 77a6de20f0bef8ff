"""Serving an app: the socket, TLS, and an end that leaves nothing behind."""

import asyncio
import ipaddress
import logging
import os
import signal
import socket
import ssl
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import uvicorn
from fastapi import FastAPI

from athand.adapters.http.observing import JsonLines, ShortLines, requests
from athand.adapters.http.protocol import Protocol
from athand.errors import BadData, InvalidInput, Unavailable

_GRACE = 10  # seconds for what is being answered when the server is told to end
_IDLE = 75  # seconds that a connection may wait for its next request
_WAITING = 512  # connections that wait to be accepted
_MOST = 1024  # connections at once
_EXIT = {signal.SIGINT: 130, signal.SIGTERM: 143}


def bind(host: str, port: int) -> socket.socket:
    """A socket at this address; port 0 means any that is free."""
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except socket.gaierror as error:
        raise InvalidInput(f"{host!r} is no address of this machine. Try: athand serve --host 127.0.0.1") from error
    # Said to be TCP: else asyncio leaves small answers waiting for 40 ms, to be sent together with others.
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


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address."""
    return host.lower() == "localhost" if is_name(host) else ipaddress.ip_address(host).is_loopback


def is_name(host: str) -> bool:
    """Whether it is a name, and no address."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return True
    return False


def tls_context(certificate: Path, key: Path) -> ssl.SSLContext:
    """What the certificate and its key are good for."""
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
    when_ready: Callable[[], None],
    stop_after: float | None = None,
) -> bool:
    """Answer until a signal comes, or for some seconds; whether it was an interruption by the keyboard."""
    config = uvicorn.Config(
        app,
        http=Protocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=_WAITING,
        limit_concurrency=_MOST,
        timeout_keep_alive=_IDLE,
        timeout_graceful_shutdown=_GRACE,
        ssl_context_factory=(lambda *_: tls) if tls is not None else None,
    )
    server = _Server(config, app.state.end_streams, when_ready, stop_after)
    server.run(sockets=[bound])
    return server.ended_by == signal.SIGINT


class _Server(uvicorn.Server):
    """Ends gracefully at the first signal, and at once at the second."""

    def __init__(
        self,
        config: uvicorn.Config,
        end_streams: Callable[[], None],
        when_ready: Callable[[], None],
        stop_after: float | None,
    ) -> None:
        super().__init__(config)
        self._end_streams, self._when_ready, self._stop_after = end_streams, when_ready, stop_after
        self.ended_by: int | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and tell so."""
        await super().startup(sockets)
        if self._stop_after is not None:
            asyncio.get_running_loop().call_later(self._stop_after, self._stop)
        self._when_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams on which clients only listen, then wait for the rest."""
        self._end_streams()
        await super().shutdown(sockets)

    def _stop(self) -> None:
        self.should_exit = True

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """A signal has come. It is not raised again afterwards: to be told to end is no failure."""
        if self.ended_by is not None:
            os._exit(_EXIT.get(signal.Signals(sig), 1))
        self.ended_by = sig
        self.should_exit = True


def write_logs(*, as_json: bool, requests_too: bool) -> None:
    """Where the log goes: stderr, as lines for programs or for people."""
    formatter = JsonLines() if as_json else ShortLines("%(levelname)s %(message)s")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    logging.getLogger().handlers[:] = [handler]
    requests.setLevel(logging.INFO if as_json or requests_too else logging.WARNING)
