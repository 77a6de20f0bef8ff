"""Relay: how a tool server reaches the client that has called one of its tools, as long as that call runs."""

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any, Protocol

from athand.errors import Refused, Unavailable

ELICIT, SAMPLE, LIST_ROOTS = "elicitation/create", "sampling/createMessage", "roots/list"


class ClientCannot(Refused):
    """The client cannot do what it was asked for, or does not want to; the message says which."""


class CallCancelled(Unavailable):
    """The client has given the call up; its server was told so, and what it has done until then stays done."""


class Relay(Protocol):
    """The client behind one call. Every method may be called from any thread, and none of them waits."""

    @property
    def log_level(self) -> str | None:
        """The lowest level of log messages that it has asked for; None if it wants none."""
        ...

    @property
    def owner(self) -> str:
        """The name of the caller: calls of one owner may answer for each other."""
        ...

    def request(self, method: str, params: Mapping[str, Any]) -> "Future[dict[str, Any]]":
        """The client's answer to an MCP request (ELICIT, SAMPLE or LIST_ROOTS), or ClientCannot."""
        ...

    def report(self, done: float, total: float | None, message: str | None) -> None:
        """Tell how far the call is."""
        ...

    def log(self, level: str, data: Any, logger: str) -> None:
        """Pass on a log message of the server, where the client has asked for its level."""
        ...

    def on_cancel(self, stop: Callable[[], object]) -> None:
        """Call `stop` when the client gives the call up; at once if it has done so already."""
        ...
