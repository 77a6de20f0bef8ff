"""Tool results and errors for MCP: structured content for programs, readable text for models."""

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mcp import types

from athand.adapters.mcp.advice import translate_advice
from athand.adapters.mcp.lean import make_lean
from athand.adapters.mcp.tool_list import WRAPPED, is_wrapped
from athand.adapters.operations import Operation
from athand.errors import AthandError

ERROR_META = "athand/error"  # key in _meta with the class and the code of an error, for programs
_MAX_IMAGE_BYTES = 1_000_000
_NO_HITS = "Nothing fits."


def render_result(
    operation: Operation, answer: Any, offered: Mapping[str, Operation], *, is_lean: bool = True
) -> types.CallToolResult:
    """The answer of an operation as structured content and as text, both with the same facts."""
    answer = _replace_surrogates(answer)
    shown = make_lean(operation, answer) if is_lean else answer
    if isinstance(shown, dict) and (notes := shown.get("notes")):
        shown["notes"] = [translate_advice(each, offered) for each in notes]
    content: list[types.ContentBlock] = [types.TextContent(text=_render_text(shown, is_lean=is_lean))]
    if operation.name == "ui_screenshot":
        content += _load_image(answer)
    structured = {WRAPPED: shown} if is_wrapped(operation.answer) else shown
    return types.CallToolResult(content=content, structured_content=structured)


def render_error(error: AthandError, offered: Mapping[str, Operation]) -> types.CallToolResult:
    """An error that a model can read and do something about, with the tools that it is offered."""
    about = {"kind": type(error).__name__, **({"code": error.code} if error.code else {})}
    text = types.TextContent(text=_replace_surrogates(translate_advice(str(error), offered)))
    return types.CallToolResult(content=[text], is_error=True, _meta={ERROR_META: about})


def _render_text(answer: Any, *, is_lean: bool) -> str:
    if isinstance(answer, str):
        return answer
    if is_lean and isinstance(answer, Mapping) and isinstance(answer.get("hits"), list):
        return render_hits(answer)
    if is_lean and isinstance(answer, Mapping) and isinstance(page := answer.get("page"), str):
        return f"{_to_json({key: each for key, each in answer.items() if key != 'page'})}\n{page}"
    return _to_json(answer)


def _to_json(answer: Any) -> str:
    return json.dumps(answer, ensure_ascii=False, separators=(",", ":"))


def _replace_surrogates(answer: Any) -> Any:
    """Replace lone surrogates, which file names may hold and UTF-8 cannot encode."""
    text = json.dumps(answer, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.loads(text.encode(errors="replace"))
    return answer


def _load_image(answer: Mapping[str, Any]) -> list[types.ContentBlock]:
    """The screenshot as an image, unless it is too large."""
    path = Path(str(answer.get("path", "")))
    if not path.is_file() or path.stat().st_size > _MAX_IMAGE_BYTES:
        return []
    data = base64.b64encode(path.read_bytes()).decode()
    return [types.ImageContent(data=data, mime_type="image/png")]


def render_hits(hits: Mapping[str, Any]) -> str:
    """Lean hits as text for a model: each with its place, text and why, best first, and what to know about them."""
    lines = [_render_hit(number, hit) for number, hit in enumerate(hits["hits"], 1)] or [_NO_HITS]
    corrections = hits.get("did_you_mean", {})
    lines += [f"Did you mean {correction!r} instead of {word!r}?" for word, correction in corrections.items()]
    if closest := hits.get("closest"):
        lines.append(f"What came closest: {'; '.join(closest)}")
    if token := hits.get("continuation_token"):
        lines.append(f"More with continuation_token {token}")
    return "\n".join([*lines, *hits.get("notes", ())])


def _render_hit(number: int, hit: Mapping[str, Any]) -> str:
    known = ("id", "score", "title", "place", "snippet", "why")
    first = " ".join(filter(None, (f"{number}. {hit['score']:.2f}", hit.get("corpus"), hit["id"], hit.get("title"))))
    more = [f"{name}: {_to_words(each)}" for name, each in hit.items() if name not in (*known, "corpus")]
    below = [hit.get("place", ""), *hit.get("snippet", "").splitlines(), f"why: {hit.get('why', '')}", *more]
    return "\n   ".join([first, *filter(None, below)])


def _to_words(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
