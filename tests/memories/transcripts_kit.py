"""Transcripts of clients, written record by record as the clients write them."""

import json

SESSION = "4b0511ba-0128-42bf-8155-cbb0218a8e79"


def write(path, records, mode="w"):
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open(mode) as file:
        file.writelines(json.dumps(each) + "\n" for each in records)
    return path


def claude(kind, content, at, uuid, *, folder="/gone/shop", **more):
    """A message of Claude Code."""
    message = {"role": kind, "content": content}
    about = {"sessionId": SESSION, "cwd": folder, "gitBranch": "main", "isSidechain": False, "version": "2.1.328"}
    return {"type": kind, "message": message, "uuid": uuid, "timestamp": f"2026-01-05T{at}Z", **about, **more}


def tool(name, id_="t1", **given):
    return {"type": "tool_use", "id": id_, "name": name, "input": given}


def failed(text, id_="t1"):
    return {"type": "tool_result", "tool_use_id": id_, "content": [{"type": "text", "text": text}], "is_error": True}


def say(text):
    return {"type": "text", "text": text}


CLAUDE = [
    {"type": "queue-operation", "operation": "enqueue", "timestamp": "2026-01-05T10:00:00Z", "sessionId": SESSION},
    claude("user", "<command-name>/clear</command-name>", "10:00:01", "u0"),
    claude("user", "note for the model", "10:00:02", "u00", isMeta=True),
    claude(
        "user", [say("Why does the checkout time out?<system-reminder>ten rules</system-reminder>")], "10:00:03", "u1"
    ),
    claude(
        "assistant",
        [{"type": "thinking", "thinking": "hm"}, tool("Bash", command="make test-checkout")],
        "10:00:09",
        "a1",
    ),
    claude("user", [failed("E   TimeoutError: redis:6379 does not answer")], "10:00:10", "r1"),
    claude(
        "assistant",
        [tool("Edit", file_path="/gone/shop/src/cart.py", old_string="a", new_string="b")],
        "10:00:12",
        "a2",
    ),
    claude("assistant", [say("The pool of Redis connections was too small; it is 32 now.")], "10:00:20", "a3"),
    {"type": "ai-title", "aiTitle": "Checkout timeout", "sessionId": SESSION},
    claude("user", "Write that down in the changelog", "10:05:00", "u2"),
    claude("assistant", [say("Done.")], "10:05:04", "a4"),
]


def codex(kind, payload, at):
    return {"timestamp": f"2026-01-06T{at}Z", "type": kind, "payload": payload}


def spoken(role, text):
    kind = "input_text" if role == "user" else "output_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


PATCH = "*** Begin Patch\n*** Update File: deploy.sh\n@@\n-a\n+b\n*** End Patch"
CODEX = [
    codex(
        "session_meta",
        {"id": "019a2d7a", "cwd": "/gone/infra", "cli_version": "0.65.0", "git": {"branch": "fix"}},
        "09:00:00",
    ),
    codex("response_item", spoken("user", "<environment_context>\n  <cwd>/gone/infra</cwd>"), "09:00:00"),
    codex("response_item", spoken("user", "make the deploy script wait for the load balancer"), "09:00:01"),
    codex("event_msg", {"type": "user_message", "message": "make the deploy script wait"}, "09:00:01"),
    codex("turn_context", {"cwd": "/gone/infra", "model": "gpt-5-codex"}, "09:00:01"),
    codex("response_item", {"type": "reasoning", "summary": [], "encrypted_content": "gAAA"}, "09:00:02"),
    codex(
        "response_item",
        {
            "type": "function_call",
            "name": "shell",
            "arguments": '{"command": ["bash", "-lc", "./deploy.sh"]}',
            "call_id": "1",
        },
        "09:00:03",
    ),
    codex(
        "response_item",
        {"type": "function_call_output", "call_id": "1", "output": "Exit code: 7\nno healthy upstream"},
        "09:00:05",
    ),
    codex(
        "response_item", {"type": "custom_tool_call", "name": "apply_patch", "input": PATCH, "call_id": "2"}, "09:00:06"
    ),
    codex("response_item", spoken("assistant", "It polls /healthz for at most 60 s now."), "09:00:09"),
]


def gemini(id_, kind, content, at, **more):
    return {"id": id_, "timestamp": f"2026-01-07T{at}Z", "type": kind, "content": content, **more}


_CALL = {"id": "c1", "name": "run_shell_command", "args": {"command": "npm test"}, "timestamp": "2026-01-07T08:00:04Z"}
_EDIT = {"id": "c2", "name": "replace", "args": {"file_path": "/gone/web/src/form.ts"}, "status": "success"}
GEMINI = [
    {"sessionId": "76a0", "projectHash": "79b6fa86", "startTime": "2026-01-07T08:00:00Z", "kind": "main"},
    gemini("m1", "user", [{"text": "fix the test of the form"}], "08:00:00"),
    gemini("m2", "gemini", "", "08:00:03", toolCalls=[{**_CALL, "status": "executing"}]),
    gemini(
        "m2",
        "gemini",
        "",
        "08:00:05",
        toolCalls=[{**_CALL, "status": "error", "resultDisplay": "1 failing: form"}, _EDIT],
    ),
    gemini(
        "m3",
        "gemini",
        {"text": "The label was missing."},
        "08:00:09",
        thoughts=[{"subject": "x"}],
        model="gemini-3-pro",
    ),
    {"$set": {"summary": "Form test", "lastUpdated": "2026-01-07T08:00:10Z"}},
]
