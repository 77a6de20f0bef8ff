"""`athand memory …`: keep, find, look."""

import time
from typing import TYPE_CHECKING, Any

import click

from athand.adapters.cli import options
from athand.adapters.cli.session import Session, command, read_standard_input
from athand.adapters.cli.words import to_one_line

if TYPE_CHECKING:
    from athand.memories import Memory, Weights

commands = click.Group()


@command(commands, "add")
@click.argument("content")
@options.own_project
@click.option("--session", metavar="ID", help="The session it was learned in; begins, if it is new.")
@options.described
@click.option("--written-by", type=click.Choice(options.WRITERS), default="user", help="Who wrote it; you, by default.")
@click.option("--created-at", metavar="TIME", help="When it was so (ISO 8601); now, if not given.")
@click.option("--valid-from", metavar="TIME", help="Since when it is true; since it was created, if not given.")
@click.option("--pin", "pinned", is_flag=True, help="Never let it fade, and put it first in every brief.")
@click.option("--id", metavar="ID", help="An id of your own.")
@click.option("--key", metavar="NAME", help="A name for this add: done again, it adds nothing.")
def add(session: Session, /, content: str, **given: Any) -> None:
    """Remember CONTENT; `-` reads it from standard input.

    Once the command returns, the memory survives a crash or a power cut. What says the same as an existing memory
    reinforces that one instead; what it resembles is shown, so that the new one can supersede it.

    \b
    Example:
      athand memory add "Auth tokens rotate every 12 h" --project shop --type decision --tag auth
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    text = read_standard_input() if content == "-" else content
    with session.open() as athand:
        added = athand.memories.add(text, **options.drop_unset(given))
    if session.print_plain(added):
        return
    _tell_added(session, added)
    if not added.deduplicated and added.content != text:
        session.say(" What looked secret, or was marked private, was left out.")


def _tell_added(session: Session, added: "Memory") -> None:
    id_, rest = click.style(added.id, fg="cyan"), f"in {added.project}: {to_one_line(added.title)}"
    if added.deduplicated:
        click.echo(f"Remembered already as {id_} {rest}")
        session.say(" It was reinforced instead of added twice.")
        return
    click.echo(f"Remembered {id_} {rest}")
    if added.is_deleted:
        session.say(f" It was deleted since. Bring it back with: athand memory restore {added.id}")
    if added.similar:
        from athand.adapters.cli.render_memories import print_similar

        print_similar(session.console(stderr=True), added)


@command(commands, "search")
@click.argument("query")
@options.of(
    "memories:Memories.search",
    *("project", "sector", "tier", "memory_type", "tags", "in_session", "min_salience", "limit", "min_score"),
    *("include_superseded", "include_documents", "as_of", "mode", "session", "reinforce"),
)
@click.option("--weights", type=click.Choice(("default", "seed")), default="default", help="Ours, or a plain sum.")
@click.option("--explain", is_flag=True, help="Show how each score came about.")
def search(session: Session, /, query: str, weights: str, explain: bool, **given: Any) -> None:
    """Find memories by word and by meaning.

    \b
    Examples:
      athand memory search "how do tokens rotate?" --project shop
      athand memory search "token lifetime" --as-of 2025-11-01 --explain
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    from athand.adapters.cli.answers import answer

    started = time.perf_counter()
    with session.open() as athand:
        hits = athand.memories.search(query, weights=_weights(weights), **options.drop_unset(given))
        corpora = ("memories", "documents") if given["include_documents"] else ("memories",)
        answer(session, athand, hits, time.perf_counter() - started, explain=explain, corpora=corpora)


def _weights(name: str) -> "Weights | None":
    from athand.memories import SEED_WEIGHTS

    return SEED_WEIGHTS if name == "seed" else None


@command(commands, "documents")
@click.argument("query")
@options.project
@click.option("--limit", default=10, show_default=True, help="How many answers at most.")
def documents(session: Session, /, query: str, **given: Any) -> None:
    """Ask the documents of a project; of all folders, without one."""
    from athand.adapters.cli.answers import answer

    started = time.perf_counter()
    with session.open() as athand:
        hits = athand.memories.search_documents(query, **options.drop_unset(given))
        seconds = time.perf_counter() - started
        answer(session, athand, hits, seconds, explain=False, corpora=("documents",))


@command(commands, "list")
@options.selected
@click.option("--limit", default=20, show_default=True, help="How many at most.")
@click.option("--deleted", is_flag=True, help="Deleted ones too.")
def list_(session: Session, /, limit: int, deleted: bool, **filters: Any) -> None:
    """List the newest memories.

    \b
    Example:
      athand memory list --project shop --type decision --since 2026-01-01
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    asked = options.drop_unset(filters)
    with session.open() as athand:
        memories = athand.memories.list(limit=limit, include_deleted=deleted, **asked)
    if session.print_plain(memories):
        return
    if memories:
        from athand.adapters.cli.render_memories import print_memories

        print_memories(session.console(), memories)
    elif asked:
        session.say("No memory passes these filters.")
    else:
        session.say('Nothing remembered yet. Begin with: athand memory add "…"')


@command(commands, "show")
@options.memory_id
def show(session: Session, /, id: str) -> None:
    """Show one memory in full.

    Who said it and who wrote it down, how long it holds, how much it matters now, its session, what it is related with.
    """
    with session.open() as athand:
        found = athand.memories.get(id)
        related = athand.memories.related(id)
        used = athand.memories.session_context(id)
    if not session.print_plain(found, data="content"):
        from athand.adapters.cli.render_memories import print_memory

        print_memory(session.console(), found, related, used)
