"""One connection to one server: opening it in whatever dialect the server speaks, listing and calling."""

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib import metadata
from typing import Any

import mcp_types as types
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from athand.tools.gateway.link import Link, plain
from athand.tools.gateway.model import Listing
from athand.tools.gateway.remote import remote_server
from athand.tools.gateway.stdio import stdio_server

log = logging.getLogger("athand")

MOST_TOOLS, MOST_PAGES = 10_000, 200
MOST_CHARACTERS = 32_000_000  # of all definitions together

# Transport -> what to try, one after the other: a server may die of a question it does not know, or speak only SSE.
_WAYS = {
    "stdio": (("stdio", "auto"), ("stdio", "legacy")),
    "http": (("http", "auto"), ("sse", "auto")),
    "sse": (("sse", "auto"),),
}


class Connection:
    """An open connection."""

    def __init__(self, client: Client, link: Link) -> None:
        self.client, self.link = client, link

    @property
    def protocol(self) -> str:
        """The version of the protocol that both agreed on."""
        return self.client.protocol_version

    async def listing(self) -> Listing:
        """All tools, page by page; of those with the same name the first."""
        tools: dict[str, dict[str, Any]] = {}
        cursor, size = None, 0
        for _ in range(MOST_PAGES):
            page = await self.client.list_tools(cursor=cursor)
            self._add(tools, page.tools)
            cursor, size = page.next_cursor, size + sum(len(tool.model_dump_json()) for tool in page.tools)
            if len(tools) > MOST_TOOLS:
                raise ValueError(f"it offers more than {MOST_TOOLS} tools")
            if size > MOST_CHARACTERS:
                raise ValueError(f"its list of tools is larger than {MOST_CHARACTERS // 1_000_000} MB")
            if cursor is None:
                break
        else:
            raise ValueError(f"its list of tools has more than {MOST_PAGES} pages")
        about = self.client.server_info
        return Listing(list(tools.values()), self.protocol, self.client.instructions, about.version if about else None)

    def _add(self, tools: dict[str, dict[str, Any]], page: list[types.Tool]) -> None:
        for tool in page:
            if tool.name in tools:
                log.warning("%s lists %s twice; the first one counts.", self.link.launch.name, plain(tool.name))
            else:
                tools[tool.name] = tool.model_dump(by_alias=True, mode="json", exclude_unset=True)

    async def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """What the tool answers, as it came over the wire."""
        result = await self.client.call_tool(tool, arguments)
        return {"isError": False, **result.model_dump(by_alias=True, mode="json", exclude_unset=True)}

    @property
    def must_be_asked_for_changes(self) -> bool:
        """Whether the server tells changes of its list of tools only to those who listen."""
        tools = self.client.server_capabilities.tools
        return bool(tools and tools.list_changed) and self.protocol in MODERN_PROTOCOL_VERSIONS

    async def listen(self, changed: Callable[[], None]) -> None:
        """Wait for changes, where the protocol wants to be asked for them."""
        async with self.client.listen(tools_list_changed=True) as events:
            async for _ in events:
                changed()


@asynccontextmanager
async def opened(link: Link, auth: Any, way: tuple[str, str], changed: Callable[[], None]) -> AsyncIterator[Connection]:
    """A connection over one way: a transport and how to agree on a version."""
    transport, mode = way
    streams = stdio_server(link) if transport == "stdio" else remote_server(link, transport, auth)

    async def heard(message: Any) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            changed()

    async with Client(streams, mode=mode, cache=None, message_handler=heard, client_info=_about_us()) as client:
        # Results are checked elsewhere: a pattern made to take for ever must not hold up all other servers here.
        setattr(client.session, "validate_tool_result", _unchecked)  # noqa: B010
        yield Connection(client, link)


async def _unchecked(name: str, result: types.CallToolResult) -> None:
    pass


def _about_us() -> types.Implementation:
    return types.Implementation(name="athand", version=metadata.version("athand"))


def ways(transport: str) -> tuple[tuple[str, str], ...]:
    """How a server of this transport may be spoken to, in the order of trying."""
    return _WAYS[transport]


def is_worth_another_way(link: Link) -> bool:
    """Whether the failure may be one of dialect."""
    if link.launch.transport == "http":
        return link.status is not None and 400 <= link.status < 500 and link.status not in (401, 403, 429)
    return link.exit_code not in (None, 126, 127) and link.messages == 0 and link.problem is None


def is_answer(error: Exception, link: Link) -> bool:
    """Whether an error is what the server answered, not the loss of the server."""
    if not isinstance(error, MCPError) or error.code in (types.CONNECTION_CLOSED, types.REQUEST_TIMEOUT):
        return False
    return link.status is None or (link.status < 500 and link.status not in (401, 403, 404))


def is_end_of_session(error: Exception, link: Link) -> bool:
    """Whether a remote server no longer knows us, perhaps because it was started anew."""
    return isinstance(error, MCPError) and link.status == 404 and link.launch.transport == "http"


def is_about_arguments(error: Exception) -> bool:
    """Whether the server found fault with what it was asked."""
    return isinstance(error, MCPError) and error.code == types.INVALID_PARAMS
