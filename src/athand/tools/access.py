"""What is done with tools on behalf of a caller: which servers may be reached, and whether its searches are counted."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_reachable: ContextVar[frozenset[str] | None] = ContextVar("reachable_servers", default=None)
_is_counted: ContextVar[bool] = ContextVar("searches_counted", default=True)


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


@contextmanager
def count_searches(is_counted: bool) -> Iterator[None]:
    """Whether searches within change the counters of tools: not those of a caller who may change nothing."""
    token = _is_counted.set(is_counted)
    try:
        yield
    finally:
        _is_counted.reset(token)


def are_searches_counted() -> bool:
    """Whether a search may change the counters."""
    return _is_counted.get()


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
