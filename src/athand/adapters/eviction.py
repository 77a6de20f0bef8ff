"""Who leaves when there are too many connections, streams or sessions: the oldest idle one of whoever has most."""

from collections import Counter
from collections.abc import Collection, Hashable
from dataclasses import dataclass
from typing import Protocol, TypeVar


class Held(Protocol):
    """What a caller holds."""

    @property
    def group(self) -> Hashable:
        """Whose it is."""

    @property
    def idle_since(self) -> float | None:
        """Since when it has not been in use; None while it is."""


H = TypeVar("H", bound=Held)


@dataclass(frozen=True, slots=True)
class Most:
    """How many there may be."""

    of_one: int
    of_all: int


def choose_to_leave(all_held: Collection[H], group: Hashable, most: Most) -> H | None:
    """The one that leaves after one of this group came; None if there is room, or if all are in use.

    So whoever takes as many as it can loses its own, and others keep theirs.
    """
    idle = [each for each in all_held if each.idle_since is not None]
    counts = Counter(each.group for each in all_held)
    if counts[group] > most.of_one:
        idle = [each for each in idle if each.group == group]
    elif len(all_held) <= most.of_all:
        return None
    return min(idle, key=lambda each: (-counts[each.group], each.idle_since or 0.0), default=None)
