"""A small store that has something of everything, and clients that ask for it."""

import json
import threading
import time
from contextlib import closing, contextmanager
from functools import partial

import anyio
import uvicorn
from mcp.client.client import Client
from tests.tools.servers.kit import FILES, Board, write_config

from athand import Athand
from athand.adapters.http.app import ServerOptions, create_app
from athand.adapters.http.server import bind
from athand.adapters.http.token_registry import TokenRegistry, ensure_owner_token
from athand.adapters.mcp.server import create_mcp_server
from athand.adapters.operations import SCOPES, AppContext

ERAS = ("legacy", "2026-07-28")  # with a handshake, and without
NOTE = "# Deploying\n\nStaging deploys need the VPN and a ticket.\n"


def fill(athand, folder):
    """A memory that another one replaced, a folder of notes, a live server of three tools, a walk of two steps."""
    (folder / "deep").mkdir(parents=True)
    (folder / "deploying.md").write_text(NOTE)
    (folder / "deep" / "Größe & mehr.txt").write_text("Umlauts and spaces are allowed in names.\n")
    athand.memories.add("Staging deploys need the VPN", project="shop", id="vpn", pinned=True, tags=["deploy"])
    athand.memories.add("The VPN was renamed to Gate in March", project="shop", id="gate")
    athand.documents.add(folder, folder_id="notes")
    board = Board(folder.parent / "files.json", FILES)
    athand.tools.load(write_config(folder.parent / "mcp.json", files=board.entry()))
    athand.tools.wait()
    walk = athand.flows.start_session(goal="Buy a kettle", app="shop", id="kettle")
    athand.flows.record(walk.id, tool="ui_click", target={"testId": "add-to-cart"})


@contextmanager
def opened(tmp_path, fill=fill):
    """A workspace over such a store."""
    workspace = AppContext(lambda: Athand(tmp_path / "store.db"))
    fill(workspace.athand, tmp_path / "notes")
    try:
        yield workspace
    finally:
        workspace.close()


def talk(server, conversation, *, mode="legacy", **options):
    """Run a conversation of a client with a server, in this process or behind a transport."""

    async def run():
        async with Client(server, mode=mode, **options) as client:
            return await conversation(client)

    return anyio.run(run)


def serve(workspace, **options):
    return create_mcp_server(workspace, **options)


everything = partial(serve, toolsets=["all"], scopes=SCOPES)


def wire(tools):
    """A list of tools as bytes."""
    return json.dumps([tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]).encode()


class _Server(uvicorn.Server):
    async def shutdown(self, sockets=None):
        self.before_the_end()
        await super().shutdown(sockets)


@contextmanager
def gateway(workspace, folder, *, trusting=False, **options):
    """The whole HTTP gateway at an address of its own; a trusting one takes everybody for its owner."""
    folder.mkdir(mode=0o700, exist_ok=True)
    token = ensure_owner_token(folder)
    app = create_app(workspace, tokens=TokenRegistry(folder), options=ServerOptions(**options))
    config = uvicorn.Config(
        _signed(app, token) if trusting else app, log_config=None, ws="none", timeout_graceful_shutdown=20
    )
    server = _Server(config)
    [*_, server.before_the_end] = app.state.begin_to_end
    with closing(bind("127.0.0.1", 0)) as bound:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
        thread.start()
        while not server.started and thread.is_alive():
            time.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{bound.getsockname()[1]}/mcp", token
        finally:
            server.should_exit = True
            thread.join(60)
            assert not thread.is_alive(), "the server does not end"


def _signed(app, token):
    async def signed(scope, receive, send):
        if scope["type"] == "http":
            scope["headers"] = [*scope["headers"], (b"authorization", f"Bearer {token}".encode())]
        await app(scope, receive, send)

    return signed
