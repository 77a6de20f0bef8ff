"""What hooks of an agent's client need of the store: the brief of a project, and what fits a prompt.

The store is opened for one answer, in a process of its own: with memories, and with documents only where there are
folders. Nothing is created, nothing is counted, and no folder is scanned.
"""

import platform
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from athand.config import Settings, model_options
from athand.corpus import AnyCorpus
from athand.embed import LazyEmbedder
from athand.memories import Memories
from athand.memories.brief import Brief, brief
from athand.memories.sessions import link_session
from athand.search import SearchRequest, search
from athand.store import open_store
from athand.text import tokenize
from athand.types import Hit

# The score from which on a hit is told unasked. Of 50 prompts with their answer among 50 memories, 37 get it, and 97 of
# 100 prompts about other things get nothing (`python -m benchmarks.hooks`). Something in a folder is a little like
# almost any prompt, so documents need more.
LEAST = {"memories": 0.09, "documents": 0.25}
_MOST_CANDIDATES = 20
_HEAD, _TAIL = 1_000, 500  # characters of a long prompt that are searched with: what is pasted stands in the middle
_FEWEST_WORDS = 2  # that say something
# Words of prompts that say nothing about the work.
_FILLERS = frozenset(
    """
    again ahead alright amazing anything awesome bye carry cool continue correct exactly fine finish go going good
    great hello hey hi keep looks lgtm more next nice no nope now ok okay on perfect please proceed resume right same
    see stop sure thank thanks then try undo very wait well work works yeah yep yes
    """.split()
)


def is_there(location: str) -> bool:
    """Whether there is a store: a file, or one on a server."""
    return "://" in location or (location != ":memory:" and Path(location).expanduser().is_file())


def says_something(prompt: str) -> bool:
    """Whether a prompt is worth a search: not "yes", not "go on", and no command of the client."""
    return not prompt.lstrip().startswith("/") and len(set(tokenize(prompt)) - _FILLERS) >= _FEWEST_WORDS


class HookStore:
    """A store, opened for one hook."""

    def __init__(self, location: str, model: str | None, settings: Settings) -> None:
        self._embedder = LazyEmbedder(model or settings.model, model_options(settings))
        self._store = open_store(location, [Memories.schema])
        self._memories = Memories(self._store, self._embedder)
        self._may_read = settings.history

    def brief(self, project: str, max_tokens: int) -> Brief:
        """What to know when work begins, and the memories it names."""
        with self._store.snapshot() as snapshot:
            return brief(snapshot, project, max_tokens, self._memories.now())

    def find(self, prompt: str, project: str, known: Collection[str], most: int) -> list[Hit]:
        """What fits a prompt well enough, best first, in the project and in what belongs to none; nothing known."""
        if not says_something(prompt):
            return []
        text = prompt if len(prompt) <= _HEAD + _TAIL else f"{prompt[:_HEAD]}\n{prompt[-_TAIL:]}"
        request = SearchRequest.check(
            self._corpora(), text, None, _MOST_CANDIDATES, min(LEAST.values()), project=project
        )
        hits = [hit for hit in search(self._store, request) if hit.score >= LEAST[hit.corpus]]
        return [hit for hit in hits if hit.id not in known][:most]

    def link(self, session: str, project: str, ids: Sequence[str], *, ended: bool) -> None:
        """Links a session with the memories that it was told of, and ends it."""
        link_session(self._memories, session, project, ids, ended=ended)

    def read_transcript(self, path: str, project_of: Callable[[str | None], str]) -> None:
        """Reads on in the transcript of a session, if the user allows it."""
        from athand.memories.history.importer import import_history
        from athand.memories.history.transcripts import Transcript

        if self._may_read and Path(path).suffix == ".jsonl":
            import_history(self._memories, [Transcript("claude-code", Path(path))], project_of, platform.node())

    def _corpora(self) -> dict[str, AnyCorpus]:
        """Memories, and documents if there are any: their modules take a sixth of the time of a hook."""
        corpora: dict[str, AnyCorpus] = {"memories": self._memories}
        with self._store.snapshot() as snapshot:
            has_folders = bool(snapshot.rows("SELECT 1 FROM document_folders LIMIT 1"))
        if has_folders:
            from athand.documents import Documents

            corpora["documents"] = Documents(self._store, self._embedder, scans=False)
        return corpora

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._store.close()
