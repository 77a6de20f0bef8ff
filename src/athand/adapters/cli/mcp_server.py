"""`athand mcp`: an MCP server on standard input and output, for a client that starts it."""

import sys

import click

from athand.adapters.cli.session import Session, command

commands = click.Group()

# Written out, because importing them would load the engine for `--help`; a test compares them with the engine's.
SCOPES = ("search", "write", "call-tools", "admin")
AGENTS = ("search", "write", "call-tools")


@command(commands, "mcp")
@click.option(
    "--toolsets",
    metavar="NAMES",
    help="All tools of memories, documents, tools, flows or store, with commas between; or all. "
    "Without: the 12 that agents use most.",
)
@click.option("--profile", metavar="APP", help="Name the tools of the browser as the profile of this app does.")
@click.option(
    "--scope", "scopes", multiple=True, type=click.Choice(SCOPES), help="What the agent may do; all but admin, without."
)
@click.option("--admin", is_flag=True, help="Let the agent also approve tools, add folders and write files.")
def mcp(session: Session, /, toolsets: str | None, profile: str | None, scopes: tuple[str, ...], admin: bool) -> None:
    """Serve MCP on standard input and output, for a client that starts it.

    \b
    Examples:
      athand install claude-code
      athand mcp --toolsets memories,documents
      athand mcp --toolsets flows --profile metamask
      athand mcp --scope search
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    if sys.stdin.isatty():
        session.say("Waiting for an MCP client on standard input; Ctrl-C ends it. Add it to one with: athand install")
    from athand.adapters.mcp.stdio_fds import StdioFds

    fds = StdioFds()
    from athand.adapters.cli.serving import open_for_serving
    from athand.adapters.mcp.server import create_mcp_server
    from athand.adapters.mcp.stdio import serve
    from athand.adapters.operations import AppContext

    workspace = AppContext(lambda: open_for_serving(session))
    chosen = [each.strip() for each in toolsets.split(",")] if toolsets is not None else None
    granted = {*(scopes or AGENTS), *(("admin",) if admin else ())}
    serve(fds, workspace, create_mcp_server(workspace, toolsets=chosen, profile=profile, scopes=granted))
