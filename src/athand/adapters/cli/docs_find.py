"""`athand docs …`: find passages and documents."""

import time
from typing import TYPE_CHECKING, Any

import click

from athand.adapters.cli import options
from athand.adapters.cli.answers import NO_FOLDERS, worries
from athand.adapters.cli.session import Session, command
from athand.adapters.cli.words import pluralize

if TYPE_CHECKING:
    from athand.documents import SearchContentResponse

commands = click.Group()


@command(commands, "search")
@click.argument("question")
@options.folders
@options.path
@click.option("--limit", default=10, show_default=True, help="How many answers at most.")
@click.option("--min-score", type=float, help="Leave out what scores less (0 to 1).")
@click.option("--explain", is_flag=True, help="Show how each score came about.")
def search(session: Session, /, question: str, folders: tuple[str, ...], explain: bool, **given: Any) -> None:
    """Ask a question in plain words: the passages that answer it.

    Each is shown with its file and line, its headings, the lines that match, and the parts of its score.

    \b
    Examples:
      athand docs search "how do I deploy to staging?"
      athand docs search "token rotation" --folder notes --path "*.md" --explain
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    from athand.adapters.cli.answers import answer

    started = time.perf_counter()
    with session.open() as athand:
        hits = athand.documents.search(question, folder_id=folders or None, **given)
        seconds = time.perf_counter() - started
        answer(session, athand, hits, seconds, explain=explain, corpora=("documents",))


@command(commands, "content")
@click.option("--concept", "concepts", metavar="TEXT", multiple=True, help="What it is about; may be repeated.")
@click.option("--term", "terms", metavar="TEXT", multiple=True, help="What it contains, literally; may be repeated.")
@options.folders
@options.path
@click.option("--min-score", type=float, help="Leave out what scores less; 0.5 with concepts, else 0.")
@click.option("--limit", type=int, help="How many at most, up to 50; 10, if not given.")
@click.option("--max-tokens", type=int, help="Only as many as fit into so many tokens.")
@options.token
def content(
    session: Session, /, concepts: tuple[str, ...], terms: tuple[str, ...], folders: tuple[str, ...], **given: Any
) -> None:
    """Search by concepts and exact terms, page by page.

    With concepts only it goes by meaning, with terms only as grep does; with both, every term that is there makes the
    score 1.5 times as high. A term that looks like code (useState, snake_case) must match in case too.

    \b
    Examples:
      athand docs content --concept "state of a component" --term useState
      athand docs content --term "port 8443" --term TLS --folder notes
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    if not (concepts or terms or given["continuation_token"]):
        raise click.UsageError("Search for what? Give a --concept or a --term, or the --token of the page before.")
    with session.open() as athand:
        answer = athand.documents.search_content(
            folders or None, semantic_concepts=concepts, exact_terms=terms, **options.drop_unset(given)
        )
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

    for note in (*answer.notes, *worries(answer.freshness)):
        session.say(f" {note}")
    hits = [
        DocumentHit(
            each.chunk_id, "documents", each.relevance_score, each.document_id, each.content, each.why, each,
            each.document_keywords,
        )
        for each in answer.data.results
    ]  # fmt: skip
    print_hits(session.console(), Hits(hits))
    _tell_content(session, answer)
    session.say_next_page(answer.continuation, "docs", "content")


def _tell_content(session: Session, answer: "SearchContentResponse") -> None:
    """What was searched for, how much was found, and what else could be asked."""
    statistics, results = answer.data.statistics, answer.data.results
    found = answer.status.message
    if answer.continuation.has_more:
        found = f"{len(results)} of {pluralize(statistics.total_results, 'result')}"
    files = f" · {pluralize(len(statistics.files_covered), 'file')}" if results else ""
    lines = [statistics.search_interpretation, f"{found}{files}"]
    if related := answer.navigation_hints.related_queries:
        lines.append(f"See also: {' · '.join(related)}")
    session.say(click.style("\n" + "\n".join(f" {line}" for line in lines), dim=True))
    if not answer.freshness:
        session.say(f" {NO_FOLDERS}")
    elif not results:
        session.say(' Ask for less with --min-score, or in plain words:  athand docs search "…"')


@command(commands, "find")
@click.argument("question", required=False, default="")
@options.folders
@click.option("--limit", default=20, show_default=True, help="How many at most, up to 100.")
@options.token
def find(session: Session, /, question: str, folders: tuple[str, ...], limit: int, **given: Any) -> None:
    """Find the documents that are about something, not their content.

    \b
    Example:
      athand docs find "authentication and sessions" --folder notes
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    if not question and not given["continuation_token"]:
        raise click.UsageError("Find what? Give a QUESTION, or the --token of the page before.")
    with session.open() as athand:
        found = athand.documents.find_documents(
            question, folder_id=folders or None, limit=limit, **options.drop_unset(given)
        )
    if session.as_json:
        session.show(found.to_dict())
    elif session.quiet:
        session.print_plain(found.documents, data="document_id")
    else:
        from athand.adapters.cli.render_documents import print_found

        for note in (*found.notes, *worries(found.freshness)):
            session.say(f" {note}")
        print_found(session.console(), found.documents)
        total = pluralize(found.total_results, "document") if found.documents else "Nothing fits"
        session.say(click.style(f"\n {total}", dim=True))
        if not found.freshness:
            session.say(f" {NO_FOLDERS}")
        again = [word for folder in folders for word in ("--folder", folder)]
        session.say_next_page(found.continuation, "docs", "find", *again, "--limit", str(limit))
