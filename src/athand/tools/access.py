"""The tool servers that may be reached on behalf of a caller: all of them, unless its token has a limit."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_reachable: ContextVar[frozenset[str] | None] = ContextVar("reachable_servers", default=None)


@contextmanager
def limit_servers(names: Collection[str] | None) -> Iterator[None]:
    """Only these servers can be seen, searched and called within; None: all of them."""
    token = _reachable.set(None if names is None else frozenset(names))
    try:
        yield
    finally:
        _reachable.reset(token)


def reachable_servers() -> frozenset[str] | None:
    """The names of the servers that may be reached; None: all of them."""
    return _reachable.get()


def may_reach(server: str) -> bool:
    """Whether this server may be reached."""
    names = _reachable.get()
    return names is None or server in names


def server_condition(column: str) -> tuple[str, dict[str, Any]]:
    """The SQL condition for servers that may be reached, with its values; empty if there is no limit."""
    names = _reachable.get()
    if names is None:
        return "", {}
    values = {f"reachable{number}": name for number, name in enumerate(sorted(names) or [""])}
    return f" AND {column} IN ({', '.join(f':{name}' for name in values)})", values
