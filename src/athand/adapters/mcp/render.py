"""Tool results and errors for MCP: structured content for programs, readable text for models."""

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mcp import types

from athand.adapters.mcp.tool_list import WRAPPED, is_wrapped
from athand.adapters.operations import Operation
from athand.errors import AthandError

ERROR_META = "athand/error"  # key in _meta with the class and the code of an error, for programs
_MAX_IMAGE_BYTES = 1_000_000
_NO_HITS = "Nothing fits."


def render_result(operation: Operation, answer: Any) -> types.CallToolResult:
    """The answer of an operation as structured content and as text."""
    answer = _replace_surrogates(answer)
    content: list[types.ContentBlock] = [types.TextContent(text=_render_text(answer))]
    if operation.name == "ui_screenshot":
        content += _load_image(answer)
    structured = {WRAPPED: answer} if is_wrapped(operation.answer) else answer
    return types.CallToolResult(content=content, structured_content=structured)


def render_error(error: AthandError) -> types.CallToolResult:
    """An error that a model can read and do something about."""
    about = {"kind": type(error).__name__, **({"code": error.code} if error.code else {})}
    text = types.TextContent(text=_replace_surrogates(str(error)))
    return types.CallToolResult(content=[text], is_error=True, _meta={ERROR_META: about})


def _render_text(answer: Any) -> str:
    if isinstance(answer, str):
        return answer
    if isinstance(answer, Mapping) and isinstance(answer.get("hits"), list):
        return render_hits(answer)
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
    """Hits as text for a model: title, text and why of each, best first, in a fraction of the size of the JSON."""
    lines = [_render_hit(number, hit) for number, hit in enumerate(hits["hits"], 1)] or [_NO_HITS]
    lines += [f"Did you mean {correction!r} instead of {word!r}?" for word, correction in hits["did_you_mean"].items()]
    if hits["closest"]:
        lines.append(f"What came closest: {'; '.join(hits['closest'])}")
    lines += hits["notes"]
    return "\n".join(lines)


def _render_hit(number: int, hit: Mapping[str, Any]) -> str:
    text = str(hit["text"]).strip()
    below = [*(text.splitlines() if text != hit["title"] else ()), f"why: {_render_why(hit['why'])}"]
    first = f"{number}. {hit['score']:.2f} {hit['corpus']} {hit['id']}: {hit['title']}"
    return "\n   ".join([first, *below])


def _render_why(why: Mapping[str, Any]) -> str:
    parts = [f"{name} {each['contribution']:+.2f}" for name, each in why["signals"].items() if each["contribution"]]
    matched = f" ({', '.join(why['matched'])})" if why["matched"] else ""
    return f"{why['total']:.2f} = {' '.join(parts)}{matched}"
