import sys
import time
from hashlib import sha256

import pytest

from athand.embed.download import fetch_model
from athand.embed.models import MODELS, ModelCard
from athand.errors import DataError, Unavailable

hub = pytest.importorskip("huggingface_hub")

FILES = {"onnx/model.onnx": b"graph", "tokenizer.json": b"words"}
CARD = ModelCard(
    "tiny",
    "onnx",
    2,
    repository="someone/tiny",
    revision="abc",
    sha256={name: sha256(content).hexdigest() for name, content in FILES.items()},
)


@pytest.fixture
def calls(monkeypatch):
    """The hub, replaced by a table of files."""
    made = []

    def download(repository, name, *, revision, local_dir, **options):
        made.append((repository, revision, name, options["force_download"]))
        (local_dir / name).parent.mkdir(parents=True, exist_ok=True)
        (local_dir / name).write_bytes(FILES[name])

    monkeypatch.setattr(hub, "get_hf_file_metadata", lambda *_, **__: None)
    monkeypatch.setattr(hub, "hf_hub_download", download)
    return made


def test_files_are_fetched_once_at_their_revision(calls, tmp_path):
    folder = fetch_model(CARD, tmp_path)
    assert folder == tmp_path / "tiny" and (folder / "onnx" / "model.onnx").read_bytes() == b"graph"
    assert calls == [("someone/tiny", "abc", name, False) for name in FILES]
    assert fetch_model(CARD, tmp_path) == folder and len(calls) == 2


def test_a_file_that_was_damaged_is_fetched_again(calls, tmp_path):
    damaged = fetch_model(CARD, tmp_path) / "tokenizer.json"
    damaged.write_bytes(b"bit rot")
    fetch_model(CARD, tmp_path)
    assert damaged.read_bytes() == b"words"
    assert calls[2:] == [("someone/tiny", "abc", "tokenizer.json", True)]


def test_a_file_that_is_not_what_was_pinned_is_deleted(calls, tmp_path, monkeypatch):
    monkeypatch.setitem(FILES, "tokenizer.json", b"evil")
    with pytest.raises(DataError) as raised:
        fetch_model(CARD, tmp_path)
    for part in ("tokenizer.json", CARD.sha256["tokenizer.json"], sha256(b"evil").hexdigest()):
        assert part in str(raised.value)
    assert not (tmp_path / "tiny" / "tokenizer.json").exists()


def test_without_a_network_the_error_comes_quickly_and_says_what_to_do(tmp_path, monkeypatch):
    # Nothing listens on port 9: the real library, a real connection, refused on any machine.
    for proxy in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(proxy, raising=False)
        monkeypatch.delenv(proxy.upper(), raising=False)
    address = hub.hf_hub_url
    monkeypatch.setattr(
        hub, "hf_hub_url", lambda *names, **options: address(*names, **options, endpoint="http://127.0.0.1:9")
    )
    started = time.monotonic()
    with pytest.raises(Unavailable) as raised:
        fetch_model(MODELS["bge-small-en-v1.5"], tmp_path)
    assert time.monotonic() - started < 60
    message = str(raised.value)
    assert message.startswith("Model bge-small-en-v1.5 is not on this machine and cannot be downloaded (")
    assert str(tmp_path / "bge-small-en-v1.5") in message and message.endswith("or use --model athand-static-1.")


def test_a_download_that_breaks_off_is_unavailable(calls, tmp_path, monkeypatch):
    def broken(*_, **__):
        raise ConnectionResetError("connection reset\nand much more")

    monkeypatch.setattr(hub, "hf_hub_download", broken)
    with pytest.raises(Unavailable, match=r"cannot be downloaded \(connection reset\)"):
        fetch_model(CARD, tmp_path)


def test_without_the_hub_library_the_error_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(Unavailable, match=r"pip install 'athand\[onnx\]'"):
        fetch_model(CARD, tmp_path)


def test_every_transformer_of_the_table_is_pinned():
    for card in (card for card in MODELS.values() if card.kind == "onnx"):
        for edition in (card.for_processor(machine) for machine in ("x86_64", "AMD64", "aarch64", "riscv64")):
            assert len(edition.revision) == 40 and edition.repository
            assert len(edition.sha256) == 2 and all(len(digest) == 64 for digest in edition.sha256.values())
