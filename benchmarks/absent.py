"""How often a search stays silent where nothing fits, and what that costs: requests for tools and questions about
memories that are not there, beside real ones to the same catalogues and projects.

Constants are chosen on one half (`python -m benchmarks.absent`); `python -m benchmarks.absent report` shows the other.
"""

import json
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from athand import Athand, Settings
from athand.evaluation import load_set, ndcg
from benchmarks import real_tools
from benchmarks.data import CACHE, shared_folder
from benchmarks.tables import table
from benchmarks.tool_sets import SETS, Request, is_for_tuning, requests_of, tools_of

QUESTIONS = Path(__file__).parent / "questions"
LOCOMO = "memories/locomo-dev"
REPOSITORY = ("files", "git")  # those of the real servers that a programmer has at least
MOST = 300  # real requests or questions of one catalogue or project
DEEP = 10

Found = dict[str, dict[str, float]]  # measures by catalogue or project


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (QUESTIONS / f"{name}.jsonl").read_text("utf-8").splitlines()]


def absent(where: str, part: str) -> dict[str, list[str]]:
    """The requests for what is not there, by catalogue or by project."""
    found: dict[str, list[str]] = {}
    for line in lines("absent"):
        if where in line and line["part"] == part:
            found.setdefault(line[where], []).append(line["query"])
    return found


def catalogues() -> dict[str, Sequence[Mapping[str, Any]]]:
    """The tools of each catalogue."""
    real = real_tools.tools()
    return {
        "servers": real,
        "repository": [tool for tool in real if tool["server"] in REPOSITORY],
        "office": lines("office"),
        **{name.removesuffix("-dev"): tools_of(name) for name in SETS},
    }


def fitting(part: str) -> dict[str, list[Request]]:
    """Requests that a catalogue serves; those to small catalogues are few and count for both halves."""
    real = [each for each in real_tools.requests() if each.tools]
    ours = frozenset(tool["name"] for tool in lines("office"))
    names = {each["name"] for each in real_tools.tools() if each["server"] in REPOSITORY}
    served = [Request(text, frozenset({tool["name"]})) for tool in lines("office") for text in tool["requests"]]
    assert all(each.tools <= ours for each in served)
    is_wanted = is_for_tuning if part == "tune" else lambda id_: not is_for_tuning(id_)
    return {
        "servers": real,
        "repository": [each for each in real if each.tools <= names],
        "office": served,
        **{name.removesuffix("-dev"): requests_of(name, is_wanted)[:MOST] for name in SETS},
    }


def fill(athand: Athand) -> Athand:
    """A store with all catalogues and projects; what there is already stays."""
    known = athand.tools.count()
    for catalogue, tools in catalogues().items():
        for server in sorted({tool["server"] for tool in tools} if not known.get(catalogue) else ()):
            athand.tools.add(server, [tool for tool in tools if tool["server"] == server], catalogue=catalogue)
    if not athand.memories.count():
        athand.memories.add_many(load_set(shared_folder("data") / LOCOMO).items)
    return athand


def measure(athand: Athand, part: str) -> dict[str, Found]:
    """Silence and its price: for tools, for memories, and for both in a search over everything."""
    return {"tools": dict(_tools(athand, part)), "memories": dict(_memories(athand, part))}


def _tools(athand: Athand, part: str) -> Iterator[tuple[str, dict[str, float]]]:
    missing = absent("catalogue", part)
    for name, requests in fitting(part).items():
        found = [
            [hit.item.name for hit in athand.tools.search(each.text, catalogue=name, limit=DEEP)] for each in requests
        ]
        pairs = list(zip(requests, found, strict=True))
        yield (
            name,
            {
                "silent": _mean(not athand.tools.search(text, catalogue=name) for text in missing[name]),
                "search silent": _mean(not athand.search(text, catalogue=name) for text in missing[name]),
                "lost": _mean(not names for names in found),
                "search lost": _mean(not athand.search(each.text, catalogue=name) for each in requests),
                "nDCG@10": _mean(ndcg(names, dict.fromkeys(each.tools, 1), DEEP) for each, names in pairs),
                "R@5": _mean(len(each.tools & set(names[:5])) / len(each.tools) for each, names in pairs),
            },
        )


def _memories(athand: Athand, part: str) -> Iterator[tuple[str, dict[str, float]]]:
    missing, questions = absent("project", part), load_set(shared_folder("data") / LOCOMO).questions
    wanted = [each for each in questions if is_for_tuning(each.id) == (part == "tune")]
    for project, texts in missing.items():
        own = [each for each in wanted if each.project == project]
        others = [each.text for each in wanted if each.project != project][:: len(wanted) // 100]
        found = [
            [hit.id for hit in athand.memories.search(each.text, project=project, reinforce=False)] for each in own
        ]
        pairs = list(zip(own, found, strict=True))
        yield (
            project,
            {
                "silent": _mean(not athand.memories.search(text, project=project, reinforce=False) for text in texts),
                "search silent": _mean(
                    not athand.search(text, project=project, corpora=["memories"]) for text in texts
                ),
                "others silent": _mean(
                    not athand.memories.search(text, project=project, reinforce=False) for text in others
                ),
                "lost": _mean(not ids for ids in found),
                "search lost": _mean(
                    not athand.search(each.text, project=project, corpora=["memories"]) for each in own
                ),
                "nDCG@10": _mean(ndcg(ids, dict.fromkeys(each.relevant, 1), DEEP) for each, ids in pairs),
                "R@10": _mean(len(set(each.relevant) & set(ids)) / len(each.relevant) for each, ids in pairs),
            },
        )


def _mean(values: Iterator[float]) -> float:
    return statistics.mean(map(float, values))


def tables(found: Mapping[str, Found]) -> Iterator[str]:
    for corpus, by_place in found.items():
        measures = list(next(iter(by_place.values())))
        means = {name: statistics.mean(each[name] for each in by_place.values()) for name in measures}
        rows = [
            [place, *(f"{each[name]:.3f}" for name in measures)] for place, each in {**by_place, "mean": means}.items()
        ]
        yield table([corpus, *measures], rows) + "\n"


def main() -> None:
    part = (sys.argv[1:] or ["tune"])[0]
    CACHE.mkdir(exist_ok=True)
    with (
        TemporaryDirectory(dir=CACHE) as work,
        closing(fill(Athand(Path(work) / "athand.db", settings=Settings()))) as athand,
    ):
        print(*tables(measure(athand, part)), sep="\n")


if __name__ == "__main__":
    main()
