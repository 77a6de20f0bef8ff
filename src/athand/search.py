"""Federated search: one question to every corpus, the matches on one scale, and the best of them as hits."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from athand.calibration import are_worth_showing, calibrate_hits, to_scores, to_total
from athand.corpus import AnyCorpus, CorpusQuestion, Match, Ranking
from athand.errors import InvalidInput
from athand.inputs import check_fraction, check_limit, check_names, check_query, suggest
from athand.rank import matched_words
from athand.store import Snapshot, Store
from athand.types import Hit, Hits

COUNTED = 30  # matches per corpus for facets, however few are shown
CLOSEST = 3
# Totals are compared with the least total; rounding must not leave out a hit that has just this score.
_ROUNDING = 1e-9

Corpora = Mapping[str, AnyCorpus]  # by name


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """The checked arguments of a search; the corpora check their own filters."""

    question: CorpusQuestion
    corpora: Corpora  # those that are searched
    limit: int
    least: float | None
    home: str | None = None  # the project that the corpora which have projects are asked about

    @classmethod
    def check(
        cls,
        corpora: Corpora,
        query: str,
        names: Sequence[str] | None,
        limit: int,
        min_score: float | None,
        longest: int | None = None,
        **filters: Any,
    ) -> "SearchRequest":
        """Check the arguments; raises InvalidInput."""
        if unknown := sorted(set(check_names("corpora", names or ())) - set(corpora)):
            plurals = {corpus.noun: name for name, corpus in corpora.items()}
            hint = suggest(plurals.get(unknown[0], unknown[0]), corpora)
            raise InvalidInput(f"No corpus named {', '.join(unknown)}.{hint} Known: {', '.join(corpora)}.")
        wanted = names or default_corpora(corpora, filters)
        least = None if min_score is None else check_fraction("min_score", min_score)
        limit = check_limit(limit)
        question = CorpusQuestion(check_query(query), max(limit, COUNTED), longest=longest, **filters)
        return cls(question, {name: corpora[name] for name in corpora if name in wanted}, limit, least)

    def question_to(self, corpus: AnyCorpus) -> CorpusQuestion:
        """The question to one corpus, with the least total in its own measure."""
        question = replace(self.question, project=self.home) if self.home and corpus.has_home else self.question
        if self.least is None:
            return question
        least = to_total(corpus.points, self.least) - _ROUNDING
        return replace(question, min_total=min(1.0, max(0.0, least)))


@dataclass(frozen=True, slots=True)
class ScoredMatch:
    """A match with its unclamped score on the common scale, and whether that is good enough."""

    corpus: str
    match: Match
    score: float
    fits: bool


@dataclass(frozen=True, slots=True)
class Rankings:
    """What every corpus has found."""

    request: SearchRequest
    by_corpus: Mapping[str, Ranking[Any]]

    def best(self) -> list[ScoredMatch]:
        """The matches of all corpora, best first; equal ones in the order of corpora."""
        scored = [each for name in self.by_corpus for each in self._score(name)]
        return sorted(scored, key=lambda each: -each.score)

    def _score(self, name: str) -> Iterator[ScoredMatch]:
        ranking, corpus = self.by_corpus[name], self.request.corpora[name]
        matches = ranking.matches[: self.request.question.limit]
        scores = to_scores(corpus.points, [match.total for match in matches])
        if (least := self.request.least) is not None:
            fits = [score > 0 and score >= least - _ROUNDING for score in scores]
        else:
            semantic = ranking.parts.get("semantic")
            meanings = [None if semantic is None else float(semantic.calibrated[match.row]) for match in matches]
            fits = are_worth_showing(scores, meanings, corpus.same_meaning)
        return (ScoredMatch(name, *each) for each in zip(matches, scores, fits, strict=True))


def default_corpora(corpora: Corpora, filters: Mapping[str, object]) -> tuple[str, ...]:
    """The corpora to search when none is named: those that the given filters are about; without filters all.

    A folder is about documents only, an app about flows; a project about everything that belongs to projects.
    """
    given = {name for name, value in filters.items() if value is not None}
    own = {name for name, corpus in corpora.items() if corpus.own_filter in given}
    if "project" in given:
        own |= {name for name, corpus in corpora.items() if "project" in corpus.filters}
    return tuple(name for name in corpora if name in own) or tuple(corpora)


def search(store: Store, request: SearchRequest) -> Hits[Hit]:
    """The hits of all requested corpora that are good enough, best first; only these are filled in."""
    if not request.question.text.strip():
        return Hits()
    requests = {name: corpus.make_request(request.question_to(corpus)) for name, corpus in request.corpora.items()}
    with store.snapshot() as snapshot:
        ranked = {name: request.corpora[name].rank(snapshot, each) for name, each in requests.items()}
        rankings = Rankings(request, ranked)
        best = rankings.best()
        fitting = [each for each in best if each.fits]
        hits = _fill_in(snapshot, rankings, fitting[: request.limit])
        closest = () if fitting else _closest(snapshot, rankings, best)
    for name, corpus in request.corpora.items():
        corpus.count_shown([hit for hit in hits if hit.corpus == name])
    return Hits(
        hits,
        notes=dict.fromkeys(note for ranking in ranked.values() for note in ranking.answer.notes),
        did_you_mean=dict(_corrections(ranked, fitting)),
        closest=closest,
        freshness={folder: age for ranking in ranked.values() for folder, age in ranking.freshness.items()},
        facets=_facets(request.corpora, fitting),
    )


def _fill_in(snapshot: Snapshot, rankings: Rankings, chosen: Sequence[ScoredMatch]) -> list[Hit]:
    """These matches as hits, in the same order, with their scores on the common scale."""
    filled: dict[str, Iterator[Hit]] = {}
    for name, ranking in rankings.by_corpus.items():
        corpus = rankings.request.corpora[name]
        if matches := [each.match for each in chosen if each.corpus == name]:
            filled[name] = iter(calibrate_hits(corpus.to_hits(snapshot, ranking, matches), corpus.points))
    return [next(filled[each.corpus]) for each in chosen]


def _corrections(rankings: Mapping[str, Ranking[Any]], hits: Sequence[ScoredMatch]) -> Iterator[tuple[str, str]]:
    """Typo corrections, those of the best corpus first; without words that hits of other corpora contain."""
    order = list(dict.fromkeys([*(each.corpus for each in hits), *rankings]))
    seen: set[str] = set()
    for name in order:
        for word, meant in rankings[name].answer.found.corrections.items():
            if word not in seen and word not in _words_of_others(rankings, hits, word):
                yield word, meant
            seen.add(word)


def _words_of_others(rankings: Mapping[str, Ranking[Any]], hits: Sequence[ScoredMatch], word: str) -> set[str]:
    """The words of the question in the hits of those corpora that do not correct this word."""
    found: set[str] = set()
    for name, ranking in rankings.items():
        if word not in ranking.answer.found.corrections:
            fields = [each.match.candidate.fields for each in hits if each.corpus == name]
            found.update(*matched_words(fields, ranking.answer.keywords))
    return found


def _closest(snapshot: Snapshot, rankings: Rankings, best: Sequence[ScoredMatch]) -> list[str]:
    """The closest titles when nothing is good enough: rejected matches, then what the corpora suggest."""
    titles = [hit.title for hit in _fill_in(snapshot, rankings, best[:CLOSEST])]
    names = [*titles, *(name for ranking in rankings.by_corpus.values() for name in ranking.closest)]
    return list(dict.fromkeys(names))[:CLOSEST]


def _facets(corpora: Corpora, hits: Sequence[ScoredMatch]) -> dict[str, Any]:
    """The number of hits per corpus, and per project, folder, server or app."""
    numbers = Counter(each.corpus for each in hits)
    facets: dict[str, Any] = {name: numbers[name] for name in corpora if numbers[name]}
    for name in tuple(facets):
        places = corpora[name].places_of([each.match.candidate for each in hits if each.corpus == name])
        facets[corpora[name].facet] = dict(Counter(places))
    return facets
