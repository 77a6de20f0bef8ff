"""Notebooks: cells with their text, code and the short part of what they printed."""

import json
import re
from typing import Any

from athand.documents.extract import Extract, Unreadable
from athand.documents.readers.plain import read_text
from athand.documents.readers.writing import Writer, written

_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(\S.*)")
_FENCE = re.compile(r" {0,3}(```|~~~)")
_CONTROL = re.compile(r"\x1b\[[0-9;]{0,20}[a-zA-Z]")
_MOST_LINES = 20
_MOST_CHARACTERS = 1_000


def read_notebook(data: bytes) -> Extract:
    """The text of a notebook with its cells as places."""
    return written(lambda out: _notebook(_parsed(data), out))


def _parsed(data: bytes) -> dict[str, Any]:
    try:
        values = json.loads(read_text(data).text)
    except RecursionError as error:
        raise Unreadable("damaged: nested too deeply for a notebook") from error
    except ValueError as error:
        raise Unreadable(f"damaged: it is not JSON ({str(error)[:100]})") from error
    if not isinstance(values, dict):
        raise Unreadable("damaged: it is JSON, but not a notebook")
    return values


def _notebook(values: dict[str, Any], out: Writer) -> None:
    title = _within(values, "metadata").get("title")
    out.title = title if isinstance(title, str) else ""
    for number, cell in enumerate(_cells(values), 1):
        if isinstance(cell, dict):
            out.mark("cell", str(number))
            _cell(cell, out)


def _cells(values: dict[str, Any]) -> list[Any]:
    """The cells; notebooks before version 4 have them in worksheets."""
    if "worksheets" in values:
        sheets = [sheet for sheet in _listed(values, "worksheets") if isinstance(sheet, dict)]
        return [cell for sheet in sheets for cell in _listed(sheet, "cells")]
    if "cells" not in values:
        raise Unreadable("damaged: it is JSON, but not a notebook")
    return _listed(values, "cells")


def _cell(cell: dict[str, Any], out: Writer) -> None:
    kind, source = cell.get("cell_type"), _joined(cell.get("source", cell.get("input")))
    if kind == "markdown":
        _markdown(source, out)
    elif kind == "heading":
        level = cell.get("level")
        out.heading(source, level if isinstance(level, int) and 1 <= level <= 6 else 1)
    else:
        out.block(source)
        for output in _listed(cell, "outputs"):
            text = _printed(output) if isinstance(output, dict) else ""
            out.block(f"Output: {text}" if text else "")


def _markdown(source: str, out: Writer) -> None:
    """A cell as it is; its headings become places."""
    fenced, begin, at = False, 0, 0
    for line in source.splitlines(keepends=True):
        found = None if fenced else _HEADING.match(line)
        if found:
            out.block(source[begin:at])
            out.mark("heading", found[2].rstrip().rstrip("#"), len(found[1]))
            begin = at
        fenced ^= bool(_FENCE.match(line))
        at += len(line)
    out.block(source[begin:])


def _printed(output: dict[str, Any]) -> str:
    """The text of an output, shortened; pictures have none."""
    data = _within(output, "data")
    text = _joined(output.get("text")) or _joined(data.get("text/plain")) or _joined(data.get("text/markdown"))
    if output.get("output_type") in ("error", "pyerr"):
        text = f"{_joined(output.get('ename'))}: {_joined(output.get('evalue'))}"
    lines = _CONTROL.sub("", text[: _MOST_CHARACTERS * 2]).strip().split("\n")
    short = "\n".join(lines[:_MOST_LINES])[:_MOST_CHARACTERS]
    return short + (" …" if len(lines) > _MOST_LINES or len(text) > len(short) + 100 else "")


def _joined(value: Any) -> str:
    """Text that is written whole or as a list of lines."""
    if isinstance(value, list):
        value = "".join(each for each in value if isinstance(each, str))
    return value.replace("\r\n", "\n") if isinstance(value, str) else ""


def _within(values: dict[str, Any], key: str) -> dict[str, Any]:
    inner = values.get(key)
    return inner if isinstance(inner, dict) else {}


def _listed(values: dict[str, Any], key: str) -> list[Any]:
    inner = values.get(key)
    return inner if isinstance(inner, list) else []
