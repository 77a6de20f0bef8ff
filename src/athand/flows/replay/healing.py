"""Self-healing locators: finds the element that has replaced a missing one, or abstains unless it is unambiguous.

A candidate must be new on the page, have similar words, fit no other missing element as well, and be clearly ahead of
the next one. Pure: both observations in, a decision out.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from statistics import fmean

from athand.flows.goal_parameters import mask_numbers
from athand.flows.model import Observation, Step, Target
from athand.flows.replay.label_similarity import are_opposites, label_similarity, label_words
from athand.flows.replay.resolve import ComparedPage, ObservedElement, compare_pages, list_elements, unique_target
from athand.types import Noun

# Chosen by benchmarks/flows_heal.py on the pages that it does not report.
MIN_WORDS = 0.6  # similarity of the words that is needed, whatever else is the same
MIN_SCORE = 0.75
MARGIN = 0.2  # lead over the next candidate, and over its score for another missing element
BETTER_WORDS = 0.9  # weight of the more similar of names and test ids; the other has the rest
WORDS_WEIGHT = 0.6  # the rest is role, tag, path and neighbours
_INTERCHANGEABLE_ROLES = (  # roles that a redesign may exchange
    frozenset(("button", "link", "menuitem", "tab", "option", "treeitem", "summary", "DisclosureTriangle")),
    frozenset(("checkbox", "switch", "menuitemcheckbox")),
    frozenset(("radio", "menuitemradio", "option", "tab")),
    frozenset(("textbox", "searchbox", "combobox", "spinbutton")),
    frozenset(("combobox", "listbox", "radiogroup")),
)


@dataclass(frozen=True, slots=True)
class Heal(Noun):
    """The target that replaces the missing one; `element` is its key in a rejection."""

    target: Target
    element: str
    score: float
    runner_up: float
    reason: str


@dataclass(frozen=True, slots=True)
class Abstained(Noun):
    """No element of the page is unambiguously the missing one."""

    reason: str


@dataclass(frozen=True, slots=True)
class _Candidate:
    """How similar an element is to the missing one, on [0, 1], in all and by its words; 0 for what cannot be it."""

    score: float
    words: float
    element: ObservedElement


def heal(
    step: Step,
    before: Observation | None,
    now: Observation,
    rejected: Collection[str] = (),
    *,
    is_asked_for: bool = False,
) -> Heal | Abstained:
    """Finds the element of a step on a page where its recorded target does not.

    A name that the goal asks for must keep its number; in any other name the number may have changed.
    """
    if before is None:
        return Abstained("The page was not observed when this step was recorded.")
    lost, then, today = compare_pages(step.target, list_elements(before), list_elements(now))
    if not label_words(lost.caption) and not label_words(lost.test_id):
        return Abstained("The missing element has neither a name nor a test id to compare.")
    new = [each for each in _new_elements(lost, today, is_asked_for=is_asked_for) if each.key not in rejected]
    candidates = sorted((_score(lost, then, each, today) for each in new), key=lambda each: -each.score)
    if not candidates or not candidates[0].score:
        return Abstained(f"No new element on the page is similar to {lost.label}.")
    missing = [each for each in then.elements if each is not lost and id(each) not in then.unchanged]
    rival = max((_score(each, then, candidates[0].element, today).score for each in missing), default=0.0)
    return _decide(candidates, rival, today.elements)


def _new_elements(lost: ObservedElement, today: ComparedPage, *, is_asked_for: bool) -> list[ObservedElement]:
    """The elements that are new on the page, without those that are ruled out by the number in their name."""
    renumbered = [each for each in today.elements if _is_renumbered(lost, each)]
    excluded = renumbered if is_asked_for or len(renumbered) > 1 else []
    known = today.unchanged | set(map(id, excluded))
    return [each for each in today.elements if id(each) not in known]


def _decide(candidates: Sequence[_Candidate], rival: float, elements: Sequence[ObservedElement]) -> Heal | Abstained:
    best, *rest = candidates
    second = next((each for each in rest if each.score), None)
    runner_up = f"; next is {second.element.label} with {second.score:.2f}" if second else ""
    reason = f"{best.element.label} is most similar with {best.score:.2f}{runner_up}"
    target = unique_target(best.element, elements)
    if best.score < MIN_SCORE:
        return Abstained(f"{reason}; {MIN_SCORE:.2f} is needed.")
    if second and min(best.score - second.score, best.words - second.words) < MARGIN:
        return Abstained(f"{reason}; it is not clearly ahead.")
    if best.score - rival < MARGIN:
        return Abstained(f"{reason}, but it is about as similar to another missing element ({rival:.2f}).")
    if target is None:
        return Abstained(f"{reason}, but neither test id nor role and name identify it alone.")
    return Heal(target, best.element.key, round(best.score, 3), round(second.score, 3) if second else 0.0, f"{reason}.")


def _score(lost: ObservedElement, then: ComparedPage, candidate: ObservedElement, today: ComparedPage) -> _Candidate:
    """Weighted similarity of a new element to a missing one: its words, and the mean of role, tag, path, neighbours."""
    role = _role_similarity(lost, candidate)
    words = _words_similarity(lost, candidate)
    if role == 0 or words < MIN_WORDS:
        return _Candidate(0.0, words, candidate)
    pairs = zip(then.neighbours(lost), today.neighbours(candidate), strict=True)
    surroundings = [fmean(float(one == other) for one, other in pairs)]
    surroundings += [role] if lost.role and candidate.role else []
    surroundings += [float(lost.tag == candidate.tag)] if lost.tag and candidate.tag else []
    surroundings += [_path_similarity(lost.path, candidate.path)] if lost.path and candidate.path else []
    return _Candidate(WORDS_WEIGHT * words + (1 - WORDS_WEIGHT) * fmean(surroundings), words, candidate)


def _role_similarity(lost: ObservedElement, candidate: ObservedElement) -> float:
    """1 for the same role or an unknown one, 0.5 for an interchangeable role, 0 for any other."""
    if not lost.role or not candidate.role or lost.role == candidate.role:
        return 1.0
    return 0.5 if any(lost.role in roles and candidate.role in roles for roles in _INTERCHANGEABLE_ROLES) else 0.0


def _words_similarity(lost: ObservedElement, candidate: ObservedElement) -> float:
    """Weighted similarity of names and of test ids, the more similar pair first; 0 if a pair has opposite words."""
    normalize = mask_numbers if _is_renumbered(lost, candidate) else str
    labels = ((normalize(lost.caption), normalize(candidate.caption)), (lost.test_id, candidate.test_id))
    pairs = [(label_words(one), label_words(other)) for one, other in labels if one and other]
    if not pairs or any(are_opposites(*pair) for pair in pairs):
        return 0.0
    similarities = sorted((label_similarity(*pair) for pair in pairs), reverse=True)
    return BETTER_WORDS * similarities[0] + (1 - BETTER_WORDS) * similarities[-1]


def _is_renumbered(lost: ObservedElement, candidate: ObservedElement) -> bool:
    """Whether the captions differ in a number only."""
    rest = mask_numbers(lost.caption)
    return bool(rest) and (lost.role, rest) == (candidate.role, mask_numbers(candidate.caption))


def _path_similarity(one: str, other: str) -> float:
    """Jaccard similarity of the words of two paths."""
    ones, others = set(label_words(one)), set(label_words(other))
    return len(ones & others) / len(ones | others) if ones | others else 1.0
