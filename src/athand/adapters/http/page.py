"""The page that shows all routes, made here from the OpenAPI document: no script, nothing from elsewhere."""

import base64
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from html import escape
from importlib.resources import files
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, Response

from athand.adapters.http.answers import Json
from athand.adapters.http.samples import curl_line, parameters_of, type_in_words

Document = Mapping[str, Any]
_STYLE = files("athand.adapters.http").joinpath("page.css").read_text("utf-8")
_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_POLICY = f"default-src 'none'; style-src 'sha256-{_HASH}'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"


def pages_router(document: Callable[[], Document]) -> APIRouter:
    """The document, and the page that shows it."""
    router = APIRouter(default_response_class=Json, tags=["server"])
    whole = {"description": "The document", "content": {"application/json": {"schema": {"type": "object"}}}}

    @router.get("/openapi.json", operation_id="openapi", summary="The OpenAPI document", responses={200: whole})
    def openapi() -> Response:
        """What this server can do, for programs."""
        return Json(document())

    @router.get("/docs", operation_id="docs", summary="This page", response_class=HTMLResponse)
    def docs(request: Request) -> Response:
        """What this server can do, for people. A browser asks for a password: that is the token."""
        page = render(document(), str(request.base_url).rstrip("/"))
        return HTMLResponse(page, headers={"Content-Security-Policy": _POLICY})

    return router


def render(document: Document, url: str) -> str:
    """The whole page; every word of the document is escaped."""
    groups = _by_tag(document)
    title, about = escape(document["info"]["title"]), escape(document["info"]["description"])
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{_STYLE}</style></head><body>'
        f"<header><h1>{title} <small>{escape(document['info']['version'])}</small></h1><p>{about}</p></header>"
        f'<nav aria-label="Routes">{"".join(_navigation(tag, group) for tag, group in groups.items())}</nav>'
        f"<main>{_beginning(url)}{''.join(_section(tag, group, document, url) for tag, group in groups.items())}</main>"
        "</body></html>"
    )


def _by_tag(document: Document) -> dict[str, list[dict[str, Any]]]:
    """The routes by their first tag, each with its path and its method."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for path, methods in document["paths"].items():
        for method, route in methods.items():
            shown = {**route, "path": path, "method": method.upper()}
            groups.setdefault((route.get("tags") or ["other"])[0], []).append(shown)
    return groups


def _beginning(url: str) -> str:
    line = f'TOKEN=$(cat TOKEN_FILE)\ncurl -H "Authorization: Bearer $TOKEN" {escape(url)}/v1/status'
    return (
        "<section><h2>How to call it</h2><p>Every route but <code>/healthz</code> and <code>/readyz</code> takes a "
        "token as a bearer. <code>athand serve</code> says in which file yours is; "
        "<code>athand token create</code> makes others, with fewer scopes. Beside each route stands the scope "
        "that it needs. What goes wrong is answered as <code>application/problem+json</code>.</p>"
        f"<pre>{line}</pre>"
        "<p>GET takes its parameters in the address, where a list is its name repeated: "
        "<code>?query=deploy&amp;corpora=memories&amp;corpora=tools</code>. POST takes them as a JSON object. "
        "What is not marked as needed may be left out. MCP clients connect to <code>/mcp</code>.</p></section>"
    )


def _navigation(tag: str, group: list[dict[str, Any]]) -> str:
    links = "".join(
        f'<li><a href="#{escape(each["operationId"])}">{escape(each["path"].removeprefix("/v1"))}</a></li>'
        for each in group
    )
    return f"<details open><summary>{escape(tag)}</summary><ul>{links}</ul></details>"


def _section(tag: str, group: list[dict[str, Any]], document: Document, url: str) -> str:
    return f"<section><h2>{escape(tag)}</h2>{''.join(_route(each, document, url) for each in group)}</section>"


def _route(route: dict[str, Any], document: Document, url: str) -> str:
    scopes = [scope for each in route.get("security", [])[:1] for names in each.values() for scope in names]
    badge = escape(scopes[0]) if scopes else "any token" if route.get("security") else "no token"
    return (
        f'<article id="{escape(route["operationId"])}"><h3><b class="{route["method"].lower()}">{route["method"]}</b> '
        f"<code>{escape(route['path'])}</code> <span>{badge}</span></h3>"
        f"{_paragraphs(route.get('description') or route.get('summary', ''))}"
        f"{_parameters(route, document)}<pre>{escape(curl_line(route, document, url))}</pre>{_answer(route)}</article>"
    )


def _paragraphs(text: str) -> str:
    return "".join(f"<p>{escape(each)}</p>" for each in text.split("\n\n"))


def _parameters(route: dict[str, Any], document: Document) -> str:
    rows = "".join(_rows(route, document))
    head = "<thead><tr><th>Parameter</th><th>Kind</th><th>Meaning</th></tr></thead>"
    return f"<table>{head}<tbody>{rows}</tbody></table>" if rows else ""


def _rows(route: dict[str, Any], document: Document) -> Iterator[str]:
    for each in parameters_of(route, document):
        default = "" if each.default is None else f" = {json.dumps(each.default)}"
        needed = "<em>needed</em> " if each.required else ""
        yield (
            f"<tr><td><code>{escape(each.name)}</code></td>"
            f"<td>{escape(type_in_words(each.schema, document))}{escape(default)}</td>"
            f"<td>{needed}{escape(each.description)}</td></tr>"
        )


def _answer(route: dict[str, Any]) -> str:
    content = route["responses"].get("200", {}).get("content", {})
    kinds = ", ".join(content) or "nothing"
    schema = content.get("application/json", {}).get("schema")
    problems = ", ".join(sorted(status for status in route["responses"] if status != "200"))
    shown = f"<pre>{escape(json.dumps(schema, indent=1))}</pre>" if schema else ""
    return (
        f"<details><summary>Answers <code>{escape(kinds)}</code></summary>{shown}"
        f"<p>Problems: {escape(problems)}</p></details>"
    )
