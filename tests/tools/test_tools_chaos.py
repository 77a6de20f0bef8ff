"""Many bad servers at the same time: nobody else notices, every limit holds, and nothing is left of them."""

import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from chaos.harness import Scene, eventually, handles, keepers_of, marked, scene

from recollect.errors import Unavailable

CONNECT, CALL = 4.0, 2.0
SLACK = 20.0  # seconds for a busy machine

# Fault -> what the reason says; nothing for servers that work all the same.
FAULTS = {
    "HangsAtStart": "not ready within 4 s",
    "HangsAtInitialize": "not ready within 4 s",
    "HangsAtList": "not ready within 4 s",
    "OneBytePerSecond": "not ready within 4 s",
    "WrongIds": "not ready within 4 s",
    "HangsAtCall": "echo gave no answer within 2 s",
    "CrashesAtStart": "exit code 1.*no configuration found",
    "CrashesAtList": "exit code 139",
    "CrashesAtCall": "lost while it ran echo.*exit code 7.*out of memory",
    "OnlyNoise": "something else than messages",
    "TooLongLine": "a line longer than 16 MB",
    "EndlessPages": "more than 200 pages",
    "WrongTypes": "not the protocol",
    "WrongShape": "not the protocol",
    "ClosesStdout": "closed the connection",
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
    "FloodsNotices": "^$|not ready within 4 s|gave no answer within 2 s",  # it may be too busy with its own flood
    "DiesOfQuestions": "",
}


def _limit(fault: str) -> float:
    """Those that hang must be given up in time; the others must not fail because this machine is busy."""
    return CONNECT if "within 4 s" in FAULTS[fault] else 30.0


def _outcome(ours: Scene, fault: str) -> tuple[str, float]:
    began = time.monotonic()
    try:
        ours.gateway.call(("here", fault), "echo", {})
        return "", time.monotonic() - began
    except Unavailable as error:
        return str(error), time.monotonic() - began


def test_bad_servers_keep_their_limits_and_do_not_disturb_the_good_ones() -> None:
    with scene(at_once=40) as ours:
        good = (ours.script("modern", connect_seconds=60.0), ours.chaos("Server", connect_seconds=60.0))
        for server in good:
            ours.gateway.refresh(server)
        for fault in FAULTS:
            ours.gateway.connect(ours.chaos(fault, connect_seconds=_limit(fault), call_seconds=CALL))
        with ThreadPoolExecutor(len(FAULTS)) as threads:
            asked = {fault: threads.submit(_outcome, ours, fault) for fault in FAULTS}
            slowest = _slowest_good_call(ours, lambda: all(each.done() for each in asked.values()))
            outcomes = {fault: future.result() for fault, future in asked.items()}

        for fault, reason in FAULTS.items():
            said, took = outcomes[fault]
            assert re.search(reason, said) if reason else not said, (fault, said)
            assert took < (_limit(fault) + CALL) * 1.1 + SLACK, (fault, took)
            if "within 4 s" in said:
                assert took < CONNECT * 1.1 + SLACK, (fault, took)
        assert slowest < SLACK
        assert ours.names(("here", "DuplicateNames")) == ["twice"]
        assert len(ours.names(("here", "ManyTools"))) == 5000
        assert len(ours.left()) > len(FAULTS) / 2

        began = time.monotonic()
        ours.gateway.close()
        assert time.monotonic() - began < 8.0 + SLACK
        assert ours.left() == []


def _slowest_good_call(ours: Scene, is_done: object) -> float:
    slowest = 0.0
    while not is_done():  # type: ignore[operator]
        began = time.monotonic()
        assert ours.text(("here", "modern"), "add", a=2, b=3) == "5"
        assert ours.text(("here", "Server"), a=1) == '{"a": 1}'
        slowest = max(slowest, time.monotonic() - began)
        time.sleep(0.05)
    return slowest


def test_twenty_servers_that_never_exit_are_stopped_at_the_same_time() -> None:
    before = handles()
    with scene(at_once=20) as ours:
        for number in range(20):
            ours.gateway.connect(ours.chaos("NeverExits", f"stubborn-{number}"))
        assert ours.gateway.wait(30)
        assert len(ours.left()) == 20
        began = time.monotonic()
        ours.gateway.close()
        assert time.monotonic() - began < 8.0 + SLACK
        assert ours.left() == []
    assert handles() <= before


_HOST = """
import sys
from pathlib import Path
sys.path.insert(0, {folder!r})
import pytest
from chaos.harness import Scene
ours = Scene()
ours.mark = {mark!r}
for fault in {faults}:
    ours.gateway.connect(ours.chaos(fault, connect_seconds=60.0))
for fault in {faults}:
    ours.gateway.refresh(("here", fault))
ours.gateway.connect(ours.chaos("HangsAtInitialize", connect_seconds=60.0))
print("ready", flush=True)
{ending}
"""


def _host(mark: str, faults: tuple[str, ...], ending: str) -> "subprocess.Popen[bytes]":
    code = _HOST.format(folder=str(Path(__file__).parent), mark=mark, faults=faults, ending=ending)
    return subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)


@pytest.mark.parametrize("times", [1, pytest.param(50, marks=pytest.mark.soak)])
def test_servers_die_with_a_gateway_that_is_killed(times: int) -> None:
    faults = ("Server", "NeverExits", "LeavesDaemon", "HasChildren", "FloodsStderr")
    for number in range(times):
        mark = f"killed-host-{os.getpid()}-{number}"
        with _host(mark, faults, "sys.stdin.read()") as host:
            assert host.stdout is not None
            assert host.stdout.readline() == b"ready\n"
            assert eventually(lambda host=host: len(keepers_of(host.pid)) == 6)
            keepers = keepers_of(host.pid)
            assert len(marked(mark)) >= 8
            host.send_signal(signal.SIGKILL)
        assert eventually(lambda mark=mark: marked(mark) == [])
        assert eventually(lambda keepers=keepers: not any(Path(f"/proc/{each}").exists() for each in keepers))


def test_servers_die_with_a_gateway_that_nobody_closed() -> None:
    mark = f"careless-host-{os.getpid()}"
    with _host(mark, ("Server", "HasChildren"), "") as host:
        assert host.stdout is not None
        assert host.stdout.readline() == b"ready\n"
        assert host.wait(20) == 0
    assert eventually(lambda: marked(mark) == [])


def test_a_server_dies_with_its_keeper() -> None:
    with scene() as ours:
        stubborn = ours.chaos("NeverExits")
        ours.gateway.refresh(stubborn)
        (keeper,) = keepers_of(os.getpid())
        subprocess.run(["kill", "-9", str(keeper)], check=True)
        assert eventually(lambda: ours.left() == [] and ours.gateway.states()[stubborn].state == "idle")
        assert ours.text(stubborn, a=1) == '{"a": 1}'
