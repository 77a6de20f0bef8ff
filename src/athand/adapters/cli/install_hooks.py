"""The hooks of Athand in the settings of Claude Code: added, replaced and removed; other hooks stay as they are."""

import json
import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from athand.adapters.cli.install_clients import Change
from athand.adapters.editing import jsonc
from athand.adapters.editing.files import back_up, replace_file, resolve_file
from athand.errors import BadData, NotFound
from athand.tools.config_files import parse_object, read_bytes, to_text

# The client's events, and ours. It waits for none of them longer than the timeout; each ends by itself long before.
EVENTS = {
    "SessionStart": "session-start",
    "UserPromptSubmit": "user-prompt",
    "PreCompact": "pre-compact",
    "SessionEnd": "session-end",
}
TIMEOUT = 10  # seconds
_MAX_BYTES = 64_000_000
_OURS = re.compile(r"\bathand(?:\.exe)?\b.* hook (?:session-start|user-prompt|stop|session-end|pre-compact)\b")


def make_hooks(command: list[str]) -> dict[str, Any]:
    """The hooks as they are written into settings; the command is `athand` with the options that lead to the store."""
    program, options = command[: _options_at(command)], command[_options_at(command) :]
    words = {event: shlex.join([*program, "hook", name, *options]) for event, name in EVENTS.items()}
    return {event: [{"hooks": [_entry(command)]}] for event, command in words.items()}


def _options_at(command: list[str]) -> int:
    return next((at for at, word in enumerate(command) if word.startswith("--")), len(command))


def _entry(command: str) -> dict[str, Any]:
    return {"type": "command", "command": command, "timeout": TIMEOUT}


@dataclass(frozen=True, slots=True)
class HookSettings:
    """The settings of Claude Code that have hooks: of the user, or of this user in one project."""

    project: Path | None = None

    @property
    def file(self) -> Path:
        """The file; that of a project is its user's own, since others have no Athand where the command says."""
        if self.project is not None:
            return self.project / ".claude" / "settings.local.json"
        folder = os.environ.get("CLAUDE_CONFIG_DIR")
        return (Path(folder) if folder else Path.home() / ".claude") / "settings.json"

    def put(self, command: list[str], now: datetime) -> Change:
        """Adds our hooks, or replaces them; a file that has them already is not touched."""
        return self._change(make_hooks(command), now)

    def remove(self, now: datetime) -> Change:
        """Removes our hooks."""
        return self._change({}, now)

    def check(self) -> None:
        """Raises BadData if the file cannot be changed."""
        self._groups(self._parse(self._read()))

    def _change(self, wanted: Mapping[str, Any], now: datetime) -> Change:
        data = self._read()
        before = self._groups(self._parse(data))
        after = _merge(before, wanted)
        if after == before:
            return Change("claude-code", str(self.file), "same")
        had = any(_OURS.search(json.dumps(group)) for groups in before.values() for group in groups)
        action = ("replaced" if had else "added") if wanted else "removed"
        text = _edit(to_text(data or b"", self.file), before, after)
        backup = None if data is None else back_up(resolve_file(self.file, self.project), data, now)
        replace_file(resolve_file(self.file, self.project), text.encode(), instead_of=data)
        return Change("claude-code", str(self.file), action, None if backup is None else str(backup))

    def _read(self) -> bytes | None:
        try:
            return read_bytes(self.file, _MAX_BYTES)
        except NotFound:
            return None

    def _parse(self, data: bytes | None) -> dict[str, Any]:
        return parse_object(data, self.file) if data and data.strip() else {}

    def _groups(self, settings: Mapping[str, Any]) -> dict[str, list[Any]]:
        """The groups of hooks by event."""
        hooks = settings.get("hooks", {})
        if not isinstance(hooks, dict) or not all(isinstance(groups, list) for groups in hooks.values()):
            raise BadData(f"hooks in {self.file} must be an object of lists by event. Correct it there.")
        return hooks


def _merge(before: Mapping[str, list[Any]], wanted: Mapping[str, Any]) -> dict[str, list[Any]]:
    """The groups without our hooks, and then with those that are wanted."""
    after: dict[str, list[Any]] = {}
    for event in dict.fromkeys((*before, *wanted)):
        groups = [kept for group in before.get(event, []) if (kept := _without_ours(group)) is not None]
        if groups := [*groups, *wanted.get(event, [])]:
            after[event] = groups
        elif event in before and not before[event]:
            after[event] = []
    return after


def _without_ours(group: Any) -> Any:
    """A group of hooks without ours; None if it had no others."""
    if not isinstance(group, dict) or not isinstance(group.get("hooks"), list):
        return group
    others = [each for each in group["hooks"] if not _is_ours(each)]
    if len(others) == len(group["hooks"]):
        return group
    return {**group, "hooks": others} if others else None


def _is_ours(hook: Any) -> bool:
    return isinstance(hook, dict) and bool(_OURS.search(str(hook.get("command", ""))))


def _edit(text: str, before: Mapping[str, list[Any]], after: Mapping[str, list[Any]]) -> str:
    """The text with these hooks; what has not changed is not touched."""
    if not after:
        return jsonc.remove(text, ("hooks",))
    for event, groups in after.items():
        if before.get(event) != groups:
            text = jsonc.put(text, ("hooks", event), groups)
    for event in before.keys() - after.keys():
        text = jsonc.remove(text, ("hooks", event))
    return text
