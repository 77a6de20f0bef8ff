"""Who has logged in to the web page: sessions and one-time links, each standing for a token, kept as hashes."""

import hmac
import json
import logging
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from athand.adapters.http.token_registry import (
    TokenRegistry,
    fingerprint,
    hash_token,
    lock_folder,
    read_owner_token,
    read_private,
)
from athand.adapters.operations import Caller
from athand.errors import DataError
from athand.files import replace_atomically

log = logging.getLogger("athand")

SESSION, LINK = "session", "link"
SECONDS = {SESSION: 12 * 3600.0, LINK: 300.0}
_SECRET_BYTES = 32
_MOST = 1000  # grants; the oldest are dropped
_LOGIN_PATH = "/ui/login#"  # what follows is the one-time code: browsers send it to no server


@dataclass(frozen=True, slots=True)
class Grant:
    """A secret that stands for a token for some time. Only hashes of both are kept."""

    kind: str  # SESSION or LINK
    sha256: str
    token: str  # the SHA-256 of the token
    expires_at: float  # seconds since 1970: it outlives a restart


@dataclass(frozen=True, slots=True)
class LoggedIn:
    """A session that has begun: its secret, whose it is, and until when it lasts."""

    secret: str
    caller: Caller
    expires_at: float


def sessions_file(folder: Path) -> Path:
    """The file of all sessions and one-time links."""
    return folder / "sessions.json"


def create_link(folder: Path, url: str, *, clock: Callable[[], float] = time.time) -> str:
    """An address that logs the owner in at the server of this folder: once, within 5 minutes."""
    secret = secrets.token_urlsafe(_SECRET_BYTES)
    owner = hash_token(read_owner_token(folder)).hex()
    with _change(folder, clock()) as grants:
        grants.append(_grant(LINK, secret, owner, clock()))
    return f"{url}{_LOGIN_PATH}{secret}"


def _grant(kind: str, secret: str, token: str, now: float) -> Grant:
    return Grant(kind, hash_token(secret).hex(), token, now + SECONDS[kind])


class Sessions:
    """The sessions of a server. Those that another process has begun or ended are noticed at the next request."""

    def __init__(self, tokens: TokenRegistry, *, clock: Callable[[], float] = time.time) -> None:
        self._tokens, self._clock = tokens, clock
        self._lock = threading.Lock()
        self._fingerprint: tuple[int, ...] | None = None
        self._grants: Sequence[Grant] = ()

    def find(self, secret: str) -> Caller | None:
        """The owner of the token that a session stands for; None if it has ended, or its token is revoked."""
        grant = self._find(SESSION, secret, self._load_if_changed())
        return None if grant is None else self._tokens.find_by_hash(bytes.fromhex(grant.token))

    def begin(self, token: str) -> LoggedIn | None:
        """A new session for a token; None if it is not known."""
        return self._begin(hash_token(token), None)

    def redeem(self, code: str) -> LoggedIn | None:
        """A new session for the code of a one-time link, which is used up; None if it is used, old or unknown."""
        link = self._find(LINK, code, self._load_if_changed())
        return None if link is None else self._begin(bytes.fromhex(link.token), link)

    def end(self, secret: str) -> None:
        """End a session, if there is such a one."""
        with _change(self._tokens.folder, self._clock()) as grants:
            if (grant := self._find(SESSION, secret, grants)) is not None:
                grants.remove(grant)

    def _begin(self, token_hash: bytes, link: Grant | None) -> LoggedIn | None:
        caller = self._tokens.find_by_hash(token_hash)
        if caller is None:
            return None
        secret = secrets.token_urlsafe(_SECRET_BYTES)
        session = _grant(SESSION, secret, token_hash.hex(), self._clock())
        with _change(self._tokens.folder, self._clock()) as grants:
            if link is not None:
                if link not in grants:  # somebody else was faster
                    return None
                grants.remove(link)
            grants.append(session)
        return LoggedIn(secret, caller, session.expires_at)

    def _find(self, kind: str, secret: str, grants: Sequence[Grant]) -> Grant | None:
        """The grant of this secret that has not expired; every one is compared, each in constant time."""
        hashed, found = hash_token(secret).hex(), None
        for grant in grants:
            if hmac.compare_digest(grant.sha256, hashed) and grant.kind == kind and grant.expires_at > self._clock():
                found = grant
        return found

    def _load_if_changed(self) -> Sequence[Grant]:
        with self._lock:
            if (now := fingerprint(sessions_file(self._tokens.folder))) != self._fingerprint:
                self._fingerprint, self._grants = now, _load(self._tokens.folder)
            return self._grants


@contextmanager
def _change(folder: Path, now: float) -> Iterator[list[Grant]]:
    """The grants that have not expired, to change in place; written back unless nothing has changed."""
    with lock_folder(folder):
        kept = _load(folder)
        grants = [each for each in kept if each.expires_at > now]
        yield grants
        if grants != kept:
            with replace_atomically(sessions_file(folder)) as file:
                file.write(json.dumps({"grants": [asdict(each) for each in grants[-_MOST:]]}).encode())


def _load(folder: Path) -> list[Grant]:
    """All grants; none, and a warning in the log, if the file is damaged: everyone logs in again."""
    try:
        data = read_private(sessions_file(folder))
        return [_parse(**each) for each in json.loads(data)["grants"]] if data else []
    except (ValueError, TypeError, KeyError, RecursionError, DataError) as error:
        log.warning("%s cannot be read: %s. Whoever uses the page logs in again.", sessions_file(folder), error)
        return []


def _parse(kind: str, sha256: str, token: str, expires_at: float) -> Grant:
    bytes.fromhex(sha256), bytes.fromhex(token)
    return Grant(str(kind), sha256, token, float(expires_at))
