"""Fills the demo's store: Athand's own docs, tools of real MCP servers, a few memories, two recorded sessions."""

import json
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from athand.adapters.cli.session import Session
from athand.adapters.cli.words import format_duration, pluralize
from athand.distribution import install_hint
from athand.files import create_private

if TYPE_CHECKING:
    from athand.app import Athand

_PACKAGE = Path(__file__).parents[2]
_SESSIONS = Path(__file__).parent / "demo_data" / "walks"
_SERVERS = {"git": "mcp_server_git", "time": "mcp_server_time"}
_CONNECT_SECONDS = 60.0
# Project, age in days, content, author. The second supersedes the first.
MEMORIES = (
    ("harbour", 90, "Branches start from develop and are named after their ticket.", "mira"),
    ("harbour", 12, "Branches start from main, since develop is gone; the name begins with the ticket.", "mira"),
    ("harbour", 5, "Our people in Tokyo work from midnight to 09:00 UTC.", "jon"),
    ("harbour", 33, "Orders can be cancelled until they leave the warehouse; after that it is a refund.", "ada"),
    ("harbour", 41, "Decided to keep carts in PostgreSQL instead of Redis: a lost cart costs more than 4 ms.", "mira"),
    ("harbour", 3, "Staging deploys need the VPN and a fresh token; production does not.", "mira"),
    ("harbour", 12, "The checkout test is flaky when the clock crosses midnight; freeze time in the fixture.", "jon"),
    ("harbour", 77, "Customers in Norway are charged in NOK; rounding is to whole kroner.", "ada"),
    ("home", 9, "Prefers short answers with the command first and the reason after it.", "user"),
    ("home", 200, "Grandma's birthday is on the 14th of June; she likes tulips.", "user"),
)
_ABOUT_SUPERSEDED = "what do branches start from?"


@dataclass(frozen=True, slots=True)
class CorpusSummary:
    """What a corpus of the demo holds, as text and as data."""

    corpus: str
    text: str
    data: dict[str, Any]


def fill_store(session: Session, athand: "Athand", folder: Path) -> Iterator[CorpusSummary]:
    """Fill each corpus; yields its summary when it is done."""
    yield _add_documents(session, athand)
    yield _add_tools(athand, folder)
    yield _add_memories(athand)
    yield _add_flows(athand)


def _add_documents(session: Session, athand: "Athand") -> CorpusSummary:
    began = time.perf_counter()
    with session.show_progress("Indexing the docs of Athand", unit="files") as progress:
        added = athand.documents.add(docs_folder(), folder_id="athand-docs", progress=progress)
    text = f"{pluralize(added.documents, 'document')} (the docs of Athand) in {pluralize(added.chunks, 'passage')}"
    return CorpusSummary("documents", f"{text} · {format_duration(time.perf_counter() - began)}", added.to_dict())


def docs_folder() -> Path:
    """The docs that come with the package; in a clone, those of the repository."""
    packaged = _PACKAGE / "docs"
    return packaged if packaged.is_dir() else _PACKAGE.parents[1] / "docs"


def _add_tools(athand: "Athand", folder: Path) -> CorpusSummary:
    """Start real MCP servers and add their tools."""
    started = time.perf_counter()
    installed = {name: _entry(module) for name, module in _SERVERS.items() if find_spec(module)}
    # Athand's own server gets another home than the demo: in the same one, it would start itself.
    own = {"athand": _entry("athand", "mcp") | {"env": {"ATHAND_HOME": str(folder / "server")}}}
    config = folder / "mcp.json"
    create_private(config, json.dumps({"mcpServers": installed or own}, indent=2).encode())
    athand.tools.load(config, origin="user")
    athand.tools.wait(_CONNECT_SECONDS)
    servers = athand.tools.servers()
    counts = [
        f"{each.tools} of {each.name}" if each.tools else f"none of {each.name}: {each.reason}" for each in servers
    ]
    duration = format_duration(time.perf_counter() - started)
    text = f"{', '.join(counts)}: real MCP servers, started for this demo · {duration}"
    more = "" if installed else f"\nTo try the tools of git too: {install_hint('demo')}"
    return CorpusSummary("tools", text + more, {"servers": [each.to_dict() for each in servers]})


def _entry(module: str, *arguments: str) -> dict[str, Any]:
    return {"command": sys.executable, "args": ["-m", module, *arguments]}


def _add_memories(athand: "Athand") -> CorpusSummary:
    now = datetime.now(UTC)
    added = athand.memories.add_many(
        {"project": project, "content": content, "author": author, "created_at": now - timedelta(days=days)}
        for project, days, content, author in MEMORIES
    )
    old, new = added[:2]
    athand.memories.supersede(old.id, new.id)
    answers = athand.memories.search(_ABOUT_SUPERSEDED, reinforce=False)
    text = (
        f"{len(added)} in two projects. A newer one supersedes an older one, which is no longer found:"
        f"\nolder: “{old.content}”\nnewer: “{answers[0].item.content}”"
    )
    return CorpusSummary("memories", text, {"superseded": old.id, "answers": [hit.id for hit in answers]})


def _add_flows(athand: "Athand") -> CorpusSummary:
    with tempfile.TemporaryDirectory() as folder:
        _copy_sessions(Path(folder))
        done = athand.flows.import_(folder)
    goals = " and ".join(f"“{session.goal}”" for session in athand.flows.sessions())
    return CorpusSummary(
        "flows", f"{pluralize(done.sessions, 'session')} recorded in a browser: {goals}", done.to_dict()
    )


def _copy_sessions(folder: Path) -> None:
    """Copy the recorded sessions as if the last had ended an hour ago: predictions use sessions of the last days."""
    files = {file.relative_to(_SESSIONS): json.loads(file.read_text("utf-8")) for file in _SESSIONS.rglob("*.json")}
    last = max(datetime.fromisoformat(data["timestamp"]) for data in files.values() if "timestamp" in data)
    shift = datetime.now(UTC) - timedelta(hours=1) - last
    for name, data in files.items():
        times = {key: datetime.fromisoformat(data[key]) + shift for key in ("timestamp", "createdAt") if key in data}
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(json.dumps(data | {key: time_.isoformat() for key, time_ in times.items()}), "utf-8")
