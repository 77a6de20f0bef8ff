"""A well-behaved server whose tools are whatever a file says now. It uses nothing but the standard library.

Beside the file it writes down who starts it and who calls it. `tell` makes it announce changes of the file,
`late` makes it start only when there is a file of the same name with the suffix .go.
"""

import json
import os
import sys
import threading
import time
from pathlib import Path

BOARD = Path(sys.argv[1])
PROTOCOL = "2025-06-18"
_SPEAKING = threading.Lock()


def say(message: object) -> None:
    with _SPEAKING:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()


def note(kind: str, what: object) -> None:
    with BOARD.with_suffix(f".{kind}").open("a") as file:
        file.write(json.dumps(what) + "\n")


def text(value: object) -> dict[str, object]:
    return {"content": [{"type": "text", "text": value if isinstance(value, str) else json.dumps(value)}]}


def answer_to(tool: str, arguments: dict) -> dict[str, object]:
    """What the tools do, by their names; all others say what they were given."""
    if tool == "fail":
        return {**text("the disk is full"), "isError": True}
    if tool == "long":
        return text("".join(f"{line:05d}\n" for line in range(arguments.get("lines", 1000))))
    if tool == "table":
        return {**text("see the table"), "structuredContent": {"rows": list(range(arguments.get("rows", 3)))}}
    if tool == "environment":
        return text(dict(os.environ))
    return text({"tool": tool, "arguments": arguments})


def handle(request: dict) -> object:
    method, params = request["method"], request.get("params") or {}
    if method == "initialize":
        about = {"name": "board", "version": "1"}
        return {"protocolVersion": PROTOCOL, "serverInfo": about, "capabilities": {"tools": {"listChanged": True}}}
    if method == "tools/list":
        return {"tools": json.loads(BOARD.read_text())}
    if method == "tools/call":
        note("calls", [params["name"], params.get("arguments")])
        return answer_to(params["name"], params.get("arguments") or {})
    return {} if method == "ping" else None


def tell_changes() -> None:
    before = BOARD.read_text()
    while True:
        time.sleep(0.05)
        now = BOARD.read_text()
        if now and now != before:
            before = now
            say({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})


while "late" in sys.argv and not BOARD.with_suffix(".go").exists():
    time.sleep(0.02)
note("starts", sys.argv[2:])
if "tell" in sys.argv:
    threading.Thread(target=tell_changes, daemon=True).start()
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked or "method" not in asked:
        continue
    done = handle(asked)
    wrong = {"error": {"code": -32601, "message": "there is no such method"}}
    say({"jsonrpc": "2.0", "id": asked["id"], **({"result": done} if done is not None else wrong)})
