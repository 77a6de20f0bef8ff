"""`athand flows …`: sessions in and out, as folders and as tests; deleted; and how apps are read."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from athand.adapters.cli.flows_find import session_id
from athand.adapters.cli.session import Session, command, confirm
from athand.adapters.cli.words import pluralize, to_one_line
from athand.errors import Conflict

if TYPE_CHECKING:
    from athand.flows.service import Flows
    from athand.flows.transfer import Imported

commands = click.Group()

# Written out, because importing them would load the engine for `--help`; a test compares them with the engine's.
LANGUAGES = ("python", "typescript")


@command(commands, "export")
@click.argument("id", metavar="[SESSION]", required=False)
@click.option("--all", "every", is_flag=True, help="All sessions, as folders.")
@click.option(
    "--format",
    "form",
    type=click.Choice(("folder", *LANGUAGES)),
    default="folder",
    show_default=True,
    help="A folder that can be imported, or a Playwright test.",
)
@click.option("--output", metavar="PATH", help="Where to; folders here, tests to standard output, if not given.")
@click.option("--force", is_flag=True, help="Write over a file that is there.")
def export(session: Session, /, id: str | None, every: bool, form: str, output: str | None, force: bool) -> None:
    """Write a session as a folder, or as a Playwright test that runs by itself.

    \b
    Examples:
      athand flows export ID --format python --output test_send.py
      athand flows export --all --output sessions
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    if (id is None) != every:
        raise click.UsageError("Export what? Give a SESSION, or --all.")
    if form == "folder":
        with session.open() as athand:
            folders = athand.flows.export(output or ".", id)
        _tell_folders(session, folders)
    elif id is None:
        raise click.UsageError("A test is made of one SESSION.")
    else:
        with session.open() as athand:
            source = athand.flows.script(id, form)
        _write_script(session, source, form, output, force=force)


def _tell_folders(session: Session, folders: list[Path]) -> None:
    if session.as_json:
        session.show({"folders": [str(folder) for folder in folders]})
        return
    for folder in folders:
        click.echo(str(folder))
    session.say(f"Exported {pluralize(len(folders), 'session')}.")


def _write_script(session: Session, source: str, language: str, output: str | None, *, force: bool) -> None:
    if output is not None:
        _save(Path(output), source, force=force)
    if session.as_json:
        session.show({"language": language, "output": output, "source": source})
    elif output is None:
        click.echo(source, nl=False)
    else:
        session.say(f"Wrote {output}")


def _save(file: Path, source: str, *, force: bool) -> None:
    try:
        with file.open("w" if force else "x", encoding="utf-8") as out:
            out.write(source)
    except FileExistsError as error:
        raise Conflict(f"{file} is there already. Write over it with --force, or choose another --output.") from error


@command(commands, "import")
@click.argument("folder")
@click.option("--app", metavar="NAME", default="default", show_default=True, help="Whose sessions, if they do not say.")
def import_(session: Session, /, folder: str, app: str) -> None:
    """Read the sessions in FOLDER: each a folder with session.json, and steps/*.json.

    What is there already is not added twice; what cannot be read is named, and the rest is kept.

    \b
    Example:
      athand flows import ~/knowledge --app metamask
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    with session.open() as athand:
        done = _imported(session, athand.flows, folder, app)
    if session.as_json:
        session.show(done.to_dict())
    elif session.quiet:
        click.echo(done.sessions)
    else:
        _tell_imported(session, done, folder)
    if done.problems and not done.sessions and not done.known:
        raise SystemExit(65)


def _imported(session: Session, flows: "Flows", folder: str, app: str) -> "Imported":
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    columns = (" Importing", BarColumn(), MofNCompleteColumn(separator=" / "), TimeRemainingColumn())
    console = session.console(stderr=True)
    hidden = session.quiet or not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=hidden) as progress:
        task = progress.add_task("Importing", total=None)
        return flows.import_(
            folder, app=app, progress=lambda done, total: progress.update(task, completed=done, total=total)
        )


def _tell_imported(session: Session, done: "Imported", folder: str) -> None:
    for problem in done.problems:
        session.say(f" {click.style('!', fg='yellow')} {to_one_line(problem)}")
    known = f"; {pluralize(done.known, 'session')} known already" if done.known else ""
    new = f"{pluralize(done.sessions, 'session')} with {pluralize(done.steps, 'step')}"
    session.say(f"Imported {new} from {folder}{known}")


@command(commands, "delete")
@session_id
@click.option("--yes", is_flag=True, help="Do not ask.")
def delete(session: Session, /, id: str, yes: bool) -> None:
    """Delete a session and its steps; nothing of them is left."""
    with session.open() as athand:
        found = athand.flows.session(id)
        if not yes:
            goal = f" “{to_one_line(found.goal)}”" if found.goal else ""
            confirm(f"Delete session {id}{goal} with {pluralize(found.steps, 'step')} for good?")
        steps = athand.flows.delete(id)
    session.report(found, f"Deleted session {id} and its {pluralize(steps, 'step')}.")


@command(commands, "profiles")
def profiles(session: Session, /) -> None:
    """List the profiles: how apps and their screens are told apart.

    An app without a profile of its own is read as `default`. Put one of yours into the folder `profiles` beside the
    configuration of Athand: NAME.toml.
    """
    with session.open() as athand:
        found = [athand.flows.profile(name) for name in athand.flows.profiles()]
    if not session.print_plain(found, data="name"):
        from athand.adapters.cli.render_flows import print_profiles

        print_profiles(session.console(), found)
