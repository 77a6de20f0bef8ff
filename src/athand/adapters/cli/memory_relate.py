"""`athand memory …`: how memories stand to each other."""

from typing import Any

import click

from athand.adapters.cli import options
from athand.adapters.cli.session import Session, command
from athand.adapters.cli.words import label_memory

commands = click.Group()


@command(commands, "supersede")
@click.argument("old")
@click.argument("new")
@options.said_by
def supersede(session: Session, /, old: str, new: str, by: str) -> None:
    """Let the memory NEW take the place of OLD.

    OLD stays, and is found with --superseded, or with --as-of a time when it held.
    """
    with session.open() as athand:
        replaced = athand.memories.supersede(old, new, by=by)
        successor = athand.memories.get(new)
    undo = f"Undo it with: athand memory unsupersede {old}"
    session.report(replaced, f"Superseded {label_memory(replaced)}\n        by {label_memory(successor)}\n{undo}")


@command(commands, "unsupersede")
@click.argument("old")
def unsupersede(session: Session, /, old: str) -> None:
    """Let the memory OLD hold again."""
    with session.open() as athand:
        restored = athand.memories.unsupersede(old)
    session.report(restored, f"Holds again: {label_memory(restored)}")


@command(commands, "relate")
@click.argument("source")
@click.argument("type", type=click.Choice(options.RELATIONS, case_sensitive=False))
@click.argument("target")
@options.said_by
def relate(session: Session, /, source: str, target: str, **given: Any) -> None:
    """Say how the memory SOURCE stands to TARGET.

    \b
    Example:
      athand memory relate SOURCE builds_on TARGET
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    with session.open() as athand:
        relation = athand.memories.relate(source, target, **given)
        ends = [athand.memories.get(id_) for id_ in (source, target)]
    if not session.print_plain(relation, data="type"):
        session.say(f"{label_memory(ends[0])}\n  {relation.type}\n{label_memory(ends[1])}")


@command(commands, "related")
@options.memory_id
def related(session: Session, /, id: str) -> None:
    """Show what a memory is related with.

    An arrow to the right is what it says of others, to the left what they say of it.
    """
    with session.open() as athand:
        found = athand.memories.related(id)
    if session.as_json:
        session.show([each.to_dict() for each in found])
    elif session.quiet:
        session.print_plain([each.memory for each in found])
    elif found:
        from athand.adapters.cli.render_memories import print_related

        print_related(session.console(), id, found)
    else:
        session.say(f"Related with nothing. Relate it with: athand memory relate {id} RELATED_TO TARGET")
