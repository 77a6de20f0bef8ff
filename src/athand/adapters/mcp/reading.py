"""Hits as a model reads them: what was found, where it is, and why, in a fraction of the words of the JSON."""

from collections.abc import Mapping
from typing import Any

NOTHING = "Nothing fits."


def read_hits(found: Mapping[str, Any]) -> str:
    """Hits and all that is said about them, best first."""
    lines = [_hit(number, hit) for number, hit in enumerate(found["hits"], 1)] or [NOTHING]
    lines += [f"Did you mean {meant!r} instead of {word!r}?" for word, meant in found["did_you_mean"].items()]
    if found["closest"]:
        lines.append(f"What came closest: {'; '.join(found['closest'])}")
    lines += found["notes"]
    return "\n".join(lines)


def _hit(number: int, hit: Mapping[str, Any]) -> str:
    said = str(hit["text"]).strip()
    below = [*(said.splitlines() if said != hit["title"] else ()), f"why: {_why(hit['why'])}"]
    first = f"{number}. {hit['score']:.2f} {hit['corpus']} {hit['id']}: {hit['title']}"
    return "\n   ".join([first, *below])


def _why(why: Mapping[str, Any]) -> str:
    parts = [f"{name} {each['contribution']:+.2f}" for name, each in why["signals"].items() if each["contribution"]]
    matched = f" ({', '.join(why['matched'])})" if why["matched"] else ""
    return f"{why['total']:.2f} = {' '.join(parts)}{matched}"
