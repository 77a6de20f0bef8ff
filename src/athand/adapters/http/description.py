"""The OpenAPI document: every route with its parameters, its answer, its scope, and all that may go wrong."""

from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from athand.adapters.http.places import READ_BY_PEOPLE, Place, Places

_PROBLEMS = {
    HTTPStatus.BAD_REQUEST: "The body is not JSON, or too deep, or what it holds is broken",
    HTTPStatus.UNAUTHORIZED: "No token, or one that is not known",
    HTTPStatus.FORBIDDEN: "The token lacks the scope, a rule refuses, or the page that asks is not of this server",
    HTTPStatus.NOT_FOUND: "There is no such thing",
    HTTPStatus.REQUEST_TIMEOUT: "The body came too slowly",
    HTTPStatus.CONFLICT: "It was changed meanwhile, exists already, or the page is not as it should be",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "The body is too large",
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: "The body is not sent as application/json",
    HTTPStatus.MISDIRECTED_REQUEST: "The name in Host is not one of this server",
    HTTPStatus.UNPROCESSABLE_ENTITY: "An argument is missing, unknown or out of range",
    HTTPStatus.TOO_MANY_REQUESTS: "Asked too often; Retry-After says how long to wait",
    HTTPStatus.BAD_GATEWAY: "A tool was called and failed",
    HTTPStatus.SERVICE_UNAVAILABLE: "The store, a model or a server cannot be used now",
    HTTPStatus.GATEWAY_TIMEOUT: "It took too long",
}
_OF_OPEN = (HTTPStatus.FORBIDDEN, HTTPStatus.MISDIRECTED_REQUEST, HTTPStatus.SERVICE_UNAVAILABLE)
_PROBLEM = {
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
_SCHEMES = {
    "token": {"type": "http", "scheme": "bearer", "description": "The owner's, or one of `athand token create`"},
    "password": {"type": "http", "scheme": "basic", "description": "For browsers: any name, the token as password"},
}
_OF_FRAMEWORK = ("HTTPValidationError", "ValidationError")


def describe(app: FastAPI, places: Places) -> dict[str, Any]:
    """The document of an app."""
    document = get_openapi(
        title=app.title, version=app.version, description=app.description, routes=app.routes, tags=app.openapi_tags
    )
    components = document.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    for name in _OF_FRAMEWORK:
        schemas.pop(name, None)
    schemas["Problem"] = _PROBLEM
    components["securitySchemes"] = _SCHEMES
    for place in places.all():
        described = document["paths"].get(place.template, {}).get(place.method.lower())
        if described is not None:
            _complete(described, place)
    return document


def _complete(described: dict[str, Any], place: Place) -> None:
    """Add to a route whom it lets in, and its problems."""
    if not place.is_open:
        scopes = [place.scope] if place.scope else []
        described["security"] = [{"token": scopes}]
        described["security"] += [{"password": scopes}] if place.template in READ_BY_PEOPLE else []
    content = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    for status in _OF_OPEN if place.is_open else _PROBLEMS:
        described["responses"][str(status.value)] = {"description": _PROBLEMS[status], "content": content}
    if place.is_open:
        described["responses"].pop("422", None)
