"""`athand install` and `uninstall`: Athand in the MCP clients of this machine."""

import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from athand.adapters.cli.install_tokens import take_back, token_for
from athand.adapters.cli.options import complete_from
from athand.adapters.cli.session import Session, command
from athand.adapters.cli.tools_servers import CLIENTS
from athand.adapters.cli.words import HIDDEN, abbreviate_home, hide_password
from athand.errors import InvalidInput

if TYPE_CHECKING:
    from athand.adapters.cli.install_clients import Change, Client

SERVED = "http://127.0.0.1:7325/mcp"
_top = click.Group()
_client = click.argument("client", metavar="[CLIENT]", required=False, type=click.Choice(CLIENTS))
_project = click.option("--project", is_flag=True, help="For the project in this folder only, in a file of its own.")
_name = click.option("--name", metavar="NAME", default="athand", help="The entry's name, if it is not athand.")
_print = click.option("--print", "only_print", is_flag=True, help="Show what would be written; write nothing.")
_HIDDEN = "Bearer …"
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NOT_PASSED_ON = ("ATHAND_STORE", "ATHAND_DATA_DIR", "ATHAND_HOME", "ATHAND_CONFIG")


@command(_top, "install")
@_client
@_project
@_name
@click.option(
    "--http",
    "url",
    metavar="[URL]",
    is_flag=False,
    flag_value=SERVED,
    help=f"Use the server that `athand serve` runs, at {SERVED} or elsewhere.",
)
@click.option("--token-file", metavar="FILE", help="The token for --http, if the server is not on this machine.")
@click.option(
    "--toolsets",
    metavar="NAMES",
    shell_complete=complete_from("all", "memories", "documents", "tools", "flows", "store"),
    help="Offer these toolsets, such as memories,documents, or all.",
)
@click.option("--profile", metavar="NAME", help="Name the tools of the browser as this profile does.")
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
    only_print: bool,
) -> None:
    """Add Athand to an MCP client.

    Only its own entry is written, the rest of the file stays as it is, and a copy of what was there is kept beside it.
    CLIENT is claude-code, claude-desktop, cursor, vscode, codex, gemini or windsurf; without it, all are listed, and
    where Athand is in already.

    \b
    Examples:
      athand install
      athand install claude-code --print
      athand install cursor --toolsets memories,documents
      athand install vscode --project
      athand install codex --http
      athand install cursor --name athand-work --store ~/work.db
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    from athand.adapters.cli.install_clients import Client

    folder = Path.cwd() if project else None
    _check_name(name)
    if client is None:
        if url or toolsets or profile or only_print:
            raise InvalidInput(f"Which client? Say one of {', '.join(CLIENTS)} right behind: athand install")
        _list(session, folder, name)
        return
    chosen = Client(client, folder, name)
    _check_server(url, token_file, has_more=bool(toolsets or profile))

    def token() -> str:
        return "" if only_print else token_for(session, chosen, str(url), token_file)

    entry = _entry(session, chosen, url, token, toolsets, profile)
    if only_print:
        _show_entry(session, chosen, entry)
    else:
        _put(session, chosen, entry)


def _check_server(url: str | None, token_file: str | None, *, has_more: bool) -> None:
    if url is not None and has_more:
        raise InvalidInput("A server that runs has its toolsets and profile already. Give them to: athand serve")
    if token_file is not None and url is None:
        raise InvalidInput(f"A token is for a server that runs. Say where it is: --http {SERVED}")


def _put(session: Session, chosen: "Client", entry: dict[str, Any]) -> None:
    """Write the entry, and warn if it has a secret in it that others can read."""
    change = chosen.put(entry, datetime.now(UTC))
    _tell(session, chosen, change, "Athand is in {client} already", "Added Athand to {client}")
    if _hidden(entry) != entry and chosen.file.stat().st_mode & 0o077:
        session.say(" There is a secret in it now, and others on this machine can read it.")
        session.say(f" Hide it with: chmod 600 {shlex.quote(change.file)}")


@command(_top, "uninstall")
@_client
@_project
@_name
@_print
def uninstall(session: Session, /, client: str | None, project: bool, name: str, only_print: bool) -> None:
    """Take Athand out of an MCP client.

    Only its own entry is taken out, and a copy of what was there is kept beside the file.

    \b
    Example:
      athand uninstall cursor
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    from athand.adapters.cli.install_clients import Client

    folder = Path.cwd() if project else None
    if client is None:
        _list(session, folder, name)
        return
    chosen = Client(client, folder, name)
    if only_print:
        _show_entry(session, chosen, chosen.entry or {})
        return
    change = chosen.remove(datetime.now(UTC))
    if change.action != "same" and take_back(session, chosen):
        session.say(f" The token that {chosen.name} had opens nothing any more.")
    _tell(session, chosen, change, "Athand is not in {client}", "Took Athand out of {client}")


def own_command() -> list[str]:
    """How this very Athand is started, from anywhere."""
    beside = Path(sys.executable).parent / "athand"
    found = beside if beside.is_file() else shutil.which("athand")
    return [str(found)] if found else [sys.executable, "-m", "athand"]


def _entry(
    session: Session,
    client: "Client",
    url: str | None,
    token: Callable[[], str],
    toolsets: str | None,
    profile: str | None,
) -> dict[str, Any]:
    from athand.adapters.cli.install_clients import reached, started

    if url is not None:
        return reached(client.name, _checked(url, client), token)
    for name in _NOT_PASSED_ON:
        if os.environ.get(name) and not (session.store or session.data_dir):
            session.say(f" {name} is set here, but not where {client.name} runs. Say --store or --data-dir to keep it.")
    store = _store(session.store, client) if session.store else None
    if toolsets is not None:
        _check_toolsets(toolsets)
    given = {"--store": store, "--data-dir": _absolute(session.data_dir), "--model": session.model}
    given |= {"--toolsets": toolsets, "--profile": profile}
    options = [word for name, value in given.items() if value for word in (name, value)]
    return started(client.name, [*own_command(), "mcp", *options])


def _store(location: str, client: "Client") -> str | None:
    if client.project is not None and hide_password(location) != location:
        raise InvalidInput(
            "A project's file is shared with others, and a password must not be. "
            "Leave it out of the address, and set PGPASSWORD where the client runs."
        )
    return location if "://" in location else _absolute(location)


def _check_toolsets(names: str) -> None:
    from athand.adapters.mcp.tool_list import ToolList

    ToolList([name.strip() for name in names.split(",")])


def _absolute(path: str | None) -> str | None:
    return str(Path(path).expanduser().absolute()) if path else None


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise InvalidInput(f"{name!r} is no name for an entry. Use letters, digits, - and _: --name athand-work")


def _checked(url: str, client: "Client") -> str:
    if not re.fullmatch(r"https?://\S+", url):
        raise InvalidInput(f"{url!r} is no address. Write it like this: --http {SERVED}")
    if client.project is not None:
        raise InvalidInput("A project's file is shared with others, and a token must not be. Leave --project out.")
    return url


def _show_entry(session: Session, client: "Client", entry: Mapping[str, Any]) -> None:
    """What would be written where, without what is secret."""
    hidden = _hidden(entry)
    if session.as_json:
        session.show({"client": client.name, "file": str(client.file), "entry": hidden})
        return
    session.say(f" {client.file}")
    click.echo(client.shown(hidden) if entry else "")


def _hidden(entry: Mapping[str, Any]) -> dict[str, Any]:
    """The entry without a token, without a password in the address of a store, and without variables' values."""
    shown = {name: {"Authorization": _HIDDEN} if "headers" in name else each for name, each in entry.items()}
    if isinstance(variables := entry.get("env"), Mapping):
        shown["env"] = dict.fromkeys(variables, HIDDEN)
    if isinstance(words := entry.get("args"), list):
        shown["args"] = [hide_password(word) if isinstance(word, str) else word for word in words]
    return shown


def _tell(session: Session, client: "Client", change: "Change", same: str, done: str) -> None:
    if session.print_plain(change, data="file"):
        return
    text = (same if change.action == "same" else done).format(client=change.client)
    session.say(f"{text}: {change.file}")
    if change.backup:
        session.say(f" What was there before is in {change.backup}")
    if change.action in ("added", "replaced"):
        session.say(f" Start {change.client} again to use it. Take it out with: athand uninstall {client.typed}")


def _list(session: Session, project: Path | None, name: str) -> None:
    from athand.adapters.cli.install_clients import Client

    rows = [_row(Client(each, project, name)) for each in CLIENTS if project is None or each in _OF_PROJECTS]
    if session.as_json:
        session.show(rows)
    elif session.quiet:
        click.echo("\n".join(row["client"] for row in rows if row["installed"]))
    else:
        _print_rows(session, rows)
        session.say(" Add it with:  athand install CLIENT")


_OF_PROJECTS = tuple(name for name in CLIENTS if name not in ("claude-desktop", "windsurf"))


def _row(client: "Client") -> dict[str, Any]:
    from athand.errors import AthandError

    try:
        installed, problem = client.entry is not None, None
    except AthandError as error:
        installed, problem = False, str(error)
    found = {"client": client.name, "found": client.is_found, "installed": installed}
    return {**found, "file": str(client.file), "problem": problem}


def _print_rows(session: Session, rows: list[dict[str, Any]]) -> None:
    from athand.adapters.cli.render import make_cell, make_table, print_table

    table = make_table("", "client", "", "file", flexible="file")
    for row in rows:
        mark, style = ("✓", "green") if row["installed"] else ("!", "yellow") if row["problem"] else ("·", "dim")
        state = "installed" if row["installed"] else "found" if row["found"] else "not found"
        table.add_row(
            make_cell(mark, style),
            row["client"],
            make_cell(state, "dim"),
            make_cell(abbreviate_home(row["problem"] or row["file"]), "dim"),
        )
    print_table(session.console(), table)
