"""Places that look alike: what two screens have in common, and what was done in such places."""

from dataclasses import dataclass

from athand.flows.model import UNKNOWN, Observation
from athand.flows.screens import route_tokens

SAME_SCREEN = 8
SAME_PATH = 6
TEST_ID, MOST_TEST_IDS = 3, 3
NODE, MOST_NODES = 2, 2
ACTION = 2
BEST = SAME_SCREEN + SAME_PATH + TEST_ID * MOST_TEST_IDS + NODE * MOST_NODES + ACTION
SAME_PLACE = 0.5  # the share of all that is to be seen, where nothing else tells one place from another


@dataclass(frozen=True, slots=True)
class Look:
    """What tells a place from others."""

    path: frozenset[str] = frozenset()
    test_ids: frozenset[str] = frozenset()
    nodes: frozenset[tuple[str, str]] = frozenset()  # roles and names

    @classmethod
    def of(cls, seen: Observation) -> "Look":
        """The look of what was seen."""
        named = ((str(node.get("role", "")), str(node.get("name") or "")) for node in seen.a11y)
        nodes = frozenset(node for node in named if node[1])
        return cls(route_tokens(seen.url), frozenset(seen.visible_test_ids), nodes)


def points(screen: str, look: Look, other_screen: str, other: Look, *, is_action: bool) -> int:
    """How alike two places are; that something can be done in one of them makes them no more alike."""
    found = SAME_SCREEN if screen == other_screen != UNKNOWN else 0
    found += SAME_PATH if look.path & other.path else 0
    found += TEST_ID * min(MOST_TEST_IDS, len(look.test_ids & other.test_ids))
    found += NODE * min(MOST_NODES, len(look.nodes & other.nodes))
    return found + ACTION if found and is_action else found


def is_same_place(screen: str, look: Look, other_screen: str, other: Look | None) -> bool:
    """Whether two screens are one. Two that are unknown are not, unless most of what is on them is the same."""
    if UNKNOWN not in (screen, other_screen):
        return screen == other_screen
    return other is not None and _overlap(_all(look), _all(other)) >= SAME_PLACE


def _all(look: Look) -> frozenset[object]:
    return look.test_ids | look.nodes


def _overlap(one: frozenset[object], other: frozenset[object]) -> float:
    return len(one & other) / (len(one | other) or 1)
