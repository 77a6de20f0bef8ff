"""Tokens: the owner's, made on the first start, and others with a name and fewer scopes."""

import hashlib
import json
import re
import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from athand.adapters.http.secret_files import create_secret, locked, read_secret, replace_secret
from athand.adapters.operations import SCOPES
from athand.errors import Conflict, DataError, InvalidInput, NotFound

OWNER = "owner"
_BYTES = 32
_TOKEN = re.compile(rb"[\w-]{43,200}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True)
class Token:
    """A token that was given away: what it may do, and its hash; the token itself is nowhere."""

    name: str
    scopes: tuple[str, ...]
    created_at: str
    sha256: str

    def to_dict(self) -> dict[str, Any]:
        """What may be shown of it."""
        return {"name": self.name, "scopes": list(self.scopes), "created_at": self.created_at}


def owner_file(folder: Path) -> Path:
    """Where the owner's token is."""
    return folder / "token"


def tokens_file(folder: Path) -> Path:
    """Where the others are listed."""
    return folder / "tokens.json"


def owner_token(folder: Path) -> str:
    """The owner's token; it is made when there is none."""
    path = owner_file(folder)
    with locked(folder):
        found = read_secret(path)
        if found == b"":  # a start that was cut off between making the file and writing it
            path.unlink()
        if not found:
            create_secret(path, secrets.token_urlsafe(_BYTES).encode() + b"\n")
    return read_owner_token(folder)


def read_owner_token(folder: Path) -> str:
    """The owner's token as the file has it."""
    path = owner_file(folder)
    found = (read_secret(path) or b"").strip()
    if not _TOKEN.fullmatch(found):
        raise DataError(f"{path} does not hold a token. Remove it; the next `athand serve` makes a new one.")
    return found.decode("ascii")


def list_tokens(folder: Path) -> list[Token]:
    """The tokens that were given away."""
    path = tokens_file(folder)
    data = read_secret(path)
    try:
        listed = json.loads(data)["tokens"] if data else []
        return [_token(**each) for each in listed]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise DataError(f"{path} cannot be read: {error}. Remove it, and create the tokens anew.") from error


def _token(name: str, scopes: list[str], created_at: str, sha256: str) -> Token:
    if len(bytes.fromhex(sha256)) != hashlib.sha256().digest_size:
        raise ValueError(f"the hash of {name!r} is too short")
    return Token(name, tuple(each for each in SCOPES if each in scopes), created_at, sha256)


def create_token(folder: Path, name: str, scopes: Sequence[str]) -> tuple[Token, str]:
    """Give away a token; its text is told this once."""
    if not _NAME.fullmatch(name) or name.lower() == OWNER:
        raise InvalidInput(f"{name!r} is no name for a token. Use letters, digits, dots and dashes; not {OWNER!r}.")
    unknown = [each for each in scopes if each not in SCOPES]
    if unknown or not scopes:
        raise InvalidInput(f"A token needs scopes out of: {', '.join(SCOPES)}.")
    text = secrets.token_urlsafe(_BYTES)
    token = Token(name, tuple(each for each in SCOPES if each in scopes), _now(), digest(text).hex())
    with locked(folder):
        known = list_tokens(folder)
        if any(each.name == name for each in known):
            raise Conflict(f"There is a token {name!r} already. Take it back with: athand token revoke {name}")
        _write(folder, [*known, token])
    return token, text


def revoke_token(folder: Path, name: str) -> Token:
    """Take a token back: it opens nothing any more."""
    with locked(folder):
        known = list_tokens(folder)
        found = next((each for each in known if each.name == name), None)
        if found is None:
            raise NotFound(f"There is no token {name!r}. See what there is with: athand token list")
        _write(folder, [each for each in known if each.name != name])
    return found


def digest(token: str) -> bytes:
    """What is kept and compared instead of a token."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def _write(folder: Path, tokens: Sequence[Token]) -> None:
    data = json.dumps({"tokens": [asdict(each) for each in tokens]}, indent=1)
    replace_secret(tokens_file(folder), data.encode())


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
