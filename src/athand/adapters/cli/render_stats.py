"""How numbers look: counts, and how they are spread."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from athand.adapters.cli.render import make_cell, make_table, print_table
from athand.adapters.cli.words import draw_bar, format_fraction, pluralize

if TYPE_CHECKING:
    from athand.memories import Stats

_MOST_ROWS = 12


def print_stats(console: Console, stats: "Stats") -> None:
    """What there is, counted, and its kinds as bars."""
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
