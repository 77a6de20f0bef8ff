"""`athand demo`: the whole thing in a minute, in a folder of its own, touching nothing of yours."""

import shlex
import shutil
import textwrap
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from athand.adapters.cli.answers import answer
from athand.adapters.cli.install import own_command
from athand.adapters.cli.session import Session, command

if TYPE_CHECKING:
    from athand.adapters.cli.demo_home import Home
    from athand.app import Athand

_top = click.Group()

_INDENT = 14
_NARROWEST = 60
# What is to be seen, what is asked, and how many answers.
QUESTIONS = (
    (
        "Asked of all four: which tool, how it is done here, where the ticket is, what the docs say.",
        "start a branch for ticket 9",
        6,
    ),
    ("With a typo: what was meant is told, and found.", "cancel an oredr", 3),
    ("Nothing fits, so nothing is returned.", "who won the chess tournament?", 3),
)


@command(_top, "demo")
@click.option("--no-server", is_flag=True, help="Leave no server running.")
@click.option("--stop", is_flag=True, help="End the server that a demo has left, and remove all of it.")
def demo(session: Session, no_server: bool, stop: bool) -> None:
    """See it work, in a minute, on a store of its own.

    Indexes the docs of Athand, starts real MCP servers for their tools, adds memories, imports walks through a web
    app, and asks three questions of all of them. Then it leaves a server that you can add to a client. That stops by
    itself after half an hour; the next demo begins anew.

    \b
    Examples:
      athand demo
      athand demo --stop
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    from athand.adapters.cli.demo_home import Home
    from athand.config import load_settings

    home = Home(load_settings(data_dir=session.data_dir).data_folder / "demo")
    if stop:
        there_was = home.remove()
        session.say(" Stopped, and nothing is left of it." if there_was else " There is no demo to stop.")
        return
    with home.taken() as handle:
        shown = _show(session, home)
        server = None if no_server else _serve(session, home, handle)
    if session.as_json:
        session.show(shown | {"server": server})
    elif server:
        _tell_server(session, home, server)


def _show(session: Session, home: "Home") -> dict[str, Any]:
    """Fill the store, and ask it."""
    from athand.adapters.cli.demo_store import fill
    from athand.app import Athand

    corpora = {}
    with Athand(model=session.model, settings=home.settings) as athand:
        session.say(click.style(f" A store of its own, in {_typed(home.folder)}\n", dim=True))
        for filled in fill(session, athand, home.folder):
            corpora[filled.corpus] = filled.data
            _tell_filled(session, filled.corpus, filled.text)
        questions = [_ask(session, athand, *question) for question in QUESTIONS]
    return {"corpora": corpora, "questions": questions}


def _tell_filled(session: Session, corpus: str, text: str) -> None:
    """What a corpus has now: the first line, then the rest, as wide as the terminal."""
    if session.as_json:
        return
    first, *more = (line for each in text.split("\n") for line in textwrap.wrap(each, _width() - _INDENT))
    session.say(f" {click.style('✓', fg='green')} {corpus:<10} {first}")
    for line in more:
        session.say(f"{' ' * _INDENT}{line}")


def _width() -> int:
    return max(_NARROWEST, shutil.get_terminal_size().columns)


def _ask(session: Session, athand: "Athand", remark: str, question: str, limit: int) -> dict[str, Any]:
    started = time.perf_counter()
    hits = athand.search(question, limit=limit)
    seconds = time.perf_counter() - started
    if not session.as_json:
        said = textwrap.fill(remark, _width() - 1, subsequent_indent=" ")
        session.say(f"\n {click.style(said, bold=True)}\n $ athand search {shlex.quote(question)}\n")
        answer(session, athand, hits, seconds, explain=False)
    return {"query": question} | hits.to_dict()


def _serve(session: Session, home: "Home", handle: int) -> dict[str, Any]:
    from athand.adapters.cli.demo_server import start

    return start(home, handle, session.model)


def _tell_server(session: Session, home: "Home", server: Mapping[str, Any]) -> None:
    """Where it is, and what can be done with it: every line can be pasted."""
    from athand.adapters.cli.demo_server import MINUTES

    if session.quiet:
        click.echo(server["url"])
        return
    session.say(f"\n {click.style('A server is left running', bold=True)} for {MINUTES} minutes: {server['url']}")
    folder, token = _typed(home.folder), _typed(Path(server["token_file"]))
    where = f" --data-dir {shlex.quote(session.data_dir)}" if session.data_dir else ""
    for remark, lines in _what_next(_program(), folder, token, where, server):
        session.say(f"\n {click.style(remark, dim=True)}\n   {lines}")


def _what_next(
    program: str, folder: str, token: str, where: str, server: Mapping[str, Any]
) -> tuple[tuple[str, str], ...]:
    header, on = f'"Authorization: Bearer $(cat {token})"', " \\\n     "
    return (
        ("Ask it", f"curl -s '{server['url']}/v1/search?query=cancel+an+order'{on}-H {header}"),
        ("Or ask the same store here", f'ATHAND_HOME={folder}{on}{program} search "cancel an order"'),
        (
            "Add it to Claude Code, or to cursor, vscode, codex, gemini, windsurf",
            f"{program} install claude-code --name athand-demo{on}--http {server['mcp']} --data-dir {folder}",
        ),
        ("Stop it, and remove all of this", f"{program} demo --stop{where}"),
        ("Your turn", f'{program} memory add "…"\n   {program} search "…"'),
    )


def _program() -> str:
    """How this very Athand is typed here: by its path, where its environment is not active."""
    first, *more = own_command()
    place, here = Path(first), Path.cwd()
    if shutil.which("athand") == first:
        return "athand"
    typed = shlex.quote(str(place.relative_to(here))) if place.is_relative_to(here) else _typed(place)
    return " ".join((typed, *more))


def _typed(path: Path) -> str:
    """A path as one would type it in a shell."""
    home = Path.home()
    return f"~/{shlex.quote(str(path.relative_to(home)))}" if path.is_relative_to(home) else shlex.quote(str(path))
