"""Commands over the whole store: search, status, reindex."""

import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from athand.adapters.cli.answers import EVERYTHING, answer
from athand.adapters.cli.options import complete_from
from athand.adapters.cli.session import Session, command
from athand.adapters.cli.tools_catalogues import servers_file
from athand.adapters.cli.words import pluralize

if TYPE_CHECKING:
    from rich.progress import Progress

    from athand.app import Athand
    from athand.types import Status

_top = click.Group()
_VERDICT = {False: " The index was already identical.", True: " The old index differed; the new one is right."}


@command(_top, "search")
@click.argument("query")
@click.option(
    "--corpus",
    "corpora",
    multiple=True,
    shell_complete=complete_from(*EVERYTHING),
    help="Search this corpus only; may be repeated.",
)
@click.option("--project", help="Memories of this project only, and its folders.")
@click.option("--folder", "folder_id", metavar="ID", help="Documents of this folder only.")
@click.option("--app", metavar="NAME", help="Flows of this app only.")
@click.option("--limit", default=10, show_default=True, help="How many answers at most.")
@click.option("--min-score", type=float, help="Leave out what scores less (0 to 1).")
@click.option("--explain", is_flag=True, help="Show how each score came about.")
def search(session: Session, query: str, corpora: tuple[str, ...], explain: bool, **given: Any) -> None:
    """Ask one question of everything there is.

    \b
    Examples:
      athand search "how do I deploy to staging?"
      athand search "token rotation" --project shop --explain
      athand search "token rotation" --folder notes
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    from athand.search import default_corpora

    with session.open() as athand:
        catalogue = athand.tools.load_all(user=servers_file(session), folder=Path.cwd())
        started = time.perf_counter()
        hits = athand.search(query, corpora=corpora or None, catalogue=catalogue, **given)
        seconds = time.perf_counter() - started
        asked = corpora or default_corpora(given["project"], given["folder_id"], given["app"])
        further = shlex.join(["athand", "search", query, "--min-score", "0"]) if given["min_score"] is None else None
        answer(session, athand, hits, seconds, explain=explain, corpora=asked, further=further)


@command(_top, "status")
@click.option("--check", is_flag=True, help="Read the whole store and verify it.")
@click.option(
    "--problems", "with_files", is_flag=True, help="Everything that does not work: store, folders, files, servers."
)
def status(session: Session, check: bool, with_files: bool) -> None:
    """Show what there is and whether it is well.

    \b
    Examples:
      athand status
      athand status --problems
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    with session.open() as athand:
        found = athand.status()
        damage = athand.check() if check or with_files else []
        files = athand.documents.problems() if with_files else []
    problems = [*found.problems, *damage]
    if session.as_json:
        more = {"document_problems": [each.to_dict() for each in files]} if with_files else {}
        session.show(found.to_dict() | {"problems": problems} | more)
    elif session.quiet:
        click.echo("".join(f"{each}\n" for each in problems), nl=False)
    else:
        _print_status(found, problems, checked=check or with_files)
        if files:
            from athand.adapters.cli.render_folders import print_problems

            print_problems(session.console(), files)
        if with_files and not problems and not files:
            session.say(" No problems.")
    if damage:
        raise SystemExit(65)


def _print_status(status: "Status", problems: list[str], *, checked: bool) -> None:
    memories, model = status.corpora["memories"], status.model
    lines = {
        "store": f"{status.store['location']} · {status.store['bytes'] / 1e6:.1f} MB"
        + (" · checked" if checked else ""),
        "model": f"{model['name']} · {model['dimensions'] or '?'} dimensions",
        "memories": f"{memories['count']:,} in {pluralize(memories['projects'], 'project')}",
        "documents": _documents(status),
        "tools": _tools(status),
        "flows": _flows(status),
    }
    worried = _worried(status)
    for name, text in lines.items():
        mark = click.style("!", fg="yellow") if name in worried else click.style("✓", fg="green")
        click.echo(f" {mark} {name:<10} {text}")
    for problem in problems:
        click.echo(f" {click.style('!', fg='yellow')} {problem}")


def _worried(status: "Status") -> set[str]:
    """The parts of which something does not work."""
    folders, servers = status.corpora["documents"]["folders"], status.corpora["tools"]["servers"]
    is_waiting = bool(status.corpora["tools"]["waiting"])
    wrong = {
        "model": not status.model["working"],
        "documents": any(each["reason"] for each in folders),
        "tools": is_waiting or any(each["reason"] for each in servers),
    }
    return {name for name, is_wrong in wrong.items() if is_wrong}


def _documents(status: "Status") -> str:
    documents = status.corpora["documents"]
    folders: Sequence[dict[str, Any]] = documents["folders"]
    wrong = sum(each["problems"] for each in folders)
    pieces = [f"{documents['count']:,} in {pluralize(len(folders), 'folder')}"]
    pieces += [pluralize(documents["chunks"], "chunk")] if folders else []
    pieces += [f"{pluralize(wrong, 'file')} with problems, see: athand docs status --problems"] if wrong else []
    return " · ".join(pieces)


def _tools(status: "Status") -> str:
    tools = status.corpora["tools"]
    return f"{tools['count']:,} of {pluralize(len(tools['servers']), 'server')}"


def _flows(status: "Status") -> str:
    flows = status.corpora["flows"]
    pieces = (pluralize(flows["count"], "session"), pluralize(flows["steps"], "step"), pluralize(flows["apps"], "app"))
    return " · ".join(pieces)


@command(_top, "reindex")
@click.option("--verify", is_flag=True, help="Compare the old index with the new one; exit 65 if they differ.")
def reindex(session: Session, verify: bool) -> None:
    """Make every index anew from what is stored; nothing stored is changed.

    Files of documents are not read again for it; `athand docs refresh` does that, where they have changed.
    """
    from rich.progress import Progress

    console = session.console(stderr=True)
    bar = Progress(console=console, transient=True, disable=session.quiet or not console.is_terminal)
    with session.open() as athand, bar as progress:
        before = _fingerprints(athand) if verify else None
        done = dict(_reindexed(athand, progress))
        differs = verify and _fingerprints(athand) != before
    if session.as_json:
        session.show(done | ({"identical": not differs} if verify else {}))
    else:
        session.say(f"Indexed {_made(done)}." + (_VERDICT[differs] if verify else ""))
    if differs:
        raise SystemExit(65)


def _made(done: Mapping[str, int]) -> str:
    memories, documents = pluralize(done["memories"], "memory", "memories"), pluralize(done["documents"], "document")
    return (
        f"{memories}, {documents}, {pluralize(done['tools'], 'tool')} and {pluralize(done['flows'], 'step')} of flows"
    )


def _fingerprints(athand: "Athand") -> tuple[str, ...]:
    return tuple(getattr(athand, name).fingerprint() for name in EVERYTHING)


def _reindexed(athand: "Athand", progress: "Progress") -> Iterator[tuple[str, int]]:
    """Each corpus, and how much of it there is."""
    for name in EVERYTHING:
        corpus = getattr(athand, name)
        total = corpus.count_steps() if name == "flows" else sum(corpus.count().values())
        task = progress.add_task(f"Indexing {name}", total=total or None)
        yield name, corpus.reindex(lambda count, task=task: progress.update(task, completed=count))
