"""The MCP server: one set of handlers for every transport and both eras of the protocol."""

from collections.abc import Collection, Sequence
from typing import Any

from mcp import MCPError, types
from mcp.server.caching import CacheableMethod, CacheHint
from mcp.server.lowlevel import Server
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from athand import __version__
from athand.adapters.mcp.calling import Calls
from athand.adapters.mcp.completing import complete
from athand.adapters.mcp.instructions import instructions
from athand.adapters.mcp.logs import Context, choose
from athand.adapters.mcp.offering import UI_PREFIX, Offering
from athand.adapters.mcp.prompts import Prompts
from athand.adapters.mcp.resources import Resources
from athand.adapters.operations import DEFAULT_SCOPES, TOOLSETS, AppContext
from athand.adapters.operations.threads import Threads

CALLER = "athand.caller"  # where the HTTP app notes who is calling
_RESOURCE_NOT_FOUND = -32002  # before 2026-07-28; since then it is a wrong parameter
_AN_HOUR = 3_600_000  # milliseconds
_CONSTANT = CacheHint(ttl_ms=_AN_HOUR, scope="private")
_BEGINNING = ("ui_launch", "knowledge_start_session")  # begin a session, of the profile's app where there is one
_CONSTANT_LISTS: tuple[CacheableMethod, ...] = (
    "server/discover",
    "tools/list",
    "prompts/list",
    "resources/templates/list",
)


def mcp_server(
    workspace: AppContext,
    *,
    toolsets: Sequence[str] | None = None,
    profile: str | None = None,
    scopes: Collection[str] = DEFAULT_SCOPES,
    threads: Threads | None = None,
) -> Server[Any]:
    """A server over this workspace; `scopes` are those of a caller whom no transport has named."""
    offering = Offering(toolsets, _prefix(profile))
    handlers = _Handlers(Calls(workspace, threads or Threads()), workspace, offering, frozenset(scopes), profile)
    server: Server[Any] = Server(
        "athand",
        version=__version__,
        title="Athand",
        description="Finds what an agent can use: memories, documents, tools and UI flows, with scores that say why.",
        instructions=instructions(offering.operations),
        cache_hints=dict.fromkeys(_CONSTANT_LISTS, _CONSTANT),
        get_tool_input_schema=handlers.input_schema,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_resource_templates,
        on_read_resource=handlers.read_resource,
        on_list_prompts=handlers.list_prompts,
        on_get_prompt=handlers.get_prompt,
        on_completion=handlers.complete,
    )
    # The constructor would warn that newer clients choose a level with each request instead; older ones do not.
    server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, handlers.set_level)
    return server


def _prefix(profile: str | None) -> str:
    """What the tools of an app's browser are called, as its profile says."""
    if profile is None:
        return UI_PREFIX
    from athand.config import load_settings
    from athand.flows.profiles import Profiles

    return Profiles((load_settings().profiles_folder,)).get(profile).prefix


class _Handlers:
    """What the protocol asks, answered for a caller with certain scopes."""

    def __init__(
        self, calls: Calls, workspace: AppContext, offering: Offering, scopes: frozenset[str], profile: str | None
    ) -> None:
        self._corpora = offering.toolsets or TOOLSETS
        self._workspace = workspace
        self._offering = offering
        self._scopes = scopes
        self._own = {name: {"app": profile} for name in _BEGINNING if profile is not None}
        self._calls = calls
        self._resources = Resources(workspace, self._corpora)
        self._prompts = Prompts(workspace, self._corpora)

    def input_schema(self, name: str) -> dict[str, Any] | None:
        operation = self._offering.operations.get(name)
        return operation.parameters if operation else None

    async def list_tools(self, context: Context, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=self._offering.listed(self._scopes_of(context)))

    async def call_tool(self, context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        offered = self._offering.to(self._scopes_of(context))
        if params.name not in offered:
            raise MCPError(types.INVALID_PARAMS, self._why_not(params.name))
        operation = offered[params.name]
        arguments = {**self._own.get(operation.name, {}), **(params.arguments or {})}
        return await self._calls.call(operation, arguments, context)

    async def list_resources(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        self._need_search(context)
        return await self._calls.ask("resources/list", self._resources.page, params.cursor if params else None)

    async def list_resource_templates(self, context: Context, params: Any) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=self._resources.templates())

    async def read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        self._need_search(context)
        try:
            return await self._calls.ask("resources/read", self._resources.read, str(params.uri))
        except MCPError as error:
            if error.error.code != types.INVALID_PARAMS:
                raise
            code = types.INVALID_PARAMS if context.protocol_version in MODERN_PROTOCOL_VERSIONS else _RESOURCE_NOT_FOUND
            raise MCPError(code, error.error.message, {"uri": str(params.uri)}) from error

    async def list_prompts(self, context: Context, params: Any) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=self._prompts.listed())

    async def get_prompt(self, context: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        self._need_search(context)
        return await self._calls.ask("prompts/get", self._prompts.get, params.name, params.arguments or {})

    async def complete(self, context: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
        self._need_search(context)
        argument = params.argument
        given = (self._workspace, self._corpora, argument.name, argument.value)
        return await self._calls.ask("completion", complete, *given)

    async def set_level(self, context: Context, params: types.SetLevelRequestParams) -> types.EmptyResult:
        choose(context, params.level)
        return types.EmptyResult()

    def _scopes_of(self, context: Context) -> frozenset[str]:
        caller = context.request.scope.get(CALLER) if context.request is not None else None
        return caller.scopes if caller is not None else self._scopes

    def _need_search(self, context: Context) -> None:
        if "search" not in self._scopes_of(context):
            raise MCPError(types.INVALID_REQUEST, "This needs the scope search, which your token does not have.")

    def _why_not(self, name: str) -> str:
        known = self._offering.operations.get(name)
        if known:
            return f"The tool {name} needs the scope {known.scope}, which this caller does not have."
        return f"No tool {name!r} is offered here. tools/list has those that are."
