"""Many bad servers at the same time: nobody else notices, every limit holds, and nothing is left of them."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

import pytest
from chaos.harness import Scene, handles, key, marked, scene, supervisors_of
from tests.tools.patience import begun
from tests.waiting import PATIENCE, eventually

from athand.errors import Unavailable

CALL, CONNECT = 500.0, 900.0  # seconds, more than any machine needs

# Fault -> what the reason says; nothing for servers that work all the same.
FAULTS = {
    "CrashesAtStart": "exit code 1.*no configuration found",
    "CrashesAtList": "exit code 139",
    "CrashesAtCall": "lost while it ran echo.*exit code 7.*out of memory",
    "OnlyNoise": "other lines than messages",
    "TooLongLine": "a line longer than 16 MB",
    "EndlessPages": "more than 200 pages",
    "WrongTypes": "not valid MCP",
    "WrongShape": "not valid MCP",
    "NoisyAtStart": "",
    "NoisyBetween": "",
    "InvalidUtf8": "",
    "LongLine": "",
    "ManyTools": "",
    "DuplicateNames": "",
    "ChangesAllTheTime": "",
    "NeverExits": "",
    "LeavesDaemon": "",
    "HasChildren": "",
    "FloodsStderr": "",
    "FloodsNotices": "",
    "DiesOfQuestions": "",
}
# Those that say nothing, or not what they are asked: they are given up when their time is over, and not before.
AT_A_CALL = {"ClosesStdout": "closed the connection", "HangsAtCall": "echo gave no answer within 500 s"}
AT_A_START = dict.fromkeys(
    ("HangsAtStart", "HangsAtInitialize", "HangsAtList", "OneBytePerSecond", "WrongIds"), "not ready within 900 s"
)
ALL = FAULTS | AT_A_CALL | AT_A_START


def _said(ours: Scene, fault: str) -> str:
    try:
        ours.gateway.call(key(fault), "echo", {})
    except Unavailable as error:
        return f"{error} {error.quote}"
    return ""


class _Calls:
    """A call to every bad server, and calls to good ones for as long as anything happens."""

    def __init__(self, ours: Scene) -> None:
        self.ours = ours
        self.good = (ours.script("modern"), ours.chaos("Server"))
        for server in self.good:
            ours.gateway.refresh(server)
        for fault in ALL:
            ours.gateway.connect(ours.chaos(fault, connect_seconds=CONNECT, call_seconds=CALL))
        self.asked: dict[str, Future[str]] = {fault: begun(lambda fault=fault: _said(ours, fault)) for fault in ALL}

    def until(self, is_done: Callable[[], bool]) -> None:
        """Good servers answer, whatever the bad ones do."""
        modern, older = self.good

        def look() -> bool:
            assert self.ours.text(modern, "add", a=2, b=3) == "5"
            assert self.ours.text(older, a=1) == '{"a": 1}'
            return is_done()

        assert eventually(look)

    def are_silent(self, faults: dict[str, str]) -> bool:
        return all(self.ours.is_silent(key(fault)) for fault in faults)

    def are_done(self, faults: dict[str, str]) -> bool:
        return all(self.asked[fault].done() for fault in faults)

    def check(self, faults: dict[str, str]) -> None:
        for fault, reason in faults.items():
            said = self.asked[fault].result(PATIENCE)
            assert re.search(reason, said) if reason else not said, (fault, said)


def test_bad_servers_keep_their_limits_and_do_not_disturb_the_good_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("athand.tools.gateway.timing.FIRST", CALL / 2)
    with scene(at_once=40, idle_seconds=10 * CONNECT) as ours:
        calls, clock = _Calls(ours), ours.clock
        calls.until(lambda: calls.are_done(FAULTS) and calls.are_silent(AT_A_CALL | AT_A_START))
        calls.check(FAULTS)
        assert not any(calls.asked[fault].done() for fault in AT_A_CALL | AT_A_START)
        clock.advance(CALL)
        calls.until(lambda: clock.advance(1) or calls.are_done(AT_A_CALL))  # some wait a while to learn an exit code
        calls.check(AT_A_CALL)
        assert not any(calls.asked[fault].done() for fault in AT_A_START)
        clock.advance(CONNECT)
        calls.until(lambda: calls.are_done(AT_A_START))
        calls.check(AT_A_START)
        assert ours.names(key("DuplicateNames")) == ["twice"]
        assert len(ours.names(key("ManyTools"))) == 5000
        assert len(ours.left()) > len(ALL) / 2
        monkeypatch.setattr("athand.tools.gateway.stdio._EXIT_WAIT", 0)  # one that closed its output never ends
        clock.advance(PATIENCE)
        ours.gateway.close()
        assert ours.left() == []


@pytest.mark.parametrize("many", [5, pytest.param(20, marks=pytest.mark.slow)])
def test_servers_that_never_exit_are_stopped_at_the_same_time(many: int) -> None:
    before = handles()
    with scene(at_once=many) as ours:
        servers = [ours.chaos("NeverExits", f"stubborn-{number}") for number in range(many)]
        for server in servers:
            ours.gateway.connect(server)
        assert ours.gateway.wait(PATIENCE)
        assert len(ours.left()) == many
        supervisors = supervisors_of(os.getpid())
        _send(signal.SIGSTOP, supervisors)  # so that no server can be gone before all were told
        closing = begun(ours.gateway.close)
        assert eventually(lambda: all(map(ours.is_silent, servers)))
        _send(signal.SIGCONT, supervisors)
        closing.result(PATIENCE)
        assert ours.left() == []
    assert handles() <= before


def _send(number: int, processes: list[int]) -> None:
    for process in processes:
        os.kill(process, number)


_HOST = """
import sys
from pathlib import Path
sys.path[:0] = {folders!r}
from chaos.harness import Scene
ours = Scene()
ours.mark = {mark!r}
for fault in {faults}:
    ours.gateway.connect(ours.chaos(fault))
for fault in {faults}:
    ours.gateway.refresh(("here", fault))
ours.gateway.connect(ours.chaos("HangsAtInitialize"))
print("ready", flush=True)
{ending}
"""


def _host(mark: str, faults: tuple[str, ...], ending: str) -> "subprocess.Popen[bytes]":
    here = Path(__file__).parent
    code = _HOST.format(folders=[str(here), str(here.parents[1])], mark=mark, faults=faults, ending=ending)
    return subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)


@pytest.mark.parametrize("times", [1, pytest.param(50, marks=pytest.mark.soak)])
def test_servers_die_with_a_gateway_that_is_killed(times: int) -> None:
    faults = ("Server", "NeverExits", "LeavesDaemon", "HasChildren", "FloodsStderr")
    for number in range(times):
        mark = f"killed-host-{os.getpid()}-{number}"
        with _host(mark, faults, "sys.stdin.read()") as host:
            assert host.stdout is not None
            assert host.stdout.readline() == b"ready\n"
            assert eventually(lambda host=host: len(supervisors_of(host.pid)) == 6)
            supervisors = supervisors_of(host.pid)
            assert eventually(lambda mark=mark: len(marked(mark)) >= 8)
            host.send_signal(signal.SIGKILL)
        assert eventually(lambda mark=mark: marked(mark) == [])
        assert eventually(
            lambda supervisors=supervisors: not any(Path(f"/proc/{each}").exists() for each in supervisors)
        )


def test_servers_die_with_a_gateway_that_nobody_closed() -> None:
    mark = f"careless-host-{os.getpid()}"
    with _host(mark, ("Server", "HasChildren"), "") as host:
        assert host.stdout is not None
        assert host.stdout.readline() == b"ready\n"
        assert host.wait(PATIENCE) == 0
    assert eventually(lambda: marked(mark) == [])


def test_a_server_dies_with_its_supervisor() -> None:
    with scene() as ours:
        stubborn = ours.chaos("NeverExits")
        ours.gateway.refresh(stubborn)
        (supervisor,) = supervisors_of(os.getpid())
        subprocess.run(["kill", "-9", str(supervisor)], check=True)
        assert eventually(lambda: ours.left() == [] and ours.gateway.states()[stubborn].state == "idle")
        assert ours.text(stubborn, a=1) == '{"a": 1}'
