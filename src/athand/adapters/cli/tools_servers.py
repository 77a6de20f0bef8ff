"""`athand tools …`: import servers from other programs, load files of servers, log in to servers, remove them."""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from athand.adapters.cli.completion_values import complete_server
from athand.adapters.cli.options import NameChoice
from athand.adapters.cli.session import Session, command, confirm
from athand.adapters.cli.tools_catalogues import (
    FAILED,
    NO_SERVERS,
    Catalogues,
    catalogue_options,
    connect_servers,
    open_catalogues,
    servers_file,
)
from athand.adapters.cli.words import echo, pluralize
from athand.errors import InvalidInput

if TYPE_CHECKING:
    from athand.tools import Server
    from athand.tools.clients import ClientServers
    from athand.tools.config_files import ConfigUpdate

commands = click.Group()

# Written out, because importing them would load the engine for `--help`; a test compares them with the engine's.
CLIENTS = (
    *("claude-code", "claude-desktop", "cursor", "vscode", "codex", "gemini", "windsurf"),
    *("copilot", "opencode", "zed", "cline", "kiro", "continue"),
)
_server = click.argument("server", shell_complete=complete_server)
ServerEntry = Mapping[str, Any]


@command(commands, "import", creates=True)
@click.argument("clients", metavar="[PROGRAM]...", nargs=-1, type=NameChoice(CLIENTS))
@click.option("--project", metavar="DIR", help="Also import the servers that they have for the project in this folder.")
@click.option("--replace", is_flag=True, help="Replace servers of the same name that have other settings.")
@click.option("--take-over", is_flag=True, help="Move the servers of one program: it starts Athand in their place.")
@click.option("--give-back", is_flag=True, help="Undo --take-over for one program.")
@click.option("--print", "only_print", is_flag=True, help="Only show what was found, without secrets; write nothing.")
def import_(
    session: Session,
    /,
    clients: tuple[str, ...],
    project: str | None,
    replace: bool,
    take_over: bool,
    give_back: bool,
    only_print: bool,
) -> None:
    """Import the servers of other programs.

    Reads the configurations of Claude Code, Claude Desktop, Cursor, VS Code, Codex, Gemini CLI, Windsurf, GitHub
    Copilot CLI, opencode, Zed, Cline, Kiro and Continue, or only those of the given programs. The servers are copied
    to your own file of servers; the programs keep theirs. Nothing is started.

    With --take-over the servers leave the program's file, and Athand is added to it: the program then finds and calls
    their tools through Athand, instead of showing all of them to the model. --give-back undoes it.

    \b
    Examples:
      athand tools import --print
      athand tools import cursor claude-code
      athand tools import --take-over cursor
      athand tools import --give-back cursor
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    if take_over or give_back:
        if len(clients) != 1 or project or replace or (take_over and give_back) or (give_back and only_print):
            raise InvalidInput("Name one program, and nothing else: athand tools import --take-over cursor")
        from athand.adapters.cli.tools_transfer import transfer

        transfer(session, clients[0], is_back=give_back, only_print=only_print)
        return
    found = {client: _read_client(client, project) for client in clients or CLIENTS}
    servers = _merge_servers(found)
    file = servers_file(session)
    _show_found(session, found)
    if only_print or not servers:
        _report_preview(session, servers)
        return
    from athand.tools.config_files import write_user_config

    _report_import(session, write_user_config(file, servers, replace=replace), file)


def _read_client(client: str, project: str | None) -> "ClientServers":
    from athand.tools.clients import read_client

    folder = Path(project).expanduser().absolute() if project else None
    return read_client(client, Path.home(), sys.platform, folder, os.environ)


def _merge_servers(found: "Mapping[str, ClientServers]") -> dict[str, ServerEntry]:
    """All servers by name; where several programs have the same name, that of the first program and a note."""
    servers: dict[str, ServerEntry] = {}
    for client, each in found.items():
        for name, entry in each.servers.items():
            if servers.setdefault(name, entry) != entry:
                each.notes.append(f"{client} has another {name!r}; the first is imported. Name one program to choose.")
    return servers


def _show_found(session: Session, found: "Mapping[str, ClientServers]") -> None:
    """The servers of each program, the files they are in, and the notes about them."""
    if session.quiet or session.as_json:
        return
    from athand.adapters.cli.render_tools import escape_line, print_launches

    for client, each in found.items():
        if each.servers or each.notes:
            files = ", ".join(map(str, each.files))
            session.say(
                f" {click.style(client, bold=True)}  {pluralize(len(each.servers), 'server')} in {files or '—'}"
            )
            print_launches(session.console(stderr=True), each.servers)
        for note in each.notes:
            session.say(f" {click.style('!', fg='yellow')} {escape_line(note)}")


def _report_preview(session: Session, servers: Mapping[str, ServerEntry]) -> None:
    """What would be imported."""
    from athand.adapters.cli.render_tools import hide_secrets

    if session.as_json:
        session.show({"mcpServers": {name: hide_secrets(entry) for name, entry in servers.items()}})
    elif session.quiet:
        echo("\n".join(servers))
    elif not servers:
        session.say(f" No servers found in the configurations of: {', '.join(CLIENTS)}")
    else:
        session.say(f" {pluralize(len(servers), 'server')}; nothing was written. Import them without --print.")


def _report_import(session: Session, update: "ConfigUpdate", file: Path) -> None:
    """What was written, and what to do next."""
    names_by_outcome = {name: list(getattr(update, name)) for name in ("added", "replaced", "same", "kept")}
    if session.as_json:
        session.show({"file": str(file), **names_by_outcome})
        return
    pieces = [f"{len(names)} {outcome}" for outcome, names in names_by_outcome.items() if names]
    has_changed = update.added or update.replaced
    session.say(f"{'Wrote' if has_changed else 'Nothing new for'} {file}: {', '.join(pieces)}")
    if update.kept:
        session.say(f" Kept as they were: {', '.join(update.kept)}. To use the new settings, add --replace.")
    if update.backup:
        session.say(f" The previous file, with its comments, is in {update.backup}")
    session.say(" Connect to them with:  athand tools servers")


@command(commands, "load", creates=True)
@click.argument("config", metavar="FILE")
@click.option(
    "--catalogue",
    metavar="NAME",
    default="default",
    show_default=True,
    help="The catalogue that the tools are added to.",
)
def load(session: Session, /, config: str, catalogue: str) -> None:
    """Register the servers of an mcpServers file, and connect to them.

    They stay registered until they are removed.

    \b
    Examples:
      athand tools load servers.json
      athand tools load shop/servers.json --catalogue shop
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    with session.open() as athand:
        catalogues = Catalogues(athand.tools, (catalogue,))
        servers = athand.tools.load(config, catalogue=catalogue, origin="user", connect=False)
        connect_servers(session, catalogues, [server for server in servers if server.state != "disabled"])
        _show_servers(session, catalogues, [server.name for server in servers])


@command(commands, "refresh")
@click.argument("names", metavar="[SERVER]...", nargs=-1, shell_complete=complete_server)
@catalogue_options
def refresh(session: Session, /, names: tuple[str, ...], **given: Any) -> None:
    """List the tools of these servers again; default: all servers.

    Exit 69 if one of them does not answer.

    \b
    Example:
      athand tools refresh github
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    with open_catalogues(session, **given) as catalogues:
        servers = catalogues.select_servers(names)
        connect_servers(session, catalogues, servers)
        fresh = _show_servers(session, catalogues, [server.name for server in servers])
    if any(server.state in FAILED for server in fresh):
        raise SystemExit(69)


def _show_servers(session: Session, catalogues: Catalogues, names: Sequence[str]) -> "list[Server]":
    """Print the servers of these names as they are now; returns them."""
    servers = [server for server in catalogues.list_servers() if server.name in names]
    show_servers(session, servers)
    return servers


def show_servers(session: Session, servers: "Sequence[Server]") -> None:
    """Print servers, and which of their tools wait for approval."""
    if session.print_plain(servers, data="name"):
        return
    if servers:
        from athand.adapters.cli.render_tools import print_servers

        print_servers(session.console(), servers)
    else:
        session.say(f" {NO_SERVERS}")
    for each in servers:
        if each.waiting:
            waiting = f"{pluralize(each.waiting, 'tool')} of {each.name} to approve"
            session.say(f" {waiting}:  athand tools approve --server {each.name}")


@command(commands, "login")
@_server
@click.option("--seconds", default=300.0, show_default=True, help="Maximum seconds to wait for the login.")
@catalogue_options
def login(session: Session, /, server: str, seconds: float, **given: Any) -> None:
    """Log in to a remote server in your browser.

    The login is stored until you log out.

    \b
    Example:
      athand tools login linear
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    with open_catalogues(session, **given) as catalogues:
        catalogues.tools.login(server, open_page=_open_page, catalogue=catalogues.names, seconds=seconds)
        fresh = catalogues.tools.refresh(server, catalogue=catalogues.names)
    if not session.print_plain(fresh, data="name"):
        session.say(f"Logged in to {click.style(server, fg='cyan')}: {pluralize(fresh.tools, 'tool')}")


@command(commands, "logout")
@_server
@catalogue_options
def logout(session: Session, /, server: str, **given: Any) -> None:
    """Delete the login to a remote server.

    \b
    Example:
      athand tools logout linear
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    with open_catalogues(session, **given) as catalogues:
        catalogues.check_server(server)
        was_there = catalogues.tools.logout(server, catalogue=catalogues.names)
    if session.as_json:
        session.show({"server": server, "logged_out": was_there})
    else:
        session.say(f"Logged out of {server}." if was_there else f"There was no login to {server}.")


def _open_page(url: str) -> None:
    """Open a page in the user's browser, and print its address for machines that have none."""
    import webbrowser

    from athand.adapters.cli.render_tools import escape_line

    echo(f" Log in here, if your browser does not open:\n {escape_line(url)}", err=True)
    if url.startswith(("https://", "http://")):  # a server chose the address; nothing else may be opened
        webbrowser.open(url)


@command(commands, "remove")
@_server
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@catalogue_options
def remove(session: Session, /, server: str, yes: bool, **given: Any) -> None:
    """Remove a server and its tools, also from your own file of servers.

    \b
    Example:
      athand tools remove github --yes
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    from athand.tools.config_files import remove_from_user_config

    with open_catalogues(session, **given) as catalogues:
        (found,) = catalogues.select_servers((server,))
        if not yes:
            confirm(f"Remove server {server!r} and its {pluralize(found.tools, 'tool')}?")
        catalogues.tools.remove(server, catalogue=found.catalogue)
        is_ours = found.source == str(servers_file(session)) and remove_from_user_config(Path(found.source), server)
    if not session.print_plain(found, data="name"):
        session.say(f"Removed {click.style(server, fg='cyan')} with {pluralize(found.tools, 'tool')}.")
        if found.source and not is_ours:
            session.say(f" {found.source} still names it: remove it there too, or it comes back.")
