"""Tool definitions: parsing, canonical JSON, content hash, diff, ids, and the passage that is indexed."""

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from athand.errors import BadData
from athand.inputs import is_text
from athand.store import Passage
from athand.text import split_identifier
from athand.text_length import shorten
from athand.tools.model import Definition, Tool
from athand.tools.poisoning.unicode import escape_invisible, is_lookalike

DEEPEST = 100  # levels of nesting in a schema
_LONGEST_NAME = 1_000
_LONGEST_SHOWN = 200  # characters of a title
_MOST_LINES = 1_000  # per field, for a line-by-line diff
_SENTENCE = re.compile(r"(?<=[.!?])(?= \S)|\n")


def parse_definition(raw: Mapping[str, Any]) -> Definition:
    """Parse a tool from `tools/list`, or with snake_case keys. BadData if it is not valid."""
    if not isinstance(raw, Mapping):
        raise BadData(f"A tool is an object with a name, not {type(raw).__name__}.")
    name = raw.get("name")
    if not isinstance(name, str) or not name.strip() or len(name) > _LONGEST_NAME:
        raise BadData(
            f"A tool needs a name of 1 to {_LONGEST_NAME} characters, not {escape_invisible(repr(name))[:60]}."
        )
    title = raw.get("title")
    return Definition(
        name=name,
        title=title if isinstance(title, str) else None,
        description=_to_text(raw.get("description"), name),
        input_schema=_copy_object(_first_present(raw, "inputSchema", "input_schema"), name) or {},
        output_schema=_copy_object(_first_present(raw, "outputSchema", "output_schema"), name),
        annotations=_copy_object(raw.get("annotations"), name) or {},
    )


def parse_offer(raw: Mapping[str, Any]) -> Definition:
    """Parse a tool that a server offers; BadData also for text that a store cannot keep."""
    definition = parse_definition(raw)
    if "\0" in definition.name or not is_text(json.dumps(definition.to_dict(), ensure_ascii=False)):
        raise BadData("It has text that is not valid Unicode, or a NUL character in its name.")
    return definition


def content_hash(definition: Definition) -> str:
    """SHA-256 of the canonical JSON."""
    return hashlib.sha256(to_json(definition).encode("ascii")).hexdigest()


def to_json(definition: Definition) -> str:
    """Canonical JSON: ASCII, sorted keys, one line."""
    return _canonical_json(
        {
            "name": definition.name,
            "title": definition.title,
            "description": definition.description,
            "inputSchema": definition.input_schema,
            "outputSchema": definition.output_schema,
            "annotations": definition.annotations,
        },
        definition.name,
    )


def from_json(text: str) -> Definition:
    """Parse what `to_json` returned."""
    return parse_definition(json.loads(text))


def cut_definition(tool: Tool, longest: int | None) -> Tool:
    """The tool; of a longer definition only the beginning of its texts, and how to get the rest."""
    parts = (tool.input_schema, tool.output_schema or {}, tool.annotations)
    texts = (tool.description, tool.title or "", tool.diff, *(json.dumps(part, ensure_ascii=False) for part in parts))
    if longest is None or sum(map(len, texts)) <= longest:
        return tool
    note = f"This definition has {sum(map(len, texts)):,} characters; `describe` of this tool answers all of it."
    return replace(
        tool,
        title=tool.title and shorten(tool.title, _LONGEST_SHOWN),
        description=shorten(tool.description, longest // 2),
        input_schema={"description": note},
        output_schema=None,
        annotations={name: each for name, each in tool.annotations.items() if isinstance(each, bool)},
        diff="",
    )


def diff(old: Definition, new: Definition) -> str:
    """A unified diff per field, with invisible characters escaped; empty if nothing has changed."""
    fields = ("name", "title", "description", "input_schema", "output_schema", "annotations")
    return "\n".join(line for each in fields for line in _diff_field(each, getattr(old, each), getattr(new, each)))


def _diff_field(field: str, old: Any, new: Any) -> Iterator[str]:
    before, after = _to_lines(old), _to_lines(new)
    if before == after:
        return
    odd = frozenset(char for char in set("".join(before)) ^ set("".join(after)) if is_lookalike(char))
    was, now = f"{field} (approved)", f"{field} (now)"
    for line in _diff_lines(before, after, was, now):
        yield escape_invisible(line, odd) if line[0] in "+-" else escape_invisible(line)


def _diff_lines(before: list[str], after: list[str], was: str, now: str) -> Iterator[str]:
    """A unified diff; for very long fields only 50 lines after the first difference, since difflib is quadratic."""
    import difflib

    if max(len(before), len(after)) <= _MOST_LINES:
        yield from difflib.unified_diff(before, after, was, now, lineterm="", n=2)
        return
    alike = zip(before, after, strict=False)
    start = next((at for at, (one, other) in enumerate(alike) if one != other), min(len(before), len(after)))
    yield f"--- {was}, {len(before)} lines"
    yield f"+++ {now}, {len(after)} lines, here those from {start + 1} on"
    yield from (f"-{line}" for line in before[start : start + 50])
    yield from (f"+{line}" for line in after[start : start + 50])


def _to_lines(value: Any) -> list[str]:
    """A field as lines: the sentences of a text, or indented JSON."""
    if value is None:
        return []
    text = value if isinstance(value, str) else json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False)
    return _SENTENCE.split(text)


def _to_text(value: Any, name: str) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return _canonical_json(value, name)


def _first_present(raw: Mapping[str, Any], *keys: str) -> Any:
    return next((raw[key] for key in keys if raw.get(key) is not None), None)


def _copy_object(value: Any, name: str) -> dict[str, Any] | None:
    """A deep copy of a JSON object; None if it is not an object."""
    if not isinstance(value, Mapping):
        return None
    _check_depth(value, name)
    copied: dict[str, Any] = json.loads(_canonical_json(value, name))
    return copied


def _check_depth(value: Any, name: str) -> None:
    level = [value]
    for _ in range(DEEPEST):
        level = list({id(below): below for each in level for below in _children(each)}.values())
        if not level:
            return
    raise BadData(
        f"The tool {_quote_name(name)} has a schema of more than {DEEPEST} levels. Ask its maker for a flatter one."
    )


def _children(value: Any) -> Sequence[Any]:
    """The objects and lists directly inside a value."""
    inside = value.values() if isinstance(value, Mapping) else value
    return [each for each in inside if isinstance(each, Mapping | list | tuple)]


def _canonical_json(value: Any, name: str) -> str:
    try:
        return json.dumps(value, sort_keys=True, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise BadData(f"The definition of the tool {_quote_name(name)} is not JSON: {error}.") from error


def _quote_name(name: str) -> str:
    return repr(escape_invisible(name[:60]))


LONGEST_ID = 64
_SERVER = re.compile(r"(?!.*__)[A-Za-z0-9_-]*[A-Za-z0-9-]")  # no `__`, so that the first one in an id is the separator
_TOOL = re.compile(r"[A-Za-z0-9_-]+")
_LOOKS_CHANGED = re.compile(r".*-[0-9a-f]{16}", re.DOTALL)
_LONGEST_SERVER = 20


def tool_id(server: str, tool: str) -> str:
    """The id `server__tool`; names that do not fit its alphabet or length are shortened and get a hash of both."""
    plain = f"{server}__{tool}"
    if _is_plain(server, tool) and len(plain) <= LONGEST_ID:
        return plain
    safe_server = re.sub("__+", "_", _to_ascii(server))[:_LONGEST_SERVER].strip("_") or "server"
    room = LONGEST_ID - len(safe_server) - len("__-") - 16
    return f"{safe_server}__{_to_ascii(tool)[:room].strip('_') or 'tool'}-{hash_pair(server, tool)}"


def _is_plain(server: str, tool: str) -> bool:
    """Whether both names fit unchanged; tool names that look as if they ended in such a hash do not."""
    is_safe = _SERVER.fullmatch(server) and _TOOL.fullmatch(tool)
    return bool(is_safe) and not _LOOKS_CHANGED.fullmatch(tool)


def _to_ascii(name: str) -> str:
    """The ASCII part of a name."""
    letters = unicodedata.normalize("NFKD", name[:LONGEST_ID]).encode("ascii", "ignore").decode()
    return re.sub(r"[^A-Za-z0-9_-]+", "_", letters).strip("_")


def hash_pair(server: str, tool: str) -> str:
    """64 bits of SHA-256 of the pair; the length prefix keeps `a` + `bc` and `ab` + `c` apart."""
    pair = f"{len(server)}:{server}{tool}".encode("utf-8", "surrogatepass")
    return hashlib.sha256(pair).hexdigest()[:16]


_LONGEST_TEXT = 4_000  # characters of a description, and of all parameters together
_DEEPEST_PARAMETER = 3
_MOST_CHOICES = 12


def to_passage(space: str, id_: str, server: str, definition: Definition, created_at: int) -> Passage:
    """The passage of a tool. The embedded text has the name twice, since it says more than a long description."""
    description = definition.description[:_LONGEST_TEXT]
    parameters = " ".join(_iter_parameters(definition.input_schema, 0))[:_LONGEST_TEXT]
    name = " ".join(split_identifier(definition.name)) or definition.name
    spoken = definition.title or name
    return Passage(
        id=id_,
        item_id=id_,
        space=space,
        fields=(f"{definition.name} {definition.title or ''}", server, description, parameters),
        text=f"{name}. {spoken}. {description} {parameters}".strip(),
        created_at=created_at,
    )


def _iter_parameters(schema: Any, depth: int) -> Iterator[str]:
    """The names, descriptions and enum values of an object's properties, recursively."""
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(properties, Mapping) or depth == _DEEPEST_PARAMETER:
        return
    for name, each in properties.items():
        yield " ".join(split_identifier(str(name)))
        if isinstance(each, Mapping):
            yield from _describe_parameter(each)
            yield from _iter_parameters(each, depth + 1)
            yield from _iter_parameters(each.get("items"), depth + 1)


def _describe_parameter(parameter: Mapping[str, Any]) -> Iterator[str]:
    description, choices = parameter.get("description"), parameter.get("enum")
    if isinstance(description, str):
        yield description
    if isinstance(choices, list):
        yield from (choice for choice in choices[:_MOST_CHOICES] if isinstance(choice, str))
