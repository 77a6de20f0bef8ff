"""How fast, how large and how hungry: 1k to 1M passages, every step in a process of its own, peers beside it."""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.data import CACHE, questions
from benchmarks.engines import ATHAND, BY_NAME, KEYWORDS, is_installed
from benchmarks.fresh import call
from benchmarks.latency_tasks import NEAREST, WARM_UP
from benchmarks.tables import table

DEFAULT_SIZES, LARGEST = (1_000, 10_000, 100_000), 1_000_000
SEARCHES = 200
CLI_RUNS = 7
MOST_FOR_EXACT = 100_000
LANCE = ("LanceDB vectors", "LanceDB FTS", "LanceDB hybrid")
PEERS = {"FTS5": LARGEST, KEYWORDS: LARGEST, "bm25s": 100_000, **dict.fromkeys(LANCE, 100_000)}
LEAST_FOR_PEERS = 10_000  # the libraries with indexes of their own; FTS5 is measured at every size
BUILT = {"build_s": 1, "passages_per_s": 0, "megabytes": 0}  # with their digits
CLI = (sys.executable, "-c", "from athand.adapters.cli import main; main()")

Results = dict[str, Any]


def measure(sizes: Sequence[int]) -> Results:
    """Everything at every size."""
    found = {}
    for size in sizes:
        CACHE.mkdir(exist_ok=True)
        with TemporaryDirectory(dir=CACHE) as folder:
            found[str(size)] = _measure_size(size, Path(folder))
    return {"sizes": found, "help_s": _cli_seconds([["--help"]] * CLI_RUNS)}


def _measure_size(size: int, folder: Path) -> Results:
    asked = folder / "questions.json"
    asked.write_text(json.dumps(questions(SEARCHES + WARM_UP)), encoding="utf-8")
    engines = {name: _measure_engine(name, size, folder, asked) for name in _engines(size)}
    return {"engines": engines, **_measure_athand(size, folder / ATHAND, asked)}


def _engines(size: int) -> list[str]:
    peers = [name for name, largest in PEERS.items() if size <= largest and is_installed(BY_NAME[name])]
    return [ATHAND, *(name for name in peers if size >= LEAST_FOR_PEERS or BY_NAME[name].needs == "apsw")]


def _measure_engine(name: str, size: int, folder: Path, asked: Path) -> Results:
    """Build and search; engines that search the same files in several ways build them once."""
    print(f"{size:,} passages: {name} …", flush=True)
    home = folder / (BY_NAME[name].needs if name != ATHAND else name)
    built = {}
    if not home.exists():
        home.mkdir()
        built = call("benchmarks.latency_tasks:build", name, size, str(home))
    return {**built, **call("benchmarks.latency_tasks:search", name, str(home), str(asked))}


def _measure_athand(size: int, home: Path, asked: Path) -> Results:
    """What only Athand is asked: how exact its vector side is, the command line, a single durable add."""
    print(f"{size:,} passages: recall, command line, adds …", flush=True)
    found: Results = {}
    if size <= MOST_FOR_EXACT:
        found["recall"] = call("benchmarks.latency_tasks:recall", str(home), size, str(asked))
    texts = json.loads(asked.read_text("utf-8"))[:CLI_RUNS]
    found["cli_search_s"] = _cli_seconds(
        [["search", text, "--store", str(home / "athand.db"), "--json"] for text in texts]
    )
    found["add_ms"] = call("benchmarks.latency_tasks:add", str(home), size)
    return found


def _cli_seconds(commands: Sequence[Sequence[str]]) -> float:
    """The median time of these commands from a shell, without the user's own configuration."""
    times = []
    for command in commands:
        started = time.perf_counter()
        environment = os.environ | {"ATHAND_CONFIG": os.devnull}
        subprocess.run([*CLI, *command], env=environment, stdout=subprocess.DEVNULL, check=True)
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def tables(results: Results) -> Iterator[str]:
    """One table of engines per size, then what only Athand was asked."""
    yield "Athand and LanceDB embed every passage when building; FTS5 and bm25s index words only."
    for size, found in results["sizes"].items():
        yield f"### {int(size):,} passages\n\n{_engine_table(found['engines'])}"
    header = [
        "passages",
        f"recall@{NEAREST}",
        "first CLI search s",
        "add p50 ms",
        "add p99 ms",
        "added and found at once",
    ]
    yield f"### Only Athand\n\n{table(header, [_own_row(*entry) for entry in results['sizes'].items()])}"
    yield f"`athand --help`: {results['help_s']:.2f} s"


def _engine_table(engines: Results) -> str:
    ours = engines[ATHAND]["everywhere"]["p50"]
    header = [
        "engine",
        "build s",
        "passages/s",
        "disk MB",
        "peak MB",
        "p50 ms",
        "p90",
        "p99",
        "p50 / ours",
        "in a project p50",
        "p99",
    ]
    return table(header, [_engine_row(name, found, ours) for name, found in engines.items()])


def _engine_row(name: str, found: Results, ours: float) -> list[str]:
    everywhere, inside = found["everywhere"], found["in_project"]
    built = [f"{found[key]:,.{digits}f}" if key in found else "″" for key, digits in BUILT.items()]
    times = [f"{everywhere[part]:.1f}" for part in ("p50", "p90", "p99")]
    ratio = f"{everywhere['p50'] / ours:.1f}"
    return [name, *built, f"{found['peak_mb']:.0f}", *times, ratio, f"{inside['p50']:.1f}", f"{inside['p99']:.1f}"]


def _own_row(size: str, found: Results) -> list[str]:
    exact = f"{found['recall']:.3f}" if "recall" in found else "-"
    added = found["add_ms"]
    times = [f"{found['cli_search_s']:.2f}", f"{added['p50']:.1f}", f"{added['p99']:.1f}"]
    return [f"{int(size):,}", exact, *times, f"{added['found']:.0%}"]


def parse_sizes(text: str) -> list[int]:
    """`1k,10k,1m` as numbers."""
    units = {"k": 1_000, "m": 1_000_000}
    return [int(part[:-1]) * units[part[-1]] if part[-1] in units else int(part) for part in text.lower().split(",")]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=parse_sizes, default=list(DEFAULT_SIZES), help="like 1k,10k,100k,1m")
    print("\n" + "\n\n".join(tables(measure(parser.parse_args().sizes))))
