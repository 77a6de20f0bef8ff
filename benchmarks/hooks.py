"""What prompts are told by the hook of a client: those with an answer in the store, and those about other things.

The 50 memories and prompts are ours (`benchmarks/questions/prompts.jsonl`); the 200 prompts about other things are of
public sets, half of them about software too. Every prompt is of a session of its own. The least scores in
`athand.hooks` were chosen with all of these in view.
"""

import json
import os
import random
import resource
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from athand import Athand, Settings
from athand.hooks import LEAST, HookStore
from benchmarks.data import SEED, shared_folder

PROMPTS = Path(__file__).parent / "questions" / "prompts.jsonl"
UNRELATED = {
    "Cranfield (aerodynamics)": ("general/cranfield/queries.jsonl", "text"),
    "MetaTool (requests of everyday life)": ("tools/metatool-dev/queries.jsonl", "query"),
    "Kubernetes (running software)": ("documents/k8s-dev/queries.jsonl", "query"),
    "code (eleven libraries)": ("code", "query"),
}
OF_EACH = 50
MOST = 3
PROJECT = "shop"
_RUNS = 7


def measure() -> dict[str, Any]:
    """Fill a store, ask it every prompt, and time the command."""
    pairs = _lines(PROMPTS)
    with TemporaryDirectory() as work:
        place = Path(work) / "athand.db"
        with Athand(place, settings=Settings()) as athand:
            athand.memories.add_many(
                [{"content": each["memory"], "id": each["id"], "project": PROJECT} for each in pairs]
            )
        with HookStore(str(place), None, Settings()) as store:
            found = {each["id"]: _ask(store, each["prompt"]) for each in pairs}
            told = {name: [_ask(store, each) for each in _prompts(*where)] for name, where in UNRELATED.items()}
        seconds = {event: _processor_time(event, Path(work)) for event in ("session-start", "user-prompt")}
    return {"least": LEAST, "answered": _answered(pairs, found), "silent": _silent(told), "processor_seconds": seconds}


def _answered(pairs: Sequence[dict[str, Any]], found: dict[str, list[str]]) -> dict[str, float]:
    right = {
        part: [each["id"] in found[each["id"]] for each in pairs if each["part"] == part] for part in ("tune", "report")
    }
    every = [each for part in right.values() for each in part]
    hits = [(id_, hit) for id_, ids in found.items() for hit in ids]
    return {
        **{part: round(sum(each) / len(each), 3) for part, each in right.items()},
        "all": round(sum(every) / len(every), 3),
        "prompts": len(every),
        "hits that are the answer": round(sum(id_ == hit for id_, hit in hits) / max(1, len(hits)), 3),
    }


def _silent(told: dict[str, list[list[str]]]) -> dict[str, float]:
    every = [each for prompts in told.values() for each in prompts]
    by_set = {name: round(sum(not each for each in prompts) / len(prompts), 3) for name, prompts in told.items()}
    return {**by_set, "all": round(sum(not each for each in every) / len(every), 3), "prompts": len(every)}


def _ask(store: HookStore, prompt: str) -> list[str]:
    return [hit.id for hit in store.find(prompt, PROJECT, (), MOST)]


def _prompts(name: str, field: str) -> list[str]:
    path = PROMPTS.parent / "code.jsonl" if name == "code" else shared_folder("data") / name
    return random.Random(SEED).sample([each[field] for each in _lines(path)], OF_EACH)


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def _processor_time(event: str, home: Path) -> float:
    """Seconds of the processor that a hook takes in a process of its own; the least of some runs."""
    given = json.dumps({"prompt": "deploy the current branch to staging", "cwd": "/"})
    variables = {**os.environ, "ATHAND_HOME": str(home), "ATHAND_PROJECT": PROJECT, "ATHAND_HOOK_SECONDS": "30"}
    times = []
    for _ in range(_RUNS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, "-m", "athand", "hook", event]
        done = subprocess.run(command, input=given, env=variables, capture_output=True, text=True, check=True)
        assert "hookSpecificOutput" in done.stdout, done
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return round(min(times), 3)


if __name__ == "__main__":
    print(json.dumps(measure(), indent=2))
