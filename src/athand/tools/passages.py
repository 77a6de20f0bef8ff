"""What is matched of a tool: its name, its server, its description, and its parameters with theirs."""

from collections.abc import Iterator, Mapping
from typing import Any

from athand.store import Passage
from athand.text import split_identifier
from athand.tools.model import Definition

_LONGEST = 4_000  # characters of a description, and of all parameters together
_DEEPEST = 3
_MOST_CHOICES = 12


def to_passage(space: str, id_: str, server: str, definition: Definition, created_at: int) -> Passage:
    """The passage of a tool. Its name is said twice where meaning counts: it tells more than a long description."""
    description = definition.description[:_LONGEST]
    parameters = " ".join(_parameters(definition.input_schema, 0))[:_LONGEST]
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


def _parameters(schema: Any, depth: int) -> Iterator[str]:
    """The names, descriptions and choices of an object's properties, and of objects inside of it."""
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(properties, Mapping) or depth == _DEEPEST:
        return
    for name, each in properties.items():
        yield " ".join(split_identifier(str(name)))
        if isinstance(each, Mapping):
            yield from _said_of(each)
            yield from _parameters(each, depth + 1)
            yield from _parameters(each.get("items"), depth + 1)


def _said_of(parameter: Mapping[str, Any]) -> Iterator[str]:
    description, choices = parameter.get("description"), parameter.get("enum")
    if isinstance(description, str):
        yield description
    if isinstance(choices, list):
        yield from (choice for choice in choices[:_MOST_CHOICES] if isinstance(choice, str))
