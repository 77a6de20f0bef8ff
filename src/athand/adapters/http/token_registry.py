"""API tokens: the owner's, created on the first start, others with a name and fewer scopes, and the lookup by token."""

import hashlib
import hmac
import json
import logging
import os
import re
import secrets
import shlex
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from athand.adapters.operations import SCOPES, Caller
from athand.errors import AthandError, Conflict, DataError, InvalidInput, NotFound, Unavailable
from athand.files import create_private, lock, make_private_folder, open_regular, replace_atomically
from athand.inputs import check_name, check_names

log = logging.getLogger("athand")

OWNER = "owner"
_TOKEN_BYTES = 32
_TOKEN_TEXT = re.compile(rb"[\w-]{43,200}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_MAX_BYTES = 1_000_000  # of a file of tokens
_RELOAD_SECONDS = 0.5  # a revoked token may still be accepted for this long


@dataclass(frozen=True, slots=True)
class ApiToken:
    """A named token: its scopes and its hash. The token itself is not stored."""

    name: str
    scopes: tuple[str, ...]
    created_at: str
    sha256: str
    servers: tuple[str, ...] | None = None  # the tool servers that it reaches; None: all
    project: str | None = None  # that its bearer works on, unless a request names another

    def to_dict(self) -> dict[str, Any]:
        """The public fields, without the hash."""
        limit = {} if self.servers is None else {"servers": list(self.servers)}
        home = {} if self.project is None else {"project": self.project}
        return {"name": self.name, "scopes": list(self.scopes), "created_at": self.created_at, **limit, **home}


def owner_file(folder: Path) -> Path:
    """The file of the owner's token."""
    return folder / "token"


def tokens_file(folder: Path) -> Path:
    """The file of all other tokens."""
    return folder / "tokens.json"


def ensure_owner_token(folder: Path) -> str:
    """The owner's token, created if there is none."""
    path = owner_file(folder)
    with lock_folder(folder):
        data = read_private(path)
        if data == b"":  # an earlier start was interrupted between creating and writing the file
            path.unlink()
        if not data:
            create_private(path, secrets.token_urlsafe(_TOKEN_BYTES).encode() + b"\n")
    return read_owner_token(folder)


def read_owner_token(folder: Path) -> str:
    """The owner's token as stored in its file."""
    path = owner_file(folder)
    data = (read_private(path) or b"").strip()
    if not _TOKEN_TEXT.fullmatch(data):
        raise DataError(f"{path} does not hold a token. Remove it; the next `athand serve` makes a new one.")
    return data.decode("ascii")


def list_tokens(folder: Path) -> list[ApiToken]:
    """All named tokens."""
    path = tokens_file(folder)
    data = read_private(path)
    try:
        listed = json.loads(data)["tokens"] if data else []
        return [_parse_entry(**each) for each in listed]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise DataError(f"{path} cannot be read: {error}. Remove it, and create the tokens anew.") from error


def _parse_entry(
    name: str,
    scopes: list[str],
    created_at: str,
    sha256: str,
    servers: list[str] | None = None,
    project: str | None = None,
) -> ApiToken:
    if len(bytes.fromhex(sha256)) != hashlib.sha256().digest_size:
        raise ValueError(f"the hash of {name!r} is too short")
    limit = None if servers is None else tuple(map(str, servers))
    return ApiToken(name, tuple(each for each in SCOPES if each in scopes), created_at, sha256, limit, project)


def create_token(
    folder: Path, name: str, scopes: Sequence[str], servers: Sequence[str] | None = None, project: str | None = None
) -> tuple[ApiToken, str]:
    """Create a named token, limited to these tool servers if any are given; its text is returned only here."""
    if not _NAME.fullmatch(name) or name.lower() == OWNER:
        raise InvalidInput(f"{name!r} is no name for a token. Use letters, digits, dots and dashes; not {OWNER!r}.")
    unknown = [each for each in scopes if each not in SCOPES]
    if unknown or not scopes:
        raise InvalidInput(f"A token needs scopes out of: {', '.join(SCOPES)}.")
    limit = None if servers is None else check_names("servers", servers)
    if limit is not None and (not limit or "admin" in scopes):
        raise InvalidInput("A token that is limited to servers names at least one, and has not the scope admin.")
    home = None if project is None else check_name("--project", project)
    text = secrets.token_urlsafe(_TOKEN_BYTES)
    own = tuple(each for each in SCOPES if each in scopes)
    token = ApiToken(name, own, _now(), hash_token(text).hex(), limit, home)
    with lock_folder(folder):
        tokens = list_tokens(folder)
        if any(each.name == name for each in tokens):
            raise Conflict(f"There is a token {name!r} already. Take it back with: athand token revoke {name}")
        _write_tokens(folder, [*tokens, token])
    return token, text


def revoke_token(folder: Path, name: str) -> ApiToken:
    """Delete a named token."""
    with lock_folder(folder):
        tokens = list_tokens(folder)
        revoked = next((each for each in tokens if each.name == name), None)
        if revoked is None:
            raise NotFound(f"There is no token {name!r}. See what there is with: athand token list")
        _write_tokens(folder, [each for each in tokens if each.name != name])
    return revoked


def hash_token(token: str) -> bytes:
    """SHA-256 of a token, which is stored and compared instead of it."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def _write_tokens(folder: Path, tokens: Sequence[ApiToken]) -> None:
    data = json.dumps({"tokens": [asdict(each) for each in tokens]}, indent=1)
    with replace_atomically(tokens_file(folder)) as file:
        file.write(data.encode())


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Hold the lock of the folder, created if it is missing and refused if others may place files in it; sync it."""
    make_private_folder(folder)
    with lock(folder) as handle:
        info = os.fstat(handle)
        if info.st_uid != os.getuid():
            raise Unavailable(f"{folder} belongs to another user. Choose another folder with: --data-dir")
        if info.st_mode & 0o022:
            raise Unavailable(f"Others may write in {folder}. Run: chmod 700 {shlex.quote(str(folder))}")
        yield
        os.fsync(handle)


def read_private(path: Path) -> bytes | None:
    """The content; None if there is no file. It must be a regular file of this user that nobody else can read."""
    name = shlex.quote(str(path))
    try:
        with open_regular(path, follow_links=False) as file:
            info = os.fstat(file.fileno())
            if info.st_uid != os.getuid():
                raise Unavailable(f"{path} is not used: it belongs to another user. Remove it: rm {name}")
            if info.st_mode & 0o077:
                raise Unavailable(f"Others can read or write {path}, so it is no secret. Run: chmod 600 {name}")
            return file.read(_MAX_BYTES)
    except FileNotFoundError:
        return None
    except OSError as error:
        why = "it is a link" if path.is_symlink() else error.strerror
        raise Unavailable(f"{path} is not used: {why}. Remove it: rm {name}") from error


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


TokenEntry = tuple[bytes, Caller]  # the hash of a token, and its owner


class TokenRegistry:
    """Looks up callers by token. The token files are checked for changes twice a second, and for an unknown token."""

    def __init__(self, folder: Path, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.folder = folder
        self._clock = clock
        self._checked_at = clock()
        self._fingerprints = self._take_fingerprints()
        self._entries = [*self._load_owner(), *self._load_others()]

    def find(self, token: str) -> Caller | None:
        """The owner of a token. Every entry is compared, each in constant time."""
        return self.find_by_hash(hash_token(token))

    def find_by_hash(self, hashed: bytes) -> Caller | None:
        """The owner of the token with this hash; None as soon as the token is revoked."""
        if self._clock() - self._checked_at >= _RELOAD_SECONDS:
            self._reload_changes()
        found = self._find(hashed)
        if found is None:  # it may have been created a moment ago
            self._reload_changes()
            found = self._find(hashed)
        return found

    def _find(self, hashed: bytes) -> Caller | None:
        found = None
        for entry_hash, caller in self._entries:
            if hmac.compare_digest(entry_hash, hashed):
                found = caller
        return found

    def _reload_changes(self) -> None:
        self._checked_at = self._clock()
        if (fingerprints := self._take_fingerprints()) != self._fingerprints:
            self._fingerprints = fingerprints
            loaders = (self._load_owner, self._load_others)
            self._entries = [entry for load in loaders for entry in _load_or_log(load)]

    def _load_owner(self) -> list[TokenEntry]:
        return [(hash_token(read_owner_token(self.folder)), Caller(OWNER, frozenset(SCOPES), writer="user"))]

    def _load_others(self) -> list[TokenEntry]:
        return [(bytes.fromhex(each.sha256), _to_caller(each)) for each in list_tokens(self.folder)]

    def _take_fingerprints(self) -> list[tuple[int, ...] | None]:
        return [fingerprint(path(self.folder)) for path in (owner_file, tokens_file)]


def _to_caller(token: ApiToken) -> Caller:
    limit = None if token.servers is None else frozenset(token.servers)
    return Caller(token.name, frozenset(token.scopes), servers=limit, project=token.project)


def _load_or_log(load: Callable[[], list[TokenEntry]]) -> list[TokenEntry]:
    """The entries of a file; none, and a warning in the log, if it has become unusable."""
    try:
        return load()
    except (AthandError, OSError) as error:
        log.warning("%s", error)
        return []


def fingerprint(path: Path) -> tuple[int, ...] | None:
    """What changes whenever a file is replaced; None if there is none."""
    try:
        stat = os.lstat(path)
    except OSError:
        return None
    return stat.st_ino, stat.st_mtime_ns, stat.st_size, stat.st_mode
