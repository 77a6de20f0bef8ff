"""Reads memories of other tools: Markdown notes, and the file of the MCP reference memory server."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from athand.errors import AthandError, BadData, InvalidInput, NotFound
from athand.inputs import check_choice

FORMATS = ("athand", "mcp", "markdown")
_HEADING = re.compile(r"(#{1,6})\s+(.*?)\s*#*\s*$")
_BULLET = re.compile(r"[-*+]\s+|\d+[.)]\s+")
_FENCE = re.compile(r"\s*(```|~~~)")
_MARKDOWN = (".md", ".markdown", ".mdx", ".txt")

Item = dict[str, Any]


def detect_format(path: Path) -> str:
    """The format of a file, by its name and its first line."""
    if path.suffix.lower() in _MARKDOWN or path.is_dir():
        return "markdown"
    first = next((values for _, values in json_lines(path)), {})
    return "mcp" if first.get("type") in ("entity", "relation") else "athand"


def read(path: Path, kind: str, project: str) -> Iterator[tuple[Path, int, Item]]:
    """The arguments of `add` for everything in a file or a folder of notes, each with its file and line."""
    files = _list_notes(path) if path.is_dir() else [path]
    parse = _parse_notes if check_choice("format", kind, FORMATS) == "markdown" else _parse_entities
    for file in files:
        for number, item in parse(file):
            yield file, number, {**item, "project": project, "written_by": "import"}


def _list_notes(folder: Path) -> list[Path]:
    try:
        # A link may lead out of the folder.
        return sorted(path for path in folder.rglob("*.md") if path.is_file() and not path.is_symlink())
    except OSError as error:  # a folder was removed meanwhile
        raise InvalidInput(f"{folder} cannot be read: {error.strerror}. Nothing was imported.") from error


def json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a JSON Lines file with their line numbers; empty lines are skipped."""
    for number, line in enumerate(_read_text(path).split("\n"), 1):
        if line.strip():
            with locate_errors(path, number):
                values = _parse_object(line)
            yield number, values


@contextmanager
def locate_errors(path: Path, number: int) -> Iterator[None]:
    """Adds file and line to the message of an error."""
    try:
        yield
    except InvalidInput as error:
        raise BadData(f"{path} line {number}: {error} Nothing was imported.") from error
    except AthandError as error:
        raise type(error)(f"{path} line {number}: {error} Nothing was imported.") from error


def _parse_object(line: str) -> dict[str, Any]:
    try:
        values = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"This is not JSON ({error}).") from error
    if not isinstance(values, dict):
        raise InvalidInput("This is not a JSON object.")
    return values


def _read_text(path: Path) -> str:
    try:
        return path.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadData(f"{path} is not UTF-8 at byte {error.start}. Convert it before.") from error
    except FileNotFoundError as error:
        raise NotFound(f"No file {path}. Nothing was imported.") from error
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}.") from error


def _parse_entities(path: Path) -> Iterator[tuple[int, Item]]:
    """Observations and relations of the MCP reference memory server, each a memory."""
    for number, values in json_lines(path):
        with locate_errors(path, number):
            items = _parse_relation(values) if values.get("type") == "relation" else _parse_entity(values)
        yield from ((number, item) for item in items)


def _parse_entity(values: Item) -> list[Item]:
    name, kind, observations = values.get("name"), values.get("entityType"), values.get("observations", [])
    if values.get("type") != "entity" or not isinstance(name, str) or not isinstance(observations, list):
        raise InvalidInput("It is neither an entity with a name and observations nor a relation.")
    about = {"concepts": [name], "tags": [kind] if kind else [], "context": f"{name} ({kind})" if kind else name}
    texts = [f"{name}: {observation}" for observation in observations] or [f"{name} is a {kind or 'thing'}"]
    return [{"content": text, **about} for text in texts]


def _parse_relation(values: Item) -> list[Item]:
    ends = [values.get(each) for each in ("from", "to")]
    kind = values.get("relationType")
    if not all(isinstance(each, str) and each for each in (*ends, kind)):
        raise InvalidInput("A relation needs from, to and relationType.")
    return [{"content": f"{ends[0]} {str(kind).replace('_', ' ')} {ends[1]}", "concepts": ends}]


def _parse_notes(path: Path) -> Iterator[tuple[int, Item]]:
    """Every list item and paragraph of a note, with its headings as context."""
    headings: list[str] = []
    for number, block in _split_blocks(_read_text(path)):
        heading = _HEADING.match(block)
        if heading:
            headings = [*headings[: len(heading[1]) - 1], heading[2]]
        else:
            context = " > ".join(filter(None, (path.stem, *headings)))
            yield number, {"content": block, "context": context, "files": [path.name]}


def _split_blocks(text: str) -> Iterator[tuple[int, str]]:
    """Headings, list items with their indented text, paragraphs and fenced code, each with its line number."""
    block: list[str] = []
    begin, fenced, lines = 0, False, _blank_front_matter(text.split("\n"))
    for number, line in enumerate([*lines, ""], 1):
        begins = bool(_HEADING.match(line) or _BULLET.match(line)) and not fenced
        ends = not line.strip() and not fenced
        if (begins or ends) and block:
            yield begin, "\n".join(block).strip()
            block = []
        if not ends:
            begin = begin if block else number
            block.append(line if fenced or block else _BULLET.sub("", line, count=1))
        if _HEADING.match(line) and not fenced:
            yield begin, "\n".join(block)
            block = []
        fenced ^= bool(_FENCE.match(line))
    if block:
        yield begin, "\n".join(block).strip()


def _blank_front_matter(lines: list[str]) -> list[str]:
    """The lines of a note, those of its metadata empty, so that line numbers stay."""
    if lines[0].strip() != "---" or "---" not in (line.strip() for line in lines[1:]):
        return lines
    end = next(at for at, line in enumerate(lines[1:], 1) if line.strip() == "---")
    return [""] * (end + 1) + lines[end + 1 :]
