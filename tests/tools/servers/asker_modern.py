"""The same tools without a handshake: a question is the answer to a call, which the client repeats."""

import json
import sys
from pathlib import Path

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

NOTES = Path(sys.argv[1])
TOOLS = ("elicit", "sample", "roots", "count", "talk", "wait")
COLOUR = {"type": "object", "properties": {"colour": {"type": "string"}}}
SAY_YES = types.SamplingMessage(role="user", content=types.TextContent(type="text", text="Say yes"))
QUESTIONS = {
    "elicit": types.ElicitRequest(
        params=types.ElicitRequestFormParams(message="Which colour?", requested_schema=COLOUR)
    ),
    "sample": types.CreateMessageRequest(params=types.CreateMessageRequestParams(messages=[SAY_YES], max_tokens=10)),
    "roots": types.ListRootsRequest(),
}


def text(value):
    return types.CallToolResult(content=[types.TextContent(type="text", text=json.dumps(value))])


async def list_tools(context, params):
    hints = types.ToolAnnotations(read_only_hint=True)
    return types.ListToolsResult(
        tools=[types.Tool(name=each, input_schema={"type": "object"}, annotations=hints) for each in TOOLS]
    )


async def call_tool(context, params):
    if params.name not in QUESTIONS:
        await WORK[params.name](context)
        return text("done")
    if not params.input_responses:
        return types.InputRequiredResult(input_requests={"it": QUESTIONS[params.name]})
    return text(params.input_responses["it"].model_dump(by_alias=True, mode="json", exclude_none=True))


async def count(context):
    for done in (1, 2, 3):
        await context.session.report_progress(done, 3, f"step {done}")


async def talk(context):
    for level in ("debug", "warning"):
        params = types.LoggingMessageNotificationParams(level=level, logger="engine", data=f"a {level}")
        await context.session.send_notification(types.LoggingMessageNotification(params=params), context.request_id)


async def wait(context):
    NOTES.with_suffix(".begun").touch()
    try:
        await anyio.sleep_forever()
    finally:
        NOTES.with_suffix(".cancelled").touch()


WORK = {"count": count, "talk": talk, "wait": wait}


async def run():
    server = Server("asker", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as streams:
        await server.run(*streams, server.create_initialization_options())


anyio.run(run)
