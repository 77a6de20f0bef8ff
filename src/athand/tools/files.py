"""Reading files that others wrote: of a bounded size, never a pipe, JSON with comments and trailing commas too."""

import json
import os
import re
import stat
from pathlib import Path
from typing import Any

from athand.errors import BadData, NotFound

LARGEST = 4_000_000
_STRING = r'"(?:[^"\\]|\\.)*+"?'
_COMMENTS = re.compile(rf"({_STRING})|//[^\n]*+|/\*.*?(?:\*/|\Z)", re.DOTALL)
_LAST_COMMAS = re.compile(rf"({_STRING})|,(?=\s*+[\]}}])", re.DOTALL)


def read_bytes(path: Path, most: int = LARGEST) -> bytes:
    """All of a regular file; NotFound while there is none, BadData if it cannot be read."""
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise BadData(f"{path} is not a regular file. Give the path of a configuration file.")
            data = file.read(most + 1)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NotFound(f"There is no file {path}. Check the path.") from error
    except (OSError, ValueError) as error:
        raise BadData(f"{path} cannot be read: {_reason(error)}.") from error
    if len(data) > most:
        raise BadData(f"{path} is larger than {most // 1_000_000} MB. A configuration file is much smaller.")
    return data


def _without_waiting(path: str, flags: int) -> int:
    """Opening a pipe must not wait for somebody to write."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def to_text(data: bytes, path: Path) -> str:
    """Bytes as text; a byte order mark is left out."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadData(f"{path} is not UTF-8 at byte {error.start}. Save it as UTF-8.") from error


def parse_object(data: bytes, path: Path) -> dict[str, Any]:
    """A JSON object; comments and commas before a closing bracket are allowed."""
    text = to_text(data, path)
    try:
        value = _parsed(text)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise BadData(f"{path} is not JSON at {place}: {error.msg}. Mend it there.") from error
    except (ValueError, RecursionError) as error:
        raise BadData(f"{path} cannot be read as JSON: {error}.") from error
    if not isinstance(value, dict):
        raise BadData(f"{path} must hold a JSON object, not {type(value).__name__}.")
    return value


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return json.loads(_LAST_COMMAS.sub(_blank, _COMMENTS.sub(_blank, text)))


def _blank(found: re.Match[str]) -> str:
    """Strings stay; the rest becomes space, so that places in error messages stay right."""
    return found[1] or re.sub(r"[^\n]", " ", found[0])


def _reason(error: OSError | ValueError) -> str:
    strerror = error.strerror if isinstance(error, OSError) else None
    return (strerror or str(error)).lower()
