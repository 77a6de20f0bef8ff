"""Exports memories to a JSON Lines file and imports them; an import is done entirely or not at all."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

from athand.cancellation import until_cancelled
from athand.corpus import AnyCorpus
from athand.errors import Conflict, InvalidInput, NotFound, StoreError
from athand.files import replace_atomically
from athand.inputs import check_path
from athand.memories import importers, relations, rows, sessions, write
from athand.memories.jsonl import HEADER, Key, Link, from_line, to_line
from athand.memories.model import ImportedMemories, Memory, Relation, Session, duplicate_keys, to_passage
from athand.memories.scoring import INDEX
from athand.memories.validation import check_project, new_memory
from athand.store import Snapshot, Transaction, check_target, to_datetime
from athand.types import Filter, Noun

BATCH = 512

Progress = Callable[[int, int], None]
Numbered = list[tuple[int, Noun]]
Kind = TypeVar("Kind", bound=Noun)


def export(corpus: AnyCorpus, path: str | PathLike[str], project: str | None) -> int:
    """Writes everything in an order that depends on the content only; returns the number of memories."""
    target = check_path("path", path)
    check_target(corpus.store, target)
    try:
        return _write_lines(corpus, target, project)
    except OSError as error:
        raise StoreError(f"{target} cannot be written: {error.strerror}. Choose another path.") from error


def _write_lines(corpus: AnyCorpus, target: Path, project: str | None) -> int:
    """Writes a private file, renamed to `target` when it is complete; returns the number of memories."""
    written = 0
    with replace_atomically(target) as file, corpus.store.snapshot() as snapshot:
        for line in lines_of(snapshot, corpus, project):
            file.write(json.dumps(line, ensure_ascii=False, sort_keys=True).encode() + b"\n")
            written += is_memory(line)
    return written


def lines_of(snapshot: Snapshot, corpus: AnyCorpus, project: str | None = None) -> Iterator[dict[str, Any]]:
    """The lines of an export, in an order that depends on the content only."""
    return chain([HEADER], map(to_line, _read_nouns(snapshot, corpus, project)))


def is_memory(line: Mapping[str, Any]) -> bool:
    """Whether a line of an export is a memory."""
    return line.get("kind") == "memory"


def import_(
    corpus: AnyCorpus, path: str | PathLike[str], project: str | None, format_: str | None, progress: Progress
) -> ImportedMemories:
    """Imports an export or a file of another tool."""
    source = check_path("path", path)
    if source.exists() and not (source.is_file() or source.is_dir()):
        raise InvalidInput(f"{source} is neither a file nor a folder.")
    kind = format_ or importers.detect_format(source)
    if kind == "athand":
        if project is not None:
            raise InvalidInput("An export names the projects of its memories; leave project out.")
        return _import_export(corpus, source, _read_lines(source), progress)
    items = []
    for file, number, item in importers.read(source, kind, check_project(project or "default")):
        with importers.locate_errors(file, number):
            new_memory(item, corpus.now())
        items.append(item)
    progress(0, len(items))
    added = write.add_many(corpus, items)
    progress(len(items), len(items))
    return ImportedMemories(len(added), sum(not memory.deduplicated for memory in added))


def _read_nouns(snapshot: Snapshot, corpus: AnyCorpus, project: str | None) -> Iterator[Noun]:
    values = {"project": project}
    here = "(:project IS NULL OR space = :project)"
    for row in snapshot.rows(
        f"SELECT {sessions.COLUMNS} FROM memory_sessions WHERE {here} "
        "OR id IN (SELECT session FROM memory_links WHERE space = :project) ORDER BY space, id",
        values,
    ):
        yield sessions.from_row(row)
    chosen = Filter("(:project IS NULL OR i.project = :project)", values)
    yield from rows.select(snapshot, chosen, corpus.now(), "ORDER BY i.project, i.created_at, i.id")
    for row in snapshot.rows(
        f"SELECT space, session, memory_id, usage, linked_at FROM memory_links WHERE {here} ORDER BY 1, 2, 3, 4", values
    ):
        owner, session, memory_id, usage, linked_at = row
        yield Link(owner, session, memory_id, usage, to_datetime(linked_at))
    # A relation may reach a global memory that another project made; that end is not in the export of one project.
    own = "(SELECT id FROM memories WHERE project = :project)"
    inside = f"(:project IS NULL OR (source_id IN {own} AND target_id IN {own}))"
    for row in snapshot.rows(
        f"SELECT {relations.COLUMNS} FROM memory_relations WHERE {inside} ORDER BY source_id, target_id, type",
        values,
    ):
        yield relations.relation_from_row(row)
    for row in snapshot.rows(
        f"SELECT space, name, memory_id, fingerprint FROM memory_keys WHERE {here} ORDER BY 1, 2", values
    ):
        yield Key(*row)


def _read_lines(path: Path) -> Numbered:
    """The nouns of an export, each with its line number."""
    lines = importers.json_lines(path)
    first, header = next(lines, (1, {}))
    with importers.locate_errors(path, first):
        _check_header(header)
    nouns: Numbered = []
    for number, values in until_cancelled(lines):
        with importers.locate_errors(path, number):
            nouns.append((number, from_line(values)))
    return nouns


def _check_header(values: dict[str, Any]) -> None:
    if values.get("format") != HEADER["format"]:
        raise InvalidInput(f"It does not begin with {json.dumps(HEADER)}.")
    if values.get("version") != HEADER["version"]:
        raise InvalidInput(f"It is of version {values.get('version')}; this program reads {HEADER['version']}.")


def _import_export(corpus: AnyCorpus, path: Path, nouns: Numbered, progress: Progress) -> ImportedMemories:
    """Writes the nouns in one transaction; their vectors are made before, so that it is short."""
    memories = [(number, noun) for number, noun in nouns if isinstance(noun, Memory)]
    with corpus.store.snapshot() as snapshot:
        new = _select_new(snapshot, corpus, path, memories)
    try:
        _embed_memories(corpus, [memory for memory in new if not memory.is_deleted], progress)
        with corpus.store.transaction() as transaction:
            for session in (noun for _, noun in nouns if isinstance(noun, Session)):
                _put_session(transaction, session)
            _put_memories(transaction, corpus, _select_new(transaction, corpus, path, memories))
            _put_others(transaction, path, nouns)
            relations.refuse_circles(transaction, [noun.target_id for _, noun in nouns if isinstance(noun, Relation)])
    except BaseException:
        with suppress(StoreError):  # the store may be what failed
            corpus.store.erase_traces()  # the vectors of the memories that were not imported
        raise
    return ImportedMemories(len(memories), len(new))


def _embed_memories(corpus: AnyCorpus, memories: Sequence[Memory], progress: Progress) -> None:
    for start in range(0, len(memories), BATCH):
        progress(start, len(memories))
        passages = [to_passage(memory) for memory in memories[start : start + BATCH]]
        if vectors := corpus.embed(passages):
            corpus.store.add_vectors(INDEX, passages, vectors)
    progress(len(memories), len(memories))


def _put_memories(transaction: Transaction, corpus: AnyCorpus, memories: Sequence[Memory]) -> None:
    for start in range(0, len(memories), BATCH):
        rows.insert_many(transaction, [(memory, duplicate_keys(memory)) for memory in memories[start : start + BATCH]])
    living = [to_passage(memory) for memory in memories if not memory.is_deleted]
    for start in range(0, len(living), BATCH):
        batch = living[start : start + BATCH]
        transaction.put(INDEX, batch, corpus.embed(batch, transaction))


def _select_new(
    snapshot: Snapshot, corpus: AnyCorpus, path: Path, memories: Sequence[tuple[int, Memory]]
) -> list[Memory]:
    """The memories that do not exist yet; raises if another memory has the id of one of them."""
    known: dict[str, Memory] = {}
    for start in range(0, len(memories), BATCH):
        known |= rows.by_id(snapshot, [memory.id for _, memory in memories[start : start + BATCH]], corpus.now())
    new: dict[str, Memory] = {}
    for number, memory in memories:
        there = known.get(memory.id) or new.get(memory.id)
        if there is None:
            new[memory.id] = memory
        elif not _is_same(there, memory):
            raise Conflict(
                f"{path} line {number}: there is another memory {memory.id} already; nothing was imported. "
                f"See: athand memory show {memory.id}"
            )
    return list(new.values())


def _is_same(there: Memory, memory: Memory) -> bool:
    """Whether two memories are the same, apart from uses and tags."""
    return (there.project, there.content, there.created_at) == (memory.project, memory.content, memory.created_at)


def _put_session(transaction: Transaction, session: Session) -> None:
    there = sessions.find(transaction, session.id)
    if there and there.project != session.project:
        raise Conflict(f"There is a session {session.id} of project {there.project} already.")
    sessions.put(transaction, session)


def _put_others(transaction: Transaction, path: Path, nouns: Numbered) -> None:
    """Writes links, relations and keys; raises if a memory or session that they name is not there."""
    links: list[Link] = []
    keys: list[tuple[str, str, str, str]] = []
    spaces = rows.find_spaces(transaction, {id_ for _, noun in nouns for id_ in _name_memories(noun)})
    begun = sessions.by_id(transaction, {noun.session for _, noun in nouns if isinstance(noun, Link)})
    for number, noun in nouns:
        with importers.locate_errors(path, number):
            for id_ in _name_memories(noun):
                if id_ not in spaces:
                    raise NotFound(f"There is no memory {id_!r}.")
            if isinstance(noun, Link):
                if noun.session not in begun:
                    raise NotFound(f"There is no session {noun.session!r}.")
                links.append(noun)
            elif isinstance(noun, Relation):
                space = relations.common_space(spaces[noun.source_id], spaces[noun.target_id])
                relations.put(transaction, space, noun)
            elif isinstance(noun, Key):
                keys.append((noun.project, noun.name, noun.memory_id, noun.fingerprint))
    sessions.put_links(transaction, links)
    rows.put_keys(transaction, keys)


def _name_memories(noun: Noun) -> tuple[str, ...]:
    """The ids of the memories that a link, a relation or a key names."""
    if isinstance(noun, Relation):
        return noun.source_id, noun.target_id
    return (noun.memory_id,) if isinstance(noun, Link | Key) else ()
