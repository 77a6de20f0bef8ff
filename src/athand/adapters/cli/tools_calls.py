"""`athand tools …`: call a tool; and decide which tools may be called and what a project may start."""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from athand.adapters.cli.completion_values import complete_tool
from athand.adapters.cli.session import Session, command, confirm, read_standard_input
from athand.adapters.cli.tools_catalogues import Catalogues, catalogue_options, find_tool, open_catalogues
from athand.adapters.cli.words import echo, echo_data, format_size, pluralize
from athand.errors import Conflict, InvalidInput, NotFound, Refused, ToolFailed

if TYPE_CHECKING:
    from athand.tools import CallResult, Server, Tool
    from athand.tools.config import ServerConfig

call_commands = click.Group()
decision_commands = click.Group()

_yes = click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
_tools = click.argument("ids", metavar="[TOOL]...", nargs=-1, shell_complete=complete_tool)
_all_waiting = click.option("--server", metavar="NAME", help="All tools of this server that wait for approval.")
_names = click.argument("names", metavar="NAME...", nargs=-1, required=True)
_project = click.argument("path", metavar="[FILE]", required=False)


@command(call_commands, "call")
@click.argument("id", metavar="TOOL", shell_complete=complete_tool)
@click.argument("arguments", required=False)
@click.option("--arg", "pairs", metavar="NAME=VALUE", multiple=True, help="One argument; may be repeated.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation where a rule wants it.")
@click.option(
    "--seconds", type=float, help="Maximum seconds to wait for the answer; default: as the server's configuration says."
)
@catalogue_options
def call(
    session: Session,
    /,
    id: str,
    arguments: str | None,
    pairs: tuple[str, ...],
    yes: bool,
    seconds: float | None,
    **given: Any,
) -> None:
    """Call a tool.

    Give the arguments as a JSON object, one by one with --arg, or on standard input (`-`). A value of --arg becomes
    what the tool's schema expects: a number, true or false, a list. An --arg that is repeated makes a list. The
    answer's text is printed as it is; with --json, all parts of the answer.

    \b
    Examples:
      athand tools call time__get_current_time --arg timezone=Europe/Paris
      athand tools call github__create_issue '{"title": "It hangs", "labels": ["bug"]}'
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    values = _read_arguments(arguments, pairs)
    with open_catalogues(session, **given) as catalogues:
        catalogue = find_tool(session, catalogues, id).catalogue
        try:
            result = catalogues.tools.call(
                id, values, catalogue=catalogue, confirm=_create_confirm(yes=yes), seconds=seconds, caller="user"
            )
        except ToolFailed as error:
            from athand.adapters.cli.render_tools import escape_lines

            raise ToolFailed(escape_lines(str(error))) from error
    if session.as_json:
        session.show(result.to_dict())
    else:
        _print_answer(session, result)


def _read_arguments(given: str | None, pairs: Sequence[str]) -> dict[str, Any]:
    """The arguments of the JSON object, with those of --arg added."""
    text = read_standard_input() if given == "-" else given
    arguments = _parse_object(text) if text and text.strip() else {}
    for name, values in _group_by_name(pairs).items():
        arguments[name] = values[0] if len(values) == 1 else values
    return arguments


def _parse_object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(
            f"The arguments are not JSON: {error}. Write an object, such as '{{\"name\": 1}}'."
        ) from error
    if not isinstance(value, dict):
        raise InvalidInput("The arguments must be a JSON object, such as '{\"name\": 1}'.")
    return value


def _group_by_name(pairs: Sequence[str]) -> dict[str, list[str]]:
    values: dict[str, list[str]] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise click.UsageError(f"--arg {pair!r} must be NAME=VALUE.")
        values.setdefault(name, []).append(value)
    return values


def _create_confirm(*, yes: bool) -> "Callable[[Tool, Mapping[str, Any]], bool]":
    """The function that asks the user about a call where a rule wants it; with `yes`, it always agrees."""

    def confirm_call(tool: "Tool", arguments: Mapping[str, Any]) -> bool:
        from athand.adapters.cli.render_tools import escape_line

        if yes:
            return True
        if not sys.stdin.isatty():
            raise Refused(
                f"A rule wants you to confirm calls of {tool.id}, and there is no terminal to ask on. "
                "Confirm it with --yes."
            )
        shown = escape_line(json.dumps(arguments, ensure_ascii=False))
        return click.confirm(f"Call {tool.id} with {shown}?", err=True)

    return confirm_call


def _print_answer(session: Session, result: "CallResult") -> None:
    """Print the text: safe for a terminal, unchanged for a file or a program."""
    text = result.text
    if not text and result.structured is not None:
        text = json.dumps(result.structured, ensure_ascii=False, indent=2)
    if sys.stdout.isatty():
        from athand.adapters.cli.render_tools import escape_lines

        text = escape_lines(text)
    if text:
        echo_data(text)
    for part in result.content:
        if part.get("type") != "text":
            session.say(f" Not shown: {_describe_part(part)}. Show all parts with --json")
    if not text and not result.content:
        session.say(" The answer is empty.")


def _describe_part(part: Mapping[str, Any]) -> str:
    """A part of an answer that is no text: its kind, its type or address, its size."""
    from athand.adapters.cli.render_tools import escape_line

    data = part.get("data")
    size = f", {format_size(len(data) * 3 // 4)}" if isinstance(data, str) else ""
    return escape_line(f"{part.get('type')} {part.get('mimeType') or part.get('uri') or ''}".strip()) + size


@command(decision_commands, "approve")
@_tools
@_all_waiting
@_yes
@catalogue_options
def approve(session: Session, /, ids: tuple[str, ...], server: str | None, yes: bool, **given: Any) -> None:
    """Let tools be called as their server offers them now.

    First shows the description of each tool, what has changed in it, and what is suspicious.

    \b
    Examples:
      athand tools approve github__create_issue
      athand tools approve --server github --yes
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    with open_catalogues(session, **given) as catalogues:
        tools = _select_tools(session, catalogues, ids, server)
        if not tools:
            session.show([]) if session.as_json else session.say(f"No tool of {server} waits for approval.")
            return
        _show_for_review(session, tools)
        if not yes:
            confirm(f"Approve {pluralize(len(tools), 'tool')}?" if len(tools) > 1 else f"Approve {tools[0].id}?")
        changed = [_decide(catalogues, tool, catalogues.tools.approve) for tool in tools]
    _report_change(session, "Approved", changed)


@command(decision_commands, "reject")
@_tools
@_all_waiting
@catalogue_options
def reject(session: Session, /, ids: tuple[str, ...], server: str | None, **given: Any) -> None:
    """Neither find nor call these tools, until they are approved.

    \b
    Example:
      athand tools reject github__delete_repository
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    with open_catalogues(session, **given) as catalogues:
        tools = _select_tools(session, catalogues, ids, server)
        changed = [_decide(catalogues, tool, catalogues.tools.reject) for tool in tools]
    _report_change(session, "Rejected", changed)


def _select_tools(session: Session, catalogues: Catalogues, ids: Sequence[str], server: str | None) -> "list[Tool]":
    """The tools of these ids, and those of a server that wait for approval."""
    if not ids and not server:
        raise click.UsageError("Which tools? Give their ids, or --server NAME. List them with: athand tools list")
    tools = {id_: find_tool(session, catalogues, id_) for id_ in ids}
    of_server = catalogues.list_tools(server) if server else []
    waiting = [tool for tool in of_server if tool.state in ("quarantined", "changed") and tool.id not in tools]
    return [*tools.values(), *waiting]


def _show_for_review(session: Session, tools: "Sequence[Tool]") -> None:
    from athand.adapters.cli.render_tools import print_review

    if not session.quiet and not session.as_json:
        for tool in tools:
            print_review(session.console(stderr=True), tool)


def _decide(catalogues: Catalogues, shown: "Tool", decide: "Callable[..., Tool]") -> "Tool":
    """Approve or reject a tool, unless it has changed since it was shown."""
    if catalogues.tools.describe(shown.id, catalogue=shown.catalogue) != shown:
        raise Conflict(f"{shown.id} has just changed. Review it again: athand tools describe {shown.id}")
    return decide(shown.id, catalogue=shown.catalogue)


def _report_change(session: Session, what: str, changed: "Sequence[Tool | Server]") -> None:
    names = [str(getattr(each, "id", None) or each.name) for each in changed]
    if session.as_json:
        session.show([each.to_dict() for each in changed])
    elif session.quiet:
        echo("\n".join(names))
    else:
        session.say(f"{what} {', '.join(click.style(name, fg='cyan') for name in names) or 'nothing'}")


@command(decision_commands, "enable")
@_names
@catalogue_options
def enable(session: Session, /, names: tuple[str, ...], **given: Any) -> None:
    """Find and call tools again that were disabled.

    NAME is the id of a tool, or a server for all its tools.

    \b
    Example:
      athand tools enable github
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    with open_catalogues(session, **given) as catalogues:
        for server in catalogues.list_servers():
            _check_enabled_in_file(server, names)
        changed = [
            catalogues.tools.enable(name, catalogue=_find_catalogue(session, catalogues, name)) for name in names
        ]
    _report_change(session, "Enabled", changed)


def _check_enabled_in_file(server: "Server", names: Sequence[str]) -> None:
    """Raises Conflict if the server's file disables it: reading the file again would undo the command."""
    from athand.tools.config import read_config

    if server.name in names and server.state == "disabled" and server.source and Path(server.source).is_file():
        entry = read_config(Path(server.source)).get(server.name)
        if entry is not None and entry.disabled:
            raise Conflict(f'{server.source} disables {server.name}. Remove "disabled" from it there.')


@command(decision_commands, "disable")
@_names
@catalogue_options
def disable(session: Session, /, names: tuple[str, ...], **given: Any) -> None:
    """Neither find nor call tools, until they are enabled.

    NAME is the id of a tool, or a server for all its tools.

    \b
    Examples:
      athand tools disable github__delete_repository
      athand tools disable github
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    with open_catalogues(session, **given) as catalogues:
        changed = [
            catalogues.tools.disable(name, catalogue=_find_catalogue(session, catalogues, name)) for name in names
        ]
    _report_change(session, "Disabled", changed)


def _find_catalogue(session: Session, catalogues: Catalogues, name: str) -> str:
    """The catalogue of a server or a tool."""
    servers = {server.name: server.catalogue for server in catalogues.list_servers()}
    return servers.get(name) or find_tool(session, catalogues, name).catalogue


@command(decision_commands, "rules")
@catalogue_options
def rules(session: Session, /, **given: Any) -> None:
    """List the rules for calls.

    Where several rules match a tool, deny wins over ask, and ask over allow.
    """
    with open_catalogues(session, **given) as catalogues:
        found = [rule for name in catalogues.names for rule in catalogues.tools.rules(catalogue=name)]
    unique = list(dict.fromkeys(found))
    if session.print_plain(unique, data="pattern"):
        return
    if unique:
        from athand.adapters.cli.render_tools import print_rules

        print_rules(session.console(), unique)
    else:
        session.say(' No rules: every approved tool may be called. Add one with: athand tools rule "*__delete_*" ask')


@command(decision_commands, "rule", creates=True)
@click.argument("pattern")
@click.argument("decision", type=click.Choice(("allow", "ask", "deny", "remove")))
@click.option("--catalogue", metavar="NAME", help="Only for tools of this catalogue; default: all catalogues.")
def rule(session: Session, /, pattern: str, decision: str, catalogue: str | None) -> None:
    """Set a rule for calls of tools whose id matches PATTERN.

    allow calls them, ask wants you to confirm each call, deny refuses it; remove deletes the rule.

    \b
    Examples:
      athand tools rule "github__delete_*" deny
      athand tools rule "*__send_*" ask
      athand tools rule "*__send_*" remove
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    where = {"catalogue": catalogue} if catalogue else {}
    with session.open() as athand:
        athand.tools.rule(pattern, None if decision == "remove" else decision, **where)
    if session.as_json:
        session.show({"pattern": pattern, "decision": decision, **where})
    else:
        effects = {"allow": "may be called", "ask": "are called after you confirm", "deny": "are never called"}
        session.say(f"Tools that match {pattern} {effects.get(decision, 'no longer have this rule')}.")


@command(decision_commands, "trust", creates=True)
@_project
@_yes
def trust(session: Session, /, path: str | None, yes: bool) -> None:
    """Let a project's configuration start the servers that it names.

    First shows what would be started. If the file changes, it has to be trusted again. FILE is by default the
    .mcp.json of the current project.

    \b
    Examples:
      athand tools trust
      athand tools trust ~/work/shop/.mcp.json
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    from athand.tools.config import read_config

    file = _find_project_file(path)
    with session.open() as athand:
        hash_ = athand.tools.hash_to_trust(file)
        entries = read_config(file)
        _show_launches(session, file, entries)
        if not yes:
            confirm("Trust it?")
        athand.tools.trust(file, hash=hash_)
    if session.as_json:
        session.show({"path": str(file), "hash": hash_, "servers": sorted(entries)})
    else:
        session.say(f"Trusted {file}. If it changes, you are asked again.")


def _show_launches(session: Session, file: Path, entries: "Mapping[str, ServerConfig]") -> None:
    from athand.adapters.cli.render_tools import print_launches

    if not session.quiet and not session.as_json:
        session.say(f" {file} would start or connect to:")
        print_launches(session.console(stderr=True), {name: entry.raw for name, entry in entries.items()})


@command(decision_commands, "distrust")
@_project
def distrust(session: Session, /, path: str | None) -> None:
    """Start no servers of a project's configuration any more.

    \b
    Example:
      athand tools distrust
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    file = _find_project_file(path)
    with session.open() as athand:
        was_trusted = athand.tools.distrust(file)
    if session.as_json:
        session.show({"path": str(file), "was_trusted": was_trusted})
    else:
        session.say(f"{file} is no longer trusted." if was_trusted else f"{file} was not trusted.")


def _find_project_file(path: str | None) -> Path:
    """The file at this path, the one in the folder at this path, or that of the current project."""
    from athand.tools.config_files import PROJECT_FILE, find_project_file

    if path is not None:
        place = Path(path).expanduser().absolute()
        return place / PROJECT_FILE if place.is_dir() else place
    found = find_project_file(Path.cwd())
    if found is None:
        raise NotFound(f"There is no {PROJECT_FILE} in this project. Give the path of the file.")
    return found
