"""Who calls: a token leads to a name and to what its bearer may do."""

import hmac
import logging
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from athand.adapters.http.tokens import OWNER, digest, list_tokens, owner_file, read_owner_token, tokens_file
from athand.adapters.operations import SCOPES
from athand.errors import AthandError

log = logging.getLogger("athand")

_LOOK_AGAIN = 1.0  # seconds: so long a token that was taken back may still open


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody whose token was right."""

    name: str
    scopes: frozenset[str]


Known = tuple[bytes, Caller]  # the hash of a token, and whose it is


class Callers:
    """All who may call, as the files of a folder say; a change of the files is noticed within a second."""

    def __init__(self, folder: Path, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._folder = folder
        self._clock = clock
        self._looked = clock()
        self._seen = self._state()
        self._known = [*self._owner(), *self._others()]

    def find(self, token: str) -> Caller | None:
        """The bearer of a token. Every known token is compared, each in constant time."""
        self._look_again()
        given, found = digest(token), None
        for known, caller in self._known:
            if hmac.compare_digest(known, given):
                found = caller
        return found

    def _look_again(self) -> None:
        if self._clock() - self._looked < _LOOK_AGAIN:
            return
        self._looked = self._clock()
        if (state := self._state()) != self._seen:
            self._seen = state
            self._known = [each for read in (self._owner, self._others) for each in _usable(read)]

    def _owner(self) -> list[Known]:
        return [(digest(read_owner_token(self._folder)), Caller(OWNER, frozenset(SCOPES)))]

    def _others(self) -> list[Known]:
        return [
            (bytes.fromhex(each.sha256), Caller(each.name, frozenset(each.scopes)))
            for each in list_tokens(self._folder)
        ]

    def _state(self) -> list[tuple[int, ...] | None]:
        return [_fingerprint(path(self._folder)) for path in (owner_file, tokens_file)]


def _usable(read: Callable[[], list[Known]]) -> list[Known]:
    """What a file says now; one that has become unusable opens nothing, and the log says why."""
    try:
        return read()
    except (AthandError, OSError) as error:
        log.warning("%s", error)
        return []


def _fingerprint(path: Path) -> tuple[int, ...] | None:
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size, found.st_mode
