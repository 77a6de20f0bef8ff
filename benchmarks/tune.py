"""The table behind the ranking constants: tried on one half of the questions, the chosen values shown on the other."""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from athand import Athand, Settings, rank
from athand.embed import DEFAULT_MODEL
from athand.evaluation import LabelledSet, Question, evaluate
from athand.memories import scoring
from athand.store import query_terms
from benchmarks.data import load_sets
from benchmarks.tables import table

TUNED_CONVERSATIONS = 3
NONSENSE = ("qwxyz zzgrmpf", "vlorpt", "brxq 88zk2", "asdf jkl qqq", "xzqwv plmkj wrtb", "hgfdsa")
MEASURE = "nDCG@10"

TRIED: Sequence[tuple[ModuleType, Sequence[str], Sequence[tuple[float, ...]]]] = (
    (rank, ("K1",), [(0.6,), (0.8,), (1.0,), (1.2,), (1.6,)]),
    (rank, ("B",), [(0.2,), (0.35,), (0.5,), (0.75,)]),
    (scoring, ("SEMANTIC", "KEYWORD"), [(0.0, 1.0), (0.2, 0.8), (0.3, 0.7), (0.4, 0.6), (0.5, 0.5), (0.6, 0.4)]),
    (scoring, ("AUTHOR",), [(0.0,), (0.1,), (0.2,), (0.35,), (0.5,)]),
    (scoring, ("NEIGHBOUR",), [(0.0,), (0.2,), (0.3,), (0.4,), (0.5,)]),
    (scoring, ("SESSION",), [(0.0,), (0.2,), (0.35,), (0.5,), (0.8,)]),
    (query_terms, ("PREFIX_WORTH",), [(0.0,), (0.15,), (0.3,), (0.5,), (0.7,)]),
)
FLOORS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.35, 0.5)
UNKNOWN_FLOORS = (0.0, 0.1, 0.18, 0.25)


@dataclass(frozen=True)
class Half:
    """A set in its store, with the questions of one half."""

    name: str
    athand: Athand
    questions: Sequence[Question]

    def measures(self) -> Mapping[str, float]:
        return evaluate(self.questions, self._search).measures

    def answered(self, questions: Sequence[str]) -> float:
        """The share of questions that get any answer."""
        return statistics.mean(bool(self.athand.search(text)) for text in questions)

    def _search(self, question: Question, limit: int) -> list[str]:
        hits = self.athand.search(question.text, project=question.project, limit=limit)
        return [hit.id for hit in hits]


def halves(labelled: LabelledSet, stack: ExitStack) -> tuple[Half, Half]:
    """The half to choose by and the half to report; conversations are not torn apart."""
    athand = stack.enter_context(Athand(":memory:", model=DEFAULT_MODEL, settings=Settings()))
    athand.memories.add_many(labelled.items)
    questions = labelled.questions
    projects = list(dict.fromkeys(question.project for question in questions))
    first = questions[: len(questions) // 2]
    if len(projects) > 1:
        first = [question for question in questions if question.project in projects[:TUNED_CONVERSATIONS]]
    kept = {question.id for question in first}
    rest = [question for question in questions if question.id not in kept]
    return Half(labelled.name, athand, first), Half(labelled.name, athand, rest)


@contextmanager
def constants(module: ModuleType, values: Mapping[str, float]) -> Iterator[None]:
    """Other values for a while."""
    before = {name: getattr(module, name) for name in values}
    vars(module).update(values)
    try:
        yield
    finally:
        vars(module).update(before)


def rows_of(module: ModuleType, names: Sequence[str], tried: Sequence[tuple[float, ...]], sets: Sequence[Half]):
    """A row per value tried; the chosen one is marked."""
    chosen = tuple(getattr(module, name) for name in names)
    for values in dict.fromkeys((*tried, chosen)):
        with constants(module, dict(zip(names, values, strict=True))):
            found = [each.measures()[MEASURE] for each in sets]
        label = " ".join(f"{name} {value:g}" for name, value in zip(names, values, strict=True))
        yield [f"{label} ←" if values == chosen else label, *(f"{value:.4f}" for value in (*found, _mean(found)))]


def floor_rows(name: str, tried: Sequence[float], sets: Sequence[Half]) -> Iterator[list[Any]]:
    """What a floor costs in answers that are right, and what it keeps out."""
    foreign = {
        each.name: [asked.text for other in sets if other is not each for asked in _some(other)] for each in sets
    }
    for value in dict.fromkeys((*tried, getattr(scoring, name))):
        with constants(scoring, {name: value}):
            found = _mean([each.measures()["recall@10"] for each in sets])
            foreigners = [each.answered(foreign[each.name]) for each in sets]
            nonsense = _mean([each.answered(NONSENSE) for each in sets])
        mark = " ←" if value == getattr(scoring, name) else ""
        shares = [f"{share:.0%}" for share in (*foreigners, nonsense)]
        yield [f"{name} {value:g}{mark}", f"{found:.4f}", *shares]


def _some(half: Half, count: int = 40) -> Sequence[Question]:
    return half.questions[:: max(1, len(half.questions) // count)][:count]


def _mean(values: Sequence[float]) -> float:
    return statistics.mean(values)


def main() -> None:
    with ExitStack() as stack:
        pairs = [halves(each, stack) for each in load_sets()]
        tuned, kept_aside = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        header = [MEASURE, *(each.name for each in tuned), "mean"]
        for module, names, tried in TRIED:
            print(f"\n{table(header, list(rows_of(module, names, tried, tuned)))}", flush=True)
        print("\nThe chosen values on the questions kept aside:\n")
        print(table(header, list(rows_of(rank, ("K1", "B"), [], kept_aside))), flush=True)
        for name, tried in (("FLOOR", FLOORS), ("FLOOR_OF_UNKNOWN_WORDS", UNKNOWN_FLOORS)):
            header = [name, "recall@10", *(f"others' asked of {each.name}" for each in tuned), "nonsense"]
            print(f"\n{table(header, list(floor_rows(name, tried, tuned)))}", flush=True)


if __name__ == "__main__":
    main()
