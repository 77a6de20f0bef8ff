"""Search quality: labelled sets, measures and reports, for the benchmarks and `athand bench`."""

import json
import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from athand.errors import InvalidInput
from athand.types import Noun

Grades = Mapping[str, int]
Search = Callable[["Question", int], Sequence[str]]

FORMATS = "corpus.jsonl with qrels.tsv, memories.jsonl, or tools.jsonl; each with queries.jsonl"


@dataclass(frozen=True, slots=True)
class Question(Noun):
    """A query with its relevant ids and their grades."""

    id: str
    text: str
    relevant: Grades
    category: str = "all"
    project: str | None = None


@dataclass(frozen=True, slots=True)
class LabelledSet(Noun):
    """Items, as arguments of `memories.add`, and questions with their relevant items."""

    name: str
    items: Sequence[Mapping[str, Any]] = field(repr=False)
    questions: Sequence[Question] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Report(Noun):
    """Mean measures over all questions and by category, and how long a search took."""

    questions: int
    measures: Mapping[str, float]
    by_category: Mapping[str, Mapping[str, float]]
    milliseconds: Mapping[str, float]


def ndcg(ranked: Sequence[str], relevant: Grades, k: int = 10) -> float:
    """Normalized discounted cumulative gain of the first k."""
    ideal = sorted(relevant.values(), reverse=True)[:k]
    return _dcg([relevant.get(id_, 0) for id_ in ranked[:k]]) / _dcg(ideal)


def recall(ranked: Sequence[str], relevant: Grades, k: int = 10) -> float:
    """The share of relevant ids among the first k."""
    wanted = {id_ for id_, grade in relevant.items() if grade > 0}
    return len(wanted.intersection(ranked[:k])) / len(wanted)


def hit(ranked: Sequence[str], relevant: Grades, k: int = 10) -> float:
    """Whether a relevant id is among the first k."""
    return float(any(relevant.get(id_, 0) > 0 for id_ in ranked[:k]))


def reciprocal_rank(ranked: Sequence[str], relevant: Grades, k: int = 10) -> float:
    """1 / rank of the first relevant id."""
    return next((1 / place for place, id_ in enumerate(ranked[:k], 1) if relevant.get(id_, 0) > 0), 0.0)


def _dcg(gains: Sequence[int]) -> float:
    return sum(gain / math.log2(place + 1) for place, gain in enumerate(gains, 1))


MEASURES: Mapping[str, Callable[[Sequence[str], Grades], float]] = {
    "nDCG@10": lambda ranked, relevant: ndcg(ranked, relevant, 10),
    "recall@5": lambda ranked, relevant: recall(ranked, relevant, 5),
    "recall@10": lambda ranked, relevant: recall(ranked, relevant, 10),
    "MRR@10": lambda ranked, relevant: reciprocal_rank(ranked, relevant, 10),
    "hit@5": lambda ranked, relevant: hit(ranked, relevant, 5),
}


def evaluate(questions: Sequence[Question], search: Search, limit: int = 10) -> Report:
    """Runs every question through a search that returns ids, and averages the measures."""
    scores: dict[str, list[dict[str, float]]] = defaultdict(list)
    times = []
    for question in questions:
        started = time.perf_counter()
        ranked = search(question, limit)
        times.append((time.perf_counter() - started) * 1000)
        scores[question.category].append(
            {name: measure(ranked, question.relevant) for name, measure in MEASURES.items()}
        )
    everything = [score for each in scores.values() for score in each]
    return Report(
        len(questions),
        _mean_measures(everything),
        {category: _mean_measures(each) for category, each in sorted(scores.items())},
        percentiles(times),
    )


def percentiles(values: Sequence[float]) -> dict[str, float]:
    """The 50th, 90th and 99th percentile."""
    ordered = sorted(values)
    return {f"p{part}": ordered[min(len(ordered) - 1, len(ordered) * part // 100)] for part in (50, 90, 99)}


def _mean_measures(scores: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {name: sum(score[name] for score in scores) / len(scores) for name in MEASURES}


def load_set(folder: Path) -> LabelledSet:
    """Loads the labelled set in a folder, in any of the known formats."""
    readers = {"corpus.jsonl": _read_beir, "memories.jsonl": _read_memories, "tools.jsonl": _read_tools}
    for file, reader in readers.items():
        if (folder / file).is_file() and (folder / "queries.jsonl").is_file():
            items, questions = reader(folder)
            answerable = [each for each in questions if any(grade > 0 for grade in each.relevant.values())]
            if not answerable:
                raise InvalidInput(f"{folder} has no question with a right answer.")
            return LabelledSet(folder.name, items, answerable)
    raise InvalidInput(f"{folder} is no labelled set. It needs {FORMATS}.")


def _read_lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            try:
                yield json.loads(line)
            except ValueError as error:
                raise InvalidInput(f"{path} line {number} is not JSON: {error}") from error


def _read_beir(folder: Path) -> tuple[list[dict[str, Any]], list[Question]]:
    relevant: dict[str, dict[str, int]] = defaultdict(dict)
    for line in (folder / "qrels.tsv").read_text("utf-8").splitlines()[1:]:
        query, document, grade = line.split("\t")
        relevant[query][document] = int(grade)
    items = [
        {"id": row["_id"], "content": f"{row.get('title', '')}\n{row['text']}".strip() or "(empty)"}
        for row in _read_lines(folder / "corpus.jsonl")
    ]
    return items, [
        Question(row["_id"], row["text"], relevant[row["_id"]]) for row in _read_lines(folder / "queries.jsonl")
    ]


def _read_memories(folder: Path) -> tuple[list[dict[str, Any]], list[Question]]:
    items = [
        {
            "id": row["id"],
            "content": row["content"],
            "project": row.get("project_id", "default"),
            "session": row.get("session_id"),
            "created_at": row.get("created_at"),
            "author": row.get("speaker"),
            "context": row.get("image_caption"),
        }
        for row in _read_lines(folder / "memories.jsonl")
    ]
    return items, list(_read_questions(folder))


def _read_tools(folder: Path) -> tuple[list[dict[str, Any]], list[Question]]:
    items = [
        {"id": row["id"], "content": f"{row['name']}\n{row['description']}"}
        for row in _read_lines(folder / "tools.jsonl")
    ]
    return items, list(_read_questions(folder))


def _read_questions(folder: Path) -> Iterator[Question]:
    for row in _read_lines(folder / "queries.jsonl"):
        grades = dict.fromkeys(row["relevant"], 1)
        yield Question(row["id"], row["query"], grades, row.get("category", "all"), row.get("project_id"))
