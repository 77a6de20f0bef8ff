"""What agents are told of tools that nobody has approved: state, reason and flags, and not a word of their server."""

import re
from dataclasses import replace

from athand.tools.definitions import hash_pair
from athand.tools.model import Definition, Flag, Server, Tool

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_SHOWN_ID = re.compile(r"(.+__)tool(-[0-9a-f]{16})")
UNAPPROVED = ("quarantined", "rejected")


def is_plain_name(name: str) -> bool:
    """Whether a name is short and of plain characters, so that it says little more than which tool is meant."""
    return _NAME.fullmatch(name) is not None


def for_agents(tool: Tool) -> Tool:
    """The tool as agents see it: what was approved, or nothing that its server says."""
    if tool.state == "changed":
        return replace(tool, diff="", flags=_without_quotes(tool.flags))
    return _withhold(tool) if tool.state in UNAPPROVED else tool


def _withhold(tool: Tool) -> Tool:
    empty = Definition(tool.name)
    shown = replace(
        tool,
        title=None,
        description="",
        input_schema={},
        output_schema=None,
        annotations={},
        kind=empty.kind,
        flags=_without_quotes(tool.flags),
        diff="",
    )
    if is_plain_name(tool.name):
        return shown
    server, _, _ = tool.id.partition("__")
    name = f"tool-{hash_pair(tool.server, tool.name)}"
    return replace(shown, id=f"{server}__{name}", name=name)


def indexed_definition(definition: Definition, state: str) -> Definition:
    """The part of a definition that searches may find: of what nobody has approved only a plain name."""
    if state not in UNAPPROVED:
        return definition
    return Definition(definition.name if is_plain_name(definition.name) else "tool")


def _without_quotes(flags: tuple[Flag, ...]) -> tuple[Flag, ...]:
    """The rules that matched, and the field of each; not the text, nor keys of schemas."""
    return tuple(dict.fromkeys(replace(each, field=each.field.partition(".")[0], detail="") for each in flags))


def server_for(server: Server, *, by_owner: bool) -> Server:
    """The server with the reason of its state; what it says itself, and what an untrusted file says, for its owner."""
    reason = server.reason or ""
    own, _, _ = reason.partition("\n")
    shown = replace(server, reason=(reason.replace("\n", "; ") if by_owner else own) or None)
    if by_owner or server.state != "untrusted":
        return shown
    name = server.name if is_plain_name(server.name) else f"server-{hash_pair(server.name, '')}"
    return replace(shown, name=name, description=None)


def pattern_of_shown_id(id_: str) -> str | None:
    """For an id that agents see in place of another one: the LIKE pattern of the real one."""
    found = _SHOWN_ID.fullmatch(id_)
    return f"{found[1]}%{found[2]}" if found else None
