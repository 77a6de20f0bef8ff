"""A store that holds all four corpora, and questions whose answers are in one of them, or in none."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from athand import Athand, Settings
from athand.evaluation import load_set
from benchmarks.code_sources import fetch
from benchmarks.data import shared_folder
from benchmarks.flow_data import NOW, Apps, fill, sessions
from benchmarks.questions.check import load
from benchmarks.tool_sets import SETS, tools_of

K8S = "documents/k8s-dev"
MOST = 600  # questions of one set


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, the corpus that has its answers, and how these are called; nothing answers some."""

    text: str
    of: str
    corpus: str | None
    right: frozenset[str]
    catalogue: str

    @property
    def part(self) -> str:
        """Which half it is of: the one that constants are chosen on, or the one that is reported."""
        return "tune" if _dice(self.text) % 2 else "report"


def name_of(hit: Any) -> str:
    """What the item of a hit is called in the questions."""
    if hit.corpus == "documents":
        return f"{hit.item.folder_id}/{hit.item.document_id}"
    if hit.corpus == "flows":
        return str(hit.session_id).split("--")[0]
    return str(hit.item.name if hit.corpus == "tools" else hit.id)


def filled(path: Path) -> Athand:
    """A store with all of it; what there is already stays."""
    athand = Athand(path, settings=Settings())
    if not athand.memories.count():
        athand.memories.add_many(list(_memories()))
    if not athand.flows.count():
        fill(athand.flows, _recent(sessions(Apps())))
    for name in SETS:
        if not athand.tools.count().get(name):
            _add_tools(athand, name)
    known = {folder.folder_id for folder in athand.documents.list_folders()}
    for name, folder in (fetch() | {"k8s": shared_folder("data") / K8S / "files"}).items():
        if name not in known:
            athand.documents.add(folder, folder_id=name)
    return athand


def _memories() -> Iterator[Mapping[str, Any]]:
    """The turns of all conversations, moved in time so that each has ended today."""
    items = load_set(shared_folder("data") / "memories/locomo-dev").items
    last: dict[str, datetime] = {}
    for each in items:
        said = datetime.fromisoformat(each["created_at"])
        last[each["project"]] = max(said, last.get(each["project"], said))
    today = datetime.now(UTC)
    for each in items:
        moved = datetime.fromisoformat(each["created_at"]) + (today - last[each["project"]])
        yield {**each, "created_at": min(moved, today)}


def _recent(made: Iterator[Any]) -> Iterator[Any]:
    """The same sessions, moved in time to these days."""
    later = datetime.now(UTC) - NOW
    for session, steps in made:
        moved = [replace(step, timestamp=step.timestamp + later) for step in steps]
        yield replace(session, created_at=session.created_at + later - timedelta(minutes=1)), moved


def _add_tools(athand: Athand, name: str) -> None:
    by_server: dict[str, list[dict[str, Any]]] = {}
    for tool in tools_of(name):
        by_server.setdefault(tool["server"], []).append(tool)
    for server, tools in by_server.items():
        athand.tools.add(server, tools, catalogue=name)


def questions() -> list[Asked]:
    """All of them, in no order that matters; a set of many gives some."""
    every = [*_of_memories(), *_of_documents(), *_of_tools(), *_of_flows(), *_of_nothing()]
    by_set: dict[str, list[Asked]] = {}
    for each in sorted(every, key=lambda each: (_dice(each.text), each.text)):
        by_set.setdefault(each.of, []).append(each)
    return [each for some in by_set.values() for each in some[:MOST]]


def _of_memories() -> Iterator[Asked]:
    for each in load_set(shared_folder("data") / "memories/locomo-dev").questions:
        yield _asked(each.text, "LoCoMo", "memories", each.relevant)


def _of_documents() -> Iterator[Asked]:
    for each in _lines(K8S):
        yield _asked(each["query"], "k8s", "documents", [f"k8s/{right['path']}" for right in each["relevant"]])
    for kind in ("code", "pages"):
        for each in load(kind):
            right = [f"{each['repo']}/{right['path']}" for right in each["relevant"]]
            yield _asked(each["query"], kind, "documents", right)


def _of_tools() -> Iterator[Asked]:
    for name in SETS:
        for each in _lines(f"tools/{name}"):
            yield Asked(each["query"], name, "tools", frozenset(each["relevant"]), name)


def _of_flows() -> Iterator[Asked]:
    for each in Apps().questions:
        yield _asked(each.text, "flows" if each.flow else "nonsense", "flows" if each.flow else None, [each.flow or ""])


def _of_nothing() -> Iterator[Asked]:
    """Questions about aerodynamics, which nothing in the store answers."""
    for each in _lines("general/cranfield"):
        yield _asked(each["text"], "Cranfield", None, ())


def _asked(text: str, of: str, corpus: str | None, right: Any) -> Asked:
    """Whoever asks for something else than tools has a small or a large catalogue of them, as it comes."""
    return Asked(text, of, corpus, frozenset(right), SETS[_dice(text) // 2 % len(SETS)])


def _dice(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[-4:], "big")


def _lines(folder: str) -> Sequence[dict[str, Any]]:
    path = shared_folder("data") / folder / "queries.jsonl"
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
