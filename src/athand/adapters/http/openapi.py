"""The OpenAPI document: every route with its parameters, response, scope and problems."""

from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from athand.adapters.http.route_table import PASSWORD_PATHS, RouteRule, RouteTable

_PROBLEMS = {
    HTTPStatus.BAD_REQUEST: "The body is not JSON, or too deep, or what it holds is broken",
    HTTPStatus.UNAUTHORIZED: "No token, or one that is not known",
    HTTPStatus.FORBIDDEN: "The token lacks the scope, a rule refuses, or the page that asks is not of this server",
    HTTPStatus.NOT_FOUND: "There is no such thing",
    HTTPStatus.REQUEST_TIMEOUT: "The body came too slowly",
    HTTPStatus.CONFLICT: "It was changed meanwhile, exists already, or the page is not as it should be",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "The body is too large",
    HTTPStatus.REQUEST_URI_TOO_LONG: "The query string is too long; use POST where the route takes it",
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: "The body is not sent as application/json",
    HTTPStatus.MISDIRECTED_REQUEST: "The name in Host is not one of this server",
    HTTPStatus.UNPROCESSABLE_ENTITY: "An argument is missing, unknown or out of range",
    HTTPStatus.TOO_MANY_REQUESTS: "Asked too often; Retry-After says how long to wait",
    HTTPStatus.BAD_GATEWAY: "A tool was called and failed",
    HTTPStatus.SERVICE_UNAVAILABLE: "The store, a model or a server cannot be used now",
    HTTPStatus.GATEWAY_TIMEOUT: "It took too long",
}
_PUBLIC_PROBLEMS = (HTTPStatus.FORBIDDEN, HTTPStatus.MISDIRECTED_REQUEST, HTTPStatus.SERVICE_UNAVAILABLE)
_PROBLEM_SCHEMA = {
    "type": "object",
    "description": "What went wrong and what to do, as RFC 9457 has it",
    "properties": {
        "type": {"type": "string", "description": "about:blank, or urn:athand:error: and the kind of the error"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "code": {"type": "string", "description": "A word for programs, where there is one"},
    },
    "required": ["type", "title", "status", "detail"],
}
_SECURITY_SCHEMES = {
    "token": {"type": "http", "scheme": "bearer", "description": "The owner's, or one of `athand token create`"},
    "password": {"type": "http", "scheme": "basic", "description": "For browsers: any name, the token as password"},
}
_FRAMEWORK_SCHEMAS = ("HTTPValidationError", "ValidationError")


def build_openapi(app: FastAPI, routes: RouteTable) -> dict[str, Any]:
    """The OpenAPI document of an app."""
    document = get_openapi(
        title=app.title, version=app.version, description=app.description, routes=app.routes, tags=app.openapi_tags
    )
    components = document.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    for name in _FRAMEWORK_SCHEMAS:
        schemas.pop(name, None)
    schemas["Problem"] = _PROBLEM_SCHEMA
    components["securitySchemes"] = _SECURITY_SCHEMES
    for rule in routes.all():
        operation = document["paths"].get(rule.path, {}).get(rule.method.lower())
        if operation is not None:
            _add_security_and_problems(operation, rule)
    return document


def _add_security_and_problems(operation: dict[str, Any], rule: RouteRule) -> None:
    if not rule.is_public:
        scopes = [rule.scope] if rule.scope else []
        operation["security"] = [{"token": scopes}]
        operation["security"] += [{"password": scopes}] if rule.path in PASSWORD_PATHS else []
    content = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    takes_body = "requestBody" in operation
    for status in _PROBLEMS if takes_body or not rule.is_public else _PUBLIC_PROBLEMS:
        operation["responses"][str(status.value)] = {"description": _PROBLEMS[status], "content": content}
    if rule.is_public and not takes_body:
        operation["responses"].pop("422", None)
