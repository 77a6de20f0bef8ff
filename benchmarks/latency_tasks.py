"""The parts of the latency benchmark that run in processes of their own."""

import json
import statistics
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from athand.embed import load_embedder
from athand.evaluation import percentiles
from benchmarks.data import passages, project_of
from benchmarks.engines import BY_NAME, AthandEngine, Search
from benchmarks.fresh import peak_megabytes

WARM_UP = 20
LIMIT = 10
MOST_SECONDS = 90  # for one engine's searches; a slow one is asked fewer questions
ADDED = 50
NEAREST = 20


def build(engine: str, size: int, folder: str) -> dict[str, Any]:
    """Index so many passages from nothing."""
    items = list(passages(size))
    started = time.perf_counter()
    BY_NAME[engine].build(Path(folder), items)
    seconds = time.perf_counter() - started
    files = [file.stat().st_size for file in Path(folder).rglob("*") if file.is_file()]
    return {"build_s": seconds, "passages_per_s": size / seconds, "megabytes": sum(files) / 1e6}


def search(engine: str, folder: str, questions: str) -> dict[str, Any]:
    """Open what was built and ask it everything, over all projects and within one."""
    asked = json.loads(Path(questions).read_text("utf-8"))
    with BY_NAME[engine].open(Path(folder)) as ask:
        everywhere = _timed(ask, asked, lambda at: None)
        in_project = _timed(ask, asked, project_of)
    return {"everywhere": everywhere, "in_project": in_project, "peak_mb": peak_megabytes()}


def _timed(ask: Search, questions: list[str], project: Callable[[int], str | None]) -> dict[str, float]:
    for at, question in enumerate(questions[:WARM_UP]):
        ask(question, project(at), LIMIT)
    times: list[float] = []
    for at, question in enumerate(questions[WARM_UP:]):
        started = time.perf_counter()
        ask(question, project(at), LIMIT)
        times.append((time.perf_counter() - started) * 1000)
        if sum(times) > MOST_SECONDS * 1000:
            break
    return {"searches": len(times), **percentiles(times)}


def add(folder: str, size: int) -> dict[str, Any]:
    """Add one memory at a time, each durable, and look whether the next search finds it."""
    new = islice(passages(size + ADDED), size, None)
    added, found = [], []
    with AthandEngine().store(Path(folder)) as athand:
        for item in new:
            started = time.perf_counter()
            athand.memories.add(**item)
            added.append((time.perf_counter() - started) * 1000)
            hits = athand.memories.search(item["content"])
            found.append(any(hit.id == item["id"] for hit in hits))
    return {**percentiles(added), "found": sum(found) / len(found)}


def recall(folder: str, size: int, questions: str) -> float:
    """Which share of the truly nearest passages the store's vector side finds."""
    embedder = load_embedder()
    asked = np.stack([embedder.embed_query(text) for text in json.loads(Path(questions).read_text("utf-8"))])
    everything = embedder.embed_passages([item["content"] for item in passages(size)])
    exact = np.argsort(-(asked @ everything.T), axis=1, kind="stable")[:, :NEAREST]
    with AthandEngine().store(Path(folder)) as athand:
        found = [_nearest(athand, vector, embedder.model_id) for vector in asked]
    shares = [len({*right} & {*numbers}) / NEAREST for right, numbers in zip(exact.tolist(), found, strict=True)]
    return statistics.mean(shares)


def _nearest(athand, vector: np.ndarray, model_id: str) -> list[int]:
    """Places of the nearest passages in the order they were added: the store numbers them from 1."""
    with athand._store.snapshot() as snapshot:
        view = snapshot._matrices(snapshot._connection, "memories", model_id)
        return (view.nearest(vector, NEAREST)[0] - 1).tolist()
