"""The user's own configuration: servers are put into it without losing anything that is there."""

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from athand.errors import BadData, NotFound, Unavailable
from athand.tools.files import parse_object, read_bytes

_NEW = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
_KEYS = ("mcpServers", "servers")


@dataclass(frozen=True, slots=True)
class Written:
    """What became of the servers that were to be written; the `kept` ones are there already, with other settings."""

    added: tuple[str, ...] = ()
    same: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    backup: Path | None = None  # the file as it was, where comments in it could not be kept


def write_user_config(path: Path, servers: Mapping[str, Mapping[str, Any]], *, replace: bool = False) -> Written:
    """Put servers into a file that only the user can read. One that is there with other settings is kept by default."""
    with _writing(path.resolve()):
        return _merge(path.resolve(), servers, replace=replace)


def remove_from_user_config(path: Path, name: str) -> bool:
    """Take a server out of the user's own file; whether it was there."""
    with _writing(path.resolve()):
        data, config, key = _read(path.resolve())
        if name not in config.get(key, {}):
            return False
        _back_up(path.resolve(), data)
        del config[key][name]
        _write(path.resolve(), _as_text(config))
        return True


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _alone_in(path.parent):
            yield
    except OSError as error:
        raise Unavailable(f"{path} cannot be written: {(error.strerror or str(error)).lower()}.") from error


def _read(path: Path) -> tuple[bytes, dict[str, Any], str]:
    """The file as it is, what is in it, and the key of its servers."""
    data = _bytes_of(path)
    config = parse_object(data, path) if data.strip() else {}
    key = next((each for each in _KEYS if each in config), _KEYS[0])
    if not isinstance(config.get(key, {}), dict):
        raise BadData(f"{key} in {path} must be an object with a server under each name. Mend it first.")
    return data, config, key


def _as_text(config: Mapping[str, Any]) -> bytes:
    return json.dumps(config, indent=2, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"


def _merge(path: Path, servers: Mapping[str, Mapping[str, Any]], *, replace: bool) -> Written:
    data, config, key = _read(path)
    known = config.get(key, {})
    added = tuple(name for name in servers if name not in known)
    same = tuple(name for name in servers if name in known and known[name] == servers[name])
    others = tuple(name for name in servers if name not in added and name not in same)
    changed = (*added, *others) if replace else added
    backup = None
    if changed:
        backup = _back_up(path, data)
        config[key] = known | {name: servers[name] for name in changed}
        _write(path, _as_text(config))
    return Written(added, same, others if replace else (), () if replace else others, backup)


def _bytes_of(path: Path) -> bytes:
    try:
        return read_bytes(path)
    except NotFound:
        return b""


def _back_up(path: Path, data: bytes) -> Path | None:
    """Keep the file as it was, if there are comments in it that would be lost."""
    try:
        json.loads(data or b"{}")
        return None
    except ValueError:
        backup = path.with_name(f"{path.name}.bak")
        _write(backup, data)
        return backup


def _write(path: Path, data: bytes) -> None:
    """All or nothing: readers see the old file or the new one."""
    new = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with os.fdopen(os.open(new, _NEW, 0o600), "wb") as file:
            os.fchmod(file.fileno(), 0o600)  # it may be left over from a process that died
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    finally:
        with suppress(FileNotFoundError):
            new.unlink()


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """While this lasts, no other process merges into a file of the folder."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield
    finally:
        os.close(opened)
