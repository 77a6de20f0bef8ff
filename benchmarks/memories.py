"""Athand as an agent's memory beside mem0: answers and speed on LoCoMo-dev, then many memories in many projects."""

import argparse
import os
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from athand import SEED_WEIGHTS
from athand.evaluation import LabelledSet, Question, evaluate, load_set, percentiles
from benchmarks.data import CACHE, PROJECTS, minilm, passages, project_of, questions, shared_folder
from benchmarks.engines import ATHAND, BY_NAME, KEYWORDS, AthandEngine, Engine, PerProject, Search, is_installed
from benchmarks.fresh import call
from benchmarks.latency_tasks import LIMIT, WARM_UP
from benchmarks.mem0_engine import MEM0, Add, Mem0Engine
from benchmarks.quality import MISSING, WITH_MINILM
from benchmarks.tables import bold_best, table

SET = "memories/locomo-dev"
TUNED, REPORTED = ("conv-26", "conv-30", "conv-41"), ("conv-42", "conv-43")
TIMED = "conv-26"
GROUPS = {"all five": (*TUNED, *REPORTED), "tuned on": TUNED, "reported": REPORTED}
SHOWN = ("recall@10", "nDCG@10")
SEEDED = "Athand, seed weights"
PEERS = ("FTS5", KEYWORDS)
TIMED_ENGINES = (ATHAND, WITH_MINILM, MEM0)
ROUNDS = 3  # the engines take turns, so that what else runs on the machine slows all of them
LARGE = 100_000
SEARCHES, ADDED = 200, 200
BUSY = 0.3  # the load average above which times say more about the machine's other work
ASKED = {"reinforce=False": {"reinforce": False}, "by default": {}}

Results = dict[str, Any]


@dataclass(frozen=True)
class Memories(AthandEngine):
    """Athand without learning from the questions it is asked."""

    weights: Any = None

    @contextmanager
    def open(self, folder: Path) -> Iterator[Search]:
        with self.live(folder) as (_, search):
            yield search

    @contextmanager
    def live(self, folder: Path) -> Iterator[tuple[Add, Search]]:
        """Adding one memory at a time, and asking."""
        with self.store(folder) as athand:
            memories, given = athand.memories, {"reinforce": False, "weights": self.weights}

            def search(text: str, project: str | None, limit: int) -> list[str]:
                return [hit.id for hit in memories.search(text, project=project, limit=limit, **given)]

            yield lambda item: memories.add(**item), search


def measure(*, large: bool = True) -> Results:
    """Quality and speed in one run; `large` adds the hundred thousand memories."""
    names = {name: engine is not None for name, engine in _engines().items()}
    found: Results = {"mem0": _mem0_version(), "load": os.getloadavg()[0], "quality": {}}
    for name, is_there in names.items():
        print(f"LoCoMo-dev: {name} …", flush=True)
        found["quality"][name] = call("benchmarks.memories:quality", name) if is_there else None
    found["speed"] = _measure_speed([name for name in TIMED_ENGINES if names[name]])
    return found | ({"large": _measure_large()} if large else {})


def _measure_speed(names: Sequence[str]) -> Results:
    rounds: dict[str, list[Results]] = {name: [] for name in names}
    for number in range(1, ROUNDS + 1):
        for name in names:
            print(f"{TIMED}, one at a time, round {number} of {ROUNDS}: {name} …", flush=True)
            rounds[name].append(call("benchmarks.memories:speed", name))
    return {
        name: {work: _medians([each[work] for each in found]) for work in found[0]} for name, found in rounds.items()
    }


def _medians(timings: Sequence[Results]) -> Results:
    return {part: statistics.median(timing[part] for timing in timings) for part in timings[0]}


def _engines() -> dict[str, Engine | PerProject | None]:
    """What is measured, by name; None is what is not installed."""
    model = minilm()
    return {
        ATHAND: Memories(),
        SEEDED: Memories(SEEDED, weights=SEED_WEIGHTS),
        WITH_MINILM: Memories(WITH_MINILM, model=str(model)) if model else None,
        **{name: PerProject(BY_NAME[name]) for name in PEERS},
        MEM0: Mem0Engine() if model and is_installed(Mem0Engine()) else None,
    }


def _mem0_version() -> str | None:
    return version("mem0ai") if is_installed(Mem0Engine()) else None


def _load() -> LabelledSet:
    return load_set(shared_folder("data") / SET)


def quality(name: str) -> Results:
    """Each question asked once; measures over groups of conversations."""
    labelled, engine = _load(), _engines()[name]
    with TemporaryDirectory() as folder:
        engine.build(Path(folder), labelled.items)
        with engine.open(Path(folder)) as search:
            answers = {asked.id: search(asked.text, asked.project, LIMIT) for asked in labelled.questions}
    return {group: _measures(labelled.questions, projects, answers) for group, projects in GROUPS.items()}


def _measures(asked: Sequence[Question], projects: Sequence[str], answers: Mapping[str, Sequence[str]]) -> Results:
    inside = [question for question in asked if question.project in projects]
    report = evaluate(inside, lambda question, limit: answers[question.id][:limit])
    return {"questions": report.questions, "measures": report.measures, "by_category": report.by_category}


def speed(name: str) -> Results:
    """One conversation: its memories added one by one, each durable, then its questions."""
    labelled = _load()
    items = [item for item in labelled.items if item["project"] == TIMED]
    asked = [question.text for question in labelled.questions if question.project == TIMED]
    CACHE.mkdir(exist_ok=True)
    with TemporaryDirectory(dir=CACHE) as folder, _engines()[name].live(Path(folder)) as (add, search):
        return {
            "add_ms": _timed(partial(add, item) for item in items),
            "search_ms": _timed(partial(search, text, TIMED, LIMIT) for text in asked),
        }


def _timed(calls: Iterable[Callable[[], Any]]) -> Results:
    """How long each call took, the first ones left out."""
    times = []
    for each in calls:
        started = time.perf_counter()
        each()
        times.append((time.perf_counter() - started) * 1000)
    return {"calls": len(times) - WARM_UP, **percentiles(times[WARM_UP:])}


def _measure_large() -> Results:
    print(f"{LARGE:,} memories …", flush=True)
    with TemporaryDirectory(dir=CACHE) as folder:
        built = call("benchmarks.latency_tasks:build", ATHAND, LARGE, folder)
        return {**built, **call("benchmarks.memories:many", folder, LARGE)}


def many(folder: str, size: int) -> Results:
    """Search a store of so many memories, in a project and everywhere, with and without reinforcing; then add."""
    asked = list(enumerate(questions(SEARCHES + WARM_UP)))
    new = list(islice(passages(size + ADDED + WARM_UP), size, None))
    with Memories().store(Path(folder)) as athand:
        search, add = athand.memories.search, athand.memories.add
        found = {
            way: {
                "in_project": _timed(partial(search, text, project=project_of(at), **given) for at, text in asked),
                "everywhere": _timed(partial(search, text, **given) for _, text in asked),
            }
            for way, given in ASKED.items()
        }
        return {"search_ms": found, "add_ms": _timed(partial(add, **item) for item in new)}


def tables(results: Results) -> Iterator[str]:
    """Quality, speed beside mem0, and many memories."""
    yield (
        f"mem0 {results['mem0'] or MISSING}: `infer=False`, embedded Qdrant on disk, fastembed for all-MiniLM-L6-v2 "
        f"and BM25, no spaCy model to take lemmas from. Times on {TIMED} are medians of {ROUNDS} rounds."
    )
    yield f"### LoCoMo-dev, by conversations\n\n{_quality_table(results['quality'])}"
    if results["load"] > BUSY:
        yield f"**The machine was busy (load {results['load']:.1f} before it began): the times want repeating.**"
    yield f"### {TIMED}, one at a time\n\n{_speed_table(results['speed'])}"
    if "large" in results:
        yield f"### {LARGE:,} memories in {PROJECTS:,} projects\n\n{_large_table(results['large'])}"


def _quality_table(engines: Mapping[str, Results | None]) -> str:
    ran = {name: found for name, found in engines.items() if found}
    groups = next(iter(ran.values()))
    cells = [(group, measure) for group in groups for measure in SHOWN]
    columns = [bold_best([found[group]["measures"][measure] for found in ran.values()]) for group, measure in cells]
    header = [f"{group} ({groups[group]['questions']}): {measure}" for group, measure in cells]
    rows = [[name, *(column[at] for column in columns)] for at, name in enumerate(ran)]
    rows += [[f"{name}: {MISSING}"] + ["-"] * len(cells) for name, found in engines.items() if not found]
    return table(["engine", *header], rows)


def _speed_table(engines: Mapping[str, Results]) -> str:
    times = {name: _p50_and_p99(found["add_ms"], found["search_ms"]) for name, found in engines.items()}
    rows = [[name, *(f"{value:.1f}" for value in values)] for name, values in times.items()]
    for ours in (ATHAND, WITH_MINILM):
        if MEM0 in times and ours in times:
            ratios = (theirs / value for theirs, value in zip(times[MEM0], times[ours], strict=True))
            rows.append([f"{MEM0} / {ours}", *(f"{ratio:.1f}x" for ratio in ratios)])
    return table(["engine", "add p50 ms", "p99", "search p50 ms", "p99"], rows)


def _p50_and_p99(*timings: Results) -> list[float]:
    return [timing[part] for timing in timings for part in ("p50", "p99")]


def _large_table(large: Results) -> str:
    timings = {
        f"search {where.replace('_', ' ')}, {way}": timing
        for way, found in large["search_ms"].items()
        for where, timing in found.items()
    }
    timings["add one"] = large["add_ms"]
    return table(
        ["work", "p50 ms", "p99"],
        [[work, *(f"{value:.1f}" for value in _p50_and_p99(timing))] for work, timing in timings.items()],
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="without the hundred thousand memories")
    print("\n" + "\n\n".join(tables(measure(large=not parser.parse_args().small))))
