"""`athand flows …`: do again what a session did, and say where an element was taken for another."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from athand.adapters.cli import options
from athand.adapters.cli.flows_find import session_id, step_at
from athand.adapters.cli.flows_record import in_browser
from athand.adapters.cli.session import Session, command
from athand.adapters.cli.words import to_one_line

if TYPE_CHECKING:
    from athand.flows import Step
    from athand.flows.replay.player import Replay

commands = click.Group()


@command(commands, "replay")
@session_id
@click.option("--start", default=1, show_default=True, metavar="N", help="Begin with this step.")
@click.option("--goal", metavar="TEXT", help="Do it for this goal; values that it names take the place of the old.")
@click.option("--value", "values", metavar="FIELD=TEXT", multiple=True, help="What to put into a field; repeatable.")
@click.option("--value-env", "variables", metavar="FIELD=VAR", multiple=True, help="The same, from the environment.")
@click.option("--no-heal", is_flag=True, help="Stop where an element has another name now.")
@click.option("--url", help="Begin at this address.")
@in_browser
def replay(
    session: Session,
    /,
    id: str,
    start: int,
    goal: str | None,
    values: tuple[str, ...],
    variables: tuple[str, ...],
    no_heal: bool,
    headed: bool,
    **given: Any,
) -> None:
    """Do again what a session did, in a real browser, from memory alone.

    Stops where the page differs, and says how (exit 1). What was secret is not kept: give it by the field's name.

    \b
    Examples:
      athand flows replay ID --value-env password=SHOP_PASSWORD
      athand flows replay ID --goal "Send 7 coins to jon"
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    told = _pairs("--value", values) | _from_environment(_pairs("--value-env", variables))
    with session.open() as athand:
        app = athand.flows.session(id).app
        browser = athand.flows.prepare_browser(app=app, headless=not headed, **options.drop_unset(given))
        done = athand.flows.replay(
            browser,
            id,
            start=start,
            goal=goal,
            values=told,
            heal=not no_heal,
            progress=lambda step: _tell(session, step),
        )
    _show(session, done)
    if not done.ok:
        raise SystemExit(1)


def _pairs(option: str, words: Sequence[str]) -> dict[str, str]:
    """The names and values that were given; the name of a field may have no `=` in it."""
    for word in words:
        if not word.partition("=")[0] or "=" not in word:
            raise click.UsageError(f"{option} takes a field and its value: FIELD=…, not {word!r}.")
    return {name: value for name, _, value in (word.partition("=") for word in words)}


def _from_environment(variables: dict[str, str]) -> dict[str, str]:
    for variable in variables.values():
        if variable not in os.environ:
            raise click.UsageError(f"There is no variable {variable} in the environment.")
    return {name: os.environ[variable] for name, variable in variables.items()}


def _tell(session: Session, step: "Step") -> None:
    """A step that was done, without what was typed."""
    from athand.flows.descriptions import describe_action

    session.say(f" {click.style('✓', fg='green')} {step.position:>3}  {to_one_line(describe_action(step))}")


def _show(session: Session, done: "Replay") -> None:
    if session.as_json:
        session.show(done.to_dict())
    elif session.quiet:
        click.echo(done.session_id or "")
    else:
        from athand.adapters.cli.render_flows import print_replay

        print_replay(session.console(), done)


@command(commands, "reject-heal")
@session_id
@click.argument("position", metavar="STEP", type=int)
@click.argument("element")
def reject_heal(session: Session, /, id: str, position: int, element: str) -> None:
    """Say that ELEMENT is not what a step was done to: no replay takes it for that again.

    A replay names the elements that it found instead of others.
    """
    with session.open() as athand:
        step = step_at(athand.flows.steps(id), position, id)
        athand.flows.reject_heal(step, element)
    session.report(step, f"Step {position} is not done to {to_one_line(element)} any more.")
