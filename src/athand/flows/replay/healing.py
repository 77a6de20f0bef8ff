"""Self-healing locators: finds the element that has replaced a missing one, or abstains unless it is unambiguous.

All missing elements and all new ones of the page are matched one to one, the most similar first. A candidate must have
similar words and be clearly ahead of the others that are left; one that is alone needs less. Pure: both observations
in, a decision out.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from athand.flows.goal_parameters import mask_numbers
from athand.flows.model import Observation, Step, Target
from athand.flows.replay.label_similarity import (
    Weigh,
    are_opposites,
    best_match,
    label_similarity,
    label_words,
    make_weigh,
)
from athand.flows.replay.resolve import ComparedPage, ObservedElement, compare_pages, list_elements, unique_target
from athand.types import Noun

# Chosen by benchmarks/flows_heal.py and flows_renames.py on the pages that they do not report.
MIN_WORDS = 0.4  # similarity of the words that is needed, whatever else is the same
MIN_SCORE = 0.66
LONE_SCORE = 0.64  # enough where nothing else on the page is similar, and it is in the same place
SAME_PLACE = 0.75  # similarity of role, tag, path, place and neighbours of what is in the same place
MARGIN = 0.1  # lead over the next candidate that is left, and over its score for another missing element
CLAIM = 0.02  # lead by which a pair keeps an element from others
BETTER_WORDS = 0.65  # weight of the more similar of names and test ids; the other has the rest
OTHER_WORD = 0.75  # factor if both name and test id have gained the same word
MAX_COMPARED = 100  # missing and new elements: of a page that changed as a whole, those nearest to the lost one
WORDS_WEIGHT = 0.65  # the rest is role, tag, path, place and neighbours
_ALIKE, _TELLING = 0.8, 0.5  # similarity of words that mean the same; weight of one that tells elements apart
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
class _Pair:
    """How similar a new element is to a missing one, on [0, 1]: in all, by its words, and by all but its words."""

    score: float
    words: float
    surroundings: float


Pairs = Mapping[tuple[int, int], _Pair]  # (missing, new) → their similarity; those that cannot be the same are left out


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
    new = sorted(new, key=lambda each: abs(today.place(each) - then.place(lost)))[:MAX_COMPARED]
    missing = [each for each in then.elements if each is lost or id(each) not in then.unchanged]
    missing = sorted(missing, key=lambda each: abs(then.place(each) - then.place(lost)))[:MAX_COMPARED]
    missing.sort(key=lambda each: each is not lost)
    pairs = _compare_all(missing, then, new, today)
    matched = _match(pairs)
    if 0 not in matched:
        return Abstained(f"No new element on the page is similar to {lost.label}.")
    return _decide(pairs, matched, new, today.elements)


def _new_elements(lost: ObservedElement, today: ComparedPage, *, is_asked_for: bool) -> list[ObservedElement]:
    """The elements that are new on the page, without those that are ruled out by the number in their name."""
    renumbered = [each for each in today.elements if _is_renumbered(lost, each)]
    excluded = renumbered if is_asked_for or len(renumbered) > 1 else []
    known = today.unchanged | set(map(id, excluded))
    return [each for each in today.elements if id(each) not in known]


def _compare_all(
    missing: Sequence[ObservedElement], then: ComparedPage, new: Sequence[ObservedElement], today: ComparedPage
) -> Pairs:
    """The similarity of every missing element to every new one; the first of them is the one that is looked for."""
    weigh = make_weigh(_all_words(each) for each in (*missing, *new))
    compared = {
        (one, other): _compare(was, then, candidate, today, weigh)
        for one, was in enumerate(missing)
        for other, candidate in enumerate(new)
    }
    return {key: pair for key, pair in compared.items() if pair is not None}


def _match(pairs: Pairs) -> dict[int, int]:
    """Missing elements and new ones, one to one, the most similar first."""
    matched: dict[int, int] = {}
    taken: set[int] = set()
    for one, other in sorted(pairs, key=lambda key: (-pairs[key].score, key)):
        if one not in matched and other not in taken:
            matched[one] = other
            taken.add(other)
    return matched


def _decide(
    pairs: Pairs, matched: Mapping[int, int], new: Sequence[ObservedElement], elements: Sequence[ObservedElement]
) -> Heal | Abstained:
    """The new element that was matched with the first missing one, if it is certain enough."""
    index = matched[0]
    best, element = pairs[0, index], new[index]
    owners = {other: one for one, other in matched.items()}
    others = [
        (pair, new[other])
        for (one, other), pair in pairs.items()
        if one == 0 and other != index and not _is_claimed(pairs, (owners.get(other, 0), other), pair)
    ]
    second, runner = max(others, key=lambda each: each[0].score, default=(None, None))
    rival = max(
        (
            pair.score
            for (one, other), pair in pairs.items()
            if one != 0 and other == index and not _is_claimed(pairs, (one, matched.get(one, index)), pair)
        ),
        default=0.0,
    )
    next_best = f"; next is {runner.label} with {second.score:.2f}" if second and runner else ""
    reason = f"{element.label} is most similar with {best.score:.2f}{next_best}"
    needed = LONE_SCORE if not second and not rival and best.surroundings >= SAME_PLACE else MIN_SCORE
    if best.score < needed:
        return Abstained(f"{reason}; {needed:.2f} is needed.")
    if second and min(best.score - second.score, best.words - second.words) < MARGIN:
        return Abstained(f"{reason}; it is not clearly ahead.")
    if best.score - rival < MARGIN:
        return Abstained(f"{reason}, but it is about as similar to another missing element ({rival:.2f}).")
    target = unique_target(element, elements)
    if target is None:
        return Abstained(f"{reason}, but neither test id nor role and name identify it alone.")
    return Heal(target, element.key, round(best.score, 3), round(second.score, 3) if second else 0.0, f"{reason}.")


def _is_claimed(pairs: Pairs, key: tuple[int, int], pair: _Pair) -> bool:
    """Whether the match with this key is so much better than a pair that this pair cannot be meant."""
    return key in pairs and pairs[key] is not pair and pairs[key].score >= pair.score + CLAIM


def _compare(
    lost: ObservedElement, then: ComparedPage, candidate: ObservedElement, today: ComparedPage, weigh: Weigh
) -> _Pair | None:
    """Weighted similarity of a new element to a missing one: its words, and the mean of all else; None for others."""
    role = _role_similarity(lost, candidate)
    words = _words_similarity(lost, candidate, weigh) if role else 0.0
    if words < MIN_WORDS:
        return None
    pairs = zip(then.neighbours(lost), today.neighbours(candidate), strict=True)
    surroundings = [fmean(float(one == other) for one, other in pairs)]
    surroundings += [1 - abs(then.place(lost) - today.place(candidate))]
    surroundings += [role] if lost.role and candidate.role else []
    surroundings += [float(lost.tag == candidate.tag)] if lost.tag and candidate.tag else []
    surroundings += [_path_similarity(lost.path, candidate.path)] if lost.path and candidate.path else []
    mean = fmean(surroundings)
    return _Pair(WORDS_WEIGHT * words + (1 - WORDS_WEIGHT) * mean, words, mean)


def _role_similarity(lost: ObservedElement, candidate: ObservedElement) -> float:
    """1 for the same role or an unknown one, 0.5 for an interchangeable role, 0 for any other."""
    if not lost.role or not candidate.role or lost.role == candidate.role:
        return 1.0
    return 0.5 if any(lost.role in roles and candidate.role in roles for roles in _INTERCHANGEABLE_ROLES) else 0.0


def _words_similarity(lost: ObservedElement, candidate: ObservedElement, weigh: Weigh) -> float:
    """Weighted similarity of names, of test ids, or of both together; 0 if a pair has opposite words."""
    normalize = mask_numbers if _is_renumbered(lost, candidate) else str
    labels = ((normalize(lost.caption), normalize(candidate.caption)), (lost.test_id, candidate.test_id))
    pairs = [(label_words(one), label_words(other)) for one, other in labels if one and other]
    if any(are_opposites(*pair) for pair in pairs):
        return 0.0
    similarities = sorted((label_similarity(*pair, weigh) for pair in pairs), reverse=True) or [0.0]
    apart = BETTER_WORDS * similarities[0] + (1 - BETTER_WORDS) * similarities[-1]
    alike = max(apart, label_similarity(_all_words(lost), _all_words(candidate), weigh))
    return alike * OTHER_WORD if _has_other_word(pairs, weigh) else alike


def _has_other_word(pairs: Sequence[tuple[Sequence[str], Sequence[str]]], weigh: Weigh) -> bool:
    """Whether name and test id have both gained the same word, which neither had: mostly a thing of its own.

    It is none where the name exchanged a word for it, and the test id kept all of its words.
    """
    if len(pairs) < 2:
        return False
    lost = [any(best_match(word, now) < _ALIKE and weigh(word) > _TELLING for word in was) for was, now in pairs]
    if lost == [True, False]:
        return False
    had = [word for was, _ in pairs for word in was]
    gained = [{word for word in now if best_match(word, had) < _ALIKE and weigh(word) > _TELLING} for _, now in pairs]
    return bool(gained[0] & gained[1])


def _all_words(element: ObservedElement) -> tuple[str, ...]:
    """The words of its test id and of its caption, each once."""
    return tuple(dict.fromkeys((*label_words(element.test_id), *label_words(element.caption))))


def _is_renumbered(lost: ObservedElement, candidate: ObservedElement) -> bool:
    """Whether the captions differ in a number only."""
    rest = mask_numbers(lost.caption)
    return bool(rest) and (lost.role, rest) == (candidate.role, mask_numbers(candidate.caption))


def _path_similarity(one: str, other: str) -> float:
    """Jaccard similarity of the words of two paths."""
    ones, others = set(label_words(one)), set(label_words(other))
    return len(ones & others) / len(ones | others) if ones | others else 1.0
