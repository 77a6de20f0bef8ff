"""Ids of JSON-RPC requests: MCP takes texts and whole numbers. A request with another id is refused."""

import json

from mcp import types


def has_wrong_id(message: bytes) -> bool:
    """Whether it is a request whose id is neither a text nor a whole number; the SDK takes it for a notification."""
    try:
        value = json.loads(message)
    except (ValueError, RecursionError):
        return False
    if not isinstance(value, dict) or "method" not in value or "id" not in value:
        return False
    return isinstance(value["id"], bool) or not isinstance(value["id"], (str, int))


def wrong_id_error() -> types.JSONRPCError:
    """The answer, which has no id, as JSON-RPC wants it for requests that are not valid."""
    text = "The id of a request is a text or a whole number. A notification has none."
    return types.JSONRPCError(jsonrpc="2.0", id=None, error=types.ErrorData(code=types.INVALID_REQUEST, message=text))
