"""Lean hits: of every corpus in one form (pure functions of answers as JSON)."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from athand.adapters.mcp.lean.flows import describe_recorded_step
from athand.adapters.mcp.lean.model import LeanHit, LeanHits
from athand.adapters.mcp.lean.places import place_of_chunk, place_of_memory, place_of_step, place_of_tool
from athand.adapters.mcp.lean.snippets import find_snippet
from athand.adapters.reasons import describe_why

_MARK = re.compile(r"<mark>(.*?)</mark>", re.DOTALL)
_PLACES = {
    "memories": place_of_memory,
    "documents": place_of_chunk,
    "tools": place_of_tool,
    "flows": place_of_step,
}
JsonObject = Mapping[str, Any]


def lean_hits(answer: JsonObject) -> LeanHits:
    """The hits of a search with what to know about them."""
    notes = [*answer["notes"], *describe_freshness(answer["freshness"])]
    return LeanHits([lean_hit(each) for each in answer["hits"]], notes, answer["did_you_mean"], answer["closest"])


def lean_hit(hit: JsonObject) -> LeanHit:
    """A hit: its title only if the snippet does not begin with it."""
    corpus, item = hit["corpus"], hit["item"]
    snippet = describe_recorded_step(item) if corpus == "flows" else find_snippet(hit["text"], matched_words(hit))
    title = _find_title(hit)
    return LeanHit(
        id=hit["id"],
        corpus=corpus,
        score=round(hit["score"], 2),
        title=None if _begins_with(snippet, title) else title,
        place=_PLACES[corpus](item) if corpus in _PLACES else "",
        snippet=snippet,
        why=describe_why(hit["why"]),
        next=call("open", hit["id"]),
    )


def _find_title(hit: JsonObject) -> str:
    """The title without what id and place say already; of a tool also why it cannot be called, and its flags."""
    if hit["corpus"] == "tools":
        title, notice = hit["item"]["title"] or "", hit["item"]["notice"]
        return f"{title} ({notice})".lstrip() if notice else title
    if hit["corpus"] == "documents":
        return " > ".join(hit["item"]["heading"][-2:])
    return str(hit["title"])


def _begins_with(snippet: str, title: str) -> bool:
    return snippet.lstrip("#… ").startswith(title.removesuffix("…").rpartition(" > ")[2])


def matched_words(hit: JsonObject) -> list[str]:
    """The words that matched, as they are written in the text if that is known."""
    written = [word for each in hit.get("highlights") or () for word in _MARK.findall(each)]
    return written or list(hit["why"]["matched"])


def describe_freshness(freshness: JsonObject) -> Iterable[str]:
    """A sentence for each folder whose index is not up to date."""
    for folder, each in freshness.items():
        if each["state"] != "ready" or each["pending"]:
            yield f"The folder {folder} is {each['state']}: {each['pending']} files wait to be indexed."


def call(name: str, *arguments: str, **named: object) -> str:
    """A call as an agent reads it: `open("id")`."""
    named_ones = [f"{key}={_to_json(each)}" for key, each in named.items()]
    return f"{name}({', '.join([*map(_to_json, arguments), *named_ones])})"


def _to_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
