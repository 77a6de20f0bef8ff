"""How well and how fast flows are found, beside the seed's weights on substrings and plain FTS5.

Constants were chosen on one half of the questions, `tune`; figures are of the other, `report`.
"""

import math
import re
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import apsw

from athand.app import SCHEMAS
from athand.embed import DEFAULT_MODEL, LazyEmbedder
from athand.evaluation import percentiles
from athand.flows import Flows
from athand.flows.model import FlowSession, Step
from athand.flows.rows import to_passage
from athand.store import open_store
from athand.text import FLOW_STOP_WORDS, expand_synonyms, synonym_table, tokenize
from benchmarks.data import CACHE
from benchmarks.flow_data import NOW, Apps, Question, fill, sessions
from benchmarks.tables import bold_best, table

SIZES = (1_000, 100_000)
MEASURES = ("hit@1", "hit@5", "MRR", "nonsense answered")
DEEP = 10

Search = Callable[[str], list[str]]  # a question, the flows of the sessions that were found, best first
Recorded = Sequence[tuple[FlowSession, list[Step]]]


def measure(sizes: Sequence[int] = SIZES) -> dict[str, Any]:
    """Quality on every flow once, then speed at these numbers of steps."""
    apps = Apps()
    with closing(open_store(":memory:", SCHEMAS)) as store:
        flows = _open_flows(store)
        fill(flows, sessions(apps))
        engines = {
            "Athand": _ours(flows),
            "seed's weights, substrings": _of_the_seed(list(sessions(apps))),
            "FTS5, one field": _fts5(list(sessions(apps))),
        }
        halves = {part: [each for each in apps.questions if each.part == part] for part in ("report", "tune")}
        quality = {
            part: {name: _measured(engine, asked) for name, engine in engines.items()} for part, asked in halves.items()
        }
    return {"quality": quality, "speed": {str(size): _speed(apps, size) for size in sizes}}


def _open_flows(store: Any) -> Flows:
    return Flows(store, LazyEmbedder(DEFAULT_MODEL), clock=lambda: NOW)


def _ours(flows: Flows) -> Search:
    return lambda text: _flows(hit.session_id for hit in flows.search(text, limit=DEEP, once=True))


def _flows(session_ids: Iterator[str]) -> list[str]:
    return list(dict.fromkeys(id_.split("--")[0] for id_ in session_ids))[:DEEP]


def _of_the_seed(recorded: Recorded) -> Search:
    """Session score plus step score, any part of any field counting; the best steps, in order."""

    def found(text: str) -> list[str]:
        words = expand_synonyms(tokenize(text, FLOW_STOP_WORDS), synonym_table())
        scored = [
            (of_session + _step_score(step, words), session.created_at, session.id)
            for session, steps in recorded
            for of_session in [_session_score(session, words)]
            for step in steps
        ]
        return _flows(id_ for score, _, id_ in sorted(scored, reverse=True) if score > 0)

    return found


def _session_score(session: FlowSession, words: Sequence[str]) -> float:
    goal, branch = tokenize(session.goal or ""), tokenize(str((session.git or {}).get("branch", "")))
    score = 12.0 * sum(any(word in tag for tag in session.flow_tags) for word in words)
    score += 6 * sum(word in goal for word in words) + 4 * sum(
        any(word in tag for tag in session.tags) for word in words
    )
    hours = (NOW - session.created_at).total_seconds() / 3600
    return score + 2 * any(word in branch for word in words) + (3 if hours < 24 else 1 if hours < 72 else 0)


def _step_score(step: Step, words: Sequence[str]) -> float:
    seen = step.before
    nodes = [f"{node['name']}\n{node['role']}".lower() for node in (seen.a11y if seen else ())]
    fields = (
        (10, [step.tool]),
        (8, [step.screen]),
        (6, [step.target.get("testId", "").lower()]),
        (5, step.labels),
        (3, seen.visible_test_ids if seen else ()),
        (2, nodes),
    )
    has = [[any(word in value for value in values) for _, values in fields] for word in words]
    score = sum(weight * sum(each[at] for each in has) for at, (weight, _) in enumerate(fields))
    return score + math.floor(5 * sum(map(any, has)) / (len(words) or 1))


def _fts5(recorded: Recorded) -> Search:
    """All fields of a step as one text, SQLite's own stemmer and BM25."""
    connection = apsw.Connection(":memory:")
    connection.execute("CREATE VIRTUAL TABLE steps USING fts5(session UNINDEXED, text, tokenize='porter unicode61')")
    rows = [(session.id, " ".join(to_passage(session, step).fields)) for session, steps in recorded for step in steps]
    connection.executemany("INSERT INTO steps VALUES (?, ?)", rows)

    def found(text: str) -> list[str]:
        words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", text) if word.lower() not in FLOW_STOP_WORDS)
        ranked = connection.execute("SELECT session FROM steps WHERE steps MATCH ? ORDER BY rank", (words or '""',))
        return _flows(row[0] for row in ranked)

    return found


def _measured(engine: Search, asked: Sequence[Question]) -> dict[str, float]:
    answers = [(each.flow, engine(each.text)) for each in asked if each.flow]
    places = [found.index(flow) if flow in found else None for flow, found in answers]
    silent = [not engine(each.text) for each in asked if each.flow is None]
    return {
        "hit@1": statistics.mean(place == 0 for place in places),
        "hit@5": statistics.mean(place is not None and place < 5 for place in places),
        "MRR": statistics.mean(0.0 if place is None else 1 / (place + 1) for place in places),
        "nonsense answered": 1 - statistics.mean(silent),
        "questions": len(answers),
        "nonsense": len(silent),
    }


def _speed(apps: Apps, size: int) -> dict[str, Any]:
    """Searches of so many steps in a file; the first ones warm it up."""
    asked = [each.text for each in apps.questions]
    CACHE.mkdir(exist_ok=True)
    with TemporaryDirectory(dir=CACHE) as work, closing(open_store(str(Path(work) / "athand.db"), SCHEMAS)) as store:
        flows = _open_flows(store)
        filled = time.perf_counter()
        steps = fill(flows, sessions(apps, size))
        filled = time.perf_counter() - filled
        for text in asked[:10]:
            flows.search(text)
        times = [_milliseconds(flows, text) for text in asked]
    return {"steps": steps, "fill_s": filled, **percentiles(times)}


def _milliseconds(flows: Flows, text: str) -> float:
    started = time.perf_counter()
    flows.search(text)
    return 1000 * (time.perf_counter() - started)


def tables(results: Mapping[str, Any]) -> Iterator[str]:
    """The quality on both halves, then the speed."""
    for part, engines in results["quality"].items():
        first = next(iter(engines.values()))
        yield f"{part} half: {first['questions']} questions, {first['nonsense']} nonsense\n"
        columns = [bold_best([each[name] for each in engines.values()]) for name in MEASURES[:3]]
        silent = [f"{each['nonsense answered']:.2f}" for each in engines.values()]
        rows = [[name, *cells] for name, *cells in zip(engines, *columns, silent, strict=True)]
        yield table(["engine", *MEASURES], rows) + "\n"
    rows = [
        [f"{each['steps']:,}", f"{each['p50']:.1f}", f"{each['p99']:.1f}", f"{each['fill_s']:.1f}"]
        for each in results["speed"].values()
    ]
    yield table(["steps", "p50 ms", "p99 ms", "written in s"], rows) + "\n"


if __name__ == "__main__":
    print("\n".join(tables(measure())))
