"""What is pinned of a tool: its definition, a hash in which every character counts, and what has changed since."""

import difflib
import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from athand.errors import BadData
from athand.tools.characters import is_lookalike, visible
from athand.tools.model import Definition

DEEPEST = 100  # levels of a schema; more are made to break whoever reads them
_LONGEST_NAME = 1_000
_MOST_LINES = 1_000  # of a field that is compared line by line
_SENTENCE = re.compile(r"(?<=[.!?])(?= \S)|\n")


def definition_of(raw: Mapping[str, Any]) -> Definition:
    """A tool as `tools/list` has it, or as snake_case data has it. BadData where it cannot be one."""
    if not isinstance(raw, Mapping):
        raise BadData(f"A tool is an object with a name, not {type(raw).__name__}.")
    name = raw.get("name")
    if not isinstance(name, str) or not name.strip() or len(name) > _LONGEST_NAME:
        raise BadData(f"A tool needs a name of 1 to {_LONGEST_NAME} characters, not {visible(repr(name))[:60]}.")
    title = raw.get("title")
    return Definition(
        name=name,
        title=title if isinstance(title, str) else None,
        description=_text(raw.get("description"), name),
        input_schema=_object(_either(raw, "inputSchema", "input_schema"), name) or {},
        output_schema=_object(_either(raw, "outputSchema", "output_schema"), name),
        annotations=_object(raw.get("annotations"), name) or {},
    )


def content_hash(definition: Definition) -> str:
    """SHA-256 of all that is pinned; the order of keys does not count, every character does."""
    return hashlib.sha256(to_json(definition).encode("ascii")).hexdigest()


def to_json(definition: Definition) -> str:
    """The definition as one line of ASCII, the same for the same definition."""
    return _canonical(
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
    """What `to_json` has written."""
    return definition_of(json.loads(text))


def diff(old: Definition, new: Definition) -> str:
    """What has changed, field by field, line by line; what cannot be seen is written out. Empty if nothing has."""
    fields = ("name", "title", "description", "input_schema", "output_schema", "annotations")
    return "\n".join(line for each in fields for line in _changes(each, getattr(old, each), getattr(new, each)))


def _changes(field: str, old: Any, new: Any) -> Iterator[str]:
    before, after = _shown(old), _shown(new)
    if before == after:
        return
    odd = frozenset(char for char in set("".join(before)) ^ set("".join(after)) if is_lookalike(char))
    was, now = f"{field} (approved)", f"{field} (now)"
    for line in _compared(before, after, was, now):
        yield visible(line, odd) if line[0] in "+-" else visible(line)


def _compared(before: list[str], after: list[str], was: str, now: str) -> Iterator[str]:
    """A unified diff; of very long fields only their beginnings, since comparing takes time by the square."""
    if max(len(before), len(after)) <= _MOST_LINES:
        yield from difflib.unified_diff(before, after, was, now, lineterm="", n=2)
        return
    alike = zip(before, after, strict=False)
    start = next((at for at, (one, other) in enumerate(alike) if one != other), min(len(before), len(after)))
    yield f"--- {was}, {len(before)} lines"
    yield f"+++ {now}, {len(after)} lines, here those from {start + 1} on"
    yield from (f"-{line}" for line in before[start : start + 50])
    yield from (f"+{line}" for line in after[start : start + 50])


def _shown(value: Any) -> list[str]:
    """A field as lines: sentences of a text, or sorted JSON."""
    if value is None:
        return []
    text = value if isinstance(value, str) else json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False)
    return _SENTENCE.split(text)


def _text(value: Any, name: str) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return _canonical(value, name)


def _either(raw: Mapping[str, Any], *keys: str) -> Any:
    return next((raw[key] for key in keys if raw.get(key) is not None), None)


def _object(value: Any, name: str) -> dict[str, Any] | None:
    """A copy of a JSON object that nobody else holds; None for what is no object."""
    if not isinstance(value, Mapping):
        return None
    _check_depth(value, name)
    copied: dict[str, Any] = json.loads(_canonical(value, name))
    return copied


def _check_depth(value: Any, name: str) -> None:
    level = [value]
    for _ in range(DEEPEST):
        level = list({id(below): below for each in level for below in _below(each)}.values())
        if not level:
            return
    raise BadData(
        f"The tool {_named(name)} has a schema of more than {DEEPEST} levels. Ask its maker for a flatter one."
    )


def _below(value: Any) -> Sequence[Any]:
    """The objects and lists right inside of one."""
    inside = value.values() if isinstance(value, Mapping) else value
    return [each for each in inside if isinstance(each, Mapping | list | tuple)]


def _canonical(value: Any, name: str) -> str:
    try:
        return json.dumps(value, sort_keys=True, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise BadData(f"The definition of the tool {_named(name)} is not JSON: {error}.") from error


def _named(name: str) -> str:
    return repr(visible(name[:60]))
