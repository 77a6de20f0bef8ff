"""A small store of everything, and arguments that fit every operation on memories, documents and the store."""

from contextlib import contextmanager

from athand import Athand
from athand.adapters.operations import AppContext
from athand.config import Settings

NOTES = "# Deploying\n\nStaging deploys need the VPN.\n\n## Rollback\n\nRun the rollback script, then tell Mira.\n"
WEIGHTS = {"semantic": 0.4, "keyword": 0.3, "salience": 0.2, "recency": 0.1, "sector": {"semantic": 1.1}}


@contextmanager
def opened(folder):
    """A workspace on a store with memories, a folder of documents and a session."""
    (folder / "notes").mkdir()
    (folder / "notes" / "deploy.md").write_text(NOTES)
    (folder / "spare").mkdir()
    (folder / "notes" / "broken.pdf").write_bytes(b"%PDF-1.7 no more than this")
    settings = Settings(home=str(folder / "home"))
    workspace = AppContext(lambda: Athand(":memory:", settings=settings))
    try:
        _fill(workspace.athand, folder)
        yield workspace
    finally:
        workspace.close()


def _fill(athand, folder):
    memories = athand.memories
    memories.start_session("shop", id="audit")
    memories.add("Auth tokens rotate every 24 hours", project="shop", id="old", author="Mira", session="audit")
    memories.add("Auth tokens rotate every 12 hours since the audit", project="shop", id="new", session="audit")
    memories.supersede("old", "new")
    for id_ in ("doomed", "deleted", "former", "other"):
        memories.add(f"The {id_} one is about something else entirely", project=id_, id=id_)
    memories.delete("deleted")
    memories.add("The former one is history", project="former", id="latter")
    memories.supersede("former", "latter")
    memories.add("Rotation of tokens is planned for spring", project="shop", id="plan")
    memories.export(folder / "memories.jsonl", project="shop")
    athand.export(folder / "before.zip")
    athand.documents.add(folder / "notes", folder_id="notes", project="shop")
    athand.documents.add(folder / "spare", folder_id="spare")


def arguments(workspace, folder):
    """Arguments with which every operation has something to do."""
    found = workspace.athand.documents.search("rollback", folder_id="notes")
    return {
        "search": {"query": "rotate tokens", "corpora": ["memories", "documents"], "project": "shop"},
        "open": {"id": "new"},
        **_of_memories(folder),
        **_of_documents(folder, found[0].id),
        "status": {},
        "check_store": {},
        "backup_store": {"path": str(folder / "backup.db")},
        "export_store": {"path": str(folder / "everything.zip"), "force": True},
        "import_store": {"path": str(folder / "before.zip")},
        "reindex": {"corpora": ["memories", "flows"]},
    }


def _of_memories(folder):
    return {
        "memory_search": {
            "query": "rotate tokens",
            "project": "shop",
            "include_superseded": True,
            "include_documents": True,
            "weights": WEIGHTS,
            "since": "9999w",
            "as_of": None,
        },
        "memory_add": {"content": "Tokens live in the vault", "project": "shop", "session": "audit", "tags": ["auth"]},
        "memory_supersede": {"old_id": "plan", "new_id": "new"},
        "memory_timeline": {"anchor_id": "new", "before": 3},
        "memory_brief": {"project": "shop"},
        "memory_get": {"id": "old"},
        "memory_list": {"project": "shop", "since": "2020-01-01", "superseded": True},
        "memory_update": {"id": "other", "tags": ["changed"], "summary": "A title", "clear": ["author"]},
        "memory_related": {"id": "new"},
        "memory_relate": {"source_id": "new", "target_id": "old", "type": "CONFIRMS"},
        "memory_session_context": {"memory_id": "new"},
        "memory_add_many": {"items": [{"content": "One thing", "project": "several"}, {"content": "Another thing"}]},
        "memory_delete": {"id": "doomed", "hard": True},
        "memory_restore": {"id": "deleted"},
        "memory_forget": {"project": "shop", "superseded": True},
        "memory_pin": {"id": "new"},
        "memory_unpin": {"id": "new"},
        "memory_reinforce": {"id": "new", "session": "audit"},
        "memory_deemphasize": {"id": "new", "amount": 0.3},
        "memory_unsupersede": {"old_id": "former"},
        "memory_start_session": {"project": "shop", "id": "today"},
        "memory_end_session": {"id": "audit", "summary": "Followed up the audit"},
        "memory_sessions": {"project": "shop"},
        "memory_search_documents": {"query": "rollback", "project": "shop"},
        "memory_stats": {"project": "shop"},
        "memory_folder": {"command": "create", "path": "/memories/a.md", "file_text": "Staging needs the VPN"},
        "memory_export": {"path": str(folder / "again.jsonl"), "project": "shop"},
        "memory_import": {"path": str(folder / "memories.jsonl")},
    }


def _of_documents(folder, chunk):
    document = {"folder_id": "notes", "document_id": "deploy.md"}
    return {
        "search_content": {"folder_id": "notes", "semantic_concepts": ["rolling back"], "exact_terms": ["Mira"]},
        "search_documents": {"query": "how do I roll back?", "folder_id": ["notes"], "path": "*.md", "once": True},
        "find_documents": {"query": "deploying", "limit": 5},
        "explore": {"folder_id": "notes", "path": ""},
        "list_folders": {},
        "list_documents": {"folder_id": "notes", "path": "*.md"},
        "get_document_data": {**document, "limit": 1},
        "get_document_text": {**document, "start_line": 3, "end_line": 5, "max_chars": 20},
        "get_chunks": {"folder_id": "notes", "chunk_ids": [chunk], "neighbours": 1},
        "add_folder": {"path": str(folder / "notes"), "folder_id": "notes"},
        "refresh_folder": {"folder_id": "notes"},
        "remove_folder": {"folder_id": "spare"},
        "folder_problems": {"folder_id": "notes"},
    }
