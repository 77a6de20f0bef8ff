"""Healing: where an element that is gone is now, if that is plain; a wrong click is worse than none.

Only an element that was not there before can be it, and only if its words are like those of the lost one, it fits no
other lost one as well, and it is clearly ahead of the next. Pure: what was seen then and now in, a decision out.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from athand.flows.binding import numberless
from athand.flows.model import Observation, Step, Target
from athand.flows.replay.elements import Element, address, elements_of, meant
from athand.flows.replay.label_similarity import alike, are_opposed, words_of
from athand.types import Noun

# Chosen by benchmarks/flows_heal.py on the pages that it does not report.
LEAST_WORDS = 0.6  # how alike the words must be, whatever else is the same
LEAST = 0.75  # the score from which one is the other
MARGIN = 0.2  # what it must be ahead of the next, and of its fit to another lost one
BETTER_WORDS = 0.9  # what the more alike of names and test ids counts; the other may confirm it
WORDS_WEIGHT = 0.6  # the rest is what surrounds it: role, tag, path, neighbours
_KINDS = (  # roles that a redesign may exchange
    frozenset(("button", "link", "menuitem", "tab", "option", "treeitem", "summary", "DisclosureTriangle")),
    frozenset(("checkbox", "switch", "menuitemcheckbox")),
    frozenset(("radio", "menuitemradio", "option", "tab")),
    frozenset(("textbox", "searchbox", "combobox", "spinbutton")),
    frozenset(("combobox", "listbox", "radiogroup")),
)


@dataclass(frozen=True, slots=True)
class Heal(Noun):
    """The element that is meant now; `element` is what it is called in a rejection."""

    target: Target
    element: str
    score: float
    runner_up: float
    reason: str


@dataclass(frozen=True, slots=True)
class Abstained(Noun):
    """Nothing on the page is plainly the element that is missing."""

    reason: str


@dataclass(frozen=True, slots=True)
class _Fit:
    """How much an element is like the lost one, on [0, 1], in all and by its words; 0 for what cannot be it."""

    score: float
    words: float
    element: Element


@dataclass(frozen=True, slots=True)
class _Page:
    """The elements of a page, and which of them are on the other page too."""

    elements: Sequence[Element]
    staying: frozenset[int]  # by identity: elements that look the same are several

    def neighbours(self, element: Element) -> tuple[str, str]:
        """The names of the nearest staying elements before and after one."""
        at = next(at for at, each in enumerate(self.elements) if each is element)
        return self._nearest(reversed(self.elements[:at])), self._nearest(self.elements[at + 1 :])

    def _nearest(self, elements: Iterable[Element]) -> str:
        return next((f"{each.role} {each.says}" for each in elements if id(each) in self.staying), "")


def heal(
    step: Step,
    before: Observation | None,
    now: Observation,
    rejected: Collection[str] = (),
    *,
    is_asked_for: bool = False,
) -> Heal | Abstained:
    """Find what a step was done to on a page where it is not found as it was recorded.

    A name that a goal asks for has the right number in it; any other may have another number now.
    """
    if before is None:
        return Abstained("What else was on the page when this was recorded is not known.")
    lost, then, today = _compared(step.target, elements_of(before), elements_of(now))
    if not words_of(lost.says) and not words_of(lost.test_id):
        return Abstained("The missing element has neither a name nor a test id to know it by.")
    numbered = [each for each in today.elements if _is_renumbered(lost, each)]
    others = numbered if is_asked_for or len(numbered) > 1 else []
    unfit = today.staying | set(map(id, others))
    fresh = [each for each in today.elements if id(each) not in unfit and each.key not in rejected]
    fits = sorted((_fit(lost, then, each, today) for each in fresh), key=lambda fit: -fit.score)
    if not fits or not fits[0].score:
        return Abstained(f"Nothing new on the page is like {lost.label}.")
    gone = [each for each in then.elements if each is not lost and id(each) not in then.staying]
    rival = max((_fit(each, then, fits[0].element, today).score for each in gone), default=0.0)
    return _decided(fits, rival, today.elements)


def is_other(way: Target, target: Target, before: Observation, now: Observation) -> bool:
    """Whether what is found by a way now was there before, as another element than the target."""
    _, _, today = _compared(target, elements_of(before), elements_of(now))
    found = meant(way, today.elements)
    return id(found) in today.staying


def _compared(target: Target, then: list[Element], today: list[Element]) -> tuple[Element, _Page, _Page]:
    """The lost element, and both pages with the elements that stayed; the lost one stays nowhere."""
    lost = meant(target, then)
    if not any(each is lost for each in then):
        then = [*then, lost]
    others = [each for each in then if each is not lost]
    by_id = {each.test_id for each in others if each.test_id} & {each.test_id for each in today if each.test_id}
    named = {_named(each) for each in others if each.test_id not in by_id and each.says}
    stayed = frozenset(id(each) for each in today if each.test_id in by_id or _named(each) in named)
    names = {_named(each) for each in today if id(each) in stayed}
    still = frozenset(id(each) for each in others if each.test_id in by_id or _named(each) in names)
    return lost, _Page(then, still), _Page(today, stayed)


def _named(element: Element) -> tuple[str, str]:
    return element.role, element.says


def _decided(fits: Sequence[_Fit], rival: float, elements: Sequence[Element]) -> Heal | Abstained:
    best, *rest = fits
    second = next((fit for fit in rest if fit.score), None)
    runner_up = f"; next is {second.element.label} with {second.score:.2f}" if second else ""
    found = f"{best.element.label} is like it with {best.score:.2f}{runner_up}"
    target = address(best.element, elements)
    if best.score < LEAST:
        return Abstained(f"{found}; {LEAST:.2f} is needed.")
    if second and min(best.score - second.score, best.words - second.words) < MARGIN:
        return Abstained(f"{found}; it is not clearly ahead.")
    if best.score - rival < MARGIN:
        return Abstained(f"{found}, but it is as much like another element that is missing ({rival:.2f}).")
    if target is None:
        return Abstained(f"{found}, but nothing tells it from others like it.")
    return Heal(target, best.element.key, round(best.score, 3), round(second.score, 3) if second else 0.0, f"{found}.")


def _fit(lost: Element, then: _Page, candidate: Element, today: _Page) -> _Fit:
    """How much a new element is like a lost one."""
    role = _role_fit(lost, candidate)
    words = _words_fit(lost, candidate)
    if role == 0 or words < LEAST_WORDS:
        return _Fit(0.0, words, candidate)
    around = [fmean(map(float, map(_same, then.neighbours(lost), today.neighbours(candidate))))]
    around += [role] if lost.role and candidate.role else []
    around += [float(lost.tag == candidate.tag)] if lost.tag and candidate.tag else []
    around += [_path_fit(lost.path, candidate.path)] if lost.path and candidate.path else []
    return _Fit(WORDS_WEIGHT * words + (1 - WORDS_WEIGHT) * fmean(around), words, candidate)


def _same(one: str, other: str) -> bool:
    return one == other


def _role_fit(lost: Element, candidate: Element) -> float:
    """1 for the same role or an unknown one, half for one that does the same, 0 for another."""
    if not lost.role or not candidate.role or lost.role == candidate.role:
        return 1.0
    return 0.5 if any(lost.role in kind and candidate.role in kind for kind in _KINDS) else 0.0


def _words_fit(lost: Element, candidate: Element) -> float:
    """How alike names and test ids are: the more alike pair counts most, the other may confirm it."""
    says = numberless if _is_renumbered(lost, candidate) else str
    labels = ((says(lost.says), says(candidate.says)), (lost.test_id, candidate.test_id))
    pairs = [(words_of(one), words_of(other)) for one, other in labels if one and other]
    if not pairs or any(are_opposed(*pair) for pair in pairs):
        return 0.0
    fits = sorted((alike(*pair) for pair in pairs), reverse=True)
    return BETTER_WORDS * fits[0] + (1 - BETTER_WORDS) * fits[-1]


def _is_renumbered(lost: Element, candidate: Element) -> bool:
    """Whether nothing but a number in the name differs."""
    rest = numberless(lost.says)
    return bool(rest) and (lost.role, rest) == (candidate.role, numberless(candidate.says))


def _path_fit(one: str, other: str) -> float:
    ones, others = set(words_of(one)), set(words_of(other))
    return len(ones & others) / len(ones | others) if ones | others else 1.0
