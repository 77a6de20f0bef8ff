"""`athand memory …`: change, take away, bring back, let matter more or less."""

import shlex
import sys
from typing import TYPE_CHECKING, Any

import click

from athand.adapters.cli import options
from athand.adapters.cli.session import Session, command, confirm, read_standard_input
from athand.adapters.cli.words import draw_bar, format_fraction, label_memory, pluralize

if TYPE_CHECKING:
    from athand.memories import Memories, Memory

commands = click.Group()
# What `update --clear` can empty: the field, and what it holds when there is nothing in it.
_CLEARABLE: dict[str, tuple[str, Any]] = {
    "summary": ("summary", None),
    "context": ("context", None),
    "author": ("author", None),
    "type": ("memory_type", None),
    "valid-until": ("valid_until", None),
    "tags": ("tags", ()),
    "concepts": ("concepts", ()),
    "files": ("files", ()),
}


@command(commands, "update")
@options.memory_id
@click.option("--content", metavar="TEXT", help="What it says from now on; `-` reads it from standard input.")
@options.described
@click.option("--clear", multiple=True, type=click.Choice(tuple(_CLEARABLE)), help="Empty a field; may be repeated.")
@options.session
@click.option("--expected-updated-at", metavar="TIME", help="Change nothing if somebody did since then.")
def update(session: Session, /, id: str, clear: tuple[str, ...], **given: Any) -> None:
    """Change some fields of a memory.

    Tags, concepts and files are replaced as a whole.

    \b
    Examples:
      athand memory update ID --content "Auth tokens rotate every 6 h" --tag auth --tag audit
      athand memory update ID --clear tags --clear valid-until
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    changes = options.drop_unset(given) | dict(_CLEARABLE[name] for name in clear)
    if not changes.keys() - {"session", "expected_updated_at"}:
        raise click.UsageError("Change what? Give at least one field, such as --content or --tag.")
    if changes.get("content") == "-":
        changes["content"] = read_standard_input()
    with session.open() as athand:
        changed = athand.memories.update(id, **changes)
    left_out = changes.get("content") not in (None, changed.content)
    note = "\n What looked secret, or was marked private, was left out." if left_out else ""
    session.report(changed, f"Updated {label_memory(changed)}{note}")


@command(commands, "delete")
@options.memory_id
@click.option("--hard", is_flag=True, help="Leave nothing of it, on disk or anywhere; cannot be undone.")
@click.option("--yes", is_flag=True, help="Do not ask before a hard delete.")
def delete(session: Session, /, id: str, hard: bool, yes: bool) -> None:
    """Delete a memory.

    It is out of every search at once; `restore` brings it back within 30 days, unless it was a hard delete.
    """
    with session.open() as athand:
        memories = athand.memories
        found, replaced = memories.get(id), _superseded_by(memories, id)
        if hard and not yes:
            confirm(f"Erase {found.title!r} for good?")
        deleted = memories.delete(id, hard=hard)
    undo = "" if hard else f"Bring it back with: athand memory restore {id}"
    lines = (f"{'Erased' if hard else 'Deleted'} {label_memory(deleted)}", undo, *map(_after_delete, replaced))
    session.report(deleted, "\n".join(filter(None, lines)))


def _superseded_by(memories: "Memories", id_: str) -> "list[Memory]":
    related = memories.related(id_)
    return [each.memory for each in related if (each.relation.type, each.relation.source_id) == ("SUPERSEDES", id_)]


def _after_delete(old: "Memory") -> str:
    return f"It had superseded {label_memory(old)}\nLet that hold again with: athand memory unsupersede {old.id}"


@command(commands, "restore")
@options.memory_id
def restore(session: Session, /, id: str) -> None:
    """Bring a deleted memory back."""
    with session.open() as athand:
        restored = athand.memories.restore(id)
    session.report(restored, f"Restored {label_memory(restored)}")


@command(commands, "forget")
@options.selected
@click.option("--hard", is_flag=True, help="Leave nothing of them, on disk or anywhere; cannot be undone.")
@click.option("--yes", is_flag=True, help="Really do it; else they are only shown.")
def forget(session: Session, /, hard: bool, yes: bool, **filters: Any) -> None:
    """Delete every memory that passes all filters.

    Only shows which, until you say --yes. Pinned ones stay, unless you say --pinned.

    \b
    Examples:
      athand memory forget --project shop --sector episodic --until 2025-01-01
      athand memory forget --max-salience 0.1 --yes
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    with session.open() as athand:
        chosen = athand.memories.forget(dry_run=not yes, hard=hard, **options.drop_unset(filters))
    if session.print_plain(chosen):
        return
    if chosen and not yes:
        from athand.adapters.cli.render_memories import print_memories

        print_memories(session.console(), chosen)
    session.say(_forgotten(len(chosen), hard=hard, done=yes))


def _forgotten(count: int, *, hard: bool, done: bool) -> str:
    memories = pluralize(count, "memory", "memories")
    if not count:
        return "No memory passes these filters; nothing to forget."
    if not done:
        again = shlex.join(["athand", *sys.argv[1:], "--yes"])
        return f"\n {memories} would be {'erased for good' if hard else 'forgotten'}. Do it with:\n   {again}"
    return f"Erased {memories} for good." if hard else f"Forgot {memories}. Each comes back with: athand memory restore"


@command(commands, "pin")
@options.memory_id
def pin(session: Session, /, id: str) -> None:
    """Never let a memory fade, and put it first in every brief."""
    with session.open() as athand:
        pinned = athand.memories.pin(id)
    session.report(pinned, f"Pinned {label_memory(pinned)}")


@command(commands, "unpin")
@options.memory_id
def unpin(session: Session, /, id: str) -> None:
    """Let a memory fade again."""
    with session.open() as athand:
        unpinned = athand.memories.unpin(id)
    session.report(unpinned, f"Unpinned {label_memory(unpinned)}")


@command(commands, "reinforce")
@options.memory_id
@click.option("--amount", type=float, help="Which part of what is missing to 1 to give back; 0.1, if not given.")
@options.session
def reinforce(session: Session, /, id: str, **given: Any) -> None:
    """Say that a memory matters."""
    with session.open() as athand:
        changed = athand.memories.reinforce(id, **options.drop_unset(given))
    session.report(changed, f"Reinforced {label_memory(changed)}\n{_salience(changed)}")


@command(commands, "deemphasize")
@options.memory_id
@click.option("--amount", type=float, help="How much to take away; 0.2, if not given.")
def deemphasize(session: Session, /, id: str, **given: Any) -> None:
    """Say that a memory matters less."""
    with session.open() as athand:
        changed = athand.memories.deemphasize(id, **options.drop_unset(given))
    session.report(changed, f"Deemphasized {label_memory(changed)}\n{_salience(changed)}")


def _salience(memory: "Memory") -> str:
    value = memory.effective_salience
    return f" salience {click.style(draw_bar(value), fg='blue')} {format_fraction(value)}"
