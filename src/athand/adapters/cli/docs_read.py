"""`athand docs …`: look around in folders, and read what is in them."""

import re
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from athand.adapters.cli import options
from athand.adapters.cli.session import Session, command
from athand.adapters.cli.words import escape_controls, pluralize

if TYPE_CHECKING:
    from athand.documents import Directory, Documents, DocumentText

commands = click.Group()
_LINES = re.compile(r"(\d*):(\d*)|(\d+)")
_WINDOW = 100_000  # characters that are read at once


@command(commands, "explore")
@options.folder_id
@click.argument("path", metavar="[DIRECTORY]", default="")
def explore(session: Session, /, folder_id: str, path: str) -> None:
    """Look into a directory: its subfolders and its documents.

    Of each the size, and a few phrases that say what it is about.

    \b
    Example:
      athand docs explore notes guides/deploy
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    with session.open() as athand:
        found = athand.documents.explore(folder_id, path)
    if session.quiet and not session.as_json:
        for name in (*(f"{each.path}/" for each in found.subfolders), *(each.document_id for each in found.documents)):
            click.echo(name)
    elif not session.print_plain(found):
        from athand.adapters.cli.render_documents import print_directory

        print_directory(session.console(), found)
        session.say(click.style(f"\n {_counts(found)}", dim=True))


def _counts(directory: "Directory") -> str:
    inside = sum(each.documents for each in directory.subfolders)
    below = f"{pluralize(inside, 'document')} in {pluralize(len(directory.subfolders), 'subfolder')}" if inside else ""
    here = f"{pluralize(len(directory.documents), 'document')} here" if directory.documents or not inside else ""
    return " · ".join(filter(None, (below, here)))


@command(commands, "list")
@options.folder_id
@click.argument("path", metavar="[PATTERN]", default="")
@click.option("--limit", default=20, show_default=True, help="How many at most, up to 500.")
@options.token
def list_(session: Session, /, folder_id: str, path: str, limit: int, **given: Any) -> None:
    """List the documents of a folder by their paths.

    PATTERN is a directory, or a pattern such as "guides/**/*.md".

    \b
    Example:
      athand docs list notes "*.md"
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    with session.open() as athand:
        found = athand.documents.list_documents(folder_id, path, limit, **options.drop_unset(given))
    if session.as_json:
        session.show(found.to_dict())
    elif session.quiet:
        session.print_plain(found.documents, data="document_id")
    else:
        from athand.adapters.cli.render_documents import print_documents

        print_documents(session.console(), found.documents)
        session.say(click.style(f"\n {pluralize(found.total, 'document')}", dim=True))
        session.say_next_page(
            found.continuation, "docs", "list", folder_id, *filter(None, [path]), "--limit", str(limit)
        )


@command(commands, "show")
@options.folder_id
@options.document_id
@click.option("--limit", default=50, show_default=True, help="How many chunks at most, up to 500.")
@options.token
def show(session: Session, /, folder_id: str, document_id: str, limit: int, **given: Any) -> None:
    """Show what is known of a document: outline, chunks, key phrases.

    \b
    Example:
      athand docs show notes guides/deploy.md
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    with session.open() as athand:
        found = athand.documents.get_document_data(folder_id, document_id, limit=limit, **options.drop_unset(given))
    if session.as_json:
        session.show(found.to_dict())
    elif session.quiet:
        session.print_plain(found.chunks, data="chunk_id")
    else:
        from athand.adapters.cli.render_documents import print_document

        print_document(session.console(), found, is_first=not given["continuation_token"])
        session.say_next_page(found.continuation, "docs", "show", folder_id, document_id, "--limit", str(limit))


@command(commands, "text")
@options.folder_id
@options.document_id
@click.option("--lines", metavar="FIRST:LAST", help="Only these lines, such as 10:40, 10: or :40.")
@click.option("--max-chars", metavar="N", type=int, help="At most so many characters; all, if not given.")
@options.token
def text(
    session: Session, /, folder_id: str, document_id: str, lines: str | None, max_chars: int | None, **given: Any
) -> None:
    """Print the exact text of a document, and nothing else.

    With --max-chars the command for the rest is told beside it. With --json, one window of it: 5,000 characters, if
    --max-chars does not say otherwise.

    \b
    Examples:
      athand docs text notes guides/deploy.md --lines 10:40
      athand docs text notes report.pdf > report.txt
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    asked = {**_lines(lines), **options.drop_unset(given)}
    with session.open() as athand:
        if session.as_json:
            asked |= options.drop_unset({"max_chars": max_chars})
            session.show(athand.documents.get_document_text(folder_id, document_id, **asked).to_dict())
            return
        for window in _windows(athand.documents, folder_id, document_id, max_chars, asked):
            _write(window.text, is_last=max_chars is not None or not window.continuation.has_more)
    if max_chars is not None:
        session.say_next_page(
            window.continuation, "docs", "text", folder_id, document_id, "--max-chars", str(max_chars)
        )


def _lines(given: str | None) -> dict[str, int]:
    """The first and the last line of a range."""
    if given is None:
        return {}
    match = _LINES.fullmatch(given)
    if not match or given == ":":
        raise click.BadParameter(
            f"{given!r} is no range of lines. Write it like 10:40, 10: or :40.", param_hint="--lines"
        )
    first, last = (match[3], match[3]) if match[3] else (match[1], match[2])
    return {name: int(value) for name, value in (("start_line", first), ("end_line", last)) if value}


def _windows(
    documents: "Documents", folder_id: str, document_id: str, max_chars: int | None, asked: dict[str, Any]
) -> Iterator["DocumentText"]:
    """One window of the text, or one after the other."""
    window = documents.get_document_text(
        folder_id, document_id, **asked, max_chars=_WINDOW if max_chars is None else max_chars
    )
    yield window
    while max_chars is None and window.continuation.has_more:
        token = window.continuation.next_token
        window = documents.get_document_text(folder_id, document_id, max_chars=_WINDOW, continuation_token=token)
        yield window


def _write(text: str, *, is_last: bool) -> None:
    """The bytes of a text to standard output; a terminal is shown what it would obey, and gets its prompt back."""
    if sys.stdout.isatty():
        click.echo(escape_controls(text), nl=is_last and not text.endswith("\n"))
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8"))
    sys.stdout.buffer.flush()


@command(commands, "chunks")
@options.folder_id
@click.argument("chunk_ids", metavar="CHUNK...", nargs=-1, required=True)
@click.option("--neighbours", default=0, metavar="N", help="So many before and after each, too; up to 10.")
def chunks(session: Session, /, folder_id: str, chunk_ids: tuple[str, ...], neighbours: int) -> None:
    """Print chunks by their ids, as a search gives them.

    \b
    Example:
      athand docs search "staging" -q --folder notes | head -1 | xargs athand docs chunks notes --neighbours 1
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    with session.open() as athand:
        found = athand.documents.get_chunks(folder_id, list(chunk_ids), neighbours)
    if not session.print_plain(found, data="chunk_id"):
        from athand.adapters.cli.render_documents import print_chunks

        print_chunks(session.console(), found, chunk_ids)
