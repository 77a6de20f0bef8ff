"""`athand tools …`: everything that can be done with tools."""

from athand.adapters.cli import tools_call, tools_decide, tools_find, tools_servers
from athand.adapters.cli.groups import SectionedGroup

tools = SectionedGroup(
    "tools",
    help="Find, check and call the tools of MCP servers.",
    sections={
        "Find": tools_find.commands,
        "Call": tools_call.commands,
        "Decide": tools_decide.commands,
        "Servers": tools_servers.commands,
    },
)
