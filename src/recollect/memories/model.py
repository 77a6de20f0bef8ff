"""The nouns of memories, and how they come out of a row and go into the index."""

import json
from dataclasses import dataclass
from datetime import datetime

from recollect.store import Passage, Row, to_datetime, to_microseconds
from recollect.types import Noun

COLUMNS = "space, id, content, context, author, tags, created_at, updated_at, is_deleted"


@dataclass(frozen=True, slots=True)
class Memory(Noun):
    """Something worth remembering, and where it came from."""

    id: str
    project: str
    content: str
    created_at: datetime
    updated_at: datetime
    context: str | None = None
    author: str | None = None
    tags: tuple[str, ...] = ()
    is_deleted: bool = False

    @property
    def title(self) -> str:
        """The first line, short enough for a list."""
        line = self.content.strip().split("\n", 1)[0]
        return line if len(line) <= 80 else line[:79].rstrip() + "…"


def from_row(row: Row) -> Memory:
    """A memory from the COLUMNS of its row."""
    project, id_, content, context, author, tags, created_at, updated_at, is_deleted = row
    return Memory(
        id_,
        project,
        content,
        to_datetime(created_at),
        to_datetime(updated_at),
        context,
        author,
        tuple(json.loads(tags)),
        bool(is_deleted),
    )


def to_row(memory: Memory) -> dict[str, object]:
    """The parameters of an INSERT of COLUMNS."""
    return {
        "space": memory.project,
        "id": memory.id,
        "content": memory.content,
        "context": memory.context,
        "author": memory.author,
        "tags": json.dumps(memory.tags, ensure_ascii=False),
        "created_at": to_microseconds(memory.created_at),
        "updated_at": to_microseconds(memory.updated_at),
        "is_deleted": int(memory.is_deleted),
    }


def to_passage(memory: Memory) -> Passage:
    """What is matched: the text itself, and beside it who said it, when, and what it was about."""
    when = memory.created_at.strftime("%-d %B %Y")
    around = " ".join(filter(None, (memory.author, memory.context, *memory.tags, when)))
    meaning = "\n".join(filter(None, (memory.content, memory.context)))
    return Passage(
        memory.id, memory.id, memory.project, (memory.content, around), meaning, to_microseconds(memory.created_at)
    )
