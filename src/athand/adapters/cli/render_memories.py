"""How memories look: in a list, in full, beside each other."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from athand.adapters.cli.render import make_cell, make_table, print_table
from athand.adapters.cli.words import (
    draw_bar,
    escape_controls,
    find_successor,
    format_age,
    format_fraction,
    format_short_age,
    format_time,
    has_ended,
    label_session,
    pluralize,
    to_one_line,
)
from athand.text_length import shorten

if TYPE_CHECKING:
    from athand.memories import Memory, Related, SessionContext

_WIDE = 90
_LONGEST_PROJECT = 16
_COLUMNS: Mapping[str, Callable[["Memory"], Text]] = {
    "id": lambda memory: make_cell(memory.id, "cyan"),
    "memory": lambda memory: _title(memory),
    "sector": lambda memory: make_cell(memory.sector, "dim"),
    "project": lambda memory: make_cell(shorten(memory.project, _LONGEST_PROJECT)),
    "age": lambda memory: make_cell(format_short_age(memory.created_at), "dim"),
    "salience": lambda memory: make_cell(draw_bar(memory.effective_salience, len("salience")), "blue"),
}
_NEEDS_WIDTH = ("sector", "salience")


def print_memories(console: Console, memories: Sequence["Memory"]) -> None:
    """A list to choose from; a narrow terminal shows fewer columns."""
    is_wide = console.width >= _WIDE
    columns = {name: show for name, show in _COLUMNS.items() if is_wide or name not in _NEEDS_WIDTH}
    table = make_table(*columns, flexible="memory")
    for memory in memories:
        table.add_row(*(show(memory) for show in columns.values()))
    print_table(console, table)


def _style(memory: "Memory") -> str:
    return "strike dim" if memory.is_deleted else "dim" if has_ended(memory) else ""


def _title(memory: "Memory") -> Text:
    """The title, behind what is special about the memory: there it is never cut off."""
    states = {
        ("deleted", "red"): memory.is_deleted,
        ("superseded", "red"): has_ended(memory),
        ("pinned", "yellow"): memory.pinned,
        (memory.tier, "magenta"): memory.tier != "project",
    }
    words = [Text.assemble(state, " · ") for state, holds in states.items() if holds]
    return Text(no_wrap=True, overflow="ellipsis").join([*words, make_cell(memory.title, _style(memory))])


def print_similar(console: Console, added: "Memory") -> None:
    """What resembles a memory that was just added, and what to do about it."""
    table = make_table("score", "id", "memory", "when", flexible="memory", header=False)
    for each in added.similar:
        score, name = Text(f"  {format_fraction(each.score)}", "green"), make_cell(each.id, "cyan")
        table.add_row(score, name, make_cell(each.content), make_cell(format_age(each.created_at), "dim"))
    old = added.similar[0].id if len(added.similar) == 1 else "OLD"
    console.print(" Similar is remembered already:")
    print_table(console, table)
    console.print(Text(f" If the new one replaces it:  athand memory supersede {old} {added.id}"), soft_wrap=True)


def print_memory(
    console: Console, memory: "Memory", related: Sequence["Related"], used: "SessionContext | None"
) -> None:
    """Everything about one memory."""
    console.print(Padding(Text(escape_controls(memory.content)), (0, 0, 1, 1), expand=False))
    table = make_table("name", "value", flexible="value", header=False)
    details = {
        **_what(memory),
        **_whence(memory, used),
        **_while(memory, related),
        "salience": _salience(memory),
        **{name: ", ".join(getattr(memory, name)) for name in ("tags", "concepts", "files")},
        "deleted": f"{format_time(memory.deleted_at)}; see: athand memory restore" if memory.deleted_at else None,
    }
    for name, value in details.items():
        if value:
            table.add_row(Text(name, "dim"), value if isinstance(value, Text) else Text(escape_controls(value)))
    print_table(console, table)
    if related:
        console.print()
        print_related(console, memory.id, related)


def _what(memory: "Memory") -> dict[str, str | None]:
    shows = {"session": "shows in its session only", "global": "shows in every project"}.get(memory.tier)
    kinds = (memory.sector, memory.memory_type, "pinned" if memory.pinned else None)
    return {
        "id": memory.id,
        "project": " · ".join(filter(None, (memory.project, shows))),
        "kind": " · ".join(filter(None, kinds)),
        "summary": memory.summary,
    }


def _whence(memory: "Memory", used: "SessionContext | None") -> dict[str, str | None]:
    """Who said it and who wrote it down: what an agent stored is not the user's word."""
    writer = {"agent": "an agent", "user": "a user", "import": "an import"}[memory.written_by]
    is_own = used is not None and used.session.id == memory.session
    changed = memory.updated_at.replace(microsecond=0) > memory.created_at.replace(microsecond=0)
    return {
        "author": memory.author,
        "written by": writer,
        "context": memory.context,
        "session": label_session(used.session) if used and is_own else memory.session,
        "last used": f"{used.usage_type} in session {label_session(used.session)}" if used and not is_own else None,
        "created": format_time(memory.created_at),
        "updated": format_time(memory.updated_at) if changed else None,
    }


def _while(memory: "Memory", related: Sequence["Related"]) -> dict[str, "str | Text | None"]:
    """How long it held, and what took its place."""
    since = f"since {format_time(memory.valid_from)}" if memory.valid_from != memory.created_at else None
    until = f"until {format_time(memory.valid_until)}" if memory.valid_until else None
    successor = find_successor(memory, related)
    by = Text.assemble("by ", (successor.id, "cyan"), f"  {to_one_line(successor.title)}") if successor else None
    return {
        "valid": " ".join(filter(None, (since, until))),
        "superseded": by,
    }


def _salience(memory: "Memory") -> Text:
    now, stored = format_fraction(memory.effective_salience), format_fraction(memory.salience)
    used = f"used {pluralize(memory.access_count, 'time')}, last {format_age(memory.last_accessed)}"
    return Text.assemble(
        (draw_bar(memory.effective_salience), "blue"),
        f" {now} now, {stored} stored · importance {format_fraction(memory.importance)}",
        f" · {used}" if memory.access_count else " · never used",
    )


def print_related(console: Console, id_: str, related: Sequence["Related"]) -> None:
    """What a memory is related with: to the right what it says of others, to the left what they say of it."""
    table = make_table("relation", "id", "memory", "by", "age", flexible="memory")
    for each in related:
        relation, memory = each.relation, each.memory
        arrow = "→" if relation.source_id == id_ else "←"
        table.add_row(
            f"{arrow} {relation.type}",
            make_cell(memory.id, "cyan"),
            make_cell(memory.title, _style(memory)),
            make_cell(relation.by, "dim"),
            make_cell(format_short_age(relation.valid_from), "dim"),
        )
    print_table(console, table)
