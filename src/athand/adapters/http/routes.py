"""A route for every operation: by its address where nothing changes and the parameters fit there, else by JSON."""

import inspect
from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel
from starlette.responses import Response

from athand.adapters.http.answers import Json
from athand.adapters.http.places import PREFIX
from athand.adapters.operations import AppContext, Operation, operations
from athand.adapters.operations.threads import Threads, is_slow

_FITTING = frozenset(("string", "integer", "number", "boolean", "null", "array"))


def operations_router(workspace: AppContext, threads: Threads) -> APIRouter:
    """The routes of all operations."""
    router = APIRouter(default_response_class=Json)
    for operation in operations().values():
        answer = {"description": "The answer", "content": {"application/json": {"schema": operation.answer}}}
        router.add_api_route(
            PREFIX + operation.path,
            _endpoint(operation, workspace, threads),
            methods=["GET" if is_by_address(operation) else "POST"],
            operation_id=operation.name,
            summary=operation.title,
            description=operation.description,
            tags=[operation.toolset],
            response_model=None,
            responses={200: answer},
        )
    return router


def is_by_address(operation: Operation) -> bool:
    """Whether it is a question whose parameters are words, numbers or lists of them."""
    schema = operation.arguments.model_json_schema()
    return operation.kind == "read" and all(_fits(each, schema) for each in schema.get("properties", {}).values())


def _fits(schema: dict[str, Any], whole: dict[str, Any], *, within: bool = False) -> bool:
    if "$ref" in schema:
        return _fits(whole["$defs"][schema["$ref"].rpartition("/")[2]], whole, within=within)
    if "anyOf" in schema:
        return all(_fits(each, whole, within=within) for each in schema["anyOf"])
    if schema.get("type") == "array":
        return not within and _fits(schema.get("items", {}), whole, within=True)
    return schema.get("type") in _FITTING or "enum" in schema or "const" in schema


def _endpoint(operation: Operation, workspace: AppContext, threads: Threads) -> Callable[..., Awaitable[Response]]:
    async def endpoint(asked: BaseModel) -> Response:
        return await threads.run(lambda: Json(operation.perform(workspace, asked)), slow=is_slow(operation))

    endpoint.__signature__ = inspect.Signature([_parameter(operation)])  # type: ignore[attr-defined]
    return endpoint


def _parameter(operation: Operation) -> inspect.Parameter:
    """The one parameter of the endpoint, as the framework reads it; a body may be left out where nothing is needed."""
    model: Any = operation.arguments
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    if is_by_address(operation):
        return inspect.Parameter("asked", kind, annotation=Annotated[model, Query()])
    needed = any(each.is_required() for each in model.model_fields.values())
    return inspect.Parameter("asked", kind, annotation=model, default=inspect.Parameter.empty if needed else model())
