"""`athand tools …`: search, list and describe tools, write typed functions for them; and the group of all commands."""

import time
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from athand.adapters.cli import options, tools_calls, tools_log, tools_servers
from athand.adapters.cli.completion_values import complete_tool
from athand.adapters.cli.session import SectionedGroup, Session, command
from athand.adapters.cli.tools_catalogues import (
    FAILED,
    IDLE,
    NO_SERVERS,
    UNKNOWN,
    Catalogues,
    catalogue_options,
    connect_servers,
    find_tool,
    open_catalogues,
)
from athand.adapters.cli.tools_servers import show_servers
from athand.adapters.cli.words import echo, echo_data, pluralize

if TYPE_CHECKING:
    from athand.tools import Tool, ToolHit
    from athand.types import Hits

commands = click.Group()

# Written out, because importing them would load the engine for `--help`; a test compares them with the engine's.
STATES = ("approved", "quarantined", "changed", "rejected")
LANGUAGES = ("typescript", "python")
_OUTPUTS = {"types": "typescript", "python": "python"}

_gateway = click.option("--gateway", metavar="URL", help="The address that the typed functions call.")


@command(commands, "search")
@options.query
@options.of("tools.service:Tools.search", "limit", "threshold", "alpha", "server")
@catalogue_options
@click.option(
    "--output",
    type=click.Choice(("table", "types", "python", "json")),
    default="table",
    show_default=True,
    help="A table; Markdown with typed functions in TypeScript (types) or Python; or JSON.",
)
@_gateway
def search(session: Session, /, query: str, output: str, gateway: str | None, **given: Any) -> None:
    """Find tools that can do a task, best first.

    Say in plain words what you want to do. If no tool can do it, none is shown, only the closest names.
    ATHAND_SEARCH_LIMIT, ATHAND_SEARCH_THRESHOLD and ATHAND_SEARCH_ALPHA change the defaults.

    \b
    Examples:
      athand tools search "open an issue about a bug"
      athand tools search "what time is it in Tokyo" --output python
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    if gateway and output not in _OUTPUTS:
        raise click.UsageError("--gateway is for --output types or python.")
    with open_catalogues(session, given.pop("config"), given.pop("catalogue"), connect=True) as catalogues:
        catalogues.check_server(given["server"])
        started = time.perf_counter()
        hits = catalogues.tools.search(query, catalogue=catalogues.names, **given)
        seconds = time.perf_counter() - started
        if session.as_json or output == "json":
            session.show(hits.to_dict())
        elif output in _OUTPUTS:
            _print_types(session, hits, _OUTPUTS[output], gateway)
        elif not session.quiet:
            _print_table(session, catalogues, hits, seconds)
        else:
            session.print_plain(hits)


def _print_table(session: Session, catalogues: Catalogues, hits: "Hits[ToolHit]", seconds: float) -> None:
    from athand.adapters.cli.render_tools import print_tool_hits

    _print_notes(session, hits)
    if hits:
        print_tool_hits(session.console(), hits)
    _print_closest(session, hits)
    _print_totals(session, catalogues, hits, seconds)


def _print_totals(session: Session, catalogues: Catalogues, hits: "Hits[ToolHit]", seconds: float) -> None:
    """How many tools were searched, in what time; if there are none or none matches, what to do about it."""
    tools = catalogues.list_tools()
    pieces = [pluralize(len(hits), "tool")] if hits else []
    servers = pluralize(len(catalogues.list_servers()), "server")
    pieces += [f"{seconds * 1000:.0f} ms", f"{len(tools):,} in {servers}"]
    session.say(click.style(f"\n {' · '.join(pieces)}", dim=True))
    if not tools:
        session.say(f" {NO_SERVERS}")
    elif not hits and any(tool.state == "quarantined" for tool in tools):
        session.say(" Some tools wait for approval and are not searched before. See: athand tools servers")


def _print_types(session: Session, hits: "Hits[ToolHit]", language: str, gateway: str | None) -> None:
    from athand.tools.stubs import render_markdown

    _print_notes(session, hits)
    echo(render_markdown([(hit.item, hit.score, hit.reason) for hit in hits], language, gateway=gateway), nl=False)
    _print_closest(session, hits)


def _print_notes(session: Session, hits: "Hits[ToolHit]") -> None:
    """Corrections of the query, and remarks of the search."""
    for word, correction in hits.did_you_mean.items():
        session.say(f" {word} is unknown here; searched for {click.style(correction, bold=True)} too.")
    for note in hits.notes:
        session.say(f" {note}")


def _print_closest(session: Session, hits: "Hits[ToolHit]") -> None:
    if not hits:
        closest = f" Closest: {', '.join(hits.closest)}" if hits.closest else ""
        session.say(f" No tool matches.{closest}")


@command(commands, "list")
@options.of("tools.service:Tools.list", "server")
@click.option("--filter", "pattern", metavar="GLOB", help='Only tools whose id matches, such as "github__*".')
@click.option("--state", type=click.Choice(STATES), help="Only tools in this state.")
@catalogue_options
def list_(session: Session, /, server: str | None, pattern: str | None, state: str | None, **given: Any) -> None:
    """List all tools, also those that wait for approval.

    \b
    Examples:
      athand tools list --server github
      athand tools list --state changed
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    with open_catalogues(session, **given, connect=True) as catalogues:
        tools = [
            tool
            for tool in catalogues.list_tools(server)
            if state in (None, tool.state) and fnmatchcase(tool.id, pattern if pattern is not None else "*")
        ]
        if session.print_plain(tools):
            return
        if tools:
            from athand.adapters.cli.render_tools import print_tools

            print_tools(session.console(), tools)
            _print_count(session, tools)
        else:
            has_filter = any(each is not None for each in (server, pattern, state))
            session.say(" No tool matches." if has_filter else f" {NO_SERVERS}")


def _print_count(session: Session, tools: "Sequence[Tool]") -> None:
    waiting = [tool for tool in tools if tool.state in ("quarantined", "changed")]
    session.say(click.style(f"\n {pluralize(len(tools), 'tool')}", dim=True))
    if waiting:
        command = f"athand tools approve {waiting[0].id}"
        session.say(f" {pluralize(len(waiting), 'tool waits', 'tools wait')} for approval. Review with: {command}")


@command(commands, "describe")
@click.argument("id", metavar="TOOL", shell_complete=complete_tool)
@catalogue_options
def describe(session: Session, /, id: str, **given: Any) -> None:
    """Show everything about one tool.

    Its description, its parameters and its output, and whether it may be called.

    \b
    Example:
      athand tools describe time__convert_time
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    with open_catalogues(session, **given) as catalogues:
        tool = find_tool(session, catalogues, id)
    if not session.print_plain(tool):
        from athand.adapters.cli.render_tools import print_tool

        print_tool(session.console(), tool)


@command(commands, "types")
@click.argument("ids", metavar="[TOOL]...", nargs=-1, shell_complete=complete_tool)
@click.option("--server", metavar="NAME", help="All tools of this server.")
@click.option(
    "--language",
    type=click.Choice(LANGUAGES),
    default="typescript",
    show_default=True,
    help="The language of the functions.",
)
@click.option("--out", metavar="FILE", help="Write the module to this file; default: standard output.")
@_gateway
@catalogue_options
def types(
    session: Session,
    /,
    ids: tuple[str, ...],
    server: str | None,
    language: str,
    out: str | None,
    gateway: str | None,
    **given: Any,
) -> None:
    """Write a module with a typed function for each of these tools.

    \b
    Examples:
      athand tools types time__convert_time time__get_current_time
      athand tools types --server time --language python --out tools.py
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    if not ids and not server:
        raise click.UsageError("Give the ids of tools, or --server NAME for all tools of a server.")
    with open_catalogues(session, **given, connect=server is not None) as catalogues:
        selected = [find_tool(session, catalogues, id_) for id_ in ids]
        selected += catalogues.list_tools(server) if server else []
        unique_ids = list(dict.fromkeys(tool.id for tool in selected))
        source = catalogues.tools.stubs(unique_ids, language, catalogue=catalogues.names, gateway=gateway)
    if out:
        Path(out).write_text(source, "utf-8")
    if session.as_json:
        session.show({"language": language, "tools": unique_ids, "out": out, "source": source})
    elif out:
        session.say(f"Wrote {pluralize(len(unique_ids), 'function')} to {out}")
    else:
        echo_data(source, nl=False)


@command(commands, "servers")
@click.option("--check", is_flag=True, help="Connect to all of them; exit 69 if one fails.")
@catalogue_options
def servers(session: Session, /, check: bool, **given: Any) -> None:
    """List the servers, their state, and what is wrong.

    Connects to servers that are new.

    \b
    Example:
      athand tools servers --check
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    with open_catalogues(session, **given) as catalogues:
        states = (UNKNOWN, IDLE) if check else (UNKNOWN,)
        connect_servers(session, catalogues, [each for each in catalogues.list_servers() if each.state in states])
        listed = catalogues.list_servers()
        show_servers(session, listed)
    if check and any(each.state in FAILED for each in listed):
        raise SystemExit(69)


@command(commands, "stats")
def stats(session: Session, /) -> None:
    """Show the number of tools, their use, and the tokens saved."""
    with session.open() as athand:
        found = athand.tools.stats()
    if session.as_json or session.quiet:
        session.show(found.to_dict())
    else:
        from athand.adapters.cli.render_tools import print_tool_stats

        print_tool_stats(session.console(), found)


tools = SectionedGroup(
    "tools",
    help="Find, check and call the tools of MCP servers.",
    sections={
        "Find": commands,
        "Call": tools_log.commands,
        "Decide": tools_calls.decision_commands,
        "Servers": tools_servers.commands,
    },
)
