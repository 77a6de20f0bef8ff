"""Memories and documents as resources, to be attached to a conversation by their addresses."""

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
_RECENT = 50  # memories that are listed: those that are pinned, and the newest
_PAGE = 100  # documents
_LONGEST = 200_000  # characters of a document

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
    """What can be read by its address, of the corpora that are offered."""

    def __init__(self, workspace: AppContext, corpora: Collection[str]) -> None:
        self._workspace = workspace
        self._corpora = corpora

    def templates(self) -> list[types.ResourceTemplate]:
        """How addresses are made."""
        return [template for corpus, template in TEMPLATES.items() if corpus in self._corpora]

    def page(self, cursor: str | None) -> types.ListResourcesResult:
        """First the memories that are pinned or new, then the documents, folder by folder."""
        folders = self._folders()
        if cursor is None:
            listed, following = self._memories(), _cursor(folders[0]) if folders else None
        else:
            listed, following = self._documents(cursor, folders)
        return types.ListResourcesResult(resources=listed, next_cursor=following)

    def read(self, uri: str) -> types.ReadResourceResult:
        """The text behind an address."""
        if uri.startswith(MEMORY) and "memories" in self._corpora:
            memory = self._workspace.athand.memories.get(unquote(uri.removeprefix(MEMORY)))
            return _read(uri, MARKDOWN, _told(memory))
        folder_id, slash, path = uri.removeprefix(DOCUMENT).partition("/")
        if uri.startswith(DOCUMENT) and slash and "documents" in self._corpora:
            return _read(uri, _kind(path), self._text(unquote(folder_id), unquote(path)))
        raise NotFound(f"No resource {uri!r}. Addresses are made like: {', '.join(_templates(self.templates()))}")

    def _folders(self) -> list[str]:
        if "documents" not in self._corpora:
            return []
        return [folder.folder_id for folder in self._workspace.athand.documents.list_folders()]

    def _memories(self) -> list[types.Resource]:
        if "memories" not in self._corpora:
            return []
        memories = self._workspace.athand.memories
        found = [*memories.list(pinned=True, limit=_RECENT), *memories.list(limit=_RECENT)]
        return [_memory(each) for each in list({each.id: each for each in found}.values())[:_RECENT]]

    def _documents(self, cursor: str, folders: list[str]) -> tuple[list[types.Resource], str | None]:
        folder_id, _, token = cursor.partition("/")
        folder_id = unquote(folder_id)
        if folder_id not in folders:
            raise InvalidInput(f"The cursor {cursor!r} leads nowhere. List the resources from the beginning.")
        found = self._workspace.athand.documents.list_documents(
            folder_id, limit=_PAGE, continuation_token=token or None
        )
        rest = folders[folders.index(folder_id) + 1 :]
        following = _cursor(folder_id, found.continuation.next_token) if found.continuation.has_more else None
        return [_document(each) for each in found], following or (_cursor(rest[0]) if rest else None)

    def _text(self, folder_id: str, path: str) -> str:
        found = self._workspace.athand.documents.get_document_text(folder_id, path, max_chars=_LONGEST)
        if not found.continuation.has_more:
            return found.text
        return f"{found.text}\n\n[Cut after line {found.end_line} of {found.lines}; get_document_text reads on.]"


def memory_uri(id_: str) -> str:
    """The address of a memory."""
    return MEMORY + quote(id_, safe="")


def document_uri(folder_id: str, path: str) -> str:
    """The address of a document."""
    return f"{DOCUMENT}{quote(folder_id, safe='')}/{quote(path)}"


def _memory(memory: "Memory") -> types.Resource:
    return types.Resource(
        uri=memory_uri(memory.id), name=memory.id, title=memory.title, description=_origin(memory), mime_type=MARKDOWN
    )


def _document(document: "Document") -> types.Resource:
    return types.Resource(
        uri=document_uri(document.folder_id, document.document_id),
        name=document.document_id,
        title=document.title,
        description=f"{document.folder_id}: {document.document_id}",
        mime_type=_kind(document.document_id),
    )


def _told(memory: "Memory") -> str:
    """The memory, and where it comes from."""
    parts = [memory.content, f"Context: {memory.context}" if memory.context else "", f"({_origin(memory)})"]
    return "\n\n".join(part for part in parts if part)


def _origin(memory: "Memory") -> str:
    facts = [memory.project, memory.memory_type or memory.sector, f"{memory.created_at:%Y-%m-%d}", *memory.tags]
    facts += ["pinned"] if memory.pinned else []
    facts += [f"held until {memory.valid_until:%Y-%m-%d}"] if memory.valid_until else []
    return ", ".join([*facts, *(["deleted"] if memory.is_deleted else [])])


def _kind(path: str) -> str:
    return MARKDOWN if path.lower().endswith((".md", ".markdown")) else PLAIN


def _read(uri: str, kind: str, text: str) -> types.ReadResourceResult:
    return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, mime_type=kind, text=text)])


def _cursor(folder_id: str, token: str | None = None) -> str:
    return f"{quote(folder_id, safe='')}/{token or ''}"


def _templates(templates: list[types.ResourceTemplate]) -> list[str]:
    return [each.uri_template for each in templates]
