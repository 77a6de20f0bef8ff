"""Runs things in a Python process of their own, so that what is measured there is its own memory and start."""

import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.data import ROOT

ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}


def call(function: str, *arguments: Any, one_core: bool = False) -> Any:
    """What `module:function` returns; arguments and answer travel as JSON."""
    return run("benchmarks.fresh", function, json.dumps(arguments), one_core=one_core)


def run(module: str, *arguments: str, one_core: bool = False) -> Any:
    """The JSON that a program prints as its last line."""
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=ROOT,
        env=os.environ | (ONE_THREAD if one_core else {}),
        preexec_fn=_keep_to_one_core if one_core else None,
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def _keep_to_one_core() -> None:
    os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])


def peak_megabytes() -> float:
    """The most memory this process had, mapped files included; `ru_maxrss` would count its parent's as well."""
    status = Path("/proc/self/status").read_text("ascii")
    return int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0]) * 1024 / 1e6


if __name__ == "__main__":
    module, function = sys.argv[1].split(":")
    print(json.dumps(getattr(importlib.import_module(module), function)(*json.loads(sys.argv[2]))))
