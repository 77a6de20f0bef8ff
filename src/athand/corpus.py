"""A corpus: one kind of item that can be searched.

The base class tokenizes and embeds a question, fetches candidates, fills in the hits that are returned, and makes the
index anew. A corpus adds its index, how passages come from its items, its scoring and its hits.
"""

import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, ClassVar, Generic, Protocol, TypeAlias, TypeVar

from athand.calibration import Points
from athand.cancellation import check_cancelled
from athand.embed import LazyEmbedder, embed_texts
from athand.errors import NotFound, Unavailable
from athand.rank import Factor, KeywordQuery, Part, explain_all, prepare
from athand.store import Index, Passage, Schema, Snapshot, Store
from athand.text import are_near, replace_words, tokenize
from athand.types import Calibration, Candidate, Candidates, Filter, Hit, Hits, Query, Statistics, Vector, Vectors, Why

CORRECTED = 50  # candidates that mean what a query without its typos does
BATCH = 512  # passages that are embedded or indexed together

TRACES = "traces of deleted ones stay on disk while another process reads the store. Then run: athand reindex"

Names = str | Sequence[str] | None
Items = Sequence[tuple[str, str]]  # the space and the id of each
Report = tuple[dict[str, Any], list[str]]  # what there is, by name; what does not work, a sentence each

log = logging.getLogger("athand")


@dataclass(frozen=True, slots=True)
class CorpusQuestion:
    """What a search over all corpora asks each of them; a corpus heeds the filters that it understands."""

    text: str
    limit: int
    min_total: float | None = None  # in the corpus' own measure
    project: str | None = None
    folder_id: Names = None
    catalogue: Names = None
    app: str | None = None
    longest: int | None = None  # characters of all texts of the answer together


class CorpusRequest(Protocol):
    """The checked arguments of a search of one corpus; a corpus adds its own."""

    @property
    def query(self) -> Query: ...

    @property
    def limit(self) -> int: ...


RequestT = TypeVar("RequestT", bound=CorpusRequest)
HitT = TypeVar("HitT", bound=Hit)


@dataclass(frozen=True, slots=True)
class Answer:
    """What the store brings for a query: candidates, the keywords to score them with, what their cosines mean."""

    found: Candidates
    keywords: KeywordQuery
    calibration: Calibration | None  # None where vectors could not be compared
    notes: tuple[str, ...]


def merge_candidates(found: Candidates, others: Candidates) -> Candidates:
    """All candidates of two queries, each with its better cosine; words and statistics are those of the first."""
    passages = {(each.space, each.id): each for each in found.passages}
    for other in others.passages:
        one = passages.setdefault((other.space, other.id), other)
        if other.cosine is not None and (one.cosine is None or one.cosine < other.cosine):
            passages[other.space, other.id] = replace(one, cosine=other.cosine)
    return replace(found, passages=tuple(passages.values()))


def empty_answer(index: Index, note: str) -> Answer:
    """The answer of a corpus that cannot be searched, and why."""
    statistics = Statistics(0, (0.0,) * len(index.fields))
    return Answer(Candidates((), (), statistics), prepare((), statistics, index.weights), None, (note,))


@dataclass(frozen=True, slots=True)
class Match:
    """A candidate that is good enough: its unclamped score, and its row in the parts of the scores."""

    candidate: Candidate
    total: float
    row: int


@dataclass(frozen=True, slots=True)
class Ranking(Generic[RequestT]):
    """The candidates that are good enough, best first, with what their scores are made of."""

    request: RequestT
    matches: Sequence[Match]
    parts: Mapping[str, Part]
    factors: Mapping[str, Factor]
    answer: Answer
    closest: Sequence[str] = ()  # names of what came nearest, where nothing is good enough
    freshness: Mapping[str, Any] = field(default_factory=dict)

    def scores(self, matches: Sequence[Match]) -> list[float]:
        """The totals of these matches, clamped to [0, 1]."""
        return [min(1.0, max(0.0, match.total)) for match in matches]

    def reasons(self, matches: Sequence[Match]) -> list[Why]:
        """The reasons of the scores of these matches."""
        fields = [match.candidate.fields for match in matches]
        return explain_all(self.parts, self.factors, [match.row for match in matches], fields, self.answer.keywords)


class Corpus(ABC, Generic[RequestT, HitT]):
    """Items of one kind in a store, found by words and by meaning."""

    schema: ClassVar[Schema]
    index: ClassVar[Index]  # of the schema
    name: ClassVar[str]  # of the index
    noun: ClassVar[str]  # one of its items: memory, document, ...
    # Calibration: (total, probability that a first hit with this total is relevant), measured on one half of the
    # questions to a store with all corpora (benchmarks/everything.py); the last point is an item in its own words.
    points: ClassVar[Points]
    same_meaning: ClassVar[float | None] = None  # a hit that means at least so much the same is never noise
    facet: ClassVar[str]  # what the items belong to: projects, folders, ...
    filters: ClassVar[frozenset[str]] = frozenset()  # of a search over all corpora, those that are understood
    has_home: ClassVar[bool] = False  # its items are of projects, of which a caller works on one
    own_filter: ClassVar[str | None] = None  # where this filter is given, this corpus is meant

    def __init_subclass__(cls) -> None:
        if "schema" in vars(cls):
            cls.index = cls.schema.index
            cls.name = cls.index.corpus

    def __init__(
        self,
        store: Store,
        embedder: LazyEmbedder,
        *,
        use_cache: bool = True,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        when_uncovered: Callable[[], None] = lambda: None,
    ) -> None:
        self.store = store
        self.embedder = embedder
        self.now = clock
        self._use_cache = use_cache
        self._when_uncovered = when_uncovered
        self._warnings: set[str] = set()
        self.closing = threading.Event()  # set when the program ends: then what takes long must end

    # What a corpus supplies

    def make_request(self, question: CorpusQuestion) -> RequestT:
        """The request to this corpus in a search over all of them, embedded; no snapshot may be open."""
        raise NotImplementedError

    @abstractmethod
    def rank(self, snapshot: Snapshot, request: RequestT) -> Ranking[RequestT]:
        """The candidates that answer a request, best first."""

    @abstractmethod
    def to_hits(self, snapshot: Snapshot, ranking: Ranking[RequestT], matches: Sequence[Match]) -> list[HitT]:
        """Hits with everything needed to show them, for these of the matches."""

    @abstractmethod
    def passages_of(self, snapshot: Snapshot, items: Items) -> Sequence[Passage]:
        """The passages of these items."""

    @abstractmethod
    def all_passages(self, snapshot: Snapshot) -> Iterator[Sequence[Passage]]:
        """The passages of all items in a fixed order, some at a time."""

    def renew_derived_columns(self) -> None:
        """Computes the derived columns of all items again, in short writes, if a corpus has some: after the index."""

    def places_of(self, candidates: Sequence[Candidate]) -> Sequence[str]:
        """What the items of candidates belong to, see `facet`; their spaces, unless a corpus says otherwise."""
        return [candidate.space for candidate in candidates]

    def open(self, id: str, names: Names = None) -> Any:
        """The item or passage with this id, with what is around it; of tools, only those of catalogues of these names.

        Raises NotFound.
        """
        raise NotFound(f"There is no {self.noun} {id!r}.")

    def count_shown(self, hits: Sequence[HitT]) -> None:
        """Count the hits of a search, where a corpus keeps count; no snapshot is open."""

    # Searching

    def make_query(
        self,
        text: str,
        *,
        mode: str = "hybrid",
        words: Sequence[str] | None = None,
        synonyms: Mapping[str, Sequence[str]] = MappingProxyType({}),
        spaces: tuple[str, ...] | None = None,
        filter: Filter = Filter(),  # noqa: B008  # frozen
        candidates: int,
    ) -> Query:
        """The question, tokenized and embedded once; a mode other than hybrid leaves words or meaning out."""
        meaning = None
        if mode != "keyword":
            meaning = self.embedder.attempt(lambda model: (model.embed_query(text), model.model_id, model.calibration))
        vector, model_id, calibration = meaning or (None, None, None)
        if words is None:
            words = () if mode == "semantic" else tokenize(text)
        return Query(
            text=text,
            words=tuple(words),
            vector=vector,
            model_id=model_id,
            spaces=spaces,
            filter=filter,
            synonyms=synonyms,
            candidates=candidates,
            calibration=calibration,
            mode=mode,
        )

    def ask(self, snapshot: Snapshot, query: Query, known: Candidates | None = None) -> Answer:
        """The candidates of a query, or those known already; a note says why meaning could not be compared."""
        found = known or self.add_corrected(snapshot, query, snapshot.candidates(self.index, query))
        keywords = prepare(found.words, found.statistics, self.index.weights)
        calibration = query.calibration if found.by_vector else None
        return Answer(found, keywords, calibration, self._notes(query, found))

    def add_corrected(self, snapshot: Snapshot, query: Query, found: Candidates) -> Candidates:
        """The candidates, with those that mean what the query does once its typos are corrected.

        A passage has the better one of its two cosines. Two edits are too many to be sure of a meaning.
        """
        sure = {word: meant for word, meant in found.corrections.items() if are_near(word, meant)}
        if not sure or not found.by_vector:
            return found
        text = replace_words(query.text, sure)
        vector = self.embedder.attempt(lambda model: model.embed_query(text))
        corrected = replace(query, text=text, words=(), vector=vector, candidates=CORRECTED)
        return merge_candidates(found, snapshot.candidates(self.index, corrected))

    def find(self, request: RequestT) -> Hits[HitT]:
        """The hits of a request, best first; only those that are returned are filled in."""
        if not request.query.text.strip():
            return Hits()
        with self.store.snapshot() as snapshot:
            ranking = self.rank(snapshot, request)
            hits = self.to_hits(snapshot, ranking, ranking.matches[: request.limit])
        self.count_shown(hits)
        answer = ranking.answer
        return Hits(
            hits,
            notes=answer.notes,
            did_you_mean=answer.found.corrections,
            closest=ranking.closest,
            freshness=ranking.freshness,
        )

    def _notes(self, query: Query, found: Candidates) -> tuple[str, ...]:
        if query.mode == "keyword" or found.by_vector or not found.statistics.passages:
            return ()
        return (self.note_keyword_only(needs_meaning=query.mode == "semantic"),)

    def note_keyword_only(self, *, needs_meaning: bool) -> str:
        """Why a search goes by keyword only; an error where it needs meaning."""
        reason = self.embedder.problem
        if not reason:
            self._when_uncovered()
            reason = "the vectors of this model are still being made. See: athand reindex"
        if needs_meaning:
            raise Unavailable(f"{self.index.corpus.capitalize()} cannot be searched by meaning now: {reason}")
        return f"Searched by keyword only: {reason}"

    # Index and vectors

    def embed(self, passages: Sequence[Passage], snapshot: Snapshot | None = None) -> Vectors | None:
        """The passages' vectors, from the store where it has them; None while the model does not work."""

        def look_up(model_id: str, hashes: Sequence[bytes]) -> dict[bytes, Vector]:
            if snapshot is not None:
                return snapshot.cached_vectors(model_id, hashes, spaces)
            with self.store.snapshot() as newest:
                return newest.cached_vectors(model_id, hashes, spaces)

        spaces = {passage.space for passage in passages}
        texts = [passage.text for passage in passages]
        lookup = look_up if self._use_cache else None
        return self.embedder.attempt(lambda model: embed_texts(model, texts, lookup))

    def embed_missing(self, stop: Callable[[], bool] = lambda: False) -> bool:
        """Give every passage a vector of the current model; until all have one, searches go by keyword."""
        model_id = self.embedder.attempt(lambda model: model.model_id)
        after = 0
        while model_id and (missing := self.store.missing_vectors(self.index.corpus, model_id, after, BATCH)):
            with self.store.snapshot() as snapshot:
                passages = self.passages_of(snapshot, sorted({(space, item_id) for _, space, item_id in missing}))
            vectors = self.embed(passages)
            check_cancelled()
            if vectors is None or stop():
                return False
            self.store.add_vectors(self.index, passages, vectors)
            after = missing[-1][0]
        return model_id is not None and self.store.activate_model(self.index.corpus, model_id)

    def reindex(self, progress: Callable[[int], None] = lambda done: None) -> int:
        """Make everything derived anew; until the new index is whole, the old one answers. How many passages."""
        done = 0

        def report(passages: int) -> None:
            nonlocal done
            done = passages
            self._check_open()
            check_cancelled()
            progress(passages)

        self.embed_missing(self.closing.is_set)
        self.store.rebuild(self.index, self, report)
        self.renew_derived_columns()
        self._check_open()
        if not self.store.erase_traces():
            log.warning("The index is new, but %s", TRACES)
        return done

    def _check_open(self) -> None:
        """Ends work that takes long when the program ends."""
        if self.closing.is_set():
            raise Unavailable(f"The index of {self.name} was not made anew: the program ended. Run: athand reindex")

    def check(self) -> list[str]:
        """List what is wrong with the index: the items that have passages, and none in the index."""
        left_out = self.store.items_without_passages(self.name)
        with self.store.snapshot() as snapshot:
            starts = range(0, len(left_out), BATCH)
            lost = {
                (each.space, each.item_id)
                for start in starts
                for each in self.passages_of(snapshot, left_out[start : start + BATCH])
            }
        return [f"{self.name}: {len(lost)} are not in the index; run: athand reindex"] if lost else []

    def count(self) -> dict[str, int]:
        """Passages per space."""
        return self.store.counts(self.index.corpus)

    def size(self) -> int:
        """How many passages `reindex` makes."""
        return sum(self.count().values())

    def report(self) -> Report:
        """What there is and what does not work, for a status."""
        return {"count": sum(self.count().values())}, []

    def close(self) -> None:
        """End what the corpus has started."""

    def fingerprint(self) -> str:
        """A hash of everything derived from the items: a fresh index has the same."""
        return self.store.fingerprint(self.index)

    def warn_once(self, message: str, error: Exception) -> None:
        """Log a warning, the first time that this error occurs."""
        if str(error) not in self._warnings:
            self._warnings.add(str(error))
            log.warning(message, error)


AnyCorpus: TypeAlias = Corpus[Any, Any]
