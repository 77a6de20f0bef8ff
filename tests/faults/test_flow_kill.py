"""A recorder is killed again and again; no step it acknowledged is ever lost."""

import os
import shutil
import signal
import time
from itertools import count
from random import Random

import pytest
from stores import die_at_step, fork

from athand import Athand
from athand.flows import Observation


@pytest.mark.parametrize(
    "cycles", [5, pytest.param(20, marks=pytest.mark.slow), pytest.param(500, marks=pytest.mark.soak)]
)
def test_every_acknowledged_step_survives_kill_9(tmp_path, seed, cycles):
    random, path, acknowledged = Random(seed), tmp_path / "r.db", []
    with Athand(str(path)) as athand:
        athand.flows.start_session(goal="Send tokens", id="s")
    for cycle in range(cycles):
        acknowledged += _killed_while_recording(path, random, cycle)
        with Athand(str(path)) as athand:
            steps = athand.flows.steps("s")
            assert [step.position for step in steps] == list(range(1, len(steps) + 1))
            assert athand.flows.session("s").steps == len(steps)
            assert set(acknowledged) <= {step.id for step in steps}
            assert len(steps) <= len(acknowledged) + cycle + 1  # at most the one in the making of each cycle
            assert athand.check() == []
    assert len(acknowledged) >= cycles
    with Athand(str(path)) as athand:
        last = f"cycle{cycles - 1}"
        found = {hit.id for hit in athand.flows.search("click go", limit=1000, filters={"screen": last})}
        assert found == {step.id for step in athand.flows.steps("s") if step.screen == last}


def _killed_while_recording(path, random, cycle):
    """The ids of the steps that a recorder acknowledged until it was killed, in the middle of another."""
    ours, theirs = os.pipe()
    recorder = fork(_record_until_killed, path, cycle, theirs)
    os.close(theirs)
    with os.fdopen(ours) as words:
        heard = [line for _, line in zip(range(random.randint(1, 12)), words, strict=False)]
        time.sleep(random.uniform(0, 0.006))
        recorder.kill()
        recorder.join()
        heard += words
    return [line.strip() for line in heard]


def _record_until_killed(path, cycle, pipe):
    with Athand(str(path)) as athand:
        while True:
            os.write(pipe, f"{_click(athand, f'cycle{cycle}').id}\n".encode())


def _click(athand, screen):
    seen = Observation(screen, "http://app.test/", [{"testId": "go"}], [{"ref": "e1", "role": "button", "name": "Go"}])
    return athand.flows.record("s", tool="ui_click", target={"a11yRef": "e1"}, before=seen)


def test_a_step_whose_recorder_is_killed_in_the_middle_is_there_entirely_or_not_at_all(tmp_path):
    with Athand(str(tmp_path / "before.db")) as athand:
        athand.flows.start_session(goal="Send tokens", id="s")
        _click(athand, "home")
    for number in count(1):
        path = shutil.copy(tmp_path / "before.db", tmp_path / f"{number}.db")
        recorder = fork(_record_up_to, path, number)
        recorder.join()
        with Athand(str(path)) as athand:
            steps = athand.flows.steps("s")
            assert len(steps) == athand.flows.session("s").steps == 1 + (recorder.exitcode == 0)
            assert {hit.id for hit in athand.flows.search("click go")} == {step.id for step in steps}
            assert athand.check() == []
        if recorder.exitcode == 0:
            break
        assert recorder.exitcode == -signal.SIGKILL
    assert number > 1


def _record_up_to(path, number):
    die_at_step(number)
    with Athand(str(path)) as athand:
        _click(athand, "home")
