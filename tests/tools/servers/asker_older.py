"""A server with a handshake whose tools ask their client in the middle of a call, and tell how far they are.

It uses nothing but the standard library. A tool that waits notes that it has begun, and that it was cancelled, in files
beside the one that is given.
"""

import json
import sys
import threading
from pathlib import Path

NOTES = Path(sys.argv[1])
TOOLS = ("elicit", "sample", "roots", "count", "talk", "wait")
COLOUR = {"type": "object", "properties": {"colour": {"type": "string"}}}
SAY_YES = {"role": "user", "content": {"type": "text", "text": "Say yes"}}
QUESTIONS = {
    "elicit": ("elicitation/create", {"message": "Which colour?", "requestedSchema": COLOUR}),
    "sample": ("sampling/createMessage", {"messages": [SAY_YES], "maxTokens": 10}),
    "roots": ("roots/list", {}),
}
speaking, arrived = threading.Lock(), threading.Condition()
answers: dict[str, dict] = {}
cancelled: set[object] = set()


def say(**message: object) -> None:
    with speaking:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def text(value: object, **more: object) -> dict[str, object]:
    return {"content": [{"type": "text", "text": json.dumps(value)}], **more}


def ask(id_: object, params: dict, tool: str) -> dict[str, object]:
    method, asked = QUESTIONS[tool]
    say(id=f"q{id_}", method=method, params=asked)
    with arrived:
        arrived.wait_for(lambda: f"q{id_}" in answers)
    answer = answers.pop(f"q{id_}")
    return text(answer.get("result") or answer["error"]["message"], isError="error" in answer)


def count(id_: object, params: dict, tool: str) -> dict[str, object]:
    for done in (1, 2, 3) if "_meta" in params else ():
        told = {"progressToken": params["_meta"]["progressToken"], "progress": done, "total": 3}
        say(method="notifications/progress", params={**told, "message": f"step {done}"})
    return text("counted")


def talk(id_: object, params: dict, tool: str) -> dict[str, object]:
    for level in ("debug", "warning"):
        say(method="notifications/message", params={"level": level, "logger": "engine", "data": f"a {level}"})
    return text("talked")


def wait(id_: object, params: dict, tool: str) -> None:
    NOTES.with_suffix(".begun").touch()
    with arrived:
        arrived.wait_for(lambda: id_ in cancelled)
    NOTES.with_suffix(".cancelled").touch()


def greet(params: dict) -> dict[str, object]:
    NOTES.with_suffix(".offers").write_text(json.dumps(params["capabilities"]))
    about = {"name": "asker", "version": "1"}
    return {"protocolVersion": "2025-06-18", "serverInfo": about, "capabilities": {"tools": {}, "logging": {}}}


def list_tools() -> dict[str, object]:
    hints = {"annotations": {"readOnlyHint": True}}
    return {"tools": [{"name": each, "inputSchema": {"type": "object"}, **hints} for each in TOOLS]}


def handle(asked: dict) -> None:
    id_, method, params = asked["id"], asked["method"], asked.get("params") or {}
    if method == "tools/call":
        work = {"count": count, "talk": talk, "wait": wait}.get(params["name"], ask)
        result = work(id_, params, params["name"])
    else:
        result = {"initialize": lambda: greet(params), "tools/list": list_tools, "ping": dict}.get(
            method, lambda: None
        )()
    if result is not None:
        say(id=id_, result=result)
    elif method != "tools/call":
        say(id=id_, error={"code": -32601, "message": "there is no such method"})


for line in sys.stdin:
    message = json.loads(line)
    with arrived:
        if "method" not in message:
            answers[message["id"]] = message
        elif message["method"] == "notifications/cancelled":
            cancelled.add(message["params"]["requestId"])
        elif "id" in message:
            threading.Thread(target=handle, args=(message,), daemon=True).start()
        arrived.notify_all()
