"""One search of memories, from the question to the hits, and what being found does to a memory."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from athand.derive import without_meaning
from athand.errors import Conflict, InvalidInput, StoreError
from athand.inputs import check_choice, check_fraction, check_limit, check_name, check_past, check_query
from athand.memories import ranking, records
from athand.memories.adding import ensure_session
from athand.memories.desk import Desk, spaces_of
from athand.memories.entry import check_project
from athand.memories.filters import both, selection, showing
from athand.memories.model import GLOBAL_SPACE, MemoryHit
from athand.memories.salience import BY_SEARCH
from athand.memories.scoring import INDEX, MODES, Situation, Weights
from athand.store import to_microseconds
from athand.text import tokenize
from athand.types import Calibration, Candidates, Filter, Hits, Query

CANDIDATES = 48

log = logging.getLogger("athand")


@dataclass(frozen=True, slots=True)
class Asked:
    """The arguments of a search, as they were given; `checked` makes them trustworthy."""

    text: str
    project: str | None = None
    filters: Mapping[str, Any] = field(default_factory=dict)
    limit: int = 10
    least: float | None = None
    with_superseded: bool = False
    session: str | None = None
    as_of: Any = None
    mode: str = "hybrid"
    weights: Weights | None = None

    def checked(self, now: datetime) -> "Asked":
        """The same, or the error that names what is wrong."""
        if not isinstance(self.weights, Weights | None):
            raise InvalidInput(f"weights must be Weights, such as athand.SEED_WEIGHTS, not {self.weights!r}.")
        return Asked(
            check_query(self.text),
            None if self.project is None else check_project(self.project),
            self.filters,
            check_limit(self.limit),
            None if self.least is None else check_fraction("min_score", self.least),
            self.with_superseded,
            None if self.session is None else check_name("session", self.session),
            None if self.as_of is None else check_past("as_of", self.as_of, now),
            check_choice("mode", self.mode, MODES),
            self.weights,
        )


def search(desk: Desk, given: Asked, when_uncovered: Callable[[], None]) -> Hits[MemoryHit]:
    """The memories that answer, best first."""
    now = desk.now()
    asked = given.checked(now)
    query, calibration = _query(desk, asked, _filter(asked, now))
    if not asked.text.strip():
        return Hits()
    moment = asked.as_of or now
    situation = Situation(to_microseconds(now), to_microseconds(moment), asked.project)
    with desk.store.snapshot() as snapshot:
        if (within := asked.filters.get("in_session")) is not None:
            records.get_session(snapshot, within)
        found = snapshot.candidates(INDEX, query)
        notes = _notes(desk, asked, found, when_uncovered)
        ranked = ranking.find(
            snapshot,
            query,
            found,
            calibration if found.by_vector else None,
            situation,
            mode=asked.mode,
            weights=asked.weights,
            least=asked.least,
            limit=asked.limit,
        )
        hits = ranking.to_hits(snapshot, query, ranked, now)
    return Hits(hits, notes=notes, did_you_mean=found.corrections)


def recall(desk: Desk, hits: Hits[MemoryHit], asked: Asked) -> Hits[MemoryHit]:
    """Reinforce what was found, and link it with the caller's session; where that fails, the answer still stands."""
    now = desk.now()
    try:
        project = asked.project or "default"
        spaces = {project, *spaces_of(hit.item for hit in hits)}
        with desk.store.transaction(durable=False, spaces=spaces) as transaction:
            records.reinforce(transaction, [hit.id for hit in hits], BY_SEARCH, now, sorted(spaces))
            if asked.session is not None:
                ensure_session(transaction, asked.session, project, now)
                records.link(transaction, asked.session, [hit.item for hit in hits], "recalled", now)
    except (StoreError, Conflict) as error:
        if str(error) not in desk.complaints:
            desk.complaints.add(str(error))
            log.warning("What was found was not reinforced: %s", error)
        return Hits(hits, notes=(*hits.notes, f"Not reinforced: {error}"), did_you_mean=hits.did_you_mean)
    return hits


def _filter(asked: Asked, now: datetime) -> Filter:
    sessions = (asked.session, asked.filters.get("in_session"))
    shown = showing(now, asked.as_of, sessions, with_superseded=asked.with_superseded)
    return both(selection(now, **asked.filters), shown)


def _query(desk: Desk, asked: Asked, chosen: Filter) -> tuple[Query, Calibration | None]:
    """The question, tokenized and embedded once; a mode leaves the other side out."""
    meaning = None
    if asked.mode != "keyword":
        meaning = desk.embedder.attempt(
            lambda model: (model.embed_query(asked.text), model.model_id, model.calibration)
        )
    vector, model_id, calibration = meaning or (None, None, None)
    query = Query(
        text=asked.text,
        words=() if asked.mode == "semantic" else tuple(tokenize(asked.text)),
        vector=vector,
        model_id=model_id,
        spaces=None if asked.project is None else (asked.project, GLOBAL_SPACE),
        filter=chosen,
        candidates=max(CANDIDATES, asked.limit),
    )
    return query, calibration


def _notes(desk: Desk, asked: Asked, found: Candidates, when_uncovered: Callable[[], None]) -> Sequence[str]:
    """What the caller should know: whether meaning could not be searched."""
    if asked.mode == "keyword" or found.by_vector or not found.statistics.passages:
        return []
    return [without_meaning("Memories", desk.embedder, when_uncovered, needed=asked.mode == "semantic")]
