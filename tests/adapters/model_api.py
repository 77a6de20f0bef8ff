"""A stand-in for a model's API, on this machine: a test writes what the model does, and reads what it is sent."""

import json
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

LAST_WORD = "Done."  # of a model that has nothing more to do


@dataclass(frozen=True)
class Call:
    """The model calls a tool."""

    tool: str
    arguments: dict[str, Any]


@dataclass(frozen=True)
class Result:
    """What the model is given for a call: the text of all blocks, and the tools that the client has loaded."""

    text: str
    is_error: bool
    tools: list[str]

    @property
    def json(self) -> Any:
        return json.loads(self.text)


# What the model does in a conversation: yields calls and gets their results, if it makes any.
Script = Generator[Call, Result, None] | Iterator[Call]


@dataclass
class ModelAPI:
    """Anthropic's Messages API with streaming, for one conversation that follows a script."""

    script: Script
    url: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)
    error: Exception | None = None  # what went wrong in the script
    _calls: int = 0

    def tools(self, prefix: str = "") -> list[dict[str, Any]]:
        """The tools with this prefix that the last request of the conversation has."""
        return [each for each in self.requests[-1]["tools"] if each["name"].startswith(prefix)]

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """The next message of the model. Requests without tools are the client's own, for titles and the like."""
        if not request.get("tools"):
            return _make_message(request, {"type": "text", "text": "A task"})
        self.requests.append(request)
        try:
            call = self._advance(request)
        except StopIteration:
            return _make_message(request, {"type": "text", "text": LAST_WORD})
        except Exception as error:  # whoever runs the conversation raises it
            self.error = error
            return _make_message(request, {"type": "text", "text": "Failed."})
        self._calls += 1
        return _make_message(request, {"type": "tool_use", "id": self._id, "name": call.tool, "input": call.arguments})

    def _advance(self, request: dict[str, Any]) -> Call:
        if not self._calls:
            return next(self.script)
        assert isinstance(self.script, Generator)
        return self.script.send(_find_result(request, self._id))

    @property
    def _id(self) -> str:
        return f"toolu_{self._calls}"


@contextmanager
def serve_model(script: Script) -> Iterator[ModelAPI]:
    """The API at an address of its own; an error in the script is raised at the end."""
    api = ModelAPI(script)

    class Handler(_Handler):
        model = api

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    api.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield api
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    if api.error:
        raise api.error


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    model: ModelAPI

    def do_HEAD(self) -> None:
        self._send(200, "text/plain", b"")

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not self.path.startswith("/v1/messages?") and self.path != "/v1/messages":
            return self._send(404, "application/json", b"{}")
        message = self.model.answer(request)
        if request.get("stream"):
            return self._send(200, "text/event-stream", b"".join(_stream(message)))
        return self._send(200, "application/json", json.dumps(message).encode())

    def _send(self, status: int, type_: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", type_)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *values: Any) -> None:
        """Nothing is printed."""


def _find_result(request: dict[str, Any], id_: str) -> Result:
    blocks = [block for each in request["messages"] if isinstance(each["content"], list) for block in each["content"]]
    block = next(each for each in blocks if each["type"] == "tool_result" and each["tool_use_id"] == id_)
    content = block["content"]
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return Result(
        text="".join(each["text"] for each in parts if each["type"] == "text"),
        is_error=block.get("is_error", False),
        tools=[each["tool_name"] for each in parts if each["type"] == "tool_reference"],
    )


def _make_message(request: dict[str, Any], block: dict[str, Any]) -> dict[str, Any]:
    reason = "tool_use" if block["type"] == "tool_use" else "end_turn"
    about = {"id": "msg_1", "type": "message", "role": "assistant", "model": request["model"]}
    usage = {"input_tokens": 1, "output_tokens": 1}
    return {**about, "content": [block], "stop_reason": reason, "stop_sequence": None, "usage": usage}


def _stream(message: dict[str, Any]) -> Iterator[bytes]:
    """A message as server-sent events: each block begins empty and is filled by one delta."""
    yield _event("message_start", message={**message, "content": [], "stop_reason": None})
    for index, block in enumerate(message["content"]):
        if block["type"] == "text":
            empty, delta = {"text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            empty, delta = {"input": {}}, {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield _event("content_block_start", index=index, content_block=block | empty)
        yield _event("content_block_delta", index=index, delta=delta)
        yield _event("content_block_stop", index=index)
    ending = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield _event("message_delta", delta=ending, usage=message["usage"])
    yield _event("message_stop")


def _event(type_: str, **fields: Any) -> bytes:
    return f"event: {type_}\ndata: {json.dumps({'type': type_, **fields})}\n\n".encode()
