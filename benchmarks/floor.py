"""The least that anybody could do for a search, measured beside Athand's in the same process on one core.

The floor knows the same words and the same vectors: it tokenizes and embeds the question with the same functions, adds
up the BM25 scores of postings and the cosines in numpy arrays, and reads the ten best rows with one SQL statement. It
knows no filter, no field, no typo, no reason and no other process. Each question is asked of both, one after the other.
"""

import argparse
import json
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import apsw
import numpy as np

from athand import Athand, Settings
from athand.embed import load_embedder
from athand.evaluation import percentiles
from athand.rank import K1, B, inverse_frequency
from athand.text import stems, tokenize
from benchmarks.data import CACHE, SETS, Item, load_sets, passages, questions
from benchmarks.fresh import call
from benchmarks.tables import table
from benchmarks.tool_sets import is_for_tuning, requests_of, tools_of

SIZE, LARGE = 10_000, 100_000
IN_A_PROJECT = 419
ASKED, WARM_UP, LIMIT = 200, 20, 10
BATCH = 2_000
TOOLS = "sealtools-dev"
EXACT = 2_000  # up to so many vectors are compared one by one; beyond, those that are near by the signs of their values
NEAREST = 500
KEYWORD = 0.6  # of the total; the rest is the cosine

Search = Callable[[str], Sequence[object]]


class Arrays:
    """The words and the vectors of texts as flat arrays: the passages of each term, and what each adds to the score."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.embedder = load_embedder()
        self.vectors = self.embedder.embed_passages(texts)
        self.signs = np.packbits(self.vectors > 0, axis=1).view(np.uint64)
        counts = [Counter(stems(tokenize(text))) for text in texts]
        lengths = np.array([sum(each.values()) for each in counts], float)
        lengths /= lengths.mean()
        found: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for at, each in enumerate(counts):
            for term, count in each.items():
                found[term].append((at, count))
        self.postings = {term: self._posting(np.array(pairs), lengths) for term, pairs in found.items()}

    @staticmethod
    def _posting(pairs: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """The passages of a term, what it adds to the score of each, and the most that it adds to an average one."""
        passages, counts = pairs[:, 0], pairs[:, 1]
        worth = inverse_frequency(len(lengths), len(passages))
        return passages, worth * counts * (K1 + 1) / (K1 * (1 - B + B * lengths[passages]) + counts), worth

    def best(self, question: str) -> list[int]:
        """The numbers of the best passages, best first."""
        vector = self.embedder.embed_query(question)
        total, ideal = np.zeros(len(self.vectors)), 1e-9
        for term in stems(tokenize(question)):
            if term in self.postings:
                places, added, worth = self.postings[term]
                total[places] += added
                ideal += worth
        total *= KEYWORD / ideal
        near = slice(None) if len(total) <= EXACT else self._near(vector)
        total[near] += (1 - KEYWORD) * (self.vectors[near] @ vector)
        first = np.argpartition(-total, LIMIT)[:LIMIT]
        best: list[int] = first[np.argsort(-total[first])].tolist()
        return best

    def _near(self, vector: np.ndarray) -> np.ndarray:
        differing = np.bitwise_count(self.signs ^ np.packbits(vector > 0).view(np.uint64)).sum(axis=1, dtype=np.uint16)
        return np.argpartition(differing, NEAREST)[:NEAREST]


@contextmanager
def floor(path: Path, sql: str, ids: Sequence[str], texts: Sequence[str]) -> Iterator[Search]:
    """A search of these texts, whose rows are read with `sql` from the database of the store."""
    arrays = Arrays(texts)
    with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as connection:

        def search(question: str) -> list[object]:
            found = json.dumps([ids[at] for at in arrays.best(question)])
            return connection.execute(sql, (found,)).fetchall()

        yield search


def measure(*, large: bool = False) -> dict[str, Any]:
    """Memories in a project and everywhere, and tools."""
    CACHE.mkdir(exist_ok=True)
    sizes = (SIZE, *([LARGE] if large else []))
    found = {f"memories, {IN_A_PROJECT} in a project": call("benchmarks.floor:memories_in_a_project", one_core=True)}
    for size in sizes:
        found[f"memories, {size:,} everywhere"] = call("benchmarks.floor:memories_everywhere", size, one_core=True)
    return found | {f"tools, {len(tools_of(TOOLS)):,}": call("benchmarks.floor:tools", one_core=True)}


def memories_in_a_project() -> dict[str, Any]:
    """The longest conversation of the labelled set, cut to that number; others are in the store beside it."""
    [one] = [each for each in load_sets() if each.name in SETS[1]]
    project, _ = Counter(item["project"] for item in one.items).most_common(1)[0]
    own = [item for item in one.items if item["project"] == project][:IN_A_PROJECT]
    others = [item for item in one.items if item["project"] != project]
    asked = [each.text for each in one.questions if each.project == project]
    return _memories([*own, *others], asked, project)


def memories_everywhere(size: int) -> dict[str, Any]:
    """Made-up memories in many projects, all of which are searched."""
    return _memories(list(passages(size)), questions(ASKED))


def _memories(items: Sequence[Item], asked: Sequence[str], project: str | None = None) -> dict[str, Any]:
    searched = [item for item in items if project in (None, item["project"])]
    ids, texts = [item["id"] for item in searched], [item["content"] for item in searched]
    sql = "SELECT * FROM memories WHERE id IN (SELECT value FROM json_each(?))"
    with _store() as (athand, path):
        for start in range(0, len(items), BATCH):
            athand.memories.add_many(items[start : start + BATCH])
        with floor(path, sql, ids, texts) as least:
            return _compare(lambda text: athand.memories.search(text, project=project, reinforce=False), least, asked)


def tools() -> dict[str, Any]:
    """A catalogue of thousands."""
    offered = tools_of(TOOLS)
    names = [tool["name"] for tool in offered]
    texts = [json.dumps(tool) for tool in offered]
    asked = [request.text for request in requests_of(TOOLS, is_for_tuning)]
    sql = "SELECT * FROM tools WHERE name IN (SELECT value FROM json_each(?))"
    with _store() as (athand, path):
        athand.tools.add("all", offered)
        with floor(path, sql, names, texts) as least:
            return _compare(lambda text: athand.tools.search(text, limit=LIMIT), least, asked)


@contextmanager
def _store() -> Iterator[tuple[Athand, Path]]:
    with TemporaryDirectory(dir=CACHE) as folder:
        path = Path(folder) / "athand.db"
        with Athand(str(path), settings=Settings()) as athand:
            yield athand, path


def _compare(ours: Search, least: Search, asked: Sequence[str]) -> dict[str, Any]:
    """Milliseconds of processor time of both for the same questions, asked in turn."""
    searches = {"ours": ours, "floor": least}
    for question in asked[:WARM_UP]:
        for search in searches.values():
            search(question)
    times: dict[str, list[float]] = {name: [] for name in searches}
    for question in asked[WARM_UP:ASKED]:
        for name, search in searches.items():
            started = time.process_time()
            search(question)
            times[name].append((time.process_time() - started) * 1000)
    found: dict[str, Any] = {name: percentiles(each) for name, each in times.items()}
    return {**found, "times": found["ours"]["p50"] / found["floor"]["p50"]}


def tables(results: Mapping[str, Any]) -> Iterator[str]:
    """Processor time of both, and how many times the floor ours is."""
    yield (
        "Processor time on one core. The floor tokenizes and embeds the question, adds up scores in numpy arrays and "
        "reads ten rows: the least that anybody could do."
    )
    rows = [
        [
            what,
            *(f"{each[name][part]:.2f}" for name in ("ours", "floor") for part in ("p50", "p99")),
            f"{each['times']:.1f}",
        ]
        for what, each in results.items()
    ]
    yield table(["search of", "p50 ms", "p99", "floor p50 ms", "p99", "times the floor"], rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", action="store_true", help=f"also {LARGE:,} memories")
    print("\n" + "\n\n".join(tables(measure(large=parser.parse_args().large))))
