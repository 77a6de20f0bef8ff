"""What comes next, and how sure that is: earlier walks vote, each at the places where it stood like this one. Pure.

A vote counts by how near the goal of its walk is, how much the walk had in common with this one until there, and how
old it is. That a walk ended there is a vote too: for nothing.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from athand.flows.model import Target

# Tuned on the walks of some apps and reported on others: benchmarks/flows_next.py.
LAST = 1.0  # the action before is the same
ELSEWHERE = 0.2  # it is another
TWO = 2.0  # the one before that is the same too
APART = 4.0  # how fast a vote fades with what the walks do not have in common
DONE = 0.15  # what was done already, and was not there
VALUES = 0.1  # one of the two has values left that its goal names, and the other has not
GOAL = 2.0  # how fast a vote fades with the distance of the goals
LEAST_GOAL = 0.02
HALF_LIFE_DAYS = 45.0
OLDEST = 0.3
OTHER_VERSION = 0.35
DOUBT = 0.08  # what speaks for something that was never seen, where there is one vote
FAILED = 1.0  # what one failure counts, against one success
SHARPNESS, SHIFT = 0.9, 0.0

ANY_VALUE = "<value>"  # in the key of a past action: something that the goal names, whatever it is


@dataclass(frozen=True, slots=True)
class Move:
    """A successful action of a session, as it was recorded."""

    id: str
    action: str
    verb: str
    screen: str
    target: Target
    given: Mapping[str, Any]
    created_at: int
    observation: str | None = None
    after: str | None = None


@dataclass(frozen=True, slots=True)
class Walk:
    """The successful actions of a session, in order."""

    session: str
    moves: tuple[Move, ...]


@dataclass(frozen=True, slots=True)
class Deed:
    """A move as it would be in the session that asks: with the values of that session's goal."""

    key: str  # by which two are the same when they are past: one value of a goal is as good as another
    offered: str  # by which two are the same when they are next
    move: Move
    target: Target
    given: Mapping[str, Any]
    is_here: bool = True  # done on the screen that is shown now
    is_spent: bool = False  # it takes a value of the goal, and all of them were taken
    values_left: bool | None = None  # whether its own goal had values that were not taken yet; None if it has none


@dataclass(frozen=True, slots=True)
class Vote:
    """One walk's word for what comes next; no deed where it ended."""

    deed: Deed | None
    weight: float
    follows: bool  # the action before is the same


@dataclass(slots=True)
class Tally:
    """All that speaks for one action."""

    newest: Deed
    weight: float = 0.0
    sessions: int = 0  # that did it here
    after: int = 0  # of these, right after the same action
    after_like: int = 0  # of these, with a like goal


@dataclass(slots=True)
class Count:
    """All votes: for each action, and for the end."""

    tallies: dict[str, Tally] = field(default_factory=dict)
    end: float = 0.0
    after: int = 0  # sessions that did the same action before
    after_like: int = 0  # of these, with a like goal


def votes(deeds: Sequence[Deed], history: Sequence[str], *, may_end: bool, values_left: bool) -> list[Vote]:
    """What a walk says comes after this history; all its votes together count as one at most."""
    done, before = _counted(history), Counter[str]()
    own, theirs, shared = done.total(), 0, 0
    found = []
    for at in range(len(deeds) + 1):
        deed = deeds[at] if at < len(deeds) else None
        if deed.is_here if deed else may_end:
            union = own + theirs - shared
            apart = 1 - shared / union if union else 0.0
            context, follows = _context(deeds, at, history)
            weight = context * math.exp(-APART * apart) * _state(deed, done, before, values_left)
            found.append(Vote(deed, weight, follows))
        if deed and not (before[deed.key] and deed.key.endswith(ANY_VALUE)):
            before[deed.key] += 1
            theirs += 1
            shared += before[deed.key] <= done[deed.key]
    most = max(1.0, sum(vote.weight for vote in found))
    return [Vote(vote.deed, vote.weight / most, vote.follows) for vote in found]


def _counted(history: Sequence[str]) -> Counter[str]:
    """How often each action was done; how many values a goal lists makes no difference."""
    return Counter({key: 1 if key.endswith(ANY_VALUE) else number for key, number in Counter(history).items()})


def _context(deeds: Sequence[Deed], at: int, history: Sequence[str]) -> tuple[float, bool]:
    """What the actions right before are worth, and whether the last is the same."""
    if not at or not history:
        follows = not at and not history
        return (LAST if follows else ELSEWHERE), follows
    if deeds[at - 1].key != history[-1]:
        return ELSEWHERE, False
    is_more = at > 1 and len(history) > 1 and deeds[at - 2].key == history[-2]
    return (LAST * TWO if is_more else LAST), True


def _state(deed: Deed | None, done: Mapping[str, int], before: Mapping[str, int], values_left: bool) -> float:
    if deed is None:
        return VALUES if values_left else 1.0
    is_done = deed.is_spent or (deed.key == deed.offered and done.get(deed.key, 0) > before.get(deed.key, 0))
    return (DONE if is_done else 1.0) * (
        VALUES if deed.values_left is not None and deed.values_left != values_left else 1.0
    )


def goal_weight(nearness: float) -> float:
    """What a walk counts by the nearness of its goal."""
    return LEAST_GOAL + (1 - LEAST_GOAL) * math.exp(-GOAL * (1 - nearness) / max(nearness, 0.05))


def age_weight(days: float, *, is_same_version: bool) -> float:
    """What knowledge counts by its age, or since it was last confirmed."""
    fresh: float = OLDEST + (1 - OLDEST) * 0.5 ** (max(0.0, days) / HALF_LIFE_DAYS)
    return fresh if is_same_version else fresh * OTHER_VERSION


def add_votes(count: Count, some: Iterable[tuple[Vote, float]], *, is_like: bool) -> None:
    """Count the votes of one walk, each with its weight."""
    seen: set[tuple[str, bool]] = set()
    followed = False
    for vote, weight in some:
        followed |= vote.follows
        if vote.deed is None:
            count.end += weight
            continue
        tally = count.tallies.setdefault(vote.deed.offered, Tally(vote.deed))
        tally.weight += weight
        if vote.deed.move.created_at > tally.newest.move.created_at:
            tally.newest = vote.deed
        seen.add((vote.deed.offered, vote.follows))
    count.after += followed
    count.after_like += followed and is_like
    for key in {key for key, _ in seen}:
        count.tallies[key].sessions += 1
    for key in {key for key, follows in seen if follows}:
        count.tallies[key].after += 1
        count.tallies[key].after_like += is_like


def shares(count: Count, possible: Mapping[str, float], failures: Mapping[str, int]) -> dict[str, float]:
    """How probable each of the possible actions is next; a factor says how possible it is."""
    weights = {key: count.tallies[key].weight * factor for key, factor in possible.items()}
    whole = sum(weights.values()) + count.end
    whole += DOUBT * math.sqrt(whole) or 1.0
    return {
        key: calibrated(weights[key] / whole) * _reliable(count.tallies[key], failures.get(key, 0)) for key in weights
    }


def _reliable(tally: Tally, failures: int) -> float:
    return (tally.sessions + 1) / (tally.sessions + 1 + FAILED * failures)


def calibrated(share: float) -> float:
    """The share of votes as the probability it stands for."""
    inside = min(max(share, 1e-6), 1 - 1e-6)
    return 1 / (1 + math.exp(-(SHARPNESS * math.log(inside / (1 - inside)) + SHIFT)))
