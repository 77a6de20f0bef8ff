import json
import os
import re
import shutil
from collections import defaultdict
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from athand import Athand
from athand.documents import refresh
from athand.documents.content_search import concept_calibration
from athand.rank import calibrate_cosine

ROOT = Path(__file__).parents[2]
PARTS = ("docs", "src/athand/documents", "src/athand/store/sqlite")


@pytest.fixture(autouse=True)
def looks_at_once(monkeypatch):
    """Every search looks at its folders first, and waits until it has seen all: no test sleeps."""
    monkeypatch.setattr(refresh, "_MIN_INTERVAL", 0.0)
    monkeypatch.setattr(refresh, "_REST_FACTOR", 0)
    monkeypatch.setattr(refresh, "_MAX_INLINE_SECONDS", 60.0)


class Tree:
    """A folder whose files a test writes; each has a time of its own, long past."""

    def __init__(self, root):
        self.root = root
        self._time = 1_700_000_000
        root.mkdir(parents=True)

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        self._time += 1
        os.utime(file, (self._time, self._time))
        return self

    def write_all(self, files):
        for path, text in files.items():
            self.write(path, text)
        return self

    def remove(self, path):
        (self.root / path).unlink()

    def __fspath__(self):
        return str(self.root)


@pytest.fixture
def documents(athand):
    return athand.documents


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path / "project")


@pytest.fixture
def another_tree(tmp_path):
    return Tree(tmp_path / "elsewhere" / "project")


@pytest.fixture(scope="session")
def real_folder(tmp_path_factory):
    """The project's own documentation and source, as they are now."""
    root = tmp_path_factory.mktemp("real") / "athand"
    for part in PARTS:
        shutil.copytree(ROOT / part, root / part, ignore=shutil.ignore_patterns("__pycache__"))
    return root


@contextmanager
def _filled(location, folder):
    with Athand(location) as opened:
        opened.documents.add(folder)
        yield opened.documents


@pytest.fixture(scope="session")
def real_sqlite(real_folder):
    with _filled(":memory:", real_folder) as documents:
        yield documents


@pytest.fixture(scope="session")
def real_postgres(real_folder, postgres):
    with postgres.database() as url, _filled(url, real_folder) as documents:
        yield documents


@pytest.fixture(params=["sqlite", "postgres"])
def real(request):
    """The documents of the real folder, on each engine; many tests read them, none changes them."""
    return request.getfixturevalue(f"real_{request.param}")


@pytest.fixture
def chunks_of():
    """Every chunk of a store, straight from its table."""

    def chunks_of(documents):
        with documents.store.snapshot() as snapshot:
            found = snapshot.rows("SELECT c.space, c.document_id, c.position, c.id FROM document_chunks c")
        ids = defaultdict(list)
        for space, _, _, id_ in sorted(found):
            ids[space].append(id_)
        return [
            chunk
            for space, listed in ids.items()
            for start in range(0, len(listed), 100)
            for chunk in documents.get_chunks(space, listed[start : start + 100])
        ]

    return chunks_of


class Reference:
    """What a search of content must find, by going through everything once, with nothing clever."""

    def __init__(self, documents):
        self._model = documents.embedder.attempt(lambda model: model)
        with documents.store.snapshot() as snapshot:
            rows = snapshot.rows(
                "SELECT c.space, c.document_id, c.position, c.id, c.heading, c.content FROM document_chunks c"
            )
        self.chunks = sorted(rows)
        texts = [
            f"{' > '.join(json.loads(heading))}\n{text}" if json.loads(heading) else text for *_, heading, text in rows
        ]
        order = sorted(range(len(rows)), key=lambda at: rows[at])
        vectors = self._model.embed_passages([texts[at] for at in order])
        self._vectors = np.asarray(vectors, "<f2").astype(np.float64)

    def semantic(self, concepts):
        """The best of the concepts, for each chunk."""
        asked = np.stack([self._model.embed_query(concept) for concept in concepts]).astype(np.float64)
        cosines = (self._vectors @ asked.T).round(9)
        meant = [concept_calibration(concept, self._model.calibration) for concept in concepts]
        return np.stack([calibrate_cosine(cosines[:, at], each) for at, each in enumerate(meant)]).max(axis=0)

    def search(self, concepts=(), terms=(), least=None):
        """Chunk ids with their unclamped scores, in order."""
        least = least if least is not None else 0.5 if concepts else 0.0
        semantic = self.semantic(concepts) if concepts else np.zeros(len(self.chunks))
        found = []
        for (space, path, position, id_, _, text), score in zip(self.chunks, semantic.tolist(), strict=True):
            present, whole, occurrences = self.present(text, terms)
            total = score * 1.5**present if concepts else 1 - 1.5**-present
            if total >= least and (total or present):
                found.append((-total, -whole, -occurrences, space, path, position, id_))
        return [(place[-1], -place[0]) for place in sorted(found)]

    @staticmethod
    def present(text, terms):
        """How many of the terms are there, how often as whole words, how often at all; plain terms of ASCII only."""
        counts = [len(re.findall(re.escape(term), text, re.IGNORECASE)) for term in terms]
        words = [len(re.findall(rf"(?<!\w){re.escape(term)}(?!\w)", text, re.IGNORECASE)) for term in terms]
        return sum(map(bool, counts)), sum(words), sum(counts)


@pytest.fixture(scope="session")
def reference():
    """The reference for documents that no test changes; to make one takes long."""
    return cache(Reference)


@pytest.fixture
def walk_pages():
    """All pages of a search, one after the other."""

    def walk_pages(documents, *args, **asked):
        answer = documents.search_content(*args, **asked)
        yield answer
        while answer.continuation.next_token:
            answer = documents.search_content(continuation_token=answer.continuation.next_token)
            yield answer

    return walk_pages
