"""`athand flows record`: walk through an app in a real browser, line by line."""

import json
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from athand.adapters.cli import options
from athand.adapters.cli.flows_lines import HELP, read_json, read_words
from athand.adapters.cli.session import Command, Session, command
from athand.adapters.cli.words import pluralize, to_one_line
from athand.errors import AthandError, InvalidInput, Unavailable

if TYPE_CHECKING:
    from athand.flows.browser import Browser
    from athand.types import Noun

commands = click.Group()


def in_browser(function: Command) -> Command:
    """Add the options that say how a browser is opened."""
    for option in (
        click.option("--extension", metavar="DIR", help="With this unpacked browser extension."),
        click.option("--headed", is_flag=True, help="In a window that can be seen."),
    ):
        function = option(function)
    return function


@command(commands, "record")
@click.argument("url", required=False)
@click.option("--goal", metavar="TEXT", help="What it is for; it is found by that.")
@click.option("--app", metavar="NAME", help="Which app it is; `default`, if not given.")
@click.option("--flow-tag", "flow_tags", metavar="WORD", multiple=True, help="What kind of walk; may be repeated.")
@click.option("--tag", "tags", metavar="WORD", multiple=True, help="A word to find it by; may be repeated.")
@click.option("--session", "own", metavar="ID", help="Go on with this session, or begin it with this id.")
@click.option("--screenshots", metavar="DIR", help="Where pictures go.")
@click.option("--timeout", "timeout_s", type=float, metavar="SECONDS", help="How long to wait for a target; 10.")
@in_browser
def record(session: Session, /, url: str | None, own: str | None, headed: bool, **given: Any) -> None:
    """Walk through an app, line by line; every step is kept with what was seen.

    Reads commands from the keyboard, or a script from standard input, which ends at its first failure. With --json
    every line is an object such as {"tool": "click", "testId": "send"}, and so is every answer: for programs.

    \b
    Examples:
      athand flows record https://shop.test --goal "Buy a kettle" --flow-tag checkout
      echo 'click role=button name="Buy now"' | athand flows record https://shop.test
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    chosen = options.drop_unset(given | {"url": url, "session": own})
    with session.open() as athand:
        with athand.flows.open_browser(headless=not headed, **chosen) as browser:
            went_well = _walk(session, browser)
        recorded = athand.flows.session(str(browser.session_id))
    if session.as_json:
        _echo_json({"tool": "cleanup", "ok": True, "session_id": recorded.id, "steps": recorded.steps})
    elif session.quiet:
        click.echo(recorded.id)
    else:
        session.say(f" Recorded {pluralize(recorded.steps, 'step')}. See: athand flows show {recorded.id}")
    if not went_well:
        raise SystemExit(1)


def _walk(session: Session, browser: "Browser") -> bool:
    """Do what each line says; whether a script got to its end."""
    session.say(f" Session {browser.session_id}" + ("  (help, quit)" if _somebody_is_here(session) else ""))
    if session.as_json:
        _echo_json({"tool": "launch", "ok": True, "session_id": browser.session_id})
    for number, line in enumerate(_lines(session), 1):
        failed = _answer_json(browser, line) if session.as_json else _answer(session, browser, line)
        if failed and not session.as_json:
            place = "" if _somebody_is_here(session) else f"line {number}: "
            click.echo(f" {click.style('✗', fg='red')} {place}{to_one_line(failed)}", err=True)
            if place:
                return False
    return True


def _somebody_is_here(session: Session) -> bool:
    return sys.stdin.isatty() and not session.as_json


def _lines(session: Session) -> Iterator[str]:
    """The lines to do, until there are no more, or one says so."""
    try:
        for line in iter(_ask, "") if _somebody_is_here(session) else sys.stdin:
            text = line.strip()
            if text in ("quit", "exit"):
                return
            if text and not text.startswith("#"):
                yield text
    except UnicodeDecodeError as error:
        raise InvalidInput("Standard input is not UTF-8. Convert it before.") from error


def _ask() -> str:
    """A line from the keyboard with its end; empty when there are no more."""
    try:
        return input(" > ") + "\n"
    except EOFError:
        return ""


def _answer_json(browser: "Browser", line: str) -> str:
    """Do what an object says, and answer with one; why it failed, if it did."""
    tool = None
    try:
        step = read_json(line)
        tool = step.get("tool")
        done: dict[str, Any] = {"tool": tool, "ok": True, "result": _done(browser, step).to_dict()}
    except AthandError as error:
        done = {"tool": tool, "ok": False, "error": {"code": _code(error), "message": str(error)}}
    _echo_json(done)
    return "" if done["ok"] else str(done["error"]["message"])


def _echo_json(value: dict[str, Any]) -> None:
    click.echo(json.dumps(value, ensure_ascii=False))


def _answer(session: Session, browser: "Browser", line: str) -> str:
    """Do what a line of words says, and show what came of it; why it failed, if it did."""
    if line == "help":
        click.echo(HELP, nl=False)
        return ""
    try:
        step = read_words(line)
        if step["tool"] == "type" and "text" not in step:
            step |= {"text": _hidden_text(session), "secret": True}
        done = _done(browser, step)
    except AthandError as error:
        return f"{_code(error)}: {error}"
    if not session.quiet:
        from athand.adapters.cli.render_flows import print_done

        print_done(session.console(), done)
    return ""


def _code(error: AthandError) -> str:
    return error.code or type(error).__name__


def _hidden_text(session: Session) -> str:
    if not _somebody_is_here(session):
        raise InvalidInput('type: the text is missing. Say it in quotes: type TARGET "TEXT".')
    return str(click.prompt(" Text (not shown)", hide_input=True, err=True))


def _done(browser: "Browser", step: dict[str, Any]) -> "Noun":
    """What came of one step; the browser records it."""
    from athand.flows.actions import ACTIONS, READ_VERBS, verb_of
    from athand.flows.browser.service import prepare_calls

    if verb_of(str(step.get("tool"))) not in (*ACTIONS, *READ_VERBS):
        raise InvalidInput(f"No tool {step.get('tool')!r}. Known: {', '.join((*ACTIONS, *READ_VERBS))}.")
    [(_, call)] = prepare_calls(browser, [step], "")
    noun: Noun = call()
    return noun


@command(commands, "setup-browser")
def setup_browser(session: Session, /) -> None:
    """Find the browser that flows use, and install one if there is none; prints its path."""
    from athand.config import load_settings
    from athand.flows.browser import chromium

    named = load_settings(data_dir=session.data_dir).chromium
    try:
        path = chromium.find_executable(named)
    except Unavailable:
        path = chromium.install_chromium(lambda line: session.say(f" {to_one_line(line)}"))
    if session.as_json:
        session.show({"browser": path})
    else:
        click.echo(path)
