"""The token of a client that asks a running server: its own, with what an agent may do, and it goes with its entry."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from athand.adapters.cli.session import Session
from athand.errors import InvalidInput, NotFound

if TYPE_CHECKING:
    from athand.adapters.cli.install_clients import Client

_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def token_for(session: Session, client: "Client", url: str, file: str | None) -> str:
    """The token in a file; for a server of this machine, the one that the client has already, or a new one."""
    if file is not None:
        return _read(Path(file).expanduser())
    if urlsplit(url).hostname not in _LOOPBACK:
        raise InvalidInput(
            "A token of this machine is not given to another. Save the one that server gave you, and say where: "
            "--token-file FILE. There it is made with: athand token create NAME --scope search"
        )
    return _own(session, client)


def take_back(session: Session, client: "Client") -> bool:
    """Let the token of a client open nothing any more; whether it had one."""
    from athand.adapters.http.token_registry import list_tokens, revoke_token

    folder = _folder(session)
    has_one = folder.is_dir() and any(each.name == _name(client) for each in list_tokens(folder))
    if has_one:
        revoke_token(folder, _name(client))
    return has_one


def _own(session: Session, client: "Client") -> str:
    from athand.adapters.http.token_registry import create_token, hash_token, list_tokens, owner_file
    from athand.adapters.operations import DEFAULT_SCOPES

    folder = _folder(session)
    if not owner_file(folder).exists():
        raise NotFound(f"No server has been started on {folder} yet. Start one with: athand serve")
    held = _held(client.entry or {})
    if any(each.name == _name(client) and each.sha256 == hash_token(held).hex() for each in list_tokens(folder)):
        return held
    take_back(session, client)
    return create_token(folder, _name(client), DEFAULT_SCOPES)[1]


def _held(entry: Mapping[str, Any]) -> str:
    """The token that an entry has now."""
    headers = next((each for name, each in entry.items() if "headers" in name and isinstance(each, Mapping)), {})
    return str(headers.get("Authorization", "")).removeprefix("Bearer ")


def _name(client: "Client") -> str:
    return f"{client.name}-{client.entry_name}"


def _folder(session: Session) -> Path:
    from athand.config import load_settings

    return load_settings(data_dir=session.data_dir).data_folder


def _read(path: Path) -> str:
    try:
        token = path.read_text("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"No token can be read from {path}: {error}.") from error
    if not token or not token.isprintable() or " " in token:
        raise InvalidInput(f"{path} does not hold a token.")
    return token
