"""Lean answers about documents (pure functions of answers as JSON)."""

from collections.abc import Mapping
from typing import Any

from athand.adapters.mcp.lean.hits import call, describe_freshness
from athand.adapters.mcp.lean.model import (
    LeanDocument,
    LeanDocuments,
    LeanHit,
    LeanOutline,
    LeanPassages,
    LeanText,
    LeanTexts,
)
from athand.adapters.mcp.lean.places import place_of_chunk
from athand.adapters.mcp.lean.snippets import find_snippet
from athand.adapters.reasons import describe_why

_FEW_PHRASES = 5
JsonObject = Mapping[str, Any]


def lean_passages(answer: JsonObject) -> LeanPassages:
    """A page of `search_content`."""
    return LeanPassages(
        [_lean_passage(each) for each in answer["data"]["results"]],
        answer["data"]["statistics"]["total_results"],
        answer["continuation"]["next_token"],
        [*answer["notes"], *describe_freshness(answer["freshness"])],
    )


def _lean_passage(result: JsonObject) -> LeanHit:
    snippet = find_snippet(result["content"], result["why"]["matched"])
    title = " > ".join(result["heading"][-2:])
    return LeanHit(
        id=result["chunk_id"],
        corpus="documents",
        score=round(result["relevance_score"], 2),
        title=None if snippet.lstrip("# ").startswith(title.rpartition(" > ")[2]) else title,
        place=place_of_chunk(result),
        snippet=snippet,
        why=describe_why(result["why"]),
        next=call("open", result["chunk_id"]),
    )


def lean_documents(answer: JsonObject) -> LeanDocuments:
    """A page of `find_documents`."""
    return LeanDocuments(
        [_lean_document(each) for each in answer["documents"]],
        answer["total_results"],
        answer["continuation"]["next_token"],
        [*answer["notes"], *describe_freshness(answer["freshness"])],
    )


def _lean_document(found: JsonObject) -> LeanDocument:
    return LeanDocument(
        place=_place(found),
        title=found["title"],
        score=round(found["score"], 2),
        about=_about(found),
        why=describe_why(found["why"]),
        next=call("open", found["best_chunk_id"]),
    )


def lean_outline(answer: JsonObject) -> LeanOutline:
    """The overview of a document: headings as `line # title`, passages as lines by id."""
    document = answer["document"]
    return LeanOutline(
        place=_place(document),
        title=document["title"],
        kind=document["kind"],
        lines=document["lines"],
        about=_about(document),
        outline=[f"{each['line']} {'#' * each['level']} {each['title']}" for each in answer["outline"]],
        passages={each["chunk_id"]: f"{each['start_line']}-{each['end_line']}" for each in answer["chunks"]},
        problem=answer["problem"],
        continuation_token=answer["continuation"]["next_token"],
    )


def lean_text(answer: JsonObject) -> LeanText:
    """A window of a document's text."""
    place = f"{_place(answer)}:{answer['start_line']}-{answer['end_line']}"
    return LeanText(place, answer["text"], answer["lines"], answer["continuation"]["next_token"])


def lean_texts(answer: JsonObject) -> LeanTexts:
    """The answer of `get_chunks`."""
    return LeanTexts(lean_chunks(answer))


def lean_chunks(answer: JsonObject) -> list[LeanText]:
    """Passages with their text; those that follow each other are joined."""
    joined: list[JsonObject] = []
    for chunk in answer["chunks"]:
        if joined and _follows(chunk, joined[-1]):
            joined[-1] = _join(joined[-1], chunk)
        else:
            joined.append(chunk)
    return [LeanText(place_of_chunk(each), each["content"]) for each in joined]


def _follows(chunk: JsonObject, before: JsonObject) -> bool:
    same = chunk["document_id"] == before["document_id"] and chunk["folder_id"] == before["folder_id"]
    begins, ends = before["start_offset"], before["end_offset"]
    return bool(same and begins <= chunk["start_offset"] <= ends <= chunk["end_offset"])


def _join(before: JsonObject, chunk: JsonObject) -> dict[str, Any]:
    rest = chunk["content"][before["end_offset"] - chunk["start_offset"] :]
    end = {name: chunk[name] for name in ("end_offset", "end_line", "chunk_index")}
    return {**before, **end, "content": before["content"] + rest}


def _place(document: JsonObject) -> str:
    return f"{document['folder_id']}/{document['document_id']}"


def _about(document: JsonObject) -> str:
    return ", ".join(document["keywords"][:_FEW_PHRASES])
