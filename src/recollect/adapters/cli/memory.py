"""`recollect memory …`: what should be remembered."""

import sys
import time

import click

from recollect.adapters.cli.session import Session, command
from recollect.errors import InvalidInput


@click.group()
def memory() -> None:
    """Keep and find what should be remembered."""


@command(memory, "add")
@click.argument("content")
@click.option("--project", default="default", show_default=True, help="Where it belongs.")
@click.option("--tag", "tags", multiple=True, help="A word to find it by; may be repeated.")
@click.option("--context", help="What it is about, indexed beside the text.")
@click.option("--author", help="Who said it.")
@click.option("--created-at", metavar="TIME", help="When it was so (ISO 8601); now, if not given.")
@click.option("--id", "id_", metavar="ID", help="An id of your own.")
def add(session: Session, content: str, id_: str | None, **given: object) -> None:
    """Remember CONTENT; `-` reads it from standard input.

    Once the command returns, the memory survives a crash or a power cut.
    """
    text = _standard_input() if content == "-" else content
    with session.open() as recollect:
        [added] = recollect.memories.add_many([{"content": text, "id": id_, **given}])
    if session.as_json:
        session.show(added.to_dict())
    elif session.quiet:
        click.echo(added.id)
    else:
        click.echo(f"Remembered {click.style(added.id, fg='cyan')} in {added.project}: {added.title}")


@command(memory, "search")
@click.argument("query")
@click.option("--project", help="Search this project only.")
@click.option("--limit", default=10, show_default=True, help="How many answers at most.")
@click.option("--min-score", type=float, help="Leave out what scores less (0 to 1).")
@click.option("--explain", is_flag=True, help="Show how each score came about.")
def search(session: Session, query: str, explain: bool, **given: object) -> None:
    """Find memories by word and by meaning."""
    from recollect.adapters.cli.everything import answer

    started = time.perf_counter()
    with session.open() as recollect:
        hits = recollect.memories.search(query, **given)  # type: ignore[arg-type]
        answer(session, recollect, hits, time.perf_counter() - started, explain=explain)


@command(memory, "list")
@click.option("--project", help="Of this project only.")
@click.option("--limit", default=20, show_default=True, help="How many at most.")
@click.option("--deleted", is_flag=True, help="Deleted ones too.")
def list_(session: Session, project: str | None, limit: int, deleted: bool) -> None:
    """List the newest memories."""
    with session.open() as recollect:
        memories = recollect.memories.list(project=project, limit=limit, include_deleted=deleted)
    if session.as_json:
        session.show([each.to_dict() for each in memories])
    elif memories:
        from recollect.adapters.cli.render import print_memories

        print_memories(session.console(), memories)
    else:
        session.say('Nothing remembered yet. Begin with: recollect memory add "…"')


@command(memory, "show")
@click.argument("id_", metavar="ID")
def show(session: Session, id_: str) -> None:
    """Show one memory in full."""
    with session.open() as recollect:
        found = recollect.memories.get(id_)
    if session.as_json:
        session.show(found.to_dict())
    else:
        from recollect.adapters.cli.render import print_memory

        print_memory(session.console(), found)


@command(memory, "delete")
@click.argument("id_", metavar="ID")
@click.option("--hard", is_flag=True, help="Leave nothing of it, on disk or anywhere; cannot be undone.")
@click.option("--yes", is_flag=True, help="Do not ask before a hard delete.")
def delete(session: Session, id_: str, hard: bool, yes: bool) -> None:
    """Delete a memory; `restore` brings it back, unless it was a hard delete."""
    with session.open() as recollect:
        found = recollect.memories.get(id_)
        if hard and not yes:
            _confirm(f"Erase {found.title!r} for good?")
        deleted = recollect.memories.delete(id_, hard=hard)
    if session.as_json:
        session.show(deleted.to_dict())
    elif hard:
        session.say(f"Erased {id_}.")
    else:
        session.say(f"Deleted {id_}. Bring it back with: recollect memory restore {id_}")


@command(memory, "restore")
@click.argument("id_", metavar="ID")
def restore(session: Session, id_: str) -> None:
    """Bring a deleted memory back."""
    with session.open() as recollect:
        restored = recollect.memories.restore(id_)
    if session.as_json:
        session.show(restored.to_dict())
    else:
        session.say(f"Restored {id_}: {restored.title}")


def _standard_input() -> str:
    try:
        return sys.stdin.buffer.read().decode("utf-8").rstrip("\n")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"Standard input is not UTF-8 at byte {error.start}. Convert it before.") from error


def _confirm(question: str) -> None:
    if not sys.stdin.isatty():
        raise InvalidInput(f"{question} Nobody is here to answer; say --yes if you mean it.")
    click.confirm(question, abort=True, err=True)
