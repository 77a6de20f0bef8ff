"""How time looks: memories along a line, and the sessions they were made in."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from athand.adapters.cli.render import make_cell, make_table, print_table
from athand.adapters.cli.words import describe_session, format_short_age, format_time, has_ended, to_one_line

if TYPE_CHECKING:
    from athand.memories import Memory, SessionContext, Timeline
    from athand.memories import Session as MemorySession

_WIDE = 80


def print_timeline(console: Console, timeline: "Timeline", successors: Mapping[str, "Memory"]) -> None:
    """The memories one below the other, the anchor marked; the date and the session where they change."""
    memories = [*timeline.before, timeline.anchor, *timeline.after]
    dates = _dates(memories)
    is_wide = console.width >= _WIDE
    table = make_table("memory", *(["sector"] if is_wide else []), "note", flexible="memory", header=False)
    table.columns[-1].max_width = console.width * 2 // 5
    for at, (memory, note) in enumerate(zip(memories, _notes(timeline, memories, successors), strict=True)):
        if at and dates[at].strip():
            table.add_row(Text(" " * (len(dates[at]) + 3) + "│", "dim"))
        line = Text(f" {dates[at]} ", no_wrap=True, overflow="ellipsis").append(f"{_branch(dates, at)} ", "dim")
        line.append_text(_title(memory, is_anchor=memory is timeline.anchor))
        table.add_row(line, *([make_cell(memory.sector, "dim")] if is_wide else []), note)
    console.print(table)


def _dates(memories: Sequence["Memory"]) -> list[str]:
    """The day of each memory, blank where it is that of the one before; the year only if one is not this year's."""
    days = [memory.created_at.date() for memory in memories]
    with_year = any(day.year != datetime.now(UTC).year for day in days)
    shown = [f"{day:%d %b %Y}" if with_year else f"{day:%d %b}" for day in days]
    return [" " * len(text) if at and shown[at - 1] == text else text for at, text in enumerate(shown)]


def _branch(dates: Sequence[str], at: int) -> str:
    """Where the line of time begins, goes on or ends; a day has an arm to its date."""
    is_first, is_last = at == 0, at == len(dates) - 1
    if not dates[at].strip():
        return " └─" if is_last else " ├─"
    return "───" if is_first and is_last else "─┬─" if is_first else "─┴─" if is_last else "─┼─"


def _title(memory: "Memory", *, is_anchor: bool) -> Text:
    title = to_one_line(memory.title)
    if is_anchor:
        return Text.assemble(("● ", "green"), (title, "bold"))
    return Text(title, "dim" if has_ended(memory) else "")


def _notes(timeline: "Timeline", memories: Sequence["Memory"], successors: Mapping[str, "Memory"]) -> Iterator[Text]:
    """Whether each memory still holds, and its session: ″ is the one above."""
    above = None
    for memory in memories:
        session = timeline.sessions.get(memory.session or "")
        pieces = [
            _superseded(memory, successors.get(memory.id)),
            Text("″" if session == above else f"session {describe_session(session)}", "dim") if session else Text(),
        ]
        yield Text(" · ", no_wrap=True, overflow="ellipsis").join(filter(None, pieces))
        above = session


def _superseded(memory: "Memory", successor: "Memory | None") -> Text:
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
            make_cell(_lasted(session), "dim"),
            make_cell(session.summary or "—"),
        )
    print_table(console, table)


def _lasted(session: "MemorySession") -> str:
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
