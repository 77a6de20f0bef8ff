"""`athand flows record` and `replay`: record a session in a real browser, line by line, and replay it there."""

import os
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from athand.adapters.cli import options
from athand.adapters.cli.completion_values import complete_flow
from athand.adapters.cli.flows_line_parser import HELP, parse_json, parse_words
from athand.adapters.cli.session import Command, Session, command
from athand.adapters.cli.words import echo, pluralize, to_json, to_one_line
from athand.errors import AthandError, InvalidInput, NotFound, Unavailable

if TYPE_CHECKING:
    from athand.flows import Step
    from athand.flows.browser import Browser
    from athand.flows.replay.player import Replay
    from athand.types import Noun

record_commands = click.Group()
replay_commands = click.Group()

session_id = click.argument("id", metavar="SESSION", shell_complete=complete_flow)


def browser_options(function: Command) -> Command:
    """Add the options that say how the browser is started."""
    for option in (
        click.option("--extension", metavar="DIR", help="Load this unpacked browser extension."),
        click.option("--headed", is_flag=True, help="Show the browser's window; default: no window."),
    ):
        function = option(function)
    return function


@command(record_commands, "record", creates=True)
@click.argument("url", required=False)
@options.of("flows.service:Flows.start_session", "goal", metavar="TEXT")
@options.of("flows.service:Flows.start_session", "app")
@options.of("flows.service:Flows.start_session", "flow_tags", flags="--flow-tag", metavar="WORD")
@options.of("flows.service:Flows.start_session", "tags")
@click.option("--session", "own", metavar="ID", help="Continue this session, or start a new one with this id.")
@click.option("--screenshots", metavar="DIR", help="The folder for screenshots.")
@click.option(
    "--timeout", "timeout_s", type=float, metavar="SECONDS", help="Maximum seconds to wait for an element; default: 10."
)
@browser_options
def record(session: Session, /, url: str | None, own: str | None, headed: bool, **given: Any) -> None:
    """Use an app in a browser, and record every step.

    A step is stored with what was on the page. Reads commands from the keyboard (`help` lists them), or a script from
    standard input, which ends at its first failure. With --json, for programs, every line is an object such as
    {"tool": "click", "testId": "send"}, and so is every answer.

    \b
    Examples:
      athand flows record https://shop.test --goal "Buy a kettle" --flow-tag checkout
      echo 'click role=button name="Buy now"' | athand flows record https://shop.test
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    launch_options = options.drop_unset(given | {"url": url, "session": own})
    with session.open() as athand:
        with athand.flows.open_browser(headless=not headed, **launch_options) as browser:
            ok = _run_lines(session, browser)
        recording = athand.flows.session(str(browser.session_id))
    if session.as_json:
        _echo_json({"tool": "cleanup", "ok": True, "session_id": recording.id, "steps": recording.steps})
    elif session.quiet:
        echo(recording.id)
    else:
        session.say(f" Recorded {pluralize(recording.steps, 'step')}. Show them with: athand flows show {recording.id}")
    if not ok:
        raise SystemExit(1)


def _run_lines(session: Session, browser: "Browser") -> bool:
    """Run each line; False if a script failed before its end."""
    is_interactive = _is_interactive(session)
    session.say(f" Session {browser.session_id}" + ("  (help, quit)" if is_interactive else ""))
    if session.as_json:
        _echo_json({"tool": "launch", "ok": True, "session_id": browser.session_id})
    for number, line in enumerate(_read_lines(session), 1):
        if session.as_json:
            _run_json_line(browser, line)
        elif problem := _run_line(session, browser, line):
            place = "" if is_interactive else f"line {number}: "
            echo(f" {click.style('✗', fg='red')} {place}{to_one_line(problem)}", err=True)
            if not is_interactive:
                return False
    return True


def _is_interactive(session: Session) -> bool:
    return sys.stdin.isatty() and not session.as_json


def _read_lines(session: Session) -> Iterator[str]:
    """The lines to run, until the input ends or a line says quit; without empty lines and comments."""
    try:
        for line in iter(_read_line, "") if _is_interactive(session) else sys.stdin:
            text = line.strip()
            if text in ("quit", "exit"):
                return
            if text and not text.startswith("#"):
                yield text
    except UnicodeDecodeError as error:
        raise InvalidInput("Standard input is not UTF-8. Convert it first.") from error


def _read_line() -> str:
    """A line from the keyboard with its line end; empty at the end of the input."""
    try:
        return input(" > ") + "\n"
    except EOFError:
        return ""


def _run_json_line(browser: "Browser", line: str) -> None:
    """Run the step that a JSON object describes, and print the result or the error as JSON."""
    tool = None
    try:
        step = parse_json(line)
        tool = step.get("tool")
        answer: dict[str, Any] = {"tool": tool, "ok": True, "result": _run_step(browser, step).to_dict()}
    except AthandError as error:
        answer = {"tool": tool, "ok": False, "error": {"code": _error_code(error), "message": str(error)}}
    _echo_json(answer)


def _echo_json(value: dict[str, Any]) -> None:
    echo(to_json(value))


def _run_line(session: Session, browser: "Browser", line: str) -> str:
    """Run a line of words and print the result; returns why it failed, or an empty text."""
    if line == "help":
        echo(HELP, nl=False)
        return ""
    try:
        step = parse_words(line)
        if step["tool"] == "type" and "text" not in step:
            step |= {"text": _ask_secret(session), "secret": True}
        result = _run_step(browser, step)
    except AthandError as error:
        return f"{_error_code(error)}: {error}"
    if not session.quiet:
        from athand.adapters.cli.render_flows import print_result

        print_result(session.console(), result)
    return ""


def _error_code(error: AthandError) -> str:
    return error.code or type(error).__name__


def _ask_secret(session: Session) -> str:
    if not _is_interactive(session):
        raise InvalidInput('type: the text is missing. Put it in quotes: type TARGET "TEXT".')
    return str(click.prompt(" Text (not shown)", hide_input=True, err=True))


def _run_step(browser: "Browser", step: dict[str, Any]) -> "Noun":
    """Run one step, which the browser records; returns its result."""
    from athand.flows.actions import ACTIONS, READ_VERBS, verb_of
    from athand.flows.browser.service import prepare_calls

    if verb_of(str(step.get("tool"))) not in (*ACTIONS, *READ_VERBS):
        raise InvalidInput(f"No tool {step.get('tool')!r}. Known: {', '.join((*ACTIONS, *READ_VERBS))}.")
    [(_, call)] = prepare_calls(browser, [step], "")
    result: Noun = call()
    return result


@command(record_commands, "setup-browser")
def setup_browser(session: Session, /) -> None:
    """Find the browser to record with, or install one.

    Prints its path.
    """
    from athand.config import load_settings
    from athand.flows.browser import chromium

    def show(line: str) -> None:
        session.say(f" {to_one_line(line)}")

    configured = load_settings(data_dir=session.data_dir).chromium
    chromium.check_playwright()  # a browser alone records nothing
    try:
        path = chromium.find_executable(configured)
        path = path if configured else chromium.install_headless_shell(path, show)
    except Unavailable:
        path = chromium.install_chromium(show)
    if session.as_json:
        session.show({"browser": path})
    else:
        echo(path)


@command(replay_commands, "replay")
@session_id
@click.option("--start", default=1, show_default=True, metavar="N", help="Start with this step.")
@click.option("--goal", metavar="TEXT", help="The new goal; values that it names replace those of the recorded goal.")
@click.option(
    "--value", "values", metavar="FIELD=TEXT", multiple=True, help="The text to type into a field; may be repeated."
)
@click.option(
    "--value-env",
    "variables",
    metavar="FIELD=VAR",
    multiple=True,
    help="Like --value, with the text of an environment variable: for secrets.",
)
@click.option(
    "--no-heal", is_flag=True, help="Stop where an element is missing, instead of looking for its replacement."
)
@click.option(
    "--origin",
    "origins",
    metavar="URL",
    multiple=True,
    help="Type here too, not only where the session was recorded: https://shop.test. May be repeated.",
)
@click.option("--url", help="Start at this address; default: where the session was recorded.")
@browser_options
def replay(
    session: Session,
    /,
    id: str,
    start: int,
    goal: str | None,
    values: tuple[str, ...],
    variables: tuple[str, ...],
    no_heal: bool,
    origins: tuple[str, ...],
    headed: bool,
    **given: Any,
) -> None:
    """Replay a session in a real browser, without a language model.

    Stops where the page differs, and says how (exit 1). Secrets are not stored: give them by the names of their fields.

    \b
    Examples:
      athand flows replay ID --value-env password=SHOP_PASSWORD
      athand flows replay ID --goal "Send 7 coins to jon"
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    values_by_field = _parse_pairs("--value", values) | _read_variables(_parse_pairs("--value-env", variables))
    with session.open() as athand:
        app = athand.flows.session(id).app
        browser = athand.flows.prepare_browser(app=app, headless=not headed, **options.drop_unset(given))
        result = athand.flows.replay(
            browser,
            id,
            start=start,
            goal=goal,
            values=values_by_field,
            heal=not no_heal,
            origins=origins,
            progress=lambda step: _show_progress(session, step),
        )
    _show_replay(session, result)
    if not result.ok:
        raise SystemExit(1)


def _parse_pairs(option: str, words: Sequence[str]) -> dict[str, str]:
    """Values by field; the name of a field cannot contain `=`."""
    for word in words:
        if not word.partition("=")[0] or "=" not in word:
            raise click.UsageError(f"{option} takes a field and its value: FIELD=…, not {word!r}.")
    return {name: value for name, _, value in (word.partition("=") for word in words)}


def _read_variables(variables: dict[str, str]) -> dict[str, str]:
    """The values of environment variables by field."""
    for variable in variables.values():
        if variable not in os.environ:
            raise click.UsageError(f"There is no variable {variable} in the environment.")
    return {name: os.environ[variable] for name, variable in variables.items()}


def _show_progress(session: Session, step: "Step") -> None:
    """A replayed step, without the text that was typed."""
    from athand.flows.descriptions import describe_action

    session.say(f" {click.style('✓', fg='green')} {step.position:>3}  {to_one_line(describe_action(step))}")


def _show_replay(session: Session, replay: "Replay") -> None:
    if session.as_json:
        session.show(replay.to_dict())
    elif session.quiet:
        echo(replay.session_id or "")
    else:
        from athand.adapters.cli.render_flows import print_replay

        print_replay(session.console(), replay)


@command(replay_commands, "reject-heal")
@session_id
@click.argument("position", metavar="STEP", type=int)
@click.argument("element")
def reject_heal(session: Session, /, id: str, position: int, element: str) -> None:
    """Mark ELEMENT as a wrong replacement for a missing one.

    No replay of this step uses it again. A replay prints this command for every element that it used as a replacement.
    """
    with session.open() as athand:
        step = find_step(athand.flows.steps(id), position, id)
        athand.flows.reject_heal(step, element)
    session.report(step, f"Replays of step {position} no longer use {to_one_line(element)}.")


def find_step(steps: "Sequence[Step]", position: int, id_: str) -> "Step":
    """The step at a position."""
    found = next((step for step in steps if step.position == position), None)
    if found is None:
        existing = f"It has the steps 1 to {len(steps)}" if steps else "It has no steps"
        raise NotFound(f"Session {id_} has no step {position}. {existing}.")
    return found
