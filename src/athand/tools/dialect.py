"""One dialect of JSON Schema: what servers write as we understand it, without what could hang us.

Whatever comes in, a form comes out: a dict with the keywords of draft 2020-12 that hold what they should. What older
drafts write otherwise is put into today's words, names of types that programmers use are taken for the real ones, and
what makes no sense is left out: it is then not checked. Patterns are left out on purpose: a regular expression can be
made to run for years. References lead to forms of the same document, never elsewhere.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

Form = dict[str, Any]

TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")
DEEPEST = 64
MOST_FORMS = 20_000
_MEANT = {
    **{each: each for each in TYPES},
    **dict.fromkeys(("str", "text", "char"), "string"),
    **dict.fromkeys(("int", "long"), "integer"),
    **dict.fromkeys(("float", "double", "decimal"), "number"),
    **dict.fromkeys(("list", "tuple"), "array"),
    **dict.fromkeys(("dict", "map", "json"), "object"),
    **dict.fromkeys(("none", "nil"), "null"),
    "bool": "boolean",
}
_OLD_DRAFTS = ("draft-03", "draft-04", "draft-06", "draft-07")  # beside a reference they read nothing else
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_FORM = ("items", "not", "if", "then", "else", "contains", "propertyNames")
_FORMS = ("anyOf", "oneOf", "allOf", "prefixItems")
_REMARKS = ("title", "description", "default", "deprecated", "examples")


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_list(value: object) -> bool:
    return isinstance(value, list) and bool(value)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


_SENSIBLE: Mapping[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _is_number),
    "multipleOf": lambda value: _is_number(value) and value > 0,
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"), _is_count),
    **dict.fromkeys(("minContains", "maxContains"), _is_count),
    **dict.fromkeys(("enum", "examples"), _is_list),
    **dict.fromkeys(("title", "description", "format"), _is_text),
    **dict.fromkeys(("const", "default"), lambda value: True),
    **dict.fromkeys(("uniqueItems", "deprecated"), lambda value: value is True),
}


@dataclass(slots=True, eq=False)
class Reference:
    """Where a `$ref` leads, and the last name of the way there."""

    name: str
    target: Form = field(default_factory=dict, repr=False)  # shown, references to references could fill the memory


def understood(schema: object) -> Form:
    """The form of a schema; `{}`, which everything fits, where nothing is to be understood."""
    reader = _Reader(schema)
    form = reader.form(schema, 0)
    while reader.open:
        reference, target = reader.open.pop()
        reference.target = reader.form(target, 0)
    return form


class _Reader:
    """Reads one document; a place in it always gives the same form, so that forms may lead back to themselves."""

    def __init__(self, document: object) -> None:
        self._document = document
        self._forms: dict[int, Form] = {}
        self._names = dict(_names(document))
        said = document.get("$schema") if isinstance(document, Mapping) else None
        self._is_old = isinstance(said, str) and any(draft in said for draft in _OLD_DRAFTS)
        self.open: list[tuple[Reference, object]] = []

    def form(self, schema: object, depth: int) -> Form:
        if schema is False:
            return {"not": {}}
        if not isinstance(schema, Mapping) or depth > DEEPEST:
            return {}
        if id(schema) not in self._forms and len(self._forms) < MOST_FORMS:
            form = self._forms[id(schema)] = {}
            form.update(self._read(schema, depth + 1))
        return self._forms.get(id(schema), {})

    def _read(self, schema: Mapping[str, Any], depth: int) -> Form:
        reference = self._reference(schema)
        if reference and self._is_old:
            return {key: value for key, value in _plain(schema).items() if key in _REMARKS} | reference
        form = reference | _types(schema) | _plain(schema) | self._objects(schema, depth) | self._arrays(schema, depth)
        form |= {key: self.form(schema[key], depth) for key in _FORM if isinstance(schema.get(key), (Mapping, bool))}
        for key in _FORMS:
            if _is_list(schema.get(key)):
                form[key] = [self.form(each, depth) for each in schema[key]]
        return form

    def _objects(self, schema: Mapping[str, Any], depth: int) -> Form:
        form: Form = {}
        properties = _mapping(schema, "properties")
        if properties:
            form["properties"] = {name: self.form(each, depth) for name, each in properties.items()}
        named = schema.get("required")
        required = [name for name in named if isinstance(name, str)] if isinstance(named, list) else []
        required += [name for name in properties if _mapping(properties, name).get("required") is True]
        if required:
            form["required"] = list(dict.fromkeys(required))
        others = schema.get("additionalProperties")
        if isinstance(others, (Mapping, bool)) and not schema.get("patternProperties"):
            form["additionalProperties"] = others if isinstance(others, bool) else self.form(others, depth)
        return form | self._dependencies(schema, depth)

    def _dependencies(self, schema: Mapping[str, Any], depth: int) -> Form:
        every = {**_mapping(schema, "dependencies"), **_mapping(schema, "dependentSchemas")}
        names = {**every, **_mapping(schema, "dependentRequired")}
        required = {key: [name for name in each if _is_text(name)] for key, each in names.items() if _is_list(each)}
        schemas = {key: self.form(each, depth) for key, each in every.items() if isinstance(each, Mapping)}
        return {
            **({"dependentRequired": required} if required else {}),
            **({"dependentSchemas": schemas} if schemas else {}),
        }

    def _arrays(self, schema: Mapping[str, Any], depth: int) -> Form:
        """The items one by one, as older drafts write them."""
        if not _is_list(schema.get("items")):
            return {}
        rest = schema.get("additionalItems", True)
        form: Form = {"prefixItems": [self.form(each, depth) for each in schema["items"]]}
        return form if rest is True else form | {"items": self.form(rest, depth)}

    def _reference(self, schema: Mapping[str, Any]) -> Form:
        said = next((schema[key] for key in _REFERENCES if isinstance(schema.get(key), str)), None)
        target = None if said is None else self._found(said)
        if said is None or target is None:
            return {}
        reference = Reference(unquote(said.rstrip("#/").rpartition("/")[2]).lstrip("#"))
        self.open.append((reference, target))
        return {"$ref": reference}

    def _found(self, reference: str) -> object:
        base, _, fragment = reference.partition("#")
        own = self._document.get("$id") if isinstance(self._document, Mapping) else None
        if base and base != own:
            return self._names.get(reference)
        if fragment.startswith("/"):
            return _at(self._document, fragment)
        return self._names.get(f"#{fragment}") if fragment else self._document


def _types(schema: Mapping[str, Any]) -> Form:
    """The names of the types, if all of them are understood."""
    said = schema.get("type")
    names = said if isinstance(said, list) else [said]
    types = [_MEANT.get(name.strip().lower()) if isinstance(name, str) else None for name in names]
    if not types or None in types:
        return {}
    nullable = ["null"] if schema.get("nullable") is True else []
    return {"type": list(dict.fromkeys([*types, *nullable]))}


def _plain(schema: Mapping[str, Any]) -> Form:
    form = {key: schema[key] for key, is_sensible in _SENSIBLE.items() if key in schema and is_sensible(schema[key])}
    for key, limit in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if schema.get(key) is True and limit in form:
            form[key] = form.pop(limit)
    return form


def _mapping(schema: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = schema.get(key)
    return {name: each for name, each in value.items() if isinstance(name, str)} if isinstance(value, Mapping) else {}


def _at(document: object, pointer: str) -> object:
    """What a JSON pointer leads to; None for nothing."""
    for part in unquote(pointer).split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(document, Mapping):
            document = document.get(name)
        elif isinstance(document, list) and name.isdecimal() and name.isascii() and len(name) < 6:
            document = document[int(name)] if int(name) < len(document) else None
        else:
            return None
    return document


def _names(document: object) -> Iterator[tuple[str, object]]:
    """The places of a document that have a name of their own."""
    waiting, seen = [document], set[int]()
    while waiting and len(seen) < MOST_FORMS:
        place = waiting.pop()
        if id(place) in seen:
            continue
        seen.add(id(place))
        if isinstance(place, Mapping):
            yield from ((f"#{place[key]}", place) for key in ("$anchor", "$dynamicAnchor") if _is_text(place.get(key)))
            if isinstance(place.get("$id"), str):
                yield place["$id"], place
            waiting += place.values()
        elif isinstance(place, list):
            waiting += place
