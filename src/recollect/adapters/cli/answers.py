"""How an answer is given: to a program as data, to people with what was searched and how fresh that is."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from recollect.adapters.cli.session import Session
from recollect.adapters.cli.words import ago, counted

if TYPE_CHECKING:
    from recollect.app import Recollect
    from recollect.types import Hits

EVERYTHING = ("memories", "documents", "tools", "flows")
NO_FOLDERS = "No folder of documents yet. Add one with: recollect docs add FOLDER"
_FRESH = 60  # seconds


def answer(
    session: Session,
    recollect: "Recollect",
    hits: "Hits[Any]",
    seconds: float,
    *,
    explain: bool,
    corpora: Sequence[str] | None = None,
) -> None:
    """Print hits as JSON, or for people: corrections and notes beside them, and what was searched below.

    Without `corpora` everything there is was asked; with it, these by their names.
    """
    if session.as_json:
        session.show(hits.to_dict())
        return
    if session.quiet:
        session.show_plainly(hits)
        return
    from recollect.adapters.cli.render import print_hits

    for word, meant in hits.did_you_mean.items():
        session.say(f" {word} is unknown here; searched for {click.style(meant, bold=True)} too.")
    for note in (*hits.notes, *worries(hits.freshness)):
        session.say(f" {note}")
    print_hits(session.console(), hits, explain=explain)
    _tell_searched(session, recollect, hits, seconds, corpora)


def _tell_searched(
    session: Session, recollect: "Recollect", hits: "Hits[Any]", seconds: float, corpora: Sequence[str] | None
) -> None:
    asked = corpora or EVERYTHING
    memories = sum(recollect.memories.count().values())
    folders = recollect.documents.list_folders() if "documents" in asked else []
    tools = sum(recollect.tools.count().values()) if "tools" in asked else 0
    flows = sum(recollect.flows.count().values()) if "flows" in asked else 0
    pieces = [counted(len(hits), "hit") if hits else "Nothing fits", f"{seconds * 1000:.0f} ms"]
    if "memories" in asked:
        pieces.append(f"memories {memories:,}")
    if folders:
        pieces.append(f"documents {sum(each.documents for each in folders):,}{_freshness(hits.freshness)}")
    if tools:
        pieces.append(f"tools {tools:,}")
    if flows:
        pieces.append(f"flows {flows:,}")
    session.say(click.style(f"\n {' · '.join(pieces)}", dim=True))
    if corpora and "documents" in corpora and "tools" not in corpora and not folders:
        session.say(f" {NO_FOLDERS}")
    elif not hits and not memories and not folders and not tools and not flows:
        more = "  or: recollect docs add FOLDER" if "documents" in asked else ""
        session.say(f' The store is empty. Begin with: recollect memory add "…"{more}')


def _freshness(freshness: Mapping[str, Any]) -> str:
    """How far what was searched can be trusted to be what is on disk."""
    states = [each["state"] for each in freshness.values()]
    if not states:
        return ""
    if any(state in ("pending", "indexing") for state in states) or any(map(_pending, freshness.values())):
        return " (being indexed)"
    ages = [each["indexed_at"] for each in freshness.values() if each["state"] != "offline" and each["indexed_at"]]
    offline = f", {counted(states.count('offline'), 'folder')} offline" if "offline" in states else ""
    is_fresh = all(each["age_seconds"] < _FRESH for each in freshness.values() if each["state"] == "ready")
    return f" ({'fresh' if is_fresh and ages else f'as of {ago(min(ages))}' if ages else 'old'}{offline})"


def _pending(freshness: Mapping[str, Any]) -> int:
    return int(freshness.get("pending") or 0)


def worries(freshness: Mapping[str, Any]) -> list[str]:
    """What stands between the index and its folder, and how to wait for it."""
    problems = [str(each["problem"]) for each in freshness.values() if each.get("problem")]
    return problems + [
        f"{counted(_pending(each), 'change')} in {folder} still to be read. Wait with: recollect docs refresh {folder}"
        for folder, each in freshness.items()
        if _pending(each) and each["state"] != "indexing"
    ]
