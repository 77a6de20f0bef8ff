"""Servers on this machine: started when they are needed, listed, called, stopped, and left alone while they fail."""

import json
import sys
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from chaos.harness import MARK, Scene, handles, key, scene
from tests.tools.patience import LIMIT, begun
from tests.tools.servers.kit import FILES
from tests.waiting import PATIENCE, eventually

from athand.errors import InvalidInput, NotFound, Unavailable
from athand.tools.gateway import Gateway, Listing, ServerState
from athand.tools.gateway.timing import LONGEST, Backoff, StartLimiter
from athand.tools.model import Launch


@pytest.fixture
def ours() -> Iterator[Scene]:
    with scene() as made:
        yield made
    assert eventually(lambda: made.left() == [])


@pytest.fixture(scope="module")
def shared() -> Iterator[Scene]:
    """A scene with a server that takes long to start."""
    with scene() as made:
        made.gateway.connect(made.script("modern"))
        assert made.gateway.wait(PATIENCE)
        yield made


@pytest.fixture
def long_rests(monkeypatch: pytest.MonkeyPatch) -> float:
    """The seconds a server is left alone after its first failure: so many that no machine reaches them by itself."""
    monkeypatch.setattr("athand.tools.gateway.timing.FIRST", LONGEST)
    return LONGEST * 1.1


modern = key("modern")


def test_a_new_server_is_listed_as_it_came_over_the_wire(shared: Scene) -> None:
    ours, listing = shared, shared.listings[modern][0]
    assert (listing.protocol, listing.instructions, listing.server_version) == ("2026-07-28", "Adds numbers.", "1.2.3")
    add = next(tool for tool in listing.tools if tool["name"] == "add")
    assert add["description"] == "Add two numbers."
    assert set(add["inputSchema"]["properties"]) == {"a", "b"}
    assert "outputSchema" in add
    assert ours.gateway.states()[modern] == ServerState("connected", protocol="2026-07-28")
    assert ours.gateway.call(modern, "add", {"a": 1, "b": 2})["structuredContent"] == {"result": 3}


def test_an_older_server_is_spoken_to_in_its_own_dialect(ours: Scene) -> None:
    older = ours.chaos("Server")
    assert ours.text(older, word="käse") == '{"word": "k\\u00e4se"}'
    assert ours.listings[older][0].protocol == "2025-06-18"


def test_a_server_that_dies_of_a_question_is_asked_in_another_way(ours: Scene) -> None:
    assert ours.text(ours.chaos("DiesOfQuestions"), a=1) == '{"a": 1}'


def test_a_tool_that_fails_answers_so(shared: Scene) -> None:
    answer = shared.gateway.call(modern, "fail", {})
    assert answer["isError"] is True
    assert "fail" in answer["content"][0]["text"]


def test_listings_are_handed_over_outside_of_the_loop(ours: Scene) -> None:
    ours.gateway.refresh(ours.chaos("Server"))
    assert all(name.startswith("athand-listing") for name in ours.threads)


def test_nothing_is_called_that_nobody_could_look_at(caplog: pytest.LogCaptureFixture) -> None:
    is_full = True

    def take(server: object, listing: Listing) -> None:
        if is_full:
            raise Unavailable("the store is full")

    launch = Scene()
    server = launch.chaos("Server")
    gateway = Gateway(lambda _: launch.launches[server], take, tokens=None)
    try:
        for ask in (lambda: gateway.call(server, "echo", {}), lambda: gateway.refresh(server)):
            with pytest.raises(Unavailable, match="the store is full"):
                ask()
        is_full = False
        assert gateway.call(server, "echo", {})["content"]
    finally:
        gateway.close()
        launch.gateway.close()
    assert "the store is full" in caplog.text


def test_a_process_gets_its_own_environment_and_nothing_else(ours: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OUR_SECRET", "hush")
    args = ("-I", "-S", str(Path(__file__).parent / "chaos" / "server.py"), "TellsEnvironment")
    seen = []
    for name, value in (("one", "1"), ("two", "2")):
        env = {MARK: ours.mark, "LC_ALL": "C.UTF-8", name.upper(): value}
        server = ours.add(Launch(name, "stdio", sys.executable, args, env))
        seen.append(json.loads(ours.text(server)))
    assert seen[0] == {MARK: ours.mark, "LC_ALL": "C.UTF-8", "ONE": "1"}
    assert seen[1] == {MARK: ours.mark, "LC_ALL": "C.UTF-8", "TWO": "2"}


def test_letters_of_all_kinds_reach_a_process(ours: Scene) -> None:
    words = ("-I", "-c", "import os, sys; sys.exit(ascii([sys.argv[1], os.environ['NAME']]))", "käse \u2603")
    server = ours.add(Launch("letters", "stdio", sys.executable, words, {MARK: ours.mark, "NAME": "žluť\udcff"}))
    with pytest.raises(Unavailable) as caught:
        ours.text(server)
    assert ascii(["käse \u2603", "žluť\udcff"]) in caught.value.quote


def test_arguments_are_no_shell(ours: Scene, tmp_path: Path) -> None:
    words = ("-I", "-c", "import sys; sys.exit(repr(sys.argv))", f"; touch {tmp_path}/made", "$(id)", "*")
    server = ours.add(Launch("literal", "stdio", sys.executable, words, {MARK: ours.mark}, cwd=tmp_path))
    with pytest.raises(Unavailable) as caught:
        ours.text(server)
    assert "$(id)" in caught.value.quote
    assert list(tmp_path.iterdir()) == []


def test_a_command_is_found_by_the_path_of_the_server(ours: Scene, tmp_path: Path) -> None:
    (tmp_path / "my-server").write_text(f"#!/bin/sh\nexec {sys.executable} -I -S {_SERVER} Server\n")
    (tmp_path / "my-server").chmod(0o755)
    found = ours.add(Launch("found", "stdio", "my-server", env={"PATH": str(tmp_path), MARK: ours.mark}))
    assert ours.text(found, a=1) == '{"a": 1}'
    missing = ours.add(Launch("missing", "stdio", "my-server", env={"PATH": "/nonexistent"}))
    with pytest.raises(Unavailable, match="The server missing does not work: command not found: my-server"):
        ours.text(missing)
    nowhere = ours.add(Launch("nowhere", "stdio", sys.executable, cwd=tmp_path / "no"))
    with pytest.raises(Unavailable) as caught:
        ours.text(nowhere)
    assert "its folder cannot be used" in caught.value.quote


_SERVER = Path(__file__).parent / "chaos" / "server.py"


def test_the_last_words_of_a_server_are_told_without_its_secrets(ours: Scene) -> None:
    with pytest.raises(Unavailable) as caught:
        ours.text(ours.chaos("CrashesAtStart"))
    assert "no configuration found" in caught.value.quote
    assert "no configuration found" not in str(caught.value)  # agents read the message, nobody has approved its words
    assert "hunter2" not in f"{caught.value} {caught.value.quote}"


def test_what_a_configuration_lacks_is_told_to_the_caller(ours: Scene) -> None:
    with pytest.raises(NotFound, match="There is no server ghost"):
        ours.text(key("ghost"))
    state = ours.gateway.states()[key("ghost")]
    assert (state.state, state.reason) == ("failing", "There is no server ghost")


def test_a_call_that_takes_too_long_is_called_off(ours: Scene, tmp_path: Path) -> None:
    args = ("-I", "-S", str(_SERVER), "NotesCancellation")
    notes = tmp_path / "notes"
    env = {MARK: f"{ours.mark}.slow.", "NOTES": str(notes)}
    slow = ours.add(Launch("slow", "stdio", sys.executable, args, env, call_seconds=500.0))
    ours.gateway.refresh(slow)
    call = begun(lambda: ours.text(slow))
    assert eventually(lambda: ours.is_silent(slow))
    ours.clock.advance(400)
    assert not call.done()
    ours.clock.advance(100)
    with pytest.raises(Unavailable, match="The server slow: echo gave no answer within 500 s"):
        call.result(PATIENCE)
    assert eventually(lambda: notes.exists() and "notifications/cancelled" in notes.read_text())


def test_the_time_of_a_call_holds_for_the_start_too(ours: Scene) -> None:
    server = ours.chaos("HangsAtInitialize")
    call = begun(lambda: ours.text(server, seconds=LIMIT - 100))
    assert eventually(lambda: ours.is_silent(server))
    ours.clock.advance(LIMIT - 100)
    with pytest.raises(Unavailable, match="not ready in time"):
        call.result(PATIENCE)


def test_a_server_that_fails_is_left_alone_for_a_while(ours: Scene, long_rests: float) -> None:
    broken = ours.chaos("CrashesAtStart")
    with pytest.raises(Unavailable):
        ours.text(broken)
    state = ours.gateway.states()[broken]
    assert state.state == "failing"
    assert state.retry_at is not None
    ours.launches[broken] = ours.launches[ours.chaos("Server")]
    with pytest.raises(Unavailable, match=r"The next try is at .* athand tools refresh CrashesAtStart"):
        ours.text(broken)
    ours.clock.advance(long_rests)
    assert ours.text(broken, a=1) == '{"a": 1}'


def test_a_server_that_was_asked_for_is_tried_again_by_itself(ours: Scene, long_rests: float) -> None:
    broken = ours.chaos("CrashesAtStart")
    ours.gateway.connect(broken)
    assert ours.gateway.wait(PATIENCE)
    assert ours.gateway.states()[broken].state == "failing"
    ours.launches[broken] = ours.launches[ours.chaos("Server")]
    ours.clock.advance(long_rests)
    assert eventually(lambda: ours.gateway.states()[broken].state == "connected")


def test_asking_for_a_server_that_failed_in_a_call_has_it_tried_again(ours: Scene, long_rests: float) -> None:
    broken = ours.chaos("CrashesAtStart")
    with pytest.raises(Unavailable):
        ours.text(broken)
    ours.launches[broken] = ours.launches[ours.chaos("Server")]
    ours.gateway.connect(broken)
    ours.clock.advance(long_rests)
    assert eventually(lambda: ours.gateway.states()[broken].state == "connected")


def test_a_refresh_does_not_wait_for_the_next_try(ours: Scene) -> None:
    broken = ours.chaos("CrashesAtStart")
    for _ in range(3):
        with pytest.raises(Unavailable, match="exit code 1"):
            ours.gateway.refresh(broken)
    ours.launches[broken] = ours.launches[ours.chaos("Server")]
    ours.gateway.refresh(broken)
    assert ours.names(broken) == ["echo"]


def test_a_server_that_breaks_at_every_call_is_left_alone(ours: Scene, long_rests: float) -> None:
    broken = ours.chaos("CrashesAtCall")
    for _ in range(3):
        with pytest.raises(Unavailable, match="lost while it ran echo: it stopped with exit code 7"):
            ours.text(broken)
    assert ours.gateway.states()[broken].state == "failing"
    with pytest.raises(Unavailable, match=r"does not work.*The next try is at"):
        ours.text(broken)


def test_each_failure_is_followed_by_a_longer_rest() -> None:
    backoff, waits = Backoff(lambda: 0.5), []
    for _ in range(12):
        backoff.record_failed_start(100.0)
        waits.append((backoff.until or 0.0) - 100.0)
    assert waits[:4] == pytest.approx([1.0, 2.0, 4.0, 8.0])
    assert waits[-1] == pytest.approx(LONGEST)
    backoff.record_start()
    assert not backoff.is_open(100.0)


def test_an_unused_server_is_stopped_and_started_again_for_the_next_call() -> None:
    with scene(idle_seconds=LIMIT) as ours:
        server = ours.chaos("Server")
        assert ours.text(server, a=1) == '{"a": 1}'
        ours.clock.advance(LIMIT - 100)
        assert ours.text(server, a=2) == '{"a": 2}'
        ours.clock.advance(LIMIT - 100)
        assert ours.gateway.states()[server].state == "connected"
        ours.clock.advance(100)
        assert ours.gateway.states()[server].state == "idle"
        assert eventually(lambda: ours.left() == [])
        assert ours.text(server, a=3) == '{"a": 3}'


def test_a_server_is_not_stopped_while_it_works() -> None:
    with scene(idle_seconds=LIMIT / 2) as ours:
        slow = ours.chaos("HangsAtCall")
        call = begun(lambda: ours.text(slow))
        assert eventually(lambda: ours.is_silent(slow))
        ours.clock.advance(LIMIT - 100)
        assert ours.gateway.states()[slow].state == "connected"
        assert ours.left()
        ours.clock.advance(100)
        with pytest.raises(Unavailable, match="gave no answer within 600 s"):
            call.result(PATIENCE)


def test_changes_of_the_tools_are_noticed(shared: Scene) -> None:
    assert shared.text(modern, "learn") == "learned"
    assert eventually(lambda: "multiply" in shared.names(modern))
    assert shared.text(modern, "multiply", a=3, b=4) == "12"


def test_a_storm_of_changes_is_taken_calmly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("athand.tools.gateway.session._DEBOUNCE", LIMIT)
    with scene(idle_seconds=1e9) as ours:
        restless = ours.chaos("ChangesAllTheTime")
        for _ in range(3):
            ours.gateway.refresh(restless)  # and after each list the server says fifty times that it has changed
        assert len(ours.listings[restless]) == 3
        assert eventually(lambda: ours.clock.advance(LIMIT) or len(ours.listings[restless]) > 3)
        assert ours.text(restless, a=1) == '{"a": 1}'


def test_wishes_of_a_server_are_declined(ours: Scene) -> None:
    assert ours.text(ours.chaos("AsksBack")) == "error,error,error,result"


def test_calls_to_one_server_run_at_the_same_time(shared: Scene) -> None:
    answers: list[str] = []
    threads = [
        threading.Thread(target=lambda n=n: answers.append(shared.text(modern, "add", a=n, b=0))) for n in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(int, answers)) == list(range(20))


def test_a_server_that_is_forgotten_before_its_turn_keeps_nobody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("athand.tools.gateway.timing.StartLimiter", partial(StartLimiter, patience=LIMIT))
    with scene(at_once=1) as ours:
        ours.gateway.connect(ours.chaos("HangsAtStart"))
        second = ours.chaos("Server")
        ours.gateway.connect(second)
        call = begun(lambda: ours.text(second))
        assert eventually(lambda: second in ours.gateway.states())
        ours.gateway.forget(second)
        with pytest.raises(Unavailable, match="it was stopped"):
            call.result(PATIENCE)


def test_a_server_that_is_slow_to_start_gives_its_place_to_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("athand.tools.gateway.timing.StartLimiter", partial(StartLimiter, patience=LIMIT / 2))
    with scene(at_once=1) as ours:
        first, second = ours.chaos("HangsAtStart"), ours.chaos("Server")
        for server in (first, second):
            ours.gateway.connect(server)
        assert eventually(lambda: ours.is_silent(first))
        ours.clock.advance(LIMIT / 2 - 100)
        assert ours.gateway.states()[second].state == "connecting"
        ours.clock.advance(100)
        assert eventually(lambda: ours.gateway.states()[second].state == "connected")
        assert ours.gateway.states()[first].state == "connecting"


def test_a_server_that_was_forgotten_is_stopped(ours: Scene) -> None:
    server = ours.chaos("HasChildren")
    ours.gateway.refresh(server)
    assert len(ours.left()) == 2
    ours.gateway.forget(server)
    assert ours.left() == []
    assert ours.gateway.states() == {}


def test_a_closed_gateway_leaves_no_thread_and_no_file_open() -> None:
    before, files = threading.active_count(), handles()
    for _ in range(3):
        with scene() as ours:
            ours.gateway.refresh(ours.chaos("Server"))
    ours.gateway.close()
    assert eventually(lambda: threading.active_count() <= before)
    assert eventually(lambda: handles() <= files)
    with pytest.raises(Unavailable, match="closed"):
        ours.text(key("Server"))


def test_closing_ends_calls_that_wait() -> None:
    with scene() as ours:
        slow = ours.chaos("HangsAtCall")
        call = begun(lambda: ours.text(slow))
        assert eventually(lambda: ours.is_silent(slow))
        ours.gateway.close()
        with pytest.raises(Unavailable):
            call.result(PATIENCE)


def test_a_gateway_nobody_used_is_closed_at_once() -> None:
    gateway = Scene().gateway
    assert gateway.states() == {}
    gateway.forget(key("nobody"))
    gateway.close()
    gateway.close()


def test_wrong_arguments_are_the_fault_of_the_caller(ours: Scene) -> None:
    with pytest.raises(InvalidInput, match="refused to run echo: bad arguments"):
        ours.text(ours.chaos("RefusesArguments"))


def test_names_that_are_listed_twice_are_one_line_of_the_log(ours: Scene, caplog: pytest.LogCaptureFixture) -> None:
    server = ours.chaos("DuplicateNames")
    for _ in range(5):
        ours.gateway.refresh(server)
    assert [record.getMessage() for record in caplog.records if "twice" in record.getMessage()] == [
        "DuplicateNames lists twice twice, maybe others too; the first of each counts."
    ]


def test_one_malformed_tool_is_all_that_is_lost(tools, live) -> None:
    broken = ({"name": "broken", "inputSchema": "none"}, {"description": "no name"}, "a text", {"name": 7})
    broken += ({"name": "long" * 300, "inputSchema": {}}, {"name": " ", "inputSchema": {"type": "object"}})
    live(listed=[*FILES, *broken])
    assert {tool.name for tool in tools.list()} == {tool["name"] for tool in FILES}
    (server,) = tools.servers()
    assert server.state == "connected" and "broken (inputSchema: " in server.reason
    assert server.reason.count("A tool needs a name of 1 to 1000 characters") == 2
    (told,) = tools.servers(by_owner=False)
    assert "left out" in told.reason and "broken" not in told.reason
