"""A route for every operation: POST with a JSON object; reads also by GET, with their arguments in the query string."""

import inspect
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from fastapi import APIRouter, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError
from starlette.datastructures import QueryParams
from starlette.responses import Response

from athand.adapters.http.middleware import CALLER
from athand.adapters.http.middleware.body import exceeds_depth
from athand.adapters.http.responses import AsciiJsonResponse
from athand.adapters.http.route_table import OPERATIONS_PREFIX
from athand.adapters.operations import AppContext, Operation, operations
from athand.adapters.operations.threads import Threads

BY_BODY = "_by_body"  # suffix of the operation id of a POST route that has a GET route beside it

Schema = Mapping[str, Any]
Endpoint = Callable[..., Awaitable[Response]]
Runner = Callable[[BaseModel, Request], Awaitable[Response]]
_SCALARS = frozenset(("string", "integer", "number", "boolean", "null"))


def operations_router(ctx: AppContext, threads: Threads, *, max_depth: int) -> APIRouter:
    """The routes of all operations; JSON in a query parameter is nested at most `max_depth` levels."""
    router = APIRouter(default_response_class=AsciiJsonResponse)
    for operation in operations(ctx.corpora).values():
        run = _make_runner(operation, ctx, threads)
        if operation.kind == "read":
            _add_get(router, operation, run, max_depth)
        _add_post(router, operation, run)
    return router


def _make_runner(operation: Operation, ctx: AppContext, threads: Threads) -> Runner:
    async def run(arguments: BaseModel, request: Request) -> Response:
        caller = request.scope[CALLER]
        return await threads.run(
            lambda: AsciiJsonResponse(operation.perform(ctx, arguments, caller=caller)), slow=operation.is_slow
        )

    return run


def _add_get(router: APIRouter, operation: Operation, run: Runner, max_depth: int) -> None:
    async def get(request: Request) -> Response:
        return await run(parse_query(operation, request.query_params, max_depth=max_depth), request)

    _add_route(router, operation, get, "GET", operation.name, {"parameters": _describe_query(operation)})


def _add_post(router: APIRouter, operation: Operation, run: Runner) -> None:
    model: Any = operation.arguments

    async def post(request: Request, arguments: BaseModel) -> Response:
        return await run(arguments, request)

    # The body is optional where no argument is required.
    required = any(each.is_required() for each in model.model_fields.values())
    default = inspect.Parameter.empty if required else model()
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    request = inspect.Parameter("request", kind, annotation=Request)
    body = inspect.Parameter("arguments", kind, annotation=model, default=default)
    post.__signature__ = inspect.Signature([request, body])  # type: ignore[attr-defined]
    operation_id = operation.name + (BY_BODY if operation.kind == "read" else "")
    _add_route(router, operation, post, "POST", operation_id, None)


def _add_route(
    router: APIRouter,
    operation: Operation,
    endpoint: Endpoint,
    method: str,
    operation_id: str,
    openapi_extra: dict[str, Any] | None,
) -> None:
    answer = {"description": "The answer", "content": {"application/json": {"schema": operation.answer}}}
    router.add_api_route(
        OPERATIONS_PREFIX + operation.path,
        endpoint,
        methods=[method],
        operation_id=operation_id,
        summary=operation.title,
        description=operation.description,
        tags=[operation.toolset],
        response_model=None,
        responses={200: answer},
        openapi_extra=openapi_extra,
    )


def parse_query(operation: Operation, query: QueryParams, *, max_depth: int) -> BaseModel:
    """The validated arguments of a query string: lists as repeated parameters, objects as JSON."""
    properties: Schema = operation.parameters.get("properties", {})
    arguments: dict[str, Any] = {}
    for name in query:
        schema = properties.get(name, {})
        if _is_json(schema):
            arguments[name] = _parse_json(name, query[name], max_depth)
        else:
            arguments[name] = query.getlist(name) if _is_list(schema) else query[name]
    try:
        return operation.arguments.model_validate(arguments)
    except ValidationError as error:
        errors = error.errors(include_url=False, include_context=False, include_input=False)
        raise RequestValidationError([{**each, "loc": ("query", *each["loc"])} for each in errors]) from error


def _parse_json(name: str, text: str, max_depth: int) -> Any:
    """The JSON value; the text itself if it is not JSON, for parameters that also take plain text."""
    if exceeds_depth(text.encode("utf-8", "replace"), max_depth):
        message = f"The JSON has more than {max_depth} levels"
        raise RequestValidationError([{"type": "json_depth", "loc": ("query", name), "msg": message}])
    try:
        return json.loads(text)
    except ValueError:
        return text


def _is_list(schema: Schema) -> bool:
    return schema.get("type") == "array" or any(_is_list(each) for each in schema.get("anyOf", ()))


def _is_json(schema: Schema) -> bool:
    """Whether a parameter has objects in it, so that it is sent as JSON."""
    choices = schema.get("anyOf", [schema])
    items = [each.get("items", {}) if each.get("type") == "array" else each for each in choices]
    return not all(each.get("type") in _SCALARS or "enum" in each or "const" in each for each in items)


def _describe_query(operation: Operation) -> list[dict[str, Any]]:
    """The OpenAPI parameters of the GET route."""
    schema = operation.parameters
    required = schema.get("required", ())
    return [_describe_parameter(name, each, name in required) for name, each in schema.get("properties", {}).items()]


def _describe_parameter(name: str, schema: Schema, required: bool) -> dict[str, Any]:
    value = {"content": {"application/json": {"schema": schema}}} if _is_json(schema) else {"schema": schema}
    return {"name": name, "in": "query", "required": required, "description": schema.get("description", ""), **value}
