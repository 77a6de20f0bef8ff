import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from athand.embed import load_embedder
from athand.embed.models import BUNDLED
from athand.embed.static import load_safetensors
from athand.errors import DataError

# First dimensions of vectors made by the model's reference implementation.
REFERENCE = {
    "Staging deploys need the VPN": [0.05579, -0.18851, 0.01843, 0.04946, -0.12284, 0.03887, 0.1116, 0.06906],
    "def parse_config(path): return tomllib.loads(path.read_text())": [
        -0.17768,
        0.17674,
        0.06803,
        -0.07199,
        -0.09664,
        -0.03178,
        -0.01549,
        0.04993,
    ],
    "the the the cat": [0.00515, 0.10177, -0.03482, -0.01864, -0.02207, -0.00343, 0.0331, -0.00932],
}


@pytest.fixture(scope="module")
def embedder():
    return load_embedder()


@pytest.mark.parametrize("text", REFERENCE)
def test_vectors_equal_those_of_the_reference(embedder, text):
    assert embedder.embed_passages([text])[0][:8] == pytest.approx(REFERENCE[text], abs=1e-3)


def test_rows_have_length_one_and_come_in_order(embedder):
    texts = [f"text number {number}" for number in range(300)]
    matrix = embedder.embed_passages(texts)
    assert matrix.shape == (300, 384)
    assert matrix.dtype == np.float32
    assert np.linalg.norm(matrix, axis=1) == pytest.approx(1, abs=1e-5)
    assert matrix[123] == pytest.approx(embedder.embed_passages([texts[123]])[0], abs=1e-6)


@pytest.mark.parametrize("text", ["", " ", "\x00", "🚀", "北京", "\ud800"])
def test_unknown_text_is_the_zero_vector_never_nan(embedder, text):
    assert not embedder.embed_passages([text]).any()
    assert not embedder.embed_query(text).any()


def test_an_unknown_text_does_not_harm_its_neighbours(embedder):
    alone = embedder.embed_passages(["a cat"])[0]
    assert embedder.embed_passages(["", "a cat", "🚀"])[1] == pytest.approx(alone, abs=1e-6)


def test_a_query_of_made_up_words_means_nothing(embedder):
    assert not embedder.embed_query("qwxyz zzgrmpf").any()
    assert embedder.embed_query("qwxyz deploy").any()


def test_like_meanings_are_near(embedder):
    query = embedder.embed_query("physician")
    doctor, pasta = embedder.embed_passages(["the doctor saw me today", "we had pasta for dinner"])
    assert query @ doctor > query @ pasta + 0.2


def test_a_megabyte_is_embedded(embedder):
    assert np.isfinite(embedder.embed_passages(["word " * 200_000])).all()


def test_no_texts_make_no_rows(embedder):
    assert embedder.embed_passages([]).shape == (0, 384)


def test_a_damaged_model_file_is_explained(tmp_path):
    shutil.copytree(BUNDLED, tmp_path / "model")
    (tmp_path / "model" / "model.safetensors").write_bytes(b"\xff" * 100)
    with pytest.raises(DataError, match=r"model\.safetensors is not a safetensors file"):
        load_safetensors(tmp_path / "model" / "model.safetensors")


def test_the_model_loads_without_heavy_libraries():
    code = (
        "import sys; from athand.embed import load_embedder; load_embedder().embed_query('x')\n"
        "print([name for name in ('onnxruntime', 'torch', 'huggingface_hub', 'safetensors') if name in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.strip() == "[]"
    assert Path(BUNDLED, "tokenizer.json").is_file()
