"""`athand tools log`: who called which tool when, how long it took and how it ended."""

from typing import TYPE_CHECKING, Any

import click

from athand.adapters.cli import options
from athand.adapters.cli.session import Session, command
from athand.adapters.cli.tools_calls import call_commands

if TYPE_CHECKING:
    from athand.tools.model import CallRecord

commands = call_commands  # one section of the help: a call, and what was called


@command(commands, "log")
@options.of("tools.service:Tools.call_log", "server", "tool", "outcome", "limit")
@click.option("--catalogue", metavar="NAME", help="Only tools of this catalogue; default: all.")
def log(session: Session, /, catalogue: str | None, **given: Any) -> None:
    """List the latest calls of tools: when, by whom, how they ended, how long they took, and what was given.

    Secrets in arguments are left out before anything is written. Calls of the last 30 days are kept, at most 10,000 of
    a catalogue.

    \b
    Examples:
      athand tools log --server github
      athand tools log --outcome refused --json
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    with session.open() as athand:
        found = athand.tools.call_log(catalogue=catalogue, **given)
    if session.print_plain(found, data="tool"):
        return
    if found:
        _print_calls(session, found)
    else:
        session.say(" No calls. A call is kept here for 30 days.")


def _print_calls(session: Session, found: "list[CallRecord]") -> None:
    from rich.text import Text

    from athand.adapters.cli.render import make_cell, make_table, print_table
    from athand.adapters.cli.words import format_duration, format_short_age

    table = make_table("age", "caller", "tool", "outcome", "took", "arguments", flexible="arguments")
    for call in found:
        outcome = Text(call.outcome, "green" if call.outcome == "ok" else "yellow")
        said = call.arguments if call.reason is None else f"{call.arguments} {call.reason}"
        cells = (make_cell(call.caller), make_cell(call.tool, "cyan"), outcome, format_duration(call.seconds))
        table.add_row(Text(format_short_age(call.at), "dim"), *cells, make_cell(said, "dim"))
    print_table(session.console(), table)
