"""Every process collects the same tests: the workers of a run compare their lists, and stop where they differ."""

import os
import subprocess
import sys
import time


def test_another_process_a_second_later_collects_the_same_tests(request, tmp_path):
    time.sleep(1.1)  # a time of day in an id is another one now
    chosen = ["-m", request.config.option.markexpr, *request.config.args]
    listing = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-p", "no:cacheprovider", *chosen],
        cwd=request.config.invocation_params.dir,
        env={**os.environ, "PYTHONHASHSEED": "2", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
    ).stdout
    ids = [line for line in listing.splitlines() if "::" in line]
    assert ids == [item.nodeid for item in request.session.items]
