"""Downloads the files of a named model, pinned to a revision and checked by SHA-256."""

import hashlib
from pathlib import Path

from athand.distribution import install_hint
from athand.embed.models import DEFAULT_MODEL, ModelCard
from athand.errors import DataError, Unavailable

TIMEOUT = 5.0


def fetch_model(card: ModelCard, cache_dir: Path) -> Path:
    """Downloads the missing or damaged files of a model; returns its folder."""
    folder = cache_dir / card.name
    for name, expected in card.sha256.items():
        if not _is_intact(folder / name, expected):
            _fetch(card, name, folder)
            _verify(folder / name, expected)
    return folder


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _is_intact(path: Path, expected: str) -> bool:
    return path.is_file() and sha256_of(path) == expected


def _verify(path: Path, expected: str) -> None:
    found = sha256_of(path)
    if found != expected:
        path.unlink()
        raise DataError(
            f"{path} is not the file it should be and was deleted: "
            f"expected SHA-256 {expected}, got {found}. Try again, or use --model {DEFAULT_MODEL}."
        )


def _fetch(card: ModelCard, name: str, folder: Path) -> None:
    try:
        from huggingface_hub import get_hf_file_metadata, hf_hub_download, hf_hub_url
    except ImportError as error:
        raise _unavailable(card, folder, f"huggingface_hub is missing; run: {install_hint('onnx')}") from error
    try:
        # A quick check of the network first: the download alone retries for half a minute.
        get_hf_file_metadata(hf_hub_url(card.repository, name, revision=card.revision), token=False, timeout=TIMEOUT)
        hf_hub_download(
            card.repository,
            name,
            revision=card.revision,
            local_dir=folder,
            force_download=(folder / name).exists(),
            etag_timeout=TIMEOUT,
            token=False,
        )
    except Exception as error:  # the hub library, its HTTP client and its transfer library have no common base
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        raise _unavailable(card, folder, reason) from error


def _unavailable(card: ModelCard, folder: Path, reason: str) -> Unavailable:
    return Unavailable(
        f"Model {card.name} is not on this machine and cannot be downloaded ({reason}). "
        f"Put its files ({', '.join(card.sha256)} of {card.repository}, revision {card.revision[:12]}) into {folder}, "
        f"or use --model {DEFAULT_MODEL}."
    )
