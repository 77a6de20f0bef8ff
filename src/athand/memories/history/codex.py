"""Reads transcripts of Codex: the first record describes the session, the others are messages, calls and results."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator

from athand.memories.history.model import Record, SessionFacts, Turn, parse_time, text_of, text_or_none

_NO_PROMPT = (
    "<environment_context>",
    "<user_instructions>",
    "<turn_aborted>",
    "<permissions",
    "# AGENTS.md instructions",
)
_CALLS = ("function_call", "custom_tool_call", "local_shell_call")
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)
_FAILED = re.compile(r"(?:exit(?:ed with)? code:?|\"exit_code\":) ?[1-9]", re.IGNORECASE)


def read_turns(records: Iterable[tuple[int, Record]], facts: SessionFacts) -> Iterator[Turn]:
    """The turns of a transcript, each when it is whole; the facts are filled in meanwhile."""
    turn: Turn | None = None
    for offset, record in records:
        inner = record.get("payload")
        item = inner if isinstance(inner, dict) else record  # older versions have no envelope
        if record.get("type") in ("session_meta", "turn_context") or ("type" not in record and "id" in record):
            _describe(item, facts)
        elif item.get("type") == "message" and item.get("role") == "user":
            prompt = text_of(item.get("content")).strip()
            if prompt and not prompt.startswith(_NO_PROMPT):
                if turn is not None:
                    yield turn
                turn = _begin(offset, record, prompt, facts)
        elif turn is not None and record.get("type") != "event_msg":  # events repeat what the other records say
            turn.last_at = parse_time(record.get("timestamp")) or turn.last_at
            _add(turn, item)
    if turn is not None:
        yield turn


def _describe(item: Record, facts: SessionFacts) -> None:
    git = item.get("git")
    branch = git.get("branch") if isinstance(git, dict) else None
    facts.session = facts.session or text_or_none(item.get("id"))
    facts.folder = text_or_none(item.get("cwd")) or facts.folder
    facts.branch = text_or_none(branch) or facts.branch


def _begin(offset: int, record: Record, prompt: str, facts: SessionFacts) -> Turn:
    session, at = facts.session or "unknown", parse_time(record.get("timestamp"))
    seen = f"{session}\0{record.get('timestamp')}\0{offset if at is None else ''}\0{prompt}"
    key = hashlib.sha256(seen.encode("utf-8", "replace")).hexdigest()
    return Turn(key, prompt, at, offset, session, facts.folder, facts.branch, at)


def _add(turn: Turn, item: Record) -> None:
    kind = item.get("type")
    if kind == "message" and item.get("role") == "assistant" and (text := text_or_none(text_of(item.get("content")))):
        turn.answers.append(text)
    elif kind in _CALLS:
        _add_call(turn, item)
    elif isinstance(kind, str) and kind.endswith("_output") and _FAILED.search(output := _output_of(item)):
        turn.add_error(output)


def _add_call(turn: Turn, item: Record) -> None:
    given = item.get("arguments") or item.get("input") or item.get("action")
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            given = {"input": given}
    values = given if isinstance(given, dict) else {}
    command = values.get("command") or values.get("cmd") or values.get("input") or ""
    words = " ".join(map(str, command)) if isinstance(command, list) else str(command)
    turn.files |= dict.fromkeys(_PATCHED.findall(words))
    turn.add_call(text_or_none(item.get("name")) or "shell", "" if _PATCHED.search(words) else words)


def _output_of(item: Record) -> str:
    output = item.get("output")
    return output if isinstance(output, str) else json.dumps(output)
