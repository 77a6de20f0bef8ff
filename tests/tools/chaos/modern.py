"""A healthy server made with the SDK: over standard input and output, or over HTTP on the port that is given."""

import os
import sys

from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("modern", version="1.2.3", instructions="Adds numbers.")


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def environment() -> dict[str, str]:
    """All that this process was given."""
    return dict(os.environ)


@server.tool()
def headers(context: Context) -> dict[str, str]:
    """All headers that came with the request."""
    return dict(context.headers or {})


@server.tool()
def fail() -> str:
    """Always fails."""
    raise ValueError("it is broken")


def multiply(a: int, b: int) -> int:
    """Multiply two numbers."""
    return a * b


@server.tool()
async def learn(context: Context) -> str:
    """Offer one more tool from now on."""
    server.add_tool(multiply)
    await context.notify_tools_changed()
    return "learned"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run(sys.argv[1], port=int(sys.argv[2]))
    else:
        server.run()
