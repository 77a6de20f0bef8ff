"""Token storage: a private file for each server, or, where there is one, an entry in the keyring of the system.

The file of a login that is in the keyring says only that: so the keyring, which may ask its user to unlock it, is asked
for no other server. A login in a file moves into the keyring when it is first used.
"""

import asyncio
import hashlib
import json
import logging
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from mcp.client.auth.oauth2 import OAuthContext
from mcp.shared.auth import OAuthClientInformationFull, OAuthMetadata, OAuthToken, ProtectedResourceMetadata
from pydantic import BaseModel, ValidationError

from athand.distribution import install_hint
from athand.errors import Unavailable
from athand.files import open_regular, replace_atomically
from athand.tools.model import ServerKey
from athand.tools.oauth.keyring import delete_secret, find_keyring, read_secret, write_secret

log = logging.getLogger("athand")

M = TypeVar("M", bound=BaseModel)
_MAX_BYTES = 1_000_000
_IN_KEYRING = {"kept_in": "keyring"}  # what the file says then


class TokenStore:
    """The login of one server. Tokens, client and issuer are written together, so that they belong together."""

    def __init__(self, folder: Path, key: ServerKey, url: str) -> None:
        name = hashlib.sha256("\0".join((*key, url)).encode()).hexdigest()[:32]
        self.path = folder / f"{name}.json"
        self.context: Callable[[], OAuthContext] | None = (
            None  # returns the OAuth context with the metadata of the server
        )
        self._data: dict[str, Any] = {}

    @property
    def is_empty(self) -> bool:
        """Whether there is no stored login."""
        return not self._data

    async def load(self) -> "TokenStore":
        """Read the login again: another process may have written new tokens."""
        self._data = await asyncio.to_thread(_read, self.path)
        return self

    def forget(self) -> bool:
        """Delete the login; whether there was one."""
        is_there = self.path.is_file()
        if _read_file(self.path) == _IN_KEYRING and (keyring := find_keyring()) is not None:
            delete_secret(keyring, str(self.path))
        self.path.unlink(missing_ok=True)
        self._data = {}
        return is_there

    async def get_tokens(self) -> OAuthToken | None:
        """The stored tokens."""
        return self._load_part("tokens", OAuthToken)

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Store new tokens with their expiry time and the metadata of their issuer."""
        lasts = tokens.expires_in
        self._data["tokens"] = _to_json(tokens)
        self._data["expires_at"] = None if lasts is None else time.time() + lasts
        if self.context is not None:
            context = self.context()
            self._data["issuer"] = _to_json(context.oauth_metadata)
            self._data["resource"] = _to_json(context.protected_resource_metadata)
        await asyncio.to_thread(_write, self.path, self._data)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """The stored client registration."""
        return self._load_part("client", OAuthClientInformationFull)

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Remember the client registration; it is written together with the tokens."""
        self._data["client"] = _to_json(client_info)

    def restore(self, context: OAuthContext) -> None:
        """Restore expiry time and issuer metadata in a new OAuth context."""
        context.token_expiry_time = self._data.get("expires_at")
        context.oauth_metadata = self._load_part("issuer", OAuthMetadata)
        context.protected_resource_metadata = self._load_part("resource", ProtectedResourceMetadata)

    def _load_part(self, name: str, kind: type[M]) -> M | None:
        with suppress(ValidationError):  # unreadable parts count as missing: a new login replaces them
            return kind.model_validate(self._data[name]) if self._data.get(name) else None
        return None


def _to_json(model: BaseModel | None) -> dict[str, Any] | None:
    return None if model is None else model.model_dump(mode="json", exclude_none=True)


def _read(path: Path) -> dict[str, Any]:
    """The login from the keyring or the file; one in a file moves into the keyring."""
    data = _read_file(path)
    keyring = find_keyring() if data else None
    try:
        if data == _IN_KEYRING:
            if keyring is None:
                raise Unavailable(f"There is no keyring now. Is it running, and installed? {install_hint('keyring')}")
            return _parse(read_secret(keyring, str(path)) or "{}")
        if keyring is not None:
            _write_to_system(keyring, path, data)
    except Unavailable as error:
        log.warning("The login in the keyring that %s stands for cannot be used: %s", path, error)
    return {} if data == _IN_KEYRING else data


def _parse(text: str) -> dict[str, Any]:
    try:
        data = json.loads(text)
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}


def _read_file(path: Path) -> dict[str, Any]:
    try:
        with open_regular(path, follow_links=False) as file:
            data = json.loads(file.read(_MAX_BYTES))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        log.warning("The login in %s cannot be read and counts as missing: %s", path, error)
        return {}
    return data if isinstance(data, dict) else {}


def _write(path: Path, data: dict[str, Any]) -> None:
    """Write the login to the keyring, or to the file if there is none or it does not work."""
    if (keyring := find_keyring()) is not None:
        try:
            return _write_to_system(keyring, path, data)
        except Unavailable as error:
            log.warning("The login is kept in %s: %s", path, error)
    _write_file(path, data)


def _write_to_system(keyring: Any, path: Path, data: dict[str, Any]) -> None:
    """First the keyring, then the file: what happens in between loses nothing."""
    write_secret(keyring, str(path), json.dumps(data))
    _write_file(path, _IN_KEYRING)


def _write_file(path: Path, data: Mapping[str, Any]) -> None:
    """Write the file atomically, in a folder that only its owner can read."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.parent.chmod(0o700)
        with replace_atomically(path) as file:
            file.write(json.dumps(data).encode())
    except OSError as error:
        raise Unavailable(f"The login could not be stored in {path.parent}: {error.strerror or error}.") from error
