"""What the benchmarks measure on: the labelled sets, and passages made from their sentences."""

import os
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from athand.evaluation import LabelledSet, load_set

ROOT = Path(__file__).resolve().parents[1]
CACHE = ROOT / ".cache"
SETS = ("general/cranfield", "memories/locomo-dev", "tools/metatool-dev", "tools/sealtools-dev")
PROJECTS = 1000
SEED = 20
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n")

Item = Mapping[str, Any]


def shared_folder(name: str) -> Path:
    """The data or the models beside the project; ATHAND_DATA or ATHAND_MODELS names another place."""
    return Path(os.environ.get(f"ATHAND_{name.upper()}") or ROOT.parent / "shared" / name)


def load_sets() -> list[LabelledSet]:
    """All labelled sets, or an end with the name of the folder that is missing."""
    folders = [shared_folder("data") / name for name in SETS]
    missing = [str(folder) for folder in folders if not folder.is_dir()]
    if missing:
        raise SystemExit(f"No labelled set in {', '.join(missing)}. Set ATHAND_DATA to the folder that has them.")
    return [load_set(folder) for folder in folders]


def text_of(item: Item) -> str:
    """What an item says, as every engine gets it."""
    return "\n".join(filter(None, (item["content"], item.get("context"))))


def sentences(sets: Sequence[LabelledSet]) -> list[str]:
    """Every distinct sentence of at least three words."""
    split = (
        sentence.strip() for each in sets for item in each.items for sentence in _SENTENCE_END.split(text_of(item))
    )
    return list(dict.fromkeys(sentence for sentence in split if sentence.count(" ") >= 2))


def passages(size: int) -> Iterator[Item]:
    """Three random sentences each, spread over the projects; the first ones are the same for every size."""
    pool, chance = sentences(load_sets()), random.Random(SEED)
    for number in range(size):
        text = " ".join(chance.choice(pool) for _ in range(3))
        yield {"id": f"m{number}", "content": text, "project": project_of(number)}


def project_of(number: int) -> str:
    return f"project-{number % PROJECTS}"


def questions(count: int) -> list[str]:
    """Distinct real questions, as many from each set."""
    chance, sets = random.Random(SEED), load_sets()
    chosen = [chance.sample(sorted({each.text for each in one.questions}), count // len(sets)) for one in sets]
    mixed = [question for group in chosen for question in group]
    chance.shuffle(mixed)
    return mixed


def minilm() -> Path | None:
    """The folder of the real all-MiniLM-L6-v2, built once; None where the package with its weights is missing."""
    from benchmarks.minilm import build_minilm, weights_folder  # onnx is large, and measured processes import this file

    folder = CACHE / "all-MiniLM-L6-v2"
    if not folder.is_dir() and weights_folder():
        # Under its own name only when complete: an interrupted build must not be taken for the model.
        build_minilm(CACHE / "unfinished").rename(folder)
    return folder if folder.is_dir() else None
