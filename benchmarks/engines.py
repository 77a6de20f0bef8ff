"""Athand and its peers behind one face: build an index in a folder, open it, ask. Each is imported when used."""

import json
import logging
import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Protocol

import numpy as np

from athand.embed import DEFAULT_MODEL, load_embedder
from athand.text import STOP_WORDS
from benchmarks.data import Item, text_of

BATCH = 2000
ATHAND, KEYWORDS = "Athand", "FTS5, stop words dropped"
HYBRID, FTS, VECTOR = "hybrid", "fts", "vector"

Search = Callable[[str, str | None, int], list[str]]  # question, project, limit → ids


class Engine(Protocol):
    name: str
    needs: str

    def build(self, folder: Path, items: Iterable[Item]) -> None: ...

    def open(self, folder: Path) -> AbstractContextManager[Search]: ...


def is_installed(engine: Engine) -> bool:
    return find_spec(engine.needs) is not None


@dataclass(frozen=True)
class AthandEngine:
    name: str = ATHAND
    needs: str = "athand"
    model: str = DEFAULT_MODEL

    def build(self, folder: Path, items: Iterable[Item]) -> None:
        remaining = iter(items)
        with self.store(folder) as athand:
            while batch := list(islice(remaining, BATCH)):
                athand.memories.add_many(batch)

    @contextmanager
    def open(self, folder: Path) -> Iterator[Search]:
        with self.store(folder) as athand:
            search = partial(athand.memories.search, reinforce=False)
            yield lambda text, project, limit: [hit.id for hit in search(text, project=project, limit=limit)]

    def store(self, folder: Path):
        from athand import Athand, Settings

        return Athand(str(folder / "athand.db"), model=self.model, settings=Settings())


@dataclass(frozen=True)
class Fts5:
    """SQLite's own full-text search as its manual shows it: porter stems, default bm25, any of the words."""

    name: str = "FTS5"
    needs: str = "apsw"
    dropped: frozenset[str] = frozenset()

    def build(self, folder: Path, items: Iterable[Item]) -> None:
        import apsw

        connection = apsw.Connection(str(folder / "fts5.db"))
        connection.execute(
            "CREATE VIRTUAL TABLE passages USING fts5"
            "(id UNINDEXED, project UNINDEXED, text, tokenize = 'porter unicode61')"
        )
        rows = ((item["id"], item.get("project"), text_of(item)) for item in items)
        with connection:
            connection.executemany("INSERT INTO passages VALUES (?, ?, ?)", rows)
        connection.close()

    @contextmanager
    def open(self, folder: Path) -> Iterator[Search]:
        import apsw

        connection = apsw.Connection(str(folder / "fts5.db"))

        def search(text: str, project: str | None, limit: int) -> list[str]:
            words = re.findall(r"\w+", text.lower())
            telling = [word for word in words if word not in self.dropped] or words
            match = " OR ".join(f'"{word}"' for word in telling)
            inside = "AND project = :project" if project else ""
            sql = f"SELECT id FROM passages WHERE passages MATCH :match {inside} ORDER BY rank LIMIT :limit"
            found = connection.execute(sql, {"match": match, "project": project, "limit": limit})
            return [row[0] for row in found]

        yield search
        connection.close()


@dataclass(frozen=True)
class Bm25s:
    """With the stop words and the stemmer its manual recommends; a project is a mask over all scores."""

    name: str = "bm25s"
    needs: str = "bm25s"

    def build(self, folder: Path, items: Iterable[Item]) -> None:
        import bm25s

        logging.getLogger("bm25s").setLevel(logging.WARNING)
        kept = [(item["id"], item.get("project"), text_of(item)) for item in items]
        index = bm25s.BM25()
        index.index(_bm25s_words([text for _, _, text in kept], ids=True), show_progress=False)
        index.save(folder)
        (folder / "ids.json").write_text(json.dumps([(id_, project) for id_, project, _ in kept]), encoding="utf-8")

    @contextmanager
    def open(self, folder: Path) -> Iterator[Search]:
        import bm25s

        index = bm25s.BM25.load(folder, mmap=True)
        ids, projects = zip(*json.loads((folder / "ids.json").read_text("utf-8")), strict=True)
        numbers = {project: number for number, project in enumerate(dict.fromkeys(projects))}
        owners = np.array([numbers[project] for project in projects])

        def search(text: str, project: str | None, limit: int) -> list[str]:
            mask = (owners == numbers[project]).astype(np.float32) if project else None
            words, count = _bm25s_words([text], ids=False), min(limit, len(ids))
            found, scores = index.retrieve(words, k=count, show_progress=False, weight_mask=mask)
            return [ids[at] for at, score in zip(found[0], scores[0], strict=True) if score > 0]

        yield search


def _bm25s_words(texts: list[str], *, ids: bool):
    import bm25s
    import Stemmer

    stemmer = Stemmer.Stemmer("english")
    return bm25s.tokenize(texts, stopwords="en", stemmer=stemmer, return_ids=ids, show_progress=False)


@dataclass(frozen=True)
class WordLlamaVectors:
    """Another static model, by its vectors alone: exact cosines in numpy."""

    name: str = "wordllama"
    needs: str = "wordllama"

    def build(self, folder: Path, items: Iterable[Item]) -> None:
        kept = list(items)
        np.save(folder / "vectors.npy", load_wordllama().embed([text_of(item) for item in kept], norm=True))
        (folder / "ids.json").write_text(json.dumps([item["id"] for item in kept]), encoding="utf-8")

    @contextmanager
    def open(self, folder: Path) -> Iterator[Search]:
        model, vectors = load_wordllama(), np.load(folder / "vectors.npy")
        ids = json.loads((folder / "ids.json").read_text("utf-8"))

        def search(text: str, project: str | None, limit: int) -> list[str]:
            cosines = vectors @ model.embed([text], norm=True)[0]
            return [ids[at] for at in np.argsort(-cosines, kind="stable")[:limit] if cosines[at] > 0]

        yield search


def load_wordllama():
    """The model in the package; asked for by name alone, it would download a tokenizer that the package has too."""
    import wordllama

    package = Path(wordllama.__file__).parent
    return wordllama.WordLlama.load(cache_dir=package, disable_download=True)


@dataclass(frozen=True)
class LanceDb:
    """LanceDB over Athand's static vectors: exact vector search, its full-text index, or both by rank fusion."""

    name: str = "LanceDB hybrid"
    needs: str = "lancedb"
    mode: str = HYBRID

    def build(self, folder: Path, items: Iterable[Item]) -> None:
        import pyarrow
        from lancedb.index import FTS as FullText
        from lancedb.index import BTree

        kept = list(items)
        vectors = load_embedder().embed_passages([text_of(item) for item in kept])
        columns = {
            "id": pyarrow.array([item["id"] for item in kept]),
            "project": pyarrow.array([item.get("project") or "" for item in kept]),
            "text": pyarrow.array([text_of(item) for item in kept]),
            "vector": pyarrow.FixedSizeListArray.from_arrays(vectors.ravel(), vectors.shape[1]),
        }
        table = _lancedb(folder).create_table("passages", pyarrow.table(columns))
        table.create_index("text", config=FullText())
        table.create_index("project", config=BTree())

    @contextmanager
    def open(self, folder: Path) -> Iterator[Search]:
        table, embedder = _lancedb(folder).open_table("passages"), load_embedder()

        def search(text: str, project: str | None, limit: int) -> list[str]:
            query = self._query(table, text, embedder)
            if project:
                query = query.where(f"project = '{project}'", prefilter=True)
            return query.limit(limit).to_arrow()["id"].to_pylist()

        yield search

    def _query(self, table, text: str, embedder):
        from lancedb.query import MatchQuery
        from lancedb.rerankers import RRFReranker

        words = MatchQuery(text, "text")
        if self.mode == FTS:
            return table.search(words, query_type="fts")
        if self.mode == VECTOR:
            return table.search(embedder.embed_query(text)).distance_type("cosine")
        both = table.search(query_type="hybrid").vector(embedder.embed_query(text)).text(words)
        return both.distance_type("cosine").rerank(RRFReranker())


def _lancedb(folder: Path):
    os.environ.setdefault("LANCE_LOG", "error")
    import lancedb

    return lancedb.connect(folder / "lance")


@dataclass(frozen=True)
class PerProject:
    """One index per project: what someone does whose engine takes its word statistics from everything it holds."""

    engine: Engine

    def build(self, folder: Path, items: Iterable[Item]) -> None:
        groups: dict[str, list[Item]] = defaultdict(list)
        for item in items:
            groups[item.get("project") or "default"].append(item)
        for project, group in groups.items():
            (folder / project).mkdir()
            self.engine.build(folder / project, group)

    @contextmanager
    def open(self, folder: Path) -> Iterator[Search]:
        with ExitStack() as stack:
            searches = {each.name: stack.enter_context(self.engine.open(each)) for each in folder.iterdir()}

            def search(text: str, project: str | None, limit: int) -> list[str]:
                asked = [searches[project]] if project else searches.values()
                return [id_ for each in asked for id_ in each(text, None, limit)][:limit]

            yield search


ENGINES: tuple[Engine, ...] = (
    AthandEngine(),
    Fts5(),
    Fts5(KEYWORDS, dropped=STOP_WORDS),
    Bm25s(),
    WordLlamaVectors(),
    LanceDb(),
    LanceDb("LanceDB FTS", mode=FTS),
    LanceDb("LanceDB vectors", mode=VECTOR),
)
BY_NAME = {engine.name: engine for engine in ENGINES}
