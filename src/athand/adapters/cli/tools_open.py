"""What commands on tools begin with: the servers of the user and of the project, known and connected."""

import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from athand.adapters.cli.session import Command, Session
from athand.adapters.cli.words import counted
from athand.errors import NotFound

if TYPE_CHECKING:
    from athand.tools import Server, Tool, Tools

NO_SERVERS = "No tools yet. Bring the servers of other programs with: athand tools import  or: athand tools load FILE"
FAILED = ("failing", "needs login")
NOT_SEEN, SEEN = "unknown", "idle"  # servers that nobody has connected to since this command began
_LONGEST = 86_400.0  # seconds; each server has a limit of its own
_A_LOOK = 0.2


@dataclass(frozen=True, slots=True)
class Opened:
    """The tools, and the catalogues to look in: what is in the first of them wins."""

    tools: "Tools"
    catalogues: tuple[str, ...]

    def servers(self) -> "list[Server]":
        """The servers of these catalogues; of one name, the first."""
        found = self.tools.servers(catalogue=self.catalogues)
        ordered = sorted(found, key=lambda server: self.catalogues.index(server.catalogue), reverse=True)
        return sorted({server.name: server for server in ordered}.values(), key=lambda server: server.name)

    def check_server(self, name: str | None) -> None:
        """Say so, if a server is named that is not there."""
        if name is not None and name not in [each.name for each in self.servers()]:
            raise NotFound(f"No server {name!r}. See what there is with: athand tools servers")

    def list(self, server: str | None = None) -> "list[Tool]":
        """The tools of these catalogues; of one id, the first."""
        self.check_server(server)
        found = self.tools.list(server, catalogue=self.catalogues)
        ordered = sorted(found, key=lambda tool: self.catalogues.index(tool.catalogue), reverse=True)
        return sorted({tool.id: tool for tool in ordered}.values(), key=lambda tool: tool.id)


def chosen(command: Command) -> Command:
    """Add the options that say whose tools are meant."""
    catalogue = click.option("--catalogue", metavar="NAME", help="The tools of this catalogue only.")
    config = click.option("--config", metavar="FILE", help="One more file of servers; it wins over the others.")
    return config(catalogue(command))


@contextmanager
def opened(
    session: Session, config: str | None = None, catalogue: str | None = None, *, connect: bool = False
) -> Iterator[Opened]:
    """Know the servers of the user's own file, the project and `config`; `connect` to those that were never seen."""
    if config and catalogue:
        raise click.UsageError("Give either --config or --catalogue: a file has a catalogue of its own.")
    with session.open() as athand:
        tools = athand.tools
        if catalogue:
            found = Opened(tools, (_known(tools, catalogue),))
        else:
            found = Opened(tools, tools.load_all(user=servers_file(session), folder=Path.cwd(), config=config))
        _tell_untrusted(session, found)
        if connect:
            _connect_new(session, found)
        yield found


def servers_file(session: Session) -> Path:
    """The user's own file of servers."""
    from athand.config import load_settings

    return load_settings(data_dir=session.data_dir).servers_file


def find_tool(session: Session, found: Opened, id_: str) -> "Tool":
    """A tool of these catalogues; new servers are only waited for where they may have it."""
    try:
        tool = found.tools.describe(id_, catalogue=found.catalogues)
    except NotFound:
        _connect_new(session, found)
        return found.tools.describe(id_, catalogue=found.catalogues)
    if not any(server.name == tool.server and server.state == NOT_SEEN for server in found.servers()):
        return tool
    _connect_new(session, found)
    return found.tools.describe(id_, catalogue=found.catalogues)


def _connect_new(session: Session, found: Opened) -> None:
    """Connect to the servers that were never seen, and tell which have failed."""
    if found.tools.connect_new(found.catalogues):
        wait(session, found)
    _tell_failed(session, found)


def connect_to(session: Session, found: Opened, servers: "Sequence[Server]") -> None:
    """Connect to servers, whether they are known or not, and wait for them."""
    found.tools.connect([(server.catalogue, server.name) for server in servers])
    wait(session, found)


def wait(session: Session, found: Opened) -> None:
    """Wait until every server has answered or failed; on a terminal, tell for whom."""
    console = session.console(stderr=True)
    if session.quiet or not console.is_terminal:
        found.tools.wait(_LONGEST)
    else:
        with console.status("Connecting") as status:
            while not found.tools.wait(_A_LOOK):
                status.update(_whom(found))


def _tell_failed(session: Session, found: Opened) -> None:
    for server in found.servers():
        if server.state in FAILED:
            again = f"Try again with: athand tools refresh {shlex.quote(server.name)}"
            session.say(f" {click.style('!', fg='yellow')} {server.name} is not there: {server.reason}\n   {again}")


def _whom(found: Opened) -> str:
    """Whom one waits for."""
    from rich.markup import escape

    names = [server.name for server in found.servers() if server.state == "connecting"]
    whom = ", ".join(names) if len(names) < 4 else counted(len(names), "server")
    return escape(f"Connecting to {whom}" if names else "Taking in what they offer")


def _known(tools: "Tools", catalogue: str) -> str:
    known = sorted({server.catalogue for server in tools.servers()})
    if catalogue not in known:
        raise NotFound(f"No catalogue {catalogue!r}. There are: {', '.join(known) or 'none yet'}.")
    return catalogue


def _tell_untrusted(session: Session, found: Opened) -> None:
    """That a project wants to start something, and how to let it."""
    untrusted = [server for server in found.servers() if server.state == "untrusted"]
    for source in dict.fromkeys(str(server.source) for server in untrusted):
        names = [server.name for server in untrusted if server.source == source]
        text = f"{source} names {counted(len(names), 'server')} that you have not trusted; nothing of it is started."
        session.say(
            f" {click.style('!', fg='yellow')} {text}\n   Look at it with: athand tools trust {shlex.quote(source)}"
        )
