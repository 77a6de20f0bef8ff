"""Searches that begin with one project, and what is said about a project that nobody knows (pure functions)."""

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Any

from athand.types import Hits

_MOST_NAMED = 10


def begin_at_home(search: Callable[..., Hits[Any]], home: str, limit: int) -> Hits[Any]:
    """What a search finds in one project and globally; then, up to the limit, what other projects have."""
    hits = search(project=home)
    if len(hits) >= limit:
        return hits
    known = {hit.id for hit in hits}
    elsewhere = search(project=None, reinforce=False)
    others = [hit for hit in elsewhere if hit.id not in known][: limit - len(hits)]
    return mark_others(hits, others, elsewhere)


def mark_others(hits: Hits[Any], others: Sequence[Any], elsewhere: Hits[Any]) -> Hits[Any]:
    """Hits of one project, then those of others, with a note that says which these are."""
    both = Hits(
        [*hits, *others],
        notes=dict.fromkeys((*hits.notes, *elsewhere.notes)),
        did_you_mean={**elsewhere.did_you_mean, **hits.did_you_mean},
        closest=() if hits or others else hits.closest or elsewhere.closest,
        freshness={**elsewhere.freshness, **hits.freshness},
        facets={**hits.facets, **elsewhere.facets},
    )
    if others:
        subject = "The last one is" if len(others) == 1 else f"The last {len(others)} are"
        both.notes = (*both.notes, f"{subject} not of this project.")
    return both


def describe_unknown_project(project: str, known: Sequence[str]) -> str:
    """Which projects there are, where one has no memory."""
    near = get_close_matches(project, known, 1, 0.6)
    meant = f" Did you mean {near[0]}?" if near else ""
    more = f" and {len(known) - _MOST_NAMED} more" if len(known) > _MOST_NAMED else ""
    names = ", ".join(known[:_MOST_NAMED]) + more
    return f"Nothing is remembered of a project {project!r}.{meant} There are: {names}."
