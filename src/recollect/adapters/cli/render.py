"""How answers look: the answer first, the reason beside it, quiet colours."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from recollect.memories import Memory
    from recollect.types import Hit, Hits

_BAR = 9
_LABELS = {"semantic": "meaning"}
_SINGULAR = {"memories": "memory"}
_STEPS = ((60, "second"), (60, "minute"), (24, "hour"), (30, "day"), (12, "month"))


def ago(time: datetime, now: datetime | None = None) -> str:
    """How long ago, in one unit."""
    amount = ((now or datetime.now(UTC)) - time).total_seconds()
    if amount < 0:
        return time.strftime("%-d %b %Y")
    if amount < 45:
        return "just now"
    for size, unit in _STEPS:
        if amount < size:
            return f"{int(amount)} {unit}{'s' if int(amount) != 1 else ''} ago"
        amount /= size
    return f"{int(amount)} year{'s' if int(amount) != 1 else ''} ago"


def bar(value: float) -> str:
    """A value from 0 to 1 as blocks."""
    full = round(min(1.0, max(0.0, value)) * _BAR)
    return "█" * full + "░" * (_BAR - full)


def print_hits(console: Console, hits: "Hits", *, explain: bool = False) -> None:
    """Each hit: score, what it is, where it is from; the passage; the reasons."""
    for hit in hits:
        console.print(_headline(hit, console.width))
        for line in _passage(hit, console.width):
            console.print(line)
        console.print(_explained(hit) if explain else _reasons(hit), soft_wrap=True)


def _headline(hit: "Hit", width: int) -> Text:
    where, kind = _origin(hit), _SINGULAR.get(hit.corpus, hit.corpus)
    title = Text(hit.title.replace("\n", " "), style="bold")
    title.truncate(_title_room(hit, width), overflow="ellipsis", pad=True)
    return Text.assemble((f" {hit.score:.2f}  ", "green"), (f"{kind:<9} ", "cyan"), " ", title, "  ", (where, "dim"))


def _origin(hit: "Hit") -> str:
    return f"{hit.item.project} · {ago(hit.item.created_at)}"


def _title_room(hit: "Hit", width: int) -> int:
    return max(20, width - 21 - len(_origin(hit)))


def _passage(hit: "Hit", width: int) -> list[Text]:
    """The text, where it says more than the title; the words that matched stand out."""
    text = " ".join(hit.text.split())
    if text == hit.title and len(text) <= _title_room(hit, width):
        return []
    shown = Text(f"“{text}”")
    shown.truncate(2 * (width - 20), overflow="ellipsis")
    lines = shown.wrap(Console(width=width), max(20, width - 20))
    return [Text(" " * 18) + line for line in lines]


def _reasons(hit: "Hit") -> Text:
    line = Text(" " * 18)
    for name, signal in hit.why.signals.items():
        line.append(f"{_LABELS.get(name, name)} ", "dim")
        line.append(bar(signal.calibrated), "blue")
        line.append(f" {signal.calibrated:.2f}   ".replace(" 0.", " ."), "dim")
    if hit.why.matched:
        line.append("matched ", "dim").append(", ".join(hit.why.matched), "yellow")
    return line


def _explained(hit: "Hit") -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=True, header_style="dim")
    table.add_column(" " * 16)
    for column in ("signal", "measured", "means", "weight", "adds"):
        table.add_column(column, justify="left" if column == "signal" else "right")
    for name, signal in hit.why.signals.items():
        numbers = (
            f"{signal.raw:.3f}",
            f"{signal.calibrated:.3f}",
            f"{signal.weight:.2f}",
            f"{signal.contribution:+.3f}",
        )
        table.add_row("", _LABELS.get(name, name), *numbers)
    table.add_row("", "total", "", "", "", f"{hit.why.total:.3f}", style="bold")
    return table


def print_memories(console: Console, memories: Sequence["Memory"]) -> None:
    """A list to choose from."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", expand=False)
    for column, least in (("id", 18), ("memory", 20), ("project", 8), ("when", 12)):
        table.add_column(column, no_wrap=True, overflow="ellipsis", min_width=least)
    for memory in memories:
        title = Text(memory.title, style="strike dim" if memory.is_deleted else "")
        table.add_row(Text(memory.id, "cyan"), title, memory.project, Text(ago(memory.created_at), "dim"))
    console.print(table)


def print_memory(console: Console, memory: "Memory") -> None:
    """Everything about one memory."""
    console.print(Text(memory.content))
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(style="dim")
    table.add_column()
    known = {
        "id": memory.id,
        "project": memory.project,
        "created": f"{memory.created_at:%Y-%m-%d %H:%M} UTC ({ago(memory.created_at)})",
        "author": memory.author,
        "context": memory.context,
        "tags": ", ".join(memory.tags),
        "deleted": "yes, see: recollect memory restore" if memory.is_deleted else None,
    }
    for name, value in known.items():
        if value:
            table.add_row(name, Text(value))
    console.print()
    console.print(table)
