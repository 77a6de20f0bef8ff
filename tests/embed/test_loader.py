import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from athand.embed import loader
from athand.embed.loader import LazyEmbedder, ModelOptions, load_embedder
from athand.embed.models import MODELS
from athand.errors import InvalidInput, StoreError, Unavailable


def test_the_default_is_the_bundled_model():
    assert load_embedder().model_id == "athand-static-1"


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("all-minilm-l6-v2", "all-MiniLM-L6-v2"),
        ("BAAI/bge-small-en", "bge-small-en-v1.5"),
        ("athnd-static", "athand-static-1"),
    ],
)
def test_an_unknown_name_is_told_the_closest(name, meant):
    with pytest.raises(InvalidInput, match=f"Did you mean {meant}\\? Known: .*folder.*openai:"):
        load_embedder(name)


@pytest.mark.parametrize("name", ["", "x" * 5_000, "nul\0", "/nowhere/at/all", "zzz"])
def test_nonsense_names_are_invalid_input(name):
    with pytest.raises(InvalidInput, match="No model named"):
        load_embedder(name)


def test_a_named_model_that_cannot_be_had_is_unavailable(tmp_path, monkeypatch):
    pytest.importorskip("onnxruntime")

    def absent(card, cache_dir):
        raise Unavailable(f"{card.name} into {cache_dir}")

    monkeypatch.setattr("athand.embed.download.fetch_model", absent)
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    for name in MODELS.keys() - {"athand-static-1"}:
        with pytest.raises(Unavailable, match=f"{name}.* into {tmp_path}"):
            load_embedder(name, ModelOptions(cache_dir=tmp_path, device="cpu"))


def test_a_named_model_is_run_from_its_folder(minilm_folder, monkeypatch):
    monkeypatch.setattr("athand.embed.download.fetch_model", lambda card, cache_dir: minilm_folder)
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    embedder = load_embedder("all-MiniLM-L6-v2")
    assert embedder.model_id == "all-MiniLM-L6-v2" and embedder.dimensions == 384


def test_all_stores_of_a_process_share_the_bundled_model():
    with ThreadPoolExecutor(8) as threads:
        loaded = list(threads.map(lambda _: load_embedder(), range(8)))
    assert len(set(map(id, loaded))) == 1


def test_an_endpoint_is_not_asked_before_it_is_needed():
    options = ModelOptions(base_url="http://127.0.0.1:9/v1", api_key="sk-secret")
    assert load_embedder("openai:small", options).model_id == "openai:small@127.0.0.1:9"
    assert "sk-secret" not in repr(options)


def test_lazy_loads_once_whoever_asks(monkeypatch):
    loads, fake = [], SimpleNamespace(embed_query=len, model_id="fake")
    monkeypatch.setattr(loader, "load_embedder", lambda name, options: loads.append(name) or fake)
    lazy = LazyEmbedder("athand-static-1")
    assert not loads
    threads = [threading.Thread(target=lazy.attempt, args=(lambda model: model.model_id,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert loads == ["athand-static-1"]
    assert lazy.attempt(lambda model: model.model_id) == "fake"
    assert lazy.problem is None


def test_a_question_that_goes_to_several_corpora_is_embedded_once(monkeypatch):
    asked = []
    real = loader.load_embedder()
    fake = SimpleNamespace(embed_query=lambda text: asked.append(text) or real.embed_query(text))
    monkeypatch.setattr(loader, "load_embedder", lambda name, options: fake)
    lazy = LazyEmbedder("athand-static-1")
    one, other = (lazy.attempt(lambda model: model.embed_query("deploy to staging")) for _ in range(2))
    assert (one == other).all()
    assert asked == ["deploy to staging"]
    with pytest.raises(ValueError, match="read-only"):
        one[0] = 1.0


def test_a_model_that_does_not_answer_is_said_once_and_tried_again_later(monkeypatch, caplog):
    answers = [Unavailable("It sleeps."), Unavailable("It sleeps."), "awake"]

    def ask(_embedder):
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    lazy = LazyEmbedder("athand-static-1")
    with caplog.at_level(logging.WARNING, "athand"):
        assert lazy.attempt(ask) is None
        assert lazy.attempt(ask) is None
        assert len(answers) == 2, "not asked again at once"
        lazy._retry_at = 0
        assert lazy.attempt(ask) is None
        assert lazy.problem == "It sleeps."
        lazy._retry_at = 0
        assert lazy.attempt(ask) == "awake"
    assert lazy.problem is None
    assert caplog.text.count("Searching by keyword only") == 1


def test_an_error_of_the_store_is_not_taken_for_one_of_the_model():
    def read_the_store(_embedder):
        raise StoreError("The disk is gone.")

    lazy = LazyEmbedder("athand-static-1")
    with pytest.raises(StoreError):
        lazy.attempt(read_the_store)
    assert lazy.problem is None


def test_an_unknown_name_is_refused_at_once():
    with pytest.raises(InvalidInput, match="No model named 'no-such-model'"):
        LazyEmbedder("no-such-model")
