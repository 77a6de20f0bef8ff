"""Replaces a file atomically and backs it up; its permissions stay."""

import os
import shlex
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from athand.errors import Conflict, Unavailable
from athand.files import PRIVATE, flush, private_opener, replace_atomically


def resolve_file(path: Path, inside: Path | None = None) -> Path:
    """The file behind any links; Conflict if it is not `inside`, for a project must not change files elsewhere."""
    place = path.expanduser().resolve()
    if inside is not None and not place.is_relative_to(inside.resolve()):
        raise Conflict(f"{path} is a link to {place}, which is outside of {inside}. Nothing was written.")
    return place


def replace_file(place: Path, data: bytes, *, instead_of: bytes | None, mode: int | None = None) -> None:
    """Replace a file atomically, if it still has the content `instead_of` (None: it does not exist).

    Its permissions stay, unless a mode is given.
    """
    with _explain_errors(place):
        _check_writable(place)
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with replace_atomically(place, mode=mode_of(place) if mode is None else mode) as file:
            file.write(data)
            flush(file)
            if (place.read_bytes() if place.exists() else None) != instead_of:
                raise Conflict(f"{place} has just been changed by another program. Nothing was written; try again.")


def _check_writable(place: Path) -> None:
    if place.exists() and not place.is_file():
        raise Unavailable(f"{place} is no file. Nothing was written.")
    if not mode_of(place) & stat.S_IWUSR:
        allow = f"chmod u+w {shlex.quote(str(place))}"
        raise Unavailable(f"{place} is read-only. Nothing was written. Allow it with: {allow}")


def back_up(place: Path, data: bytes, now: datetime) -> Path:
    """Write a copy of a file's data beside it, with the same permissions; returns its path."""
    backup = place.with_name(f"{place.name}.athand-backup-{now:%Y%m%dT%H%M%S.%f}")
    with _explain_errors(backup), open(backup, "xb", opener=private_opener) as file:
        os.fchmod(file.fileno(), mode_of(place))
        file.write(data)
    return backup


def mode_of(place: Path) -> int:
    """The permissions of a file; only its owner may read and write a new one."""
    return stat.S_IMODE(place.stat().st_mode) if place.exists() else PRIVATE


@contextmanager
def _explain_errors(place: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise Unavailable(f"{place} cannot be written: {(error.strerror or str(error)).lower()}.") from error
