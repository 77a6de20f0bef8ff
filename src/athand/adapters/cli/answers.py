"""How an answer is given: to a program as data, to people with what was searched and how fresh that is."""

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from athand.adapters.cli.session import Session
from athand.adapters.cli.words import format_age, format_duration, pluralize, to_one_line

if TYPE_CHECKING:
    from athand.app import Athand
    from athand.types import Hits

EVERYTHING = ("memories", "documents", "tools", "flows")
NO_FOLDERS = "No folder of documents yet. Add one with: athand docs add FOLDER"
_FRESH = 60  # seconds
_FEW = 3
_PLACES = {"projects": "project", "folders": "folder", "servers": "server", "apps": "app"}


def answer(
    session: Session,
    athand: "Athand",
    hits: "Hits[Any]",
    seconds: float,
    *,
    explain: bool,
    corpora: Sequence[str] | None = None,
    further: str | None = None,
) -> None:
    """Print hits as JSON, or for people: corrections and notes beside them, and what was searched below.

    Without `corpora` everything there is was asked; with it, these by their names. `further` is a command that shows
    more where nothing fits.
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
    for note in (*hits.notes, *worries(hits.freshness)):
        session.say(f" {note}")
    print_hits(session.console(), hits, explain=explain)
    searched = _searched(athand, hits, corpora or EVERYTHING)
    pieces = [_how_many(hits, seconds), *(f"{name} {said}" for name, said in searched.items())]
    width = session.console(stderr=True).width
    below = [_in_lines(each, width) for each in (_by_place(hits), pieces) if each]
    session.say(click.style("\n".join(["", *below]), dim=True))
    _tell_more(session, hits, searched, corpora, further)


def _how_many(hits: "Hits[Any]", seconds: float) -> str:
    """How many hits are shown, of how many that were found, in what time."""
    if not hits:
        return f"Nothing fits · {format_duration(seconds)}"
    found = sum(number for number in hits.facets.values() if isinstance(number, int))
    shown = f"{len(hits)} of {found:,} hits" if found > len(hits) else pluralize(len(hits), "hit")
    return f"{shown} in {format_duration(seconds)}"


def _by_place(hits: "Hits[Any]") -> list[str]:
    """Where the hits are, if they are of several corpora: what a narrower question could name."""
    places = {name: numbers for name, numbers in hits.facets.items() if isinstance(numbers, Mapping)}
    told = [f"{_PLACES.get(name, name)} {_most(numbers)}" for name, numbers in places.items()]
    return told if len(told) > 1 else []


def _in_lines(pieces: Sequence[str], width: int) -> str:
    """Pieces one after the other, in as many lines as they need."""
    return textwrap.fill(" · ".join(pieces), width, initial_indent=" ", subsequent_indent=" ", break_on_hyphens=False)


def _most(numbers: Mapping[str, int]) -> str:
    first = sorted(numbers.items(), key=lambda each: (-each[1], each[0]))
    told = [f"{to_one_line(name)} {number}" for name, number in first[:_FEW]]
    return ", ".join([*told, *([f"{len(first) - _FEW} more"] if len(first) > _FEW else [])])


def _searched(athand: "Athand", hits: "Hits[Any]", asked: Sequence[str]) -> dict[str, str]:
    """How much there is of each corpus that was asked; of memories also that there are none."""
    said: dict[str, str] = {}
    if "memories" in asked:
        said["memories"] = f"{sum(athand.memories.count().values()):,}"
    if "documents" in asked and (folders := athand.documents.list_folders()):
        files = pluralize(sum(each.documents for each in folders), "file")
        said["documents"] = f"{files}{_freshness(hits.freshness)}"
    if "tools" in asked and (tools := sum(athand.tools.count().values())):
        said["tools"] = f"{tools:,}"
    if "flows" in asked and (flows := sum(athand.flows.count().values())):
        said["flows"] = f"{flows:,}"
    return said


def _tell_more(
    session: Session,
    hits: "Hits[Any]",
    searched: Mapping[str, str],
    corpora: Sequence[str] | None,
    further: str | None,
) -> None:
    """What came closest, and what could be done next."""
    if hits.closest:
        session.say(f" Closest: {', '.join(map(to_one_line, hits.closest))}")
    if corpora and "documents" in corpora and "tools" not in corpora and "documents" not in searched:
        session.say(f" {NO_FOLDERS}")
    elif not hits and searched in ({}, {"memories": "0"}):
        more = "  or: athand docs add FOLDER" if "documents" in (corpora or EVERYTHING) else ""
        session.say(f' The store is empty. Begin with: athand memory add "…"{more}')
    elif not hits and further:
        session.say(f" What is only a little like it:  {further}")


def _freshness(freshness: Mapping[str, Any]) -> str:
    """How far what was searched can be trusted to be what is on disk."""
    states = [each["state"] for each in freshness.values()]
    if not states:
        return ""
    if any(state in ("pending", "indexing") for state in states) or any(map(_pending, freshness.values())):
        return " (being indexed)"
    ages = [each["indexed_at"] for each in freshness.values() if each["state"] != "offline" and each["indexed_at"]]
    offline = f", {pluralize(states.count('offline'), 'folder')} offline" if "offline" in states else ""
    is_fresh = all(each["age_seconds"] < _FRESH for each in freshness.values() if each["state"] == "ready")
    return f" ({'fresh' if is_fresh and ages else f'as of {format_age(min(ages))}' if ages else 'old'}{offline})"


def _pending(freshness: Mapping[str, Any]) -> int:
    return int(freshness.get("pending") or 0)


def worries(freshness: Mapping[str, Any]) -> list[str]:
    """What stands between the index and its folder, and how to wait for it."""
    problems = [str(each["problem"]) for each in freshness.values() if each.get("problem")]
    return problems + [
        f"{pluralize(_pending(each), 'change')} in {folder} still to be read. Wait with: athand docs refresh {folder}"
        for folder, each in freshness.items()
        if _pending(each) and each["state"] != "indexing"
    ]
