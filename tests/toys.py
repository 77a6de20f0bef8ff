"""A corpus of one's own in one file: its model, schema, scoring and service. Nothing in src/ knows of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from athand.corpus import Corpus, CorpusQuestion, Items, Match, Ranking
from athand.inputs import check_fraction, check_limit, check_name, check_query
from athand.parameters import Limit, MinScore, Question
from athand.rank import Part, bm25_of, calibrate_cosine, calibrate_keyword, order, totals
from athand.store import Index, Passage, Schema, Snapshot, to_microseconds
from athand.types import Hit, Hits, Noun, Query

# Model


@dataclass(frozen=True, slots=True)
class Toy(Noun):
    """Something to play with."""

    name: str
    shelf: str
    about: str


@dataclass(frozen=True, slots=True)
class ToySearchRequest:
    """The checked arguments of a search."""

    query: Query
    limit: int
    least: float


# Schema

INDEX = Index("toys", fields=("name", "about"), weights=(2.0, 1.0))
SCHEMA = Schema(
    INDEX,
    (
        """
CREATE TABLE toys (
    space TEXT NOT NULL,
    id TEXT NOT NULL,
    about TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    is_deleted INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (space, id)
) WITHOUT ROWID;
""",
    ),
)


def to_passage(shelf: str, name: str, about: str, created_at: int) -> Passage:
    return Passage(name, name, shelf, (name, about), f"{name}: {about}", created_at)


# Scoring, service


class Toys(Corpus[ToySearchRequest, Hit]):
    """The toys of a store; a space is a shelf."""

    schema = SCHEMA
    noun = "toy"
    facet = "shelves"
    points = ((0.0, 0.0), (0.3, 0.1), (0.5, 0.5), (1.0, 1.0))

    def add(self, name: str, about: str, shelf: str = "floor") -> Toy:
        """Put a toy on a shelf."""
        toy = Toy(check_name("name", name), check_name("shelf", shelf), about)
        passage = to_passage(toy.shelf, toy.name, toy.about, to_microseconds(self.now()))
        values = {"space": toy.shelf, "id": toy.name, "about": toy.about, "at": passage.created_at}
        vectors = self.embed([passage])
        with self.store.transaction(spaces=[toy.shelf]) as transaction:
            transaction.execute(
                "INSERT INTO toys (space, id, about, created_at) VALUES (:space, :id, :about, :at)", values
            )
            transaction.put(self.index, [passage], vectors)
        return toy

    def search(self, query: Question, *, limit: Limit = 10, min_score: MinScore = None) -> Hits[Hit]:
        """Find toys by what one can do with them, best first, each with why."""
        return self.find(self.make_request(CorpusQuestion(query, limit, min_score)))

    def make_request(self, question: CorpusQuestion) -> ToySearchRequest:
        limit = check_limit(question.limit)
        least = 0.0 if question.min_total is None else check_fraction("min_score", question.min_total)
        query = self.make_query(check_query(question.text), candidates=max(30, limit))
        return ToySearchRequest(query, limit, least)

    def rank(self, snapshot: Snapshot, request: ToySearchRequest) -> Ranking[ToySearchRequest]:
        answer = self.ask(snapshot, request.query)
        found = answer.found.passages
        words = bm25_of(answer.found, answer.keywords)
        parts = {"keyword": Part(words, calibrate_keyword(words, answer.keywords), 0.5)}
        if answer.calibration:
            cosines = np.array([each.cosine or 0.0 for each in found])
            parts["semantic"] = Part(cosines, calibrate_cosine(cosines, answer.calibration), 0.5)
        scores = totals(parts)
        best = order(scores, [each.created_at for each in found], [each.id for each in found], request.least)
        return Ranking(request, [Match(found[row], float(scores[row]), row) for row in best], parts, {}, answer)

    def to_hits(self, snapshot: Snapshot, ranking: Ranking[ToySearchRequest], matches: Sequence[Match]) -> list[Hit]:
        passages = [(match.candidate.space, match.candidate.id) for match in matches]
        toys = {(each.space, each.id): each for each in self.passages_of(snapshot, passages)}
        rated = zip(passages, ranking.scores(matches), ranking.reasons(matches), strict=True)
        return [_to_hit(toys[key], score, why) for key, score, why in rated]

    def passages_of(self, snapshot: Snapshot, items: Items) -> Sequence[Passage]:
        wanted = set(items)
        return [each for several in self.all_passages(snapshot) for each in several if (each.space, each.id) in wanted]

    def all_passages(self, snapshot: Snapshot) -> Iterator[Sequence[Passage]]:
        rows = snapshot.rows("SELECT space, id, about, created_at FROM toys ORDER BY space, id")
        yield [to_passage(*row) for row in rows]


def _to_hit(passage: Passage, score: float, why: Any) -> Hit:
    name, about = passage.fields
    return Hit(name, "toys", score, name, about, why, Toy(name, passage.space, about))
