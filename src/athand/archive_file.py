"""The zip file of an archive: packed with the hashes of its files, unpacked with checks of names, sizes and hashes."""

import hashlib
import json
import lzma
import re
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from athand.distribution import upgrade_hint
from athand.errors import BadData, NotFound, StoreError
from athand.files import private_opener, replace_atomically

FORMAT = {"format": "athand-archive", "version": 1}
HEADER = "athand.json"
LARGEST = 20_000_000_000  # bytes, unpacked
_MOST_RATIO = 300  # unpacked to packed; beyond it is a zip bomb
_SMALL = 200_000_000
_PIECE = 1 << 20
_PART = r"[^/.\\:\0][^/\\:\0]{0,254}"
_NAMES = re.compile(
    rf"{re.escape(HEADER)}|(memories|tools|folders|rejections)\.jsonl|flows/{_PART}/{_PART}/(session\.json|steps/{_PART})"
)
_DAMAGE_ERRORS = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError),
    *(NotImplementedError, RuntimeError, ValueError, RecursionError),
)

Progress = Callable[[str, int, int], None]  # what, done, total


class ArchiveWriter:
    """Writes the files of an archive one after the other, and then their hashes into its header."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._hashes: dict[str, str] = {}

    def add(self, name: str, pieces: Iterable[bytes]) -> None:
        """Writes a file from its pieces."""
        digest = hashlib.sha256()
        with self._archive.open(name, "w", force_zip64=True) as file:
            for piece in pieces:
                digest.update(piece)
                file.write(piece)
        self._hashes[name] = digest.hexdigest()

    def add_header(self, counts: Mapping[str, Any]) -> None:
        """Writes the header, as the last file."""
        header = {**FORMAT, "created_at": datetime.now(UTC).isoformat(), "counts": counts, "files": self._hashes}
        self._archive.writestr(HEADER, json.dumps(header, ensure_ascii=False, indent=1))


@contextmanager
def create_archive(path: Path) -> Iterator[ArchiveWriter]:
    """A private archive to write, which takes the place of `path` when it is complete."""
    with replace_atomically(path) as unfinished, zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED) as archive:
        yield ArchiveWriter(archive)


def unpack(path: Path, folder: Path, progress: Progress) -> None:
    """Unpacks an archive into an empty folder and verifies each file."""
    if not path.is_file():
        raise NotFound(f"There is no archive {path}. Write one with: athand export PATH")
    try:
        with zipfile.ZipFile(path) as archive:
            _unpack(archive, folder, _read_header(archive, path), path, progress)
    except _DAMAGE_ERRORS as error:
        raise BadData(f"{path} is no archive of Athand, or damaged ({error}). Nothing was imported.") from error
    except OSError as error:
        raise StoreError(f"{path} cannot be unpacked: {error.strerror or error}. Nothing was imported.") from error


def _read_header(archive: zipfile.ZipFile, path: Path) -> Mapping[str, str]:
    """The hashes by file name in the archive's header."""
    if HEADER not in archive.namelist() or archive.getinfo(HEADER).file_size > _SMALL:
        raise BadData(f"{path} is no archive of Athand: it has no {HEADER}. Nothing was imported.")
    header = json.loads(archive.read(HEADER))
    if not isinstance(header, dict) or header.get("format") != FORMAT["format"]:
        raise BadData(f"{path} is no archive of Athand. Nothing was imported.")
    if header.get("version") != FORMAT["version"]:
        raise BadData(
            f"{path} is of version {header.get('version')}, this program reads {FORMAT['version']}. "
            f"Upgrade with: {upgrade_hint()}"
        )
    files = header.get("files")
    if not isinstance(files, dict):
        raise BadData(f"{path} does not say which files it has. Nothing was imported.")
    return files


def _unpack(
    archive: zipfile.ZipFile,
    folder: Path,
    hashes: Mapping[str, str],
    path: Path,
    progress: Progress,
) -> None:
    entries = [entry for entry in archive.infolist() if entry.filename != HEADER]
    names = [entry.filename for entry in entries]
    if sorted(names) != sorted(hashes) or not all(_NAMES.fullmatch(name) for name in names):
        raise BadData(f"{path} has files in it that it should not have, or lacks some. Nothing was imported.")
    if sum(entry.file_size for entry in entries) > _size_limit(path):
        raise BadData(f"{path} would take more room than an archive of its size may. Nothing was imported.")
    for at, entry in enumerate(entries):
        with archive.open(entry) as source:
            found = _copy(source, folder / entry.filename, entry.file_size)
        if found != hashes[entry.filename]:
            raise BadData(f"{entry.filename} in {path} is not what was written. Nothing was imported.")
        progress("unpacking", at + 1, len(entries))


def _size_limit(path: Path) -> int:
    return min(LARGEST, max(_SMALL, _MOST_RATIO * path.stat().st_size))


def _copy(source: IO[bytes], target: Path, size: int) -> str:
    """Writes a private file of at most `size` bytes; returns its hash."""
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    digest = hashlib.sha256()
    left = size
    with open(target, "xb", opener=private_opener) as file:
        while piece := source.read(min(_PIECE, left + 1)):
            left -= len(piece)
            if left < 0:
                raise BadData(f"{target.name} is larger than the archive says. Nothing was imported.")
            digest.update(piece)
            file.write(piece)
    return digest.hexdigest()
