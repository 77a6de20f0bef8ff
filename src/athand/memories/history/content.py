"""A turn as a memory: its prompt, the answer, the calls and what failed, cut to what tells what was done."""

import hashlib
from datetime import datetime
from pathlib import PurePosixPath
from typing import Any

from athand.errors import InvalidInput
from athand.inputs import check_name, is_text
from athand.memories.history.model import SessionFacts, Turn
from athand.memories.model import HISTORY
from athand.redaction import clean
from athand.text_length import shorten

TAG = "history"
_PROMPT, _BEGINNING, _END = 3_000, 600, 2_400  # characters; an answer says at its end what was done
_LOOKED_AT = 20_000  # characters at both ends: secrets are removed before a text is cut, as a part of one is none
_CALLS, _FILES, _NAME = 12, 20, 200
_DROPPED = dict.fromkeys([*range(0x20), *range(0x7F, 0xA0)]) | {9: "\t", 10: "\n"}


def id_of(client: str, key: str) -> str:
    """The id of a turn's memory: the same whenever it is read."""
    return "h" + hashlib.sha256(f"{client} {key}".encode("utf-8", "replace")).hexdigest()[:23]


def to_fields(client: str, turn: Turn, facts: SessionFacts, project: str, now: datetime) -> dict[str, Any]:
    """The arguments of `add` for a turn; a clock that was ahead is set back."""
    branch = turn.branch or facts.branch
    about = f"{client}, branch {branch}" if branch else client
    at = min(turn.at or now, now)
    return {
        "id": id_of(client, turn.key),
        "content": make_text(turn),
        "project": project,
        "session": session_of(turn),
        "sector": "episodic",
        "context": _clean(about)[:_NAME],
        "tags": [TAG, client],
        "files": _paths(turn),
        "created_at": at,
        "written_by": HISTORY,
    }


def session_of(turn: Turn) -> str:
    """The id of the session of a turn; a hash of one that is no name."""
    try:
        return check_name("session", turn.session)
    except InvalidInput:
        return hashlib.sha256(turn.session.encode("utf-8", "replace")).hexdigest()[:32]


def make_text(turn: Turn) -> str:
    """The text of a turn."""
    answer = _redact("\n".join(turn.answers).strip())
    if len(answer) > _BEGINNING + _END:
        answer = f"{answer[:_BEGINNING].rstrip()} … {answer[-_END:].lstrip()}"
    calls = [f"{call} ({count} times)" if count > 1 else call for call, count in turn.calls.most_common(_CALLS)]
    parts = {
        "": shorten(_redact(turn.prompt), _PROMPT),
        "Agent: ": answer,
        "Calls: ": "; ".join(calls),
        "Failed: ": "; ".join(turn.errors),
    }
    return _clean("\n\n".join(f"{name}{text}" for name, text in parts.items() if text))


def _redact(text: str) -> str:
    return clean(text if len(text) <= 2 * _LOOKED_AT else f"{text[:_LOOKED_AT]} … {text[-_LOOKED_AT:]}")


def _paths(turn: Turn) -> list[str]:
    """The files that were touched, below the folder of the session where they are in it."""
    names = []
    for path in list(turn.files)[:_FILES]:
        pure = PurePosixPath(path)
        inside = turn.folder is not None and pure.is_relative_to(turn.folder) and str(pure) != turn.folder
        name = _clean(str(pure.relative_to(turn.folder or "") if inside else pure)).strip()
        names += [name] if name and len(name.encode()) <= _NAME and "\n" not in name else []
    return list(dict.fromkeys(names))


def _clean(text: str) -> str:
    """The text without control characters and lone surrogates."""
    plain = text.translate(_DROPPED)
    return plain if is_text(plain) else plain.encode("utf-8", "replace").decode()
