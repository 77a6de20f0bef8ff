"""Calls a function in a Python process of its own, so that what is measured there is its own memory and start."""

import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.data import ROOT

ONE_CORE = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}


def call(function: str, *arguments: Any, one_core: bool = False) -> Any:
    """What `module:function` returns; arguments and answer travel as JSON."""
    command = [sys.executable, "-m", "benchmarks.fresh", function, json.dumps(arguments), *(["one"] * one_core)]
    environment = os.environ | (ONE_CORE if one_core else {})
    done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, check=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def peak_megabytes() -> float:
    """The most memory this process had, mapped files included; `ru_maxrss` would count its parent's as well."""
    status = Path("/proc/self/status").read_text("ascii")
    return int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0]) * 1024 / 1e6


def _main() -> None:
    name, arguments, *one_core = sys.argv[1:]
    if one_core and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
    module, function = name.split(":")
    print(json.dumps(getattr(importlib.import_module(module), function)(*json.loads(arguments))))


if __name__ == "__main__":
    _main()
