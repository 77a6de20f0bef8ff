"""The MCP clients: which file names the servers of each, what an entry looks like there; adds and removes an entry."""

import os
import sys
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

from athand.adapters.editing import jsonc, toml
from athand.adapters.editing.files import back_up, replace_file, resolve_file
from athand.errors import BadData, InvalidInput, NotFound
from athand.tools.clients import config_paths
from athand.tools.config_files import parse_object, read_bytes, to_text
from athand.types import Noun

NAME = "athand"
_MAX_BYTES = 64_000_000
_BOM = b"\xef\xbb\xbf"
_SERVERS_KEYS = {"vscode": "servers", "codex": "mcp_servers", "opencode": "mcp", "zed": "context_servers"}
# The ends of the paths that may hold our entry, the best first, where a client has several files.
_FILES = {
    "vscode": ("Code/User/mcp.json", "Insiders/User/mcp.json", ".vscode/mcp.json"),
    "windsurf": ("windsurf/mcp_config.json", "codeium/mcp_config.json"),
    "copilot": ("mcp-config.json", ".github/mcp.json"),
    "opencode": ("opencode.json", "opencode.jsonc"),
    "cline": ("data/settings/cline_mcp_settings.json", "cline_mcp_settings.json"),
}


@dataclass(frozen=True, slots=True)
class Change(Noun):
    """A change of a client's file; `action` is added, replaced, removed or same."""

    client: str
    file: str
    action: str
    backup: str | None = None


@dataclass(frozen=True, slots=True)
class Client:
    """A client's configuration, of the user or of a project, and the name of our entry in it."""

    name: str
    project: Path | None = None
    entry_name: str = NAME

    @property
    def file(self) -> Path:
        """The file that names the client's servers."""
        files = config_paths(self.name, Path.home(), sys.platform, None, os.environ)
        if self.project is not None:
            everywhere = config_paths(self.name, Path.home(), sys.platform, self.project, os.environ)
            files = everywhere[len(files) :]
        if not files:
            raise InvalidInput(f"{self.name} has no configuration of a project. Leave --project out.")
        wanted = [file for end in _FILES.get(self.name, ("",)) for file in files if str(file).endswith(end)]
        return next((file for file in wanted if file.is_file()), (wanted or files)[0])

    @property
    def command_arguments(self) -> str:
        """The arguments of `athand install` and `uninstall` that mean this entry."""
        return self.name if self.entry_name == NAME else f"{self.name} --name {self.entry_name}"

    @property
    def is_found(self) -> bool:
        """Whether the client seems to be used here: its file or its own folder exists."""
        folder = self.file.parent
        return self.file.is_file() or (folder.is_dir() and folder not in (Path.home(), self.project))

    @property
    def servers(self) -> Mapping[str, Any]:
        """The entries in the file as it is now."""
        return self._get_servers(self._parse(self.read_data()))

    @property
    def entry(self) -> Mapping[str, Any] | None:
        """Our entry in the file as it is now; None if there is none."""
        found = self.servers.get(self.entry_name)
        return found if isinstance(found, Mapping) else None

    def put(self, entry: Mapping[str, Any], now: datetime) -> Change:
        """Add or replace our entry; a file that has it already is not touched."""
        before = self.servers
        if before.get(self.entry_name) == entry:
            return Change(self.name, str(self.file), "same")
        action = "replaced" if self.entry_name in before else "added"
        return self._write(self.edit(put={self.entry_name: entry}), action, now)

    def remove(self, now: datetime) -> Change:
        """Remove our entry; the rest of the file stays."""
        if self.entry_name not in self.servers:
            return Change(self.name, str(self.file), "same")
        return self._write(self.edit(remove=[self.entry_name]), "removed", now)

    def edit(self, *, put: Mapping[str, Any] = MappingProxyType({}), remove: Collection[str] = ()) -> bytes:
        """The file's data without some entries and with others; BadData if that is impossible without loss."""
        data = self.read_data() or b""
        before, text = self._parse(data), to_text(data, self.file)
        for name in remove:
            text = self._remove_entry(text, name)
        for name, entry in put.items():
            text = self._put_entry(text, name, entry)
        others = {name: each for name, each in self._get_servers(before).items() if name not in remove}
        new = (_BOM if data.startswith(_BOM) else b"") + text.encode()
        self._check_text(new, {**before, self._servers_key: {**others, **put}})
        return new

    def format_entry(self, entry: Mapping[str, Any]) -> str:
        """The entry as it is written into the file."""
        return self._put_entry("", self.entry_name, entry).strip()

    @property
    def _servers_key(self) -> str:
        return _SERVERS_KEYS.get(self.name, "mcpServers")

    @property
    def _is_toml(self) -> bool:
        return self.file.suffix == ".toml"

    def _put_entry(self, text: str, name: str, entry: Mapping[str, Any]) -> str:
        path = (self._servers_key, name)
        return toml.put_table(text, path, entry) if self._is_toml else jsonc.put(text, path, dict(entry))

    def _remove_entry(self, text: str, name: str) -> str:
        path = (self._servers_key, name)
        return toml.remove_table(text, path) if self._is_toml else jsonc.remove(text, path)

    def read_data(self) -> bytes | None:
        """The content of the file; None if there is none."""
        try:
            return read_bytes(self.file, _MAX_BYTES)
        except NotFound:
            return None

    def _parse(self, data: bytes | None) -> dict[str, Any]:
        if not self._is_toml:
            return parse_object(data, self.file) if data and data.removeprefix(_BOM).strip() else {}
        try:
            return tomllib.loads(to_text(data or b"", self.file))
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise BadData(f"{self.file} is not TOML: {error}. Correct it there.") from error

    def _get_servers(self, config: Mapping[str, Any]) -> Mapping[str, Any]:
        servers = config.get(self._servers_key, {})
        if not isinstance(servers, Mapping):
            raise BadData(f"{self._servers_key} in {self.file} must be an object of servers by name. Correct it there.")
        return servers

    def _write(self, data: bytes, action: str, now: datetime) -> Change:
        """Write the file; a copy of the previous one is kept beside it."""
        old = self.read_data()
        backup = None if old is None else self.back_up(old, now)
        try:
            self.replace(data, instead_of=old)
        except BaseException:
            if backup is not None:
                backup.unlink(missing_ok=True)
            raise
        return Change(self.name, str(self.file), action, None if backup is None else str(backup))

    def back_up(self, data: bytes, now: datetime) -> Path:
        """Keep a copy of the file's data beside it."""
        return back_up(resolve_file(self.file, self.project), data, now)

    def replace(self, data: bytes, *, instead_of: bytes | None) -> None:
        """Replace the file atomically, if nobody else has changed it."""
        replace_file(resolve_file(self.file, self.project), data, instead_of=instead_of)

    def _check_text(self, data: bytes, wanted: Mapping[str, Any]) -> None:
        try:
            is_right = _drop_empty(self._parse(data)) == _drop_empty(wanted)
        except BadData:
            is_right = False
        if not is_right:
            raise BadData(
                f"{self.file} cannot be changed without loss. Nothing was written. "
                f"Change it by hand; the entry is shown by: athand install {self.command_arguments} --print"
            )


def _drop_empty(config: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration without an empty object of servers, which means the same as none."""
    return {
        name: each for name, each in config.items() if each != {} or name not in (*_SERVERS_KEYS.values(), "mcpServers")
    }
