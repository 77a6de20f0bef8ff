"""`athand tools …`: where servers come from, and how to reach them."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from athand.adapters.cli.session import Session, command, confirm
from athand.adapters.cli.tools_find import show_servers
from athand.adapters.cli.tools_open import FAILED, Opened, chosen, connect_to, opened, servers_file
from athand.adapters.cli.words import counted

if TYPE_CHECKING:
    from athand.tools import Server
    from athand.tools.clients import ClientServers
    from athand.tools.config_files import ConfigUpdate

commands = click.Group()

# Written out, because importing them would load the engine for `--help`; a test compares them with the engine's.
CLIENTS = ("claude-code", "claude-desktop", "cursor", "vscode", "codex", "gemini", "windsurf")
_server = click.argument("server")
Settings = Mapping[str, Any]


@command(commands, "import")
@click.argument("clients", metavar="[PROGRAM]...", nargs=-1, type=click.Choice(CLIENTS))
@click.option("--project", metavar="DIR", help="Also what they have for the project in this folder.")
@click.option("--replace", is_flag=True, help="Replace servers that you have already with other settings.")
@click.option("--print", "only_print", is_flag=True, help="Only show what there is, without secrets; write nothing.")
def import_(
    session: Session, /, clients: tuple[str, ...], project: str | None, replace: bool, only_print: bool
) -> None:
    """Take over the servers of other programs.

    Reads the configurations of Claude Code, Claude Desktop, Cursor, VS Code, Codex, Gemini CLI and Windsurf: of those
    that are named, else of all. They go into your own file of servers; the programs keep theirs. Nothing is started.

    \b
    Examples:
      athand tools import --print
      athand tools import cursor claude-code
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    found = {client: _read(client, project) for client in clients or CLIENTS}
    servers = _together(found)
    file = servers_file(session)
    _show_found(session, found)
    if only_print or not servers:
        _end_without_writing(session, servers)
        return
    from athand.tools.config_files import write_user_config

    written = write_user_config(file, servers, replace=replace)
    _tell_written(session, written, file)


def _read(client: str, project: str | None) -> "ClientServers":
    from athand.tools.clients import read_client

    folder = Path(project).expanduser().absolute() if project else None
    return read_client(client, Path.home(), sys.platform, folder, os.environ)


def _together(found: "Mapping[str, ClientServers]") -> dict[str, Settings]:
    """All servers; of one name, that of the first program."""
    servers: dict[str, Settings] = {}
    for client, each in found.items():
        for name, given in each.servers.items():
            if servers.setdefault(name, given) != given:
                each.notes.append(f"{client} has another {name!r}; the first one is taken. Name one program to choose.")
    return servers


def _show_found(session: Session, found: "Mapping[str, ClientServers]") -> None:
    """What was found where, and what one should know about it."""
    if session.quiet or session.as_json:
        return
    from athand.adapters.cli.render_launches import print_launches
    from athand.adapters.cli.render_tools import seen

    for client, each in found.items():
        if each.servers or each.notes:
            files = ", ".join(map(str, each.files))
            session.say(f" {click.style(client, bold=True)}  {counted(len(each.servers), 'server')} in {files or '—'}")
            print_launches(session.console(stderr=True), each.servers)
        for note in each.notes:
            session.say(f" {click.style('!', fg='yellow')} {seen(note)}")


def _end_without_writing(session: Session, servers: Mapping[str, Settings]) -> None:
    from athand.adapters.cli.render_launches import without_secrets

    if session.as_json:
        session.show({"mcpServers": {name: without_secrets(given) for name, given in servers.items()}})
    elif session.quiet:
        click.echo("\n".join(servers))
    elif not servers:
        session.say(f" No servers found. Programs that are looked at: {', '.join(CLIENTS)}")
    else:
        session.say(f" {counted(len(servers), 'server')}; nothing was written. Take them over without --print.")


def _tell_written(session: Session, written: "ConfigUpdate", file: Path) -> None:
    done = {name: list(getattr(written, name)) for name in ("added", "replaced", "same", "kept")}
    if session.as_json:
        session.show({"file": str(file), **done})
        return
    pieces = [f"{len(names)} {name}" for name, names in done.items() if names]
    is_new = written.added or written.replaced
    session.say(f"{'Wrote' if is_new else 'Nothing new for'} {file}: {', '.join(pieces)}")
    if written.kept:
        session.say(f" Kept as they were: {', '.join(written.kept)}. Say --replace to take the new settings.")
    if written.backup:
        session.say(f" The file with its comments as it was is in {written.backup}")
    session.say(" Connect to them with:  athand tools servers")


@command(commands, "load")
@click.argument("config", metavar="FILE")
@click.option("--catalogue", metavar="NAME", default="default", show_default=True, help="Where its tools belong.")
def load(session: Session, /, config: str, catalogue: str) -> None:
    """Connect to the servers of an mcpServers file.

    They are kept in mind until they are removed.

    \b
    Examples:
      athand tools load servers.json
      athand tools load shop/servers.json --catalogue shop
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    with session.open() as athand:
        found = Opened(athand.tools, (catalogue,))
        named = athand.tools.load(config, catalogue=catalogue, origin="user", connect=False)
        connect_to(session, found, [server for server in named if server.state != "disabled"])
        names = {server.name for server in named}
        show_servers(session, [server for server in found.servers() if server.name in names])


@command(commands, "refresh")
@click.argument("names", metavar="[SERVER]...", nargs=-1)
@chosen
def refresh(session: Session, /, names: tuple[str, ...], **given: Any) -> None:
    """List the tools of servers again: of those named, else of all.

    Exit 69 if one of them does not answer.

    \b
    Example:
      athand tools refresh github
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    with opened(session, **given) as found:
        servers = _named(found, names)
        connect_to(session, found, servers)
        asked = {server.name for server in servers}
        fresh = [server for server in found.servers() if server.name in asked]
        show_servers(session, fresh)
    if any(server.state in FAILED for server in fresh):
        raise SystemExit(69)


def _named(found: Opened, names: tuple[str, ...]) -> "list[Server]":
    for name in names:
        found.check_server(name)
    known = {server.name: server for server in found.servers()}
    reachable = [server for server in known.values() if server.state not in ("untrusted", "disabled", "none")]
    return [known[name] for name in names] if names else reachable


@command(commands, "login")
@_server
@click.option("--seconds", default=300.0, show_default=True, help="How long to wait for you.")
@chosen
def login(session: Session, /, server: str, seconds: float, **given: Any) -> None:
    """Log in to a remote server in your browser.

    The login is kept for the next time.

    \b
    Example:
      athand tools login linear
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    with opened(session, **given) as found:
        found.tools.login(server, open_page=_open_page, catalogue=found.catalogues, seconds=seconds)
        fresh = found.tools.refresh(server, catalogue=found.catalogues)
    if not session.show_plainly(fresh, data="name"):
        session.say(f"Logged in to {click.style(server, fg='cyan')}: {counted(fresh.tools, 'tool')}")


@command(commands, "logout")
@_server
@chosen
def logout(session: Session, /, server: str, **given: Any) -> None:
    """Forget the login to a remote server.

    \b
    Example:
      athand tools logout linear
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    with opened(session, **given) as found:
        found.check_server(server)
        was_there = found.tools.logout(server, catalogue=found.catalogues)
    if session.as_json:
        session.show({"server": server, "logged_out": was_there})
    else:
        session.say(f"Logged out of {server}." if was_there else f"There was no login to {server}.")


def _open_page(url: str) -> None:
    """Show a page to the user: in the browser, and as an address for those who have none here."""
    import webbrowser

    from athand.adapters.cli.render_tools import seen

    click.echo(f" Log in here, if your browser does not open:\n {seen(url)}", err=True)
    if url.startswith(("https://", "http://")):  # a server chose the address; nothing else may be opened
        webbrowser.open(url)


@command(commands, "remove")
@_server
@click.option("--yes", is_flag=True, help="Do not ask.")
@chosen
def remove(session: Session, /, server: str, yes: bool, **given: Any) -> None:
    """Forget a server and its tools; also in your own file of servers.

    \b
    Example:
      athand tools remove github --yes
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    from athand.tools.config_files import remove_from_user_config

    with opened(session, **given) as found:
        (known,) = _named(found, (server,))
        if not yes:
            confirm(f"Forget {server!r} and its {counted(known.tools, 'tool')}?")
        found.tools.remove(server, catalogue=known.catalogue)
        is_ours = known.source == str(servers_file(session)) and remove_from_user_config(Path(known.source), server)
    if not session.show_plainly(known, data="name"):
        session.say(f"Forgot {click.style(server, fg='cyan')} with {counted(known.tools, 'tool')}.")
        if known.source and not is_ours:
            session.say(f" {known.source} still names it: take it out there too, or it comes back.")
