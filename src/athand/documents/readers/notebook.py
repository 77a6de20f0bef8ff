"""Jupyter notebooks: Markdown and code cells with their shortened outputs."""

import json
import re
from typing import Any

from athand.documents.extract import Extract, UnreadableFile
from athand.documents.readers.plain_text import read_text
from athand.documents.readers.text_builder import TextBuilder, build_text

_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(\S.*)")
_FENCE = re.compile(r" {0,3}(```|~~~)")
_ANSI_ESCAPE = re.compile(r"\x1b\[[0-9;]{0,20}[a-zA-Z]")
_MAX_OUTPUT_LINES = 20
_MAX_OUTPUT_CHARACTERS = 1_000


def read_notebook(data: bytes) -> Extract:
    """The text of a notebook with cell markers."""
    return build_text(lambda out: _add_notebook(_parse_json(data), out))


def _parse_json(data: bytes) -> dict[str, Any]:
    try:
        values = json.loads(read_text(data).text)
    except RecursionError as error:
        raise UnreadableFile("damaged: nested too deeply for a notebook") from error
    except ValueError as error:
        raise UnreadableFile(f"damaged: it is not JSON ({str(error)[:100]})") from error
    if not isinstance(values, dict):
        raise UnreadableFile("damaged: it is JSON, but not a notebook")
    return values


def _add_notebook(values: dict[str, Any], out: TextBuilder) -> None:
    title = _get_dict(values, "metadata").get("title")
    out.title = title if isinstance(title, str) else ""
    for number, cell in enumerate(_read_cells(values), 1):
        if isinstance(cell, dict):
            out.add_marker("cell", str(number))
            _add_cell(cell, out)


def _read_cells(values: dict[str, Any]) -> list[Any]:
    """The cells; before version 4 they are in worksheets."""
    if "worksheets" in values:
        sheets = [sheet for sheet in _get_list(values, "worksheets") if isinstance(sheet, dict)]
        return [cell for sheet in sheets for cell in _get_list(sheet, "cells")]
    if "cells" not in values:
        raise UnreadableFile("damaged: it is JSON, but not a notebook")
    return _get_list(values, "cells")


def _add_cell(cell: dict[str, Any], out: TextBuilder) -> None:
    kind, source = cell.get("cell_type"), _to_text(cell.get("source", cell.get("input")))
    if kind == "markdown":
        _add_markdown(source, out)
    elif kind == "heading":
        level = cell.get("level")
        out.add_heading(source, level if isinstance(level, int) and 1 <= level <= 6 else 1)
    else:
        out.add_block(source)
        for output in _get_list(cell, "outputs"):
            text = _output_text(output) if isinstance(output, dict) else ""
            out.add_block(f"Output: {text}" if text else "")


def _add_markdown(source: str, out: TextBuilder) -> None:
    """Adds a Markdown cell unchanged, with markers for its headings."""
    fenced, begin, at = False, 0, 0
    for line in source.splitlines(keepends=True):
        found = None if fenced else _HEADING.match(line)
        if found:
            out.add_block(source[begin:at])
            out.add_marker("heading", found[2].rstrip().rstrip("#"), len(found[1]))
            begin = at
        fenced ^= bool(_FENCE.match(line))
        at += len(line)
    out.add_block(source[begin:])


def _output_text(output: dict[str, Any]) -> str:
    """The shortened text of an output; empty for images."""
    data = _get_dict(output, "data")
    text = _to_text(output.get("text")) or _to_text(data.get("text/plain")) or _to_text(data.get("text/markdown"))
    if output.get("output_type") in ("error", "pyerr"):
        text = f"{_to_text(output.get('ename'))}: {_to_text(output.get('evalue'))}"
    lines = _ANSI_ESCAPE.sub("", text[: _MAX_OUTPUT_CHARACTERS * 2]).strip().split("\n")
    short = "\n".join(lines[:_MAX_OUTPUT_LINES])[:_MAX_OUTPUT_CHARACTERS]
    return short + (" …" if len(lines) > _MAX_OUTPUT_LINES or len(text) > len(short) + 100 else "")


def _to_text(value: Any) -> str:
    """The text of a value that is a string or a list of lines."""
    if isinstance(value, list):
        value = "".join(each for each in value if isinstance(each, str))
    return value.replace("\r\n", "\n") if isinstance(value, str) else ""


def _get_dict(values: dict[str, Any], key: str) -> dict[str, Any]:
    inner = values.get(key)
    return inner if isinstance(inner, dict) else {}


def _get_list(values: dict[str, Any], key: str) -> list[Any]:
    inner = values.get(key)
    return inner if isinstance(inner, list) else []
