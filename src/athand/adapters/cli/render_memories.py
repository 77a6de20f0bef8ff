"""How memories look: in lists, in full, along a line of time, in sessions, and counted."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from athand.adapters.cli.render import make_cell, make_table, print_table
from athand.adapters.cli.words import (
    describe_session,
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
    from athand.memories import Memory, Related, SessionContext, Stats, Timeline
    from athand.memories import Session as MemorySession

_WIDE, _WIDE_TIMELINE = 90, 100  # columns of the terminal
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
_MOST_ROWS = 12


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
    is_of_one = memory.pinned and memory.pinned_by == memory.written_by != "user"
    states = {
        ("deleted", "red"): memory.is_deleted,
        ("superseded", "red"): has_ended(memory),
        (f"pinned and {memory.writer_note}" if is_of_one else memory.pin_note, "yellow"): memory.pinned,
        (memory.tier, "magenta"): memory.tier != "project",
        (memory.writer_note, "dim"): memory.writer_note != "" and not is_of_one,
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
        **_describe_kind(memory),
        **_describe_origin(memory, used),
        **_describe_validity(memory, related),
        "salience": _draw_salience(memory),
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


def _describe_kind(memory: "Memory") -> dict[str, str | None]:
    shows = {"session": "shows in its session only", "global": "shows in every project"}.get(memory.tier)
    kinds = (memory.sector, memory.memory_type, memory.pin_note)
    return {
        "id": memory.id,
        "project": " · ".join(filter(None, (memory.project, shows))),
        "kind": " · ".join(filter(None, kinds)),
        "summary": memory.summary,
    }


def _describe_origin(memory: "Memory", used: "SessionContext | None") -> dict[str, str | None]:
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


def _describe_validity(memory: "Memory", related: Sequence["Related"]) -> dict[str, "str | Text | None"]:
    """How long it held, and what took its place."""
    since = f"since {format_time(memory.valid_from)}" if memory.valid_from != memory.created_at else None
    until = f"until {format_time(memory.valid_until)}" if memory.valid_until else None
    successor = find_successor(memory, related)
    by = Text.assemble("by ", (successor.id, "cyan"), f"  {to_one_line(successor.title)}") if successor else None
    return {
        "valid": " ".join(filter(None, (since, until))),
        "superseded": by,
    }


def _draw_salience(memory: "Memory") -> Text:
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


# Time and sessions


def print_timeline(console: Console, timeline: "Timeline", successors: Mapping[str, "Memory"]) -> None:
    """The memories one below the other, the anchor marked; date and session where they change."""
    memories = [*timeline.before, timeline.anchor, *timeline.after]
    dates = _format_dates(memories)
    is_wide = console.width >= _WIDE_TIMELINE
    table = make_table("memory", *(["sector"] if is_wide else []), "note", flexible="memory", header=False)
    table.columns[-1].max_width = console.width * 2 // 5 if is_wide else console.width // 4
    for at, (memory, note) in enumerate(zip(memories, _note_ends(timeline, memories, successors), strict=True)):
        if at and dates[at].strip():
            table.add_row(Text(" " * (len(dates[at]) + 3) + "│", "dim"))
        line = Text(f" {dates[at]} ", no_wrap=True, overflow="ellipsis").append(f"{_draw_branch(dates, at)} ", "dim")
        line.append_text(_timeline_title(memory, is_anchor=memory is timeline.anchor))
        table.add_row(line, *([make_cell(memory.sector, "dim")] if is_wide else []), note)
    console.print(table)


def _format_dates(memories: Sequence["Memory"]) -> list[str]:
    """The day of each memory, blank where it is that of the one before; the year only if one is not this year's."""
    days = [memory.created_at.date() for memory in memories]
    with_year = any(day.year != datetime.now(UTC).year for day in days)
    shown = [f"{day:%d %b %Y}" if with_year else f"{day:%d %b}" for day in days]
    return [" " * len(text) if at and shown[at - 1] == text else text for at, text in enumerate(shown)]


def _draw_branch(dates: Sequence[str], at: int) -> str:
    """Where the line of time begins, goes on or ends; a day has an arm to its date."""
    is_first, is_last = at == 0, at == len(dates) - 1
    if not dates[at].strip():
        return " └─" if is_last else " ├─"
    return "───" if is_first and is_last else "─┬─" if is_first else "─┴─" if is_last else "─┼─"


def _timeline_title(memory: "Memory", *, is_anchor: bool) -> Text:
    title = to_one_line(memory.title)
    if is_anchor:
        return Text.assemble(("● ", "green"), (title, "bold"))
    return Text(title, "dim" if has_ended(memory) else "")


def _note_ends(
    timeline: "Timeline", memories: Sequence["Memory"], successors: Mapping[str, "Memory"]
) -> Iterator[Text]:
    """Whether each memory still holds, and its session: ″ is the one above."""
    above = None
    for memory in memories:
        session = timeline.sessions.get(memory.session or "")
        pieces = [
            _describe_end(memory, successors.get(memory.id)),
            Text("″" if session == above else f"session {describe_session(session)}", "dim") if session else Text(),
        ]
        yield Text(" · ", no_wrap=True, overflow="ellipsis").join(filter(None, pieces))
        above = session


def _describe_end(memory: "Memory", successor: "Memory | None") -> Text:
    if successor:
        return Text.assemble(("superseded by ", "red"), (successor.id, "cyan"))
    return Text(f"held until {memory.valid_until:%-d %b %Y}" if has_ended(memory) else "", "red")


def print_sessions(console: Console, sessions: Sequence["MemorySession"]) -> None:
    """A list of sessions to choose from."""
    table = make_table("id", "project", "age", "lasted", "summary", flexible="summary")
    for session in sessions:
        table.add_row(
            make_cell(session.id, "cyan"),
            make_cell(session.project),
            make_cell(format_short_age(session.started_at), "dim"),
            make_cell(_format_length(session), "dim"),
            make_cell(session.summary or "—"),
        )
    print_table(console, table)


def _format_length(session: "MemorySession") -> str:
    if session.ended_at is None:
        return "open"
    minutes = round((session.ended_at - session.started_at).total_seconds() / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h" if minutes < 2880 else f"{minutes // 1440} days"


def print_context(console: Console, used: "SessionContext") -> None:
    """The session that used a memory last."""
    session = used.session
    table = make_table("name", "value", flexible="value", header=False)
    details = {
        "session": session.id,
        "summary": session.summary,
        "project": session.project,
        "began": format_time(session.started_at),
        "ended": format_time(session.ended_at) if session.ended_at else "still open",
        "usage": f"the memory was {used.usage_type} in it",
        "memories": f"{used.memories_in_session:,} in this session",
    }
    for name, value in details.items():
        if value:
            table.add_row(Text(name, "dim"), Text(to_one_line(value)))
    print_table(console, table)


# Figures


def print_stats(console: Console, stats: "Stats") -> None:
    """How many memories there are, and how many of each kind, as bars."""
    marks = {"pinned": stats.pinned, "superseded": stats.superseded, "deleted": stats.deleted}
    counts = [pluralize(stats.memories, "memory", "memories")]
    counts += [f"{number:,} {name}" for name, number in marks.items() if number]
    counts += [pluralize(stats.sessions, "session"), pluralize(stats.relations, "relation")]
    console.print(f" {' · '.join(counts)}")
    if not stats.memories:
        return
    salience = Text.assemble(
        " salience ", (draw_bar(stats.salience), "blue"), f" {format_fraction(stats.salience)} on average"
    )
    console.print(salience)
    table = make_table("by", "kind", "count", "share", header=False, flexible="kind")
    table.columns[2].justify = "right"
    for name in ("project", "sector", "tier", "type"):
        _add_spread(table, name, getattr(stats, f"by_{name}"), stats.memories)
    print_table(console, table)


def _add_spread(table: Table, name: str, counts: Mapping[str, int], total: int) -> None:
    """One row for each kind, the name beside the first; of very many, the most frequent."""
    if counts:
        table.add_row()
    for row, (kind, count) in enumerate(list(counts.items())[:_MOST_ROWS]):
        label = Text("" if row else name, "dim")
        table.add_row(label, make_cell(kind), f"{count:,}", Text(draw_bar(count / total), "blue"))
    if len(counts) > _MOST_ROWS:
        table.add_row("", make_cell(f"and {len(counts) - _MOST_ROWS:,} more", "dim"))
