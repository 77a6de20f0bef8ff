"""`make bench`: runs the benchmarks, keeps their figures in benchmarks/results/, and writes the table."""

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import (
    documents,
    embedding,
    everything,
    floor,
    flows,
    folders,
    latency,
    memories,
    postgres,
    quality,
    serving,
    start,
    tool_flags,
    tools,
)
from benchmarks.machine import describe
from benchmarks.report import TABLES, write_readme

NAMES = (
    "quality",
    "embedding",
    "latency",
    "floor",
    "memories",
    "documents",
    "folders",
    "tools",
    "flags",
    "flows",
    "everything",
    "serving",
    "start",
    "postgres",
)
RESULTS = Path(__file__).parent / "results"
TABLES["floor"] = floor.tables
TABLES["memories"] = memories.tables
TABLES["postgres"] = postgres.tables
TABLES["documents"] = documents.tables
TABLES["folders"] = folders.tables
TABLES["tools"] = tools.tables
TABLES["flags"] = tool_flags.tables
TABLES["flows"] = flows.tables
TABLES["everything"] = everything.tables
TABLES["serving"] = serving.tables
TABLES["start"] = start.tables


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="also a million passages, which takes long")
    parser.add_argument("--only", choices=NAMES, help="one benchmark alone")
    parser.add_argument("--sizes", type=latency.parse_sizes, help="passages to time, like 1k,10k")
    given = parser.parse_args()
    sizes = given.sizes or [*latency.DEFAULT_SIZES, *([latency.LARGEST] if given.full else [])]
    benchmarks: dict[str, Callable[[], Any]] = {
        "quality": quality.measure,
        "embedding": embedding.measure,
        "latency": lambda: latency.measure(sizes),
        "floor": lambda: floor.measure(large=floor.LARGE in sizes),
        "memories": lambda: memories.measure(large=memories.LARGE in sizes),
        "documents": documents.measure,
        "folders": folders.measure,
        "tools": tools.measure,
        "flags": tool_flags.measure,
        "flows": flows.measure,
        "everything": everything.measure,
        "start": start.measure,
        "serving": lambda: serving.measure(min(max(sizes), serving.SIZE)),
        "postgres": lambda: postgres.measure(min(max(sizes), postgres.SIZE)),
    }
    for name, measure in benchmarks.items():
        if given.only in (None, name):
            _keep(name, measure)
    print(f"\n{(RESULTS / 'README.md').read_text('utf-8')}")


def _keep(name: str, measure: Callable[[], Any]) -> None:
    """Write the figures, and the table anew: a later benchmark that fails takes nothing away."""
    machine = describe()  # before measuring: the commit that is measured
    text = json.dumps({"machine": machine, "results": measure()}, indent=1, ensure_ascii=False)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{machine['date']}-{name}.json").write_text(text + "\n", encoding="utf-8")
    write_readme(RESULTS)


if __name__ == "__main__":
    main()
