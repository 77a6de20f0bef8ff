"""How many poisoned tools are flagged, and how many honest ones are.

Rules were written with the half "tune" of the labelled entries in view; figures of "report" come from the other half.
The honest tools of two public sets and of five real servers say how often a flag cries wolf. Our own entries
(`questions/flags.jsonl`) come from who wrote the rules: 140 before them, 65 after the first version, when 14 of 40 new
poisoned ones were found; then the rules were made wider, with the half "tune" in view. Beside them stand the YARA rules
of Cisco's MCP scanner, where it is installed (`pip install cisco-ai-mcp-scanner`).
"""

import asyncio
import hashlib
import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from athand.tools.definitions import parse_definition
from athand.tools.model import Flag
from athand.tools.poisoning.neighbours import Neighbours
from athand.tools.poisoning.scan import scan_definition
from benchmarks import real_tools
from benchmarks.data import shared_folder
from benchmarks.tables import table

LABELLED = "tools/mcpproxy_detect_corpus_v1.json"
HONEST = ("tools/metatool-dev", "tools/sealtools-dev")
OWN = Path(__file__).parent / "questions" / "flags.jsonl"
PARTS, LABELS = ("tune", "report"), ("malicious", "benign")
PEER = "YARA rules of Cisco's MCP scanner"

Entry = Mapping[str, Any]


def measure() -> dict[str, Any]:
    """Both halves of the labelled entries, by category, and the honest sets."""
    entries = json.loads((shared_folder("data") / LABELLED).read_text("utf-8"))["entries"]
    halves = {part: [entry for entry in entries if part_of(entry["id"]) == part] for part in PARTS}
    own = {part: [entry for entry in _own() if entry["part"] == part] for part in PARTS}
    return {
        "labelled": {part: _by_category(half) for part, half in halves.items()},
        "own": {part: _by_category(half) for part, half in own.items()},
        "peer": {part: _of_peer(own[part]) for part in PARTS} if find_spec("mcpscanner") else {},
        "honest": {name: _honest(_read(name)) for name in HONEST} | {"five real servers": _honest(real_tools.tools())},
    }


def _own() -> list[Entry]:
    """Our own entries, in the form of the public ones."""
    lines = [json.loads(line) for line in OWN.read_text("utf-8").splitlines()]
    return [
        {
            "label": {"poisoned": "malicious", "honest": "benign"}[line["label"]],
            "category": line["kind"],
            "part": line["part"],
            "server": "server",
            "tool": {"name": line["name"], "description": line["description"]},
        }
        for line in lines
    ]


def _of_peer(entries: Sequence[Entry]) -> dict[str, int]:
    """How many entries of each label the YARA rules of Cisco's scanner find something in."""
    from mcpscanner.core.analyzers.yara_analyzer import YaraAnalyzer

    analyzer = YaraAnalyzer()

    def is_found(tool: Mapping[str, str]) -> bool:
        return bool(asyncio.run(analyzer.analyze(tool["description"], {"tool_name": tool["name"]})))

    return dict(Counter(entry["label"] for entry in entries if is_found(entry["tool"])))


def part_of(id_: str) -> str:
    """Half of the entries, whichever they are."""
    return "report" if hashlib.sha256(id_.encode()).digest()[0] % 2 else "tune"


def flags_of_entry(entry: Entry) -> tuple[Flag, ...]:
    """What is said about a labelled tool, beside the tools that its entry puts next to it."""
    peers = entry.get("peers", [])
    servers = [entry["server"], *(peer["server"] for peer in peers)]
    own = [peer["tool"]["name"] for peer in peers if peer["server"] == entry["server"]]
    others = [(peer["tool"]["name"], peer["tool"].get("description", "")) for peer in peers]
    neighbours = Neighbours.from_names(servers, others, own)
    return scan_definition(parse_definition(entry["tool"]), entry["server"], neighbours)


def _by_category(entries: Sequence[Entry]) -> dict[str, dict[str, int]]:
    counts: dict[str, Counter[str]] = {}
    for entry in entries:
        flags = flags_of_entry(entry)
        of = counts.setdefault(f"{entry['label']}: {entry['category']}", Counter(tools=0, dangerous=0, any=0))
        of.update(tools=1, dangerous=any(flag.is_dangerous for flag in flags), any=bool(_telling(flags)))
    return {name: dict(of) for name, of in sorted(counts.items())}


def _telling(flags: Sequence[Flag]) -> list[Flag]:
    """Flags but those about broken schemas and missing texts."""
    return [flag for flag in flags if flag.rule not in ("broken schema", "no description", "very long")]


def _read(name: str) -> list[Entry]:
    lines = (shared_folder("data") / name / "tools.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def _honest(tools: Sequence[Entry]) -> dict[str, Any]:
    definitions = [(parse_definition(tool), tool["server"]) for tool in tools]
    began = time.perf_counter()
    found = [scan_definition(definition, server) for definition, server in definitions]
    seconds = time.perf_counter() - began
    rules = Counter(flag.rule for flags in found for flag in flags if flag.is_dangerous)
    dangerous = sum(any(flag.is_dangerous for flag in flags) for flags in found)
    odd = sum(bool(_telling(flags)) for flags in found)
    return {"tools": len(tools), "dangerous": dangerous, "any": odd, "rules": dict(rules), "seconds": round(seconds, 2)}


def tables(results: Mapping[str, Any]) -> Iterator[str]:
    """Markdown: recall and false alarms, half by half, then the honest sets."""
    for set_, title in (("labelled", "Labelled tools of a public set"), ("own", "Our own labelled tools")):
        for part in PARTS:
            found, peer = results[set_][part], results["peer"].get(part) if set_ == "own" else None
            rows: list[tuple[object, ...]] = [(name, *_counts(of)) for name, of in found.items()]
            rows += [(f"all {label}", *_sum(found, label)) for label in LABELS]
            rows += [
                (f"all {label}, {PEER}", next(_sum(found, label)), peer.get(label, 0), "") for label in LABELS if peer
            ]
            yield f"{title}, half “{part}”:\n"
            yield table(("category", "tools", "flagged dangerous", "flagged at all"), rows) + "\n"
    shares = [(name, *_counts(of), f"{of['dangerous'] / of['tools']:.2%}") for name, of in results["honest"].items()]
    yield "Honest tools:\n"
    yield table(("set", "tools", "flagged dangerous", "flagged at all", "false alarms"), shares) + "\n"


def _counts(of: Mapping[str, Any]) -> tuple[int, int, int]:
    return of["tools"], of["dangerous"], of["any"]


def _sum(counts: Mapping[str, Mapping[str, int]], label: str) -> Iterator[int]:
    """How many tools of a label there are, how many were flagged dangerous, and how many at all."""
    return map(sum, zip(*(_counts(of) for name, of in counts.items() if name.startswith(f"{label}:")), strict=True))


if __name__ == "__main__":
    print("\n".join(tables(measure())))
