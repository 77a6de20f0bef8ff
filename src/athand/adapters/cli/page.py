"""`athand open`: opens the web page in a browser, logged in; starts a server if none runs."""

import click

from athand.adapters.cli.serve import find_place, run_server
from athand.adapters.cli.server_file import find_server
from athand.adapters.cli.session import Session, command
from athand.adapters.cli.words import echo

_top = click.Group()


@command(_top, "open", creates=True)
@click.option("--print", "only_print", is_flag=True, help="Print the link instead of opening it.")
@click.option(
    "--port", default=7325, show_default=True, type=click.IntRange(0, 65535), help="The port of a server to start."
)
def open_(session: Session, /, only_print: bool, port: int) -> None:
    """Open the web page in your browser.

    It shows what is remembered, what was found and why, and what waits for your approval. A server that runs on this
    store is used; otherwise one is started, until you stop it with Ctrl-C. The link logs in once, within 5 minutes.

    \b
    Examples:
      athand open
      athand open --print
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    from athand.adapters.http import server
    from athand.adapters.http.app import ServerOptions
    from athand.adapters.http.sessions import create_link

    folder, store = find_place(session)
    url = find_server(folder, store)
    if url is not None:
        link = create_link(folder, url)
        if session.as_json:
            session.show({"url": url, "page": link})
        elif only_print or click.launch(link) != 0:
            echo(link)
        return
    with server.bind("127.0.0.1", port) as bound:
        server.configure_logging(as_json=False, log_requests=False)
        own = f"http://127.0.0.1:{bound.getsockname()[1]}"
        run_server(session, bound, own, None, ServerOptions(), show=lambda link: only_print or click.launch(link))
