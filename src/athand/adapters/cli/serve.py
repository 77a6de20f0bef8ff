"""`athand serve` and `athand mcp`: serve everything over HTTP, or MCP on standard input and output."""

import logging
import shlex
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from athand.adapters.cli.options import complete_toolset
from athand.adapters.cli.session import Session, command
from athand.adapters.cli.token import AGENT_SCOPES, SCOPES
from athand.adapters.cli.tools_catalogues import servers_file
from athand.adapters.project import find_project
from athand.errors import AthandError, InvalidInput, Refused

if TYPE_CHECKING:
    import ssl

    from athand.adapters.http.app import ServerOptions
    from athand.adapters.mcp.startup_answers import StartupAnswers
    from athand.adapters.mcp.stdio_fds import StdioFds
    from athand.app import Athand

log = logging.getLogger("athand")
_top = click.Group()
_file = click.Path(exists=True, dir_okay=False, path_type=Path)
_toolsets = click.option(
    "--toolsets",
    metavar="NAMES",
    shell_complete=complete_toolset,
    help="The MCP tools to offer: memories, documents, tools, flows, store, with commas between, or all; "
    "default: the 12 that agents use most.",
)
_profile = click.option(
    "--profile", metavar="APP", help="Name the MCP tools of the browser as this profile of flows does."
)


@command(_top, "serve", creates=True)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port", default=7325, show_default=True, type=click.IntRange(0, 65535), help="The port; 0 takes any free port."
)
@click.option(
    "--allow-host", "names", metavar="NAME", multiple=True, help="Another host name of this server; may be repeated."
)
@click.option("--tls-cert", "certificate", metavar="FILE", type=_file, help="Serve HTTPS with this certificate.")
@click.option("--tls-key", "key", metavar="FILE", type=_file, help="The private key of the certificate.")
@click.option("--insecure-bind", is_flag=True, help="Let other machines connect without TLS.")
@_toolsets
@_profile
@click.option("--no-mcp", is_flag=True, help="Do not serve MCP.")
@click.option("--stop-after", metavar="SECONDS", type=click.FloatRange(min=0), help="Stop after this time.")
@click.option("--verbose", "-v", is_flag=True, help="Log a line for each request to stderr.")
@click.option("--log-json", is_flag=True, help="Log as JSON, one line for each request.")
def serve(
    session: Session,
    /,
    host: str,
    port: int,
    certificate: Path | None,
    key: Path | None,
    insecure_bind: bool,
    verbose: bool,
    log_json: bool,
    names: tuple[str, ...],
    toolsets: str | None,
    profile: str | None,
    no_mcp: bool,
    stop_after: float | None,
) -> None:
    """Serve everything over HTTP: a web page, MCP at /mcp, REST at /v1, and its description at /docs.

    Every route needs a token. Yours is created at the first start, and its file is printed on stderr; `athand token
    create` creates others with fewer rights. Other machines can connect with TLS only. Stop it with Ctrl-C.

    \b
    Examples:
      athand serve
      athand serve --port 0 --json
      athand serve --host 0.0.0.0 --tls-cert cert.pem --tls-key key.pem --allow-host athand.example.com
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    from athand.adapters.http import server
    from athand.adapters.http.app import ServerOptions

    tls = _create_tls_context(host, certificate, key, insecure_bind)
    own_name = (host,) if server.is_name(host) else ()  # an address needs no name: requests come in at it
    options = ServerOptions(
        host_names=(*own_name, *names), mcp=not no_mcp, toolsets=_split_names(toolsets or None), profile=profile
    )
    with server.bind(host, port) as bound:
        server.configure_logging(as_json=log_json, log_requests=verbose)
        run_server(session, bound, _format_url(host, bound, tls is not None), tls, options, stop_after=stop_after)


def _create_tls_context(
    host: str, certificate: Path | None, key: Path | None, insecure: bool
) -> "ssl.SSLContext | None":
    """The TLS context of the certificate; None without one, which only this machine may use unless `insecure`."""
    from athand.adapters.http.server import is_loopback, tls_context

    if certificate is not None and key is not None:
        return tls_context(certificate, key)
    if certificate is not None or key is not None:
        raise InvalidInput("A certificate needs its key. Give both: --tls-cert FILE --tls-key FILE")
    if not is_loopback(host) and not insecure:
        raise Refused(
            f"At {host} the connection to other machines would not be encrypted. Give --tls-cert and --tls-key, "
            "or --insecure-bind if something else encrypts it."
        )
    return None


def _format_url(host: str, bound: socket.socket, is_secure: bool) -> str:
    """The address to connect to; that of this machine if the server listens on all addresses."""
    port = bound.getsockname()[1]
    name = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - compared, not bound
    return f"{'https' if is_secure else 'http'}://{f'[{name}]' if ':' in name else name}:{port}"


def run_server(
    session: Session,
    bound: socket.socket,
    url: str,
    tls: "ssl.SSLContext | None",
    options: "ServerOptions",
    *,
    show: Callable[[str], object] = lambda link: None,
    stop_after: float | None = None,
) -> None:
    """Serve until the server is stopped. When it answers, `show` gets a link that logs in to its page."""
    from contextlib import closing

    from athand.adapters.cli.server_file import note_server
    from athand.adapters.http.app import create_app
    from athand.adapters.http.server import serve
    from athand.adapters.http.sessions import create_link
    from athand.adapters.http.token_registry import TokenRegistry, ensure_owner_token
    from athand.adapters.operations import AppContext

    folder, store = find_place(session)
    ensure_owner_token(folder)
    with closing(AppContext(lambda: _open_for_serving(session), session.corpora)) as context:
        app = create_app(context, tokens=TokenRegistry(folder), options=options)

        def tell_ready() -> None:
            link = create_link(folder, url)
            _print_ready(session, url, folder, link, has_mcp=options.mcp)
            show(link)

        with note_server(folder, store, url):
            was_interrupted = serve(app, bound, tls=tls, on_ready=tell_ready, stop_after=stop_after)
    if was_interrupted:
        raise KeyboardInterrupt


def find_place(session: Session) -> tuple[Path, str]:
    """The data folder, which holds tokens, and the store that is served."""
    from athand.config import load_settings

    settings = load_settings(data_dir=session.data_dir)
    store = session.store or settings.location
    return settings.data_folder, store if "://" in store else str(Path(store).expanduser().absolute())


def _print_ready(session: Session, url: str, folder: Path, link: str, *, has_mcp: bool) -> None:
    """The addresses and the token's file: as JSON on stdout, or in words on stderr."""
    from athand.adapters.http.token_registry import owner_file

    token = owner_file(folder)
    if session.as_json:
        mcp = f"{url}/mcp" if has_mcp else None
        session.show({"url": url, "mcp": mcp, "token_file": str(token), "page": link})
        return
    session.say(f" Serving at {click.style(url, fg='cyan')}  (routes: {url}/docs)")
    session.say(f" Your page (this link logs in once, within 5 minutes; a new one: athand open):\n   {link}")
    session.say(f" Your token is in {token}")
    if has_mcp:
        where = f" --data-dir {shlex.quote(session.data_dir)}" if session.data_dir else ""
        session.say(" Add it to a client, with a token of its own:")
        session.say(f"   athand install claude-code --http {url}/mcp{where}")
    session.say(" Stop it with Ctrl-C.")


@command(_top, "mcp", creates=True)
@_toolsets
@_profile
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice(SCOPES),
    help="What the agent may do; may be repeated; default: all but admin.",
)
@click.option("--admin", is_flag=True, help="Let the agent also approve tools, add folders and write files.")
@click.option(
    "--project",
    metavar="NAME",
    help="The project that is worked on; default: ATHAND_PROJECT, else the git repository of the working folder.",
)
def mcp(
    session: Session,
    /,
    toolsets: str | None,
    profile: str | None,
    scopes: tuple[str, ...],
    admin: bool,
    project: str | None,
) -> None:
    """Serve MCP on standard input and output, for a client that starts it.

    \b
    Examples:
      athand install claude-code
      athand mcp --toolsets memories,documents
      athand mcp --toolsets flows --profile metamask
      athand mcp --scope search
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    if sys.stdin.isatty():
        session.say("Waiting for an MCP client on standard input; stop with Ctrl-C. Add it to one with: athand install")
    from athand.adapters.mcp.stdio_fds import StdioFds

    fds = StdioFds()
    granted = {*(scopes or AGENT_SCOPES), *(("admin",) if admin else ())}
    found = find_project(project, Path.cwd())
    options = {"toolsets": toolsets, "profile": profile, "scopes": sorted(granted), "project": str(found)}
    first, has_flows = _find_startup_answers(session, fds, options)
    first.begin()  # before the imports below, which take most of a second
    from athand.adapters.mcp.server import create_mcp_server
    from athand.adapters.mcp.stdio import serve
    from athand.adapters.operations import AppContext

    context = AppContext(lambda: _open_for_serving(session), session.corpora)
    mcp_server = create_mcp_server(
        context,
        toolsets=_split_names(toolsets),
        profile=profile,
        scopes=granted,
        project=found,
        asks_roots=not found.is_named,
        has_flows=has_flows,
    )
    serve(fds, context, mcp_server, first)


def _find_startup_answers(session: Session, fds: "StdioFds", options: dict[str, Any]) -> tuple["StartupAnswers", bool]:
    """The answers kept from an earlier start with these options, and whether there were recorded flows then.

    There are none where they depend on more than the options.
    """
    from athand.adapters.mcp.startup_answers import StartupAnswers, find_file, has_flows
    from athand.config import load_settings

    try:
        folder = load_settings(data_dir=session.data_dir).data_folder
    except AthandError:  # told to whoever asks for something of the store
        return StartupAnswers(fds, None), False
    known = has_flows(folder)
    is_kept = not options["profile"] and not session.corpora
    file = find_file(folder, {**options, "has_flows": known}) if is_kept else None
    return StartupAnswers(fds, file, folder), known


def _split_names(names: str | None) -> list[str] | None:
    return None if names is None else [name.strip() for name in names.split(",")]


def _open_for_serving(session: Session) -> "Athand":
    """The store with its folders watched and the servers of the user and the project connected."""
    athand = session.open()
    try:
        _connect_servers(session, athand)
        athand.documents.watch()
    except BaseException:
        athand.close()
        raise
    return athand


def _connect_servers(session: Session, athand: "Athand") -> None:
    """Load and connect the servers; a file of servers that cannot be read is logged, and costs only its tools."""
    try:
        catalogues = athand.tools.load_all(user=servers_file(session), folder=Path.cwd())
        athand.tools.connect_new(catalogues)
    except AthandError as error:
        log.warning("Serving without the tools of other servers. %s", error)
