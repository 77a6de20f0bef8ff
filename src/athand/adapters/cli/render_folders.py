"""How folders look: their states, what was left out of them, what is wrong with their files."""

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from athand.adapters.cli.render import make_cell, make_table, print_table
from athand.adapters.cli.words import draw_bar, format_short_age, pluralize, to_one_line

if TYPE_CHECKING:
    from athand.documents import Folder, Problem

_STATES = {"ready": "green", "indexing": "blue", "pending": "yellow", "offline": "yellow", "error": "red"}
_MOST_REASONS, _MOST_NAMED = 6, 3
_WIDE = 100


def print_folders(console: Console, folders: Sequence["Folder"]) -> None:
    """One line for each folder; below it, why it is not ready."""
    is_wide = console.width >= _WIDE
    columns = ("folder", "state", "documents", "chunks", "problems", "age", *(["path"] if is_wide else []))
    table = make_table(*columns, flexible="path" if is_wide else "state")
    for column in table.columns[2:5]:
        column.justify = "right"
    for each in folders:
        table.add_row(
            make_cell(each.folder_id, "cyan"),
            _state(each),
            f"{each.documents:,}",
            f"{each.chunks:,}",
            Text(f"{each.problems:,}", "yellow" if each.problems else "dim"),
            make_cell(format_short_age(each.indexed_at) if each.indexed_at else "—", "dim"),
            *([make_cell(each.path, "dim")] if is_wide else []),
        )
    print_table(console, table)
    for each in folders:
        if each.reason:
            console.print(Text.assemble((" ! ", "yellow"), f"{each.folder_id}: {to_one_line(each.reason)}"))


def _state(folder: "Folder") -> Text:
    state = Text(folder.state, _STATES.get(folder.state, ""))
    if folder.state == "indexing":
        state.append(f" {draw_bar(folder.progress)} {folder.done:,} / {folder.total:,}")
    return state


def print_indexed(console: Console, folder: "Folder", problems: Sequence["Problem"]) -> None:
    """What was left out of a folder that was just indexed, and what is wrong with the rest, by reason."""
    if folder.skipped:
        left_out = ", ".join(f"{count:,} {reason}" for reason, count in sorted(folder.skipped.items()))
        console.print(Text(f" Left out: {left_out}", "dim"))
    if not problems:
        return
    console.print(Text.assemble((" ! ", "yellow"), f"{pluralize(len(problems), 'problem')}:"))
    by_reason: dict[str, list[str]] = defaultdict(list)
    for each in problems:
        by_reason[each.reason].append(each.document_id)
    table = make_table("count", "reason", "files", flexible="files", header=False)
    table.columns[0].justify = "right"
    for reason, paths in sorted(by_reason.items(), key=lambda each: -len(each[1]))[:_MOST_REASONS]:
        more = f" and {len(paths) - _MOST_NAMED:,} more" if len(paths) > _MOST_NAMED else ""
        table.add_row(f"  {len(paths):,}", make_cell(reason), make_cell(", ".join(paths[:_MOST_NAMED]) + more, "dim"))
    print_table(console, table)
    console.print(Text(f" See all:  athand docs status {folder.folder_id} --problems"), soft_wrap=True)


def print_problems(console: Console, problems: Sequence["Problem"]) -> None:
    """Every file that is not, or not quite, as it should be."""
    table = make_table("folder", "file", "reason", flexible="reason")
    table.columns[1].no_wrap, table.columns[1].overflow = False, "fold"
    for each in problems:
        said = f"{each.reason} (indexed all the same)" if each.is_indexed else each.reason
        table.add_row(
            make_cell(each.folder_id, "cyan"), Text(to_one_line(each.document_id)), Text(to_one_line(said), "dim")
        )
    print_table(console, table)
