"""`athand history …`: read transcripts of past sessions with agents, list, show and search them."""

import os
import platform
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from athand.adapters.cli import options
from athand.adapters.cli.session import SectionedGroup, Session, command
from athand.adapters.cli.words import echo, pluralize
from athand.adapters.project import project_of_session
from athand.errors import Refused

if TYPE_CHECKING:
    from athand.app import Athand
    from athand.memories.history.importer import ImportedHistory
    from athand.memories.history.transcripts import Transcript

CLIENTS = ("claude-code", "codex", "gemini")
_QUESTION = (
    "Read {files} of {clients} into memories of this machine? They are searched with your other memories, "
    "secrets in them are removed, and the files stay as they are."
)
_commands = click.Group()


@command(_commands, "import", creates=True)
@click.argument("clients", nargs=-1, type=click.Choice(CLIENTS))
@click.option("--exclude", metavar="WORDS", multiple=True, help="Leave out files with this in their path; repeatable.")
@click.option("--yes", is_flag=True, help="Do not ask whether transcripts may be read.")
def import_(session: Session, /, clients: tuple[str, ...], exclude: tuple[str, ...], yes: bool) -> None:
    """Read transcripts of past sessions into memories.

    Reads what is new in the transcripts of Claude Code, Codex and Gemini CLI: each prompt, with the answer, the calls
    of tools, the files that were touched and what failed, becomes a memory. It asks before the first time, and the
    setting `history` keeps the answer. What was read stays when the client deletes its file; `athand memory forget`
    forgets it.

    \b
    Examples:
      athand history import
      athand history import claude-code --exclude private-project
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    from athand.config import load_settings
    from athand.memories.history.transcripts import find_transcripts

    found = find_transcripts(Path.home(), os.environ, clients or CLIENTS)
    found = [each for each in found if not any(words in str(each.path) for words in exclude)]
    if found and not (yes or load_settings(data_dir=session.data_dir).history):
        _ask(found)
    with session.open() as athand, session.show_progress("Reading", "files") as progress:
        counts = read_transcripts(athand, found, progress)
    if session.as_json:
        session.show(counts.to_dict())
        return
    for problem in counts.problems:
        session.say(f" Not read: {problem}")
    lines = pluralize(counts.skipped_lines, "line")
    session.say(
        f"Read {pluralize(counts.files, 'file')}: {pluralize(counts.new, 'new turn')}, {counts.changed} changed."
    )
    if counts.skipped_lines:
        session.say(f" {lines} left out: broken, or longer than 8 MB.")


def _ask(found: "list[Transcript]") -> None:
    """Ask whether transcripts may be read, and keep the answer."""
    from athand.adapters.cli.config import change_file
    from athand.adapters.editing import toml

    clients = " and ".join(dict.fromkeys(each.client for each in found))
    question = _QUESTION.format(files=pluralize(len(found), "transcript"), clients=clients)
    if not sys.stdin.isatty():
        raise Refused(f"{question} Allow it with: athand config set history true, or once with --yes")
    click.confirm(question, abort=True, err=True)
    change_file(lambda text: toml.put_key(text, "history", True), {"history": True})


def read_transcripts(
    athand: "Athand", found: "list[Transcript]", report: Any = lambda done, total: None
) -> "ImportedHistory":
    """Read what is new in these transcripts; each session is of the project of the folder it was in."""
    from athand.memories.history.importer import import_history

    return import_history(athand.memories, found, cache(project_of_session), platform.node(), report)


@command(_commands, "list")
@options.of("memories:Memories.sessions", "project", "limit")
def list_past(session: Session, /, project: str | None, limit: int) -> None:
    """List past sessions, the newest first.

    \b
    Example:
      athand history list --project shop
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    from athand.memories.history.browse import list_sessions

    with session.open() as athand:
        found = list_sessions(athand.memories, project, limit)
    if session.print_plain(found):
        return
    if not found:
        session.say("No past sessions. Read them with: athand history import")
        return
    from athand.adapters.cli.render import make_cell, make_table, print_table
    from athand.adapters.cli.words import format_age

    table = make_table("session", "project", "age", "turns", "about", flexible="about")
    for each in found:
        age = format_age(each.ended_at or each.started_at)
        table.add_row(make_cell(each.id[:8], "dim"), each.project, age, str(each.turns), each.title or "")
    print_table(session.console(), table)
    session.say(" Show one with: athand history show SESSION")


@command(_commands, "show")
@click.argument("id", metavar="SESSION")
def show(session: Session, /, id: str) -> None:
    """Show the turns of a past session; the beginning of its id is enough.

    \b
    Example:
      athand history show 4b0511ba
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    from athand.memories.history.browse import list_turns

    with session.open() as athand:
        turns = list_turns(athand.memories, id)
    if session.print_plain(turns):
        return
    for turn in turns:
        session.say(
            click.style(f"{turn.created_at.astimezone():%Y-%m-%d %H:%M} · {turn.project} · {turn.id}", dim=True)
        )
        echo(f"{turn.content}\n")


@command(_commands, "search")
@options.query
@options.of("memories:Memories.search", "project", "limit", "min_score")
@options.explain
def search(session: Session, /, query: str, explain: bool, **given: Any) -> None:
    """Find turns of past sessions. `athand search` finds them, too, below what was remembered on purpose.

    \b
    Example:
      athand history search "why did the deploy fail?"
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    import time

    from athand.adapters.cli.answers import print_answer
    from athand.memories.model import HISTORY

    with session.open() as athand:
        started = time.perf_counter()
        found = athand.memories.search(
            query,
            tags=[HISTORY],
            reinforce=False,
            home=session.find_home(given["project"]),
            **options.drop_unset(given),
        )
        seconds = time.perf_counter() - started
        print_answer(session, athand, found, seconds, explain=explain, corpora=("memories",))


history = SectionedGroup(
    "history", help="Find what was said and done in past sessions with agents.", sections={"History": _commands}
)
