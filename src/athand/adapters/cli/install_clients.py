"""The MCP clients: which file of each names its servers, how an entry looks there, and how it gets in and out."""

import os
import sys
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from athand.adapters.editing import jsonc, toml
from athand.adapters.editing.files import back_up, real_place, replace_file
from athand.errors import BadData, InvalidInput, NotFound
from athand.tools.clients import config_paths
from athand.tools.config_files import parse_object, read_bytes, to_text
from athand.types import Noun

NAME = "athand"
_LARGEST = 64_000_000
_BOM = b"\xef\xbb\xbf"
_TOP = {"vscode": "servers", "codex": "mcp_servers"}
_SAYS_TYPE = ("claude-code", "vscode")
_URL = {"gemini": "httpUrl", "windsurf": "serverUrl"}
_HEADERS = {"codex": "http_headers"}
_SUPPORTS_NO_URL = ("claude-desktop",)
_FIRST_CHOICE = {"vscode": "Code/User/mcp.json", "windsurf": "windsurf/mcp_config.json"}


@dataclass(frozen=True, slots=True)
class Change(Noun):
    """What was done to a client's file, or would be: `action` is added, replaced, removed or same."""

    client: str
    file: str
    action: str
    backup: str | None = None


@dataclass(frozen=True, slots=True)
class Client:
    """One client, for the user or in a project, and what our entry is called there."""

    name: str
    project: Path | None = None
    entry_name: str = NAME

    @property
    def file(self) -> Path:
        """The file that names its servers."""
        own = config_paths(self.name, Path.home(), sys.platform, None, os.environ)
        if self.project is None:
            wanted = [each for each in own if str(each).endswith(_FIRST_CHOICE.get(self.name, ""))]
            others = [each for each in own if each.name == wanted[0].name and each.is_file()]
            return wanted[0] if wanted[0].is_file() or not others else others[0]
        theirs = config_paths(self.name, Path.home(), sys.platform, self.project, os.environ)
        if len(theirs) == len(own):
            raise InvalidInput(f"{self.name} has no servers of a project. Leave --project out: it is for all projects.")
        return theirs[-1]

    @property
    def typed(self) -> str:
        """The client and the entry, as one types them behind `athand install` and `uninstall`."""
        return self.name if self.entry_name == NAME else f"{self.name} --name {self.entry_name}"

    @property
    def is_found(self) -> bool:
        """Whether the client seems to be used here: its file is there, or a folder of its own."""
        folder = self.file.parent
        return self.file.is_file() or (folder.is_dir() and folder not in (Path.home(), self.project))

    @property
    def entry(self) -> Mapping[str, Any] | None:
        """What the file says of Athand now."""
        found = self._servers(self._parsed(self._data())).get(self.entry_name)
        return found if isinstance(found, Mapping) else None

    def put(self, entry: Mapping[str, Any], now: datetime) -> Change:
        """Write the entry; a file that has it already is not touched."""
        before = self._parsed(self._data())
        if self._servers(before).get(self.entry_name) == entry:
            return Change(self.name, str(self.file), "same")
        after = {**before, self._top: {**self._servers(before), self.entry_name: dict(entry)}}
        text = self._text()
        action = "replaced" if self.entry_name in self._servers(before) else "added"
        return self._write(self._with(text, entry), after, action, now)

    def remove(self, now: datetime) -> Change:
        """Take the entry out; the rest stays."""
        before = self._parsed(self._data())
        if self.entry_name not in self._servers(before):
            return Change(self.name, str(self.file), "same")
        others = {name: each for name, each in self._servers(before).items() if name != self.entry_name}
        return self._write(self._without(self._text()), {**before, self._top: others}, "removed", now)

    def shown(self, entry: Mapping[str, Any]) -> str:
        """The entry as it is written into the file."""
        return self._with("", entry).strip()

    @property
    def _top(self) -> str:
        return _TOP.get(self.name, "mcpServers")

    @property
    def _is_toml(self) -> bool:
        return self.file.suffix == ".toml"

    def _with(self, text: str, entry: Mapping[str, Any]) -> str:
        path = (self._top, self.entry_name)
        return toml.put_table(text, path, entry) if self._is_toml else jsonc.put(text, path, dict(entry))

    def _without(self, text: str) -> str:
        path = (self._top, self.entry_name)
        return toml.remove_table(text, path) if self._is_toml else jsonc.remove(text, path)

    def _data(self) -> bytes | None:
        try:
            return read_bytes(self.file, _LARGEST)
        except NotFound:
            return None

    def _text(self) -> str:
        return to_text(self._data() or b"", self.file)

    def _parsed(self, data: bytes | None) -> dict[str, Any]:
        if not self._is_toml:
            return parse_object(data, self.file) if data and data.removeprefix(_BOM).strip() else {}
        try:
            return tomllib.loads(to_text(data or b"", self.file))
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise BadData(f"{self.file} is not TOML: {error}. Mend it there.") from error

    def _servers(self, config: Mapping[str, Any]) -> Mapping[str, Any]:
        servers = config.get(self._top, {})
        if not isinstance(servers, Mapping):
            raise BadData(f"{self._top} in {self.file} must hold a server under each name. Mend it there.")
        return servers

    def _write(self, text: str, wanted: Mapping[str, Any], action: str, now: datetime) -> Change:
        """Write the text, if it says what is wanted and nothing else; what was there is kept beside it."""
        old = self._data()
        data = (_BOM if old and old.startswith(_BOM) else b"") + text.encode()
        self._check(data, wanted)
        place = real_place(self.file, self.project)
        backup = None if old is None else back_up(place, old, now)
        try:
            replace_file(place, data, instead_of=old)
        except BaseException:
            if backup is not None:
                backup.unlink(missing_ok=True)
            raise
        return Change(self.name, str(self.file), action, None if backup is None else str(backup))

    def _check(self, data: bytes, wanted: Mapping[str, Any]) -> None:
        try:
            is_right = _without_empty(self._parsed(data)) == _without_empty(wanted)
        except BadData:
            is_right = False
        if not is_right:
            raise BadData(
                f"{self.file} is written in a way that cannot be changed without loss. Nothing was written. "
                f"See what to put in or take out with: athand install {self.typed} --print"
            )


def started(client: str, words: list[str]) -> dict[str, Any]:
    """The entry of a server that the client starts by a command."""
    own = {"type": "stdio"} if client in _SAYS_TYPE else {}
    return {**own, "command": words[0], "args": words[1:]}


def reached(client: str, url: str, token: Callable[[], str]) -> dict[str, Any]:
    """The entry of a server that runs already."""
    if client in _SUPPORTS_NO_URL:
        raise InvalidInput(f"{client} starts its servers itself. Leave --http out.")
    own = {"type": "http"} if client in _SAYS_TYPE else {}
    headers = {"Authorization": f"Bearer {token()}"}
    return {**own, _URL.get(client, "url"): url, _HEADERS.get(client, "headers"): headers}


def _without_empty(config: Mapping[str, Any]) -> dict[str, Any]:
    """An empty object of servers says as much as none."""
    return {name: each for name, each in config.items() if each != {} or name not in (*_TOP.values(), "mcpServers")}
