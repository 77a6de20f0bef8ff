"""The readable side of the results: targets with what was measured, then every table."""

import json
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any

from athand.embed import DEFAULT_MODEL
from benchmarks import embedding, latency, quality
from benchmarks.engines import ATHAND
from benchmarks.quality import WITH_MINILM
from benchmarks.start import LATER as _LATER
from benchmarks.tables import table

TABLES = {"quality": quality.tables, "latency": latency.tables, "embedding": embedding.tables}

Results = Mapping[str, Any]  # by benchmark


@dataclass(frozen=True)
class Target:
    """A number to reach: `read` takes it from the results and raises KeyError where it was not measured."""

    work: str
    limit: float
    unit: str
    read: Callable[[Results], float | None]
    least: bool = False

    def row(self, results: Results) -> list[str]:
        sign = "≥" if self.least else "≤"
        wanted = f"{sign} {self.limit:g} {self.unit}".strip()
        try:
            value = self.read(results)
        except (KeyError, TypeError):
            value = None
        if value is None:
            return [self.work, wanted, "not measured", "-"]
        met = (operator.ge if self.least else operator.le)(value, self.limit)
        return [self.work, wanted, f"{value:,.4g} {self.unit}".strip(), "met" if met else "**not met**"]


def _quality(name: str, measure: str, engine: str = ATHAND) -> Callable[[Results], float]:
    return lambda results: results["quality"]["sets"][name]["engines"][engine]["measures"][measure]


def _search(size: int, key: str) -> Callable[[Results], float]:
    return lambda results: results["latency"]["sizes"][str(size)]["engines"][ATHAND]["everywhere"][key]


def _memory(size: int) -> Callable[[Results], float]:
    return lambda results: results["latency"]["sizes"][str(size)]["engines"][ATHAND]["peak_mb"]


def _at(*keys: str) -> Callable[[Results], float]:
    """What is found by following these keys, the first of which is the benchmark."""
    return lambda results: reduce(lambda found, key: found[key], keys, results)


def _own(size: int, *keys: str) -> Callable[[Results], float]:
    return _at("latency", "sizes", str(size), *keys)


def _postgres(*keys: str) -> Callable[[Results], float]:
    return _at("postgres", "engines", "PostgreSQL", *keys)


def _nonsense(results: Results) -> int:
    sets = results["quality"]["sets"].values()
    return max(each["engines"][engine]["nonsense"] for each in sets for engine in (ATHAND, WITH_MINILM))


TARGETS = (
    Target("search, 100,000 passages, p50", 10, "ms", _search(100_000, "p50")),
    Target("search, 100,000 passages, p99", 40, "ms", _search(100_000, "p99")),
    Target("search, 100,000 passages, memory", 400, "MB", _memory(100_000)),
    Target("search, 1,000,000 passages, p50", 60, "ms", _search(1_000_000, "p50")),
    Target("search, 1,000 passages, p50", 5, "ms", _search(1_000, "p50")),
    Target("search, 1,000 passages, memory", 100, "MB", _memory(1_000)),
    Target("vector side at 100,000, recall@20", 0.95, "", _own(100_000, "recall"), least=True),
    Target("one memory added, durable, p50 at 100,000", 15, "ms", _own(100_000, "add_ms", "p50")),
    Target("search, 100,000 passages in PostgreSQL, p50", 30, "ms", _postgres("everywhere", "p50")),
    Target("PostgreSQL's vector side at 100,000, recall@20", 0.95, "", _postgres("recall"), least=True),
    Target("`athand --help`", 0.4, "s", lambda results: results["latency"]["help_s"]),
    Target("first CLI search, 100,000 passages", 1, "s", _own(100_000, "cli_search_s")),
    Target("first answer of `athand mcp`, cold", 3, "s", _at("serving", "starts", "cold", "initialize")),
    Target("first search of `athand mcp`, cold", 3, "s", _at("serving", "starts", "cold", "search")),
    Target("`athand search`, processor time", 0.35, "s", _at("start", "commands", "athand search")),
    Target("`athand mcp`, processor time to initialize", 0.35, "s", _at("start", "answers", _LATER, "initialize")),
    Target("`athand mcp`, processor time to the first search", 0.6, "s", _at("start", "answers", _LATER, "search")),
    Target("16 callers over HTTP, 100,000 passages, p95", 200, "ms", _at("serving", "load", ATHAND, "p95")),
    Target("16 callers over HTTP, errors", 0, "", _at("serving", "load", ATHAND, "errors")),
    Target("bundled model, load", 0.2, "s", lambda results: results["embedding"]["load"]["model_s"]),
    Target(
        "bundled model, short texts on one core",
        10_000,
        "/s",
        lambda results: results["embedding"]["models"][DEFAULT_MODEL]["texts_per_s"],
        least=True,
    ),
    Target(
        "bundled model, difference from the reference", 1e-3, "", lambda results: results["embedding"]["difference"]
    ),
    Target("Cranfield nDCG@10", 0.37, "", _quality("cranfield", "nDCG@10"), least=True),
    Target("LoCoMo-dev recall@10", 0.67, "", _quality("locomo-dev", "recall@10"), least=True),
    Target("MetaTool-dev nDCG@10", 0.62, "", _quality("metatool-dev", "nDCG@10"), least=True),
    Target("search, 1,000 flow steps, p50", 5, "ms", _at("flows", "search", "speed", "1000", "p50")),
    Target("search, 1,000 flow steps, memory", 100, "MB", _at("flows", "prior", "memory_mb", "searched")),
    Target("search, 100,000 flow steps, p50", 20, "ms", _at("flows", "search", "speed", "100000", "p50")),
    Target("prior knowledge, 100,000 flow steps, p50", 20, "ms", _at("flows", "prior", "prior", "p50")),
    Target("a look at 150 elements, median", 150, "ms", _at("flows", "observe", "snapshot, median ms")),
    Target(
        "MiniWoB++, next action, top-1", 0.55, "", _at("flows", "miniwob", "next action", "all", "top-1"), least=True
    ),
    Target(
        "MiniWoB++, next action, top-3", 0.75, "", _at("flows", "miniwob", "next action", "all", "top-3"), least=True
    ),
    Target("hits of a nonsense query, worst set and model", 0, "", _nonsense),
)


def latest(folder: Path) -> dict[str, Any]:
    """The newest file of each benchmark, by its name."""
    files = {name: sorted(folder.glob(f"*-{name}.json")) for name in TABLES}
    return {name: json.loads(found[-1].read_text("utf-8")) for name, found in files.items() if found}


def write_readme(folder: Path) -> None:
    """Tables from the newest results."""
    (folder / "README.md").write_text("\n\n".join(_sections(latest(folder))) + "\n", encoding="utf-8")


def _sections(files: Mapping[str, Any]) -> Iterator[str]:
    results = {name: found["results"] for name, found in files.items()}
    yield "# Results\n\nWritten by `make bench`; the JSON files beside this one hold every figure."
    yield f"## Targets\n\n{table(['work', 'target', 'measured', ''], [each.row(results) for each in TARGETS])}"
    for name, found in files.items():
        yield f"## {name.capitalize()}\n\n{_where(found['machine'])}"
        yield from TABLES[name](found["results"])


def _where(machine: Mapping[str, Any]) -> str:
    libraries = ", ".join(f"{name} {version}" for name, version in machine["libraries"].items())
    return (
        f"{machine['date']}, commit {machine['commit'] or 'unknown'}, {machine['cpu']}, {machine['cores']} cores, "
        f"{machine['memory_gb']} GB, {machine['system']}, Python {machine['python']}, SQLite {machine['sqlite']}, "
        f"{libraries}."
    )
