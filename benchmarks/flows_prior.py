"""How long prior knowledge takes over many steps of one app, and how much memory a search of few takes.

Run: python -m benchmarks.flows_prior
"""

import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from athand.evaluation import percentiles
from athand.flows import rows
from athand.flows.model import Observation
from athand.flows.prediction.predict import build_prior_knowledge
from benchmarks.data import CACHE
from benchmarks.flow_walks import SHOP, sessions
from benchmarks.flows_next import keep, new_flows
from benchmarks.tables import table

STEPS = 100_000
FEW = 1_000
MOMENTS = 200
_SEARCH = """
import re, sys
from pathlib import Path
from athand import Athand
def megabytes():  # the most that this program ever had; getrusage would tell that of the one that started it
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) / 1024
with Athand(sys.argv[1]) as athand:
    opened = megabytes()
    for query in ("buy red shoes", "pay for the cart", "cancel an order", "checkout"):
        athand.flows.search(query)
    print(opened, megabytes())
"""


def measure(steps: int = STEPS) -> dict[str, Any]:
    """Moments of new sessions, asked of a file with so many steps; then the memory of a process that searches few."""
    CACHE.mkdir(exist_ok=True)
    with TemporaryDirectory(dir=CACHE) as work:
        return {"prior": _prior(Path(work) / "many.db", steps), "memory_mb": _memory(Path(work) / "few.db")}


def _filled(path: Path, steps: int) -> Any:
    flows = new_flows(str(path))
    made = sessions(SHOP, steps // 5, seed=3)
    total, chosen = 0, []
    for each in made:
        chosen.append(each)
        total += len(each.steps) + 1
        if total >= steps:
            break
    keep(flows, SHOP.name, chosen)
    return flows


def _prior(path: Path, steps: int) -> dict[str, Any]:
    flows = _filled(path, steps)
    with closing(flows.store):
        with flows.store.snapshot() as snapshot:
            newest = snapshot.rows(f"SELECT {rows.SESSION_COLUMNS} FROM flows ORDER BY created_at DESC LIMIT 40")
            walked = [(each, rows.read_steps(snapshot, each)) for each in map(rows.to_session, newest)]
            kept, in_all = snapshot.rows("SELECT sum(steps), count(*) FROM flows")[0]
        times = []
        for session, done in walked:
            for before, after in pairwise(done):
                began = time.perf_counter()
                build_prior_knowledge(flows, session, after.before or Observation(), before)
                times.append(1000 * (time.perf_counter() - began))
        return {"steps": kept, "sessions": in_all, "first_ms": times[0], **percentiles(times[1 : MOMENTS + 1])}


def _memory(path: Path) -> dict[str, float]:
    from athand import Athand

    with closing(_filled(path, FEW).store):
        pass
    with Athand(path) as athand:
        athand.flows.reindex()
    done = subprocess.run([sys.executable, "-c", _SEARCH, str(path)], capture_output=True, text=True, check=True)
    opened, searched = map(float, done.stdout.split())
    return {"opened": opened, "searched": searched}


def tables(results: Mapping[str, Any]) -> Iterator[str]:
    """Times over many steps, memory over few."""
    prior, memory = results["prior"], results["memory_mb"]
    row = [f"{prior['steps']:,}", *(f"{prior[name]:.1f}" for name in ("p50", "p99", "first_ms"))]
    yield "Prior knowledge, all steps in one app\n"
    yield table(["steps", "p50 ms", "p99 ms", "first ms"], [row]) + "\n"
    yield (
        f"A process that searches {FEW:,} steps: {memory['opened']:.0f} MB with the store open, "
        f"{memory['searched']:.0f} MB at most after searching.\n"
    )


if __name__ == "__main__":
    print("\n".join(tables(measure())))
