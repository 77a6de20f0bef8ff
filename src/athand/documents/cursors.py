"""Cursors (continuation tokens): the state of a paged call, signed with HMAC and a key of the store."""

import base64
import binascii
import hashlib
import hmac
import json
import secrets
from dataclasses import dataclass
from typing import Any

from athand.errors import Conflict, InvalidInput
from athand.store import Snapshot, Store, Transaction

_KEY_NAME = "token_key"
_MAC_BYTES = 16  # the HMAC is truncated to this
_MAX_LENGTH = 2_000_000  # room for the maximum number of concepts and terms of maximum length
_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Cursors:
    """Encodes and decodes cursors with the key of one store."""

    key: bytes

    def encode(self, kind: str, state: dict[str, Any]) -> str:
        """A signed, opaque text that holds the state."""
        body = json.dumps([_FORMAT, kind, state], separators=(",", ":")).encode()
        return base64.urlsafe_b64encode(self._sign(body) + body).decode().rstrip("=")

    def decode(self, kind: str, token: object) -> dict[str, Any]:
        """The state of a cursor; raises InvalidInput unless this store made it for this call (`kind`)."""
        if not isinstance(token, str) or len(token) > _MAX_LENGTH:
            raise _invalid_cursor(kind)
        try:
            padded = token.encode("ascii") + b"=" * (-len(token) % 4)
            packed = base64.b64decode(padded, altchars=b"-_", validate=True)
            mac, body = packed[:_MAC_BYTES], packed[_MAC_BYTES:]
            # Several base64 texts decode to the same bytes; accept the canonical one only.
            if base64.urlsafe_b64encode(packed).decode().rstrip("=") != token:
                raise _invalid_cursor(kind)
        except (binascii.Error, UnicodeEncodeError) as error:
            raise _invalid_cursor(kind) from error
        if not hmac.compare_digest(mac, self._sign(body)):
            raise _invalid_cursor(kind)
        version, made_for, state = json.loads(body)
        if version != _FORMAT or made_for != kind:
            raise _invalid_cursor(kind)
        decoded: dict[str, Any] = state
        return decoded

    def decode_for_document(self, kind: str, token: object, document: dict[str, Any]) -> dict[str, Any]:
        """The state of a cursor into a document; raises Conflict when the document has changed."""
        state = self.decode(kind, token)
        if [state["folder_id"], state["document_id"]] != [document["folder_id"], document["document_id"]]:
            raise InvalidInput("The continuation_token is of another document. Ask again without a token.")
        if state["hash"] != document["hash"]:
            raise Conflict(f"{state['document_id']} has changed since the page before. Read it from the beginning.")
        return state

    def _sign(self, body: bytes) -> bytes:
        return hmac.new(self.key, body, hashlib.sha256).digest()[:_MAC_BYTES]


def load_cursors(store: Store) -> Cursors:
    """The cursors of a store; creates its key when there is none."""
    with store.snapshot() as snapshot:
        found = _read_key(snapshot)
    if not found:
        with store.transaction() as transaction:
            ensure_key(transaction)
            found = _read_key(transaction)
    return Cursors(bytes.fromhex(found))


def ensure_key(transaction: Transaction) -> None:
    """Creates the key of a store if it has none, so that read-only users find one."""
    transaction.execute(
        "INSERT INTO settings (name, value) VALUES (:name, :value) ON CONFLICT DO NOTHING",
        {"name": _KEY_NAME, "value": secrets.token_hex(32)},
    )


def _read_key(snapshot: Snapshot) -> str:
    found = snapshot.rows("SELECT value FROM settings WHERE name = :name", {"name": _KEY_NAME})
    return str(found[0][0]) if found else ""


def _invalid_cursor(kind: str) -> InvalidInput:
    return InvalidInput(
        f"This continuation_token is not one that {kind} of this store has given, or it was changed on the way. "
        "Ask again without a token."
    )
