"""Documents that are zip archives: unpacked in pieces, within limits, whatever the archive says of itself."""

import zipfile
import zlib
from collections.abc import Iterator
from io import BytesIO
from struct import error as StructError

from athand.documents.extract import Unreadable

MOST_ENTRIES = 20_000
MOST_OF_ONE = 200_000_000
MOST_OF_ALL = 400_000_000
MOST_RATIO = 300
SUSPICIOUS = 10_000_000
_PIECE = 65_536
_OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    OSError,
    ValueError,
    StructError,
    NotImplementedError,
    RuntimeError,
)


class Package:
    """The parts of a zip archive, by name."""

    def __init__(self, data: bytes) -> None:
        if data.startswith(_OLD_OFFICE):
            raise Unreadable("encrypted, or in the old binary format of Office")
        try:
            self._zip = zipfile.ZipFile(BytesIO(data))
        except _DAMAGE as error:
            raise Unreadable("damaged: it is not a whole zip archive, as such a document must be") from error
        entries = self._zip.infolist()
        if len(entries) > MOST_ENTRIES:
            raise Unreadable(f"it has {len(entries):,} parts, more than {MOST_ENTRIES:,}")
        self._entries = {entry.filename.lstrip("/"): entry for entry in entries}
        self._unpacked = 0

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def names(self) -> list[str]:
        return list(self._entries)

    def pieces(self, name: str) -> Iterator[bytes]:
        """The bytes of a part, piece by piece; counted as they come, since a declared size can lie."""
        entry = self._entries.get(name)
        if entry is None:
            raise Unreadable(f"damaged: it has no part {name[:100]}")
        if entry.flag_bits & 1:
            raise Unreadable("encrypted: it needs a password")
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise Unreadable("packed in a way that is not supported")
        size = 0
        for piece in self._raw(entry):
            size += len(piece)
            self._check(size, len(piece), entry.compress_size)
            yield piece

    def read(self, name: str) -> bytes:
        """A whole part."""
        return b"".join(self.pieces(name))

    def _raw(self, entry: zipfile.ZipInfo) -> Iterator[bytes]:
        try:
            with self._zip.open(entry) as stream:
                while piece := stream.read(_PIECE):
                    yield piece
        except _DAMAGE as error:
            raise Unreadable(f"damaged: its part {entry.filename[:100]} cannot be unpacked") from error

    def _check(self, size: int, more: int, packed: int) -> None:
        self._unpacked += more
        if size > MOST_OF_ONE:
            raise Unreadable(f"one part of it unpacks to more than {MOST_OF_ONE // 1_000_000} MB")
        if self._unpacked > MOST_OF_ALL:
            raise Unreadable(f"it unpacks to more than {MOST_OF_ALL // 1_000_000} MB")
        if size > SUSPICIOUS and size > MOST_RATIO * max(packed, 1):
            raise Unreadable(f"it unpacks to more than {MOST_RATIO} times its size, as a zip bomb does")
