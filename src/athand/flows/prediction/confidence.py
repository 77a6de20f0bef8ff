"""Predicts the next action: past sessions vote with what they did in similar positions. Pure.

A vote is weighted by goal similarity, shared history and age; the end of a session is a vote for no action. The
confidence of an action is its share of all votes, calibrated as a probability.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from athand.flows.prediction.history import Action
from athand.flows.prediction.rewrite import ANY_VALUE, PlannedAction, RewrittenSession

# Tuned on the sessions of some apps and reported on others: benchmarks/flows_next.py.
SAME_PREVIOUS = 1.0  # weight of a position after the same action
OTHER_PREVIOUS = 0.2  # after another action
SAME_TWO = 2.0  # factor if the action before that is the same too
HISTORY_DECAY = 4.0  # of the weight, by the share of the two histories that differs
ALREADY_DONE = 0.15  # factor for an action that was done in the current session, but not in the past one until there
OTHER_VALUES_LEFT = 0.1  # factor if one of the two goals has unused values left, and the other has not
GOAL_DECAY = 2.0  # of the weight, by the distance of the goals
MIN_GOAL_WEIGHT = 0.02
SIMILAR_GOAL = 0.55  # goal similarity from which two sessions count as wanting the same
HALF_LIFE_DAYS = 45.0
MIN_AGE_WEIGHT = 0.3
OTHER_VERSION = 0.35  # factor if it was not confirmed in this version of the app
UNSEEN = 0.08  # weight of actions that were never seen, for one vote
FAILURE_WEIGHT = 1.0  # of one failure, against one success
SHARPNESS, SHIFT = 0.9, 0.0  # of the calibration
_DAY = 86_400_000_000


@dataclass(frozen=True, slots=True)
class Voter:
    """A past session that votes."""

    session: RewrittenSession
    goal_similarity: float
    is_same_version: bool  # recorded in the current version of the app, or in an unknown one

    @property
    def last(self) -> Action:
        """Its last action."""
        return self.session.actions[-1].action


@dataclass(frozen=True, slots=True)
class Vote:
    """A vote of one session for one of its actions, or for the end of the session."""

    planned: PlannedAction | None
    weight: float
    is_after_same: bool  # the action before is the last one of the current session


@dataclass(slots=True)
class Tally:
    """The votes for one action."""

    newest: PlannedAction
    weight: float = 0.0
    sessions: int = 0
    after_same: int = 0  # sessions that did it after the same action
    after_same_similar: int = 0  # of these, with a similar goal


@dataclass(slots=True)
class VoteCount:
    """All votes: a tally for each suggestion key, and the weight of ends."""

    tallies: dict[str, Tally] = field(default_factory=dict)
    end: float = 0.0
    after_same: int = 0  # sessions with the same action before
    after_same_similar: int = 0  # of these, with a similar goal


Confirmations = Mapping[str, tuple[int, bool]]  # suggestion key → when it was last done, whether in this version


def count_votes(voters: Sequence[Voter], screen: str, now: int) -> VoteCount:
    """Counts the votes of past sessions for what comes next on a screen."""
    confirmed = _confirmation_times(voters)
    count = VoteCount()
    for voter in voters:
        votes = find_votes(voter.session, may_end=voter.last.after_screen in (None, screen))
        weight = goal_weight(voter.goal_similarity)
        weighted = [(vote, vote.weight * weight * _age_weight(voter, vote.planned, confirmed, now)) for vote in votes]
        _add_votes(count, weighted, is_similar=voter.goal_similarity >= SIMILAR_GOAL)
    return count


def confidences(count: VoteCount, feasible: Mapping[str, float], failures: Mapping[str, int]) -> dict[str, float]:
    """The probability that each feasible action comes next; `feasible` has the factor of each."""
    weights = {key: count.tallies[key].weight * factor for key, factor in feasible.items()}
    total = sum(weights.values()) + count.end
    total += UNSEEN * math.sqrt(total) or 1.0
    return {
        key: calibrate(weight / total) * _reliability(count.tallies[key], failures.get(key, 0))
        for key, weight in weights.items()
    }


def find_votes(session: RewrittenSession, *, may_end: bool) -> list[Vote]:
    """The votes of a session: one for each position on the current screen; their weights sum up to 1 at most."""
    current, past = _count_actions(session.history), Counter[str]()
    current_total, past_total, shared = current.total(), 0, 0
    votes = []
    for position in range(len(session.actions) + 1):
        planned = session.actions[position] if position < len(session.actions) else None
        if planned.is_on_screen if planned else may_end:
            union = current_total + past_total - shared
            difference = 1 - shared / union if union else 0.0
            context, is_after_same = _context_weight(session, position)
            weight = context * math.exp(-HISTORY_DECAY * difference) * _state_factor(session, planned, current, past)
            votes.append(Vote(planned, weight, is_after_same))
        if planned and not (past[planned.history_key] and planned.history_key.endswith(ANY_VALUE)):
            past[planned.history_key] += 1
            past_total += 1
            shared += past[planned.history_key] <= current[planned.history_key]
    total = max(1.0, sum(vote.weight for vote in votes))
    return [Vote(vote.planned, vote.weight / total, vote.is_after_same) for vote in votes]


def goal_weight(similarity: float) -> float:
    """The weight of a session by its goal similarity."""
    return MIN_GOAL_WEIGHT + (1 - MIN_GOAL_WEIGHT) * math.exp(-GOAL_DECAY * (1 - similarity) / max(similarity, 0.05))


def age_weight(days: float, *, is_same_version: bool) -> float:
    """The weight of an action by the days since it was last confirmed."""
    weight: float = MIN_AGE_WEIGHT + (1 - MIN_AGE_WEIGHT) * 0.5 ** (max(0.0, days) / HALF_LIFE_DAYS)
    return weight if is_same_version else weight * OTHER_VERSION


def calibrate(share: float) -> float:
    """The probability that a share of votes stands for (logistic)."""
    inside = min(max(share, 1e-6), 1 - 1e-6)
    return 1 / (1 + math.exp(-(SHARPNESS * math.log(inside / (1 - inside)) + SHIFT)))


def _count_actions(history: Sequence[str]) -> Counter[str]:
    """How often each action was done; all values of a goal count as one."""
    return Counter({key: 1 if key.endswith(ANY_VALUE) else number for key, number in Counter(history).items()})


def _context_weight(session: RewrittenSession, position: int) -> tuple[float, bool]:
    """The weight of a position by the actions right before it, and whether the last of them is the same."""
    actions, history = session.actions, session.history
    if not position or not history:
        is_same = not position and not history
        return (SAME_PREVIOUS if is_same else OTHER_PREVIOUS), is_same
    if actions[position - 1].history_key != history[-1]:
        return OTHER_PREVIOUS, False
    is_same_two = position > 1 and len(history) > 1 and actions[position - 2].history_key == history[-2]
    return (SAME_PREVIOUS * SAME_TWO if is_same_two else SAME_PREVIOUS), True


def _state_factor(
    session: RewrittenSession, planned: PlannedAction | None, current: Mapping[str, int], past: Mapping[str, int]
) -> float:
    """The factor for an action that is done already, or that does not fit the values that are left."""
    if planned is None:
        return OTHER_VALUES_LEFT if session.values_left else 1.0
    key = planned.history_key
    is_done = planned.is_used or (key == planned.suggestion_key and current.get(key, 0) > past.get(key, 0))
    fits = planned.values_left is None or planned.values_left == session.values_left
    return (ALREADY_DONE if is_done else 1.0) * (1.0 if fits else OTHER_VALUES_LEFT)


def _confirmation_times(voters: Iterable[Voter]) -> Confirmations:
    """When each action was last done on the screen, and whether ever in the current version of the app."""
    found: dict[str, tuple[int, bool]] = {}
    for voter in voters:
        for planned in voter.session.actions:
            if planned.is_on_screen:
                at, is_same_version = found.get(planned.suggestion_key, (0, False))
                newest = max(at, planned.action.created_at)
                found[planned.suggestion_key] = (newest, is_same_version or voter.is_same_version)
    return found


def _age_weight(voter: Voter, planned: PlannedAction | None, confirmed: Confirmations, now: int) -> float:
    end = (voter.last.created_at, voter.is_same_version)
    at, is_same_version = end if planned is None else confirmed[planned.suggestion_key]
    return age_weight((now - at) / _DAY, is_same_version=is_same_version)


def _add_votes(count: VoteCount, votes: Iterable[tuple[Vote, float]], *, is_similar: bool) -> None:
    """Adds the weighted votes of one session; it counts once for each action."""
    keys: set[str] = set()
    keys_after_same: set[str] = set()
    is_after_same = False
    for vote, weight in votes:
        is_after_same |= vote.is_after_same
        if vote.planned is None:
            count.end += weight
            continue
        key = vote.planned.suggestion_key
        tally = count.tallies.setdefault(key, Tally(vote.planned))
        tally.weight += weight
        if vote.planned.action.created_at > tally.newest.action.created_at:
            tally.newest = vote.planned
        keys.add(key)
        if vote.is_after_same:
            keys_after_same.add(key)
    count.after_same += is_after_same
    count.after_same_similar += is_after_same and is_similar
    for key in keys:
        count.tallies[key].sessions += 1
    for key in keys_after_same:
        count.tallies[key].after_same += 1
        count.tallies[key].after_same_similar += is_similar


def _reliability(tally: Tally, failures: int) -> float:
    """The share of successes, with one more success assumed."""
    return (tally.sessions + 1) / (tally.sessions + 1 + FAILURE_WEIGHT * failures)
