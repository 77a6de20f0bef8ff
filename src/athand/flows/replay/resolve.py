"""Back on a page: whether it is the one a step was done on, and which ways lead to its element now. Pure."""

from collections.abc import Mapping

from athand.flows.binding import numberless
from athand.flows.model import UNKNOWN, Observation, Step
from athand.flows.moves import count, ways
from athand.flows.replay.healing import is_other
from athand.flows.screens import path_of
from athand.text import fold

_SAME_PAGE = 0.6  # the share of landmarks that make a page with the same address the same, whatever its heading


def landmarks(seen: Observation) -> list[str]:
    """What a page is known by: its test ids, and the names of its headings and of what can be used on it."""
    named = (node for node in seen.a11y if node.get("name") and node.get("role") != "generic")
    return [*seen.visible_test_ids, *(f'{node["role"]} "{node["name"]}"' for node in named)]


def is_page(step: Step, seen: Observation) -> bool:
    """Whether the page is the one a step was done on: the same screen, or the same address and mostly the same."""
    if step.before is None or step.screen in (UNKNOWN, seen.screen):
        return True
    if path_of(step.before.url) != path_of(seen.url):
        return False
    known = set(landmarks(step.before))
    return bool(known) and len(known & set(landmarks(seen))) >= _SAME_PAGE * len(known)


def ways_now(step: Step, seen: Observation, *, is_asked_for: bool = False) -> list[dict[str, str]]:
    """The ways that lead to the element of a step now, and to it alone, as far as that can be told by looking.

    A name that a goal asks for has the right number in it; any other may have another number now.
    """
    known = [_as_written(way, seen) for way in ways(step)]
    found = [way for at, way in enumerate(known) if _leads(way, step, seen, is_used=at == 0)]
    renumbered = [way for each in known if (way := _renumbered(each, step.before, seen)) is not None]
    return found or [way for way in renumbered if not is_asked_for and _leads(way, step, seen, is_used=False)]


def _as_written(way: dict[str, str], seen: Observation) -> dict[str, str]:
    """A role and name as the page writes it, where only case or accents differ."""
    if "role" not in way or count(way, seen):
        return way
    names = {str(node.get("name", "")) for node in seen.a11y if node.get("role") == way["role"]}
    same = [name for name in names if fold(name) == fold(way["name"])]
    return {**way, "name": same[0]} if len(same) == 1 else way


def _renumbered(way: Mapping[str, str], before: Observation | None, seen: Observation) -> dict[str, str] | None:
    """A role and name with the number it has now, if then and now there is but one that differs in nothing else."""
    if before is None or "role" not in way or not numberless(way["name"]):
        return None
    then, now = _numbered(way, before), _numbered(way, seen)
    return {**way, "name": now[0]} if len(then) == len(now) == 1 else None


def _numbered(way: Mapping[str, str], seen: Observation) -> list[str]:
    names = [str(node.get("name", "")) for node in seen.a11y if node.get("role") == way["role"]]
    return [name for name in names if numberless(name) == numberless(way["name"])]


def _leads(way: dict[str, str], step: Step, seen: Observation, *, is_used: bool) -> bool:
    if "selector" in way:  # one that stands for a ref counts elements: it holds while there are as many
        alike = {key: step.target[key] for key in ("role", "name") if key in step.target}
        return "a11yRef" not in step.target or not alike or count(alike, seen) == count(alike, step.before)
    return count(way, seen) == 1 and (is_used or not _is_another(way, step, seen))


def _is_another(way: Mapping[str, str], step: Step, seen: Observation) -> bool:
    """Whether what is found by another way than the one that was used, was there before as another element."""
    return step.before is not None and is_other(way, step.target, step.before, seen)
