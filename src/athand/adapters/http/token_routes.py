"""Tokens over HTTP, for whoever has the scope admin: list them, create one, revoke one."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from athand.adapters.http.responses import AsciiJsonResponse
from athand.adapters.http.route_table import TOKEN_PATHS
from athand.adapters.http.token_registry import TokenRegistry, create_token, list_tokens, revoke_token

_ALL, _ONE = TOKEN_PATHS
_TOKEN = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "scopes": {"type": "array", "items": {"type": "string"}},
        "created_at": {"type": "string"},
        "servers": {"type": "array", "items": {"type": "string"}, "description": "The only servers that it reaches"},
        "token": {"type": "string", "description": "The token itself, which is told only once"},
    },
    "required": ["name", "scopes", "created_at"],
}
Scopes = list[Literal["search", "write", "call-tools", "admin"]]


class NewToken(BaseModel):
    """A token to be created."""

    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, Field(description="Letters, digits, dots and dashes")]
    scopes: Annotated[Scopes, Field(min_length=1, description="What it may do")]
    servers: Annotated[list[str] | None, Field(description="The only tool servers that it reaches")] = None


def tokens_router(tokens: TokenRegistry) -> APIRouter:
    """The routes of tokens; the owner's own is not among them."""
    router = APIRouter(default_response_class=AsciiJsonResponse, tags=["server"])

    @router.get(
        _ALL, operation_id="list_tokens", summary="List tokens", responses=_describe({"type": "array", "items": _TOKEN})
    )
    def list_all() -> Response:
        """The names and scopes of all tokens. The tokens themselves are not stored."""
        return AsciiJsonResponse([each.to_dict() for each in list_tokens(tokens.folder)])

    @router.post(_ALL, operation_id="create_token", summary="Create a token", responses=_describe(_TOKEN))
    def create(new: NewToken) -> Response:
        """Create a token. It is told only in this answer."""
        token, text = create_token(tokens.folder, new.name, new.scopes, new.servers)
        return AsciiJsonResponse(token.to_dict() | {"token": text})

    @router.delete(_ONE, operation_id="revoke_token", summary="Revoke a token", responses=_describe(_TOKEN))
    def revoke(name: str) -> Response:
        """Revoke a token, and end the sessions and streams that began with it."""
        return AsciiJsonResponse(revoke_token(tokens.folder, name).to_dict())

    return router


def _describe(schema: dict[str, Any]) -> dict[int | str, dict[str, Any]]:
    return {200: {"description": "The answer", "content": {"application/json": {"schema": schema}}}}
