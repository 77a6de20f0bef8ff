"""Calls of tools: checks of state, kind and rules before, conversion and truncation of the result after."""

import json
import secrets
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from athand.bounded_cache import BoundedCache
from athand.errors import InvalidInput, NotFound, Refused, ToolFailed
from athand.text_length import shorten
from athand.tools.masking import for_agents
from athand.tools.model import CallResult, Rule, Tool

DECISIONS = ("deny", "ask", "allow")  # in the order of precedence when several rules match
_MOST_KEPT = 8  # truncated results that are kept for reading on
_MOST_CHARACTERS = 16_000_000
_LONGEST_REASON = 4_000  # characters of an error text or of a diff in a message

Confirm = Callable[[Tool, Mapping[str, Any]], bool | None]  # None if nobody answers


def check_state(tool: Tool, as_hash: str | None = None) -> None:
    """Raise Refused unless the tool is approved, enabled and still has the hash that was checked before."""
    if tool.block_reason is None:
        if as_hash not in (None, tool.hash):
            raise Refused(f"{tool.id} has just changed. Look at it again: athand tools describe {tool.id}")
        return
    id_ = for_agents(tool).id
    if not tool.enabled:
        raise Refused(f"{id_} {tool.block_reason}. Enable it with: athand tools enable {id_}")
    advice = f"To see what it says now, and to approve it if that is right, run: athand tools approve {id_}"
    raise Refused(f"{id_} {tool.block_reason}. {advice}", quote=shorten(tool.diff, _LONGEST_REASON))


def check_kind(tool: Tool, kinds: Collection[str] | None) -> None:
    """Raise Refused if the kind of the tool is not among those the caller allows."""
    if kinds is not None and tool.kind not in kinds:
        effect = "changes things" if tool.kind == "write" else "may destroy something, as far as its server says"
        raise Refused(f"{tool.id} {'only reads' if tool.kind == 'read' else effect}. Call it with call_tool.")


def find_decision(rules: Sequence[Rule], tool: Tool) -> Rule | None:
    """The strictest of all rules that match the tool; None if none does."""
    matching = {rule.decision: rule for rule in rules if fnmatchcase(tool.id, rule.pattern)}
    return next((matching[each] for each in DECISIONS if each in matching), None)


def decide_without_rule(tool: Tool, unannotated: str) -> str:
    """What becomes of an agent's call that no rule is about: a tool that may destroy something is asked about.

    `unannotated` is the decision for a tool whose server does not say what it does.
    """
    if tool.kind != "destructive":
        return "allow"
    hints = {"readOnlyHint", "destructiveHint"} & tool.annotations.keys()
    return "ask" if hints else unannotated


def check_rules(
    rules: Sequence[Rule], tool: Tool, arguments: Mapping[str, Any], confirm: Confirm | None, otherwise: str = "allow"
) -> None:
    """Raise Refused if a rule denies the call, or if it must be confirmed and is not."""
    rule = find_decision(rules, tool)
    decision = rule.decision if rule else otherwise
    reason = f"The rule {rule.pattern!r}" if rule else f"No rule is about {tool.id}, and what {_describe_risk(tool)}"
    if decision == "deny":
        raise Refused(f"{reason} denies {tool.id}. See: athand tools rules")
    if decision == "allow":
        return
    agreed = confirm(tool, arguments) if confirm else None
    if agreed is None:
        raise Refused(
            f"{tool.id} was not called. {reason} wants a person to be asked, and nobody answered. "
            f"Allow it with: athand tools rule {tool.id} allow"
        )
    if not agreed:
        raise Refused(f"{tool.id} was not called: the answer was no.")


def _describe_risk(tool: Tool) -> str:
    hints = {"readOnlyHint", "destructiveHint"} & tool.annotations.keys()
    return "may destroy something" if hints else "does not say whether it changes anything"


def check_size(max_chars: object) -> int:
    """A valid `max_chars`: a whole number of at least 1, since reading on must make progress."""
    if not isinstance(max_chars, int) or isinstance(max_chars, bool) or max_chars < 1:
        raise InvalidInput(f"max_chars must be a whole number above 0, not {max_chars!r}.")
    return max_chars


def to_result(tool: Tool, raw: Mapping[str, Any]) -> CallResult:
    """Convert a raw MCP result; ToolFailed if it has isError set."""
    content = tuple(part for part in raw.get("content") or () if isinstance(part, Mapping))
    result = CallResult(tool.id, content, raw.get("structuredContent"))
    if raw.get("isError"):
        raise ToolFailed(f"{tool.id} failed: {shorten(result.text or 'it does not say why', _LONGEST_REASON)}")
    return result


class Continuations:
    """The remaining text of truncated results, by continuation token; only the most recent are kept."""

    def __init__(self) -> None:
        self._remaining: BoundedCache[str, tuple[str, str]] = BoundedCache(
            _MOST_KEPT, max_size=_MOST_CHARACTERS, size_of=lambda entry: len(entry[1])
        )

    def truncate(self, result: CallResult, most: int | None) -> CallResult:
        """The result itself if it is short enough, else its first `most` characters with a continuation token."""
        if most is None:
            return result
        structured = "" if result.structured is None else json.dumps(result.structured, ensure_ascii=False)
        texts = (result.text, structured, "\n".join(_texts(result.content)))
        long = next((text for text in texts if len(text) > most), None)
        return result if long is None else self._first_part(result.tool, long, most)

    def __contains__(self, token: object) -> bool:
        return isinstance(token, str) and self._remaining.get(token) is not None

    def read_on(self, token: str, most: int) -> CallResult:
        """The next `most` characters of a truncated result."""
        found = self._remaining.get(token)
        if found is None:
            raise NotFound("There is nothing more to read under this token. Call the tool again.")
        tool, text = found
        return CallResult(tool, (_text_part(text),)) if len(text) <= most else self._first_part(tool, text, most)

    def _first_part(self, tool: str, text: str, most: int) -> CallResult:
        token = secrets.token_urlsafe(16)
        self._remaining.put(token, (tool, text[most:]))
        return CallResult(tool, (_text_part(text[:most]),), truncated=True, continuation=token)


def _texts(content: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """All texts of a result, also those of embedded resources."""
    for part in content:
        within = part.get("resource") if part.get("type") == "resource" else part
        if isinstance(within, Mapping) and isinstance(within.get("text"), str):
            yield within["text"]


def _text_part(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}
