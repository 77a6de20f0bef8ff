"""Reads transcripts of Gemini CLI: first the session, then messages; one that grows is written again under its id."""

import json
from collections.abc import Iterable, Iterator

from athand.memories.history.model import Record, SessionFacts, Turn, parse_time, text_of, text_or_none

_FILES = ("file_path", "absolute_path", "path", "dir_path")
_ABOUT = ("command", "pattern", "query", "url", "prompt", *_FILES)


def read_turns(records: Iterable[tuple[int, Record]], facts: SessionFacts) -> Iterator[Turn]:
    """The turns of a transcript, each when it is whole; the facts are filled in meanwhile."""
    turn: Turn | None = None
    answers: dict[str, Record] = {}  # the last version of each
    for offset, record in records:
        key, kind = text_or_none(record.get("id")), record.get("type")
        if key is None:
            _describe(record, facts)
        elif kind == "user" and (turn is None or turn.key != key):
            if prompt := _text(record.get("content")):
                if turn is not None:
                    yield _complete(turn, answers)
                turn, answers = _begin(offset, record, key, prompt, facts), {}
        elif kind in ("gemini", "error"):
            answers[key] = record
    if turn is not None:
        yield _complete(turn, answers)


def _describe(record: Record, facts: SessionFacts) -> None:
    """The first record, or a later change of it."""
    inner = record.get("$set")
    values = inner if isinstance(inner, dict) else record
    facts.session = text_or_none(values.get("sessionId")) or facts.session
    facts.title = text_or_none(values.get("summary")) or facts.title


def _begin(offset: int, record: Record, key: str, prompt: str, facts: SessionFacts) -> Turn:
    at = parse_time(record.get("timestamp"))
    return Turn(key, prompt, at, offset, facts.session or "unknown", facts.folder, None, at)


def _complete(turn: Turn, answers: dict[str, Record]) -> Turn:
    for record in answers.values():
        turn.last_at = parse_time(record.get("timestamp")) or turn.last_at
        text = _text(record.get("content"))
        if record.get("type") == "error":
            turn.add_error(text)
        elif text:
            turn.answers.append(text)
        calls = record.get("toolCalls")
        for call in calls if isinstance(calls, list) else []:
            if isinstance(call, dict):
                _add_call(turn, call)
    return turn


def _add_call(turn: Turn, call: Record) -> None:
    given = call.get("args")
    values = given if isinstance(given, dict) else {}
    turn.files |= {value: None for name in _FILES if (value := text_or_none(values.get(name)))}
    turn.add_call(
        str(call.get("name")), next((each for name in _ABOUT if (each := text_or_none(values.get(name)))), "")
    )
    if call.get("status") == "error":
        shown = call.get("resultDisplay")
        turn.add_error(shown if isinstance(shown, str) else json.dumps(call.get("result")))


def _text(content: object) -> str:
    return text_of([content] if isinstance(content, dict) else content).strip()
