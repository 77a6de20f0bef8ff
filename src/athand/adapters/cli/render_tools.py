"""Prints tools, servers and what servers start. Text of servers is escaped, so that it cannot steer the terminal."""

import itertools
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from athand.adapters.cli.render import make_table, print_table
from athand.adapters.cli.words import HIDDEN, draw_bar, format_fraction, format_time, pluralize
from athand.redaction import redact
from athand.tools.poisoning.unicode import escape_invisible

if TYPE_CHECKING:
    from athand.tools import Flag, Rule, Server, Tool, ToolHit, ToolStats

_BAR = 6
_STATE_STYLES = {"approved": "green", "quarantined": "yellow", "changed": "red", "rejected": "red"}
_KIND_STYLES = {"read": "green", "write": "yellow", "destructive": "red"}
_SERVER_STYLES = {
    "connected": "green",
    "idle": "green",
    "failing": "red",
    "needs login": "yellow",
    "untrusted": "yellow",
    "disabled": "dim",
    "unknown": "dim",
}
_DECISION_STYLES = {"allow": "green", "ask": "yellow", "deny": "red"}
_MAX_CELL = 200  # characters of a name in a table
_VARIABLES = re.compile(r"(?:Bearer |Basic )?\$\{[^{}]*\}")
_URL_KEYS = ("url", "httpUrl", "serverUrl")


def escape_line(text: str) -> str:
    """A server's text in one line, with invisible characters replaced by their names."""
    return escape_invisible(" ".join(text.split()))


def escape_lines(text: str) -> str:
    """A server's text line by line, with invisible characters replaced by their names."""
    return "\n".join(escape_invisible(line.rstrip()) for line in text.expandtabs(4).splitlines())


def _cell(text: str, style: str = "") -> Text:
    return Text(escape_line(text), style, no_wrap=True, overflow="ellipsis")


def print_tool_hits(console: Console, hits: "Sequence[ToolHit]") -> None:
    """Each tool with its score and description, and the reason in the line below."""
    table = make_table("tool", "confidence", "description", flexible="description")
    for hit in hits:
        confidence = Text.assemble((draw_bar(hit.score, _BAR), "blue"), (f" {format_fraction(hit.score)}", "green"))
        table.add_row(_cell(hit.id, "bold cyan"), confidence, _format_description(hit.item))
        table.add_row("", "", _cell(hit.reason, "dim"))
        _add_flags(table, hit.item)
    print_table(console, table)


def _format_description(tool: "Tool") -> Text:
    """The description after the tool's state, which comes first so that it is never cut off."""
    marks = [(tool.state, _STATE_STYLES[tool.state])] if tool.state != "approved" else []
    marks += [("disabled", "dim")] if not tool.enabled else []
    words = [Text.assemble(mark, " · ") for mark in marks]
    return Text(no_wrap=True, overflow="ellipsis").join([*words, _cell(tool.description or tool.title or "—")])


def _add_flags(table: Table, tool: "Tool") -> None:
    """The rules that found something odd in a tool, in a line of their own."""
    if tool.flags:
        style = "red" if any(flag.is_dangerous for flag in tool.flags) else "yellow"
        rules = dict.fromkeys(flag.rule for flag in tool.flags)
        table.add_row("", "", _cell(f"! flagged: {', '.join(rules)}", style))


def print_tools(console: Console, tools: "Sequence[Tool]") -> None:
    """One line for each tool."""
    table = make_table("tool", "does", "description", flexible="description")
    for tool in tools:
        table.add_row(_cell(tool.id, "cyan"), Text(tool.kind, _KIND_STYLES[tool.kind]), _format_description(tool))
        _add_flags(table, tool)
    print_table(console, table)


def print_tool(console: Console, tool: "Tool") -> None:
    """Everything about one tool."""
    console.print(Padding(Text(escape_lines(tool.description) or "(no description)"), (0, 0, 1, 1), expand=False))
    details = {
        "id": Text(escape_line(tool.id), "cyan"),
        "title": Text(escape_line(tool.title or "")),
        "server": Text(f"{escape_line(tool.server)} · {escape_line(tool.catalogue)}"),
        "does": Text(_describe_kind(tool), _KIND_STYLES[tool.kind]),
        "state": _format_state(tool),
        "since": Text(format_time(tool.updated_at)),
        "hash": Text(tool.hash, "dim"),
    }
    _print_details(console, details)
    _print_fields(console, "takes", tool.input_schema)
    _print_fields(console, "answers", tool.output_schema or {})
    _print_findings(console, tool)


def _describe_kind(tool: "Tool") -> str:
    return {
        "read": "only reads, according to its server",
        "write": "changes things but destroys nothing, according to its server",
        "destructive": "may destroy something",
    }[tool.kind]


def _format_state(tool: "Tool") -> Text:
    advice = f"; to approve it:  athand tools approve {tool.id}"
    if not tool.enabled:
        advice = f"; to enable it:  athand tools enable {tool.id}"
    why = f": it {tool.block_reason}{advice}" if tool.block_reason else ""
    return Text.assemble((tool.state, _STATE_STYLES[tool.state]), why)


def _print_details(console: Console, details: Mapping[str, Text]) -> None:
    table = make_table("name", "value", flexible="value", header=False)
    for name, value in details.items():
        if value.plain:
            table.add_row(Text(name, "dim"), value)
    print_table(console, table)


def _print_fields(console: Console, heading: str, schema: Mapping[str, Any]) -> None:
    """The properties of a schema with their types. A server may send any JSON here, so nothing is taken for granted."""
    properties = schema.get("properties")
    if not isinstance(properties, Mapping) or not properties:
        return
    required = schema.get("required")
    needed = required if isinstance(required, list) else []
    table = make_table(heading, "type", "description", flexible="description")
    for name, form in properties.items():
        form = form if isinstance(form, Mapping) else {}
        mark = Text("*" if name in needed else "", "red")
        about = str(form.get("description") or form.get("title") or "")
        table.add_row(
            _cell(name[:_MAX_CELL], "cyan") + mark,
            _cell(_format_type(form)[:_MAX_CELL], "dim"),
            Text(escape_line(about)),
        )
    console.print()
    print_table(console, table)


def _format_type(form: Mapping[str, Any]) -> str:
    if isinstance(form.get("enum"), list):
        return " | ".join(map(str, form["enum"]))
    kinds = form.get("type")
    if kinds == "array":
        items = form.get("items")
        return f"{_format_type(items) if isinstance(items, Mapping) else 'any'}[]"
    if isinstance(kinds, str | list):
        return kinds if isinstance(kinds, str) else " | ".join(map(str, kinds))
    if isinstance(form.get("$ref"), str):
        return str(form["$ref"]).rpartition("/")[2]
    either = form.get("anyOf") or form.get("oneOf")
    forms = [each for each in either if isinstance(each, Mapping)] if isinstance(either, list) else []
    return " | ".join(map(_format_type, forms[:4])) or "any"


def _print_findings(console: Console, tool: "Tool") -> None:
    """What the scan for tool poisoning found in a tool, and what has changed in its definition."""
    for flag in tool.flags:
        console.print(Padding(_format_flag(flag), (0, 0, 0, 1), expand=False))
    if tool.diff:
        console.print()
        for line in tool.diff.splitlines():
            style = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")
            console.print(Text(f" {line}", style), soft_wrap=True)


def _format_flag(flag: "Flag") -> Text:
    mark = ("! ", "red") if flag.is_dangerous else ("· ", "yellow")
    return Text.assemble(mark, (flag.rule, "bold"), f" in {escape_line(flag.field)}: {escape_line(flag.detail)}")


def print_review(console: Console, tool: "Tool") -> None:
    """Everything that a user has to read before approving a tool."""
    head = Text.assemble((" ", ""), (escape_line(tool.id), "bold cyan"), "  ", (tool.state, _STATE_STYLES[tool.state]))
    console.print(Text.assemble(head, "  ", (_describe_kind(tool), _KIND_STYLES[tool.kind])))
    if not tool.diff:
        console.print(Padding(Text(escape_lines(tool.description) or "(no description)"), (0, 0, 0, 3), expand=False))
        _print_fields(console, "takes", tool.input_schema)
    _print_findings(console, tool)
    console.print()


def print_servers(console: Console, servers: "Sequence[Server]") -> None:
    """One line for each server; below them, why some do not work."""
    table = make_table("server", "state", "tools", "transport", "from", flexible="from")
    table.columns[2].justify = "right"
    for each in servers:
        state = Text(each.state, _SERVER_STYLES.get(each.state, ""))
        transport = " ".join(filter(None, (each.transport, each.protocol)))
        source = each.source or each.description or ""
        table.add_row(_cell(each.name, "cyan"), state, f"{each.tools:,}", _cell(transport, "dim"), _cell(source, "dim"))
    print_table(console, table)
    for each in servers:
        if each.reason and each.state != "untrusted":
            console.print(Text.assemble((" ! ", "yellow"), f"{escape_line(each.name)}: {escape_line(each.reason)}"))


def print_rules(console: Console, rules: "Sequence[Rule]") -> None:
    """The rules for calls."""
    table = make_table("tools", "decision", "catalogue", flexible="catalogue")
    for rule in rules:
        where = "all" if rule.catalogue == "*" else rule.catalogue
        table.add_row(
            _cell(rule.pattern, "cyan"), Text(rule.decision, _DECISION_STYLES[rule.decision]), _cell(where, "dim")
        )
    print_table(console, table)


def print_tool_stats(console: Console, stats: "ToolStats") -> None:
    """The number of tools, their use, and the tokens saved."""
    table = Table.grid(padding=(0, 2, 0, 0))
    for name, value in _list_figures(stats):
        table.add_row(Text(name, "dim"), Text(value))
    print_table(console, table)


def _list_figures(stats: "ToolStats") -> Iterator[tuple[str, str]]:
    yield "tools", f"{stats.tools:,} of {pluralize(stats.servers, 'server')}"
    yield "indexed", f"{stats.indexed:,}, {stats.cached:,} of them with a vector"
    yield "cache", f"{stats.hit_rate:.0%} of the texts had a vector already"
    yield "searches", f"{stats.searches:,}"
    yield "calls", f"{stats.calls:,}" + (f", {stats.failures:,} failed" if stats.failures else "")
    yield "tokens", f"{stats.tokens_of_all:,} to list everything, {stats.tokens_per_search:,} for a search on average"
    yield "saved", f"about {pluralize(stats.tokens_saved, 'token')} so far"


def print_launches(console: Console, servers: Mapping[str, Mapping[str, Any]]) -> None:
    """Each server with its command line or address, and the names of its variables and headers."""
    table = make_table("server", "launch", flexible="launch", header=False)
    table.columns[1].overflow = "fold"
    for name, entry in servers.items():
        table.add_row(Text(f"  {escape_line(name)}", "cyan"), Text(escape_line(_describe_launch(entry))))
        if names := _list_variables(entry):
            table.add_row("", Text(escape_line(names), "dim"))
    print_table(console, table)


def hide_secrets(entry: Mapping[str, Any]) -> dict[str, Any]:
    """A server's settings with values that may be secret replaced."""
    shown = dict(entry)
    for key in ("env", "headers"):
        if isinstance(entry.get(key), Mapping):
            shown[key] = {name: _hide(value) for name, value in entry[key].items()}
    for key in _URL_KEYS:
        if isinstance(entry.get(key), str):
            shown[key] = _redact_url(entry[key])
    if isinstance(entry.get("args"), list):
        shown["args"] = _redact_words(entry["args"])
    return shown


def _redact_words(args: Sequence[object]) -> list[str]:
    """The words of a command line without secrets; the word before may show that one is a secret."""
    shown = []
    for before, word in itertools.pairwise(["", *map(str, args)]):
        redacted = redact(f"{before} {word}")
        shown.append(redacted[len(before) + 1 :] if redacted.startswith(f"{before} ") else redact(word))
    return shown


def _describe_launch(entry: Mapping[str, Any]) -> str:
    """The command line or the address of a server, without secrets."""
    if command := entry.get("command"):
        args = entry.get("args")
        words = [str(command), *(_redact_words(args) if isinstance(args, list) else [])]
        where = f"  (in {entry['cwd']})" if entry.get("cwd") else ""
        return " ".join(map(_quote, words)) + where
    address = next((entry[key] for key in _URL_KEYS if entry.get(key)), "")
    return _redact_url(str(address)) or "nothing that can be started"


def _quote(word: str) -> str:
    """A word of a command line, quoted for a shell if need be; variables stay readable."""
    return word if _VARIABLES.fullmatch(word) or word.startswith("[redacted") else shlex.quote(word)


def _redact_url(url: str) -> str:
    """An address without user, password and query."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return HIDDEN
    query = f"?{HIDDEN}" if parts.query else ""
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{redact(parts.path)}{query}" if parts.scheme else url


def _hide(value: object) -> object:
    return value if isinstance(value, str) and _VARIABLES.fullmatch(value) else HIDDEN


def _list_variables(entry: Mapping[str, Any]) -> str:
    """The names of variables and headers, without their values."""
    groups = {"with": entry.get("env"), "with the headers": entry.get("headers")}
    pieces = [
        f"{how} {', '.join(map(str, each))}" for how, each in groups.items() if isinstance(each, Mapping) and each
    ]
    return "; ".join(pieces)
