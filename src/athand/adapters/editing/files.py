"""Writing over a file: readers see the old one or the new one, and who may read it stays as it was."""

import os
import shlex
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from athand.errors import Conflict, Unavailable

PRIVATE = 0o600


def real_place(path: Path, inside: Path | None = None) -> Path:
    """The file behind any links. A project's file may not lead out of the project: what is there is not its own."""
    place = path.expanduser().resolve()
    if inside is not None and not place.is_relative_to(inside.resolve()):
        raise Conflict(f"{path} is a link to {place}, which is outside of {inside}. Nothing was written.")
    return place


def replace_file(place: Path, data: bytes, *, instead_of: bytes | None, mode: int | None = None) -> None:
    """Write the file at once, if it still is what was read before (None: not there).

    Who may read it stays as it was, unless a mode is given.
    """
    with _in_words(place):
        _check(place)
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, unfinished = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                os.fchmod(file.fileno(), mode_of(place) if mode is None else mode)
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            if (place.read_bytes() if place.exists() else None) != instead_of:
                raise Conflict(f"{place} has just been changed by another program. Nothing was written; try again.")
            Path(unfinished).replace(place)
        finally:
            Path(unfinished).unlink(missing_ok=True)


def _check(place: Path) -> None:
    if place.exists() and not place.is_file():
        raise Unavailable(f"{place} is no file. Nothing was written.")
    if not mode_of(place) & stat.S_IWUSR:
        allow = f"chmod u+w {shlex.quote(str(place))}"
        raise Unavailable(f"{place} is read-only. Nothing was written. Allow it with: {allow}")


def back_up(place: Path, data: bytes, now: datetime) -> Path:
    """Keep what is in a file beside it, for the same eyes."""
    backup = place.with_name(f"{place.name}.athand-backup-{now:%Y%m%dT%H%M%S.%f}")
    with _in_words(backup):
        handle = os.open(backup, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, PRIVATE)
        with os.fdopen(handle, "wb") as file:
            os.fchmod(file.fileno(), mode_of(place))
            file.write(data)
    return backup


def mode_of(place: Path) -> int:
    """Who may read and write a file; a new one is its owner's."""
    return stat.S_IMODE(place.stat().st_mode) if place.exists() else PRIVATE


@contextmanager
def _in_words(place: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise Unavailable(f"{place} cannot be written: {(error.strerror or str(error)).lower()}.") from error
