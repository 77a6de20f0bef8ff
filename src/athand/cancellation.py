"""Work whose caller gave up ends: a surface sets a flag, and long loops look at it between two pieces of work."""

from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from threading import Event
from typing import TypeVar

from athand.errors import Cancelled

T = TypeVar("T")
_flag: ContextVar[Event | None] = ContextVar("cancelled", default=None)


def run_until(cancelled: Event, work: Callable[[], T]) -> T:
    """The result of work that ends early, with an error, once the flag is set; called in a context of its own."""
    _flag.set(cancelled)
    check_cancelled()
    return work()


def is_cancelled() -> bool:
    """Whether nobody waits for the result any more."""
    flag = _flag.get()
    return flag is not None and flag.is_set()


def check_cancelled() -> None:
    """Raise an error if nobody waits for the result any more; an open transaction is rolled back by it."""
    if is_cancelled():
        raise Cancelled("Its caller gave up, or waited too long; what was not yet written is not kept.")


def until_cancelled(pieces: Iterable[T]) -> Iterator[T]:
    """The pieces of some work, with a look at the flag before each."""
    for piece in pieces:
        check_cancelled()
        yield piece
