"""One open MCP connection: version negotiation, listing and calling."""

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib import metadata
from typing import Any, cast

import mcp_types as types
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from athand.distribution import DISTRIBUTION
from athand.errors import BadData, Unavailable
from athand.tools.definitions import parse_offer
from athand.tools.gateway.diagnostics import Diagnostics, sanitize
from athand.tools.gateway.remote import remote_server
from athand.tools.gateway.requests import ServerRequests, UpstreamCall, add_refusals
from athand.tools.gateway.stdio import stdio_server
from athand.tools.model import Listing

log = logging.getLogger("athand")

MOST_TOOLS, MOST_PAGES = 10_000, 200
MOST_NAMED = 20  # malformed tools that are named
MOST_CHARACTERS = 32_000_000  # of all definitions together

# Transport and mode, tried in this order: some servers exit on an unknown request, some speak only SSE.
_ATTEMPTS = {
    "stdio": (("stdio", "auto"), ("stdio", "legacy")),
    "http": (("http", "auto"), ("sse", "auto")),
    "sse": (("sse", "auto"),),
}


class Connection:
    """An open connection."""

    def __init__(self, client: Client, diagnostics: Diagnostics, requests: ServerRequests) -> None:
        self.client, self.diagnostics, self._requests = client, diagnostics, requests
        self._has_twins = False  # whether it has listed a name twice

    @property
    def protocol(self) -> str:
        """The negotiated protocol version."""
        return self.client.protocol_version

    async def list_tools(self) -> Listing:
        """All tools of all pages; the first of each name counts."""
        tools: dict[str, dict[str, Any]] = {}
        self.diagnostics.left_out.clear()
        cursor, size = None, 0
        for _ in range(MOST_PAGES):
            page = await self.client.list_tools(cursor=cursor)
            self._add_page(tools, page.tools)
            cursor, size = page.next_cursor, size + sum(len(tool.model_dump_json()) for tool in page.tools)
            if len(tools) > MOST_TOOLS:
                raise Unavailable(f"it offers more than {MOST_TOOLS} tools")
            if size > MOST_CHARACTERS:
                raise Unavailable(f"its list of tools is larger than {MOST_CHARACTERS // 1_000_000} MB")
            if cursor is None:
                break
        else:
            raise Unavailable(f"its list of tools has more than {MOST_PAGES} pages")
        about = self.client.server_info
        return Listing(list(tools.values()), self.protocol, self.client.instructions, about.version if about else None)

    def _add_page(self, tools: dict[str, dict[str, Any]], page: list[types.Tool]) -> None:
        for tool in page:
            if tool.name in tools:
                self._warn_of_twin(tool.name)
            else:
                tools[tool.name] = tool.model_dump(by_alias=True, mode="json", exclude_unset=True)

    def _warn_of_twin(self, name: str) -> None:
        """Log the first name that is listed twice, once for this connection, however often it lists its tools."""
        if not self._has_twins:
            server = self.diagnostics.launch.name
            log.warning("%s lists %s twice, maybe others too; the first of each counts.", server, sanitize(name))
        self._has_twins = True

    async def call(self, tool: str, arguments: dict[str, Any], call: UpstreamCall) -> dict[str, Any]:
        """The result of a tool as it came over the wire; what the server asks meanwhile goes to the caller."""
        progress = None if call.relay is None else self._requests.progress_of(call.relay)
        level = None if call.relay is None else call.relay.log_level
        meta = None if level is None else cast(types.RequestParamsMeta, {types.LOG_LEVEL_META_KEY: level})
        with self._requests.during(call):
            result = await self.client.call_tool(tool, arguments, progress_callback=progress, meta=meta)
        raw = {"isError": False, **result.model_dump(by_alias=True, mode="json", exclude_unset=True)}
        return add_refusals(call, raw)

    @property
    def needs_subscription(self) -> bool:
        """Whether the server sends list_changed only to subscribers, as newer protocol versions do."""
        tools = self.client.server_capabilities.tools
        return bool(tools and tools.list_changed) and self.protocol in MODERN_PROTOCOL_VERSIONS

    async def listen(self, changed: Callable[[], None]) -> None:
        """Subscribe to list_changed and call `changed` for each notification."""
        async with self.client.listen(tools_list_changed=True) as events:
            async for _ in events:
                changed()


@asynccontextmanager
async def open_connection(
    diagnostics: Diagnostics, auth: Any, attempt: tuple[str, str], changed: Callable[[], None]
) -> AsyncIterator[Connection]:
    """Open a connection with this transport and mode."""
    transport, mode = attempt
    streams = stdio_server(diagnostics) if transport == "stdio" else remote_server(diagnostics, transport, auth)

    async def on_message(message: Any) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            changed()

    requests = ServerRequests(diagnostics)
    async with Client(
        streams,
        mode=mode,
        cache=None,
        message_handler=on_message,
        client_info=_client_info(),
        elicitation_callback=requests.elicit,
        sampling_callback=requests.sample,
        list_roots_callback=requests.list_roots,
        logging_callback=requests.log,
    ) as client:
        # Results are validated elsewhere: a malicious pattern must not block all other servers in this thread.
        setattr(client.session, "validate_tool_result", _skip_validation)  # noqa: B010
        _leave_out_malformed_tools(client, diagnostics)
        yield Connection(client, diagnostics, requests)


def _leave_out_malformed_tools(client: Client, diagnostics: Diagnostics) -> None:
    """Make a list lose a tool that is not valid instead of being refused whole; the SDK has no other place for this."""
    dispatcher: Any = client.session._dispatcher
    send = dispatcher.send_raw_request

    async def send_and_sort(method: str, *arguments: Any, **more: Any) -> Any:
        raw = await send(method, *arguments, **more)
        if method != "tools/list" or not isinstance(raw.get("tools"), list):
            return raw
        flaws = [_find_flaw(tool) for tool in raw["tools"]]
        for tool, flaw in zip(raw["tools"], flaws, strict=True):
            if flaw is not None and len(diagnostics.left_out) < MOST_NAMED:
                name = tool.get("name") if isinstance(tool, dict) else None
                diagnostics.left_out[sanitize(str(name)) if name else "a tool without a name"] = flaw
        kept = [tool for tool, flaw in zip(raw["tools"], flaws, strict=True) if flaw is None]
        return {**raw, "tools": kept}

    dispatcher.send_raw_request = send_and_sort


def _find_flaw(tool: Any) -> str | None:
    """What is wrong with a tool of a list, such as the first field that is not valid; None if nothing is."""
    try:
        types.Tool.model_validate(tool, by_name=False)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        return sanitize(f"{'.'.join(map(str, first['loc']))}: {first['msg']}")
    try:
        parse_offer(tool)
    except BadData as error:
        return sanitize(str(error))
    return None


async def _skip_validation(name: str, result: types.CallToolResult) -> None:
    pass


def _client_info() -> types.Implementation:
    return types.Implementation(name=DISTRIBUTION, version=metadata.version(DISTRIBUTION))


def connection_attempts(transport: str) -> tuple[tuple[str, str], ...]:
    """The transports and modes to try for a configured transport, in order."""
    return _ATTEMPTS[transport]


def can_try_next(diagnostics: Diagnostics) -> bool:
    """Whether the failure may be a mismatch of transport or protocol, so that the next attempt may work."""
    if diagnostics.launch.transport == "http":
        return (
            diagnostics.status is not None
            and 400 <= diagnostics.status < 500
            and diagnostics.status not in (401, 403, 429)
        )
    return diagnostics.exit_code not in (None, 126, 127) and diagnostics.messages == 0 and diagnostics.problem is None


def is_server_error(error: Exception, diagnostics: Diagnostics) -> bool:
    """Whether an error is a response of the server, and not a lost connection."""
    if not isinstance(error, MCPError) or error.code in (types.CONNECTION_CLOSED, types.REQUEST_TIMEOUT):
        return False
    return diagnostics.status is None or (diagnostics.status < 500 and diagnostics.status not in (401, 403, 404))


def is_session_expired(error: Exception, diagnostics: Diagnostics) -> bool:
    """Whether a remote server no longer knows our session, perhaps after a restart."""
    return isinstance(error, MCPError) and diagnostics.status == 404 and diagnostics.launch.transport == "http"


def is_invalid_params(error: Exception) -> bool:
    """Whether the server rejected the arguments."""
    return isinstance(error, MCPError) and error.code == types.INVALID_PARAMS
