"""The service of the documents corpus: one method per operation."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from athand.corpus import CorpusQuestion, Match, Names, Ranking, Report, empty_answer
from athand.documents import browse, content_request, content_response, content_search, folders, index, search
from athand.documents.context import DocumentContext
from athand.documents.cursors import Cursors, load_cursors
from athand.documents.folders import FolderRecord
from athand.documents.model import (
    Chunks,
    Directory,
    DocumentData,
    DocumentHit,
    DocumentList,
    DocumentText,
    Folder,
    FoundDocuments,
    Problem,
    SearchContentResponse,
)
from athand.documents.parameters import (
    AnyFolderId,
    ChunkIds,
    Concepts,
    DirectoryOrPattern,
    DirectoryPath,
    DocumentId,
    EndLine,
    ExactTerms,
    FewPerPage,
    FolderId,
    FolderProject,
    HundredPerPage,
    ManyPerPage,
    MaxChars,
    Neighbours,
    NewFolderId,
    Once,
    PageTokens,
    PathPattern,
    StartLine,
    Subject,
    Wait,
)
from athand.documents.refresh import FolderRefresher, FolderWatcher
from athand.documents.search import DocumentRanking, DocumentSearchRequest
from athand.embed import LazyEmbedder
from athand.errors import InvalidInput, NotFound, Refused
from athand.inputs import check_name
from athand.parameters import ByOwner, ContinuationToken, FilePath, FolderIds, Limit, MinScore, Question
from athand.store import Snapshot, Store
from athand.types import Hits

_NO_FOLDER = "No folder of documents is attached. Add one with: athand docs add PATH"
_NEIGHBOURS = 1  # chunks before and after one that is opened


class Documents(DocumentContext):
    """The documents of a store: registered folders and their indexed files."""

    def __init__(self, store: Store, embedder: LazyEmbedder, *, scans: bool = True, **options: Any) -> None:
        super().__init__(store, embedder, **options)
        self._scans = scans  # folders, before they are searched
        self._refresher = FolderRefresher(self)
        self._content_cache = content_search.create_cache()
        self._watcher: FolderWatcher | None = None
        self._loaded_cursors: Cursors | None = None

    # Folders

    def add(
        self,
        path: FilePath,
        *,
        folder_id: NewFolderId = None,
        project: FolderProject = None,
        wait: Wait = True,
        progress: Callable[[int, int], None] | None = None,
    ) -> Folder:
        """Add a folder and index its files; a folder that is known already is brought up to date."""
        real = folders.check_folder_path(path)
        owner = None if project is None else check_name("project", project)
        own = folders.register(self, real, folder_id, owner)
        if wait:
            return self.refresh(own, progress=progress)
        with self.store.snapshot() as snapshot:
            self._refresher.start_background(folders.get_folder(snapshot, own))
        return self._describe_folder(own)

    def refresh(
        self, folder_id: FolderId, *, progress: Callable[[int, int], None] | None = None, by_owner: ByOwner = True
    ) -> Folder:
        """Bring the index of a folder up to date now. Searches notice changes by themselves after a while."""
        with self.store.snapshot() as snapshot:
            folder = folders.get_folder(snapshot, folder_id)
        if folder.is_waiting and not by_owner:
            raise Refused(f"{folder.path} came with an archive. Its owner may add it: athand docs add {folder.path}")
        self._refresher.refresh(folder, progress or (lambda done, total: None))
        return self._describe_folder(folder_id)

    def remove(self, folder_id: FolderId) -> Folder:
        """Remove a folder and everything that was indexed of it; its files are not touched."""
        folder = self._describe_folder(folder_id)
        if self._watcher is not None:
            self._watcher.remove(folder_id)
        self._refresher.remove(folder_id, lambda: index.forget_folder(self, folder_id))
        return folder

    def list_folders(self) -> list[Folder]:
        """List all folders of documents, their state, and how much is in them."""
        with self.store.snapshot() as snapshot:
            return folders.describe_folders(self, snapshot)

    def problems(self, folder_id: AnyFolderId = None) -> list[Problem]:
        """List the files that could not be indexed, or only in part, each with its reason."""
        with self.store.snapshot() as snapshot:
            searched = self._resolve_folders(snapshot, folder_id)
            return [problem for folder in searched for problem in folders.list_problems(snapshot, folder.folder_id)]

    def watch(self, folder_id: FolderIds = None, *, changed: Callable[[str, int], None] | None = None) -> None:
        """Watches folders and indexes changes until the store is closed; calls `changed(folder_id, path_count)`."""
        with self.store.snapshot() as snapshot:
            watched = self._resolve_folders(snapshot, folder_id)
        if self._watcher is None:
            self._watcher = FolderWatcher(self._refresher, changed or (lambda folder_id, paths: None))
        self._watcher.add(watched)

    # Searching

    def search_content(
        self,
        folder_id: FolderIds = None,
        *,
        semantic_concepts: Concepts = (),
        exact_terms: ExactTerms = (),
        min_score: MinScore = None,
        limit: FewPerPage = 10,
        continuation_token: ContinuationToken = None,
        max_tokens: PageTokens = None,
        path: PathPattern = None,
    ) -> SearchContentResponse:
        """Find every passage about the concepts, first those that have the exact terms; page by page, none twice.

        Give at least one concept or term. With terms alone it finds whatever contains one of them, as grep does.
        """
        given = {name: value for name, value in locals().items() if name != "self"}
        request = content_request.parse_request(given, self._cursors)
        with self._open_refreshed(request.folder_ids) as (snapshot, searched):
            freshness = self._refresher.freshness(searched)
            return content_response.build_response(
                self, request, snapshot, searched, self._cursors, self._content_cache, freshness
            )

    def search(
        self,
        query: Question,
        *,
        folder_id: FolderIds = None,
        limit: Limit = 10,
        path: PathPattern = None,
        min_score: MinScore = None,
        once: Once = False,
    ) -> Hits[DocumentHit]:
        """Find the passages that answer a question, best first, each with why; nothing if nothing fits."""
        request = search.make_request(
            self, query, folder_id=folder_id, limit=limit, path=path, min_score=min_score, once=once
        )
        self._refresh(folder_id)
        if request.query.text.strip():
            return self.find(request)
        with self.store.snapshot() as snapshot:
            return Hits(freshness=self._refresher.freshness(self._resolve_folders(snapshot, folder_id)))

    def search_project(
        self, query: str, project: str | None, limit: int, *, min_score: float | None = None, once: bool = False
    ) -> Hits[DocumentHit]:
        """Searches the folders of a project and those without a project; all folders when `project` is None."""
        ids = self._project_folders(project)
        if not ids:
            return Hits(notes=[_NO_FOLDER])
        return self.search(query, folder_id=ids, limit=limit, min_score=min_score, once=once)

    def find_documents(
        self,
        query: Subject = "",
        *,
        folder_id: FolderIds = None,
        limit: HundredPerPage = 20,
        continuation_token: ContinuationToken = None,
    ) -> FoundDocuments:
        """Find the documents that are about something, best first: paths, titles and key phrases, no content."""
        cursors = self._cursors
        with self._open_refreshed(folder_id) as (snapshot, searched):
            spaces = tuple(folder.folder_id for folder in searched)
            return search.find_documents(
                self,
                snapshot,
                query,
                spaces,
                limit,
                continuation_token,
                cursors,
                lambda: self._refresher.freshness(searched),
            )

    # Browsing

    def explore(self, folder_id: FolderId, path: DirectoryPath = "") -> Directory:
        """List what is in a directory: its subfolders with counts and key phrases, and its documents."""
        with self._open_refreshed(self._check_folder_id(folder_id)) as (snapshot, searched):
            return browse.explore(snapshot, folder_id, path, self._refresher.freshness(searched))

    def list_documents(
        self,
        folder_id: FolderId,
        path: DirectoryOrPattern = "",
        limit: ManyPerPage = 20,
        continuation_token: ContinuationToken = None,
    ) -> DocumentList:
        """List the documents of a folder, ordered by path."""
        cursors = self._cursors
        with self._open_refreshed(self._check_folder_id(folder_id)) as (snapshot, searched):
            found = browse.list_documents(snapshot, folder_id, path, limit, continuation_token, cursors)
            return replace(found, freshness=self._refresher.freshness(searched))

    def get_document_data(
        self,
        folder_id: FolderId,
        document_id: DocumentId,
        *,
        limit: ManyPerPage = 50,
        continuation_token: ContinuationToken = None,
    ) -> DocumentData:
        """Show an overview of a document: key phrases, outline with line numbers, its chunks with how they begin."""
        cursors = self._cursors
        with self._open_refreshed(self._check_folder_id(folder_id)) as (snapshot, searched):
            return browse.get_document_data(
                snapshot,
                folder_id,
                document_id,
                limit,
                continuation_token,
                cursors,
                self._refresher.freshness(searched),
            )

    def get_document_text(
        self,
        folder_id: FolderId,
        document_id: DocumentId,
        *,
        start_line: StartLine = None,
        end_line: EndLine = None,
        max_chars: MaxChars = 5000,
        continuation_token: ContinuationToken = None,
    ) -> DocumentText:
        """Read the exact text of a document, by lines or piece by piece."""
        cursors = self._cursors
        with self._open_refreshed(self._check_folder_id(folder_id)) as (snapshot, searched):
            found = browse.get_document_text(
                snapshot, folder_id, document_id, start_line, end_line, max_chars, continuation_token, cursors
            )
            return replace(found, freshness=self._refresher.freshness(searched))

    def get_chunks(self, folder_id: FolderId, chunk_ids: ChunkIds, neighbours: Neighbours = 0) -> Chunks:
        """Read passages by their ids, with those around them, in the order of their documents."""
        with self._open_refreshed(self._check_folder_id(folder_id)) as (snapshot, searched):
            found = browse.get_chunks(snapshot, folder_id, chunk_ids, neighbours)
            return Chunks(found, freshness=self._refresher.freshness(searched))

    # What the base class asks for

    def open(self, id: str, names: Names = None) -> Chunks | DocumentText:
        """A passage by its id with those around it; or a document by its place: folder/path or folder/path:line."""
        if "/" in id:
            folder_id, document_id, line = browse.parse_place(id)
            return self.get_document_text(folder_id, document_id, start_line=line)
        with self._open_refreshed(None) as (snapshot, searched):
            folder_id = browse.find_folder_of(snapshot, id, [each.folder_id for each in searched])
            found = browse.get_chunks(snapshot, folder_id, [id], _NEIGHBOURS)
            return Chunks(found, freshness=self._refresher.freshness(searched))

    def make_request(self, question: CorpusQuestion) -> DocumentSearchRequest:
        """The request of a search over all corpora: each document once, with its best passage."""
        folder_id = question.folder_id
        if folder_id is None and question.project is not None:
            folder_id = self._project_folders(question.project)
        self._refresh(folder_id)
        return search.make_request(
            self, question.text, folder_id=folder_id, limit=question.limit, min_score=question.min_total, once=True
        )

    def rank(self, snapshot: Snapshot, request: DocumentSearchRequest) -> DocumentRanking:
        """The chunks that answer a request, best first."""
        if isinstance(request.folder_id, tuple) and not request.folder_id:
            return Ranking(request, (), {}, {}, empty_answer(self.index, _NO_FOLDER))
        searched = self._resolve_folders(snapshot, request.folder_id)
        ranking = search.rank_chunks(self, snapshot, request, tuple(folder.folder_id for folder in searched))
        return replace(ranking, freshness=self._refresher.freshness(searched))

    def to_hits(self, snapshot: Snapshot, ranking: DocumentRanking, matches: Sequence[Match]) -> list[DocumentHit]:
        """The hits with content, key phrases, highlights and explanation."""
        return search.to_hits(snapshot, ranking, matches)

    def renew_derived_columns(self) -> None:
        """Chooses the key phrases of all documents anew."""
        with self.store.snapshot() as snapshot:
            known = folders.all_folders(snapshot)
        for folder in known:
            index.update_key_phrases(self, folder.folder_id, self.closing.is_set, drift=0)

    def reindex(self, progress: Callable[[int], None] = lambda done: None) -> int:
        """Rebuilds index and vectors from the stored chunks; returns the number of documents."""
        super().reindex(progress)
        self._content_cache.clear()
        with self.store.snapshot() as snapshot:
            return int(snapshot.rows("SELECT count(*) FROM documents")[0][0])

    def report(self) -> Report:
        """The folders with their numbers of documents and chunks, and those that cannot be read."""
        found = self.list_folders()
        facts = {
            "count": sum(folder.documents for folder in found),
            "chunks": sum(folder.chunks for folder in found),
            "folders": [folder.to_dict() for folder in found],
        }
        return facts, [f"{each.folder_id} is {each.state}: {each.reason}" for each in found if each.reason]

    def close(self) -> None:
        """Stops watching and indexing; the next search or refresh resumes an interrupted update."""
        self.closing.set()
        self.readers.close()  # kills a reader at work, so that nothing below waits for it
        if self._watcher is not None:
            self._watcher.stop()
        self._refresher.close()
        self.readers.close()

    @property
    def _cursors(self) -> Cursors:
        if self._loaded_cursors is None:
            self._loaded_cursors = load_cursors(self.store)
        return self._loaded_cursors

    @contextmanager
    def _open_refreshed(self, folder_id: FolderIds) -> Iterator[tuple[Snapshot, list[FolderRecord]]]:
        """Refreshes the folders where due, then opens a snapshot; yields it with the folders."""
        self._refresh(folder_id)
        with self.store.snapshot() as snapshot:
            yield snapshot, self._resolve_folders(snapshot, folder_id)

    def _refresh(self, folder_id: FolderIds) -> None:
        if not self._scans:
            return
        with self.store.snapshot() as snapshot:
            searched = self._resolve_folders(snapshot, folder_id)
        self._refresher.refresh_stale(searched)

    def _project_folders(self, project: str | None) -> tuple[str, ...]:
        """The folders of a project and those without a project; all folders when it is None."""
        with self.store.snapshot() as snapshot:
            own = folders.all_folders(snapshot) if project is None else folders.project_folders(snapshot, project)
        return tuple(folder.folder_id for folder in own)

    def _resolve_folders(self, snapshot: Snapshot, folder_id: FolderIds) -> list[FolderRecord]:
        if folder_id is None or (isinstance(folder_id, (str, list, tuple)) and not folder_id):
            return folders.all_folders(snapshot)
        named = [folder_id] if isinstance(folder_id, str) else folder_id
        if not isinstance(named, (list, tuple, set, frozenset)) or not all(isinstance(each, str) for each in named):
            raise InvalidInput(f"folder_id must be a name or a list of names, not {folder_id!r}.")
        return [folders.get_folder(snapshot, each) for each in dict.fromkeys(named)]

    def _check_folder_id(self, folder_id: object) -> str:
        """A folder id that is a single, non-empty name; else NotFound."""
        if not isinstance(folder_id, str) or not folder_id:
            raise NotFound(f"No folder {folder_id!r}. See which there are with: athand docs status")
        return folder_id

    def _describe_folder(self, folder_id: str) -> Folder:
        self._check_folder_id(folder_id)
        with self.store.snapshot() as snapshot:
            found = folders.describe_folders(self, snapshot, folder_id)
        if not found:
            raise NotFound(f"No folder {folder_id!r}. See which there are with: athand docs status")
        return found[0]
