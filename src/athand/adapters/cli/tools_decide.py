"""`athand tools …`: decide which tools may be called, and what a project may start."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from athand.adapters.cli.session import Session, command, confirm
from athand.adapters.cli.tools_open import Opened, chosen, find_tool, opened
from athand.adapters.cli.words import counted
from athand.errors import Conflict, NotFound

if TYPE_CHECKING:
    from athand.tools import Server, Tool
    from athand.tools.config import ServerConfig

commands = click.Group()

_yes = click.option("--yes", is_flag=True, help="Do not ask.")
_tools = click.argument("ids", metavar="[TOOL]...", nargs=-1)
_names = click.argument("names", metavar="NAME...", nargs=-1, required=True)
_project = click.argument("path", metavar="[FILE]", required=False)


@command(commands, "approve")
@_tools
@click.option("--server", metavar="NAME", help="All tools of this server that wait.")
@_yes
@chosen
def approve(session: Session, /, ids: tuple[str, ...], server: str | None, yes: bool, **given: Any) -> None:
    """Let tools be called as they are offered now.

    First shows what each of them says of itself, what has changed in that, and what is suspicious.

    \b
    Examples:
      athand tools approve github__create_issue
      athand tools approve --server github --yes
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    with opened(session, **given) as found:
        waiting = _asked_about(session, found, ids, server)
        if not waiting:
            session.show([]) if session.as_json else session.say(f"Nothing of {server} waits to be approved.")
            return
        _show_doubts(session, waiting)
        if not yes:
            confirm(f"Approve {counted(len(waiting), 'tool')}?" if len(waiting) > 1 else f"Approve {waiting[0].id}?")
        approved = [_decided(found, tool, found.tools.approve) for tool in waiting]
    _tell(session, "Approved", approved)


@command(commands, "reject")
@_tools
@click.option("--server", metavar="NAME", help="All tools of this server that wait.")
@chosen
def reject(session: Session, /, ids: tuple[str, ...], server: str | None, **given: Any) -> None:
    """Never show or call these tools, until they are approved.

    \b
    Example:
      athand tools reject github__delete_repository
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    with opened(session, **given) as found:
        rejected = [_decided(found, tool, found.tools.reject) for tool in _asked_about(session, found, ids, server)]
    _tell(session, "Rejected", rejected)


def _asked_about(session: Session, found: Opened, ids: Sequence[str], server: str | None) -> "list[Tool]":
    """The tools that were named, and those of a server that wait."""
    if not ids and not server:
        raise click.UsageError("Which? Give a TOOL, or a --server. See what waits with: athand tools list")
    named = [find_tool(session, found, id_) for id_ in dict.fromkeys(ids)]
    waiting = [tool for tool in found.list(server) if tool.state in ("quarantined", "changed")] if server else []
    return named + [tool for tool in waiting if tool.id not in ids]


def _show_doubts(session: Session, tools: "Sequence[Tool]") -> None:
    from athand.adapters.cli.render_tools import print_waiting

    if not session.quiet and not session.as_json:
        for tool in tools:
            print_waiting(session.console(stderr=True), tool)


def _decided(found: Opened, shown: "Tool", decide: "Callable[..., Tool]") -> "Tool":
    """Decide about a tool, if it is still the one that was shown."""
    if found.tools.describe(shown.id, catalogue=shown.catalogue) != shown:
        raise Conflict(f"{shown.id} has just changed. Look at it again: athand tools describe {shown.id}")
    return decide(shown.id, catalogue=shown.catalogue)


def _tell(session: Session, done: str, changed: "Sequence[Tool | Server]") -> None:
    names = [str(getattr(each, "id", None) or each.name) for each in changed]
    if session.as_json:
        session.show([each.to_dict() for each in changed])
    elif session.quiet:
        click.echo("\n".join(names))
    else:
        session.say(f"{done} {', '.join(click.style(name, fg='cyan') for name in names) or 'nothing'}")


@command(commands, "enable")
@_names
@chosen
def enable(session: Session, /, names: tuple[str, ...], **given: Any) -> None:
    """Show and call tools again, or all tools of a server.

    \b
    Example:
      athand tools enable github
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    with opened(session, **given) as found:
        for server in found.servers():
            _check_can_be_enabled(server, names)
        changed = [found.tools.enable(name, catalogue=_where(session, found, name)) for name in names]
    _tell(session, "Enabled", changed)


def _check_can_be_enabled(server: "Server", names: Sequence[str]) -> None:
    """What a configuration disables would be disabled again the next time it is read."""
    from athand.tools.config import read_config

    if server.name in names and server.state == "disabled" and server.source and Path(server.source).is_file():
        entry = read_config(Path(server.source)).get(server.name)
        if entry is not None and entry.disabled:
            raise Conflict(f'{server.source} disables {server.name}. Take "disabled" out of it there.')


@command(commands, "disable")
@_names
@chosen
def disable(session: Session, /, names: tuple[str, ...], **given: Any) -> None:
    """Neither show nor call tools, or any tool of a server.

    \b
    Examples:
      athand tools disable github__delete_repository
      athand tools disable github
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    with opened(session, **given) as found:
        changed = [found.tools.disable(name, catalogue=_where(session, found, name)) for name in names]
    _tell(session, "Disabled", changed)


def _where(session: Session, found: Opened, name: str) -> str:
    """The catalogue of a server or a tool."""
    servers = {server.name: server.catalogue for server in found.servers()}
    return servers.get(name) or find_tool(session, found, name).catalogue


@command(commands, "rules")
@chosen
def rules(session: Session, /, **given: Any) -> None:
    """Show what you have decided about calls. Where rules disagree, deny wins over ask, and ask over allow."""
    with opened(session, **given) as found:
        each = [rule for name in found.catalogues for rule in found.tools.rules(catalogue=name)]
    known = list(dict.fromkeys(each))
    if session.show_plainly(known, data="pattern"):
        return
    if known:
        from athand.adapters.cli.render_tools import print_rules

        print_rules(session.console(), known)
    else:
        session.say(' No rules: every approved tool may be called. Add one with: athand tools rule "*__delete_*" ask')


@command(commands, "rule")
@click.argument("pattern")
@click.argument("decision", type=click.Choice(("allow", "ask", "deny", "remove")))
@click.option("--catalogue", metavar="NAME", help="For the tools of this catalogue only.")
def rule(session: Session, /, pattern: str, decision: str, catalogue: str | None) -> None:
    """Decide about calls of the tools whose id fits a pattern.

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
        said = {"allow": "may be called", "ask": "are called when you say yes", "deny": "are never called"}
        session.say(f"Tools like {pattern} {said.get(decision, 'have no such rule any more')}.")


@command(commands, "trust")
@_project
@_yes
def trust(session: Session, /, path: str | None, yes: bool) -> None:
    """Let a project's configuration start the servers it names.

    Shows first what that would start. It is trusted as long as it stays as it is. Without a FILE it is the .mcp.json
    of the project you are in.

    \b
    Examples:
      athand tools trust
      athand tools trust ~/work/shop/.mcp.json
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    from athand.tools.config import read_config

    file = _project_file(path)
    with session.open() as athand:
        shown = athand.tools.hash_to_trust(file)
        entries = read_config(file)
        _show_launches(session, file, entries)
        if not yes:
            confirm("Trust it?")
        athand.tools.trust(file, hash=shown)
    if session.as_json:
        session.show({"path": str(file), "hash": shown, "servers": sorted(entries)})
    else:
        session.say(f"Trusted {file}. If it changes, you are asked again.")


def _show_launches(session: Session, file: Path, entries: "Mapping[str, ServerConfig]") -> None:
    from athand.adapters.cli.render_launches import print_launches

    if not session.quiet and not session.as_json:
        session.say(f" {file} would start or reach:")
        print_launches(session.console(stderr=True), {name: entry.raw for name, entry in entries.items()})


@command(commands, "distrust")
@_project
def distrust(session: Session, /, path: str | None) -> None:
    """Start nothing any more of what a project's configuration names.

    \b
    Example:
      athand tools distrust
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    file = _project_file(path)
    with session.open() as athand:
        was_trusted = athand.tools.distrust(file)
    if session.as_json:
        session.show({"path": str(file), "was_trusted": was_trusted})
    else:
        session.say(f"{file} is not trusted any more." if was_trusted else f"{file} was not trusted.")


def _project_file(path: str | None) -> Path:
    """The file that is meant: as named, in a folder that is named, or of the project around here."""
    from athand.tools.config_files import PROJECT_FILE, find_project_file

    if path is not None:
        place = Path(path).expanduser().absolute()
        return place / PROJECT_FILE if place.is_dir() else place
    found = find_project_file(Path.cwd())
    if found is None:
        raise NotFound(f"There is no {PROJECT_FILE} in this project. Name the file you mean.")
    return found
