"""The table behind the constants of tools/scoring.py: tried on one half of the requests; the other half is not read.

python -m benchmarks.tune_tools [CONSTANT VALUE ...] shows the measures with some constants changed; without words,
every constant is tried by itself.
"""

import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

from athand import Athand, Settings
from athand.evaluation import ndcg
from athand.tools import Tools, scoring
from benchmarks.tool_sets import SETS, Request, is_for_tuning, questions_for_no_tool, requests_of, tools_of

TRIED: Mapping[str, Sequence[float]] = {
    "WORDS": (0.4, 0.5, 0.58, 0.7),
    "SENTENCE": (0.8, 0.9, 1.0),
    "RELEVANT": (0.08, 0.095, 0.105, 0.115, 0.13),
    "NOISE": (1.1, 1.2, 1.33, 1.45),
    "CURVE": (1.0, 1.15, 1.25, 1.4),
    "SATURATION": (1.0, 1.5, 2.5, 4.0),
    "OTHER_SERVER": (0.7, 0.8, 0.9, 1.0),
}
WEIGHTS = ((1.0, 0.3, 1.0, 0.3), (1.5, 0.3, 1.0, 0.3), (2.0, 0.3, 1.0, 0.3), (1.5, 0.1, 1.0, 0.3), (1.5, 0.3, 1.0, 0.5))


@dataclass(frozen=True, slots=True)
class Half:
    """A set in its store, with the requests of one half, and questions that none of its tools answers."""

    name: str
    athand: Athand
    requests: Sequence[Request]
    questions: Sequence[Request]


def measures(
    athand: Athand, requests: Sequence[Request], questions: Sequence[Request], alpha: float | None = None
) -> dict[str, float]:
    """How good the order is, how many requests are answered, and how many questions are not."""
    gains, recalls, kept = [], [], 0
    for request in requests:
        hits = athand.tools.search(request.text, limit=10, threshold=0, alpha=alpha)
        names = [hit.item.name for hit in hits]
        gains.append(ndcg(names, {name: 1 for name in request.tools}, 10))
        recalls.append(len(request.tools.intersection(names[:5])) / len(request.tools))
        kept += bool(athand.tools.search(request.text, alpha=alpha))
    silent = sum(not athand.tools.search(each.text, alpha=alpha) for each in questions)
    return {
        "nDCG@10": sum(gains) / len(gains),
        "R@5": sum(recalls) / len(recalls),
        "answered": kept / len(requests),
        "silent": silent / len(questions),
    }


def filled(athand: Athand, name: str) -> Athand:
    """The tools of a set, by their servers."""
    servers: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for tool in tools_of(name):
        servers[tool["server"]].append(tool)
    for server, tools in servers.items():
        athand.tools.add(server, tools)
    return athand


def main() -> None:
    with ExitStack() as stack:
        halves = [
            Half(
                name,
                filled(stack.enter_context(Athand(":memory:", settings=Settings())), name),
                requests_of(name, is_for_tuning),
                questions_for_no_tool(is_for_tuning),
            )
            for name in SETS
        ]
        for changed in _trials():
            with _constants(changed):
                print(changed or "as it is", *(_line(half) for half in halves), sep="\n    ", flush=True)


def _line(half: Half) -> str:
    found = measures(half.athand, half.requests, half.questions)
    return f"{half.name:14}" + "  ".join(f"{name} {value:.4f}" for name, value in found.items())


def _trials() -> Iterator[dict[str, Any]]:
    given = sys.argv[1:]
    yield {name: float(value) for name, value in zip(given[::2], given[1::2], strict=True)}
    if not given:
        yield from ({name: value} for name, values in TRIED.items() for value in values)
        yield from ({"index": replace(Tools.index, weights=weights)} for weights in WEIGHTS)


@contextmanager
def _constants(changed: Mapping[str, Any]) -> Iterator[None]:
    with ExitStack() as stack:
        for name, value in changed.items():
            stack.enter_context(patch.object(Tools if hasattr(Tools, name) else scoring, name, value))
        yield


if __name__ == "__main__":
    main()
