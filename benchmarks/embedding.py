"""How fast texts become vectors on one core, beside all-MiniLM-L6-v2 and wordllama; each in a fresh process."""

import importlib.util
import random
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from athand.embed import DEFAULT_MODEL, load_embedder
from benchmarks.data import SEED, load_sets, minilm, sentences, shared_folder
from benchmarks.engines import BY_NAME, is_installed, load_wordllama
from benchmarks.fresh import call, run
from benchmarks.tables import table

STARTS = 7
ROUNDS = 5
TEXTS = {DEFAULT_MODEL: 10_000, "all-MiniLM-L6-v2": 200, "wordllama": 10_000}
QUERIES = 200
COMPARED = 2_000

Results = dict[str, Any]


def measure() -> Results:
    """Loading, throughput, a single query, and the distance from the reference."""
    print("embedding: loading …", flush=True)
    starts = [run("benchmarks.loading", one_core=True) for _ in range(STARTS)]
    found: Results = {"load": {key: statistics.median(start[key] for start in starts) for key in starts[0]}}
    found["models"] = {}
    for name in _models():
        print(f"embedding: {name} …", flush=True)
        found["models"][name] = call("benchmarks.embedding:throughput", name, one_core=True)
    return found | {"difference": _difference_from_reference()}


def throughput(name: str) -> dict[str, float]:
    """Texts per second in batches, and milliseconds for one text alone."""
    embed = _embed(name)
    texts = short_texts(TEXTS[name])
    embed(texts[:QUERIES])
    rounds = [len(texts) / _seconds(lambda: embed(texts)) for _ in range(ROUNDS)]
    singles = [_seconds(lambda text=text: embed([text])) * 1000 for text in texts[:QUERIES]]
    length = statistics.mean(map(len, texts))
    return {"texts_per_s": statistics.median(rounds), "query_ms": statistics.median(singles), "characters": length}


def short_texts(count: int) -> list[str]:
    """Sentences of about a hundred characters; repeated, in another order, when there are not enough."""
    chance = random.Random(SEED)
    fitting = [sentence for sentence in sentences(load_sets()) if 60 <= len(sentence) <= 140]
    return [text for _ in range(count // len(fitting) + 1) for text in chance.sample(fitting, len(fitting))][:count]


def _models() -> list[str]:
    present = {"all-MiniLM-L6-v2": minilm() is not None, "wordllama": is_installed(BY_NAME["wordllama"])}
    return [name for name in TEXTS if present.get(name, True)]


def _embed(name: str) -> Callable[[list[str]], Any]:
    if name == "wordllama":
        model = load_wordllama()
        return lambda texts: model.embed(texts, norm=True)
    return load_embedder(name if name == DEFAULT_MODEL else str(minilm())).embed_passages


def _seconds(work: Callable[[], Any]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _difference_from_reference() -> float | None:
    """The largest difference of any number in any vector from the reference; None where it is not at hand."""
    folder = shared_folder("models") / DEFAULT_MODEL
    if not (folder / "reference.py").is_file():
        return None
    spec = importlib.util.spec_from_file_location("reference", folder / "reference.py")
    reference = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(reference)
    texts = [*short_texts(COMPARED), *(item["content"] for each in load_sets() for item in each.items[:COMPARED])]
    ours, theirs = load_embedder().embed_passages(texts), reference.StaticEmbedder(folder).encode(texts)
    return float(np.abs(ours - theirs).max())


def tables(results: Results) -> Iterator[str]:
    """Throughput by model, then how long the start takes."""
    ours = results["models"][DEFAULT_MODEL]["texts_per_s"]
    rows = [
        [name, f"{found['texts_per_s']:,.0f}", f"{ours / found['texts_per_s']:.1f}", f"{found['query_ms']:.2f}"]
        for name, found in results["models"].items()
    ]
    length = results["models"][DEFAULT_MODEL]["characters"]
    yield table(["model", f"texts/s (mean {length:.0f} characters)", "ours / its", "one text ms"], rows)
    alone, whole = results["load"]["model_s"], results["load"]["with_libraries_s"]
    yield f"Loading: {alone:.3f} s; with the imports of numpy and tokenizers {whole:.3f} s."
    if results["difference"] is not None:
        yield f"Largest difference from the reference implementation: {results['difference']:.1e}."


if __name__ == "__main__":
    print("\n" + "\n\n".join(tables(measure())))
