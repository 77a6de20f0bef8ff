"""`athand demo`: fills a store of its own, searches it, and leaves a server running to try."""

import shlex
import shutil
import textwrap
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from athand.adapters.cli.answers import print_answer
from athand.adapters.cli.demo_server import MINUTES, Home, start_server
from athand.adapters.cli.install_entries import own_command
from athand.adapters.cli.session import Session, command
from athand.adapters.cli.words import echo

if TYPE_CHECKING:
    from athand.app import Athand

_top = click.Group()

_INDENT = 14
_MIN_WIDTH = 60
# What the question shows, the question, and the number of hits.
QUESTIONS = (
    (
        "One question to documents, memories, tools and flows: the score on the left, the reasons below each hit.",
        "start a branch for ticket 9",
        6,
    ),
    ("A question with a typo: the corrected word is searched too.", "cancel an oredr", 3),
    ("A question that nothing matches: nothing is returned.", "who won the chess tournament?", 3),
)


@command(_top, "demo")
@click.option("--no-server", is_flag=True, help="Do not leave a server running.")
@click.option("--stop", is_flag=True, help="Stop the server of the last demo, and delete its data.")
def demo(session: Session, no_server: bool, stop: bool) -> None:
    """Try Athand in a minute, on a store of its own.

    Indexes the docs of Athand, adds the tools of real MCP servers and some memories, imports recorded sessions of a
    web app, and asks three questions. Your own data is not touched. A server keeps running that you can add to an MCP
    client; it stops by itself after half an hour. The next demo starts from scratch.

    \b
    Examples:
      athand demo
      athand demo --stop
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    from athand.config import load_settings

    home = Home(load_settings(data_dir=session.data_dir).data_folder / "demo")
    if stop:
        was_there = home.remove()
        session.say(" Stopped, and nothing is left of it." if was_there else " There is no demo to stop.")
        return
    with home.lock() as handle:
        results = _run_demo(session, home)
        server = None if no_server else start_server(home, handle, session.model)
    if session.as_json:
        session.show(results | {"server": server})
    elif server:
        _print_server(session, home, server)


def _run_demo(session: Session, home: Home) -> dict[str, Any]:
    """Fill the store and ask the questions; returns the data of both."""
    from athand.adapters.cli.demo_store import fill_store
    from athand.app import Athand

    corpora = {}
    with Athand(model=session.model, settings=home.settings) as athand:
        store = f"The demo has its own store in {_quote_path(home.folder)}; yours is not touched."
        session.say(click.style(f" {store}\n", dim=True))
        for summary in fill_store(session, athand, home.folder):
            corpora[summary.corpus] = summary.data
            _print_summary(session, summary.corpus, summary.text)
        questions = [_ask(session, athand, *question) for question in QUESTIONS]
    return {"corpora": corpora, "questions": questions}


def _print_summary(session: Session, corpus: str, text: str) -> None:
    """What a corpus holds now, in lines that fit the terminal."""
    if session.as_json:
        return
    first, *more = (line for each in text.split("\n") for line in textwrap.wrap(each, _width() - _INDENT))
    session.say(f" {click.style('✓', fg='green')} {corpus:<10} {first}")
    for line in more:
        session.say(f"{' ' * _INDENT}{line}")


def _width() -> int:
    return max(_MIN_WIDTH, shutil.get_terminal_size().columns)


def _ask(session: Session, athand: "Athand", remark: str, question: str, limit: int) -> dict[str, Any]:
    started = time.perf_counter()
    hits = athand.search(question, limit=limit)
    seconds = time.perf_counter() - started
    if not session.as_json:
        heading = textwrap.fill(remark, _width() - 1, subsequent_indent=" ")
        session.say(f"\n {click.style(heading, bold=True)}\n $ athand search {shlex.quote(question)}\n")
        print_answer(session, athand, hits, seconds, explain=False, corpora=tuple(athand.corpora))
    return {"query": question} | hits.to_dict()


def _print_server(session: Session, home: Home, server: Mapping[str, Any]) -> None:
    """The server's address, and commands to try, which can be pasted into a shell."""
    if session.quiet:
        echo(server["url"])
        return
    session.say(f"\n {click.style('A server keeps running', bold=True)} for {MINUTES} minutes: {server['url']}")
    folder, token = _quote_path(home.folder), _quote_path(Path(server["token_file"]))
    where = f" --data-dir {shlex.quote(session.data_dir)}" if session.data_dir else ""
    for remark, lines in _list_next_steps(_quote_program(), folder, token, where, server):
        session.say(f"\n {click.style(remark, dim=True)}\n   {lines}")


def _list_next_steps(
    program: str, folder: str, token: str, where: str, server: Mapping[str, Any]
) -> tuple[tuple[str, str], ...]:
    header, on = f'"Authorization: Bearer $(cat {token})"', " \\\n     "
    return (
        ("Search over HTTP", f"curl -s '{server['url']}/v1/search?query=cancel+an+order'{on}-H {header}"),
        ("Search the same store on the command line", f'ATHAND_HOME={folder}{on}{program} search "cancel an order"'),
        (
            "Add the server to Claude Code (or to another of: athand install)",
            f"{program} install claude-code --name athand-demo{on}--http {server['mcp']} --data-dir {folder}",
        ),
        ("Stop the server and delete the demo's data", f"{program} demo --stop{where}"),
        ("Begin your own store", f'{program} memory add "…"\n   {program} search "…"'),
    )


def _quote_program() -> str:
    """The command of this installation of Athand as it can be typed here: a path, if it is not on the PATH."""
    first, *more = own_command()
    place, here = Path(first), Path.cwd()
    if shutil.which("athand") == first:
        return "athand"
    command = shlex.quote(str(place.relative_to(here))) if place.is_relative_to(here) else _quote_path(place)
    return " ".join((command, *more))


def _quote_path(path: Path) -> str:
    """A path quoted for a shell, with ~ for the home folder."""
    home = Path.home()
    return f"~/{shlex.quote(str(path.relative_to(home)))}" if path.is_relative_to(home) else shlex.quote(str(path))
