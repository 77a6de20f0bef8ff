"""What an answer of `search_content` says beside its results. Pure."""

from collections.abc import Iterable, Sequence

from athand.documents.asking import Asked
from athand.documents.responses import NavigationHints, SearchChunkResult
from athand.documents.terms import is_case_sensitive
from athand.text import terms

STRONG = 0.7
_FEW = 5
_MANY = 20
_RELATED = 5
_LONGEST = 60  # letters of what was asked for, in a sentence


def interpretation(asked: Asked, folder_ids: Sequence[str], *, by_meaning: bool) -> str:
    """One readable sentence: what was searched for, where, and from which score on."""
    parts = []
    if asked.concepts and by_meaning:
        parts.append(f"about {_listed([_brief(concept) for concept in asked.concepts])}")
    if asked.terms:
        exact = [f'"{_brief(term)}"' + (" (case matters)" if is_case_sensitive(term) else "") for term in asked.terms]
        verb = "preferring those that contain" if parts else "that contain"
        parts.append(f"{verb} {_listed(exact)}")
    path = f" under {asked.path.removeprefix('**/')}" if asked.path else ""
    least = f", scoring at least {asked.min_score:g}" if asked.min_score and (by_meaning or not asked.concepts) else ""
    return f"Passages {', '.join(parts)} in {_folders(folder_ids)}{path}{least}."


def _folders(folder_ids: Sequence[str]) -> str:
    if not folder_ids:
        return "no folder"
    return _listed(folder_ids) if len(folder_ids) <= _FEW else f"{len(folder_ids)} folders"


def hints(
    asked: Asked,
    results: Sequence[SearchChunkResult],
    total: int,
    next_token: str | None,
    folder_ids: Sequence[str],
    phrases: Iterable[str],
) -> NavigationHints:
    """What to do next, by the shape of the answer, and what else to ask."""
    actions = _after_results(asked, results, total) if results else _after_nothing(asked, folder_ids)
    if next_token:
        actions.append(f"More results: search_content(continuation_token='{next_token}')")
    return NavigationHints(tuple(actions), related(asked, phrases))


def related(asked: Asked, phrases: Iterable[str]) -> tuple[str, ...]:
    """Key phrases of the documents that were hit, as far as they say something that was not asked."""
    seen = {term for text in (*asked.concepts, *asked.terms) for term in terms(text)}
    chosen: list[str] = []
    for phrase in phrases:
        new = set(terms(phrase))
        if new and new.isdisjoint(seen):
            chosen.append(phrase)
            seen |= new
    return tuple(chosen[:_RELATED])


def _after_results(asked: Asked, results: Sequence[SearchChunkResult], total: int) -> list[str]:
    best = results[0]
    ids = f"folder_id='{best.folder_id}', document_id={best.document_id!r}"
    if best.relevance_score >= STRONG and total <= _FEW:
        lines = f", start_line={best.start_line}, end_line={best.end_line}"
        return [f"Read this document: get_document_text({ids}{lines})", f"See its outline: get_document_data({ids})"]
    if total > _MANY and best.relevance_score < STRONG:
        again = f"search_content({_where(asked)}semantic_concepts={list(asked.concepts)!r}, exact_terms=[…])"
        narrow = [] if asked.terms else [f"Narrow the {total} matches with exact terms: {again}"]
        words = " ".join(asked.concepts or asked.terms)
        return [*narrow, f"Find the right files first: find_documents({_where(asked)}query={words!r})"]
    around = f"get_chunks('{best.folder_id}', ['{best.chunk_id}'], neighbours=1)"
    return [f"Read around the best match: {around}", f"See its outline: get_document_data({ids})"]


def _after_nothing(asked: Asked, folder_ids: Sequence[str]) -> list[str]:
    if not folder_ids:
        return ["Nothing is indexed yet: add(path) adds a folder"]
    lower = [f"Ask for less: min_score={asked.min_score / 2:.2g}"] if asked.min_score > 0.1 else []
    words = " ".join((*asked.concepts, *asked.terms))
    if asked.terms and not asked.concepts:
        lower.append(f"Search by meaning: search_content({_where(asked)}semantic_concepts={list(asked.terms)!r})")
    return [
        *lower,
        f"Ask in plain words: search({_where(asked)}query={words!r})",
        f"See what there is: explore('{folder_ids[0]}')",
    ]


def _where(asked: Asked) -> str:
    """The folders that were asked for, as the first argument of a call."""
    if asked.folder_ids is None:
        return ""
    given = asked.folder_ids[0] if len(asked.folder_ids) == 1 else list(asked.folder_ids)
    return f"folder_id={given!r}, "


def _brief(text: str) -> str:
    """A text as it may stand in a sentence: on one line, and not too much of it."""
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def _listed(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"
