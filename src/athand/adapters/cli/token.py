"""`athand token …`: create, list and revoke the tokens of `athand serve`."""

from pathlib import Path

import click

from athand.adapters.cli.session import Session, command
from athand.adapters.cli.words import echo, pluralize

# Written out, because importing them would load the engine for `--help`; a test compares them with the engine's.
SCOPES = ("search", "write", "call-tools", "admin")
AGENT_SCOPES = ("search", "write", "call-tools")


@click.group("token")
def token() -> None:
    """Create and revoke tokens for the server.

    \b
    Scopes:
      search      search and read
      write       add and change memories and flows
      call-tools  call tools, drive the browser
      admin       approve tools, add folders, export, reindex
    """  # noqa: D301 - click reads a real backspace as "keep these lines"


@command(token, "create")
@click.argument("name")
@click.option("--scope", "scopes", multiple=True, type=click.Choice(SCOPES), help="What it may do; may be repeated.")
@click.option("--servers", metavar="NAME,…", help="The tool servers that it may reach; default: all.")
@click.option("--project", metavar="NAME", help="The project that its bearer works on, unless a request names another.")
def create(session: Session, /, name: str, scopes: tuple[str, ...], servers: str | None, project: str | None) -> None:
    """Create a token and print it. It is not stored, so it cannot be shown again.

    Without --scope it may search, write and call tools. With --servers it sees, searches and calls only the tools of
    these servers. With --project what it keeps without naming a project is kept there, and searches begin there.

    \b
    Examples:
      athand token create laptop
      athand token create dashboard --scope search
      athand token create reviewer --servers git,time
      athand token create shop-agent --project shop
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    from athand.adapters.http.token_registry import create_token

    limit = None if servers is None else [each.strip() for each in servers.split(",") if each.strip()]
    token, text = create_token(_folder(session), name, scopes or AGENT_SCOPES, limit, project)
    if session.as_json:
        session.show(token.to_dict() | {"token": text})
        return
    echo(text)
    only = f", with tools of {', '.join(token.servers)} only" if token.servers else ""
    home = f", in the project {token.project}" if token.project else ""
    may = f"{', '.join(token.scopes)}{only}{home}"
    session.say(f" {click.style(name, fg='cyan')} may: {may}. Copy it now: it is not shown again.")


@command(token, "list")
def list_(session: Session, /) -> None:
    """List the names and scopes of tokens.

    The tokens themselves are not stored.
    """
    from athand.adapters.http.token_registry import list_tokens

    found = list_tokens(_folder(session))
    if session.as_json:
        session.show([each.to_dict() for each in found])
        return
    for each in found:
        only = f"  only {', '.join(each.servers)}" if each.servers else ""
        home = f"  project {each.project}" if each.project else ""
        line = f" {each.name:<20} {', '.join(each.scopes):<34} {each.created_at}{only}{home}"
        echo(each.name if session.quiet else line)
    session.say(f" {pluralize(len(found), 'token')}, not counting your own.")


@command(token, "revoke")
@click.argument("name")
def revoke(session: Session, /, name: str) -> None:
    """Revoke a token; a running server notices within a second.

    \b
    Example:
      athand token revoke laptop
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    from athand.adapters.http.token_registry import revoke_token

    revoked = revoke_token(_folder(session), name)
    if session.as_json:
        session.show(revoked.to_dict())
    else:
        session.say(f"The token {click.style(name, fg='cyan')} is revoked.")


def _folder(session: Session) -> Path:
    from athand.config import load_settings

    return load_settings(data_dir=session.data_dir).data_folder
