"""Reads transcripts of Claude Code: a record for each message, with its session, folder and branch."""

import re
from collections.abc import Iterable, Iterator

from athand.memories.history.model import Record, SessionFacts, Turn, parse_time, text_of, text_or_none

_REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>", re.DOTALL)
_NO_PROMPT = ("<command-", "<local-command-", "<bash-", "<task-notification", "Caveat: ", "[Request interrupted")
_TITLES = {"summary": "summary", "ai-title": "aiTitle", "custom-title": "customTitle"}
_FILES = ("file_path", "notebook_path", "path")
_ABOUT = ("command", "pattern", "query", "url", "description", "skill", *_FILES)


def read_turns(records: Iterable[tuple[int, Record]], facts: SessionFacts) -> Iterator[Turn]:
    """The turns of a transcript, each when it is whole; the facts are filled in meanwhile."""
    turn: Turn | None = None
    for offset, record in records:
        kind, message = record.get("type"), record.get("message")
        if isinstance(kind, str) and kind in _TITLES:
            facts.title = text_or_none(record.get(_TITLES[kind])) or facts.title
        if kind not in ("user", "assistant") or not isinstance(message, dict) or record.get("isMeta"):
            continue
        if kind == "user" and (prompt := _prompt_of(message)):
            if turn is not None:
                yield turn
            turn = _begin(offset, record, prompt, facts)
        elif turn is not None:
            turn.last_at = parse_time(record.get("timestamp")) or turn.last_at
            _add(turn, message.get("content"), of_agent=kind == "assistant")
    if turn is not None:
        yield turn


def _begin(offset: int, record: Record, prompt: str, facts: SessionFacts) -> Turn:
    session = text_or_none(record.get("sessionId")) or facts.session or "unknown"
    key = text_or_none(record.get("uuid")) or f"{session} {offset}"
    at = parse_time(record.get("timestamp"))
    folder, branch = text_or_none(record.get("cwd")), text_or_none(record.get("gitBranch"))
    return Turn(key, prompt, at, offset, session, folder, None if branch == "HEAD" else branch, at)


def _prompt_of(message: Record) -> str:
    """What a person, or the agent that started this one, has written; empty for results of tools."""
    content = message.get("content")
    if isinstance(content, list) and any(
        isinstance(each, dict) and each.get("type") == "tool_result" for each in content
    ):
        return ""
    text = _REMINDER.sub("", text_of(content)).strip()
    return "" if text.startswith(_NO_PROMPT) else text


def _add(turn: Turn, content: object, *, of_agent: bool) -> None:
    for block in content if isinstance(content, list) else []:
        if not isinstance(block, dict):
            continue
        if of_agent and block.get("type") == "text" and (text := text_or_none(block.get("text"))):
            turn.answers.append(text)
        elif of_agent and block.get("type") == "tool_use":
            _add_call(turn, str(block.get("name")), block.get("input"))
        elif block.get("type") == "tool_result" and block.get("is_error"):
            turn.add_error(text_of(block.get("content")))


def _add_call(turn: Turn, tool: str, given: object) -> None:
    values = given if isinstance(given, dict) else {}
    turn.files |= {value: None for name in _FILES if (value := text_or_none(values.get(name)))}
    turn.add_call(tool, next((value for name in _ABOUT if (value := text_or_none(values.get(name)))), ""))
