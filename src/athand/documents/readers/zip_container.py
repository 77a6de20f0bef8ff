"""Zip containers of Office, EPUB and ODF files: decompressed within limits, and the relations between Office parts."""

import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from posixpath import dirname, join, normpath
from struct import error as StructError
from urllib.parse import unquote

from athand.documents.extract import UnreadableFile
from athand.documents.readers.xml import iterate_elements

MAX_ENTRIES = 20_000
MAX_PART_BYTES = 200_000_000
MAX_TOTAL_BYTES = 400_000_000
MAX_RATIO = 300
MIN_RATIO_BYTES = 10_000_000
_PIECE_BYTES = 65_536
_OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_DAMAGE_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    OSError,
    ValueError,
    StructError,
    NotImplementedError,
    RuntimeError,
)


class ZipContainer:
    """The parts of a zip archive, by name."""

    def __init__(self, data: bytes) -> None:
        if data.startswith(_OLD_OFFICE):
            raise UnreadableFile("encrypted, or in the old binary format of Office")
        try:
            self._zip = zipfile.ZipFile(BytesIO(data))
        except _DAMAGE_ERRORS as error:
            raise UnreadableFile("damaged: it is not a whole zip archive, as such a document must be") from error
        entries = self._zip.infolist()
        if len(entries) > MAX_ENTRIES:
            raise UnreadableFile(f"it has {len(entries):,} parts, more than {MAX_ENTRIES:,}")
        self._entries = {entry.filename.lstrip("/"): entry for entry in entries}
        self._unpacked = 0

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def names(self) -> list[str]:
        return list(self._entries)

    def read_pieces(self, name: str) -> Iterator[bytes]:
        """The bytes of a part in pieces, counted during decompression, since declared sizes can lie."""
        entry = self._entries.get(name)
        if entry is None:
            raise UnreadableFile(f"damaged: it has no part {name[:100]}")
        if entry.flag_bits & 1:
            raise UnreadableFile("encrypted: it needs a password")
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise UnreadableFile("packed in a way that is not supported")
        size = 0
        for piece in self._decompress(entry):
            size += len(piece)
            self._check_limits(size, len(piece), entry.compress_size)
            yield piece

    def read(self, name: str) -> bytes:
        """The bytes of a whole part."""
        return b"".join(self.read_pieces(name))

    def _decompress(self, entry: zipfile.ZipInfo) -> Iterator[bytes]:
        try:
            with self._zip.open(entry) as stream:
                while piece := stream.read(_PIECE_BYTES):
                    yield piece
        except _DAMAGE_ERRORS as error:
            raise UnreadableFile(f"damaged: its part {entry.filename[:100]} cannot be unpacked") from error

    def _check_limits(self, size: int, added: int, compressed: int) -> None:
        self._unpacked += added
        if size > MAX_PART_BYTES:
            raise UnreadableFile(f"one part of it unpacks to more than {MAX_PART_BYTES // 1_000_000} MB")
        if self._unpacked > MAX_TOTAL_BYTES:
            raise UnreadableFile(f"it unpacks to more than {MAX_TOTAL_BYTES // 1_000_000} MB")
        if size > MIN_RATIO_BYTES and size > MAX_RATIO * max(compressed, 1):
            raise UnreadableFile(f"it unpacks to more than {MAX_RATIO} times its size, as a zip bomb does")


@dataclass(frozen=True, slots=True)
class PartRelation:
    """A relation to another part: its kind (`worksheet`, `notesSlide`) and the name of that part."""

    kind: str
    target: str


def read_relations(container: ZipContainer, part: str) -> dict[str, PartRelation]:
    """The relations of a part by id, without external ones."""
    folder, _, name = part.rpartition("/")
    relations_part = f"{folder}/_rels/{name}.rels".lstrip("/")
    if relations_part not in container:
        return {}
    nodes = iterate_elements(container.read_pieces(relations_part), ("Relationship",))
    return {
        node.get("Id"): PartRelation(node.get("Type").rpartition("/")[2], resolve_target(part, node.get("Target")))
        for node in nodes
        if node.get("TargetMode") != "External"
    }


def resolve_target(base: str, target: str) -> str:
    """The name of a part from a relative target in another part."""
    target = unquote(target.partition("#")[0])
    return normpath(join("/", dirname(base), target)).lstrip("/")


def find_main_part(container: ZipContainer, usual: str) -> str:
    """The name of the main document part."""
    nodes = (each.target for each in read_relations(container, "").values() if each.kind == "officeDocument")
    name = next(nodes, usual)
    if name not in container:
        raise UnreadableFile(f"damaged: it has no part {usual}")
    return name


def read_title(container: ZipContainer) -> str:
    """The title in the core properties of an Office document."""
    part = "docProps/core.xml"
    nodes = iterate_elements(container.read_pieces(part), ("title",)) if part in container else iter(())
    return next((node.text() for node in nodes), "")
