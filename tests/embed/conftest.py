import runpy
from pathlib import Path

import pytest

from athand.embed.loader import load_embedder

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def minilm_folder(tmp_path_factory):
    """all-MiniLM-L6-v2 as a folder, built from its published weights."""
    builder = runpy.run_path(str(ROOT / "benchmarks" / "minilm.py"))
    assert builder["weights_folder"](), "run: make setup"
    return builder["build_minilm"](tmp_path_factory.mktemp("models") / "minilm")


@pytest.fixture(scope="session")
def minilm(minilm_folder):
    return load_embedder(str(minilm_folder))
