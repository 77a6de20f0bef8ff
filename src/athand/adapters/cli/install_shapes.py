"""The shape of an entry in each MCP client, and the links that add one with a click (pure functions)."""

import base64
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

WITHOUT_URL = ("claude-desktop",)
WITH_LINK = ("cursor", "vscode")
_STDIO_TYPES = {"claude-code": "stdio", "vscode": "stdio", "copilot": "local"}
_HTTP_TYPES = {
    "claude-code": "http",
    "vscode": "http",
    "copilot": "http",
    "continue": "http",
    "cline": "streamableHttp",
}
_URL_KEYS = {"gemini": "httpUrl", "windsurf": "serverUrl"}
_HEADERS_KEYS = {"codex": "http_headers"}
_MORE: Mapping[str, Mapping[str, Any]] = {
    "copilot": {"tools": ["*"]},  # without it, none of the tools is offered
    "cline": {"timeout": 60},  # seconds; without it, Cline gives up after three, which a busy machine needs to start us
}


def stdio_entry(client: str, words: list[str]) -> dict[str, Any]:
    """The entry of a server that the client starts by a command."""
    if client == "opencode":
        return {"type": "local", "command": words, "enabled": True}
    own = {"type": _STDIO_TYPES[client]} if client in _STDIO_TYPES else {}
    return {**own, "command": words[0], "args": words[1:], **_MORE.get(client, {})}


def http_entry(client: str, url: str, token: str) -> dict[str, Any]:
    """The entry of a server that is running already."""
    headers = {"Authorization": f"Bearer {token}"}
    if client == "opencode":
        return {"type": "remote", "url": url, "headers": headers, "enabled": True}
    own = {"type": _HTTP_TYPES[client]} if client in _HTTP_TYPES else {}
    address = {_URL_KEYS.get(client, "url"): url, _HEADERS_KEYS.get(client, "headers"): headers}
    return {**own, **address, **_MORE.get(client, {})}


def get_command(entry: Mapping[str, Any]) -> str | None:
    """The program that an entry starts; None if it connects to a server that is running."""
    command = entry.get("command")
    first = command[0] if isinstance(command, list) and command else command
    return first if isinstance(first, str) else None


def make_link(client: str, name: str, entry: Mapping[str, Any]) -> str:
    """The link that adds the entry to Cursor or VS Code with a click."""
    if client == "cursor":
        config = base64.b64encode(_to_json(entry)).decode()
        return f"cursor://anysphere.cursor-deeplink/mcp/install?name={quote(name)}&config={quote(config, safe='')}"
    return f"vscode:mcp/install?{quote(_to_json({'name': name, **entry}), safe='')}"


def _to_json(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
