"""Memories and documents as MCP resources, listed and read by URI."""

from collections.abc import Collection
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from mcp import types

from athand.adapters.operations import AppContext
from athand.errors import InvalidInput, NotFound

if TYPE_CHECKING:
    from athand.documents.model import Document
    from athand.memories import Memory

MEMORY, DOCUMENT = "athand://memory/", "athand://document/"
MARKDOWN, PLAIN = "text/markdown", "text/plain"
_LISTED_MEMORIES = 50  # the pinned ones, then the newest
_PAGE_SIZE = 100  # documents
_MAX_CHARS = 200_000  # of a document

TEMPLATES = {
    "memories": types.ResourceTemplate(
        name="memory",
        title="A memory",
        uri_template=f"{MEMORY}{{id}}",
        description="What is remembered under an id.",
        mime_type=MARKDOWN,
    ),
    "documents": types.ResourceTemplate(
        name="document",
        title="A document",
        uri_template=f"{DOCUMENT}{{folder_id}}/{{+path}}",
        description="The text of a document, by its folder and its path in the folder.",
    ),
}


class Resources:
    """The resources of the offered corpora."""

    def __init__(self, ctx: AppContext, corpora: Collection[str]) -> None:
        self._ctx = ctx
        self._corpora = corpora

    def list_templates(self) -> list[types.ResourceTemplate]:
        """The URI templates."""
        return [template for corpus, template in TEMPLATES.items() if corpus in self._corpora]

    def list_page(self, cursor: str | None) -> types.ListResourcesResult:
        """A page of resources: first pinned and new memories, then the documents, folder by folder."""
        folders = self._list_folders()
        if cursor is None:
            resources, next_cursor = self._list_memories(), _make_cursor(folders[0]) if folders else None
        else:
            resources, next_cursor = self._list_documents(cursor, folders)
        return types.ListResourcesResult(resources=resources, next_cursor=next_cursor)

    def read(self, uri: str) -> types.ReadResourceResult:
        """The text of a resource."""
        if uri.startswith(MEMORY) and "memories" in self._corpora:
            memory = self._ctx.athand.memories.get(unquote(uri.removeprefix(MEMORY)))
            return _make_result(uri, MARKDOWN, _render_memory(memory))
        folder_id, slash, path = uri.removeprefix(DOCUMENT).partition("/")
        if uri.startswith(DOCUMENT) and slash and "documents" in self._corpora:
            return _make_result(uri, _mime_type(path), self._read_document(unquote(folder_id), unquote(path)))
        templates = ", ".join(each.uri_template for each in self.list_templates())
        raise NotFound(f"No resource {uri!r}. Addresses are made like: {templates}")

    def _list_folders(self) -> list[str]:
        if "documents" not in self._corpora:
            return []
        return [folder.folder_id for folder in self._ctx.athand.documents.list_folders()]

    def _list_memories(self) -> list[types.Resource]:
        if "memories" not in self._corpora:
            return []
        memories = self._ctx.athand.memories
        found = [*memories.list(pinned=True, limit=_LISTED_MEMORIES), *memories.list(limit=_LISTED_MEMORIES)]
        return [_memory_resource(each) for each in list({each.id: each for each in found}.values())[:_LISTED_MEMORIES]]

    def _list_documents(self, cursor: str, folders: list[str]) -> tuple[list[types.Resource], str | None]:
        folder_id, _, token = cursor.partition("/")
        folder_id = unquote(folder_id)
        if folder_id not in folders:
            raise InvalidInput(f"The cursor {cursor!r} leads nowhere. List the resources from the beginning.")
        found = self._ctx.athand.documents.list_documents(folder_id, limit=_PAGE_SIZE, continuation_token=token or None)
        rest = folders[folders.index(folder_id) + 1 :]
        next_cursor = _make_cursor(folder_id, found.continuation.next_token) if found.continuation.has_more else None
        return [_document_resource(each) for each in found], next_cursor or (_make_cursor(rest[0]) if rest else None)

    def _read_document(self, folder_id: str, path: str) -> str:
        found = self._ctx.athand.documents.get_document_text(folder_id, path, max_chars=_MAX_CHARS)
        if not found.continuation.has_more:
            return found.text
        return f"{found.text}\n\n[Cut after line {found.end_line} of {found.lines}; get_document_text reads on.]"


def memory_uri(id_: str) -> str:
    """The URI of a memory."""
    return MEMORY + quote(id_, safe="")


def document_uri(folder_id: str, path: str) -> str:
    """The URI of a document."""
    return f"{DOCUMENT}{quote(folder_id, safe='')}/{quote(path)}"


def _memory_resource(memory: "Memory") -> types.Resource:
    return types.Resource(
        uri=memory_uri(memory.id),
        name=memory.id,
        title=memory.title,
        description=_describe_memory(memory),
        mime_type=MARKDOWN,
    )


def _document_resource(document: "Document") -> types.Resource:
    return types.Resource(
        uri=document_uri(document.folder_id, document.document_id),
        name=document.document_id,
        title=document.title,
        description=f"{document.folder_id}: {document.document_id}",
        mime_type=_mime_type(document.document_id),
    )


def _render_memory(memory: "Memory") -> str:
    """The text of a memory with its context, project, type, date and tags."""
    parts = [memory.content, f"Context: {memory.context}" if memory.context else "", f"({_describe_memory(memory)})"]
    return "\n\n".join(part for part in parts if part)


def _describe_memory(memory: "Memory") -> str:
    facts = [memory.project, memory.memory_type or memory.sector, f"{memory.created_at:%Y-%m-%d}", *memory.tags]
    facts += [memory.writer_note] if memory.writer_note else []
    facts += [memory.pin_note] if memory.pinned else []
    facts += [f"held until {memory.valid_until:%Y-%m-%d}"] if memory.valid_until else []
    return ", ".join([*facts, *(["deleted"] if memory.is_deleted else [])])


def _mime_type(path: str) -> str:
    return MARKDOWN if path.lower().endswith((".md", ".markdown")) else PLAIN


def _make_result(uri: str, mime_type: str, text: str) -> types.ReadResourceResult:
    return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, mime_type=mime_type, text=text)])


def _make_cursor(folder_id: str, token: str | None = None) -> str:
    return f"{quote(folder_id, safe='')}/{token or ''}"
