"""What the owner decides about tools: where they come from, which may be called, what may be started."""

from pathlib import Path
from typing import Annotated, Any, Literal

from athand.adapters.operations.catalogues import resolve_catalogues
from athand.adapters.operations.context import AppContext
from athand.adapters.operations.model import operation
from athand.adapters.operations.parameters import Catalogues, Name, ServerPath
from athand.adapters.operations.tools import Id
from athand.parameters import Help
from athand.tools.catalogue import CatalogueUpdate
from athand.tools.model import DEFAULT, Rule, Server, Tool

ServerName = Annotated[Name, Help("The server's name")]
Named = Annotated[Name, Help("The id of a tool, or the name of a server: all its tools")]
Owner = Annotated[Name, Help("The catalogue they belong to")]


@operation("tools/approve", toolset="tools", scope="admin", kind="write", title="Let a tool be called", idempotent=True)
def approve_tool(ctx: AppContext, id: Id, catalogue: Catalogues = None) -> Tool:
    """Let a tool be called as its server offers it now.

    A new tool may wait for this, and one that was changed by its server always does. Approving means: somebody has
    read its description, its diff and its flags, and wants agents to follow them. A later change has to be approved
    again.
    """
    return ctx.athand.tools.approve(id, catalogue=resolve_catalogues(ctx, catalogue))


@operation("tools/reject", toolset="tools", scope="admin", kind="write", title="Reject a tool", idempotent=True)
def reject_tool(ctx: AppContext, id: Id, catalogue: Catalogues = None) -> Tool:
    """Neither show a tool in searches nor let it be called, until it is approved."""
    return ctx.athand.tools.reject(id, catalogue=resolve_catalogues(ctx, catalogue))


@operation("tools/enable", toolset="tools", scope="admin", kind="write", title="Switch tools on", idempotent=True)
def enable_tool(ctx: AppContext, id: Named, catalogue: Catalogues = None) -> Tool | Server:
    """Show and call a tool, or all tools of a server, again. What waits to be approved still waits."""
    return ctx.athand.tools.enable(id, catalogue=resolve_catalogues(ctx, catalogue))


@operation("tools/disable", toolset="tools", scope="admin", kind="write", title="Switch tools off", idempotent=True)
def disable_tool(ctx: AppContext, id: Named, catalogue: Catalogues = None) -> Tool | Server:
    """Neither show nor call a tool, or any tool of a server, which is stopped; enable_tool takes it back."""
    return ctx.athand.tools.disable(id, catalogue=resolve_catalogues(ctx, catalogue))


@operation("tools/rules", toolset="tools", scope="admin", title="Rules about calls")
def tool_rules(ctx: AppContext, catalogue: Catalogues = None) -> list[Rule]:
    """List what was decided about calls. Where rules disagree, deny wins over ask, and ask over allow."""
    where = resolve_catalogues(ctx, catalogue) or DEFAULT
    names = [where] if isinstance(where, str) else where
    return list(dict.fromkeys(rule for name in names for rule in ctx.athand.tools.rules(catalogue=name)))


@operation("tools/rule", toolset="tools", scope="admin", kind="write", title="Decide about calls", idempotent=True)
def set_tool_rule(
    ctx: AppContext,
    pattern: Annotated[str, Help('Ids of tools, with * for anything: "github__delete_*"')],
    decision: Annotated[
        Literal["allow", "ask", "deny"] | None, Help("ask: only where a person can say yes; null: no rule")
    ],
    catalogue: Annotated[str, Help("For the tools of this catalogue; * for those of all")] = "*",
) -> list[Rule]:
    """Decide about calls of the tools whose id fits a pattern, or take such a rule back. Answers all rules."""
    ctx.athand.tools.rule(pattern, decision, catalogue=catalogue)
    return ctx.athand.tools.rules(catalogue=catalogue)


@operation(
    "tools/load", toolset="tools", scope="admin", kind="write", title="Load servers", idempotent=True, open_world=True
)
def load_servers(
    ctx: AppContext,
    path: ServerPath,
    catalogue: Owner = DEFAULT,
) -> list[Server]:
    """Register the servers of an mcpServers file, and start or reach them in the background: it runs their commands.

    list_servers tells how they are.
    """
    resolve_catalogues(ctx, catalogue)
    return ctx.athand.tools.load(path, catalogue=catalogue)


@operation("tools/add", toolset="tools", scope="admin", kind="write", title="Add tools", idempotent=True)
def add_tools(
    ctx: AppContext,
    server: Annotated[str, Help("The name that the tools are listed under")],
    tools: Annotated[list[dict[str, Any]], Help("Tools as tools/list has them: name, description, …")],
    description: Annotated[str | None, Help("What they are for")] = None,
    catalogue: Owner = DEFAULT,
) -> CatalogueUpdate:
    """Add tools without a live server: they can be found and described, not called. What is added is approved."""
    resolve_catalogues(ctx, catalogue)
    return ctx.athand.tools.add(server, tools, description=description, catalogue=catalogue)


@operation(
    "tools/refresh",
    toolset="tools",
    scope="admin",
    kind="write",
    title="Refresh server",
    idempotent=True,
    open_world=True,
)
def refresh_server(ctx: AppContext, server: ServerName, catalogue: Catalogues = None) -> Server:
    """List the tools of a server again, now. What has changed waits to be approved."""
    return ctx.athand.tools.refresh(server, catalogue=resolve_catalogues(ctx, catalogue))


@operation("tools/remove", toolset="tools", scope="admin", kind="destructive", title="Remove a server")
def remove_server(ctx: AppContext, server: ServerName, catalogue: Catalogues = None) -> Server:
    """Stop a server, and take it and its tools out; answers what it was. A file that still names it brings it back."""
    where = resolve_catalogues(ctx, catalogue)
    known = {each.name: each for each in ctx.athand.tools.servers(catalogue=where)}
    ctx.athand.tools.remove(server, catalogue=where)
    return known[server]


@operation(
    "tools/trust",
    toolset="tools",
    scope="admin",
    kind="write",
    title="Trust a project",
    idempotent=True,
    open_world=True,
)
def trust_config(
    ctx: AppContext,
    path: ServerPath,
    hash: Annotated[str | None, Help("Only if the file still has this hash")] = None,
) -> dict[str, str]:
    """Let a project's configuration start the servers it names: it runs their commands.

    The path is that of its .mcp.json. It is trusted as long as it stays as it is now, which its hash tells. Read it
    before.
    """
    return {"path": str(path), "hash": ctx.athand.tools.trust(_file(path), hash=hash)}


@operation("tools/distrust", toolset="tools", scope="admin", kind="write", title="Distrust a project", idempotent=True)
def distrust_config(ctx: AppContext, path: ServerPath) -> dict[str, Any]:
    """Stop what a project's configuration has started, and start nothing of it any more."""
    return {"path": str(path), "was_trusted": ctx.athand.tools.distrust(_file(path))}


def _file(path: ServerPath) -> Path:
    return Path(path).expanduser()
