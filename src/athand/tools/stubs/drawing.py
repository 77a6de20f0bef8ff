"""Types of a language drawn from forms: objects become records with a name, everything else an expression.

A schema can refer to itself, and can be made to grow without end: what is drawn is drawn once, and after enough of it,
or where an expression would be too long, comes the type of anything.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from athand.tools.coercion import types_of
from athand.tools.dialect import Form
from athand.tools.stubs.naming import Names, pascal

_MOST_SHAPES, _MOST_RECORDS = 2_000, 200  # of one tool
_MOST_FIELDS, _MOST_PARTS = 500, 200
_LONGEST = 2_000
_DEEPEST = 50
_REMARKS = frozenset(("title", "description", "default", "deprecated", "examples"))
_LARGEST = 2**53


class Language(Protocol):
    """How a language writes its types."""

    anything: str
    nothing: str

    def scalar(self, name: str) -> str: ...

    def literal(self, value: Any) -> str | None: ...

    def one_of(self, literals: Sequence[str]) -> str: ...

    def list_of(self, item: str) -> str: ...

    def tuple_of(self, items: Sequence[str], rest: str | None) -> str: ...

    def map_of(self, value: str) -> str: ...

    def union(self, members: Sequence[str]) -> str: ...


@dataclass(frozen=True, slots=True)
class Field:
    """One property of an object."""

    name: str
    type: str
    is_required: bool
    form: Form


@dataclass(frozen=True, slots=True)
class Record:
    """An object with known properties; an open one may have others."""

    name: str
    description: str
    fields: tuple[Field, ...]
    is_open: bool


class Drawing:
    """The types of one module."""

    def __init__(self, language: Language, names: Names) -> None:
        self.records: dict[str, Record] = {}
        self._language, self._names = language, names
        self._drawn: dict[int, tuple[Form, str]] = {}  # the form too: its place in memory must not be used again
        self._named: dict[int, str] = {}  # records that are being drawn, and may be met again inside themselves
        self._depth = 0
        self.begin_tool()

    def begin_tool(self) -> None:
        """From here on another tool is drawn, with limits of its own."""
        self._most_shapes, self._most_records = len(self._drawn) + _MOST_SHAPES, len(self.records) + _MOST_RECORDS

    def type_of(self, form: Form, name: str) -> str:
        """The type of what fits the form, `name` being what an object would be called."""
        if id(form) in self._drawn:
            return self._named.get(id(form), self._drawn[id(form)][1])
        if len(self._drawn) >= self._most_shapes or self._depth >= _DEEPEST:
            return self._language.anything
        self._drawn[id(form)] = form, self._language.anything
        self._depth += 1
        drawn = self._draw(form, name)
        self._depth -= 1
        drawn = drawn if len(drawn) <= _LONGEST else self._language.anything
        self._drawn[id(form)] = form, drawn
        self._named.pop(id(form), None)
        return drawn

    def answer(self, form: Form, name: str) -> str:
        """The type of what a function returns: if that cannot be, it is not known."""
        drawn = self.type_of(form, name)
        return self._language.anything if drawn == self._language.nothing else drawn

    def fields(self, form: Form, name: str) -> Iterator[Field]:
        """The properties of an object, those that are required first."""
        properties, required = form.get("properties", {}), set(form.get("required", ()))
        order = sorted(list(properties)[:_MOST_FIELDS], key=lambda each: each not in required)
        for each in order:
            drawn = self.type_of(properties[each], f"{name}_{each}")
            yield Field(each, drawn, each in required, _described(properties[each]))

    def _draw(self, form: Form, name: str) -> str:
        if "$ref" in form and form.keys() <= _REMARKS | {"$ref"}:
            return self.type_of(form["$ref"].target, form["$ref"].name or name)
        whole = merged(form)
        listed = [whole["const"]] if "const" in whole else whole.get("enum")
        if listed is not None:
            return self._listed(listed)
        variants = _variants(whole)
        if variants:
            drawn = [self.type_of(each, name if len(variants) == 1 else f"{name}_{at}") for at, each in variants]
            return self._one_of(drawn)
        if whole.get("not") == {}:
            return self._language.nothing
        return self._one_of([self._of_type(each, whole, name, form) for each in _types(whole)])

    def _of_type(self, kind: str, form: Form, name: str, source: Form) -> str:
        if kind == "object":
            return self._object(form, name, source)
        return self._array(form, name) if kind == "array" else self._language.scalar(kind)

    def _object(self, form: Form, name: str, source: Form) -> str:
        if form.get("properties"):
            return self._record(form, name, source)
        others = form.get("additionalProperties")
        value = self.type_of(others, f"{name}_value") if isinstance(others, dict) else self._language.anything
        return self._language.map_of(value)

    def _record(self, form: Form, name: str, source: Form) -> str:
        if len(self.records) >= self._most_records:
            return self._language.map_of(self._language.anything)
        claimed = self._names.claim(pascal(name))
        self._named[id(source)] = claimed
        self.records[claimed] = Record(claimed, "", (), False)  # keeps its place before those it needs
        others = form.get("additionalProperties")
        is_open = others is True or isinstance(others, dict)
        self.records[claimed] = Record(claimed, form.get("description", ""), tuple(self.fields(form, claimed)), is_open)
        return claimed

    def _array(self, form: Form, name: str) -> str:
        rest = self.type_of(form["items"], f"{name}_item") if "items" in form else self._language.anything
        first = [self.type_of(each, f"{name}_{at}") for at, each in enumerate(form.get("prefixItems", ())[:50], 1)]
        if not first:
            return self._language.list_of(rest)
        is_closed = rest == self._language.nothing or form.get("maxItems") == len(first)
        return self._language.tuple_of(first, None if is_closed else rest)

    def _listed(self, values: Sequence[Any]) -> str:
        literals = [self._language.literal(value) if _is_exact(value) else None for value in values]
        exact = self._language.one_of(list(dict.fromkeys(each for each in literals if each is not None)))
        if None not in literals and len(exact) <= _LONGEST:
            return exact
        return self._one_of([self._of_type(each, {}, "", {}) for each in types_of({"enum": list(values)})])

    def _one_of(self, members: Sequence[str]) -> str:
        if self._language.anything in members or not members:
            return self._language.anything
        return self._language.union(list(dict.fromkeys(members)))


def merged(form: Form) -> Form:
    """One form for what a form says itself, by reference and by `allOf`; where they disagree, the first is right."""
    parts = _parts(form)
    if len(parts) == 1:
        return form
    whole: Form = {}
    for part in parts:
        properties = {**part.get("properties", {}), **whole.get("properties", {})}
        required = [*whole.get("required", ()), *part.get("required", ())]
        whole = {key: each for key, each in part.items() if key not in ("$ref", "allOf")} | whole
        whole |= {"properties": properties} if properties else {}
        whole |= {"required": required} if required else {}
    return whole


def _parts(form: Form) -> list[Form]:
    parts: list[Form] = []
    waiting, seen = [form], set[int]()
    while waiting and len(parts) < _MOST_PARTS:
        part = waiting.pop(0)
        if id(part) not in seen:
            seen.add(id(part))
            parts.append(part)
            waiting += ([part["$ref"].target] if "$ref" in part else []) + part.get("allOf", [])
    return parts


def _variants(form: Form) -> list[tuple[int, Form]]:
    """The forms that an `anyOf` or `oneOf` allows, each with what holds for all; none that only add conditions."""
    branches = form.get("anyOf") or form.get("oneOf") or []
    common = {key: each for key, each in form.items() if key not in ("anyOf", "oneOf", *_REMARKS)}
    if common and not any({"properties", "type", "$ref", "allOf", "const", "enum"} & each.keys() for each in branches):
        return []
    whole = [merged({"allOf": [branch, common]}) if common else branch for branch in branches[:_MOST_FIELDS]]
    return list(enumerate(whole, 1))


def _types(form: Form) -> list[str]:
    said = types_of(form)
    implied = ["object"] * ("properties" in form) + ["array"] * ("items" in form or "prefixItems" in form)
    types = said or implied
    return [each for each in types if not (each == "integer" and "number" in types)]


def _described(form: Form) -> Form:
    """The remarks about a property, also those that stand where it refers to."""
    return {key: each for key, each in merged(form).items() if key in _REMARKS}


def _is_exact(value: Any) -> bool:
    """Whether a number can be written so that all read the same."""
    return not isinstance(value, (int, float)) or abs(value) < _LARGEST
