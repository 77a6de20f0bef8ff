import json
import logging
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from athand.embed.calibrate import calibrate_vectors
from athand.embed.loader import load_embedder
from athand.embed.models import MODELS, ModelCard
from athand.embed.onnx import CPU, OnnxEmbedder, _choose_output, _make_batches, _pool, choose_provider
from athand.errors import DataError, InvalidInput, Unavailable

CARD = ModelCard("minilm", "onnx", 384, max_tokens=256)


def test_the_similarities_are_those_the_authors_publish(minilm):
    vectors = minilm.embed_passages(
        ["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."]
    )
    published = [[1.0, 0.6660, 0.1046], [0.6660, 1.0, 0.1411], [0.1046, 0.1411, 1.0]]
    assert np.allclose(vectors @ vectors.T, published, atol=2e-4)


def test_the_search_scores_are_those_the_authors_publish(minilm):
    published = {
        "A man is eating food.": 0.7035,
        "A man is eating a piece of bread.": 0.5272,
        "A man is riding a horse.": 0.1889,
        "A man is riding a white horse on an enclosed ground.": 0.1047,
        "A cheetah is running behind its prey.": 0.0980,
    }
    scores = minilm.embed_passages(list(published)) @ minilm.embed_query("A man is eating pasta.")
    assert np.allclose(scores, list(published.values()), atol=2e-4)


def test_a_batch_gives_what_each_text_gives_alone_and_in_order(minilm):
    texts = ["cat", "", "the quick brown fox " * 40, "a dog", "日本語", " \n", "b" * 3_000] * 7
    batch = minilm.embed_passages(texts)
    alone = np.stack([minilm.embed_passages([text])[0] for text in texts[:7]] * 7)
    assert batch.shape == (49, 384) and batch.dtype == np.float32
    assert np.allclose(batch, alone, atol=1e-4)
    assert np.allclose(np.linalg.norm(batch, axis=1), [bool(text.strip()) for text in texts], atol=1e-5)


def test_no_texts_empty_texts_and_broken_unicode_are_answered(minilm):
    assert minilm.embed_passages([]).shape == (0, 384)
    assert not minilm.embed_query("").any()
    assert np.linalg.norm(minilm.embed_query("half a pair \ud800")) == pytest.approx(1, abs=1e-5)


def test_a_megabyte_is_cut_not_read(minilm):
    long = minilm.embed_query("agent memory " * 100_000)
    assert np.allclose(long, minilm.embed_query("agent memory " * 1_000), atol=1e-5)


def test_the_prefix_goes_on_queries_only(minilm_folder, minilm):
    prefixed = OnnxEmbedder(minilm_folder, replace(CARD, query_prefix="weather report: "), "cpu")
    assert np.allclose(prefixed.embed_query("rain"), minilm.embed_query("weather report: rain"), atol=1e-5)
    assert np.allclose(prefixed.embed_passages(["rain"]), minilm.embed_passages(["rain"]), atol=1e-5)
    assert not prefixed.embed_query(" ").any()


def test_cls_pooling_takes_the_first_token(minilm_folder, minilm):
    first = OnnxEmbedder(minilm_folder, replace(CARD, pooling="cls"), "cpu")
    assert first.dimensions == 384
    assert first.embed_query("rain") @ minilm.embed_query("rain") < 0.99


def test_pooling_reads_tokens_by_mask_and_sentence_vectors_as_they_are():
    hidden = np.array([[[2, 0], [4, 2], [100, 100]]], np.float32)
    mask = np.array([[1, 1, 0]])
    assert _pool(hidden, mask, "mean").tolist() == [[3, 1]]
    assert _pool(hidden, mask, "cls").tolist() == [[2, 0]]
    assert _pool(np.array([[5, 6]], np.float32), mask, "mean").tolist() == [[5, 6]]


def test_the_output_is_the_hidden_state_else_tokens_else_sentences():
    def outputs(**ranks):
        return [SimpleNamespace(name=name, shape=[1] * rank) for name, rank in ranks.items()]

    assert _choose_output(outputs(other=3, last_hidden_state=3), Path()) == "last_hidden_state"
    assert _choose_output(outputs(pooled=2, tokens=3), Path()) == "tokens"
    assert _choose_output(outputs(sentence_embedding=2), Path()) == "sentence_embedding"
    with pytest.raises(DataError, match="no token or sentence vectors"):
        _choose_output(outputs(loss=1), Path())


def test_batches_are_bounded_in_number_and_tokens():
    lengths = [512, 3, 3, 512, 512, 512, 512] + [10] * 70
    batches = list(_make_batches([range(length) for length in lengths], 32))
    assert sorted(place for batch in batches for place in batch) == list(range(len(lengths)))
    assert max(map(len, batches)) == 32
    assert max(len(batch) * max(lengths[place] for place in batch) for batch in batches) <= 2_048


def test_an_int8_edition_is_given_one_text_at_a_time(minilm_folder, tmp_path, monkeypatch):
    (tmp_path / "tokenizer.json").symlink_to(minilm_folder / "tokenizer.json")
    (tmp_path / "onnx").mkdir()
    (tmp_path / "onnx" / "model_quint8_avx2.onnx").symlink_to(minilm_folder / "onnx" / "model.onnx")
    edition = OnnxEmbedder(tmp_path, MODELS["all-MiniLM-L6-v2"].for_processor("x86_64"), "cpu")
    sizes = []
    usual = edition._run
    monkeypatch.setattr(edition, "_run", lambda encodings: sizes.append(len(encodings)) or usual(encodings))
    edition.embed_passages(["rain", "snow", "a longer text"])
    assert edition.model_id == "all-MiniLM-L6-v2-int8"
    assert sizes == [1, 1, 1]


@pytest.mark.slow
def test_an_int8_edition_does_not_depend_on_its_neighbours(minilm_folder, tmp_path, minilm):
    quantization = pytest.importorskip("onnxruntime.quantization")
    (tmp_path / "tokenizer.json").write_bytes((minilm_folder / "tokenizer.json").read_bytes())
    (tmp_path / "onnx").mkdir()
    card = MODELS["all-MiniLM-L6-v2"].for_processor("x86_64")
    quantization.quantize_dynamic(minilm_folder / "onnx" / "model.onnx", tmp_path / "onnx" / "model_quint8_avx2.onnx")
    quantized = OnnxEmbedder(tmp_path, card, "cpu")
    batch = quantized.embed_passages(["rain", "a much longer text about something else entirely"])
    assert quantized.model_id == "all-MiniLM-L6-v2-int8"
    assert np.allclose(batch[0], quantized.embed_query("rain"), atol=1e-6)
    assert batch[0] @ minilm.embed_query("rain") > 0.9


def test_a_model_without_constants_is_measured(minilm):
    assert -0.1 < minilm.calibration.noise < 0.15
    assert 0.4 < minilm.calibration.relevant < 0.7


def test_a_model_that_knows_nothing_gets_the_default_and_a_warning(caplog):
    same = np.ones((4, 1), np.float32)
    with caplog.at_level(logging.WARNING, "athand"):
        calibration = calibrate_vectors(same, same, "blind")
    assert calibration.noise < calibration.relevant
    assert "blind hardly tells" in caplog.text


def test_an_identity_is_folder_name_and_content(minilm_folder, minilm):
    name, digest = minilm.model_id.split("@")
    assert name == minilm_folder.name and len(digest) == 12


def test_a_folder_says_its_own_pooling_prefix_and_length(minilm_folder, tmp_path, minilm):
    folder = tmp_path / "copy"
    (folder / "1_Pooling").mkdir(parents=True)
    (folder / "model.onnx").symlink_to(minilm_folder / "onnx" / "model.onnx")
    (folder / "tokenizer.json").symlink_to(minilm_folder / "tokenizer.json")
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_cls_token": True}))
    (folder / "config_sentence_transformers.json").write_text(json.dumps({"prompts": {"query": "ask: "}}))
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 8}))
    copy = load_embedder(str(folder))
    assert np.allclose(copy.embed_query("rain"), copy.embed_passages(["ask: rain"])[0], atol=1e-5)
    assert np.allclose(copy.embed_query("a " * 9), copy.embed_query("a " * 99), atol=1e-5)
    assert copy.embed_query("rain") @ minilm.embed_query("ask: rain") < 0.99
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_max_tokens": True}))
    with pytest.raises(InvalidInput, match="only mean and cls pooling"):
        load_embedder(str(folder))


def test_a_folder_with_a_static_table_is_a_static_model(tmp_path):
    bundled = Path(sys.modules["athand.embed.loader"].__file__).parent / "athand_static_1"
    folder = tmp_path / "mine"
    folder.symlink_to(bundled)
    mine = load_embedder(str(folder))
    assert mine.dimensions == 384 and mine.model_id.startswith("athand_static_1@")
    assert np.allclose(mine.embed_query("rain"), load_embedder().embed_query("rain"))
    assert mine.calibration.noise < mine.calibration.relevant


def test_a_folder_of_pickles_is_refused(tmp_path):
    (tmp_path / "pytorch_model.bin").write_bytes(b"")
    with pytest.raises(InvalidInput, match=r"pytorch_model\.bin could run code.*optimum-cli export onnx"):
        load_embedder(str(tmp_path))


def test_transformer_weights_as_safetensors_ask_for_an_export(tmp_path):
    header = b'{"__metadata__": {}}'
    (tmp_path / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header)
    with pytest.raises(InvalidInput, match="no table of token vectors"):
        load_embedder(str(tmp_path))


@pytest.mark.parametrize("broken", ["model.onnx", "tokenizer.json", "sentence_bert_config.json"])
def test_damaged_files_are_named(tmp_path, minilm_folder, broken):
    (tmp_path / "model.onnx").symlink_to(minilm_folder / "onnx" / "model.onnx")
    (tmp_path / "tokenizer.json").symlink_to(minilm_folder / "tokenizer.json")
    (tmp_path / broken).unlink(missing_ok=True)
    (tmp_path / broken).write_bytes(b"not this")
    with pytest.raises(DataError, match=broken):
        load_embedder(str(tmp_path))


def test_devices(monkeypatch):
    runtime = pytest.importorskip("onnxruntime")
    monkeypatch.setattr(runtime, "get_available_providers", lambda: [CPU])
    assert choose_provider("auto") == choose_provider("cpu") == CPU
    with pytest.raises(InvalidInput, match=f"only {CPU}"):
        choose_provider("gpu")
    with pytest.raises(InvalidInput, match="auto, cpu or gpu"):
        choose_provider("tpu")
    monkeypatch.setattr(runtime, "get_available_providers", lambda: ["CoreMLExecutionProvider", CPU])
    assert choose_provider("auto") == CPU and choose_provider("gpu") == "CoreMLExecutionProvider"
    monkeypatch.setattr(runtime, "get_available_providers", lambda: ["CUDAExecutionProvider", CPU])
    assert choose_provider("auto") == "CUDAExecutionProvider" and choose_provider("cpu") == CPU


@pytest.mark.filterwarnings("ignore:Specified provider:UserWarning")
def test_a_gpu_that_does_not_start(monkeypatch, minilm_folder, caplog):
    runtime = pytest.importorskip("onnxruntime")
    if "CUDAExecutionProvider" in runtime.get_available_providers():
        pytest.skip("there is a GPU here")
    monkeypatch.setattr(runtime, "get_available_providers", lambda: ["CUDAExecutionProvider", CPU])
    with caplog.at_level(logging.WARNING, "athand"):
        assert OnnxEmbedder(minilm_folder, CARD, "auto").dimensions == 384
    assert "The GPU does not start (CUDAExecutionProvider)" in caplog.text
    with pytest.raises(InvalidInput, match="set the device to cpu"):
        OnnxEmbedder(minilm_folder, CARD, "gpu")


def test_without_onnx_runtime_the_error_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(Unavailable, match=r"pip install 'athand\[onnx\]'"):
        choose_provider("auto")
