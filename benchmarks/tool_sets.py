"""The requests for tools: half of each set to choose constants on, the other half to report."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.data import shared_folder

SETS = ("metatool-dev", "sealtools-dev")


@dataclass(frozen=True, slots=True)
class Request:
    """What somebody asks for, and the tools that serve it; none for a question that no tool serves."""

    text: str
    tools: frozenset[str] = frozenset()


def is_for_tuning(id_: str) -> bool:
    """Which half a request is of, decided by its id alone."""
    return hashlib.sha256(id_.encode()).digest()[-1] % 2 == 0


def is_for_reporting(id_: str) -> bool:
    """The other half."""
    return not is_for_tuning(id_)


def tools_of(name: str) -> list[dict[str, Any]]:
    return _lines(f"tools/{name}/tools.jsonl")


def requests_of(name: str, is_wanted: Callable[[str], bool]) -> list[Request]:
    lines = _lines(f"tools/{name}/queries.jsonl")
    return [Request(line["query"], frozenset(line["relevant"])) for line in lines if is_wanted(line["id"])]


def questions_for_no_tool(is_wanted: Callable[[str], bool]) -> list[Request]:
    """Questions about aerodynamics, which no tool of the sets answers."""
    return [Request(line["text"]) for line in _lines("general/cranfield/queries.jsonl") if is_wanted(str(line["_id"]))]


def _lines(path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (shared_folder("data") / path).read_text("utf-8").splitlines() if line.strip()]
