"""Configuration files: found, read with limits (size, regular files only), and written atomically."""

import hashlib
import json
import logging
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from athand.errors import BadData, InvalidInput, NotFound, Unavailable
from athand.files import lock, open_regular, replace_atomically
from athand.inputs import check_name
from athand.tools.model import DEFAULT

if TYPE_CHECKING:
    from athand.tools.service import Tools

PROJECT_FILE = ".mcp.json"
LARGEST = 4_000_000  # bytes
_KEYS = ("mcpServers", "servers")
_STRING = r'"(?:[^"\\]|\\.)*+"?'
_COMMENTS = re.compile(rf"({_STRING})|//[^\n]*+|/\*.*?(?:\*/|\Z)", re.DOTALL)
_LAST_COMMAS = re.compile(rf"({_STRING})|,(?=\s*+[\]}}])", re.DOTALL)

log = logging.getLogger("athand")


def read_bytes(path: Path, most: int = LARGEST) -> bytes:
    """The content of a regular file; NotFound if there is none, BadData if it cannot be read."""
    try:
        with open_regular(path) as file:
            data = file.read(most + 1)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NotFound(f"There is no file {path}. Check the path.") from error
    except (OSError, ValueError) as error:
        raise BadData(f"{path} cannot be read: {_reason(error)}.") from error
    if len(data) > most:
        raise BadData(f"{path} is larger than {most // 1_000_000} MB. A configuration file is much smaller.")
    return data


def to_text(data: bytes, path: Path) -> str:
    """Decode UTF-8; a byte order mark is dropped."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadData(f"{path} is not UTF-8 at byte {error.start}. Save it as UTF-8.") from error


def parse_object(data: bytes, path: Path) -> dict[str, Any]:
    """Parse a JSON object; comments and trailing commas are allowed."""
    text = to_text(data, path)
    try:
        value = _parse_json(text)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise BadData(f"{path} is not JSON at {place}: {error.msg}. Fix it there.") from error
    except (ValueError, RecursionError) as error:
        raise BadData(f"{path} cannot be read as JSON: {error}.") from error
    if not isinstance(value, dict):
        raise BadData(f"{path} must hold a JSON object, not {type(value).__name__}.")
    return value


def _parse_json(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return json.loads(_LAST_COMMAS.sub(_blank_out, _COMMENTS.sub(_blank_out, text)))


def _blank_out(found: re.Match[str]) -> str:
    """Keep strings and replace the rest by spaces, so that positions in error messages stay right."""
    return found[1] or re.sub(r"[^\n]", " ", found[0])


def _reason(error: OSError | ValueError) -> str:
    strerror = error.strerror if isinstance(error, OSError) else None
    return (strerror or str(error)).lower()


@dataclass(frozen=True, slots=True)
class ConfigUpdate:
    """The result of writing servers; `kept` are those already present with other settings."""

    added: tuple[str, ...] = ()
    same: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    backup: Path | None = None  # a copy of the old file if it had comments that are lost


def write_user_config(path: Path, servers: Mapping[str, Mapping[str, Any]], *, replace: bool = False) -> ConfigUpdate:
    """Merge servers into a private file of the user. Existing servers with other settings are kept by default."""
    with _open_for_writing(path.resolve()):
        return _merge(path.resolve(), servers, replace=replace)


def read_user_config(path: Path) -> Mapping[str, Any]:
    """The servers in the user's file as they are written; none if there is no file."""
    _, config, key = _read_user_config(path.resolve())
    servers: Mapping[str, Any] = config.get(key, {})
    return servers


def remove_from_user_config(path: Path, name: str) -> bool:
    """Remove a server from the user's file; whether it was there."""
    with _open_for_writing(path.resolve()):
        data, config, key = _read_user_config(path.resolve())
        if name not in config.get(key, {}):
            return False
        _back_up(path.resolve(), data)
        del config[key][name]
        _write(path.resolve(), _to_json(config))
        return True


@contextmanager
def _open_for_writing(path: Path) -> Iterator[None]:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with lock(path.parent):
            yield
    except OSError as error:
        raise Unavailable(f"{path} cannot be written: {(error.strerror or str(error)).lower()}.") from error


def _read_user_config(path: Path) -> tuple[bytes, dict[str, Any], str]:
    """The bytes of the file, its parsed content, and the key of its servers."""
    data = _read_or_empty(path)
    config = parse_object(data, path) if data.strip() else {}
    key = next((each for each in _KEYS if each in config), _KEYS[0])
    if not isinstance(config.get(key, {}), dict):
        raise BadData(f"{key} in {path} must be an object with a server under each name. Fix it first.")
    return data, config, key


def _to_json(config: Mapping[str, Any]) -> bytes:
    return json.dumps(config, indent=2, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"


def _merge(path: Path, servers: Mapping[str, Mapping[str, Any]], *, replace: bool) -> ConfigUpdate:
    data, config, key = _read_user_config(path)
    present = config.get(key, {})
    added = tuple(name for name in servers if name not in present)
    same = tuple(name for name in servers if name in present and present[name] == servers[name])
    others = tuple(name for name in servers if name not in added and name not in same)
    changed = (*added, *others) if replace else added
    backup = None
    if changed:
        backup = _back_up(path, data)
        config[key] = present | {name: servers[name] for name in changed}
        _write(path, _to_json(config))
    return ConfigUpdate(added, same, others if replace else (), () if replace else others, backup)


def _read_or_empty(path: Path) -> bytes:
    try:
        return read_bytes(path)
    except NotFound:
        return b""


def _back_up(path: Path, data: bytes) -> Path | None:
    """Copy the file to `.bak` if it has comments that rewriting would lose."""
    try:
        json.loads(data or b"{}")
        return None
    except ValueError:
        backup = path.with_name(f"{path.name}.bak")
        _write(backup, data)
        return backup


def _write(path: Path, data: bytes) -> None:
    with replace_atomically(path) as file:
        file.write(data)


def canonical_path(path: Path) -> Path:
    """The path with the real path of its folder; the file itself may be a link."""
    try:
        whole = path.expanduser().absolute()
        return Path(os.path.realpath(whole.parent)) / whole.name
    except (RuntimeError, ValueError):  # an invalid path or unknown home: reading it raises the error
        return path.absolute()


def load_all(tools: "Tools", user: Path | None, folder: Path | None, config: Path | None) -> tuple[str, ...]:
    """Register the servers of the user, of the project and of one more file, each in its own catalogue.

    Returns the catalogues in the order of precedence, the nearest first. A broken file that was only discovered is
    logged and skipped.
    """
    catalogues = [DEFAULT]
    if user is not None and user.is_file():
        _try_load(tools, user, DEFAULT, "user")
    if folder is not None and (file := find_project_file(folder)) is not None:
        catalogues.append(catalogue_name(file.parent))
        _try_load(tools, file, catalogues[-1], "project")
    if config is not None:
        catalogues.append(catalogue_name(config.expanduser().absolute()))
        tools.load(config, catalogue=catalogues[-1], origin="user", connect=False)
    return tuple(reversed(catalogues))


def _try_load(tools: "Tools", file: Path, catalogue: str, origin: str) -> None:
    try:
        tools.load(file, catalogue=catalogue, origin=origin, connect=False)
    except InvalidInput as error:
        log.warning("No server comes from %s: %s", file, error)


def catalogue_name(place: Path) -> str:
    """The catalogue of a path: the path itself, or a hash of it if it is no valid name."""
    try:
        return check_name("catalogue", str(place))
    except InvalidInput:
        return hashlib.sha256(bytes(place)).hexdigest()


def find_project_file(folder: Path) -> Path | None:
    """The `.mcp.json` of the project around a folder; the home folder is not a project."""
    home = Path.home()
    for place in (folder.absolute(), *folder.absolute().parents):
        if place == home:
            return None
        if (place / PROJECT_FILE).is_file():
            return place / PROJECT_FILE
        if (place / ".git").exists():
            return None
    return None
