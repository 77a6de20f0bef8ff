"""Routes of an OpenAPI document in words: their parameters, the kinds of values, a line that calls them."""

import json
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Document = Mapping[str, Any]
Schema = Mapping[str, Any]
_SAMPLES = {"string": "…", "integer": 1, "number": 0.5, "boolean": True, "array": [], "object": {}}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One value that a route takes, and where: in its path, its query or its body."""

    name: str
    place: str
    required: bool
    description: str
    schema: Schema

    @property
    def default(self) -> Any:
        """What is meant when it is not given."""
        return self.schema.get("default")


def parameters_of(route: Mapping[str, Any], document: Document) -> Iterator[Parameter]:
    """All that a route takes."""
    for each in route.get("parameters", ()):
        required, description = each.get("required", False), each.get("description", "")
        yield Parameter(each["name"], each["in"], required, description, each["schema"])
    body = resolved(_body(route), document)
    for name, schema in body.get("properties", {}).items():
        yield Parameter(name, "body", name in body.get("required", ()), schema.get("description", ""), schema)


def _body(route: Mapping[str, Any]) -> Schema:
    content: Mapping[str, Any] = route.get("requestBody", {}).get("content", {})
    schema: Schema = content.get("application/json", {}).get("schema", {})
    return schema


def resolved(schema: Schema, document: Document) -> Schema:
    """The schema itself, where only its name is given."""
    while "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return schema


def type_in_words(schema: Schema, document: Document) -> str:
    """What kind of value is meant."""
    found = resolved(schema, document)
    if "anyOf" in found:
        kinds = [each for each in found["anyOf"] if each.get("type") != "null"]  # null: it may be left out
        return " | ".join(dict.fromkeys(type_in_words(each, document) for each in kinds))
    if "enum" in found or "const" in found:
        return " | ".join(json.dumps(each) for each in found.get("enum", [found.get("const")]))
    if found.get("type") == "array":
        return f"list of {type_in_words(found.get('items', {}), document)}"
    return str(found.get("type", "anything"))


def curl_line(route: Mapping[str, Any], document: Document, url: str) -> str:
    """A line for a shell, with what the route needs."""
    needed = [each for each in parameters_of(route, document) if each.required]
    path = route["path"]
    for each in needed:
        path = path.replace(f"{{{each.name}}}", each.name.upper())
    words = ["curl", "-G"] if any(each.place == "query" for each in needed) else ["curl"]
    for each in needed:
        words += ["--data-urlencode", shlex.quote(f"{each.name}={_sample(each.schema, document)}")] * (
            each.place == "query"
        )
    if route["method"] == "POST":
        body = {each.name: _sample(each.schema, document) for each in needed if each.place == "body"}
        words += ["--json", shlex.quote(json.dumps(body, ensure_ascii=False))]
    header = ['-H "Authorization: Bearer $TOKEN"'] if route.get("security") else []
    return " ".join([words[0], *header, *words[1:], shlex.quote(url + path)])


def _sample(schema: Schema, document: Document) -> Any:
    found = resolved(schema, document)
    if "anyOf" in found:
        return _sample(found["anyOf"][0], document)
    if "enum" in found:
        return found["enum"][0]
    return found.get("const", _SAMPLES.get(found.get("type", ""), "…"))
