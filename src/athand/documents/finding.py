"""`find_documents`: which files are about something; their summaries, not their content."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from athand.documents import folders, records
from athand.documents.desk import Desk
from athand.documents.model import Continuation, Document, FoundDocument, FoundDocuments
from athand.documents.search import Answer, Asked, Ranked, answer, best_of_each
from athand.documents.tokens import Tokens
from athand.errors import InvalidInput
from athand.inputs import check_limit
from athand.rank import clamp
from athand.store import Snapshot

KIND = "find_documents"
MOST_DOCUMENTS = 100
CANDIDATES = 400
_COLUMNS = [each.name for each in fields(Document)]


def find_documents(
    desk: Desk,
    snapshot: Snapshot,
    query: str,
    spaces: tuple[str, ...],
    limit: int,
    token: str | None,
    tokens: Tokens,
    freshness: Callable[[], Mapping[str, Any]],
) -> FoundDocuments:
    """The documents whose chunks answer, by their best one."""
    after = None
    if token is not None:
        query, spaces, after = _opened(snapshot, tokens.open(KIND, token), query, spaces)
    asked = Asked.checked(query, check_limit(limit, MOST_DOCUMENTS), None, None)
    if not asked.text.strip():
        return FoundDocuments((), 0, Continuation(False), freshness())
    found = answer(desk, snapshot, asked, spaces, CANDIDATES)
    best = sorted(best_of_each(found.ranked), key=_place)
    rest = best if after is None else [each for each in best if _place(each) > after]
    page = rest[: asked.limit]
    more = len(rest) > len(page)
    next_token = tokens.make(KIND, {"query": query, "folders": spaces, "after": _place(page[-1])}) if more else None
    return FoundDocuments(
        tuple(_found(snapshot, found, page)), len(best), Continuation(more, next_token), freshness(), found.notes
    )


def _opened(
    snapshot: Snapshot, state: Mapping[str, Any], query: str, spaces: tuple[str, ...]
) -> tuple[str, tuple[str, ...], list[Any]]:
    """The query, the folders and the last document of the page before; a token allows no other question."""
    if query not in ("", state["query"]):
        raise InvalidInput("query differs from the search that the continuation_token goes on with. Leave it empty.")
    known, every = set(state["folders"]), {folder.folder_id for folder in folders.every(snapshot)}
    if set(spaces) not in (known, every):
        raise InvalidInput("folder_id differs from the search that the continuation_token goes on with. Leave it out.")
    return state["query"], tuple(state["folders"]), state["after"]


def _place(each: Ranked) -> list[Any]:
    """Where a document stands in the order of all."""
    return [-each.total, each.candidate.space, each.candidate.item_id]


def _found(snapshot: Snapshot, found: Answer, page: Sequence[Ranked]) -> list[FoundDocument]:
    places = [(each.candidate.space, each.candidate.item_id) for each in page]
    documents = records.documents_by_id(snapshot, places)
    return [
        FoundDocument(
            **{name: getattr(documents[place], name) for name in _COLUMNS},
            score=clamp(each.total),
            why=found.why(each),
            best_chunk_id=each.candidate.id,
        )
        for each, place in zip(page, places, strict=True)
    ]
