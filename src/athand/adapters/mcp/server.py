"""The MCP server: request handlers for every transport and both protocol generations."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mcp import MCPError, types
from mcp.server.caching import CacheableMethod, CacheHint
from mcp.server.lowlevel import Server
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from athand import __version__
from athand.adapters.mcp.calls import CallAnswer
from athand.adapters.mcp.completion import complete
from athand.adapters.mcp.dispatch import Dispatcher
from athand.adapters.mcp.notifications import RequestContext, set_log_level
from athand.adapters.mcp.prompts import Prompts
from athand.adapters.mcp.resources import Resources
from athand.adapters.mcp.tool_list import UI_PREFIX, ToolList, default_limit, render_instructions
from athand.adapters.operations import AGENT, DEFAULT_SCOPES, AppContext, Caller, Operation, list_toolsets
from athand.adapters.operations.threads import Threads
from athand.adapters.project import NO_PROJECT, FoundProject

CALLER = "athand.caller"  # key of the caller in the ASGI scope, set by the HTTP server
_RESOURCE_NOT_FOUND = -32002  # before 2026-07-28; since then INVALID_PARAMS
_CACHE_HINT = CacheHint(ttl_ms=3_600_000, scope="private")
_SESSION_STARTS = ("ui_launch", "knowledge_start_session")  # their default app is that of the profile
_CACHED_LISTS: tuple[CacheableMethod, ...] = (
    "server/discover",
    "tools/list",
    "prompts/list",
    "resources/templates/list",
)


def create_mcp_server(
    ctx: AppContext,
    *,
    toolsets: Sequence[str] | None = None,
    profile: str | None = None,
    scopes: Collection[str] = DEFAULT_SCOPES,
    threads: Threads | None = None,
    project: FoundProject = NO_PROJECT,
    asks_roots: bool = False,
    has_flows: bool = False,
) -> Server[Any]:
    """A server; `scopes` and `project` are those of a caller whom the transport does not identify.

    With `asks_roots` the roots of the one client say which project it is, where it has some. With `has_flows`, or a
    profile, the tools of every day have one for recorded flows.
    """
    tools = ToolList(toolsets, _ui_prefix(profile), ctx.corpora, has_flows=has_flows or profile is not None)
    dispatcher = Dispatcher(ctx, tools, threads or Threads(), asks_roots=asks_roots)
    caller = replace(AGENT, scopes=frozenset(scopes), project=project.name if project.is_known else None)
    handlers = _McpHandlers(dispatcher, ctx, tools, caller, profile)
    server: Server[Any] = Server(
        "athand",
        version=__version__,
        title="Athand",
        description="Finds what an agent can use: memories, documents, tools and UI flows, with scores that say why.",
        instructions=render_instructions(tools.operations, project),
        cache_hints=dict.fromkeys(_CACHED_LISTS, _CACHE_HINT),
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
    # Passed to the constructor, it would warn: only older clients set a level for the whole connection.
    server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, handlers.set_level)
    return server


def _ui_prefix(profile: str | None) -> str:
    """The prefix of the browser tools, as the profile sets it."""
    if profile is None:
        return UI_PREFIX
    from athand.config import load_settings
    from athand.flows.profiles import Profiles

    return Profiles((load_settings().profiles_folder,)).get(profile).prefix


class _McpHandlers:
    """The request handlers; each works within the scopes of its caller."""

    def __init__(
        self, dispatcher: Dispatcher, ctx: AppContext, tools: ToolList, caller: Caller, profile: str | None
    ) -> None:
        self._corpora = tools.toolsets or list_toolsets(ctx.corpora)
        self._ctx = ctx
        self._tools = tools
        self._caller = caller
        self._default_arguments = {name: {"app": profile} for name in _SESSION_STARTS if profile is not None}
        self._dispatcher = dispatcher
        self._resources = Resources(ctx, self._corpora)
        self._prompts = Prompts(ctx, self._corpora)

    def input_schema(self, name: str) -> dict[str, Any] | None:
        operation = self._tools.operations.get(name)
        return self._tools.input_schema(operation) if operation else None

    async def list_tools(self, context: RequestContext, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=self._tools.list_tools(self._find_caller(context).scopes))

    async def call_tool(self, context: RequestContext, params: types.CallToolRequestParams) -> CallAnswer:
        caller = self._find_caller(context)
        allowed = self._tools.filter(caller.scopes)
        if params.name not in allowed:
            raise MCPError(types.INVALID_PARAMS, self._explain_missing_tool(params.name))
        operation = allowed[params.name]
        arguments = {**self._find_defaults(operation), **(params.arguments or {})}
        params = params.model_copy(update={"arguments": arguments})
        return await self._dispatcher.call(operation, params, context, caller)

    async def list_resources(
        self, context: RequestContext, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        self._require_search_scope(context)
        return await self._dispatcher.run(
            "resources/list", self._resources.list_page, params.cursor if params else None
        )

    async def list_resource_templates(self, context: RequestContext, params: Any) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=self._resources.list_templates())

    async def read_resource(
        self, context: RequestContext, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        self._require_search_scope(context)
        try:
            return await self._dispatcher.run("resources/read", self._resources.read, str(params.uri))
        except MCPError as error:
            if error.error.code != types.INVALID_PARAMS:
                raise
            code = types.INVALID_PARAMS if context.protocol_version in MODERN_PROTOCOL_VERSIONS else _RESOURCE_NOT_FOUND
            raise MCPError(code, error.error.message, {"uri": str(params.uri)}) from error

    async def list_prompts(self, context: RequestContext, params: Any) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=self._prompts.list_prompts())

    async def get_prompt(self, context: RequestContext, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        self._require_search_scope(context)
        return await self._dispatcher.run("prompts/get", self._prompts.get, params.name, params.arguments or {})

    async def complete(self, context: RequestContext, params: types.CompleteRequestParams) -> types.CompleteResult:
        self._require_search_scope(context)
        argument = params.argument
        arguments = (self._ctx, self._corpora, argument.name, argument.value)
        return await self._dispatcher.run("completion", complete, *arguments)

    async def set_level(self, context: RequestContext, params: types.SetLevelRequestParams) -> types.EmptyResult:
        set_log_level(context, params.level)
        return types.EmptyResult()

    def _find_defaults(self, operation: Operation) -> Mapping[str, Any]:
        """Arguments in place of those that are not given."""
        found: dict[str, Any] = dict(self._default_arguments.get(operation.name, {}))
        if limit := default_limit(operation):
            found["limit"] = limit
        return found

    def _find_caller(self, context: RequestContext) -> Caller:
        """Who asks. Whatever the token, an MCP client is an agent: what it writes is not a person's word."""
        found: Caller | None = context.request.scope.get(CALLER) if context.request is not None else None
        return self._caller if found is None else replace(found, writer=AGENT.writer)

    def _require_search_scope(self, context: RequestContext) -> None:
        if "search" not in self._find_caller(context).scopes:
            raise MCPError(types.INVALID_REQUEST, "This needs the scope search, which your token does not have.")

    def _explain_missing_tool(self, name: str) -> str:
        operation = self._tools.operations.get(name)
        if operation:
            return f"The tool {name} needs the scope {operation.scope}, which this caller does not have."
        return f"No tool {name!r} is offered here. tools/list has those that are."
