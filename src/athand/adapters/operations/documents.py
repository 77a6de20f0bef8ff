"""Operations on documents: search, look around, read, and the folders they come from."""

from typing import Annotated

from pydantic import Field

from athand.adapters.operations.model import AppContext, Progress, operation
from athand.adapters.operations.parameters import (
    DocumentId,
    FilePattern,
    FolderId,
    FolderIds,
    Limit,
    MinScore,
    Name,
    Path,
    Question,
    ServerPath,
    Token,
)
from athand.documents import DocumentHit, Folder
from athand.documents.model import (
    Chunks,
    Directory,
    DocumentData,
    DocumentList,
    DocumentText,
    FoundDocuments,
    Problem,
    SearchContentResponse,
)
from athand.types import Hits

Texts = tuple[str, ...]
FewResults = Annotated[int, Field(ge=1, le=50, description="How many on a page")]
Page = Annotated[int, Field(ge=1, le=500, description="How many on a page")]


@operation("documents/search_content", toolset="documents", title="Search in documents")
def search_content(
    ctx: AppContext,
    folder_id: FolderIds = None,
    semantic_concepts: Annotated[Texts, Field(description="What passages should be about, in a few words each")] = (),
    exact_terms: Annotated[Texts, Field(description="Names, numbers, code that must be found literally")] = (),
    min_score: MinScore = None,
    limit: FewResults = 10,
    continuation_token: Token = None,
    max_tokens: Annotated[int | None, Field(ge=0, le=1_000_000, description="How long a page may be")] = None,
    path: FilePattern = None,
) -> SearchContentResponse:
    """Every passage that is about the concepts, better where it has the exact terms; page by page, none twice.

    Give at least one concept or term. With terms alone it finds whatever contains one of them, as grep does.
    """
    return ctx.athand.documents.search_content(
        folder_id,
        semantic_concepts=semantic_concepts,
        exact_terms=exact_terms,
        min_score=min_score,
        limit=limit,
        continuation_token=continuation_token,
        max_tokens=max_tokens,
        path=path,
    )


@operation("documents/search", toolset="documents", title="Ask the documents")
def search_documents(
    ctx: AppContext,
    query: Question,
    folder_id: FolderIds = None,
    limit: Limit = 10,
    path: FilePattern = None,
    min_score: MinScore = None,
    once: Annotated[bool, Field(description="Each document once, with its best passage")] = False,
) -> Hits[DocumentHit]:
    """The passages that answer a natural question, best first, each with why; none if nothing fits."""
    return ctx.athand.documents.search(
        query, folder_id=folder_id, limit=limit, path=path, min_score=min_score, once=once
    )


@operation("documents/find_documents", toolset="documents", title="Find documents")
def find_documents(
    ctx: AppContext,
    query: Annotated[str, Field(description="What the documents are about; left out with a token")] = "",
    folder_id: FolderIds = None,
    limit: Annotated[int, Field(ge=1, le=100, description="How many on a page")] = 20,
    continuation_token: Token = None,
) -> FoundDocuments:
    """Which documents are about something, best first: paths, titles and key phrases, no content."""
    return ctx.athand.documents.find_documents(
        query, folder_id=folder_id, limit=limit, continuation_token=continuation_token
    )


@operation("documents/explore", toolset="documents", title="Look into a folder")
def explore(
    ctx: AppContext,
    folder_id: FolderId,
    path: Annotated[Path, Field(description="A directory in it; the folder itself without")] = "",
) -> Directory:
    """What is in a directory: its subfolders with counts and key phrases, and its documents."""
    return ctx.athand.documents.explore(folder_id, path)


@operation("documents/list_folders", toolset="documents", title="List folders")
def list_folders(ctx: AppContext) -> list[Folder]:
    """All folders of documents, how they are, and how much is in them."""
    return ctx.athand.documents.list_folders()


@operation("documents/list_documents", toolset="documents", title="List documents")
def list_documents(
    ctx: AppContext,
    folder_id: FolderId,
    path: Annotated[Path, Field(description="A directory, or a pattern such as docs/**/*.md")] = "",
    limit: Page = 20,
    continuation_token: Token = None,
) -> DocumentList:
    """The documents of a folder in the order of their paths."""
    return ctx.athand.documents.list_documents(folder_id, path, limit, continuation_token)


@operation("documents/get_document_data", toolset="documents", title="Outline of a document")
def get_document_data(
    ctx: AppContext,
    folder_id: FolderId,
    document_id: DocumentId,
    limit: Page = 50,
    continuation_token: Token = None,
) -> DocumentData:
    """What is known of a document: key phrases, outline with line numbers, its chunks with how they begin."""
    return ctx.athand.documents.get_document_data(
        folder_id, document_id, limit=limit, continuation_token=continuation_token
    )


@operation("documents/get_document_text", toolset="documents", title="Read a document")
def get_document_text(
    ctx: AppContext,
    folder_id: FolderId,
    document_id: DocumentId,
    start_line: Annotated[int | None, Field(ge=1, description="The first line, from 1")] = None,
    end_line: Annotated[int | None, Field(ge=1, description="The last line, which is included")] = None,
    max_chars: Annotated[int, Field(ge=0, le=200_000, description="How much text at once")] = 5000,
    continuation_token: Token = None,
) -> DocumentText:
    """The exact text of a document, by lines or piece by piece."""
    return ctx.athand.documents.get_document_text(
        folder_id,
        document_id,
        start_line=start_line,
        end_line=end_line,
        max_chars=max_chars,
        continuation_token=continuation_token,
    )


@operation("documents/get_chunks", toolset="documents", title="Read passages")
def get_chunks(
    ctx: AppContext,
    folder_id: FolderId,
    chunk_ids: Annotated[
        tuple[Name, ...], Field(min_length=1, max_length=100, description="Ids of passages, from a search")
    ],
    neighbours: Annotated[int, Field(ge=0, le=10, description="How many before and after each as well")] = 0,
) -> Chunks:
    """Passages by their ids, and what stands around them, in the order of their documents."""
    return ctx.athand.documents.get_chunks(folder_id, chunk_ids, neighbours)


@operation("documents/add", toolset="documents", scope="admin", kind="write", title="Add a folder", idempotent=True)
def add_folder(
    ctx: AppContext,
    path: ServerPath,
    progress: Progress,
    folder_id: Annotated[Name | None, Field(description="An id of your own; made from the name without")] = None,
    project: Annotated[Name | None, Field(description="The project it belongs to; all without")] = None,
    wait: Annotated[bool, Field(description="Answer when it is indexed; false indexes in the background")] = True,
) -> Folder:
    """Index a folder and remember it; one that is known already is brought up to date."""
    return ctx.athand.documents.add(path, folder_id=folder_id, project=project, wait=wait, progress=progress)


@operation(
    "documents/refresh", toolset="documents", scope="write", kind="write", title="Refresh a folder", idempotent=True
)
def refresh_folder(ctx: AppContext, folder_id: FolderId, progress: Progress) -> Folder:
    """Bring the index of a folder up to date now. Searches notice changes by themselves after a while."""
    return ctx.athand.documents.refresh(folder_id, progress=progress)


@operation("documents/remove", toolset="documents", scope="admin", kind="destructive", title="Remove a folder")
def remove_folder(ctx: AppContext, folder_id: FolderId) -> Folder:
    """Forget a folder and all that was indexed of it; its files are not touched."""
    return ctx.athand.documents.remove(folder_id)


@operation("documents/problems", toolset="documents", title="Problems with files")
def folder_problems(
    ctx: AppContext, folder_id: Annotated[Name | None, Field(description="Only this folder; all without")] = None
) -> list[Problem]:
    """The files that could not be indexed, or only in part, each with its reason."""
    return ctx.athand.documents.problems(folder_id)
