"""Going through a folder without ever leaving it.

Every step is taken from an open directory to a name in it, never following a link: whoever swaps a directory for a
link while we walk gets an error, not a file from elsewhere.
"""

import errno
import os
import stat
import unicodedata
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from athand.documents.extract import Kind, Unreadable
from athand.documents.ignoring import RULE_FILES, Rules, is_left_alone
from athand.documents.readers import is_binary_name, is_lock_file, is_secret_name, kind_of
from athand.documents.readers.kinds import RICH
from athand.errors import NotFound, Unavailable

LARGEST_TEXT, LARGEST_RICH = 10_000_000, 64_000_000
DEEPEST = 64
_LARGEST_RULES = 200_000
_AT = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
_DIRECTORY = _AT | os.O_DIRECTORY
_FILE = _AT | os.O_NONBLOCK  # opening a pipe must not wait for somebody to write


@dataclass(frozen=True, slots=True)
class Stamp:
    """How a file looked from outside: while size and time stay the same, so does what is in it."""

    size: int
    modified_ns: int
    changed_ns: int = field(default=0, compare=False)  # when anything about it changed, permissions too
    is_torn: bool = field(default=False, compare=False)  # it was written to while it was read

    def __str__(self) -> str:
        return f"{self.size}:{self.modified_ns}"

    @property
    def in_full(self) -> str:
        """Changes too when a file that could not be read may be readable now."""
        return f"{self}:{self.changed_ns}"


class Unreachable(Unreadable):
    """A file cannot be reached now; another time it may be, though it looks the same."""


@dataclass(slots=True)
class Walk:
    """What there is in a folder: files to read, how many were passed over, and what is wrong with the others."""

    files: dict[str, Stamp] = field(default_factory=dict)
    skipped: Counter[str] = field(default_factory=Counter)
    problems: dict[str, str] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)  # directories whose files are not known
    own: str = ""  # the path of the store, if that lies in the folder
    above: str = ""  # the names of the folder and of what it is in, which may say that all in it is secret
    is_empty: bool = False  # there is not even a name in it

    def is_unread(self, path: str) -> bool:
        """Whether a file may still be there although it was not seen."""
        return any(path.startswith(each) if each.endswith("/") or not each else path == each for each in self.unread)


@contextmanager
def opened(root: str) -> Iterator[int]:
    """The folder, open; Unavailable while it is not there."""
    try:
        directory = os.open(root, _DIRECTORY)  # its real path was kept: if this is a link now, it is another folder
    except OSError as error:
        raise Unavailable(f"{root}: {_reason(error)}.") from error
    try:
        yield directory
    finally:
        os.close(directory)


def walk(root: int, own: str = "", above: str = "") -> Walk:
    """Look at everything in an open folder but the files of our `own` store, where one lies in it."""
    found = Walk(own=own, above=above)
    _look_into(root, "", Rules(), found, 0)
    return found


def is_own(path: str, store: str) -> bool:
    """Whether a path is the store, or one of the files that it keeps beside it."""
    return bool(store) and path.startswith(store) and path[len(store) : len(store) + 1] in ("", "-")


def read_file(root: int, path: str) -> tuple[bytes, Stamp]:
    """The bytes of a file in an open folder and how it looked then."""
    with _step_by_step(root, path) as file:
        before = os.fstat(file)
        if not stat.S_ISREG(before.st_mode):
            raise Unreadable("not a regular file")
        most = _largest(kind_of(path))
        data = _all_of(file, most + 1)
        if len(data) > most:
            raise Unreadable(_too_large(most))
        after = os.fstat(file)
        is_torn = (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns)
        return data, Stamp(len(data), -1 if is_torn else after.st_mtime_ns, after.st_ctime_ns, is_torn)


@contextmanager
def _step_by_step(root: int, path: str) -> Iterator[int]:
    """The file, opened from directory to directory."""
    *directories, name = path.split("/")
    at = os.dup(root)
    try:
        for each in directories:
            at = _moved(at, each, _DIRECTORY)
        at = _moved(at, name, _FILE)
        yield at
    except OSError as error:
        raise _reason(error) from error
    finally:
        os.close(at)


def _moved(directory: int, name: str, flags: int) -> int:
    """What lies one step further, in place of where we were."""
    if name in ("", ".", ".."):
        raise NotFound(f"{name!r} is not a name in a folder.")
    further = os.open(name, flags, dir_fd=directory)
    os.close(directory)
    return further


def _all_of(file: int, most: int) -> bytes:
    pieces = []
    while most > 0 and (piece := os.read(file, min(most, 1 << 20))):
        pieces.append(piece)
        most -= len(piece)
    return b"".join(pieces)


def _look_into(directory: int, prefix: str, rules: Rules, found: Walk, depth: int) -> None:
    try:
        with os.scandir(directory) as listed:
            entries = sorted(listed, key=lambda entry: entry.name)
    except OSError as error:
        found.problems[prefix] = str(_reason(error))
        found.unread.append(prefix)
        return
    names = {entry.name for entry in entries}
    found.is_empty = found.is_empty or (not prefix and not names)
    rules = rules.within(prefix, (_rules(directory, name) for name in RULE_FILES if name in names))
    if prefix and "pyvenv.cfg" in names:
        found.skipped["virtual environments"] += 1
        return
    for entry in entries:
        _look_at(entry, directory, prefix, rules, found, depth)


def _look_at(entry: "os.DirEntry[str]", directory: int, prefix: str, rules: Rules, found: Walk, depth: int) -> None:
    path = prefix + entry.name
    if is_own(path, found.own):
        return
    try:
        looks = entry.stat(follow_symlinks=False)
    except OSError as error:
        _not_seen(path, error, found)
        return
    if stat.S_ISDIR(looks.st_mode):
        _descend(entry.name, directory, path + "/", rules, found, depth)
    elif rules.ignores(path):
        found.skipped["ignored"] += 1
    else:
        _note(path, looks, found)


def _descend(name: str, directory: int, path: str, rules: Rules, found: Walk, depth: int) -> None:
    if is_left_alone(name) or rules.ignores(path):
        found.skipped["ignored"] += 1
        return
    if depth == DEEPEST or not _is_plain(name):
        found.problems[_shown(path)] = f"more than {DEEPEST} directories deep" if _is_plain(name) else _ODD_NAME
        return
    try:
        below = os.open(name, _DIRECTORY, dir_fd=directory)
    except OSError as error:
        _not_seen(path, error, found)
        return
    try:
        _look_into(below, path, rules, found, depth + 1)
    finally:
        os.close(below)


def _not_seen(path: str, error: OSError, found: Walk) -> None:
    """What was there a moment ago: gone, or not to be looked at."""
    if error.errno != errno.ENOENT:
        found.problems[_shown(path)] = str(_reason(error))
        found.unread.append(path)


def _note(path: str, looks: os.stat_result, found: Walk) -> None:
    """A file that is not ignored: to be read, passed over, or a problem."""
    name = path.rpartition("/")[2]
    reason = _wrong_with(f"{found.above}{path}", name, looks)
    if reason:
        found.problems[_shown(path)] = reason
    elif is_binary_name(name) or is_lock_file(name):
        found.skipped["lock files" if is_lock_file(name) else "binary"] += 1
    elif looks.st_size > _largest(kind_of(path)):
        found.skipped["too large"] += 1
        found.problems[_shown(path)] = _too_large(_largest(kind_of(path)))
    else:
        found.files[path] = Stamp(looks.st_size, looks.st_mtime_ns, looks.st_ctime_ns)


def _wrong_with(path: str, name: str, looks: os.stat_result) -> str:
    if not _is_plain(name):
        return _ODD_NAME
    if stat.S_ISLNK(looks.st_mode):
        return "a symbolic link: links are not followed"
    if not stat.S_ISREG(looks.st_mode):
        return "not a regular file"
    if is_secret_name(path):
        return "quarantined: its name says that it holds secrets"
    return ""


_ODD_NAME = "its name has characters that cannot be shown"


def _is_plain(name: str) -> bool:
    """Whether a name is valid text without control characters; some terminals obey those beyond ASCII too."""
    return name.isprintable() or not any(unicodedata.category(each) in ("Cc", "Cs", "Zl", "Zp") for each in name)


def _shown(path: str) -> str:
    """A path that can be printed, whatever is in it."""
    return path if _is_plain(path) else path.encode("unicode_escape", "backslashreplace").decode("ascii")


def _largest(kind: Kind | None) -> int:
    return LARGEST_RICH if kind is not None and kind.name in RICH else LARGEST_TEXT


def _too_large(most: int) -> str:
    return f"larger than {most // 1_000_000} MB"


def _rules(directory: int, name: str) -> str:
    try:
        with _step_by_step(directory, name) as file:
            if not stat.S_ISREG(os.fstat(file).st_mode):
                return ""
            return _all_of(file, _LARGEST_RULES).decode("utf-8-sig", "surrogateescape")
    except Unreadable:
        return ""


def _reason(error: OSError) -> Unreadable:
    if error.errno in (errno.ELOOP, errno.ENOTDIR):  # a link, where a file or directory had been
        return Unreachable("a symbolic link: links are not followed")
    kind = Unreadable if error.errno in (errno.EACCES, errno.EPERM) else Unreachable
    return kind(f"cannot be opened: {(error.strerror or str(error)).lower()}")
