"""Measures what a model's cosines mean, on every second question; the other half is printed beside it as a check."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from athand.embed import DEFAULT_MODEL, Embedder, load_embedder
from athand.evaluation import LabelledSet, Question
from benchmarks.data import SEED, load_sets, minilm, text_of

RANDOM_PASSAGES = 1000


@dataclass(frozen=True)
class Embedded:
    """A set's passages and questions as vectors."""

    name: str
    passages: dict[str, np.ndarray]
    questions: Sequence[tuple[Question, np.ndarray]]

    def right_cosines(self, half: slice) -> np.ndarray:
        """Of every question with each of its right passages."""
        pairs = [
            vector @ self.passages[id_]
            for question, vector in self.questions[half]
            for id_, grade in question.relevant.items()
            if grade > 0
        ]
        return np.array(pairs)

    def sample(self) -> np.ndarray:
        """Some passages, the same ones every time."""
        ids = random.Random(SEED).sample(sorted(self.passages), min(RANDOM_PASSAGES, len(self.passages)))
        return np.stack([self.passages[id_] for id_ in ids])


def embed(labelled: LabelledSet, embedder: Embedder) -> Embedded:
    vectors = embedder.embed_passages([text_of(item) for item in labelled.items])
    ids = [item["id"] for item in labelled.items]
    questions = [(question, embedder.embed_query(question.text)) for question in labelled.questions]
    return Embedded(labelled.name, dict(zip(ids, vectors, strict=True)), questions)


def noise(sets: Sequence[Embedded], half: slice) -> float:
    """The mean cosine of a question with a random passage: every pair of sets counts the same."""
    questions = [np.stack([vector for _, vector in each.questions[half]]) for each in sets]
    return float(np.mean([(asked @ each.sample().T).mean() for asked in questions for each in sets]))


def relevant(sets: Sequence[Embedded], half: slice) -> float:
    """The median cosine of question and right passage over all sets together, each of the same weight."""
    cosines = [each.right_cosines(half) for each in sets]
    weights = np.concatenate([np.full(len(each), 1 / len(each)) for each in cosines])
    pooled = np.concatenate(cosines)
    order = np.argsort(pooled)
    middle = np.searchsorted(np.cumsum(weights[order]), len(sets) / 2)
    return float(pooled[order][middle])


def report(name: str, embedder: Embedder) -> None:
    """Print the line for src/athand/embed/models.py, the check, and what each set says."""
    sets = [embed(each, embedder) for each in load_sets()]
    chosen, other = slice(0, None, 2), slice(1, None, 2)
    print(f"\n{name}: Calibration(noise={noise(sets, chosen):.3f}, relevant={relevant(sets, chosen):.3f})")
    print(f"  the other half says noise={noise(sets, other):.3f}, relevant={relevant(sets, other):.3f}")
    print(f"  the program uses {embedder.calibration}")
    for each in sets:
        low, middle, high = np.percentile(each.right_cosines(slice(None)), (10, 50, 90))
        print(f"  {each.name:<14} right passages: 10 % below {low:.2f}, median {middle:.2f}, 90 % below {high:.2f}")


if __name__ == "__main__":
    report(DEFAULT_MODEL, load_embedder())
    if folder := minilm():
        report("all-MiniLM-L6-v2", load_embedder(str(folder)))
