"""Operations on tools: search, describe and call them, and what their owner decides about them."""

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from athand.adapters.operations.caller import AGENT, ByCaller, Caller
from athand.adapters.operations.context import AppContext
from athand.adapters.operations.model import Operation, row
from athand.parameters import Catalogues, FilePath, Help, Length, Name
from athand.text_length import shorten
from athand.tools import Tools
from athand.tools.model import DEFAULT, CallResult, Rule, Server, Tool
from athand.tools.parameters import Arguments, MaxChars, OwnCatalogue, Seconds, ServerName, ToolId

_MAX_CHARS = 20_000  # of an answer, by default


_CONSENT = {"type": "object", "properties": {"call": {"type": "boolean", "title": "Call it"}}, "required": ["call"]}
_MOST_SHOWN = 1_000  # characters of arguments in a question


def _ask_person(caller: Caller, tool: Tool, arguments: Mapping[str, Any]) -> bool | None:
    """Whether the person behind the client agrees to a call; None if nobody answers.

    Clients that run without a person say "cancel", as those do whose person closed the question.
    """
    shown = shorten(json.dumps(arguments, ensure_ascii=False), _MOST_SHOWN)
    answer = caller.ask(f"May {tool.id} be called? Its kind is {tool.kind}. Arguments: {shown}", _CONSENT)
    if answer is None or answer.get("action") == "cancel":
        return None
    return answer.get("action") == "accept" and bool((answer.get("content") or {}).get("call", True))


def _make_call(name: str, description: str, kind: str | None = None) -> Callable[..., CallResult]:
    """An operation that calls tools, and asks a person where a rule says so.

    Where no rule decides, the one for every kind asks about what may destroy something. Those for one kind do not: a
    client lets its person decide about each of them by its name.
    """

    def call(
        ctx: AppContext,
        id: ToolId,
        arguments: Arguments = None,
        max_chars: MaxChars = _MAX_CHARS,
        seconds: Seconds = None,
        catalogue: Catalogues = None,
        caller: ByCaller = AGENT,
    ) -> CallResult:
        return ctx.athand.tools.call(
            id,
            arguments,
            catalogue=ctx.resolve_catalogues(catalogue),
            kinds=None if kind is None else (kind,),
            seconds=seconds,
            max_chars=max_chars,
            caller=caller.name,
            confirm=partial(_ask_person, caller),
            relay=caller.client,
            careful=kind is None,
        )

    call.__name__ = call.__qualname__ = name
    call.__doc__ = description
    return call


call_tool = _make_call(
    "call_tool",
    "Call a tool of any server, with the id and the parameters that search_tools gives.\n\n"
    "What may destroy something, or does not say so, is called only if a rule of the owner allows it or the user "
    "agrees.",
)
call_tool_write = _make_call(
    "call_tool_write", 'Call a tool of the kind "write": it adds or changes something, and destroys nothing.', "write"
)
call_tool_destructive = _make_call(
    "call_tool_destructive",
    'Call a tool of the kind "destructive": it may overwrite or delete, or its server does not say what it does.',
    "destructive",
)


def tool_stubs(
    ctx: AppContext,
    ids: Annotated[list[Name], Length(1, 1000), Help("The ids of the tools")],
    language: Annotated[Literal["typescript", "python"], Help("The language of the functions")] = "typescript",
    gateway: Annotated[str | None, Help("The address that the functions call; default: that of a local server")] = None,
    catalogue: Catalogues = None,
) -> str:
    """Write a module with a typed function for each of these tools: what it takes, and what it answers."""
    return ctx.athand.tools.stubs(ids, language, catalogue=ctx.resolve_catalogues(catalogue), gateway=gateway)


def tool_rules(ctx: AppContext, catalogue: Catalogues = None) -> list[Rule]:
    """List what was decided about calls. Where rules disagree, deny wins over ask, and ask over allow."""
    where = ctx.resolve_catalogues(catalogue) or DEFAULT
    names = [where] if isinstance(where, str) else where
    return list(dict.fromkeys(rule for name in names for rule in ctx.athand.tools.rules(catalogue=name)))


def set_tool_rule(
    ctx: AppContext,
    pattern: Annotated[str, Help('Ids of tools, with * for anything: "github__delete_*"')],
    decision: Annotated[
        Literal["allow", "ask", "deny"] | None,
        Help("Allow, deny, or ask a person, where one can be asked; null removes the rule"),
    ],
    catalogue: Annotated[str, Help("Only tools of this catalogue; * for all catalogues")] = "*",
) -> list[Rule]:
    """Decide about calls of the tools whose id fits a pattern, or take such a rule back. Answers all rules."""
    ctx.athand.tools.rule(pattern, decision, catalogue=catalogue)
    return ctx.athand.tools.rules(catalogue=catalogue)


def load_servers(
    ctx: AppContext,
    path: FilePath,
    catalogue: OwnCatalogue = DEFAULT,
) -> list[Server]:
    """Register the servers of an mcpServers file, and start or reach them in the background: it runs their commands.

    list_servers tells their state.
    """
    ctx.resolve_catalogues(catalogue)
    return ctx.athand.tools.load(path, catalogue=catalogue)


def remove_server(ctx: AppContext, server: ServerName, catalogue: Catalogues = None) -> Server:
    """Stop a server and remove it with its tools; answers what it was. A file that still names it brings it back."""
    where = ctx.resolve_catalogues(catalogue)
    known = {each.name: each for each in ctx.athand.tools.servers(catalogue=where)}
    ctx.athand.tools.remove(server, catalogue=where)
    return known[server]


def trust_config(
    ctx: AppContext,
    path: FilePath,
    hash: Annotated[str | None, Help("Only if the file still has this hash")] = None,
) -> dict[str, str]:
    """Let a project's configuration start the servers it names: it runs their commands, so read it first.

    The path is that of its .mcp.json. It is trusted as long as it stays unchanged, which its hash tells.
    """
    return {"path": str(path), "hash": ctx.athand.tools.trust(_file(path), hash=hash)}


def distrust_config(ctx: AppContext, path: FilePath) -> dict[str, Any]:
    """Stop the servers that a project's configuration has started, and start none of them any more."""
    return {"path": str(path), "was_trusted": ctx.athand.tools.distrust(_file(path))}


def _file(path: FilePath) -> Path:
    return Path(path).expanduser()


def _call_row(function: Any, path: str, title: str, kind: str) -> Operation:
    name = function.__name__
    return row(name, function, title, path=path, toolset="tools", scope="call-tools", kind=kind, open_world=True)


def _admin(name: str, run: Any, title: str, **options: Any) -> Operation:
    """An operation that only the owner may run; a second run changes nothing more."""
    given = {"toolset": "tools", "scope": "admin", "kind": "write", "idempotent": True, **options}
    return row(name, run, title, **given)


OPERATIONS = (
    row("search_tools", Tools.search, "Search tools"),
    row("describe_tool", Tools.describe, "Describe a tool"),
    _call_row(call_tool, "tools/call", "Call a tool", "destructive"),
    _call_row(call_tool_write, "tools/call_write", "Call a tool that changes something", "write"),
    _call_row(call_tool_destructive, "tools/call_destructive", "Call a tool that may destroy something", "destructive"),
    row("read_on", Tools.read_on, "Read on in a long answer", scope="call-tools"),
    row("list_tools", Tools.list, "List tools"),
    row("list_servers", Tools.servers, "List servers"),
    row("tool_stubs", tool_stubs, "Typed functions for tools", path="tools/stubs", toolset="tools"),
    row("tool_stats", Tools.stats, "Statistics of tools"),
    _admin("approve_tool", Tools.approve, "Let a tool be called"),
    _admin("reject_tool", Tools.reject, "Reject a tool"),
    _admin("enable_tool", Tools.enable, "Switch tools on"),
    _admin("disable_tool", Tools.disable, "Switch tools off"),
    _admin("call_log", Tools.call_log, "The latest calls of tools", kind="read"),
    _admin("tool_rules", tool_rules, "Rules about calls", path="tools/rules", kind="read"),
    _admin("set_tool_rule", set_tool_rule, "Decide about calls", path="tools/rule"),
    _admin("load_servers", load_servers, "Load servers", path="tools/load", open_world=True),
    _admin("add_tools", Tools.add, "Add tools"),
    _admin("refresh_server", Tools.refresh, "Refresh server", open_world=True),
    _admin(
        "remove_server", remove_server, "Remove a server", path="tools/remove", kind="destructive", idempotent=False
    ),
    _admin("trust_config", trust_config, "Trust a project", path="tools/trust", open_world=True),
    _admin("distrust_config", distrust_config, "Distrust a project", path="tools/distrust"),
)
