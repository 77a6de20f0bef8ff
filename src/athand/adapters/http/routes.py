"""A route for every operation: GET for reads whose parameters fit into the query string, else POST with JSON."""

import inspect
from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel
from starlette.responses import Response

from athand.adapters.http.responses import AsciiJsonResponse
from athand.adapters.http.route_table import OPERATIONS_PREFIX
from athand.adapters.operations import AppContext, Operation, operations
from athand.adapters.operations.threads import Threads, is_slow

_QUERY_TYPES = frozenset(("string", "integer", "number", "boolean", "null", "array"))


def operations_router(ctx: AppContext, threads: Threads) -> APIRouter:
    """The routes of all operations."""
    router = APIRouter(default_response_class=AsciiJsonResponse)
    for operation in operations().values():
        answer = {"description": "The answer", "content": {"application/json": {"schema": operation.answer}}}
        router.add_api_route(
            OPERATIONS_PREFIX + operation.path,
            _make_endpoint(operation, ctx, threads),
            methods=["GET" if takes_query(operation) else "POST"],
            operation_id=operation.name,
            summary=operation.title,
            description=operation.description,
            tags=[operation.toolset],
            response_model=None,
            responses={200: answer},
        )
    return router


def takes_query(operation: Operation) -> bool:
    """Whether it is a read whose parameters are strings, numbers, booleans or lists of them."""
    schema = operation.arguments.model_json_schema()
    properties = schema.get("properties", {}).values()
    return operation.kind == "read" and all(_fits_query(each, schema) for each in properties)


def _fits_query(schema: dict[str, Any], root: dict[str, Any], *, in_list: bool = False) -> bool:
    if "$ref" in schema:
        return _fits_query(root["$defs"][schema["$ref"].rpartition("/")[2]], root, in_list=in_list)
    if "anyOf" in schema:
        return all(_fits_query(each, root, in_list=in_list) for each in schema["anyOf"])
    if schema.get("type") == "array":
        return not in_list and _fits_query(schema.get("items", {}), root, in_list=True)
    return schema.get("type") in _QUERY_TYPES or "enum" in schema or "const" in schema


def _make_endpoint(operation: Operation, ctx: AppContext, threads: Threads) -> Callable[..., Awaitable[Response]]:
    async def endpoint(arguments: BaseModel) -> Response:
        return await threads.run(lambda: AsciiJsonResponse(operation.perform(ctx, arguments)), slow=is_slow(operation))

    endpoint.__signature__ = inspect.Signature([_make_parameter(operation)])  # type: ignore[attr-defined]
    return endpoint


def _make_parameter(operation: Operation) -> inspect.Parameter:
    """The endpoint's parameter as FastAPI reads it; the body is optional where no argument is required."""
    model: Any = operation.arguments
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    if takes_query(operation):
        return inspect.Parameter("arguments", kind, annotation=Annotated[model, Query()])
    required = any(each.is_required() for each in model.model_fields.values())
    default = inspect.Parameter.empty if required else model()
    return inspect.Parameter("arguments", kind, annotation=model, default=default)
