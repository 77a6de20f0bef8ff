"""The API page at /docs, rendered from the OpenAPI document: no script, nothing from other hosts."""

import base64
import hashlib
import json
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, Response

from athand.adapters.http.responses import AsciiJsonResponse
from athand.adapters.http.routes import BY_BODY

Document = Mapping[str, Any]
Schema = Mapping[str, Any]
_STYLE = files("athand.adapters.http").joinpath("docs_page.css").read_text("utf-8")
_STYLE_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_CONTENT_SECURITY_POLICY = (
    f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
_SAMPLES = {"string": "…", "integer": 1, "number": 0.5, "boolean": True, "array": [], "object": {}}


def docs_router(document: Callable[[], Document]) -> APIRouter:
    """The routes of the OpenAPI document and of the page."""
    router = APIRouter(default_response_class=AsciiJsonResponse, tags=["server"])
    whole = {"description": "The document", "content": {"application/json": {"schema": {"type": "object"}}}}

    @router.get("/openapi.json", operation_id="openapi", summary="The OpenAPI document", responses={200: whole})
    def openapi() -> Response:
        """What this server can do, for programs."""
        return AsciiJsonResponse(document())

    @router.get("/docs", operation_id="docs", summary="This page", response_class=HTMLResponse)
    def docs(request: Request) -> Response:
        """What this server can do, for people. A browser asks for a password: that is the token."""
        page = render_docs(document(), str(request.base_url).rstrip("/"))
        return HTMLResponse(page, headers={"Content-Security-Policy": _CONTENT_SECURITY_POLICY})

    return router


def render_docs(document: Document, url: str) -> str:
    """The whole page; every word of the document is escaped."""
    groups = _group_by_tag(document)
    navigation = "".join(_render_navigation(tag, group) for tag, group in groups.items())
    sections = "".join(_render_section(tag, group, document, url) for tag, group in groups.items())
    title, about = escape(document["info"]["title"]), escape(document["info"]["description"])
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{_STYLE}</style></head><body>'
        f"<header><h1>{title} <small>{escape(document['info']['version'])}</small></h1><p>{about}</p></header>"
        f'<nav aria-label="Routes">{navigation}</nav>'
        f"<main>{_render_introduction(url)}{sections}</main>"
        "</body></html>"
    )


def _group_by_tag(document: Document) -> dict[str, list[dict[str, Any]]]:
    """The routes by their first tag, each with its path and methods."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for path, operations in document["paths"].items():
        for route in _merge_methods(operations):
            groups.setdefault((route.get("tags") or ["other"])[0], []).append({**route, "path": path})
    return groups


def _merge_methods(operations: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The routes of a path with their methods; a read that takes GET and POST is one route."""
    methods = {route["operationId"]: method.upper() for method, route in operations.items()}
    for name, method in methods.items():
        if name.removesuffix(BY_BODY) == name or name.removesuffix(BY_BODY) not in methods:
            by_body = [methods[name + BY_BODY]] if name + BY_BODY in methods else []
            yield {**operations[method.lower()], "methods": [method, *by_body]}


def _render_introduction(url: str) -> str:
    line = f'TOKEN=$(cat TOKEN_FILE)\ncurl -H "Authorization: Bearer $TOKEN" {escape(url)}/v1/status'
    return (
        "<section><h2>How to call it</h2><p>Every route but <code>/healthz</code> and <code>/readyz</code> takes a "
        "token as a bearer. <code>athand serve</code> says in which file yours is; "
        "<code>athand token create</code> makes others, with fewer scopes. Beside each route stands the scope "
        "that it needs. What goes wrong is answered as <code>application/problem+json</code>.</p>"
        f"<pre>{line}</pre>"
        "<p>GET takes its parameters in the query string, where a list is its name repeated and an object is JSON: "
        "<code>?query=deploy&amp;corpora=memories&amp;corpora=tools</code>. POST takes them as a JSON object. "
        "What is not marked as needed may be left out. MCP clients connect to <code>/mcp</code>.</p></section>"
    )


def _render_navigation(tag: str, group: list[dict[str, Any]]) -> str:
    links = "".join(
        f'<li><a href="#{escape(each["operationId"])}">{escape(each["path"].removeprefix("/v1"))}</a></li>'
        for each in group
    )
    return f"<details open><summary>{escape(tag)}</summary><ul>{links}</ul></details>"


def _render_section(tag: str, group: list[dict[str, Any]], document: Document, url: str) -> str:
    return f"<section><h2>{escape(tag)}</h2>{''.join(_render_route(each, document, url) for each in group)}</section>"


def _render_route(route: dict[str, Any], document: Document, url: str) -> str:
    scopes = [scope for each in route.get("security", [])[:1] for names in each.values() for scope in names]
    badge = escape(scopes[0]) if scopes else "any token" if route.get("security") else "no token"
    methods = " ".join(f'<b class="{each.lower()}">{each}</b>' for each in route["methods"])
    return (
        f'<article id="{escape(route["operationId"])}"><h3>{methods} '
        f"<code>{escape(route['path'])}</code> <span>{badge}</span></h3>"
        f"{_render_paragraphs(route.get('description') or route.get('summary', ''))}"
        f"{_render_parameters(route, document)}<pre>{escape(curl_command(route, document, url))}</pre>"
        f"{_render_response(route)}</article>"
    )


def _render_paragraphs(text: str) -> str:
    return "".join(f"<p>{escape(each)}</p>" for each in text.split("\n\n"))


def _render_parameters(route: dict[str, Any], document: Document) -> str:
    rows = "".join(_render_rows(route, document))
    head = "<thead><tr><th>Parameter</th><th>Kind</th><th>Meaning</th></tr></thead>"
    return f"<table>{head}<tbody>{rows}</tbody></table>" if rows else ""


def _render_rows(route: dict[str, Any], document: Document) -> Iterator[str]:
    for each in list_parameters(route, document):
        default = "" if each.default is None else f" = {json.dumps(each.default)}"
        needed = "<em>needed</em> " if each.required else ""
        yield (
            f"<tr><td><code>{escape(each.name)}</code></td>"
            f"<td>{escape(describe_type(each.schema, document))}{escape(default)}</td>"
            f"<td>{needed}{escape(each.description)}</td></tr>"
        )


def _render_response(route: dict[str, Any]) -> str:
    content = route["responses"].get("200", {}).get("content", {})
    kinds = ", ".join(content) or "nothing"
    schema = content.get("application/json", {}).get("schema")
    problems = ", ".join(sorted(status for status in route["responses"] if status != "200"))
    shown = f"<pre>{escape(json.dumps(schema, indent=1))}</pre>" if schema else ""
    return (
        f"<details><summary>Answers <code>{escape(kinds)}</code></summary>{shown}"
        f"<p>Problems: {escape(problems)}</p></details>"
    )


@dataclass(frozen=True, slots=True)
class RouteParameter:
    """A parameter of a route, in its path, its query or its body."""

    name: str
    location: str
    required: bool
    description: str
    schema: Schema

    @property
    def default(self) -> Any:
        """The default value; None if there is none."""
        return self.schema.get("default")


def list_parameters(route: Mapping[str, Any], document: Document) -> Iterator[RouteParameter]:
    """The parameters of a route: path and query, then the properties of the body."""
    for each in route.get("parameters", ()):
        required, description = each.get("required", False), each.get("description", "")
        schema = each.get("schema") or each["content"]["application/json"]["schema"]
        yield RouteParameter(each["name"], each["in"], required, description, schema)
    body = _resolve(_body_schema(route), document)
    for name, schema in body.get("properties", {}).items():
        yield RouteParameter(name, "body", name in body.get("required", ()), schema.get("description", ""), schema)


def _body_schema(route: Mapping[str, Any]) -> Schema:
    content: Mapping[str, Any] = route.get("requestBody", {}).get("content", {})
    schema: Schema = content.get("application/json", {}).get("schema", {})
    return schema


def _resolve(schema: Schema, document: Document) -> Schema:
    """Follow `$ref` to the schema."""
    while "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return schema


def describe_type(schema: Schema, document: Document) -> str:
    """The type in words, such as: list of string."""
    resolved = _resolve(schema, document)
    if "anyOf" in resolved:
        kinds = [each for each in resolved["anyOf"] if each.get("type") != "null"]  # null: it may be left out
        return " | ".join(dict.fromkeys(describe_type(each, document) for each in kinds))
    if "enum" in resolved or "const" in resolved:
        return " | ".join(json.dumps(each) for each in resolved.get("enum", [resolved.get("const")]))
    if resolved.get("type") == "array":
        return f"list of {describe_type(resolved.get('items', {}), document)}"
    return str(resolved.get("type", "anything"))


def curl_command(route: Mapping[str, Any], document: Document, url: str) -> str:
    """A curl command with sample values for the required parameters."""
    needed = [each for each in list_parameters(route, document) if each.required]
    path = route["path"]
    for each in needed:
        path = path.replace(f"{{{each.name}}}", each.name.upper())
    query = [each for each in needed if each.location == "query"]
    words = ["curl", "-G"] if query else ["curl"]
    for each in query:
        words += ["--data-urlencode", shlex.quote(f"{each.name}={_sample_value(each.schema, document)}")]
    if route["methods"] == ["POST"]:
        body = {each.name: _sample_value(each.schema, document) for each in needed if each.location == "body"}
        words += ["--json", shlex.quote(json.dumps(body, ensure_ascii=False))]
    header = ['-H "Authorization: Bearer $TOKEN"'] if route.get("security") else []
    return " ".join([words[0], *header, *words[1:], shlex.quote(url + path)])


def _sample_value(schema: Schema, document: Document) -> Any:
    resolved = _resolve(schema, document)
    if "anyOf" in resolved:
        return _sample_value(resolved["anyOf"][0], document)
    if "enum" in resolved:
        return resolved["enum"][0]
    return resolved.get("const", _SAMPLES.get(resolved.get("type", ""), "…"))
