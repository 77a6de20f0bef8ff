"""Tools: found, looked at, typed and called."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from athand.adapters.operations.catalogues import resolve_catalogues
from athand.adapters.operations.context import AppContext
from athand.adapters.operations.model import operation
from athand.adapters.operations.parameters import Catalogues, Name, Question
from athand.parameters import Help, Length, Range
from athand.tools.model import CallResult, Server, Tool, ToolHit, ToolStats
from athand.types import Hits

_PIECE = 20_000  # characters of an answer, if the caller does not say how many

Id = Annotated[Name, Help("The tool's id: server__tool")]
OfServer = Annotated[Name | None, Help("Only tools of this server")]
Share = Annotated[float | None, Range(0, 1)]
Arguments = Annotated[
    dict[str, Any] | str | None, Help("What the tool takes, as its input_schema says; also as JSON text")
]
Seconds = Annotated[float | None, Range(0, 3600, exclusive=True), Help("How long to wait for the answer")]
Characters = Annotated[int, Range(1), Help("How much text to answer; read_on brings the rest")]


@operation("tools/search", toolset="tools", title="Search tools")
def search_tools(
    ctx: AppContext,
    query: Annotated[Question, Help("What is to be done, in plain words, or the name of a tool")],
    limit: Annotated[int | None, Range(1, 100), Help("How many at most; 3 without a setting")] = None,
    threshold: Annotated[Share, Help("Leave out what scores less; 0.35 without a setting")] = None,
    alpha: Annotated[Share, Help("How much meaning counts against words; 0.7 without a setting")] = None,
    server: OfServer = None,
    catalogue: Catalogues = None,
    mode: Annotated[Literal["hybrid", "semantic", "keyword"] | None, Help("Instead of alpha")] = None,
) -> Hits[ToolHit]:
    """Find the tools that can do something, best first, each with its input schema and why it fits.

    If no tool fits, none is returned, and `closest` has the nearest names. A tool that was found is called with
    call_tool, call_tool_write or call_tool_destructive, as its `kind` says.
    """
    return ctx.athand.tools.search(
        query,
        limit=limit,
        threshold=threshold,
        alpha=alpha,
        server=server,
        catalogue=resolve_catalogues(ctx, catalogue),
        mode=mode,
    )


@operation("tools/describe", toolset="tools", title="Describe a tool")
def describe_tool(ctx: AppContext, id: Id, catalogue: Catalogues = None) -> Tool:
    """Tell everything about one tool: what it does, takes and answers, of which kind it is, and if it may be called."""
    return ctx.athand.tools.describe(id, catalogue=resolve_catalogues(ctx, catalogue))


@operation("tools/call", toolset="tools", scope="call-tools", title="Call a tool that only reads", open_world=True)
def call_tool(
    ctx: AppContext,
    id: Id,
    arguments: Arguments = None,
    max_chars: Characters = _PIECE,
    seconds: Seconds = None,
    catalogue: Catalogues = None,
) -> CallResult:
    """Call a tool of the kind "read". A tool that changes something is refused, with the name of what calls it."""
    return _called(ctx, "read", id, arguments, max_chars, seconds, catalogue)


@operation(
    "tools/call_write",
    toolset="tools",
    scope="call-tools",
    kind="write",
    title="Call a tool that changes something",
    open_world=True,
)
def call_tool_write(
    ctx: AppContext,
    id: Id,
    arguments: Arguments = None,
    max_chars: Characters = _PIECE,
    seconds: Seconds = None,
    catalogue: Catalogues = None,
) -> CallResult:
    """Call a tool of the kind "write": it adds or changes something, and destroys nothing."""
    return _called(ctx, "write", id, arguments, max_chars, seconds, catalogue)


@operation(
    "tools/call_destructive",
    toolset="tools",
    scope="call-tools",
    kind="destructive",
    title="Call a tool that may destroy something",
    open_world=True,
)
def call_tool_destructive(
    ctx: AppContext,
    id: Id,
    arguments: Arguments = None,
    max_chars: Characters = _PIECE,
    seconds: Seconds = None,
    catalogue: Catalogues = None,
) -> CallResult:
    """Call a tool of the kind "destructive": it may overwrite or delete, or its server does not say what it does."""
    return _called(ctx, "destructive", id, arguments, max_chars, seconds, catalogue)


def _called(
    ctx: AppContext,
    kind: str,
    id: str,
    arguments: Mapping[str, Any] | str | None,
    max_chars: int,
    seconds: float | None,
    catalogue: str | tuple[str, ...] | None,
) -> CallResult:
    """Where a rule wants somebody to be asked, the call is refused: no surface of operations can ask."""
    where = resolve_catalogues(ctx, catalogue)
    return ctx.athand.tools.call(id, arguments, catalogue=where, kinds=(kind,), seconds=seconds, max_chars=max_chars)


@operation("tools/read_on", toolset="tools", scope="call-tools", title="Read on in a long answer")
def read_on(
    ctx: AppContext,
    continuation: Annotated[str, Help("The continuation of the answer that was cut")],
    max_chars: Characters = _PIECE,
) -> CallResult:
    """Read the next piece of a tool's answer that was cut. Nothing is called."""
    return ctx.athand.tools.read_on(continuation, max_chars)


@operation("tools/list", toolset="tools", title="List tools")
def list_tools(ctx: AppContext, server: OfServer = None, catalogue: Catalogues = None) -> list[Tool]:
    """List all tools in full, also those that wait to be approved. To find one, search_tools answers far less."""
    return ctx.athand.tools.list(server, catalogue=resolve_catalogues(ctx, catalogue))


@operation("tools/servers", toolset="tools", title="List servers")
def list_servers(ctx: AppContext, catalogue: Catalogues = None) -> list[Server]:
    """List the servers that tools come from: how they are, why they are not better, and how many tools they have."""
    return ctx.athand.tools.servers(catalogue=resolve_catalogues(ctx, catalogue))


@operation("tools/stubs", toolset="tools", title="Typed functions for tools")
def tool_stubs(
    ctx: AppContext,
    ids: Annotated[list[Name], Length(1, 1000), Help("Ids of tools")],
    language: Annotated[Literal["typescript", "python"], Help("Of the functions")] = "typescript",
    gateway: Annotated[str | None, Help("The address that the functions call")] = None,
    catalogue: Catalogues = None,
) -> str:
    """Write a module with a typed function for each of these tools: what it takes, and what it answers."""
    return ctx.athand.tools.stubs(ids, language, catalogue=resolve_catalogues(ctx, catalogue), gateway=gateway)


@operation("tools/stats", toolset="tools", title="Statistics of tools")
def tool_stats(ctx: AppContext) -> ToolStats:
    """Tell how many tools there are, how often they were looked for and called, and what searching has saved."""
    return ctx.athand.tools.stats()
