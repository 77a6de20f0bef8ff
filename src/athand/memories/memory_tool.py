"""Memories as files: the six commands of Anthropic's memory tool (`memory_20250818`) over one project.

A file is a memory with the tag `memory-file` and its path in `files`; each edit is a new memory that supersedes it. A
path is only a name, nothing touches the disk. Answers and errors have the wording that Anthropic documents, because the
model knows it.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from inspect import signature
from itertools import accumulate, islice
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from athand.corpus import AnyCorpus
from athand.errors import Conflict, InvalidInput, NotFound
from athand.inputs import check_choice, check_name
from athand.memories import relations, rows, write
from athand.memories.filters import and_, build_filter
from athand.memories.model import FILE_TAG, GLOBAL_SPACE, Memory, to_passage
from athand.memories.validation import check_project, new_memory
from athand.memories.write import index
from athand.redaction import clean
from athand.store import Snapshot, one_of
from athand.types import Filter

ROOT = "/memories"
# A memory needs some text. The tag tells an empty file from one with just these words.
EMPTY_TAG = "empty-file"
EMPTY_TEXT = "(empty file)"
# The fields that a new version of a file takes over; the summary would be about the old text.
_KEPT = "tier session memory_type importance pinned tags concepts author context valid_until".split()
_COMMANDS = ("view", "create", "str_replace", "insert", "delete", "rename")
_INVALID_PATH = re.compile(r"/\.{0,2}(/|$)|\\|%[0-9A-Fa-f]{2}")
_HIDDEN = re.compile(r"(^|/)(\.|node_modules(/|$))")
# Not by time alone: the clocks of two computers differ, and a superseded file would be back for that long.
_IS_CURRENT = (
    "i.is_deleted = 0 AND (i.valid_until IS NULL OR i.valid_until > :now) AND i.id NOT IN (SELECT target_id FROM "
    f"memory_relations WHERE space IN (:project, '{GLOBAL_SPACE}') AND type = 'SUPERSEDES' AND valid_until IS NULL)"
)


class _Version(NamedTuple):
    """A text to write, its path, and the path of the file that it supersedes."""

    old: str
    path: str
    text: str


@dataclass(frozen=True, slots=True)
class _Tree:
    """The files at some paths, below and above them.

    After an undo several memories may have the same path: the one changed last is the file and comes first, the next
    edit supersedes them all.
    """

    paths: tuple[str, ...]
    files: Mapping[str, list[Memory]]

    def paths_in(self, path: str) -> list[str]:
        """The file itself, or those in the directory."""
        return sorted(each for each in self.files if each == path or each.startswith(f"{path}/"))

    def is_directory(self, path: str) -> bool:
        return path == ROOT or any(each != path for each in self.paths_in(path))

    def text(self, path: str) -> str:
        return _text_of(self.files[path][0])

    def require_text(self, path: str, message: str) -> str:
        """The text of a file that must be there."""
        if path not in self.files:
            raise NotFound(message)
        return self.text(path)

    def refuse_file_above(self, path: str) -> None:
        for above in map(str, PurePosixPath(path).parents):
            if above in self.files:
                raise Conflict(f"Error: {above} is a file, so there cannot be a {path}")

    def has_same_content(self, other: "_Tree") -> bool:
        """Whether nothing was written in between; recalls and pins do not count."""
        mine, theirs = (
            {(path, each.id, each.content) for path, file in tree.files.items() for each in file}
            for tree in (self, other)
        )
        return mine == theirs


class MemoryFolder:
    """The files of one project. The result of the tool is what a method returns, or the text of the error it raises."""

    def __init__(self, corpus: AnyCorpus, project: str) -> None:
        self._corpus = corpus
        self._project = check_project(project)

    def run(self, command: Mapping[str, Any]) -> str:
        """Executes the input of a tool call, such as `{"command": "view", "path": "/memories"}`."""
        if not isinstance(command, Mapping):
            raise InvalidInput(
                f"Error: a command is a mapping with its name and arguments, not {type(command).__name__}."
            )
        given = {name: value for name, value in command.items() if value is not None}
        name = check_choice("command", given.pop("command", None), _COMMANDS)
        action: Callable[..., str] = getattr(self, name)
        try:
            signature(action).bind(**given)
        except TypeError as error:
            raise InvalidInput(f"Error: {name}: {error}.") from error
        return action(**given)

    def view(self, path: str, view_range: Sequence[int] | None = None) -> str:
        """A file with numbered lines, all or a range of them; or the listing of a directory."""
        path = _check_path(path)
        tree = self._read(path)
        if path in tree.files:
            return f"Here's the content of {path} with line numbers:\n{number_page(path, tree.text(path), view_range)}"
        if tree.is_directory(path):
            return _list_directory(path, tree)
        raise NotFound(f"The path {path} does not exist. Please provide a valid path.")

    def create(self, path: str, file_text: str) -> str:
        """Writes a file; the text it had before becomes history."""
        name = _check_path(path)
        tree = self._read(name)
        if tree.is_directory(name):
            raise Conflict(f"Error: File {name} already exists")
        if name != path:
            raise InvalidInput(f"Error: {path} names a directory. Name a file in it.")
        tree.refuse_file_above(name)
        self._write(tree, [_Version(name, name, _check_string("file_text", file_text))])
        return f"File created successfully at: {name}"

    def str_replace(self, path: str, old_str: str, new_str: str | None = None) -> str:
        """Replaces a text that occurs once; without a new one, removes it."""
        path = _check_path(path)
        old, new = _check_string("old_str", old_str), _check_string("new_str", new_str or "")
        tree = self._read(path)
        text = tree.require_text(path, f"Error: The path {path} does not exist. Please provide a valid path.")
        at = find_only(path, text, old)
        [memory] = self._write(tree, [_Version(path, path, text[:at] + new + text[at + len(old) :])])
        shown = number_snippet(_text_of(memory), text.count("\n", 0, at), new.count("\n") + 1)
        return f"The memory file has been edited. Here is the snippet showing the change (with line numbers):{shown}"

    def insert(self, path: str, insert_line: int, insert_text: str) -> str:
        """Inserts lines after a line; after line 0 is at the beginning."""
        path = _check_path(path)
        tree = self._read(path)
        text = tree.require_text(path, f"Error: The path {path} does not exist")
        after = insert_lines(text, insert_line, _check_string("insert_text", insert_text))
        self._write(tree, [_Version(path, path, after)])
        return f"The file {path} has been edited."

    def delete(self, path: str) -> str:
        """Deletes a file or all files of a directory, with their history; `Memories.restore` restores each."""
        path = _check_path(path)
        if path == ROOT:
            raise InvalidInput(f"Error: Cannot delete the {ROOT} directory itself")
        now = self._corpus.now()
        with self._corpus.store.transaction() as transaction:
            tree = self._load_tree(transaction, (path,), now)
            ids = [memory.id for each in tree.paths_in(path) for memory in tree.files[each]]
            if not ids:
                raise NotFound(f"Error: The path {path} does not exist")
            is_erased = write.delete_and_purge(transaction, _with_history(transaction, ids, now), now)
        write.erase_traces(self._corpus, is_erased=is_erased)
        return f"Successfully deleted {path}"

    def rename(self, old_path: str, new_path: str) -> str:
        """Moves a file, or all files of a directory, to another path."""
        old, new = _check_path(old_path), _check_path(new_path)
        if old == ROOT:
            raise InvalidInput(f"Error: Cannot rename the {ROOT} directory itself")
        tree = self._read(old, new)
        if not (moved := tree.paths_in(old)):
            raise NotFound(f"Error: The path {old} does not exist")
        if new == ROOT or tree.paths_in(new):
            raise Conflict(f"Error: The destination {new} already exists")
        if new.startswith(f"{old}/"):
            raise InvalidInput(f"Error: Cannot rename {old} to {new}, which is inside it")
        tree.refuse_file_above(new)
        self._write(tree, [_Version(each, _check_path(new + each[len(old) :]), tree.text(each)) for each in moved])
        return f"Successfully renamed {old} to {new}"

    def _read(self, *paths: str) -> _Tree:
        with self._corpus.store.snapshot() as snapshot:
            return self._load_tree(snapshot, paths, self._corpus.now())

    def _load_tree(self, snapshot: Snapshot, paths: tuple[str, ...], now: datetime) -> _Tree:
        chosen = and_(build_filter(now, project=self._project, tags=[FILE_TAG]), _near_paths_filter(paths))
        files: dict[str, list[Memory]] = {}
        for memory in rows.select(snapshot, chosen, now, "ORDER BY i.updated_at DESC, i.id DESC"):
            if len(memory.files) == 1 and memory.files[0] != ROOT and not _find_fault(memory.files[0]):
                files.setdefault(memory.files[0], []).append(memory)
        return _Tree(paths, files)

    def _write(self, seen: _Tree, versions: Sequence[_Version]) -> list[Memory]:
        """Writes new versions in one transaction; raises if one of the files was changed since it was read."""
        now = self._corpus.now()
        memories = [self._make_memory(seen, version, now) for version in versions]
        vectors = self._corpus.embed([to_passage(memory) for memory in memories])
        with self._corpus.store.transaction(spaces=[self._project]) as transaction:
            tree = self._load_tree(transaction, seen.paths, now)
            if not tree.has_same_content(seen):
                raise Conflict(f"Error: {' or '.join(seen.paths)} was changed meanwhile. View it and try again.")
            for version, memory in zip(versions, memories, strict=True):
                rows.insert(transaction, memory)
                index(transaction, memory, vectors)
                for old in tree.files.get(version.old, ()):
                    relations.supersede(transaction, old, memory, "agent", now)
        return memories

    def _make_memory(self, seen: _Tree, version: _Version, now: datetime) -> Memory:
        before = next(iter(seen.files.get(version.old, ())), None)
        kept = {name: getattr(before, name) for name in _KEPT} if before else {}
        tags = [FILE_TAG, *(tag for tag in kept.pop("tags", ()) if tag != EMPTY_TAG)]
        written = {"content": version.text, "tags": tags}
        if not version.text.strip():
            written = {"content": EMPTY_TEXT, "tags": [*tags, EMPTY_TAG]}
        memory = new_memory({**kept, **written, "project": self._project, "files": [version.path]}, now)
        return replace(memory, pinned_by=before.pinned_by if before else None)


def _check_path(value: object) -> str:
    """The path without a last slash."""
    path = check_name("path", value).removesuffix("/")
    if fault := _find_fault(path):
        raise InvalidInput(f"Error: {fault}")
    return path


def _find_fault(path: str) -> str | None:
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        return f"Path must start with {ROOT}, got: {path}"
    if _INVALID_PATH.search(path):
        return f"Path {path} has an empty part, a dot or two as a part, a backslash or a %-code. Write the plain path."
    if clean(path) != path:
        return "The path has a secret or a private part in it. Choose another name."
    return None


def _check_string(what: str, value: object) -> str:
    if not isinstance(value, str):
        raise InvalidInput(f"Error: {what} must be text, not {type(value).__name__}.")
    return value


def _near_paths_filter(paths: Sequence[str]) -> Filter:
    """The condition for current files at these paths, below and above them."""
    exact = {each for path in paths for each in (path, *map(str, PurePosixPath(path).parents))}
    same, values = one_of("i.files", [json.dumps([each], ensure_ascii=False) for each in sorted(exact)])
    beginnings = {f"below{at}": json.dumps([f"{path}/"], ensure_ascii=False)[:-2] for at, path in enumerate(paths)}
    places = [same, *(f"substr(i.files, 1, length(:{each})) = :{each}" for each in beginnings)]
    return Filter(f"{_IS_CURRENT} AND ({' OR '.join(places)})", {**values, **beginnings})


def _with_history(snapshot: Snapshot, ids: Sequence[str], now: datetime) -> list[Memory]:
    """Files with all their earlier versions, except deleted ones."""
    found: dict[str, Memory] = {}
    while ids:
        versions = [each for each in rows.by_id(snapshot, ids, now).values() if FILE_TAG in each.tags]
        found |= {each.id: each for each in versions}
        earlier = (id_ for each in versions for id_ in relations.predecessors(snapshot, each.id))
        ids = [id_ for id_ in dict.fromkeys(earlier) if id_ not in found]
    return [each for each in found.values() if not each.is_deleted]


def _text_of(memory: Memory) -> str:
    return "" if EMPTY_TAG in memory.tags and memory.content == EMPTY_TEXT else memory.content


def _list_directory(path: str, tree: _Tree) -> str:
    sizes = Counter({"": 0})
    for file in tree.paths_in(path):
        parts = file.removeprefix(f"{path}/").split("/")
        names = ["/".join(parts[:depth]) + ("/" if depth < len(parts) else "") for depth in (1, 2)[: len(parts)]]
        sizes.update(dict.fromkeys(["", *names], len(tree.text(file).encode())))
    listed = sorted((name for name in sizes if name and not _HIDDEN.search(name)), key=lambda name: name.split("/"))
    rows = [f"{format_size(sizes[''])}\t{path}", *(f"{format_size(sizes[name])}\t{path}/{name}" for name in listed)]
    header = f"Here're the files and directories up to 2 levels deep in {path}, excluding hidden items and node_modules"
    return "\n".join([f"{header}:", *rows])


MOST_LINES = 999_999
# As Anthropic's tool description tells the model about long files.
MOST_SHOWN = 16_000
_MOST_NAMED = 20
_AROUND_EDIT = 2


def _split_lines(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n") if text else []


def _number_lines(lines: Sequence[str], first: int) -> str:
    return "\n".join(f"{number:6}\t{line}" for number, line in enumerate(lines, first))


def _count_fitting_lines(lines: Sequence[str]) -> int:
    """How many lines can be shown at once: at least one, as a line is the least that can be asked for."""
    ends = accumulate(len(line) + 1 for line in lines)
    return max(1, sum(end - 1 <= MOST_SHOWN for end in ends))


def number_snippet(text: str, changed: int, count: int) -> str:
    """The changed lines and a few around them, numbered."""
    first = max(0, changed - _AROUND_EDIT)
    lines = (_split_lines(text) or [""])[first : changed + count + _AROUND_EDIT]
    return "\n" + _number_lines(lines[: _count_fitting_lines(lines)], first + 1)


def number_page(path: str, text: str, view_range: Sequence[int] | None) -> str:
    """The lines of a file in a range, numbered, as many as can be shown at once."""
    lines = _split_lines(text) or [""]
    if len(lines) > MOST_LINES:
        raise InvalidInput(f"File {path} exceeds maximum line limit of {MOST_LINES:,} lines.")
    first, last = _check_range(view_range, len(lines))
    asked = lines[first - 1 : last]
    shown = asked[: _count_fitting_lines(asked)]
    if len(shown) == len(asked):
        return _number_lines(shown, first)
    end = first + len(shown) - 1
    note = f"(Lines {first} to {end} of {len(lines)}; go on with view_range [{end + 1}, -1].)"
    return f"{_number_lines(shown, first)}\n{note}"


def _check_range(view_range: object, count: int) -> tuple[int, int]:
    """The first and the last line that are asked for; a range may begin before the file and end after it."""
    if view_range is None:
        return 1, count
    match view_range:
        case [int(first), int(last)] if first <= count and (last == -1 or last >= max(1, first)):
            return max(1, first), count if last == -1 else min(last, count)
    raise InvalidInput(
        f"Error: Invalid `view_range` parameter: {view_range}. It should be two lines of the file: [1, {count}]"
    )


def find_only(path: str, text: str, old: str) -> int:
    """The position of the only occurrence; raises if there is none, or more than one."""
    if not old:
        raise InvalidInput("No replacement was performed, old_str is empty.")
    found = list(islice(_find_all(text, old), _MOST_NAMED + 1))
    if not found:
        raise InvalidInput(f"No replacement was performed, old_str `{old}` did not appear verbatim in {path}.")
    if len(found) > 1:
        lines = dict.fromkeys(str(text.count("\n", 0, at) + 1) for at in found[:_MOST_NAMED])
        more = ", …" if len(found) > _MOST_NAMED else ""
        raise InvalidInput(
            f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: "
            f"{', '.join(lines)}{more}. Please ensure it is unique"
        )
    return found[0]


def _find_all(text: str, part: str) -> Iterator[int]:
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + 1)


def insert_lines(text: str, after: object, addition: str) -> str:
    """The text with lines added; it ends with a line break if it did before, or if the last lines now do."""
    lines = _split_lines(text)
    if not isinstance(after, int) or isinstance(after, bool) or not 0 <= after <= len(lines):
        raise InvalidInput(
            f"Error: Invalid `insert_line` parameter: {after}. "
            f"It should be within the range of lines of the file: [0, {len(lines)}]"
        )
    ends_with_break = text.endswith("\n") or (after == len(lines) and addition.endswith("\n"))
    changed = [*lines[:after], addition.removesuffix("\n"), *lines[after:]]
    return "\n".join(changed) + ("\n" if ends_with_break else "")


def format_size(count: int) -> str:
    """A number of bytes with its unit, such as 1.5K."""
    power = max(0, count.bit_length() - 1) // 10
    return f"{count / 1024**power:.1f}{'BKMG'[power]}" if power else f"{count}B"
