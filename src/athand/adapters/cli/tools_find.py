"""`athand tools …`: find tools, look at them, get types for them."""

import time
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from athand.adapters.cli.session import Session, command
from athand.adapters.cli.tools_open import (
    FAILED,
    NO_SERVERS,
    NOT_SEEN,
    SEEN,
    Opened,
    chosen,
    connect_to,
    find_tool,
    opened,
)
from athand.adapters.cli.words import counted

if TYPE_CHECKING:
    from athand.tools import Server, Tool, ToolHit
    from athand.types import Hits

commands = click.Group()

# Written out, because importing them would load the engine for `--help`; a test compares them with the engine's.
STATES = ("approved", "quarantined", "changed", "rejected")
LANGUAGES = ("typescript", "python")
_OUTPUTS = {"types": "typescript", "python": "python"}

_server = click.option("--server", metavar="NAME", help="The tools of this server only.")
_gateway = click.option("--gateway", metavar="URL", help="The address that the typed functions call.")


@command(commands, "search")
@click.argument("query")
@click.option("--limit", type=int, help="How many at most, 1 to 100; 3, or ATHAND_SEARCH_LIMIT.")
@click.option("--threshold", type=float, help="Leave out what scores less; 0.35, or ATHAND_SEARCH_THRESHOLD.")
@click.option("--alpha", type=float, help="How much meaning counts against words; 0.7, or ATHAND_SEARCH_ALPHA.")
@_server
@chosen
@click.option(
    "--output",
    type=click.Choice(("table", "types", "python", "json")),
    default="table",
    show_default=True,
    help="A table; Markdown with typed functions of TypeScript or Python; or JSON.",
)
@_gateway
def search(session: Session, /, query: str, output: str, gateway: str | None, **given: Any) -> None:
    """Say what you want to do: the tools that do it, best first.

    If no tool does it, none is shown, and the closest names are told.

    \b
    Examples:
      athand tools search "open an issue about a bug"
      athand tools search "what time is it in Tokyo" --output python
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    if gateway and output not in _OUTPUTS:
        raise click.UsageError("--gateway is for --output types or python.")
    with opened(session, given.pop("config"), given.pop("catalogue"), connect=True) as found:
        found.check_server(given["server"])
        started = time.perf_counter()
        hits = found.tools.search(query, catalogue=found.catalogues, **given)
        seconds = time.perf_counter() - started
        if session.as_json or output == "json":
            session.show(hits.to_dict())
        elif output in _OUTPUTS:
            _print_types(session, hits, _OUTPUTS[output], gateway)
        elif not session.quiet:
            _print_table(session, found, hits, seconds)
        else:
            session.show_plainly(hits)


def _print_table(session: Session, found: Opened, hits: "Hits[ToolHit]", seconds: float) -> None:
    from athand.adapters.cli.render_tools import print_tool_hits

    _tell_beside(session, hits)
    if hits:
        print_tool_hits(session.console(), hits)
    _tell_closest(session, hits)
    _tell_searched(session, found, hits, seconds)


def _tell_searched(session: Session, found: Opened, hits: "Hits[ToolHit]", seconds: float) -> None:
    tools = found.list()
    pieces = [counted(len(hits), "tool")] if hits else []
    pieces += [f"{seconds * 1000:.0f} ms", f"{len(tools):,} in {counted(len(found.servers()), 'server')}"]
    session.say(click.style(f"\n {' · '.join(pieces)}", dim=True))
    if not tools:
        session.say(f" {NO_SERVERS}")
    elif not hits and any(tool.state == "quarantined" for tool in tools):
        session.say(
            " Some tools wait to be approved; what is suspicious is not found before. See: athand tools servers"
        )


def _print_types(session: Session, hits: "Hits[ToolHit]", language: str, gateway: str | None) -> None:
    from athand.tools.stubs import markdown

    _tell_beside(session, hits)
    click.echo(markdown([(hit.item, hit.score, hit.reason) for hit in hits], language, gateway=gateway), nl=False)
    _tell_closest(session, hits)


def _tell_beside(session: Session, hits: "Hits[ToolHit]") -> None:
    for word, meant in hits.did_you_mean.items():
        session.say(f" {word} is unknown here; searched for {click.style(meant, bold=True)} too.")
    for note in hits.notes:
        session.say(f" {note}")


def _tell_closest(session: Session, hits: "Hits[ToolHit]") -> None:
    if not hits:
        closest = f" The closest: {', '.join(hits.closest)}" if hits.closest else ""
        session.say(f" No tool fits.{closest}")


@command(commands, "list")
@_server
@click.option("--filter", "pattern", metavar="GLOB", help='Only tools whose id fits, such as "github__*".')
@click.option("--state", type=click.Choice(STATES), help="Only tools in this state.")
@chosen
def list_(session: Session, /, server: str | None, pattern: str | None, state: str | None, **given: Any) -> None:
    """Show all tools, also those that wait to be approved.

    \b
    Examples:
      athand tools list --server github
      athand tools list --state changed
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    with opened(session, **given, connect=True) as found:
        tools = [
            tool
            for tool in found.list(server)
            if state in (None, tool.state) and fnmatchcase(tool.id, pattern if pattern is not None else "*")
        ]
        if session.show_plainly(tools):
            return
        if tools:
            from athand.adapters.cli.render_tools import print_tools

            print_tools(session.console(), tools)
        narrowed = any(each is not None for each in (server, pattern, state))
        _tell_listed(session, tools, narrowed=narrowed)


def _tell_listed(session: Session, tools: "Sequence[Tool]", *, narrowed: bool) -> None:
    if not tools:
        session.say(" No such tool." if narrowed else f" {NO_SERVERS}")
        return
    waiting = [tool for tool in tools if tool.state in ("quarantined", "changed")]
    session.say(click.style(f"\n {counted(len(tools), 'tool')}", dim=True))
    if waiting:
        session.say(f" {counted(len(waiting), 'tool')} to approve. Look with: athand tools approve {waiting[0].id}")


@command(commands, "describe")
@click.argument("id", metavar="TOOL")
@chosen
def describe(session: Session, /, id: str, **given: Any) -> None:
    """Show everything about one tool.

    What it says of itself, what it takes and answers, and whether it may be called.

    \b
    Example:
      athand tools describe time__convert_time
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    with opened(session, **given) as found:
        tool = find_tool(session, found, id)
    if not session.show_plainly(tool):
        from athand.adapters.cli.render_tools import print_tool

        print_tool(session.console(), tool)


@command(commands, "types")
@click.argument("ids", metavar="[TOOL]...", nargs=-1)
@click.option("--server", metavar="NAME", help="All tools of this server.")
@click.option("--language", type=click.Choice(LANGUAGES), default="typescript", show_default=True, help="Of what.")
@click.option("--out", metavar="FILE", help="Write it there.")
@_gateway
@chosen
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
        raise click.UsageError("Types of what? Give a TOOL, or a --server.")
    with opened(session, **given, connect=server is not None) as found:
        named = [find_tool(session, found, id_) for id_ in ids]
        wanted = list(dict.fromkeys(tool.id for tool in (*named, *(found.list(server) if server else ()))))
        source = found.tools.stubs(wanted, language, catalogue=found.catalogues, gateway=gateway)
    if out:
        Path(out).write_text(source, "utf-8")
    if session.as_json:
        session.show({"language": language, "tools": wanted, "out": out, "source": source})
    elif out:
        session.say(f"Wrote {counted(len(wanted), 'function')} to {out}")
    else:
        click.echo(source, nl=False)


@command(commands, "servers")
@click.option("--check", is_flag=True, help="Connect to all of them, and see how they are; exit 69 if one fails.")
@chosen
def servers(session: Session, /, check: bool, **given: Any) -> None:
    """Show the servers, how they are, and why they are not better.

    Connects to those that were never seen.

    \b
    Example:
      athand tools servers --check
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    with opened(session, **given) as found:
        connect_to(
            session, found, [each for each in found.servers() if each.state in (NOT_SEEN, SEEN if check else "")]
        )
        known = found.servers()
        show_servers(session, known)
    if check and any(each.state in FAILED for each in known):
        raise SystemExit(69)


def show_servers(session: Session, servers: "Sequence[Server]") -> None:
    """Print servers, and what to do about their tools."""
    if session.show_plainly(servers, data="name"):
        return
    if servers:
        from athand.adapters.cli.render_tools import print_servers

        print_servers(session.console(), servers)
    else:
        session.say(f" {NO_SERVERS}")
    for each in servers:
        if each.waiting:
            tools = counted(each.waiting, "tool")
            session.say(f" {tools} of {each.name} to approve:  athand tools approve --server {each.name}")


@command(commands, "stats")
def stats(session: Session, /) -> None:
    """Show what there is, how much it was used, and what that saves."""
    with session.open() as athand:
        found = athand.tools.stats()
    if session.as_json or session.quiet:
        session.show(found.to_dict())
    else:
        from athand.adapters.cli.render_tools import print_tool_stats

        print_tool_stats(session.console(), found)
