"""`athand tools call`: call a tool with arguments from the command line."""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from athand.adapters.cli.session import Session, command, standard_input
from athand.adapters.cli.tools_open import chosen, find_tool, opened
from athand.adapters.cli.words import sized
from athand.errors import InvalidInput, Refused, ToolFailed

if TYPE_CHECKING:
    from athand.tools import CallResult, Tool

commands = click.Group()


@command(commands, "call")
@click.argument("id", metavar="TOOL")
@click.argument("arguments", required=False)
@click.option("--arg", "pairs", metavar="NAME=VALUE", multiple=True, help="One argument; may be repeated.")
@click.option("--yes", is_flag=True, help="Call it, also where a rule wants you to be asked.")
@click.option("--seconds", type=float, help="How long to wait; as the server's configuration says, if not given.")
@chosen
def call(
    session: Session,
    /,
    id: str,
    arguments: str | None,
    pairs: tuple[str, ...],
    yes: bool,
    seconds: float | None,
    **given: Any,
) -> None:
    """Call a tool.

    The arguments are given as JSON, one by one, or on standard input (`-`). Values are made what the tool's schema
    wants: a number, true or false, a list. A name that is given twice makes a list. The answer is printed as it is, or
    with --json with all of its parts.

    \b
    Examples:
      athand tools call time__get_current_time --arg timezone=Europe/Paris
      athand tools call github__create_issue '{"title": "It hangs", "labels": ["bug"]}'
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    wanted = _arguments(arguments, pairs)
    confirm = _asker(yes=yes)
    with opened(session, **given) as found:
        where = find_tool(session, found, id).catalogue
        try:
            result = found.tools.call(id, wanted, catalogue=where, confirm=confirm, seconds=seconds)
        except ToolFailed as error:
            from athand.adapters.cli.render_tools import said

            raise ToolFailed(said(str(error))) from error
    if session.as_json:
        session.show(result.to_dict())
    else:
        _print_answer(session, result)


def _arguments(given: str | None, pairs: Sequence[str]) -> dict[str, Any]:
    """What was said in one piece, with what was said one by one put into it."""
    text = standard_input() if given == "-" else given
    whole = _parsed(text) if text and text.strip() else {}
    for name, values in _by_name(pairs).items():
        whole[name] = values[0] if len(values) == 1 else values
    return whole


def _parsed(text: str) -> dict[str, Any]:
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(
            f"The arguments are not JSON: {error}. Write an object, such as '{{\"name\": 1}}'."
        ) from error
    if not isinstance(parsed, dict):
        raise InvalidInput("The arguments must be a JSON object, such as '{\"name\": 1}'.")
    return parsed


def _by_name(pairs: Sequence[str]) -> dict[str, list[str]]:
    named: dict[str, list[str]] = {}
    for pair in pairs:
        name, sign, value = pair.partition("=")
        if not sign or not name:
            raise click.UsageError(f"--arg {pair!r} must be NAME=VALUE.")
        named.setdefault(name, []).append(value)
    return named


def _asker(*, yes: bool) -> "Callable[[Tool, Mapping[str, Any]], bool]":
    """How to answer a rule that wants the user to be asked."""

    def ask(tool: "Tool", arguments: Mapping[str, Any]) -> bool:
        from athand.adapters.cli.render_tools import seen

        if yes:
            return True
        if not sys.stdin.isatty():
            raise Refused(
                f"A rule of yours wants you to be asked about {tool.id}, and nobody is here to answer. "
                "Say --yes if you mean it."
            )
        shown = seen(json.dumps(arguments, ensure_ascii=False))
        return click.confirm(f"Call {tool.id} with {shown}?", err=True)

    return ask


def _print_answer(session: Session, result: "CallResult") -> None:
    """The text, made safe for a terminal; a file or a program gets it as it is."""
    text = result.text
    if not text and result.structured is not None:
        text = json.dumps(result.structured, ensure_ascii=False, indent=2)
    if sys.stdout.isatty():
        from athand.adapters.cli.render_tools import said

        text = said(text)
    if text:
        click.echo(text)
    for part in result.content:
        if part.get("type") != "text":
            session.say(f" Not shown: {_named(part)}. See all with --json")
    if not text and not result.content:
        session.say(" It answered nothing.")


def _named(part: Mapping[str, Any]) -> str:
    from athand.adapters.cli.render_tools import seen

    data = part.get("data")
    size = f", {sized(len(data) * 3 // 4)}" if isinstance(data, str) else ""
    return seen(f"{part.get('type')} {part.get('mimeType') or part.get('uri') or ''}".strip()) + size
