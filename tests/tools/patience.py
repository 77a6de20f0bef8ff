"""Waiting on any machine: for what it does as long as that takes, for limits not at all, since tests move the clock."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import astuple
from typing import Any, TypeVar

import pytest
from tests.waiting import PATIENCE

from athand.tools import Choices

T = TypeVar("T")
LIMIT = 600.0  # seconds of a limit that no machine reaches by itself

_LIMITS = (
    "gateway.server._STOP_SECONDS",
    "gateway.stdio._EXIT_WAIT",
    "gateway.session._EXIT_WAIT",
    "supervisor.KILL",
    "oauth.callback._REQUEST_SECONDS",
)


def begun(work: Callable[[], T]) -> "Future[T]":
    """Work that goes on in a thread of its own."""
    outcome: Future[T] = Future()

    def run() -> None:
        try:
            outcome.set_result(work())
        except BaseException as error:  # whoever asks for the outcome gets it
            outcome.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return outcome


@pytest.fixture(scope="module", autouse=True)
def patience_with_this_machine() -> Iterator[None]:
    """How long it takes to start or end a process, to learn how it ended or to embed a request is up to the machine."""
    with pytest.MonkeyPatch.context() as patch:
        for limit in _LIMITS:
            patch.setattr(f"athand.tools.{limit}", PATIENCE)
        patch.setattr("athand.tools.config.CONNECT_SECONDS", LIMIT)
        patch.setattr(Choices.__init__, "__defaults__", astuple(Choices(search_seconds=PATIENCE)))
        yield


class Clock:
    """The clock of a gateway. It goes on by itself, and a test can move it forward."""

    def __init__(self, gateway: Any) -> None:
        self._loop, self._ahead = gateway._get_loop(), 0.0
        real = self._loop.time
        self._loop.time = lambda: real() + self._ahead

    def advance(self, seconds: float) -> None:
        """Move it; returns when all that was due by then has been begun."""
        begun = threading.Event()

        def move() -> None:
            self._ahead += seconds
            self._loop.call_later(0, self._loop.call_soon, begun.set)

        self._loop.call_soon_threadsafe(move)
        assert begun.wait(PATIENCE)
