"""`athand docs …`: find and read documents; and the group of all commands on documents."""

import re
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from athand.adapters.cli import docs_folders, options
from athand.adapters.cli.answers import NO_FOLDERS, describe_delays
from athand.adapters.cli.session import SectionedGroup, Session, command
from athand.adapters.cli.words import echo, escape_controls, pluralize

if TYPE_CHECKING:
    from athand.documents import Directory, Documents, DocumentText, SearchContentResponse

_find_commands, _read_commands = click.Group(), click.Group()
_LINES = re.compile(r"(\d*):(\d*)|(\d+)")
_WINDOW = 100_000  # characters that are read at once


# Find


@command(_find_commands, "search")
@options.query
@options.of("documents:Documents.search", "folder_id", "path", "limit", "min_score")
@options.explain
def search(session: Session, /, query: str, explain: bool, **given: Any) -> None:
    """Ask a question in plain words: the passages that answer it.

    Each is shown with its file and line, its headings, the lines that match, and the parts of its score.

    \b
    Examples:
      athand docs search "how do I deploy to staging?"
      athand docs search "token rotation" --folder notes --path "*.md" --explain
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    from athand.adapters.cli.answers import print_answer

    started = time.perf_counter()
    with session.open() as athand:
        hits = athand.documents.search(query, **options.drop_unset(given))
        seconds = time.perf_counter() - started
        print_answer(session, athand, hits, seconds, explain=explain, corpora=("documents",))


@command(_find_commands, "content")
@options.of("documents:Documents.search_content", "semantic_concepts", "exact_terms", "folder_id", "path", "min_score")
@options.of("documents:Documents.search_content", "limit", "max_tokens", "continuation_token")
def content(session: Session, /, **given: Any) -> None:
    """Search by concepts and exact terms, page by page.

    With concepts only it goes by meaning, with terms only as grep does; with both, every term that is there makes the
    score 1.5 times as high. A term that looks like code (useState, snake_case) must match in case too.

    \b
    Examples:
      athand docs content --concept "state of a component" --term useState
      athand docs content --term "port 8443" --term TLS --folder notes
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    wanted = options.drop_unset(given)
    if not wanted.keys() & {"semantic_concepts", "exact_terms", "continuation_token"}:
        raise click.UsageError("Search for what? Give a --concept or a --term, or the --token of the page before.")
    with session.open() as athand:
        answer = athand.documents.search_content(**wanted)
    if session.as_json:
        session.show(answer.to_dict())
    elif session.quiet:
        session.print_plain(answer.data.results, data="chunk_id")
    else:
        _print_content(session, answer)


def _print_content(session: Session, answer: "SearchContentResponse") -> None:
    from athand.adapters.cli.render import print_hits
    from athand.documents import DocumentHit
    from athand.types import Hits

    for note in (*answer.notes, *describe_delays(answer.freshness)):
        session.say(f" {note}")
    hits = [
        DocumentHit(
            each.chunk_id, "documents", each.relevance_score, each.document_id, each.content, each.why, each,
            each.document_keywords,
        )
        for each in answer.data.results
    ]  # fmt: skip
    print_hits(session.console(), Hits(hits), {"documents": "document"})
    _print_statistics(session, answer)
    session.say_next_page(answer.continuation, "docs", "content")


def _print_statistics(session: Session, answer: "SearchContentResponse") -> None:
    """What was searched for, how much was found, and what else could be asked."""
    statistics, results = answer.data.statistics, answer.data.results
    count = answer.status.message
    if answer.continuation.has_more:
        count = f"{len(results)} of {pluralize(statistics.total_results, 'result')}"
    files = f" · {pluralize(len(statistics.files_covered), 'file')}" if results else ""
    lines = [statistics.search_interpretation, f"{count}{files}"]
    if related := answer.navigation_hints.related_queries:
        lines.append(f"See also: {' · '.join(related)}")
    session.say(click.style("\n" + "\n".join(f" {line}" for line in lines), dim=True))
    if not answer.freshness:
        session.say(f" {NO_FOLDERS}")
    elif not results:
        session.say(' Lower --min-score, or ask in plain words:  athand docs search "…"')


@command(_find_commands, "find")
@click.argument("question", required=False, default="")
@options.of("documents:Documents.find_documents", "folder_id", "limit", "continuation_token")
def find(session: Session, /, question: str, **given: Any) -> None:
    """Find the documents that are about something, not their content.

    \b
    Example:
      athand docs find "authentication and sessions" --folder notes
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    if not question and not given["continuation_token"]:
        raise click.UsageError("Find what? Give a QUESTION, or the --token of the page before.")
    with session.open() as athand:
        found = athand.documents.find_documents(question, **options.drop_unset(given))
    if session.as_json:
        session.show(found.to_dict())
    elif session.quiet:
        session.print_plain(found.documents, data="document_id")
    else:
        from athand.adapters.cli.render_documents import print_found

        for note in (*found.notes, *describe_delays(found.freshness)):
            session.say(f" {note}")
        print_found(session.console(), found.documents)
        total = pluralize(found.total_results, "document") if found.documents else "Nothing fits"
        session.say(click.style(f"\n {total}", dim=True))
        if not found.freshness:
            session.say(f" {NO_FOLDERS}")
        again = [word for folder in given["folder_id"] for word in ("--folder", folder)]
        session.say_next_page(found.continuation, "docs", "find", *again, "--limit", str(given["limit"]))


# Look around and read


@command(_read_commands, "explore")
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
            echo(name)
    elif not session.print_plain(found):
        from athand.adapters.cli.render_documents import print_directory

        print_directory(session.console(), found)
        session.say(click.style(f"\n {_count_documents(found)}", dim=True))


def _count_documents(directory: "Directory") -> str:
    inside = sum(each.documents for each in directory.subfolders)
    subfolders = pluralize(len(directory.subfolders), "subfolder")
    below = f"{pluralize(inside, 'document')} in {subfolders}" if inside else ""
    here = f"{pluralize(len(directory.documents), 'document')} here" if directory.documents or not inside else ""
    return " · ".join(filter(None, (below, here)))


@command(_read_commands, "list")
@options.folder_id
@click.argument("path", metavar="[PATTERN]", default="")
@options.of("documents:Documents.list_documents", "limit", "continuation_token")
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
        again = [folder_id, *filter(None, [path]), "--limit", str(limit)]
        session.say_next_page(found.continuation, "docs", "list", *again)


@command(_read_commands, "show")
@options.folder_id
@options.document_id
@options.of("documents:Documents.get_document_data", "limit", "continuation_token")
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


@command(_read_commands, "text")
@options.folder_id
@options.document_id
@click.option("--lines", metavar="FIRST:LAST", help="Only these lines, such as 10:40, 10: or :40.")
@options.of(
    "documents:Documents.get_document_text",
    "max_chars",
    default=None,
    show_default=False,
    help="Maximum number of characters; default: all.",
)
@options.of("documents:Documents.get_document_text", "continuation_token")
def text(
    session: Session, /, folder_id: str, document_id: str, lines: str | None, max_chars: int | None, **given: Any
) -> None:
    """Print the exact text of a document, and nothing else.

    With --max-chars, the command for the rest is printed to standard error. With --json, one window of the text: 5,000
    characters, or --max-chars.

    \b
    Examples:
      athand docs text notes guides/deploy.md --lines 10:40
      athand docs text notes report.pdf > report.txt
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    part = {**_parse_lines(lines), **options.drop_unset(given)}
    with session.open() as athand:
        if session.as_json:
            part |= options.drop_unset({"max_chars": max_chars})
            session.show(athand.documents.get_document_text(folder_id, document_id, **part).to_dict())
            return
        for window in _read_windows(athand.documents, folder_id, document_id, max_chars, part):
            _write_text(window.text, is_last=max_chars is not None or not window.continuation.has_more)
    if max_chars is not None:
        again = ["docs", "text", folder_id, document_id, "--max-chars", str(max_chars)]
        session.say_next_page(window.continuation, *again)


def _parse_lines(lines: str | None) -> dict[str, int]:
    """The first and the last line of a range."""
    if lines is None:
        return {}
    match = _LINES.fullmatch(lines)
    if not match or lines == ":":
        raise click.BadParameter(
            f"{lines!r} is no range of lines. Write it like 10:40, 10: or :40.", param_hint="--lines"
        )
    first, last = (match[3], match[3]) if match[3] else (match[1], match[2])
    return {name: int(value) for name, value in (("start_line", first), ("end_line", last)) if value}


def _read_windows(
    documents: "Documents", folder_id: str, document_id: str, max_chars: int | None, part: dict[str, Any]
) -> Iterator["DocumentText"]:
    """One window of the text, or without `max_chars` all of them."""
    window = documents.get_document_text(
        folder_id, document_id, **part, max_chars=_WINDOW if max_chars is None else max_chars
    )
    yield window
    while max_chars is None and window.continuation.has_more:
        token = window.continuation.next_token
        window = documents.get_document_text(folder_id, document_id, max_chars=_WINDOW, continuation_token=token)
        yield window


def _write_text(text: str, *, is_last: bool) -> None:
    """Write the bytes of a text to standard output; on a terminal without control characters, ending in a new line."""
    if sys.stdout.isatty():
        echo(escape_controls(text), nl=is_last and not text.endswith("\n"))
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8"))
    sys.stdout.buffer.flush()


@command(_read_commands, "chunks")
@options.folder_id
@click.argument("chunk_ids", metavar="CHUNK...", nargs=-1, required=True)
@options.of("documents:Documents.get_chunks", "neighbours")
def chunks(session: Session, /, folder_id: str, chunk_ids: tuple[str, ...], **given: Any) -> None:
    """Print chunks by their ids, as a search gives them.

    \b
    Example:
      athand docs search "staging" -q --folder notes | head -1 | xargs athand docs chunks notes --neighbours 1
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    with session.open() as athand:
        found = athand.documents.get_chunks(folder_id, list(chunk_ids), **options.drop_unset(given))
    if not session.print_plain(found, data="chunk_id"):
        from athand.adapters.cli.render_documents import print_chunks

        print_chunks(session.console(), found, chunk_ids)


docs = SectionedGroup(
    "docs",
    help="Index folders of files, find passages in them, read them.",
    sections={
        "Folders": docs_folders.commands,
        "Find": _find_commands,
        "Look around and read": _read_commands,
    },
)
