"""`athand flows …`: find sessions and steps, look at them, ask what comes next."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from athand.adapters.cli import options
from athand.adapters.cli.session import Command, Session, command
from athand.adapters.cli.words import to_one_line
from athand.errors import NotFound

if TYPE_CHECKING:
    from athand.flows import Step

commands = click.Group()

# Written out, because importing them would load the engine for `--help`; a test compares them with the engine's.
OUTCOMES = ("ok", "error")
NO_SESSIONS = "No session yet. Record one with: athand flows record URL, or read some: athand flows import FOLDER"

session_id = click.argument("id", metavar="SESSION")


def filtered(function: Command) -> Command:
    """Add the options that say which sessions and steps are meant."""
    for option in (
        click.option("--outcome", type=click.Choice(OUTCOMES), help="Only where a step went well, or failed."),
        click.option("--app", metavar="NAME", help="Of this app only."),
        click.option("--branch", "git_branch", metavar="NAME", help="Walked on this git branch."),
        click.option("--since", "since_hours", type=float, metavar="HOURS", help="Of so many last hours."),
        click.option("--screen", metavar="NAME", help="On this screen."),
        click.option("--tag", metavar="WORD", help="With this tag."),
        click.option("--flow-tag", metavar="WORD", help="With this flow tag: what kind of walk it was."),
    ):
        function = option(function)
    return function


@command(commands, "sessions")
@filtered
@click.option("--limit", default=10, show_default=True, help="How many at most.")
def sessions(session: Session, /, limit: int, **filters: Any) -> None:
    """List the newest sessions.

    \b
    Examples:
      athand flows sessions --flow-tag send --since 48
      athand flows sessions --app shop --outcome error
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    asked = options.drop_unset(filters)
    with session.open() as athand:
        found = athand.flows.sessions(limit, asked)
    if session.print_plain(found):
        return
    if found:
        from athand.adapters.cli.render_flows import print_sessions

        print_sessions(session.console(), found)
    else:
        session.say(" No session passes these filters." if asked else f" {NO_SESSIONS}")


@command(commands, "search")
@click.argument("query")
@click.option("--session", "within", metavar="ID", help="In this session only.")
@filtered
@click.option("--limit", default=20, show_default=True, help="How many steps at most.")
@click.option("--min-score", type=float, help="Leave out what scores less (0 to 1).")
@click.option("--explain", is_flag=True, help="Show how each score came about.")
def search(
    session: Session,
    /,
    query: str,
    within: str | None,
    limit: int,
    min_score: float | None,
    explain: bool,
    **filters: Any,
) -> None:
    """Find steps by what was done, where, on what, and what for.

    \b
    Examples:
      athand flows search "send tokens"
      athand flows search "confirm button" --screen confirm-transaction --outcome error --explain
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    from athand.adapters.cli.answers import answer
    from athand.flows.descriptions import describe_step

    started = time.perf_counter()
    scope: str | Mapping[str, str] = "all" if within is None else {"session": within}
    with session.open() as athand:
        asked = options.drop_unset(filters)
        hits = athand.flows.search(query, limit=limit, scope=scope, filters=asked, min_score=min_score)
        seconds = time.perf_counter() - started
        if not session.as_json:
            hits[:] = [replace(hit, title=describe_step(hit.item)) for hit in hits]
        answer(session, athand, hits, seconds, explain=explain, corpora=("flows",))


@command(commands, "show")
@session_id
@click.option("--step", "position", type=int, metavar="N", help="One step, with what was seen and known then.")
@click.option("--full", is_flag=True, help="Every step like that.")
def show(session: Session, /, id: str, position: int | None, full: bool) -> None:
    """Show a session and its steps.

    \b
    Examples:
      athand flows show ID
      athand flows show ID --step 3
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    with session.open() as athand:
        found, steps = athand.flows.session(id), athand.flows.steps(id)
    if position is not None:
        steps = [step_at(steps, position, id)]
    if session.as_json:
        whole = found.to_dict() | {"steps": [step.to_dict() for step in steps]}
        session.show(whole if position is None else steps[0].to_dict())
    elif not session.print_plain(steps):
        from athand.adapters.cli.render_flows import print_session, print_step, print_steps

        console = session.console()
        if position is None:
            print_session(console, found)
        if full or position is not None:
            for step in steps:
                print_step(console, step)
        else:
            print_steps(console, steps)


def step_at(steps: "Sequence[Step]", position: int, id_: str) -> "Step":
    """The step at a position."""
    found = next((step for step in steps if step.position == position), None)
    if found is None:
        there = f"It has the steps 1 to {len(steps)}" if steps else "It has no steps"
        raise NotFound(f"Session {id_} has no step {position}. {there}.")
    return found


@command(commands, "last")
@click.option("-n", "count", default=20, show_default=True, help="How many steps.")
@click.option("--session", "within", metavar="ID", help="Of this session only.")
def last(session: Session, /, count: int, within: str | None) -> None:
    """Show the newest steps, newest first."""
    with session.open() as athand:
        steps = athand.flows.last(count, within)
    if session.print_plain(steps):
        return
    if steps:
        from athand.adapters.cli.render_flows import print_last

        print_last(session.console(), steps)
    else:
        session.say(" This session has no steps yet." if within else f" {NO_SESSIONS}")


@command(commands, "summarize")
@session_id
def summarize(session: Session, /, id: str) -> None:
    """Say in a few lines where a session went, what it did, and what failed."""
    with session.open() as athand:
        summary = athand.flows.summarize(id)
    if session.as_json:
        session.show(summary.to_dict())
    elif session.quiet:
        for action in summary.actions:
            click.echo(to_one_line(action))
    else:
        from athand.adapters.cli.render_flows import print_summary

        print_summary(session.console(), summary)


@command(commands, "suggest")
@session_id
def suggest(session: Session, /, id: str) -> None:
    """Say what probably comes next in a session, from what others did on its newest screen.

    \b
    Example:
      athand flows suggest ID
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    with session.open() as athand:
        knowledge = athand.flows.suggest(id)
    if session.as_json:
        session.show(knowledge and knowledge.to_dict())
    elif knowledge is None:
        session.say(" Nothing is known about this screen yet: no other session was there.")
    elif session.quiet:
        for each in knowledge.suggested_next_actions:
            click.echo(each.action)
    else:
        from athand.adapters.cli.render_flows import print_knowledge

        print_knowledge(session.console(), knowledge.to_dict())
