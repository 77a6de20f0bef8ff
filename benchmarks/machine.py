"""Where and with what a figure was measured; nothing in it names a path or a person."""

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import apsw

from benchmarks.data import ROOT

LIBRARIES = ("numpy", "tokenizers", "apsw", "PyStemmer", "rapidfuzz", "onnxruntime", "bm25s", "lancedb", "wordllama")


def describe() -> dict[str, object]:
    """Date, commit, processor, memory and versions."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "commit": _commit(),
        "cpu": _first("/proc/cpuinfo", "model name") or platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "sqlite": apsw.sqlite_lib_version(),
        "libraries": {name: found for name in LIBRARIES if (found := _version(name))},
    }


def _commit() -> str | None:
    """The commit, with a plus where the tree has changes; None where there is no git."""
    try:
        found = subprocess.run(
            ["git", "describe", "--always", "--abbrev=10", "--dirty=+"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return found.stdout.strip()


def _first(file: str, key: str) -> str | None:
    path = Path(file)
    lines = path.read_text("utf-8").splitlines() if path.is_file() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(key)), None)


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
