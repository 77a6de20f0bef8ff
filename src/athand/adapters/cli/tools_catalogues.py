"""The catalogues that a command on tools works on: the servers of the user and of the project, loaded and connected."""

import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from athand.adapters.cli.session import Command, Session
from athand.adapters.cli.words import pluralize
from athand.errors import NotFound
from athand.inputs import suggest

if TYPE_CHECKING:
    from athand.tools import Server, Tool, Tools

NO_SERVERS = "No tools yet. Import the servers of other programs with: athand tools import  or: athand tools load FILE"
FAILED = ("failing", "needs login")
UNKNOWN, IDLE = "unknown", "idle"  # states of servers that this command has not connected to: never listed, listed
_MAX_WAIT = 86_400.0  # seconds; each server has a limit of its own
_POLL = 0.2


@dataclass(frozen=True, slots=True)
class Catalogues:
    """The tools service and the catalogues to look in; the first one that has a name wins."""

    tools: "Tools"
    names: tuple[str, ...]

    def list_servers(self) -> "list[Server]":
        """The servers of these catalogues, by name; of one name, that of the first catalogue."""
        servers = self.tools.servers(catalogue=self.names)
        ordered = sorted(servers, key=lambda server: self.names.index(server.catalogue), reverse=True)
        return sorted({server.name: server for server in ordered}.values(), key=lambda server: server.name)

    def check_server(self, name: str | None) -> None:
        """Raises NotFound if there is no server of that name."""
        known = [each.name for each in self.list_servers()]
        if name is not None and name not in known:
            raise NotFound(f"No server {name!r}.{suggest(name, known)} List the servers with: athand tools servers")

    def select_servers(self, names: Sequence[str]) -> "list[Server]":
        """The servers of these names; without names, all that may be connected to."""
        for name in names:
            self.check_server(name)
        servers = {server.name: server for server in self.list_servers()}
        reachable = [server for server in servers.values() if server.state not in ("untrusted", "disabled", "none")]
        return [servers[name] for name in names] if names else reachable

    def list_tools(self, server: str | None = None) -> "list[Tool]":
        """The tools of these catalogues, by id; of one id, that of the first catalogue."""
        self.check_server(server)
        tools = self.tools.list(server, catalogue=self.names)
        ordered = sorted(tools, key=lambda tool: self.names.index(tool.catalogue), reverse=True)
        return sorted({tool.id: tool for tool in ordered}.values(), key=lambda tool: tool.id)


def catalogue_options(command: Command) -> Command:
    """Add the options that choose the catalogues: --catalogue and --config."""
    catalogue = click.option("--catalogue", metavar="NAME", help="Only tools of this catalogue; default: all.")
    config = click.option("--config", metavar="FILE", help="One more file of servers; it wins over the others.")
    return config(catalogue(command))


@contextmanager
def open_catalogues(
    session: Session, config: str | None = None, catalogue: str | None = None, *, connect: bool = False
) -> Iterator[Catalogues]:
    """Load the servers of the user's file, of the project and of `config`; `connect` to those that are new."""
    if config and catalogue:
        raise click.UsageError("Give either --config or --catalogue: a file has a catalogue of its own.")
    with session.open() as athand:
        tools = athand.tools
        if catalogue:
            catalogues = Catalogues(tools, (_check_catalogue(tools, catalogue),))
        else:
            names = tools.load_all(user=servers_file(session), folder=Path.cwd(), config=config)
            catalogues = Catalogues(tools, names)
        _check_trust(session, catalogues)
        if connect:
            _connect_new(session, catalogues)
        yield catalogues


def servers_file(session: Session) -> Path:
    """The user's own file of servers."""
    from athand.config import load_settings

    return load_settings(data_dir=session.data_dir).servers_file


def find_tool(session: Session, catalogues: Catalogues, id_: str) -> "Tool":
    """A tool of these catalogues. New servers are connected to only if the tool is unknown or theirs."""
    try:
        tool = catalogues.tools.describe(id_, catalogue=catalogues.names)
    except NotFound:
        tool = None
    new = {server.name for server in catalogues.list_servers() if server.state == UNKNOWN}
    if tool is not None and tool.server not in new:
        return tool
    _connect_new(session, catalogues)
    try:
        return catalogues.tools.describe(id_, catalogue=catalogues.names)
    except NotFound as error:
        hint = suggest(id_, (tool.id for tool in catalogues.tools.list(catalogue=catalogues.names)))
        raise NotFound(f"No tool {id_!r}.{hint} See what there is with: athand tools list") from error


def _connect_new(session: Session, catalogues: Catalogues) -> None:
    """Connect to servers that were never listed, and warn about those that failed."""
    if catalogues.tools.connect_new(catalogues.names):
        _wait(session, catalogues)
    for server in catalogues.list_servers():
        if server.state in FAILED:
            retry = f"Try again with: athand tools refresh {shlex.quote(server.name)}"
            _warn(session, f"Server {server.name} is not available: {server.reason}", retry)


def connect_servers(session: Session, catalogues: Catalogues, servers: "Sequence[Server]") -> None:
    """Connect to these servers, also if they were listed before, and wait for them."""
    catalogues.tools.connect([(server.catalogue, server.name) for server in servers])
    _wait(session, catalogues)


def _wait(session: Session, catalogues: Catalogues) -> None:
    """Wait until every server has answered or failed; a terminal shows which ones are still connecting."""
    console = session.console(stderr=True)
    if session.quiet or not console.is_terminal:
        catalogues.tools.wait(_MAX_WAIT)
    else:
        with console.status("Connecting") as status:
            while not catalogues.tools.wait(_POLL):
                status.update(_describe_progress(catalogues))


def _describe_progress(catalogues: Catalogues) -> str:
    from rich.markup import escape

    names = [server.name for server in catalogues.list_servers() if server.state == "connecting"]
    shown = ", ".join(names) if len(names) < 4 else pluralize(len(names), "server")
    return escape(f"Connecting to {shown}" if names else "Indexing the tools")


def _check_catalogue(tools: "Tools", name: str) -> str:
    names = sorted({server.catalogue for server in tools.servers()})
    if name not in names:
        raise NotFound(f"No catalogue {name!r}. Known: {', '.join(names) or 'none yet'}.")
    return name


def _check_trust(session: Session, catalogues: Catalogues) -> None:
    """Say that a project's servers are not started before the user trusts them, and how to do that."""
    untrusted = [server for server in catalogues.list_servers() if server.state == "untrusted"]
    for source in dict.fromkeys(str(server.source) for server in untrusted):
        count = pluralize(sum(str(server.source) == source for server in untrusted), "server")
        text = f"{source} names {count} that you have not trusted; none of them is started."
        _warn(session, text, f"Review and trust it with: athand tools trust {shlex.quote(source)}")


def _warn(session: Session, text: str, advice: str) -> None:
    session.say(f" {click.style('!', fg='yellow')} {text}\n   {advice}")
