"""How well questions about folders are answered, beside plain BM25, LanceDB and semble.

Weights were looked for on the questions of the part "tune"; figures are of "report" (docs/ranking.md says how far
that was in view). All engines search one folder at a
time. The keyword engines and LanceDB search the very chunks that Athand has made; semble makes its own, with the
same static vectors.
"""

import fnmatch
import hashlib
import json
import math
import re
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from athand import Athand, Settings
from benchmarks.code_sources import fetch
from benchmarks.data import CACHE, ROOT, shared_folder
from benchmarks.engines import BY_NAME, PerProject
from benchmarks.questions.check import load
from benchmarks.tables import bold_best, table

K8S = "documents/k8s-dev"
PEERS = ("bm25s", "LanceDB FTS", "LanceDB hybrid")
SEMBLE = "semble"
LIMIT, DEEP = 10, 50  # chunks: for places, and enough for ten pages
OWN = ("docs", "src", "tests")

Question = Mapping[str, Any]
Place = tuple[str, int, int]  # a path, its first and its last line
Ask = Callable[[str, str, int], list[Place]]  # folder, question, how many


@dataclass(frozen=True)
class Folders:
    """A store with every folder in it."""

    athand: Athand

    def ask(self, folder: str, query: str, limit: int) -> list[Place]:
        hits = self.athand.documents.search(query, folder_id=folder, limit=limit, min_score=0.0)
        return [(hit.item.document_id, hit.item.start_line, hit.item.end_line) for hit in hits]

    def chunks(self) -> Iterator[dict[str, Any]]:
        """Every chunk as an item for the other engines; its id tells where it is."""
        for folder in self.athand.documents.list_folders():
            for document in self._documents(folder.folder_id):
                data = self.athand.documents.get_document_data(folder.folder_id, document, limit=500)
                ids = [chunk.chunk_id for chunk in data.chunks]
                for start in range(0, len(ids), 100):
                    for each in self.athand.documents.get_chunks(folder.folder_id, ids[start : start + 100]):
                        place = json.dumps([document, each.start_line, each.end_line])
                        text = "\n".join(("/".join(each.heading), each.content))
                        yield {"id": place, "content": text, "project": folder.folder_id}

    def _documents(self, folder_id: str) -> Iterator[str]:
        token = None
        while True:
            page = self.athand.documents.list_documents(folder_id, limit=500, continuation_token=token)
            yield from (document.document_id for document in page)
            if not (token := page.continuation.next_token):
                return


def measure() -> dict[str, Any]:
    """All sets with all engines that are installed."""
    questions = {"k8s": _k8s_questions(), "code": load("code"), "pages": load("pages")}
    paths = fetch() | {"k8s": shared_folder("data") / K8S / "files"}
    with TemporaryDirectory(dir=CACHE) as work, ExitStack() as stack:
        athand = stack.enter_context(Athand(Path(work) / "athand.db", settings=Settings()))
        for name, path in paths.items():
            athand.documents.add(path, folder_id=name)
        folders = Folders(athand)
        engines: dict[str, Ask] = {"Athand": folders.ask}
        for name in PEERS:
            if find_spec(BY_NAME[name].needs):
                engines[name] = _peer(name, folders, Path(work), stack)
        found = {name: {of: _measure(ask, asked) for of, asked in questions.items()} for name, ask in engines.items()}
        if find_spec(SEMBLE):
            found[SEMBLE] = {"code": _measure(_semble(paths, Path(work)), questions["code"])}
    return {"engines": found, "own": _own()}


def _k8s_questions() -> list[Question]:
    lines = (shared_folder("data") / K8S / "queries.jsonl").read_text("utf-8").splitlines()
    return [{**(each := json.loads(line)), "repo": "k8s", "part": _part(each["id"])} for line in lines]


def _part(id_: str) -> str:
    """Half of the questions, whichever they are."""
    return "tune" if hashlib.md5(id_.encode()).digest()[0] % 2 else "report"


def _peer(name: str, folders: Folders, work: Path, stack: ExitStack) -> Ask:
    engine = PerProject(BY_NAME[name])
    folder = work / name.replace(" ", "-")
    folder.mkdir()
    print(f"Building {name} …", flush=True)
    engine.build(folder, folders.chunks())
    search = stack.enter_context(engine.open(folder))
    return lambda repo, query, limit: [tuple(json.loads(id_)) for id_ in search(query, repo, limit)]


def _semble(paths: Mapping[str, Path], work: Path) -> Ask:
    from semble.index.index import SembleIndex

    model = str(_as_model2vec(work / "model"))
    print("Building semble …", flush=True)
    indexes = {repo: SembleIndex.from_path(paths[repo], model_path=model) for repo in {q["repo"] for q in load("code")}}

    def ask(repo: str, query: str, limit: int) -> list[Place]:
        chunks = [found.chunk for found in indexes[repo].search(query, top_k=limit)]
        return [(chunk.file_path, chunk.start_line, chunk.end_line) for chunk in chunks]

    return ask


def _as_model2vec(folder: Path) -> Path:
    """The bundled vectors in the form that semble reads."""
    import numpy as np
    from safetensors.numpy import save_file

    from athand.embed import load_embedder

    folder.mkdir()
    source, embedder = Path(load_embedder.__code__.co_filename).parent / "athand_static_1", load_embedder()
    (folder / "tokenizer.json").write_bytes((source / "tokenizer.json").read_bytes())
    rows = embedder._table(np.arange(len(embedder._packed)))
    save_file({"embeddings": rows}, folder / "model.safetensors")
    config = {"model_type": "model2vec", "normalize": True, "hidden_dim": rows.shape[1], "seq_length": 1_000_000}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder


def _measure(ask: Ask, questions: Sequence[Question]) -> dict[str, dict[str, float]]:
    """The mean of every measure, by part; and of all together."""
    by_part: dict[str, list[dict[str, float]]] = defaultdict(list)
    for question in questions:
        scores = score(ask(question["repo"], question["query"], DEEP), question["relevant"])
        by_part[question["part"]].append(scores)
        by_part["all"].append(scores)
    return {
        part: {"questions": len(found), **{name: statistics.fmean(each[name] for each in found) for name in found[0]}}
        for part, found in by_part.items()
    }


def score(found: Sequence[Place], relevant: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Places: nDCG@10, each credited once. Pages: nDCG@10 of chunks by file, hit@5 and MRR@10 of distinct files."""
    paths = {place["path"] for place in relevant}
    pages = list(dict.fromkeys(path for path, _, _ in found))[:LIMIT]
    rank = next((at for at, path in enumerate(pages) if path in paths), None)
    scores = {
        "file_ndcg": _ndcg([{path} & paths for path, _, _ in found[:LIMIT]], len(paths)),
        "hit5": float(rank is not None and rank < 5),
        "mrr": 0.0 if rank is None else 1 / (rank + 1),
    }
    if "start_line" in relevant[0]:
        scores["ndcg"] = _ndcg([_answered(place, relevant) for place in found[:LIMIT]], len(relevant))
    return scores


def _answered(place: Place, relevant: Sequence[Mapping[str, Any]]) -> set[Any]:
    path, first, last = place
    return {
        at
        for at, each in enumerate(relevant)
        if each["path"] == path and first <= each["end_line"] and last >= each["start_line"]
    }


def _ndcg(answers: Sequence[set[Any]], wanted: int) -> float:
    seen: set[Any] = set()
    gained = 0.0
    for at, answered in enumerate(answers):
        if answered - seen:
            gained += 1 / math.log2(at + 2)
        seen |= answered
    return gained / sum(1 / math.log2(at + 2) for at in range(min(wanted, LIMIT)))


def _own() -> dict[str, float]:
    """Of the best ten passages of this project's own folder, how many are relevant, by the rules of own.jsonl."""
    with Athand(":memory:", settings=Settings()) as athand:
        for name in OWN:
            athand.documents.add(ROOT / name, folder_id=name)
        questions = load("own")
        by_part: dict[str, list[float]] = defaultdict(list)
        for question in questions:
            found = athand.documents.search_content(
                semantic_concepts=question["semantic_concepts"], exact_terms=question["exact_terms"]
            ).data.results
            if found:
                by_part[question["part"]].append(statistics.fmean(_is_relevant(question, each) for each in found))
            else:
                by_part[f"{question['part']} without an answer"].append(1.0)
    return {part: statistics.fmean(found) if "without" not in part else len(found) for part, found in by_part.items()}


def _is_relevant(question: Question, result: Any) -> bool:
    path = f"{result.folder_id}/{result.document_id}"
    fits = any(fnmatch.fnmatch(path, glob) for glob in question["relevant_paths"])
    return fits or any(re.search(each, result.content, re.IGNORECASE) for each in question["relevant_patterns"])


def tables(results: dict[str, Any]) -> Iterator[str]:
    """Every set with its engines, on the questions of the part "report"."""
    for name, measures in (("k8s", ("hit5", "mrr")), ("pages", ("hit5", "mrr")), ("code", ("ndcg", "file_ndcg"))):
        rows = {engine: found[name]["report"] for engine, found in results["engines"].items() if name in found}
        columns = [bold_best([found[measure] for found in rows.values()]) for measure in measures]
        count = int(next(iter(rows.values()))["questions"])
        yield f"{name}, {count} questions of the part report"
        yield table(("engine", *measures), list(zip(rows, *columns, strict=True)))
    own = ", ".join(f"{part} {value:.2f}" for part, value in sorted(results["own"].items()))
    yield f"search_content over this project, precision of what is on the first page: {own}."


if __name__ == "__main__":
    print("\n\n".join(tables(measure())))
