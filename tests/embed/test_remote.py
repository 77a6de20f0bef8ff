import json
import threading
import traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from athand.embed import remote
from athand.embed.remote import RemoteEmbedder
from athand.errors import InvalidInput, Unavailable

KEY = "sk-very-secret"


class Server(ThreadingHTTPServer):
    """Answers each request with the next of `answers`, then as a well-behaved endpoint."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers, self.requests = [], []
        self.base_url = f"http://127.0.0.1:{self.server_port}/v1"


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append((self.path, self.headers.get("Authorization"), body))
        status, headers, answer = self.server.answers.pop(0) if self.server.answers else (200, {}, good(body["input"]))
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(answer if isinstance(answer, bytes) else json.dumps(answer).encode())

    def log_message(self, *_):
        pass


def good(texts):
    """Vectors of each text's length and vowels, last text first."""
    rows = [[float(len(text)), float(sum(map(text.count, "aeiou"))), 1.0] for text in texts]
    return {"data": [{"index": index, "embedding": row} for index, row in enumerate(rows)][::-1]}


@pytest.fixture
def server():
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def waits(monkeypatch):
    waited = []
    monkeypatch.setattr(remote, "sleep", waited.append)
    return waited


@pytest.fixture
def embedder(server, waits):
    return RemoteEmbedder("small", server.base_url, KEY)


def test_a_request_is_what_openai_expects(server, embedder):
    vector = embedder.embed_query("hello")
    assert np.allclose(vector, np.array([5, 2, 1]) / np.sqrt(30))
    assert server.requests == [("/v1/embeddings", f"Bearer {KEY}", {"model": "small", "input": ["hello"]})]
    assert embedder.dimensions == 3 and len(server.requests) == 1
    assert embedder.model_id == f"openai:small@127.0.0.1:{server.server_port}"


def test_without_a_key_none_is_sent(server):
    assert RemoteEmbedder("small", server.base_url + "/").dimensions == 3
    assert server.requests[0][:2] == ("/v1/embeddings", None)


def test_many_texts_go_in_bounded_batches_and_come_back_in_order(server, embedder):
    texts = ["x" * (1 + index % 9) for index in range(150)] + ["", "y" * 1_000_000] + ["z" * 8_000] * 20
    rows = embedder.embed_passages(texts)
    sent = [body["input"] for _, _, body in server.requests]
    assert max(map(len, sent)) <= 64 and max(sum(map(len, batch)) for batch in sent) <= 65_536
    assert sum(map(len, sent)) == len(texts) - 1
    for index in (0, 1, 77, 149):
        assert np.allclose(rows[index], embedder.embed_query(texts[index]))
    assert not rows[150].any()


def test_nothing_to_embed(embedder):
    assert embedder.embed_passages([]).shape == (0, 3)
    assert not embedder.embed_query(" ").any()


def test_a_busy_endpoint_is_asked_again_as_it_wishes(server, embedder, waits):
    wishes = {429: "3", 503: "999", 500: "soon"}
    server.answers = [(status, {"Retry-After": after}, b"") for status, after in wishes.items()]
    assert embedder.dimensions == 3
    assert waits == [3.0, remote.LONGEST_WAIT, 2.0]


def test_an_endpoint_that_stays_busy_is_unavailable(server, embedder, waits):
    server.answers = [(429, {}, b"slow down " + KEY.encode())] * 4
    with pytest.raises(Unavailable, match=r"does not answer \(HTTP 429\)"):
        embedder.embed_query("hello")
    assert waits == list(remote.BACK_OFF) and len(server.requests) == 4


def test_no_endpoint_at_all(waits):
    with pytest.raises(Unavailable, match=r"127\.0\.0\.1:9 does not answer \(.*refused"):
        RemoteEmbedder("small", "http://127.0.0.1:9/v1").embed_query("hello")


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (b"<html>", "something other than embeddings"),
        (b"[]", "something other than embeddings"),
        (b"[" * 200_000, "something other than embeddings"),
        ({"data": None}, "something other than embeddings"),
        ({"data": [{"embedding": "AAAA"}]}, "something other than embeddings"),
        ({"data": [{"embedding": [1.0]}, {"embedding": [1.0, 2.0]}]}, "something other than embeddings"),
        ({"data": []}, "0 vectors to 1 texts"),
        ({"data": [{"embedding": [1.0]}] * 2}, "2 vectors to 1 texts"),
        ({"data": [{"index": 7, "embedding": [1.0]}]}, "1 vectors to 1 texts"),
        ({"data": [{"embedding": []}]}, "different or no length"),
        (b'{"data": [{"embedding": [NaN, 1]}]}', "not finite"),
        (b'{"data": [{"embedding": [1e300, 1]}]}', "not finite"),
    ],
)
def test_wrong_answers_are_refused(server, embedder, answer, message):
    server.answers = [(200, {}, answer)]
    with pytest.raises(Unavailable, match=message):
        embedder.embed_query("hello")


def test_a_width_that_changes_is_refused(server, embedder):
    assert embedder.dimensions == 3
    server.answers = [(200, {}, {"data": [{"embedding": [1.0, 2.0]}]})]
    with pytest.raises(Unavailable, match="different or no length"):
        embedder.embed_query("hello")


def test_an_endless_answer_is_cut(server, embedder, monkeypatch):
    monkeypatch.setattr(remote, "MAX_ANSWER", 10)
    with pytest.raises(Unavailable, match="more than 10 bytes"):
        embedder.embed_query("hello")


@pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500])
def test_no_error_shows_the_key(server, embedder, status):
    server.answers = [(status, {"X-Echo": KEY}, {"error": {"message": f"bad key {KEY}"}})] * 4
    with pytest.raises(Unavailable) as raised:
        embedder.embed_query("hello")
    assert KEY not in str(raised.value) and KEY not in repr(embedder)
    assert KEY not in "".join(traceback.format_exception(raised.value))


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_not_followed(server, embedder, status):
    with Server() as other:
        server.answers = [(status, {"Location": other.base_url}, b"")]
        with pytest.raises(Unavailable, match="redirects, which is not followed"):
            embedder.embed_query("hello")
        assert len(server.requests) == 1 and not other.requests


@pytest.mark.parametrize(
    "base_url", ["http://example.com/v1", "http://10.0.0.7:8000/v1", "http://127.0.0.1.example.com"]
)
def test_a_key_never_travels_unencrypted(base_url):
    with pytest.raises(InvalidInput, match="would send the API key unencrypted") as raised:
        RemoteEmbedder("small", base_url, KEY)
    assert KEY not in str(raised.value)
    assert RemoteEmbedder("small", base_url).model_id


@pytest.mark.parametrize("base_url", ["http://localhost:1/v1", "http://[::1]:1/v1", "https://example.com/v1", None])
def test_a_key_may_travel_encrypted_or_at_home(base_url):
    assert RemoteEmbedder("small", base_url, KEY).model_id


@pytest.mark.parametrize(
    "base_url",
    ["ftp://a", "example.com/v1", "https://", "https://me:pw@a.example", "https://[", "https://a:b", "https://a?b"],
)
def test_an_address_that_is_none(base_url):
    with pytest.raises(InvalidInput, match=r"The base URL .*https://api\.openai\.com/v1") as raised:
        RemoteEmbedder("small", base_url)
    assert "pw" not in str(raised.value)


@pytest.mark.parametrize("key", ["sk-line\nbreak", "sk blank", "sk-ü"])
def test_a_key_no_header_can_carry(key):
    with pytest.raises(InvalidInput, match="Copy it again") as raised:
        RemoteEmbedder("small", None, key)
    assert key not in str(raised.value)


def test_a_model_needs_a_name():
    with pytest.raises(InvalidInput, match="openai:text-embedding-3-small"):
        RemoteEmbedder("")


def test_the_calibration_is_measured_in_one_request(server, embedder):
    assert embedder.calibration.noise < embedder.calibration.relevant
    assert len(server.requests) == 1
