"""Operations on documents: search, look around, read, and the folders they come from."""

from athand.adapters.operations.model import row
from athand.documents import Documents

OPERATIONS = (
    row("search_content", Documents.search_content, "Search in documents"),
    row("search_documents", Documents.search, "Ask the documents"),
    row("find_documents", Documents.find_documents, "Find documents"),
    row("explore", Documents.explore, "Look into a folder"),
    row("list_folders", Documents.list_folders, "List folders"),
    row("list_documents", Documents.list_documents, "List documents"),
    row("get_document_data", Documents.get_document_data, "Outline of a document"),
    row("get_document_text", Documents.get_document_text, "Read a document"),
    row("get_chunks", Documents.get_chunks, "Read passages"),
    row("add_folder", Documents.add, "Add a folder", scope="admin", kind="write", idempotent=True),
    row("refresh_folder", Documents.refresh, "Refresh a folder", scope="write", kind="write", idempotent=True),
    row("remove_folder", Documents.remove, "Remove a folder", scope="admin", kind="destructive"),
    row("folder_problems", Documents.problems, "Problems with files"),
)
