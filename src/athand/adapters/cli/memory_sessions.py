"""`athand memory …`: memories in time, and the sessions that made and used them."""

from typing import TYPE_CHECKING, Any

import click

from athand.adapters.cli import options
from athand.adapters.cli.completion_values import complete_memory_session
from athand.adapters.cli.session import Session, command
from athand.adapters.cli.words import describe_session, echo, find_successor
from athand.inputs import suggest

if TYPE_CHECKING:
    from athand.memories import Memories, Memory

commands = click.Group()


def suggest_project(memories: "Memories", project: str | None) -> str:
    """The question whether the nearest project was meant, where nothing is remembered of this one."""
    known = memories.projects()
    return "" if project is None or project in known else suggest(project, known)


@command(commands, "timeline")
@options.memory_id
@options.of("memories:Memories.timeline", "before", "after")
def timeline(session: Session, /, id: str, before: int, after: int) -> None:
    """Draw what was remembered just before and after a memory, in the same project."""
    with session.open() as athand:
        found = athand.memories.timeline(id, before, after)
        memories = [*found.before, found.anchor, *found.after]
        successors = _find_successors(athand.memories, memories)
    if session.as_json:
        session.show(found.to_dict())
    elif not session.print_plain(memories):
        from athand.adapters.cli.render_memories import print_timeline

        print_timeline(session.console(), found, successors)


def _find_successors(service: "Memories", memories: "list[Memory]") -> "dict[str, Memory]":
    """What took the place of each memory that holds no more, by id."""
    ended = [each for each in memories if each.valid_until is not None]
    found = ((each.id, find_successor(each, service.related(each.id))) for each in ended)
    return {id_: successor for id_, successor in found if successor}


@command(commands, "context")
@options.memory_id
def context(session: Session, /, id: str) -> None:
    """Show the session that used a memory last, and how."""
    with session.open() as athand:
        used = athand.memories.session_context(id)
    if session.as_json:
        session.show(used and used.to_dict())
    elif used is None:
        session.say("No session has made or used this memory.")
    elif session.quiet:
        echo(used.session.id)
    else:
        from athand.adapters.cli.render_memories import print_context

        print_context(session.console(), used)


@command(commands, "brief")
@options.of("memories:Memories.brief", "project", "max_tokens")
def brief(session: Session, /, project: str, max_tokens: int) -> None:
    """Print what an agent should know at the start of a session, as Markdown."""
    with session.open() as athand:
        text = athand.memories.brief(project, max_tokens)
        hint = "" if text else suggest_project(athand.memories, project)
    if session.as_json:
        session.show({"brief": text})
    elif text:
        echo(text)
    else:
        session.say(f"Nothing is known about {project} that fits.{hint} See what there is with: athand memory stats")


@command(commands, "sessions")
@options.of("memories:Memories.sessions", "project", "limit")
def sessions(session: Session, /, **given: Any) -> None:
    """List the newest sessions."""
    with session.open() as athand:
        found = athand.memories.sessions(**given)
    if session.print_plain(found):
        return
    if found:
        from athand.adapters.cli.render_memories import print_sessions

        print_sessions(session.console(), found)
    else:
        session.say("No sessions. Begin one with: athand memory start-session")


@command(commands, "start-session", creates=True)
@options.of("memories:Memories.start_session", "project", "id", "started_at")
def start_session(session: Session, /, **given: Any) -> None:
    """Begin a session; give its id to `add`, `search` and `end-session`.

    \b
    Example:
      SESSION=$(athand memory start-session --project shop --quiet)
      athand memory add "Tokens rotate every 12 h" --project shop --session "$SESSION"
      athand memory end-session "$SESSION" --summary "Looked into the audit."
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    with session.open() as athand:
        started = athand.memories.start_session(**options.drop_unset(given))
    if not session.print_plain(started):
        echo(f"Session {click.style(started.id, fg='cyan')} of {started.project}")


@command(commands, "end-session")
@click.argument("id", metavar="ID", shell_complete=complete_memory_session)
@options.of("memories:Memories.end_session", "summary")
def end_session(session: Session, /, id: str, summary: str | None) -> None:
    """End a session."""
    with session.open() as athand:
        ended = athand.memories.end_session(id, summary)
    session.report(ended, f"Ended session {describe_session(ended)}.")
