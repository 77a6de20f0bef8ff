"""`athand install` and `uninstall`: puts Athand into the configuration of MCP clients, and takes it out."""

import json
import re
import shlex
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from athand.adapters.cli.hook_files import HookFiles
from athand.adapters.cli.install_entries import (
    DEFAULT_URL,
    LOOPBACK,
    create_hook_command,
    create_http_entry,
    create_stdio_entry,
    find_data_folder,
    revoke_own_token,
)
from athand.adapters.cli.options import NameChoice, complete_toolset
from athand.adapters.cli.session import Session, command
from athand.adapters.cli.tools_servers import CLIENTS
from athand.adapters.cli.words import HIDDEN, abbreviate_home, echo, hide_password
from athand.errors import AthandError, InvalidInput

if TYPE_CHECKING:
    from athand.adapters.cli.install_clients import Change, Client
    from athand.adapters.cli.install_hooks import HookSettings

_top = click.Group()
_client = click.argument("client", metavar="[CLIENT]", required=False, type=NameChoice(CLIENTS))
_project = click.option(
    "--project", is_flag=True, help="Only for the project in this folder, in the project's own file."
)
_name = click.option("--name", metavar="NAME", default="athand", show_default=True, help="The name of the entry.")
_print = click.option("--print", "only_print", is_flag=True, help="Only show the entry; write nothing.")
_WITHOUT_PROJECTS = ("claude-desktop", "windsurf", "cline")
_HIDDEN_HEADER = "Bearer …"
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_HOOKS_ARE = {"same": "there already", "added": "added", "replaced": "replaced", "removed": "removed"}


@command(_top, "install")
@_client
@_project
@_name
@click.option(
    "--http",
    "url",
    metavar="[URL]",
    is_flag=False,
    flag_value=DEFAULT_URL,
    help=f"Connect to a running `athand serve` instead of starting Athand; default: {DEFAULT_URL}.",
)
@click.option("--token-file", metavar="FILE", help="The file with the token for --http, if the server is elsewhere.")
@click.option(
    "--toolsets",
    metavar="NAMES",
    shell_complete=complete_toolset,
    help="Offer these toolsets, such as memories,documents, or all.",
)
@click.option("--profile", metavar="NAME", help="Name the tools of the browser as this profile of flows does.")
@click.option("--no-hooks", is_flag=True, help="Leave the hooks of Claude Code out; see: athand hook --help")
@click.option("--link", "as_link", is_flag=True, help="Print the links that add Athand with one click; write nothing.")
@_print
def install(
    session: Session,
    /,
    client: str | None,
    project: bool,
    name: str,
    url: str | None,
    token_file: str | None,
    toolsets: str | None,
    profile: str | None,
    no_hooks: bool,
    as_link: bool,
    only_print: bool,
) -> None:
    """Add Athand to an MCP client.

    Writes one entry into the client's configuration, leaves the rest of the file as it is, and keeps a copy of the
    previous file beside it. Claude Code also gets hooks, which tell it what fits each prompt. CLIENT is claude-code,
    claude-desktop, cursor, vscode, codex, gemini, windsurf, copilot, opencode, zed, cline, kiro or continue. Without
    CLIENT, lists the clients and says which of them have Athand.

    \b
    Examples:
      athand install
      athand install claude-code --print
      athand install cursor --toolsets memories,documents
      athand install vscode --project
      athand install codex --http
      athand install cursor --name athand-work --store ~/work.db
      athand install --link
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    from athand.adapters.cli.install_clients import Client

    folder = Path.cwd() if project else None
    _check_name(name)
    if as_link:
        if project or url or only_print:
            raise InvalidInput("A link adds Athand for the user, by its command. Leave --project, --http, --print out.")
        _show_links(session, client, name, toolsets, profile)
        return
    if client is None:
        if url or toolsets or profile or only_print:
            raise InvalidInput(f"Which client? Put one of {', '.join(CLIENTS)} right after: athand install")
        _list_clients(session, folder, name)
        return
    target = Client(client, folder, name)
    _check_server_options(url, token_file, has_more=bool(toolsets or profile))
    if url is None:
        entry = create_stdio_entry(session, target, toolsets, profile)
    else:
        entry = create_http_entry(session, target, url, token_file, with_token=not only_print)
    hooks = None if no_hooks else _make_hook_settings(target, url)
    if only_print:
        _show_entry(session, target, entry, hooks)
    else:
        _write_entry(session, target, entry, hooks)


def _make_hook_settings(client: "Client", url: str | None) -> "HookSettings | None":
    """Where hooks belong: to the client's own entry of a store on this machine, if the client has hooks."""
    from athand.adapters.cli.install_clients import NAME
    from athand.adapters.cli.install_hooks import HookSettings

    is_here = url is None or urlsplit(url).hostname in LOOPBACK
    has_hooks = client.name == "claude-code" and client.entry_name == NAME and sys.platform != "win32"
    return HookSettings(client.project) if has_hooks and is_here else None


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise InvalidInput(f"{name!r} is no name for an entry. Use letters, digits, - and _: --name athand-work")


def _check_server_options(url: str | None, token_file: str | None, *, has_more: bool) -> None:
    if url is not None and has_more:
        raise InvalidInput("A running server has its toolsets and profile already. Give them to: athand serve")
    if token_file is not None and url is None:
        raise InvalidInput(f"A token is for a running server. Give its address: --http {DEFAULT_URL}")


def _write_entry(session: Session, client: "Client", entry: dict[str, Any], hooks: "HookSettings | None") -> None:
    """Write the entry and the hooks, and warn if it holds a secret that other users of the machine can read."""
    if hooks is not None:
        hooks.check()  # before anything is written
    change = client.put(entry, datetime.now(UTC))
    added = None if hooks is None else hooks.put(create_hook_command(session, client), datetime.now(UTC))
    _report_change(session, client, change, added, "Athand is in {client} already", "Added Athand to {client}")
    for each in (change, added):
        if each and _hide_secrets(entry) != entry and Path(each.file).stat().st_mode & 0o077:
            session.say(f" {each.file} holds a secret now, and other users of this machine can read it.")
            session.say(f" Make it private with: chmod 600 {shlex.quote(each.file)}")


@command(_top, "uninstall")
@_client
@_project
@_name
@_print
def uninstall(session: Session, /, client: str | None, project: bool, name: str, only_print: bool) -> None:
    """Remove Athand from an MCP client.

    Removes only its own entry, and keeps a copy of the previous file beside it. Without CLIENT, lists the clients.

    \b
    Example:
      athand uninstall cursor
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    from athand.adapters.cli.install_clients import Client

    folder = Path.cwd() if project else None
    if client is None:
        _list_clients(session, folder, name)
        return
    target = Client(client, folder, name)
    if only_print:
        _show_entry(session, target, target.entry or {})
        return
    change, hooks = target.remove(datetime.now(UTC)), _remove_hooks(session, target)
    if change.action != "same" and revoke_own_token(session, target):
        session.say(f" The token of {target.name} is revoked.")
    _report_change(session, target, change, hooks, "Athand is not in {client}", "Removed Athand from {client}")
    _warn_of_taken_over(session, target)


def _remove_hooks(session: Session, client: "Client") -> "Change | None":
    """Remove the hooks of a client that has them, and their files; None where it has none."""
    settings = _make_hook_settings(client, None)
    if settings is None:
        return None
    change = settings.remove(datetime.now(UTC))
    if client.project is None:
        HookFiles(find_data_folder(session) / "hooks").remove()
    return None if change.action == "same" else change


def _warn_of_taken_over(session: Session, client: "Client") -> None:
    """Say so if the client's servers are behind Athand, since it does not reach them any more."""
    from athand.adapters.cli.tools_transfer import has_taken_over

    if client.project is None and has_taken_over(session, client.name):
        session.say(f" Servers of {client.name} are still behind Athand. Give them back with:")
        session.say(f" athand tools import --give-back {client.name}")


# Output


def _show_entry(
    session: Session, client: "Client", entry: Mapping[str, Any], hooks: "HookSettings | None" = None
) -> None:
    """Print the entry and the hooks as they would be written, without secrets."""
    from athand.adapters.cli.install_hooks import make_hooks

    public = _hide_secrets(entry)
    command = [hide_password(word) for word in create_hook_command(session, client)]
    more = {"hooks_file": str(hooks.file), "hooks": make_hooks(command)} if hooks else {}
    if session.as_json:
        session.show({"client": client.name, "file": str(client.file), "entry": public, **more})
        return
    session.say(f" {client.file}")
    echo(client.format_entry(public) if entry else "")
    if hooks:
        session.say(f" {hooks.file}")
        echo(json.dumps({"hooks": more["hooks"]}, indent=2))


def _show_links(session: Session, client: str | None, name: str, toolsets: str | None, profile: str | None) -> None:
    """Print the links of the clients that know such links, or only that of one of them."""
    from athand.adapters.cli.install_clients import Client
    from athand.adapters.cli.install_shapes import WITH_LINK, make_link

    if client is not None and client not in WITH_LINK:
        raise InvalidInput(f"{client} knows no such links; {' and '.join(WITH_LINK)} do. Use: athand install {client}")
    links = {}
    for each in WITH_LINK if client is None else (client,):
        entry = create_stdio_entry(session, Client(each, None, name), toolsets, profile)
        if _hide_secrets(entry) != entry:
            raise InvalidInput("A link is read by others, and a password must not be in it. Leave it out of --store.")
        links[each] = make_link(each, name, entry)
    if session.as_json:
        session.show(links)
        return
    for each, link in links.items():
        session.say(f" {click.style(each, bold=True)}")
        echo(link)


def _hide_secrets(entry: Mapping[str, Any]) -> dict[str, Any]:
    """The entry without the token, the password in a store's address, and the values of variables."""
    shown = {name: {"Authorization": _HIDDEN_HEADER} if "headers" in name else each for name, each in entry.items()}
    for key in ("env", "environment"):
        if isinstance(variables := entry.get(key), Mapping):
            shown[key] = dict.fromkeys(variables, HIDDEN)
    for key in ("args", "command"):
        if isinstance(words := entry.get(key), list):
            shown[key] = [hide_password(word) if isinstance(word, str) else word for word in words]
    return shown


def _report_change(
    session: Session, client: "Client", change: "Change", hooks: "Change | None", same: str, done: str
) -> None:
    if session.as_json:
        session.show(change.to_dict() | ({"hooks": hooks.to_dict()} if hooks else {}))
        return
    changes = [each for each in (change, hooks) if each]
    if session.print_plain(changes, data="file"):
        return
    text = (same if change.action == "same" else done).format(client=change.client)
    session.say(f"{text}: {change.file}")
    if hooks:
        session.say(f" The hooks are {_HOOKS_ARE[hooks.action]}: {hooks.file}")
    for each in changes:
        if each.backup:
            session.say(f" The previous file is kept as {each.backup}")
    if any(each.action in ("added", "replaced") for each in changes):
        session.say(f" Restart {change.client} to use it. Remove it with: athand uninstall {client.command_arguments}")


def _list_clients(session: Session, project: Path | None, name: str) -> None:
    from athand.adapters.cli.install_clients import Client

    names = [each for each in CLIENTS if project is None or each not in _WITHOUT_PROJECTS]
    rows = [_to_row(Client(each, project, name)) for each in names]
    if session.as_json:
        session.show(rows)
    elif session.quiet:
        echo("\n".join(row["client"] for row in rows if row["installed"]))
    else:
        _print_rows(session, rows)
        session.say(" Add Athand with:  athand install CLIENT")


def _to_row(client: "Client") -> dict[str, Any]:
    try:
        installed, problem = client.entry is not None, None
    except AthandError as error:
        installed, problem = False, str(error)
    row = {"client": client.name, "found": client.is_found, "installed": installed}
    return {**row, "file": str(client.file), "problem": problem}


def _print_rows(session: Session, rows: list[dict[str, Any]]) -> None:
    from athand.adapters.cli.render import make_cell, make_table, print_table

    table = make_table("", "client", "Athand", "file", flexible="file")
    for row in rows:
        mark, style = ("✓", "green") if row["installed"] else ("!", "yellow") if row["problem"] else ("·", "dim")
        state = "installed" if row["installed"] else "not installed" if row["found"] else "client not found"
        file = abbreviate_home(row["problem"] or row["file"])
        table.add_row(make_cell(mark, style), row["client"], make_cell(state, "dim"), make_cell(file, "dim"))
    print_table(session.console(), table)
