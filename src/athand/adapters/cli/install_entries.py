"""The entry that an MCP client gets: the command of a server of its own, or a running server's address with a token."""

import os
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from athand.adapters.cli.session import Session
from athand.adapters.cli.words import hide_password
from athand.errors import InvalidInput, NotFound

if TYPE_CHECKING:
    from athand.adapters.cli.install_clients import Client

DEFAULT_URL = "http://127.0.0.1:7325/mcp"
LOOPBACK = ("localhost", "127.0.0.1", "::1")
_NOT_PASSED_ON = ("ATHAND_STORE", "ATHAND_DATA_DIR", "ATHAND_HOME", "ATHAND_CONFIG")


def own_command() -> list[str]:
    """The command that starts this installation of Athand from anywhere."""
    beside = Path(sys.executable).parent / "athand"
    found = beside if beside.is_file() else shutil.which("athand")
    return [str(found)] if found else [sys.executable, "-m", "athand"]


def create_stdio_entry(
    session: Session, client: "Client", toolsets: str | None = None, profile: str | None = None
) -> dict[str, Any]:
    """The entry of a server that the client starts, with the options that lead to the same store."""
    from athand.adapters.cli.install_shapes import stdio_entry

    for name in _NOT_PASSED_ON:
        if os.environ.get(name) and not (session.store or session.data_dir):
            session.say(f" {name} is set here, but {client.name} may not get it. Add --store or --data-dir to keep it.")
    if toolsets is not None:
        _check_toolsets(toolsets)
    options = [*_store_options(session, client), *_to_words({"--toolsets": toolsets, "--profile": profile})]
    return stdio_entry(client.name, [*own_command(), "mcp", *options])


def create_hook_command(session: Session, client: "Client") -> list[str]:
    """The command whose hooks find the same store."""
    return [*own_command(), *_store_options(session, client)]


def _store_options(session: Session, client: "Client") -> list[str]:
    """The options that lead to this store from any folder."""
    store = _portable_store(session.store, client) if session.store else None
    return _to_words({"--store": store, "--data-dir": _absolute_path(session.data_dir), "--model": session.model})


def _to_words(options: Mapping[str, str | None]) -> list[str]:
    return [word for name, value in options.items() if value for word in (name, value)]


def _portable_store(location: str, client: "Client") -> str | None:
    """The store's location from any folder; refused if a password would get into a project's file."""
    if client.project is not None and hide_password(location) != location:
        raise InvalidInput(
            "A project's file is shared with others, and a password must not be. "
            "Leave it out of the address, and set PGPASSWORD where the client runs."
        )
    return location if "://" in location else _absolute_path(location)


def _absolute_path(path: str | None) -> str | None:
    return str(Path(path).expanduser().absolute()) if path else None


def _check_toolsets(names: str) -> None:
    from athand.adapters.mcp.tool_list import ToolList

    ToolList([name.strip() for name in names.split(",")])


def create_http_entry(
    session: Session, client: "Client", url: str, token_file: str | None, *, with_token: bool
) -> dict[str, Any]:
    """The entry of a server that is running already."""
    from athand.adapters.cli.install_shapes import http_entry

    _check_url(url, client)
    return http_entry(client.name, url, _get_token(session, client, url, token_file) if with_token else "")


def _check_url(url: str, client: "Client") -> None:
    from athand.adapters.cli.install_shapes import WITHOUT_URL

    if not re.fullmatch(r"https?://\S+", url):
        raise InvalidInput(f"{url!r} is no address. Write it like this: --http {DEFAULT_URL}")
    if client.project is not None:
        raise InvalidInput("A project's file is shared with others, and a token must not be. Leave --project out.")
    if client.name in WITHOUT_URL:
        raise InvalidInput(f"{client.name} starts its servers itself. Leave --http out.")


# Tokens: each client that connects to a running server has its own, with the rights of an agent.


def _get_token(session: Session, client: "Client", url: str, file: str | None) -> str:
    """The token in a file; for a server of this machine, the one that the client has already, or a new one."""
    if file is not None:
        return _read_token(Path(file).expanduser())
    if urlsplit(url).hostname not in LOOPBACK:
        raise InvalidInput(
            "A token of this machine is not given to another. Save the token of that server in a file: "
            "--token-file FILE. Create it there with: athand token create NAME --scope search"
        )
    return _get_own_token(session, client)


def _read_token(path: Path) -> str:
    try:
        token = path.read_text("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"No token can be read from {path}: {error}.") from error
    if not token or not token.isprintable() or " " in token:
        raise InvalidInput(f"{path} does not hold a token.")
    return token


def _get_own_token(session: Session, client: "Client") -> str:
    """The token in the client's entry if it is still valid, else a new one that replaces it."""
    from athand.adapters.http.token_registry import create_token, hash_token, list_tokens, owner_file
    from athand.adapters.operations import DEFAULT_SCOPES

    folder = find_data_folder(session)
    if not owner_file(folder).exists():
        raise NotFound(f"No server has been started on {folder} yet. Start one with: athand serve")
    token = _read_entry_token(client.entry or {})
    if any(each.name == _token_name(client) and each.sha256 == hash_token(token).hex() for each in list_tokens(folder)):
        return token
    revoke_own_token(session, client)
    return create_token(folder, _token_name(client), DEFAULT_SCOPES)[1]


def _read_entry_token(entry: Mapping[str, Any]) -> str:
    headers = next((each for name, each in entry.items() if "headers" in name and isinstance(each, Mapping)), {})
    return str(headers.get("Authorization", "")).removeprefix("Bearer ")


def revoke_own_token(session: Session, client: "Client") -> bool:
    """Revoke the token of a client; whether it had one."""
    from athand.adapters.http.token_registry import list_tokens, revoke_token

    folder = find_data_folder(session)
    has_one = folder.is_dir() and any(each.name == _token_name(client) for each in list_tokens(folder))
    if has_one:
        revoke_token(folder, _token_name(client))
    return has_one


def _token_name(client: "Client") -> str:
    return f"{client.name}-{client.entry_name}"


def find_data_folder(session: Session) -> Path:
    """The folder of the tokens, and of what the hooks note."""
    from athand.config import load_settings

    return load_settings(data_dir=session.data_dir).data_folder
