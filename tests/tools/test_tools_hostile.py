"""What hostile servers, folders and callers cannot do to others."""

import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from chaos.harness import HERE, MARK, Scene, scene
from chaos.web import serving
from oauth_server import Tokens, protected
from tests.tools.patience import begun
from tests.waiting import PATIENCE, eventually

from athand import Athand
from athand.errors import InvalidInput, Unavailable
from athand.tools.gateway.diagnostics import Diagnostics, LoginNeeded
from athand.tools.model import Definition, Launch
from athand.tools.oauth import StoredLogin
from athand.tools.oauth.token_store import TokenStore
from athand.tools.poisoning.neighbours import Neighbours
from athand.tools.poisoning.scan import scan_definition


@pytest.fixture
def ours() -> Iterator[Scene]:
    with scene() as made:
        yield made
    assert eventually(lambda: made.left() == [])


def failed(ours: Scene, fault: str, **options: Any) -> str:
    """The reason why a server with a fault does not work."""
    server = ours.chaos(fault, **options)
    ours.gateway.connect(server)
    assert ours.gateway.wait(PATIENCE)
    return str(ours.gateway.states()[server].reason)


def nested(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


def test_arguments_that_are_no_json_are_refused_and_harm_nobody(ours: Scene) -> None:
    server = ours.chaos("Server")
    for value in ("\ud800", object(), {1, 2}, float("nan"), 10**5000, nested(5000)):
        with pytest.raises(InvalidInput, match="not JSON"):
            ours.text(server, a=value)
        assert ours.text(server, a=1) == '{"a": 1}'


def test_a_forked_process_is_told_so_and_hangs_neither_in_a_call_nor_at_the_end(ours: Scene) -> None:
    server = ours.chaos("Server")
    assert ours.text(server, a=1) == '{"a": 1}'
    child = os.fork()
    if child == 0:
        with suppress(Unavailable):
            ours.text(server, a=2)
            os._exit(1)
        ours.gateway.close()
        os._exit(0)
    assert eventually(lambda: os.waitpid(child, os.WNOHANG) == (child, 0))
    assert ours.text(server, a=3) == '{"a": 3}'


def test_half_a_character_costs_no_answer(ours: Scene) -> None:
    assert ours.text(ours.chaos("HalfCharacters")) == "party ?"


def test_a_list_of_tools_without_end_is_given_up(ours: Scene) -> None:
    assert "larger than 32 MB" in failed(ours, "HugePages")


def test_a_server_that_asks_and_never_listens_is_given_up(ours: Scene) -> None:
    assert "it sends requests without end" in failed(ours, "AsksWithoutEnd")


def test_what_a_server_was_told_in_confidence_is_in_no_reason(ours: Scene) -> None:
    args = ("-I", "-S", str(HERE / "server.py"), "TellsSecretAndStops")
    env = {MARK: ours.mark, "SERVICE_KEY": "correct horse"}
    server = ours.add(Launch("teller", "stdio", sys.executable, args, env))
    with pytest.raises(Unavailable) as caught:
        ours.text(server)
    assert "let in with [SERVICE_KEY], sorry" in caught.value.quote
    assert "horse" not in f"{caught.value} {caught.value.quote} {ours.gateway.states()}"


def test_neither_a_header_nor_a_part_of_the_address_is_in_a_reason() -> None:
    url = "http://a.example/s/a1b2c3d4e5f6g7h8/mcp"
    launch = Launch("web", "http", url=url, headers={"Authorization": "Bearer 12345678"})
    said = Diagnostics(launch).describe_failure(
        ValueError(f"12345678 (Bearer 12345678) is led from {url} to elsewhere.")
    )
    assert said == (
        "cannot reach http://a.example\n[Authorization] ([Authorization]) is led from "
        "http://a.example/s/[hidden]/mcp to elsewhere"
    )


def test_a_cloned_repository_runs_nothing_though_we_stand_in_it(tmp_path: Path, monkeypatch: Any) -> None:
    repository = tmp_path / "repository"
    repository.mkdir()
    (repository / "server.py").write_text(f"open({str(tmp_path / 'taken')!r}, 'w')")
    config = tmp_path / "mine" / "mcp.json"
    config.parent.mkdir()
    (config.parent / "server.py").write_text((HERE / "server.py").read_text("utf-8"))
    entry = {"command": sys.executable, "args": ["-m", "server", "Server"]}
    config.write_text(json.dumps({"mcpServers": {"mine": entry}}))
    monkeypatch.chdir(repository)
    with Athand(":memory:") as athand:
        athand.tools.load(config, origin="user")
        assert athand.tools.wait(PATIENCE)
        assert athand.tools.call("mine__echo", {"a": 1}).text == '{"a": 1}'
    assert not (tmp_path / "taken").exists()


def test_a_browser_that_does_not_return_keeps_nobody_from_closing(tmp_path: Path) -> None:
    app, listener = protected(Tokens())
    shown, closed = threading.Event(), threading.Event()

    def show(url: str) -> None:
        shown.set()
        closed.wait(2 * PATIENCE)

    with serving(app, listener) as address, scene(tokens=tmp_path) as ours:
        server = ours.add(Launch("safe", "http", url=f"{address}/mcp"))
        login = begun(lambda: ours.gateway.login(server, open_page=show, seconds=250))
        assert shown.wait(PATIENCE)
        ours.clock.advance(250)
        with pytest.raises(Unavailable, match="Nobody logged in"):
            login.result(PATIENCE)
        begun(ours.gateway.close).result(PATIENCE)
    closed.set()


def test_tokens_are_renewed_only_by_whom_they_came_from(tmp_path: Path) -> None:
    client = {"client_id": "us", "client_secret": "hush", "redirect_uris": ["http://127.0.0.1/callback"]}
    tokens = {"access_token": "old", "refresh_token": "hush", "token_type": "Bearer"}
    store = TokenStore(tmp_path, ("default", "web"), "https://web.example/mcp")
    kept = {"tokens": tokens, "expires_at": time.time() + 999, "client": client, "issuer": _issuer("first")}
    store.path.write_text(json.dumps(kept))
    asked = anyio.run(_sent_by, store)
    assert [request.url.host for request in asked if b"hush" in request.content] == ["first.example"]


def _issuer(name: str) -> dict[str, Any]:
    base = f"https://{name}.example"
    ends = {"authorization_endpoint": f"{base}/authorize", "token_endpoint": f"{base}/token"}
    return {"issuer": base, **ends, "response_types_supported": ["code"]}


async def _sent_by(store: TokenStore) -> list[httpx2.Request]:
    """What is sent when a server refuses the tokens, and names another issuer than before."""
    login = StoredLogin(await store.load(), "https://web.example/mcp")
    names = {"resource": "https://web.example/mcp", "authorization_servers": ["https://second.example"]}
    asked = []
    flow = login.async_auth_flow(httpx2.Request("POST", "https://web.example/mcp"))
    request = await anext(flow)
    with pytest.raises(LoginNeeded):
        while True:
            asked.append(request)
            known = {"/mcp": (401, {}), "/token": (400, {})}
            other = (200, _issuer("second") if request.url.host == "second.example" else names)
            status, answer = known.get(request.url.path, other)
            request = await flow.asend(httpx2.Response(status, json=answer, request=request))
    return asked


@pytest.mark.parametrize("text", ["<!--", "[//]: # (", "<!--.[//]: # (", "you must ", "use get_item_7 . "])
def test_a_description_made_to_hang_is_looked_at_in_time(text: str) -> None:
    names = [f"get_item_{number}" for number in range(5_000)]
    others = Neighbours.from_names(["other"], [(name, "Get it.") for name in names])
    began = time.thread_time()
    for description in (text * (100_000 // len(text)), " ".join([text, *names])):
        scan_definition(Definition("tool", description=description), "server", others)
    assert time.thread_time() - began < 60
