"""How tools and their servers look. What servers say of themselves is shown, never obeyed."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from athand.adapters.cli.render import plain_table, print_table
from athand.adapters.cli.words import bar, counted, fraction, moment
from athand.tools.poisoning.unicode import escape_invisible

if TYPE_CHECKING:
    from athand.tools import Flag, Rule, Server, Tool, ToolHit, ToolStats

_BAR = 6
_STATES = {"approved": "green", "quarantined": "yellow", "changed": "red", "rejected": "red"}
_KINDS = {"read": "green", "write": "yellow", "destructive": "red"}
_HOW = {
    "connected": "green",
    "idle": "green",
    "failing": "red",
    "needs login": "yellow",
    "untrusted": "yellow",
    "disabled": "dim",
    "unknown": "dim",
}
_DECISIONS = {"allow": "green", "ask": "yellow", "deny": "red"}
_LONGEST = 200  # characters of a word in a table


def seen(text: str) -> str:
    """The words of a server in one line, every character in them to be seen."""
    return escape_invisible(" ".join(text.split()))


def said(text: str) -> str:
    """The words of a server, line by line, every character in them to be seen."""
    return "\n".join(escape_invisible(line.rstrip()) for line in text.expandtabs(4).splitlines())


def _cell(text: str, style: str = "") -> Text:
    return Text(seen(text), style, no_wrap=True, overflow="ellipsis")


def print_tool_hits(console: Console, hits: "Sequence[ToolHit]") -> None:
    """Each tool with how well it fits, what it says of itself, and below that the reason."""
    table = plain_table("tool", "confidence", "description", flexible="description")
    for hit in hits:
        confidence = Text.assemble((bar(hit.score, _BAR), "blue"), (f" {fraction(hit.score)}", "green"))
        table.add_row(_cell(hit.id, "bold cyan"), confidence, _described(hit.item))
        table.add_row("", "", _cell(hit.reason, "dim"))
    print_table(console, table)


def _described(tool: "Tool") -> Text:
    """The description, behind what is special about the tool: there it is never cut off."""
    marks = [(tool.state, _STATES[tool.state])] if tool.state != "approved" else []
    marks += [("disabled", "dim")] if not tool.enabled else []
    words = [Text.assemble(mark, " · ") for mark in marks]
    return Text(no_wrap=True, overflow="ellipsis").join([*words, _cell(tool.description or tool.title or "—")])


def print_tools(console: Console, tools: "Sequence[Tool]") -> None:
    """A list to choose from."""
    table = plain_table("tool", "does", "description", flexible="description")
    for tool in tools:
        table.add_row(_cell(tool.id, "cyan"), Text(tool.kind, _KINDS[tool.kind]), _described(tool))
    print_table(console, table)


def print_tool(console: Console, tool: "Tool") -> None:
    """Everything about one tool."""
    console.print(Padding(Text(said(tool.description) or "(no description)"), (0, 0, 1, 1), expand=False))
    details = {
        "id": Text(seen(tool.id), "cyan"),
        "title": Text(seen(tool.title or "")),
        "server": Text(f"{seen(tool.server)} · {seen(tool.catalogue)}"),
        "does": Text(_does(tool), _KINDS[tool.kind]),
        "state": _state(tool),
        "since": Text(moment(tool.updated_at)),
        "hash": Text(tool.hash, "dim"),
    }
    _print_details(console, details)
    _print_fields(console, "takes", tool.input_schema)
    _print_fields(console, "answers", tool.output_schema or {})
    print_doubts(console, tool)


def _does(tool: "Tool") -> str:
    return {
        "read": "reads only, as its server says",
        "write": "changes things, destroys nothing, as its server says",
        "destructive": "may destroy something",
    }[tool.kind]


def _state(tool: "Tool") -> Text:
    advice = f"; if this is right:  athand tools approve {tool.id}"
    if not tool.enabled:
        advice = f"; enable it with:  athand tools enable {tool.id}"
    why = f": it {tool.blocked}{advice}" if tool.blocked else ""
    return Text.assemble((tool.state, _STATES[tool.state]), why)


def _print_details(console: Console, details: Mapping[str, Text]) -> None:
    table = plain_table("name", "value", flexible="value", header=False)
    for name, value in details.items():
        if value.plain:
            table.add_row(Text(name, "dim"), value)
    print_table(console, table)


def _print_fields(console: Console, heading: str, schema: Mapping[str, Any]) -> None:
    """The names in a schema with their types; a server may have put anything there."""
    properties = schema.get("properties")
    if not isinstance(properties, Mapping) or not properties:
        return
    required = schema.get("required")
    needed = required if isinstance(required, list) else []
    table = plain_table(heading, "type", "description", flexible="description")
    for name, form in properties.items():
        form = form if isinstance(form, Mapping) else {}
        mark = Text("*" if name in needed else "", "red")
        about = str(form.get("description") or form.get("title") or "")
        table.add_row(_cell(name[:_LONGEST], "cyan") + mark, _cell(_type(form)[:_LONGEST], "dim"), Text(seen(about)))
    console.print()
    print_table(console, table)


def _type(form: Mapping[str, Any]) -> str:
    if isinstance(form.get("enum"), list):
        return " | ".join(map(str, form["enum"]))
    kinds = form.get("type")
    if kinds == "array":
        items = form.get("items")
        return f"{_type(items) if isinstance(items, Mapping) else 'any'}[]"
    if isinstance(kinds, str | list):
        return kinds if isinstance(kinds, str) else " | ".join(map(str, kinds))
    if isinstance(form.get("$ref"), str):
        return str(form["$ref"]).rpartition("/")[2]
    either = form.get("anyOf") or form.get("oneOf")
    forms = [each for each in either if isinstance(each, Mapping)] if isinstance(either, list) else []
    return " | ".join(map(_type, forms[:4])) or "any"


def print_doubts(console: Console, tool: "Tool") -> None:
    """What should make one careful about a tool, and what has changed in it."""
    for flag in tool.flags:
        console.print(Padding(_flag(flag), (0, 0, 0, 1), expand=False))
    if tool.diff:
        console.print()
        for line in tool.diff.splitlines():
            style = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")
            console.print(Text(f" {line}", style), soft_wrap=True)


def _flag(flag: "Flag") -> Text:
    mark = ("! ", "red") if flag.is_dangerous else ("· ", "yellow")
    return Text.assemble(mark, (flag.rule, "bold"), f" in {seen(flag.field)}: {seen(flag.detail)}")


def print_waiting(console: Console, tool: "Tool") -> None:
    """A tool that somebody has to decide about: all that it says of itself, and what is doubtful in it."""
    head = Text.assemble((" ", ""), (seen(tool.id), "bold cyan"), "  ", (tool.state, _STATES[tool.state]))
    console.print(Text.assemble(head, "  ", (_does(tool), _KINDS[tool.kind])))
    if not tool.diff:
        console.print(Padding(Text(said(tool.description) or "(no description)"), (0, 0, 0, 3), expand=False))
        _print_fields(console, "takes", tool.input_schema)
    print_doubts(console, tool)
    console.print()


def print_servers(console: Console, servers: "Sequence[Server]") -> None:
    """One line for each server; below it, why it is not better."""
    table = plain_table("server", "state", "tools", "how", "from", flexible="from")
    table.columns[2].justify = "right"
    for each in servers:
        state = Text(each.state, _HOW.get(each.state, ""))
        how = " ".join(filter(None, (each.transport, each.protocol)))
        source = each.source or each.description or ""
        table.add_row(_cell(each.name, "cyan"), state, f"{each.tools:,}", _cell(how, "dim"), _cell(source, "dim"))
    print_table(console, table)
    for each in servers:
        if each.reason and each.state != "untrusted":
            console.print(Text.assemble((" ! ", "yellow"), f"{seen(each.name)}: {seen(each.reason)}"))


def print_rules(console: Console, rules: "Sequence[Rule]") -> None:
    """What was decided about calls."""
    table = plain_table("tools", "decision", "catalogue", flexible="catalogue")
    for rule in rules:
        where = "all" if rule.catalogue == "*" else rule.catalogue
        table.add_row(_cell(rule.pattern, "cyan"), Text(rule.decision, _DECISIONS[rule.decision]), _cell(where, "dim"))
    print_table(console, table)


def print_tool_stats(console: Console, stats: "ToolStats") -> None:
    """What there is, and what it was good for."""
    table = Table.grid(padding=(0, 2, 0, 0))
    for name, value in _figures(stats):
        table.add_row(Text(name, "dim"), Text(value))
    print_table(console, table)


def _figures(stats: "ToolStats") -> Iterator[tuple[str, str]]:
    yield "tools", f"{stats.tools:,} of {counted(stats.servers, 'server')}"
    yield "indexed", f"{stats.indexed:,}, {stats.cached:,} of them by meaning too"
    yield "cache", f"{stats.hit_rate:.0%} of the texts had a vector already"
    yield "searches", f"{stats.searches:,}"
    yield "calls", f"{stats.calls:,}" + (f", {stats.failures:,} failed" if stats.failures else "")
    yield "tokens", f"{stats.tokens_of_all:,} to list everything, {stats.tokens_per_search:,} for a search on average"
    yield "saved", f"about {counted(stats.tokens_saved, 'token')} so far"
