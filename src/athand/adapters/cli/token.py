"""`athand token …`: who may call the server, and what for."""

from pathlib import Path

import click

from athand.adapters.cli.session import Session, command
from athand.adapters.cli.words import pluralize

_SCOPES = ("search", "write", "call-tools", "admin")
_FOR_AGENTS = ("search", "write", "call-tools")


@click.group("token")
def token() -> None:
    """Give others a token for the server, and take it back.

    \b
    Scopes:
      search      ask and read
      write       add and change memories and flows
      call-tools  call tools, drive the browser
      admin       approve tools, add folders, export, reindex
    """  # noqa: D301 - click reads a real backspace as "keep these lines"


@command(token, "create")
@click.argument("name")
@click.option("--scope", "scopes", multiple=True, type=click.Choice(_SCOPES), help="What it may do; repeatable.")
def create(session: Session, /, name: str, scopes: tuple[str, ...]) -> None:
    """Make a token, and print it this once.

    Without --scope it may search, write and call tools.

    \b
    Examples:
      athand token create laptop
      athand token create dashboard --scope search
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    from athand.adapters.http.token_registry import create_token

    made, text = create_token(_folder(session), name, scopes or _FOR_AGENTS)
    if session.as_json:
        session.show(made.to_dict() | {"token": text})
        return
    click.echo(text)
    session.say(f" {click.style(name, fg='cyan')} may: {', '.join(made.scopes)}. It is not shown again.")


@command(token, "list")
def list_(session: Session, /) -> None:
    """Show who has a token; the tokens themselves are not kept."""
    from athand.adapters.http.token_registry import list_tokens

    found = list_tokens(_folder(session))
    if session.as_json:
        session.show([each.to_dict() for each in found])
        return
    for each in found:
        click.echo(each.name if session.quiet else f" {each.name:<20} {', '.join(each.scopes):<34} {each.created_at}")
    session.say(f" {pluralize(len(found), 'token')}, besides your own.")


@command(token, "revoke")
@click.argument("name")
def revoke(session: Session, /, name: str) -> None:
    """Take a token back; a running server notices within a second.

    \b
    Example:
      athand token revoke laptop
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    from athand.adapters.http.token_registry import revoke_token

    gone = revoke_token(_folder(session), name)
    if session.as_json:
        session.show(gone.to_dict())
    else:
        session.say(f"{click.style(name, fg='cyan')} is revoked.")


def _folder(session: Session) -> Path:
    from athand.config import load_settings

    return load_settings(data_dir=session.data_dir).data_folder
