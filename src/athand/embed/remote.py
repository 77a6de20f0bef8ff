"""Embeddings from an OpenAI-compatible endpoint."""

import ipaddress
import json
from collections.abc import Iterator, Sequence
from functools import cached_property
from http.client import HTTPException, HTTPMessage
from time import sleep
from typing import IO
from urllib.error import HTTPError
from urllib.parse import SplitResult, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

import numpy as np

from athand.embed.calibrate import PASSAGES, QUESTIONS, calibrate_vectors
from athand.embed.embedder import unit_rows
from athand.errors import InvalidInput, Unavailable
from athand.types import Calibration, Matrix, Vector

DEFAULT_BASE_URL = "https://api.openai.com/v1"
BATCH_TEXTS = 64
BATCH_CHARACTERS = 65_536
# About 2,000 tokens of English; endpoints refuse a text over their limit instead of cutting it.
MAX_CHARACTERS = 8_192
MAX_ANSWER = 64 * 1024 * 1024
BACK_OFF = (0.5, 1.0, 2.0)
LONGEST_WAIT = 8.0
# Beyond this a float32 sum of squares overflows.
LARGEST_NUMBER = 1e15


class _TryAgain(Exception):
    """A failure worth a retry; `after` is the Retry-After of the endpoint in seconds."""

    def __init__(self, reason: str, after: float = 0.0) -> None:
        super().__init__(reason)
        self.after = after


class _NoRedirect(HTTPRedirectHandler):
    """Refuses redirects, which would send the key and the texts to another host."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> None:
        return None


class RemoteEmbedder:
    """Calls {base_url}/embeddings; every failure is an Unavailable without the key in it."""

    def __init__(
        self, model: str, base_url: str | None = None, api_key: str | None = None, timeout: float = 30.0
    ) -> None:
        if not model:
            raise InvalidInput("The model name is missing. Write for example openai:text-embedding-3-small.")
        base = (base_url or DEFAULT_BASE_URL).rstrip("/")
        self._host = _check_address(base, api_key).netloc
        self._url = f"{base}/embeddings"
        self._model = model
        self._key = api_key
        self._timeout = timeout
        self._width: int | None = None
        self._opener = build_opener(_NoRedirect)

    @property
    def model_id(self) -> str:
        return f"openai:{self._model}@{self._host}"

    @property
    def dimensions(self) -> int:
        """The length of the vectors, read off the first answer."""
        if self._width is None:
            self._post_with_retries(["dimensions"])
        return self._width or 0

    @cached_property
    def calibration(self) -> Calibration:
        # Queries have no prefix here, so all texts go in one batch.
        vectors = self.embed_passages(QUESTIONS + PASSAGES)
        return calibrate_vectors(vectors[: len(QUESTIONS)], vectors[len(QUESTIONS) :], self.model_id)

    def embed_query(self, text: str) -> Vector:
        vector: Vector = self.embed_passages([text])[0]
        return vector

    def embed_passages(self, texts: Sequence[str]) -> Matrix:
        batches = list(_make_batches(texts))
        answers = [self._post_with_retries([texts[index][:MAX_CHARACTERS] for index in batch]) for batch in batches]
        rows = np.zeros((len(texts), self.dimensions), np.float32)
        for batch, answer in zip(batches, answers, strict=True):
            rows[batch] = answer
        return unit_rows(rows)

    def _post_with_retries(self, texts: list[str]) -> Matrix:
        waits = iter(BACK_OFF)
        while True:
            try:
                return self._parse_vectors(self._post(texts), len(texts))
            except _TryAgain as error:
                wait = next(waits, None)
                if wait is None:
                    raise self._unavailable(f"does not answer ({error})", "Try again later.") from None
                sleep(min(max(wait, error.after), LONGEST_WAIT))

    def _post(self, texts: list[str]) -> bytes:
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {self._key}"} if self._key else {})
        body = json.dumps({"model": self._model, "input": texts}).encode()
        request = Request(self._url, body, headers)  # noqa: S310 - the address was checked to be http(s)
        try:
            with self._opener.open(request, timeout=self._timeout) as response:
                answer: bytes = response.read(MAX_ANSWER + 1)
        except HTTPError as error:
            with error:
                raise self._explain_refusal(error) from None
        except (OSError, HTTPException) as error:
            raise _TryAgain(str(getattr(error, "reason", error)) or type(error).__name__) from None
        if len(answer) > MAX_ANSWER:
            raise self._unavailable(f"answers with more than {MAX_ANSWER} bytes", "Check the base URL.")
        return answer

    def _explain_refusal(self, error: HTTPError) -> Exception:
        if error.code == 429 or error.code >= 500:
            return _TryAgain(f"HTTP {error.code}", _parse_seconds(error.headers.get("Retry-After", "")))
        if error.code in (401, 403):
            return self._unavailable(f"refuses the API key (HTTP {error.code})", "Check the key and what it may use.")
        if 300 <= error.code < 400:
            return self._unavailable("redirects, which is not followed", "Set the base URL to the final address.")
        return self._unavailable(
            f"answers HTTP {error.code}", f"Check the base URL and the model name {self._model!r}."
        )

    def _parse_vectors(self, answer: bytes, expected: int) -> Matrix:
        try:
            data = json.loads(answer)["data"]
            ordered = sorted((entry.get("index", place), entry["embedding"]) for place, entry in enumerate(data))
            rows = np.array([numbers for _, numbers in ordered], np.float64)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise self._unavailable("answers with something other than embeddings", "Check the base URL.") from None
        if [index for index, _ in ordered] != list(range(expected)):
            raise self._unavailable(f"answers {len(ordered)} vectors to {expected} texts", "Check the server.")
        if rows.ndim != 2 or not rows.size or rows.shape[1] != (self._width or rows.shape[1]):
            raise self._unavailable("answers with vectors of different or no length", "Check the model on the server.")
        if not (np.abs(rows) < LARGEST_NUMBER).all():
            raise self._unavailable("answers with numbers that are not finite", "Check the model on the server.")
        self._width = rows.shape[1]
        return rows.astype(np.float32)

    def _unavailable(self, what: str, remedy: str) -> Unavailable:
        return Unavailable(f"The embedding endpoint {self._host} {what}. {remedy}")


def _check_address(base: str, key: str | None) -> SplitResult:
    try:
        parts = urlsplit(base)
        host, _ = parts.hostname or "", parts.port
    except ValueError as error:
        raise InvalidInput(f"The base URL is no address ({error}). Write for example {DEFAULT_BASE_URL}.") from None
    if parts.scheme not in ("http", "https") or not host or "@" in parts.netloc or parts.query or parts.fragment:
        raise InvalidInput(f"The base URL must be http(s)://host[:port]/path, for example {DEFAULT_BASE_URL}.")
    if key and not (key.isascii() and key.isprintable() and " " not in key):
        raise InvalidInput("The API key holds blanks or characters no key has. Copy it again.")
    if key and parts.scheme == "http" and not _is_loopback(host):
        raise InvalidInput(f"http://{parts.netloc} would send the API key unencrypted. Use https, or unset the key.")
    return parts


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _make_batches(texts: Sequence[str]) -> Iterator[list[int]]:
    """Batches of the indexes of non-empty texts, bounded in number and characters."""
    batch: list[int] = []
    size = 0
    for index, text in enumerate(texts):
        if not text.strip():
            continue
        length = min(len(text), MAX_CHARACTERS)
        if batch and (len(batch) == BATCH_TEXTS or size + length > BATCH_CHARACTERS):
            yield batch
            batch, size = [], 0
        batch.append(index)
        size += length
    if batch:
        yield batch


def _parse_seconds(header: str) -> float:
    try:
        return max(float(header), 0.0)
    except ValueError:
        return 0.0
