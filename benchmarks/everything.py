"""How well one search over all four corpora puts what was asked for first, and whether its scores mean what they say.

The points of `athand.calibration` were chosen on one half of the questions (`python -m benchmarks.everything` prints
them as that half has them); figures are of the other half. Every question has its answers in one corpus, or nowhere,
and all four are asked. Beside our scale: the totals of the corpora as they are, places instead of scores (reciprocal
rank fusion), and totals by how far they are from the middle of their corpus.
"""

import json
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from athand import Athand
from athand.app import CORPORA as CLASSES
from athand.calibration import are_worth_showing, to_scores
from athand.evaluation import percentiles
from athand.types import Hit
from benchmarks.data import CACHE
from benchmarks.everything_data import Asked, filled, name_of, questions
from benchmarks.tables import bold_best, table

CORPORA = {each.name: each for each in CLASSES}
DEEP = 10
OURS = "Athand"
MEASURES = ("right corpus first", "hit@1", "hit@5", "MRR")
SURE = (0.1, 0.25, 0.5, 0.75)  # what the printed points are for
_BINS = np.linspace(0, 1, 11)
_RANKS = 60  # the usual constant of rank fusion


@dataclass(frozen=True, slots=True)
class Found:
    """One hit: the corpus, its total there, its place there, whether it is a right answer, and of the right corpus."""

    corpus: str
    total: float
    place: int
    right: bool
    near: bool
    shown: bool  # by a search over everything

    @property
    def worth(self) -> float:
        """1 for a right answer, 0.5 for another of its corpus: questions name one item where often several would do."""
        return (self.right + self.near) / 2


@dataclass(frozen=True, slots=True)
class Answered:
    """A question, and what the corpora found."""

    asked: Asked
    found: Sequence[Found]


Score = Callable[[Found], float]


def measure() -> dict[str, Any]:
    """Build the store, ask everything, compare."""
    CACHE.mkdir(exist_ok=True)
    with TemporaryDirectory(dir=CACHE) as work:
        return compare(Path(work) / "athand.db", questions())


def compare(path: Path, asked: Sequence[Asked]) -> dict[str, Any]:
    """All figures of a store that has everything, or gets it."""
    with closing(filled(path)) as athand:
        answered = [_answered(athand, each, least=None) for each in asked]
        speed = _speed(athand, asked)
        points = _points([_answered(athand, each, least=0.0) for each in asked if each.part == "tune"])
    halves = {part: [each for each in answered if each.asked.part == part] for part in ("report", "tune")}
    scores = {OURS: _ours, "totals as they are": _total, "rank fusion": _by_rank, "distance": _distance(halves["tune"])}
    return {
        "order": {part: {name: _order(half, score) for name, score in scores.items()} for part, half in halves.items()},
        "calibration": {part: _calibration(half) for part, half in halves.items()},
        "silence": {part: _silence(half) for part, half in halves.items()},
        "speed": speed,
        "points": points,
    }


def _is_shown(hit: Hit) -> bool:
    corpus, semantic = CORPORA[hit.corpus], hit.why.signals.get("semantic")
    scores = to_scores(corpus.points, [hit.why.total])
    return all(are_worth_showing(scores, [semantic.calibrated if semantic else None], corpus.same_meaning))


def _answered(athand: Athand, asked: Asked, least: float | None) -> Answered:
    text, options = asked.text, {"limit": DEEP, "min_score": least}
    hits = {
        "memories": athand.memories.search(text, reinforce=False, **options),
        "documents": athand.documents.search(text, once=True, **options),
        "tools": athand.tools.search(text, limit=DEEP, threshold=least, catalogue=asked.catalogue),
        "flows": athand.flows.search(text, once=True, **options),
    }
    return Answered(
        asked,
        [
            Found(
                corpus,
                hit.why.total,
                place,
                right=_is_right(asked, hit),
                near=corpus == asked.corpus,
                shown=_is_shown(hit),
            )
            for corpus, some in hits.items()
            for place, hit in enumerate(some, 1)
        ],
    )


def _is_right(asked: Asked, hit: Any) -> bool:
    return hit.corpus == asked.corpus and name_of(hit) in asked.right


def _ours(found: Found) -> float:
    return to_scores(CORPORA[found.corpus].points, [found.total])[0]


def _total(found: Found) -> float:
    return found.total


def _by_rank(found: Found) -> float:
    return 1 / (_RANKS + found.place)


def _distance(answered: Sequence[Answered]) -> Score:
    """How far from the middle of the best totals of its corpus, in their deviations."""
    best = {corpus: [each.total for one in answered for each in one.found if each.corpus == corpus and each.place == 1]
            for corpus in CORPORA}  # fmt: skip
    middle = {corpus: statistics.mean(totals) for corpus, totals in best.items()}
    spread = {corpus: statistics.stdev(totals) for corpus, totals in best.items()}
    return lambda found: (found.total - middle[found.corpus]) / spread[found.corpus]


def _order(answered: Sequence[Answered], score: Score) -> dict[str, Any]:
    """The measures of one order, by corpus and over all; every corpus counts the same."""
    by_corpus = {
        corpus: _means([_places(each, score) for each in answered if each.asked.corpus == corpus]) for corpus in CORPORA
    }
    return {"all": _means(list(by_corpus.values())), **by_corpus}


def _places(answered: Answered, score: Score) -> dict[str, float]:
    ranked = sorted(answered.found, key=lambda each: -score(each))[:DEEP]
    first = next((place for place, each in enumerate(ranked, 1) if each.right), None)
    return {
        "right corpus first": float(bool(ranked) and ranked[0].corpus == answered.asked.corpus),
        "hit@1": float(first == 1),
        "hit@5": float(first is not None and first <= 5),
        "MRR": 1 / first if first else 0.0,
    }


def _means(measures: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {name: statistics.mean(each[name] for each in measures) for name in MEASURES}


def _weights(answered: Sequence[Answered]) -> dict[str | None, float]:
    """What a question counts, so that those of each corpus, and those of none, count the same together."""
    return {corpus: 1 / number for corpus, number in Counter(each.asked.corpus for each in answered).items()}


def _firsts(answered: Sequence[Answered], corpus: str) -> tuple[Any, Any, Any]:
    """The totals of the first hits of a corpus, what each is worth, and what it counts."""
    weights = _weights(answered)
    rows = [
        (each.total, each.worth, weights[one.asked.corpus])
        for one in answered
        for each in one.found
        if each.corpus == corpus and each.place == 1
    ]
    totals, worths, counts = (np.array(column, float) for column in zip(*rows, strict=True))
    return totals, worths, counts


def _calibration(answered: Sequence[Answered]) -> dict[str, dict[str, float]]:
    """How far the scores of first hits are from what these are worth: by our scale, and by the totals as they are."""
    errors = {}
    for corpus in CORPORA:
        totals, worths, counts = _firsts(answered, corpus)
        scaled = np.array(to_scores(CORPORA[corpus].points, totals))
        errors[corpus] = {"scale": _error(scaled, worths, counts), "totals": _error(totals, worths, counts)}
    return errors


def _error(scores: Any, worths: Any, counts: Any) -> float:
    """The expected calibration error over ten bins of scores."""
    shown = np.clip(scores, 0, 1)
    bins = np.digitize(shown, _BINS[1:-1])
    gaps = [abs(((shown - worths) * counts)[bins == at].sum()) for at in np.unique(bins)]
    return float(sum(gaps) / counts.sum())


def _silence(answered: Sequence[Answered]) -> dict[str, dict[str, float]]:
    """Of every set, the share of questions that nothing is found for: with our floor, and with those of the corpora."""
    shares = {}
    for of in dict.fromkeys(each.asked.of for each in answered):
        some = [each.found for each in answered if each.asked.of == of]
        kept = [any(each.shown for each in found) for found in some]
        shares[of] = {"ours": 1 - statistics.mean(kept), "corpora": 1 - statistics.mean(map(bool, some))}
    return shares


def _points(answered: Sequence[Answered]) -> dict[str, list[tuple[float, float]]]:
    """For each corpus the totals at which a first hit is worth so much: what `athand.calibration` could say."""
    return {corpus: _levels(*_firsts(answered, corpus)) for corpus in CORPORA}


def _levels(totals: Any, worths: Any, counts: Any) -> list[tuple[float, float]]:
    """Where the rising line of worths passes each level."""
    rising = _rising(totals, worths, counts)
    places, heights = [at for at, _ in rising], [height for _, height in rising]
    return [(round(float(np.interp(level, heights, places)), 3), level) for level in SURE if level <= max(heights)]


def _rising(totals: Any, worths: Any, counts: Any) -> list[tuple[float, float]]:
    """What hits are worth by their totals, made to rise: where it falls, neighbours are taken together."""
    pools: list[list[float]] = []  # worth, count, sum of totals
    for at in np.argsort(totals, kind="stable"):
        pools.append([worths[at] * counts[at], counts[at], totals[at] * counts[at]])
        while len(pools) > 1 and pools[-2][0] * pools[-1][1] >= pools[-1][0] * pools[-2][1]:
            last = pools.pop()
            pools[-1] = [one + other for one, other in zip(pools[-1], last, strict=True)]
    return [(summed / count, worth / count) for worth, count, summed in pools]


def _speed(athand: Athand, asked: Sequence[Asked]) -> dict[str, dict[str, float]]:
    """Milliseconds of a search over everything, and of the four corpora one after the other, for some questions."""
    some = asked[:: max(1, len(asked) // 200)]
    times: dict[str, list[float]] = {"everything": [], "one after the other": []}
    for each in some:
        started = time.perf_counter()
        athand.search(each.text, catalogue=each.catalogue)
        between = time.perf_counter()
        _answered(athand, each, least=None)
        times["everything"].append(1000 * (between - started))
        times["one after the other"].append(1000 * (time.perf_counter() - between))
    return {name: percentiles(values) for name, values in times.items()}


def tables(results: Mapping[str, Any]) -> Iterator[str]:
    """The order on both halves, then what scores mean, then silence."""
    for part, orders in results["order"].items():
        columns = [bold_best([each["all"][name] for each in orders.values()]) for name in MEASURES]
        yield f"One search over four corpora, {part} half\n"
        yield table(["order by", *MEASURES], [[name, *row] for name, *row in zip(orders, *columns, strict=True)]) + "\n"
    ours = results["order"]["report"][OURS]
    rows = [[corpus, *(f"{ours[corpus][name]:.3f}" for name in MEASURES)] for corpus in CORPORA]
    yield "By corpus, report half\n\n" + table(["answers in", *MEASURES], rows) + "\n"
    errors = results["calibration"]["report"]
    rows = [[corpus, f"{each['totals']:.3f}", f"{each['scale']:.3f}"] for corpus, each in errors.items()]
    yield "Expected calibration error, report half\n\n" + table(["corpus", "totals", "scale"], rows) + "\n"
    silent = results["silence"]["report"]
    rows = [[of, f"{each['corpora']:.3f}", f"{each['ours']:.3f}"] for of, each in silent.items()]
    yield "Nothing found, report half\n\n" + table(["set", "floors of the corpora", "with ours"], rows) + "\n"
    rows = [[name, f"{each['p50']:.1f}", f"{each['p99']:.1f}"] for name, each in results["speed"].items()]
    yield table(["a search", "p50 ms", "p99 ms"], rows) + "\n"


if __name__ == "__main__":
    measured = measure()
    print("\n".join(tables(measured)), json.dumps(measured["points"], indent=1))
