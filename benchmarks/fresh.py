"""Runs things in a Python process of their own, so that what is measured there is its own memory and start."""

import importlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from benchmarks.data import ROOT

ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}


def call(function: str, *arguments: Any, one_core: bool = False) -> Any:
    """What `module:function` returns; arguments and answer travel as JSON."""
    return run("benchmarks.fresh", function, json.dumps(arguments), one_core=one_core)


def run(module: str, *arguments: str, one_core: bool = False) -> Any:
    """The JSON that a program prints as its last line."""
    command = [sys.executable, "-m", module, *arguments]
    environment = os.environ | (ONE_THREAD if one_core else {})
    with _on_one_core() if one_core else nullcontext():
        done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, check=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


@contextmanager
def _on_one_core() -> Iterator[None]:
    """Keep this thread, and so the processes it starts, on one core."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, [min(before)])
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def peak_megabytes() -> float:
    """The most memory this process had, mapped files included; `ru_maxrss` would count its parent's as well."""
    status = Path("/proc/self/status").read_text("ascii")
    return int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0]) * 1024 / 1e6


if __name__ == "__main__":
    module, function = sys.argv[1].split(":")
    print(json.dumps(getattr(importlib.import_module(module), function)(*json.loads(sys.argv[2]))))
