"""Commands over the whole store: search, status, reindex."""

import time
from typing import TYPE_CHECKING, Any

import click

from recollect.adapters.cli.session import Session, command

if TYPE_CHECKING:
    from recollect.app import Recollect
    from recollect.types import Hits, Status

_top = click.Group()
_VERDICT = {False: " The index was already identical.", True: " The old index differed; the new one is right."}


@command(_top, "search")
@click.argument("query")
@click.option("--corpus", "corpora", multiple=True, help="Search this corpus only; may be repeated.")
@click.option("--project", help="Memories of this project only.")
@click.option("--limit", default=10, show_default=True, help="How many answers at most.")
@click.option("--min-score", type=float, help="Leave out what scores less (0 to 1).")
@click.option("--explain", is_flag=True, help="Show how each score came about.")
def search(session: Session, query: str, corpora: tuple[str, ...], explain: bool, **given: object) -> None:
    """Ask one question of everything there is."""
    started = time.perf_counter()
    with session.open() as recollect:
        hits = recollect.search(query, corpora=corpora or None, **given)  # type: ignore[arg-type]
        answer(session, recollect, hits, time.perf_counter() - started, explain=explain)


def answer(session: Session, recollect: "Recollect", hits: "Hits[Any]", seconds: float, *, explain: bool) -> None:
    """Print hits as JSON, or for people: corrections and notes beside them, and what was searched below."""
    if session.as_json:
        session.show(hits.to_dict())
        return
    if session.quiet:
        session.show_plainly(hits)
        return
    from recollect.adapters.cli.render import print_hits

    for word, meant in hits.did_you_mean.items():
        session.say(f" {word} is unknown here; searched for {click.style(meant, bold=True)} too.")
    for note in hits.notes:
        session.say(f" {note}")
    print_hits(session.console(), hits, explain=explain)
    count = sum(recollect.memories.count().values())
    found = f"{len(hits)} hit{'s' if len(hits) != 1 else ''}" if hits else "Nothing fits"
    session.say(click.style(f"\n {found} · {seconds * 1000:.0f} ms · memories {count:,}", dim=True))
    if not hits and not count:
        session.say(' The store is empty. Begin with: recollect memory add "…"')


@command(_top, "status")
@click.option("--check", is_flag=True, help="Read the whole store and verify it.")
def status(session: Session, check: bool) -> None:
    """Show what there is and whether it is well."""
    with session.open() as recollect:
        found = recollect.status()
        damage = recollect.check() if check else []
    problems = [*found.problems, *damage]
    if session.as_json:
        session.show(found.to_dict() | {"problems": problems})
    else:
        _print_status(found, problems, checked=check)
    if damage:
        raise SystemExit(65)


def _print_status(status: "Status", problems: list[str], *, checked: bool) -> None:
    memories, model = status.corpora["memories"], status.model
    projects = f"{memories['projects']:,} project{'s' if memories['projects'] != 1 else ''}"
    lines = {
        "store": f"{status.store['location']} · {status.store['bytes'] / 1e6:.1f} MB"
        + (" · checked" if checked else ""),
        "model": f"{model['name']} · {model['dimensions'] or '?'} dimensions",
        "memories": f"{memories['count']:,} in {projects}",
    }
    for name, text in lines.items():
        mark = (
            click.style("!", fg="yellow") if name == "model" and not model["working"] else click.style("✓", fg="green")
        )
        click.echo(f" {mark} {name:<10} {text}")
    for problem in problems:
        click.echo(f" {click.style('!', fg='yellow')} {problem}")


@command(_top, "reindex")
@click.option("--verify", is_flag=True, help="Compare the old index with the new one; exit 65 if they differ.")
def reindex(session: Session, verify: bool) -> None:
    """Make every index anew from what is stored; nothing stored is changed."""
    from rich.progress import Progress

    console = session.console(stderr=True)
    bar = Progress(console=console, transient=True, disable=session.quiet or not console.is_terminal)
    with session.open() as recollect, bar as progress:
        before = recollect.memories.fingerprint() if verify else None
        task = progress.add_task("Indexing memories", total=sum(recollect.memories.count().values()) or None)
        done = recollect.memories.reindex(lambda count: progress.update(task, completed=count))
        differs = verify and recollect.memories.fingerprint() != before
    if session.as_json:
        session.show({"memories": done} | ({"identical": not differs} if verify else {}))
    else:
        session.say(f"Indexed {done:,} memories." + (_VERDICT[differs] if verify else ""))
    if differs:
        raise SystemExit(65)
