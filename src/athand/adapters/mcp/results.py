"""Answers and errors as MCP has them: exact values for programs, readable text for models."""

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mcp import types

from athand.adapters.mcp.offering import WRAPPED, is_wrapped
from athand.adapters.mcp.reading import read_hits
from athand.adapters.operations import Operation
from athand.errors import AthandError

ERROR = "athand/error"  # where the kind and the code of an error stand, for programs
_LARGEST_PICTURE = 1_000_000  # bytes


def answered(operation: Operation, answer: Any) -> types.CallToolResult:
    """What an operation answered: all of it as structured content, and as text."""
    answer = _encodable(answer)
    content: list[types.ContentBlock] = [types.TextContent(text=_text(answer))]
    if operation.name == "ui_screenshot":
        content += _picture(answer)
    structured = {WRAPPED: answer} if is_wrapped(operation.answer) else answer
    return types.CallToolResult(content=content, structured_content=structured)


def failed(error: AthandError) -> types.CallToolResult:
    """An error that a model can read and do something about."""
    about = {"kind": type(error).__name__, **({"code": error.code} if error.code else {})}
    text = types.TextContent(text=_encodable(str(error)))
    return types.CallToolResult(content=[text], is_error=True, _meta={ERROR: about})


def _text(answer: Any) -> str:
    if isinstance(answer, str):
        return answer
    if isinstance(answer, Mapping) and isinstance(answer.get("hits"), list):
        return read_hits(answer)
    return json.dumps(answer, ensure_ascii=False, separators=(",", ":"))


def _encodable(answer: Any) -> Any:
    """The same, without the halves of characters that names of files may have and JSON in UTF-8 may not."""
    whole = json.dumps(answer, ensure_ascii=False)
    try:
        whole.encode()
    except UnicodeEncodeError:
        return json.loads(whole.encode(errors="replace"))
    return answer


def _picture(answer: Mapping[str, Any]) -> list[types.ContentBlock]:
    """The screenshot itself, unless it is too large to be looked at."""
    path = Path(str(answer.get("path", "")))
    if not path.is_file() or path.stat().st_size > _LARGEST_PICTURE:
        return []
    data = base64.b64encode(path.read_bytes()).decode()
    return [types.ImageContent(data=data, mime_type="image/png")]
