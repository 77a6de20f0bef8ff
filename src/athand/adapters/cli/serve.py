"""`athand serve`: everything over HTTP, for programs and for MCP clients."""

import shlex
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from athand.adapters.cli.session import Session, command
from athand.errors import InvalidInput, Refused

if TYPE_CHECKING:
    import ssl

_top = click.Group()
_TOOLSETS = ("memories", "documents", "tools", "flows", "store", "all")
_file = click.Path(exists=True, dir_okay=False, path_type=Path)


@command(_top, "serve")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen at.")
@click.option("--port", default=7325, show_default=True, type=click.IntRange(0, 65535), help="0 takes any free port.")
@click.option("--allow-host", "names", metavar="NAME", multiple=True, help="Another name of this server; repeatable.")
@click.option("--tls-cert", "certificate", metavar="FILE", type=_file, help="Serve HTTPS with this certificate.")
@click.option("--tls-key", "key", metavar="FILE", type=_file, help="The key of the certificate.")
@click.option("--insecure-bind", is_flag=True, help="Let other machines in without TLS.")
@click.option("--toolsets", metavar="NAMES", help=f"What MCP clients get: {', '.join(_TOOLSETS)}; commas between.")
@click.option("--profile", metavar="NAME", help="The profile of flows whose prefix browser tools get over MCP.")
@click.option("--no-mcp", is_flag=True, help="Serve no MCP.")
@click.option("--stop-after", metavar="SECONDS", type=click.FloatRange(min=0), help="End by itself after that time.")
@click.option("--verbose", "-v", is_flag=True, help="A line on stderr for each request.")
@click.option("--log-json", is_flag=True, help="The log as lines of JSON, one for each request.")
def serve(session: Session, /, host: str, port: int, verbose: bool, log_json: bool, **given: Any) -> None:
    """Serve everything over HTTP: MCP, REST, and a page that describes it.

    MCP is at /mcp, REST at /v1, the page at /docs.

    Every route needs a token. Yours is made at the first start and told on stderr; `athand token create` makes
    others with fewer rights. Other machines are let in with TLS only. Ctrl-C ends it.

    \b
    Examples:
      athand serve
      athand serve --port 0 --json
      athand serve --host 0.0.0.0 --tls-cert cert.pem --tls-key key.pem --allow-host athand.example.com
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    from athand.adapters.http import server

    tls = _tls(host, given.pop("certificate"), given.pop("key"), given.pop("insecure_bind"))
    with server.bind(host, port) as bound:
        server.configure_logging(as_json=log_json, log_requests=verbose)
        if _serve(session, bound, tls, host, **given):
            raise KeyboardInterrupt


def _tls(host: str, certificate: Path | None, key: Path | None, insecure: bool) -> "ssl.SSLContext | None":
    from athand.adapters.http.server import is_loopback, tls_context

    if certificate is not None and key is not None:
        return tls_context(certificate, key)
    if certificate is not None or key is not None:
        raise InvalidInput("A certificate needs its key. Give both: --tls-cert FILE --tls-key FILE")
    if not is_loopback(host) and not insecure:
        raise Refused(
            f"At {host} other machines could read along. Give --tls-cert and --tls-key, "
            "or --insecure-bind if something else protects the way."
        )
    return None


def _serve(
    session: Session,
    bound: socket.socket,
    tls: "ssl.SSLContext | None",
    host: str,
    *,
    names: tuple[str, ...],
    toolsets: str | None,
    profile: str | None,
    no_mcp: bool,
    stop_after: float | None,
) -> bool:
    from contextlib import closing

    from athand.adapters.cli.serving import open_for_serving
    from athand.adapters.http.app import ServerOptions, create_app
    from athand.adapters.http.server import is_name, serve
    from athand.adapters.http.token_registry import TokenRegistry, ensure_owner_token
    from athand.adapters.operations import AppContext
    from athand.config import load_settings

    folder = load_settings(data_dir=session.data_dir).data_folder
    ensure_owner_token(folder)
    chosen = [each.strip() for each in toolsets.split(",")] if toolsets else None
    own = (host,) if is_name(host) else ()  # a request to an address is known by the address it came in at
    options = ServerOptions(host_names=(*own, *names), mcp=not no_mcp, toolsets=chosen, profile=profile)
    with closing(AppContext(lambda: open_for_serving(session))) as workspace:
        app = create_app(workspace, tokens=TokenRegistry(folder), options=options)
        told = _Told(session, _url(host, bound, tls is not None), folder, not no_mcp)
        return serve(app, bound, tls=tls, on_ready=told.ready, stop_after=stop_after)


def _url(host: str, bound: socket.socket, is_secure: bool) -> str:
    """The address to call; that of this machine where it listens at all addresses."""
    port = bound.getsockname()[1]
    name = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - compared, not bound
    return f"{'https' if is_secure else 'http'}://{f'[{name}]' if ':' in name else name}:{port}"


class _Told:
    """What is said when the server is ready."""

    def __init__(self, session: Session, url: str, folder: Path, mcp: bool) -> None:
        from athand.adapters.http.token_registry import owner_file

        self._session, self._url, self._mcp = session, url, mcp
        self._token = owner_file(folder)

    def ready(self) -> None:
        """The address and the token's file: as JSON on stdout, or in words on stderr."""
        if self._session.as_json:
            mcp = f"{self._url}/mcp" if self._mcp else None
            self._session.show({"url": self._url, "mcp": mcp, "token_file": str(self._token)})
            return
        self._session.say(f" Serving at {click.style(self._url, fg='cyan')}  (routes: {self._url}/docs)")
        self._session.say(f" Your token is in {self._token}")
        if self._mcp:
            where = f" --data-dir {shlex.quote(self._session.data_dir)}" if self._session.data_dir else ""
            self._session.say(" Add it to a client, with a token of its own:")
            self._session.say(f"   athand install claude-code --http {self._url}/mcp{where}")
        self._session.say(" End it with Ctrl-C.")
