"""How folders and documents look: states and problems, lists, directories, outlines, chunks."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from athand.adapters.cli.render import make_cell, make_table, print_table
from athand.adapters.cli.words import (
    WITHIN,
    draw_bar,
    escape_controls,
    format_age,
    format_short_age,
    format_size,
    pluralize,
    to_one_line,
)

if TYPE_CHECKING:
    from athand.documents import Chunk, Directory, Document, DocumentData, Folder, FoundDocument, Problem
    from athand.documents.model import ChunkPreview

_WIDE, _WIDE_FOLDERS = 90, 100  # columns of the terminal
_STATES = {
    "ready": "green",
    "indexing": "blue",
    "pending": "yellow",
    "offline": "yellow",
    "imported": "yellow",
    "error": "red",
}
_MOST_REASONS, _MOST_NAMED = 6, 3


def print_found(console: Console, documents: Sequence["FoundDocument"]) -> None:
    """Documents that fit: the score, the path and the title; below, what is known of them."""
    for each in documents:
        title = to_one_line(each.title)
        named = "" if title == each.document_id.rpartition("/")[2] else f"  {title}"
        line = Text.assemble(
            (f" {each.score:.2f}  ", "green"),
            (to_one_line(each.document_id), "bold"),
            named,
            (f"  {each.folder_id}", "dim"),
        )
        console.print(line, overflow="ellipsis", no_wrap=True)
        if each.keywords:
            phrases = Text.assemble(" " * 7, (to_one_line(" · ".join(each.keywords)), "italic"))
            console.print(phrases, overflow="ellipsis", no_wrap=True)
        console.print(
            Text.assemble(" " * 7, *_list_matches(each), (_describe_document(each), "dim")),
            overflow="ellipsis",
            no_wrap=True,
        )


def _list_matches(found: "FoundDocument") -> list[tuple[str, str]]:
    matched = to_one_line(", ".join(found.why.matched))
    return [("matched: ", "dim"), (matched, "yellow"), (" · ", "dim")] if matched else []


def _describe_document(document: "Document") -> str:
    kind = document.language or document.kind
    parts = (kind, pluralize(document.chunk_count, "chunk"), format_size(document.size))
    return " · ".join((*parts, f"changed {format_age(document.modified_at)}"))


def print_documents(console: Console, documents: Sequence["Document"]) -> None:
    """A list of documents to choose from."""
    is_wide = console.width >= _WIDE
    wide = ("key phrases",) if is_wide and any(each.keywords for each in documents) else ()
    table = make_table("document", "kind", "lines", "size", "age", *wide, flexible=wide[0] if wide else "document")
    for column in table.columns[2:4]:
        column.justify = "right"
    for each in documents:
        table.add_row(
            make_cell(each.document_id, "bold"),
            make_cell(each.language or each.kind, "dim"),
            f"{each.lines:,}",
            format_size(each.size),
            make_cell(format_short_age(each.modified_at), "dim"),
            *([make_cell(" · ".join(each.keywords), "italic")] if wide else []),
        )
    if documents:
        print_table(console, table)


def print_directory(console: Console, directory: "Directory") -> None:
    """The subfolders with what they are about, then the documents."""
    table = make_table("directory", "documents", "size", "about", flexible="about", header=False)
    for column in table.columns[1:3]:
        column.justify = "right"
    for each in directory.subfolders:
        name = make_cell(f"{each.path}/", "bold blue")
        about = make_cell(" · ".join(each.keywords), "italic")
        table.add_row(name, pluralize(each.documents, "document"), format_size(each.size), about)
    if directory.subfolders:
        print_table(console, table)
    if directory.subfolders and directory.documents:
        console.print()
    print_documents(console, directory.documents)


def print_document(console: Console, data: "DocumentData", *, is_first: bool) -> None:
    """Title, details, key phrases, outline with line numbers, chunks; of a later page, the chunks only."""
    document = data.document
    if is_first:
        console.print(Text(f" {to_one_line(document.title)}", "bold"))
        console.print(Text(f" {document.folder_id}  {to_one_line(document.document_id)}", "cyan"))
        console.print(
            Text(f" {_describe_document(document)} · {pluralize(document.lines, 'line')} · {data.encoding}", "dim")
        )
        if data.problem:
            console.print(Text.assemble((" ! ", "yellow"), to_one_line(data.problem)))
        if document.keywords:
            console.print(Text(f" {to_one_line(' · '.join(document.keywords))}", "italic"))
        _print_outline(console, data)
    console.print()
    _print_previews(console, data.chunks)


def _print_outline(console: Console, data: "DocumentData") -> None:
    if not data.outline:
        return
    console.print()
    top = min(each.level for each in data.outline)
    width = len(str(data.document.lines))
    for each in data.outline:
        indent = "  " * (each.level - top)
        line = Text.assemble((f" {each.line:>{width}}  ", "dim"), f"{indent}{to_one_line(each.title)}")
        console.print(line, overflow="ellipsis", no_wrap=True)


def _print_previews(console: Console, chunks: Sequence["ChunkPreview"]) -> None:
    table = make_table("chunk", "lines", "begins with", flexible="begins with")
    table.columns[1].justify = "right"
    for each in chunks:
        place = Text(f"{each.place} · ", "dim") if each.place else Text()
        begin = Text(no_wrap=True, overflow="ellipsis").join([place, make_cell(each.preview)])
        table.add_row(make_cell(each.chunk_id, "cyan"), f"{each.start_line}:{each.end_line}", begin)
    print_table(console, table)


def print_chunks(console: Console, chunks: Sequence["Chunk"], requested: Collection[str]) -> None:
    """Chunks in full, each under where it stands; the requested ones are marked."""
    for each in chunks:
        mark = ("● ", "green") if each.chunk_id in requested and len(requested) < len(chunks) else ("", "")
        where = WITHIN.join(filter(None, (each.place, *each.heading)))
        head = Text.assemble(" ", mark, (f"{each.document_id}:{each.start_line}", "bold"), (f"  {where}", "dim"))
        console.print(head, overflow="ellipsis", no_wrap=True)
        for line in each.content.strip("\n").split("\n"):
            console.print(Text(f"   {escape_controls(line)}"), soft_wrap=True)
        console.print()


# Folders


def print_folders(console: Console, folders: Sequence["Folder"]) -> None:
    """One line for each folder; below it, why it is not ready."""
    is_wide = console.width >= _WIDE_FOLDERS
    columns = ("folder", "state", "documents", "chunks", "problems", "age", *(["path"] if is_wide else []))
    table = make_table(*columns, flexible="path" if is_wide else "state")
    for column in table.columns[2:5]:
        column.justify = "right"
    for each in folders:
        table.add_row(
            make_cell(each.folder_id, "cyan"),
            _draw_state(each),
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


def _draw_state(folder: "Folder") -> Text:
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
