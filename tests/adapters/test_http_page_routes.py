"""What the page asks beside operations: changes as they happen, tokens, and the screenshots of sessions."""

import asyncio
from contextlib import suppress

import pytest
from tests.adapters.gateway import is_problem, opened
from tests.waiting import PATIENCE

from athand.adapters.eviction import Most
from athand.adapters.http.events import Events
from athand.adapters.operations.threads import Threads

PICTURE = b"\x89PNG\r\n\x1a\n and the rest"


@pytest.fixture(scope="module")
def gateway(tmp_path_factory):
    with opened(tmp_path_factory.mktemp("page"), mcp=False) as gateway:
        yield gateway


def test_a_token_is_told_once_and_ends_what_began_with_it(gateway):
    made = gateway.post("/v1/tokens", {"name": "guest", "scopes": ["search"]}).json()
    assert gateway.get("/v1/status", made["token"]).status_code == 200
    [listed] = [each for each in gateway.get("/v1/tokens").json() if each["name"] == "guest"]
    assert listed == {key: made[key] for key in ("name", "scopes", "created_at")}
    assert is_problem(gateway.post("/v1/tokens", {"name": "guest", "scopes": ["search"]}), 409)
    assert gateway.ask("DELETE", "/v1/tokens/guest").json()["name"] == "guest"
    assert is_problem(gateway.get("/v1/status", made["token"]), 401)
    assert is_problem(gateway.ask("DELETE", "/v1/tokens/guest"), 404)


@pytest.mark.parametrize("wrong", [{}, {"name": "x"}, {"name": "x", "scopes": []}, {"name": "x", "scopes": ["all"]}])
def test_a_token_needs_a_name_and_scopes(gateway, wrong):
    assert is_problem(gateway.post("/v1/tokens", wrong), 422)


def listening(gateway, act):
    """What `act` does with a stream of events, whose token is good as long as the set has something in it."""

    async def run():
        threads, good = Threads(), {True}
        events = Events(gateway.workspace, threads)
        stream = events.listen("guest", lambda: bool(good))
        try:
            assert b"event: ready" in await anext(stream)
            async with asyncio.timeout(PATIENCE):
                await act(events, stream, good)
        finally:
            events.end()
            with suppress(StopAsyncIteration):
                await anext(stream)
            threads.close()

    asyncio.run(run())


def test_a_stream_tells_which_corpus_has_changed(gateway):
    async def act(events, stream, good):
        added = gateway.workspace.athand.memories.add("Staging deploys need the VPN")
        assert await anext(stream) == b"event: memories\ndata: {}\n\n"
        gateway.workspace.athand.memories.pin(added.id)
        assert await anext(stream) == b"event: memories\ndata: {}\n\n"
        gateway.workspace.athand.tools.add("ci", [{"name": "deploy"}])
        assert await anext(stream) == b"event: tools\ndata: {}\n\n"
        gateway.workspace.athand.flows.start_session(app="shop")
        walk = gateway.workspace.athand.flows.sessions()[0]
        gateway.workspace.athand.flows.record(walk.id, tool="ui_click", target={"testId": "a"})
        assert await anext(stream) == b"event: flows\ndata: {}\n\n"

    listening(gateway, act)


def test_a_stream_ends_with_its_token_and_with_the_server(gateway):
    async def revoked(events, stream, good):
        good.clear()
        with pytest.raises(StopAsyncIteration):
            await anext(stream)

    async def ended(events, stream, good):
        events.end()
        with pytest.raises(StopAsyncIteration):
            await anext(stream)

    listening(gateway, revoked)
    listening(gateway, ended)


def test_who_opens_too_many_streams_loses_the_oldest(gateway, monkeypatch):
    monkeypatch.setattr("athand.adapters.http.events._STREAMS", Most(of_one=2, of_all=9))

    async def act(events, stream, good):
        others = [events.listen("guest", lambda: True) for _ in range(2)]
        for each in others:
            await anext(each)
        with pytest.raises(StopAsyncIteration):
            await anext(stream)
        for each in others:
            await each.aclose()

    listening(gateway, act)


@pytest.fixture
def session(gateway):
    """A session with one screenshot of its own, and three that are none."""
    flows = gateway.workspace.athand.flows
    walk = flows.start_session(app="shop")
    folder = flows.pictures(walk.id)
    folder.mkdir(parents=True)
    (folder / "1.png").write_bytes(PICTURE)
    (folder / "page.png").write_bytes(b"<script>alert(1)</script>")
    (folder / "link.png").symlink_to(gateway.folder / "token")
    for name in ("1.png", "page.png", "link.png", "../../token", "gone.png"):
        flows.record(walk.id, tool="ui_screenshot", screenshot=str(folder / name))
    return walk.id


def test_a_screenshot_is_a_picture_of_its_session_and_nothing_else(gateway, session):
    def ask(position, token=None):
        given = {"session_id": session, "position": position}
        return gateway.get("/v1/flows/screenshot", token, params=given)

    answer = ask(1)
    assert (answer.content, answer.headers["content-type"]) == (PICTURE, "image/png")
    assert answer.headers["content-security-policy"] == "sandbox; default-src 'none'"
    assert answer.headers["x-content-type-options"] == "nosniff"
    for position in (2, 3, 4, 5, 6):
        refused = ask(position)
        assert is_problem(refused, 404) and gateway.owner not in refused.text
    assert is_problem(ask(1, gateway.token("write")), 403)
