"""Prints the answer of a search: for programs as data, for people with what was searched and how fresh that is."""

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from athand.adapters.cli.session import Session
from athand.adapters.cli.words import format_age, format_duration, pluralize, to_one_line

if TYPE_CHECKING:
    from athand.app import Athand
    from athand.types import Hits

NO_FOLDERS = "No folder of documents yet. Add one with: athand docs add FOLDER"
_FRESH = 60  # seconds
_FEW = 3


def print_answer(
    session: Session,
    athand: "Athand",
    hits: "Hits[Any]",
    seconds: float,
    *,
    explain: bool,
    corpora: Sequence[str],
    further: str | None = None,
) -> None:
    """Print hits as JSON, or for people: corrections and notes beside them, and what was searched below.

    `corpora` are those that were searched; `further` is a command that shows more where nothing fits.
    """
    if session.as_json:
        session.show(hits.to_dict())
        return
    if session.quiet:
        session.print_plain(hits)
        return
    from athand.adapters.cli.render import print_hits

    for word, meant in hits.did_you_mean.items():
        session.say(f" {word} is unknown here; searched for {click.style(meant, bold=True)} too.")
    for note in (*hits.notes, *describe_delays(hits.freshness)):
        session.say(f" {note}")
    nouns = {name: corpus.noun for name, corpus in athand.corpora.items()}
    print_hits(session.console(), hits, nouns, explain=explain)
    sizes = _describe_sizes(athand, hits, corpora)
    pieces = [_count_hits(hits, seconds), *(f"{name} {size}" for name, size in sizes.items())]
    width = session.console(stderr=True).width
    below = [_wrap(each, width) for each in (_describe_facets(hits), pieces) if each]
    session.say(click.style("\n".join(["", *below]), dim=True))
    _print_advice(session, hits, sizes, corpora, further)


def _count_hits(hits: "Hits[Any]", seconds: float) -> str:
    """How many hits are shown, of how many, in what time."""
    if not hits:
        return f"Nothing fits · {format_duration(seconds)}"
    found = sum(number for number in hits.facets.values() if isinstance(number, int))
    shown = f"{len(hits)} of {found:,} hits" if found > len(hits) else pluralize(len(hits), "hit")
    return f"{shown} in {format_duration(seconds)}"


def _describe_facets(hits: "Hits[Any]") -> list[str]:
    """The projects, folders, servers and apps of the hits, if there are several kinds: filters for a next search."""
    facets = {name: numbers for name, numbers in hits.facets.items() if isinstance(numbers, Mapping)}
    pieces = [f"{name.removesuffix('s')} {_list_largest(numbers)}" for name, numbers in facets.items()]
    return pieces if len(pieces) > 1 else []


def _wrap(pieces: Sequence[str], width: int) -> str:
    """Pieces one after the other, in as many lines as they need."""
    return textwrap.fill(" · ".join(pieces), width, initial_indent=" ", subsequent_indent=" ", break_on_hyphens=False)


def _list_largest(numbers: Mapping[str, int]) -> str:
    ordered = sorted(numbers.items(), key=lambda each: (-each[1], each[0]))
    pieces = [f"{to_one_line(name)} {number}" for name, number in ordered[:_FEW]]
    return ", ".join([*pieces, *([f"{len(ordered) - _FEW} more"] if len(ordered) > _FEW else [])])


def _describe_sizes(athand: "Athand", hits: "Hits[Any]", corpora: Sequence[str]) -> dict[str, str]:
    """How much there is of each corpus that was searched; of memories also that there are none."""
    sizes: dict[str, str] = {}
    for name, corpus in athand.corpora.items():
        if name not in corpora:
            continue
        if name != "documents":
            count = sum(corpus.count().values())
            sizes |= {name: f"{count:,}"} if count or name == "memories" else {}
        elif folders := athand.documents.list_folders():
            files = pluralize(sum(each.documents for each in folders), "file")
            sizes[name] = f"{files}{_describe_freshness(hits.freshness)}"
    return sizes


def _print_advice(
    session: Session,
    hits: "Hits[Any]",
    sizes: Mapping[str, str],
    corpora: Sequence[str],
    further: str | None,
) -> None:
    """Print the closest names, and what could be done next."""
    if hits.closest:
        session.say(f" Closest: {', '.join(map(to_one_line, hits.closest))}")
    if "documents" in corpora and "tools" not in corpora and "documents" not in sizes:
        session.say(f" {NO_FOLDERS}")
    elif not hits and sizes in ({}, {"memories": "0"}):
        more = "  or: athand docs add FOLDER" if "documents" in corpora else ""
        session.say(f' The store is empty. Begin with: athand memory add "…"{more}')
    elif not hits and further:
        session.say(f" Show what is less like it:  {further}")


def _describe_freshness(freshness: Mapping[str, Any]) -> str:
    """Whether the index is as new as the files, or since when it is not."""
    states = [each["state"] for each in freshness.values()]
    if not states:
        return ""
    if any(state in ("pending", "indexing") for state in states) or any(map(_count_pending, freshness.values())):
        return " (being indexed)"
    ages = [each["indexed_at"] for each in freshness.values() if each["state"] != "offline" and each["indexed_at"]]
    offline = f", {pluralize(states.count('offline'), 'folder')} offline" if "offline" in states else ""
    is_fresh = all(each["age_seconds"] < _FRESH for each in freshness.values() if each["state"] == "ready")
    return f" ({'fresh' if is_fresh and ages else f'as of {format_age(min(ages))}' if ages else 'old'}{offline})"


def _count_pending(freshness: Mapping[str, Any]) -> int:
    return int(freshness.get("pending") or 0)


def describe_delays(freshness: Mapping[str, Any]) -> list[str]:
    """The problems of folders, and how many changes are not indexed yet."""
    problems = [str(each["problem"]) for each in freshness.values() if each.get("problem")]
    waiting = {
        folder: pluralize(_count_pending(each), "change")
        for folder, each in freshness.items()
        if _count_pending(each) and each["state"] != "indexing"
    }
    return problems + [
        f"{changes} in {folder} not indexed yet. Wait with: athand docs refresh {folder}"
        for folder, changes in waiting.items()
    ]
