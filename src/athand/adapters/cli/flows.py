"""`athand flows …`: find, show, summarize, move and delete recorded sessions; and the group of all commands."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from athand.adapters.cli import flows_browser, options
from athand.adapters.cli.completion_values import complete_flow
from athand.adapters.cli.flows_browser import find_step, session_id
from athand.adapters.cli.session import Command, SectionedGroup, Session, command, confirm
from athand.adapters.cli.words import echo, echo_data, pluralize, to_one_line
from athand.errors import Conflict

if TYPE_CHECKING:
    from athand.flows import FlowSession, Step
    from athand.flows.service import Flows
    from athand.flows.transfer import ImportedFlows

find_commands = click.Group()
move_commands = click.Group()

# Written out, because importing them would load the engine for `--help`; a test compares them with the engine's.
LANGUAGES = ("python", "typescript")
_only_session = click.option("--session", "within", metavar="ID", help="Only this session; default: all sessions.")
NO_SESSIONS = "No session yet. Record one with: athand flows record URL, or import some: athand flows import FOLDER"


def filter_options(function: Command) -> Command:
    """Add the options that filter sessions and steps."""
    add = partial(options.of, "flows.parameters:FilterKeys")
    for option in (
        add("outcome", help="Only steps that succeeded (ok) or failed (error)."),
        add("app", help="Only this app; default: all apps."),
        add("git_branch", flags="--branch", metavar="NAME", help="Only sessions recorded on this git branch."),
        add("since_hours", flags="--since", metavar="HOURS", help="Only the last so many hours."),
        add("screen", metavar="NAME", help="Only this screen."),
        add("tag", metavar="WORD", help="Only sessions with this tag."),
        add("flow_tag", metavar="WORD", help="Only sessions of this kind, such as send or checkout."),
    ):
        function = option(function)
    return function


@command(find_commands, "sessions")
@filter_options
@options.of("flows.service:Flows.sessions", "limit")
def sessions(session: Session, /, limit: int, **filters: Any) -> None:
    """List the newest sessions.

    \b
    Examples:
      athand flows sessions --flow-tag send --since 48
      athand flows sessions --app shop --outcome error
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    given = options.drop_unset(filters)
    with session.open() as athand:
        found = athand.flows.sessions(limit, given)
    if session.print_plain(found):
        return
    if found:
        from athand.adapters.cli.render_flows import print_sessions

        print_sessions(session.console(), found)
    else:
        session.say(" No session matches these filters." if given else f" {NO_SESSIONS}")


@command(find_commands, "search")
@options.query
@_only_session
@filter_options
@options.of("flows.service:Flows.search", "limit", "min_score")
@click.option("--explain", is_flag=True, help="Show how each score is computed.")
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
    """Find steps by action, screen, element and goal.

    \b
    Examples:
      athand flows search "send tokens"
      athand flows search "confirm button" --screen confirm-transaction --outcome error --explain
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    from athand.adapters.cli.answers import print_answer
    from athand.flows.descriptions import describe_step

    started = time.perf_counter()
    scope: str | Mapping[str, str] = "all" if within is None else {"session": within}
    with session.open() as athand:
        given = options.drop_unset(filters)
        hits = athand.flows.search(query, limit=limit, scope=scope, filters=given, min_score=min_score)
        seconds = time.perf_counter() - started
        if not session.as_json:
            hits[:] = [replace(hit, title=describe_step(hit.item)) for hit in hits]
        print_answer(session, athand, hits, seconds, explain=explain, corpora=("flows",))


@command(find_commands, "show")
@session_id
@click.option("--step", "position", type=int, metavar="N", help="Only this step, with the page and what was known.")
@click.option("--full", is_flag=True, help="Show the page and what was known at every step.")
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
        steps = [find_step(steps, position, id)]
    if session.as_json:
        whole = found.to_dict() | {"steps": [step.to_dict() for step in steps]}
        session.show(whole if position is None else steps[0].to_dict())
    elif not session.print_plain(steps):
        _print_session(session, found, steps, only_step=position is not None, full=full)


def _print_session(
    session: Session, found: "FlowSession", steps: "Sequence[Step]", *, only_step: bool, full: bool
) -> None:
    from athand.adapters.cli.render_flows import print_session, print_step, print_steps

    console = session.console()
    if not only_step:
        print_session(console, found)
    if full or only_step:
        for step in steps:
            print_step(console, step)
    else:
        print_steps(console, steps)


@command(find_commands, "last")
@options.of("flows.service:Flows.last", "n", flags="-n")
@_only_session
def last(session: Session, /, n: int, within: str | None) -> None:
    """List the newest steps, newest first."""
    with session.open() as athand:
        steps = athand.flows.last(n, within)
    if session.print_plain(steps):
        return
    if steps:
        from athand.adapters.cli.render_flows import print_last

        print_last(session.console(), steps)
    else:
        session.say(" This session has no steps yet." if within else f" {NO_SESSIONS}")


@command(find_commands, "summarize")
@session_id
def summarize(session: Session, /, id: str) -> None:
    """Summarize a session: its screens, actions and errors."""
    with session.open() as athand:
        summary = athand.flows.summarize(id)
    if session.as_json:
        session.show(summary.to_dict())
    elif session.quiet:
        for action in summary.actions:
            echo(to_one_line(action))
    else:
        from athand.adapters.cli.render_flows import print_summary

        print_summary(session.console(), summary)


@command(find_commands, "suggest")
@session_id
def suggest(session: Session, /, id: str) -> None:
    """Predict the next action of a session.

    Compares what other sessions did on its newest screen.

    \b
    Example:
      athand flows suggest ID
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    with session.open() as athand:
        knowledge = athand.flows.suggest(id)
    if session.as_json:
        session.show(knowledge and knowledge.to_dict())
    elif knowledge is None:
        session.say(" Nothing is known about this screen yet: no other session was on it.")
    elif session.quiet:
        for each in knowledge.suggested_next_actions:
            echo(each.action)
    else:
        from athand.adapters.cli.render_flows import print_knowledge

        print_knowledge(session.console(), knowledge.to_dict())


@command(move_commands, "export")
@click.argument("id", metavar="[SESSION]", required=False, shell_complete=complete_flow)
@click.option("--all", "export_all", is_flag=True, help="All sessions, as folders.")
@click.option(
    "--format",
    "form",
    type=click.Choice(("folder", *LANGUAGES)),
    default="folder",
    show_default=True,
    help="A folder that can be imported, or a Playwright test.",
)
@click.option(
    "--output",
    metavar="PATH",
    help="A folder for folders, a file for a test; default: the current folder, standard output.",
)
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
def export(session: Session, /, id: str | None, export_all: bool, form: str, output: str | None, force: bool) -> None:
    """Export a session as a folder, or as a Playwright test that runs without Athand.

    \b
    Examples:
      athand flows export ID --format python --output test_send.py
      athand flows export --all --output sessions
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    if (id is None) != export_all:
        raise click.UsageError("Give a SESSION to export, or --all.")
    if form == "folder":
        with session.open() as athand:
            folders = athand.flows.export(output or ".", id)
        _report_folders(session, folders)
    elif id is None:
        raise click.UsageError("A test is made of one SESSION; --all exports folders only.")
    else:
        with session.open() as athand:
            source = athand.flows.script(id, form)
        _write_script(session, source, form, output, force=force)


def _report_folders(session: Session, folders: list[Path]) -> None:
    if session.as_json:
        session.show({"folders": [str(folder) for folder in folders]})
        return
    for folder in folders:
        echo(str(folder))
    session.say(f"Exported {pluralize(len(folders), 'session')}.")


def _write_script(session: Session, source: str, language: str, output: str | None, *, force: bool) -> None:
    if output is not None:
        _write_file(Path(output), source, force=force)
    if session.as_json:
        session.show({"language": language, "output": output, "source": source})
    elif output is None:
        echo_data(source, nl=False)
    else:
        session.say(f"Wrote {output}")


def _write_file(file: Path, source: str, *, force: bool) -> None:
    try:
        with file.open("w" if force else "x", encoding="utf-8") as out:
            out.write(source)
    except FileExistsError as error:
        raise Conflict(f"{file} exists already. Overwrite it with --force, or choose another --output.") from error


@command(move_commands, "import", creates=True)
@click.argument("folder")
@options.of("flows.service:Flows.import_", "app")
def import_(session: Session, /, folder: str, app: str) -> None:
    """Import a folder of sessions.

    Each session is a folder with session.json and steps/*.json. Sessions that are in the store already are not added
    twice. Files that cannot be read are named and left out.

    \b
    Example:
      athand flows import ~/knowledge --app metamask
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    with session.open() as athand:
        imported = _import_folder(session, athand.flows, folder, app)
    if session.as_json:
        session.show(imported.to_dict())
    elif session.quiet:
        echo(imported.sessions)
    else:
        _report_import(session, imported, folder)
    if imported.problems and not imported.sessions and not imported.known:
        raise SystemExit(65)


def _import_folder(session: Session, flows: "Flows", folder: str, app: str) -> "ImportedFlows":
    """Import with a progress bar on a terminal."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    columns = (" Importing", BarColumn(), MofNCompleteColumn(separator=" / "), TimeRemainingColumn())
    console = session.console(stderr=True)
    is_hidden = session.quiet or not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=is_hidden) as progress:
        task = progress.add_task("Importing", total=None)
        return flows.import_(
            folder, app=app, progress=lambda done, total: progress.update(task, completed=done, total=total)
        )


def _report_import(session: Session, imported: "ImportedFlows", folder: str) -> None:
    for problem in imported.problems:
        session.say(f" {click.style('!', fg='yellow')} {to_one_line(problem)}")
    known = f"; {pluralize(imported.known, 'session')} known already" if imported.known else ""
    new = f"{pluralize(imported.sessions, 'session')} with {pluralize(imported.steps, 'step')}"
    session.say(f"Imported {new} from {folder}{known}")


@command(move_commands, "delete")
@session_id
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
def delete(session: Session, /, id: str, yes: bool) -> None:
    """Delete a session with its steps and screenshots. This cannot be undone."""
    with session.open() as athand:
        found = athand.flows.session(id)
        if not yes:
            goal = f" “{to_one_line(found.goal)}”" if found.goal else ""
            confirm(f"Delete session {id}{goal} with {pluralize(found.steps, 'step')} for good?")
        steps = athand.flows.delete(id)
    session.report(found, f"Deleted session {id} and its {pluralize(steps, 'step')}.")


@command(move_commands, "profiles")
def profiles(session: Session, /) -> None:
    """List the profiles, which tell the screens of an app apart.

    An app without a profile of its own uses `default`. Add a profile as NAME.toml to the folder `profiles` beside
    Athand's configuration file.
    """
    with session.open() as athand:
        found = [athand.flows.profile(name) for name in athand.flows.profiles()]
    if not session.print_plain(found, data="name"):
        from athand.adapters.cli.render_flows import print_profiles

        print_profiles(session.console(), found)


flows = SectionedGroup(
    "flows",
    help="Record sessions in a browser, search and replay them, and predict the next action.",
    sections={
        "Find": find_commands,
        "Record": flows_browser.record_commands,
        "Use again": flows_browser.replay_commands,
        "Keep and move": move_commands,
    },
)
