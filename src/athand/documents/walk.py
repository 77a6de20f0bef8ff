"""Directory walk with openat + O_NOFOLLOW: neither symlinks nor races leave the root.

Every entry is opened relative to an open directory descriptor; a directory that is swapped for a link during the walk
causes an error.
"""

import errno
import os
import stat
import unicodedata
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from athand.cancellation import until_cancelled
from athand.documents.extract import FileKind, UnreadableFile
from athand.documents.gitignore import IGNORE_FILES, IgnoreRules, is_always_ignored
from athand.documents.readers.kinds import RICH, detect_kind, is_binary_name, is_lock_file, is_secret_name
from athand.errors import NotFound, Unavailable

MAX_TEXT_BYTES, MAX_RICH_BYTES = 10_000_000, 64_000_000
MAX_DEPTH = 64
_MAX_RULES_BYTES = 200_000
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
_DIRECTORY = _FLAGS | os.O_DIRECTORY
_FILE = _FLAGS | os.O_NONBLOCK  # opening a pipe must not block


@dataclass(frozen=True, slots=True)
class FileStamp:
    """Size and times of a file: while size and modification time are equal, its content counts as unchanged."""

    size: int
    modified_ns: int
    changed_ns: int = field(default=0, compare=False)  # ctime: also changes with permissions
    is_torn: bool = field(default=False, compare=False)  # it was written to during reading

    def __str__(self) -> str:
        return f"{self.size}:{self.modified_ns}"

    @property
    def with_change_time(self) -> str:
        """The stamp of a file that could not be read: with ctime, since permissions may change."""
        return f"{self}:{self.changed_ns}"


class UnreachableFile(UnreadableFile):
    """A file cannot be reached now; it is tried again although its stamp is unchanged."""


@dataclass(slots=True)
class FolderListing:
    """The result of a walk: files to index, counts of skipped ones, and problems."""

    files: dict[str, FileStamp] = field(default_factory=dict)
    skipped: Counter[str] = field(default_factory=Counter)
    problems: dict[str, str] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)  # directories and files that could not be listed
    store_path: str = ""  # relative path of the store, if it lies in the folder
    parent_names: str = ""  # names of the root and its parent (`.ssh/`), to recognise secret files by path
    is_empty: bool = False  # the root has no entries at all

    def is_unread(self, path: str) -> bool:
        """Whether a path lies in what could not be listed, so that the file may still exist."""
        return any(path.startswith(each) if each.endswith("/") or not each else path == each for each in self.unread)


@contextmanager
def open_root(root: str) -> Iterator[int]:
    """Opens the root directory; Unavailable while it does not exist."""
    try:
        directory = os.open(root, _DIRECTORY)  # the real path was stored: a link here would be another folder
    except OSError as error:
        raise Unavailable(f"{root}: {_to_unreadable(error)}.") from error
    try:
        yield directory
    finally:
        os.close(directory)


def walk_folder(root: int, store_path: str = "", parent_names: str = "") -> FolderListing:
    """Lists an open folder recursively, without ignored files and without the store itself."""
    listing = FolderListing(store_path=store_path, parent_names=parent_names)
    _scan_directory(root, "", IgnoreRules(), listing, 0)
    return listing


def is_store_file(path: str, store: str) -> bool:
    """Whether a path is the store or one of its companion files (`-wal`, `-shm`, …)."""
    return bool(store) and path.startswith(store) and path[len(store) : len(store) + 1] in ("", "-")


def read_file(root: int, path: str) -> tuple[bytes, FileStamp]:
    """The bytes of a file in an open folder, and its stamp at that time."""
    with _open_beneath(root, path) as file:
        before = os.fstat(file)
        if not stat.S_ISREG(before.st_mode):
            raise UnreadableFile("not a regular file")
        max_size = _max_size(detect_kind(path))
        data = _read_up_to(file, max_size + 1)
        if len(data) > max_size:
            raise UnreadableFile(_size_message(max_size))
        after = os.fstat(file)
        is_torn = (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns)
        return data, FileStamp(len(data), -1 if is_torn else after.st_mtime_ns, after.st_ctime_ns, is_torn)


@contextmanager
def _open_beneath(root: int, path: str) -> Iterator[int]:
    """Opens a relative path component by component, without following links."""
    *directories, name = path.split("/")
    descriptor = os.dup(root)
    try:
        for each in directories:
            descriptor = _open_entry(descriptor, each, _DIRECTORY)
        descriptor = _open_entry(descriptor, name, _FILE)
        yield descriptor
    except OSError as error:
        raise _to_unreadable(error) from error
    finally:
        os.close(descriptor)


def _open_entry(directory: int, name: str, flags: int) -> int:
    """Opens an entry of a directory descriptor and closes the directory."""
    if name in ("", ".", ".."):
        raise NotFound(f"{name!r} is not a name in a folder.")
    entry = os.open(name, flags, dir_fd=directory)
    os.close(directory)
    return entry


def _read_up_to(file: int, max_size: int) -> bytes:
    pieces = []
    while max_size > 0 and (piece := os.read(file, min(max_size, 1 << 20))):
        pieces.append(piece)
        max_size -= len(piece)
    return b"".join(pieces)


def _scan_directory(directory: int, prefix: str, rules: IgnoreRules, listing: FolderListing, depth: int) -> None:
    try:
        with os.scandir(directory) as listed:
            entries = sorted(listed, key=lambda entry: entry.name)
    except OSError as error:
        listing.problems[prefix] = str(_to_unreadable(error))
        listing.unread.append(prefix)
        return
    names = {entry.name for entry in entries}
    listing.is_empty = listing.is_empty or (not prefix and not names)
    rules = rules.extend_with(prefix, (_read_ignore_file(directory, name) for name in IGNORE_FILES if name in names))
    if prefix and "pyvenv.cfg" in names:
        listing.skipped["virtual environments"] += 1
        return
    for entry in until_cancelled(entries):
        _scan_entry(entry, directory, prefix, rules, listing, depth)


def _scan_entry(
    entry: "os.DirEntry[str]", directory: int, prefix: str, rules: IgnoreRules, listing: FolderListing, depth: int
) -> None:
    path = prefix + entry.name
    if is_store_file(path, listing.store_path):
        return
    try:
        info = entry.stat(follow_symlinks=False)
    except OSError as error:
        _note_error(path, error, listing)
        return
    if stat.S_ISDIR(info.st_mode):
        _enter_directory(entry.name, directory, path + "/", rules, listing, depth)
    elif rules.ignores(path):
        listing.skipped["ignored"] += 1
    else:
        _note_file(path, info, listing)


def _enter_directory(
    name: str, directory: int, path: str, rules: IgnoreRules, listing: FolderListing, depth: int
) -> None:
    if is_always_ignored(name) or rules.ignores(path):
        listing.skipped["ignored"] += 1
        return
    if depth == MAX_DEPTH or not _is_printable(name):
        listing.problems[_printable_path(path)] = (
            f"more than {MAX_DEPTH} directories deep" if _is_printable(name) else _ODD_NAME
        )
        return
    try:
        below = os.open(name, _DIRECTORY, dir_fd=directory)
    except OSError as error:
        _note_error(path, error, listing)
        return
    try:
        _scan_directory(below, path, rules, listing, depth + 1)
    finally:
        os.close(below)


def _note_error(path: str, error: OSError, listing: FolderListing) -> None:
    """Records an entry that cannot be accessed; one that has disappeared is no problem."""
    if error.errno != errno.ENOENT:
        listing.problems[_printable_path(path)] = str(_to_unreadable(error))
        listing.unread.append(path)


def _note_file(path: str, info: os.stat_result, listing: FolderListing) -> None:
    """Records a file that is not ignored: to be indexed, skipped, or a problem."""
    name = path.rpartition("/")[2]
    reason = _refusal_reason(f"{listing.parent_names}{path}", name, info)
    if reason:
        listing.problems[_printable_path(path)] = reason
    elif is_binary_name(name) or is_lock_file(name):
        listing.skipped["lock files" if is_lock_file(name) else "binary"] += 1
    elif info.st_size > _max_size(detect_kind(path)):
        listing.skipped["too large"] += 1
        listing.problems[_printable_path(path)] = _size_message(_max_size(detect_kind(path)))
    else:
        listing.files[path] = FileStamp(info.st_size, info.st_mtime_ns, info.st_ctime_ns)


def _refusal_reason(path: str, name: str, info: os.stat_result) -> str:
    if not _is_printable(name):
        return _ODD_NAME
    if stat.S_ISLNK(info.st_mode):
        return "a symbolic link: links are not followed"
    if not stat.S_ISREG(info.st_mode):
        return "not a regular file"
    if is_secret_name(path):
        return "quarantined: its name says that it holds secrets"
    return ""


_ODD_NAME = "its name has characters that cannot be shown"


def _is_printable(name: str) -> bool:
    """Whether a name is valid text without control characters, including those beyond ASCII (C1, line separators)."""
    return name.isprintable() or not any(unicodedata.category(each) in ("Cc", "Cs", "Zl", "Zp") for each in name)


def _printable_path(path: str) -> str:
    """A path with control characters and invalid text escaped."""
    return path if _is_printable(path) else path.encode("unicode_escape", "backslashreplace").decode("ascii")


def _max_size(kind: FileKind | None) -> int:
    return MAX_RICH_BYTES if kind is not None and kind.name in RICH else MAX_TEXT_BYTES


def _size_message(max_size: int) -> str:
    return f"larger than {max_size // 1_000_000} MB"


def _read_ignore_file(directory: int, name: str) -> str:
    try:
        with _open_beneath(directory, name) as file:
            if not stat.S_ISREG(os.fstat(file).st_mode):
                return ""
            return _read_up_to(file, _MAX_RULES_BYTES).decode("utf-8-sig", "surrogateescape")
    except UnreadableFile:
        return ""


def _to_unreadable(error: OSError) -> UnreadableFile:
    if error.errno in (errno.ELOOP, errno.ENOTDIR):  # a link in place of a file or directory
        return UnreachableFile("a symbolic link: links are not followed")
    kind = UnreadableFile if error.errno in (errno.EACCES, errno.EPERM) else UnreachableFile
    return kind(f"cannot be opened: {(error.strerror or str(error)).lower()}")
