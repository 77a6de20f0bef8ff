"""The page on MCP lists the tools as they are; run this module to write the list anew."""

import re
from pathlib import Path

from athand.adapters.mcp.prompts import Prompts
from athand.adapters.mcp.resources import TEMPLATES
from athand.adapters.mcp.tool_list import DEFAULT_TOOLS, ToolList
from athand.adapters.operations import ALWAYS, SCOPES, list_toolsets, operations

PAGE = Path(__file__).parents[2] / "docs" / "mcp.md"
LIST = re.compile(r"(<!-- tools: .*? -->\n).*?(<!-- end of tools -->)", re.DOTALL)


def listed():
    """The tools of every toolset as a table."""
    return "".join(_table(toolset) for toolset in (ALWAYS, *list_toolsets()))


def _table(toolset):
    rows = [_row(each) for each in operations().values() if each.toolset == toolset]
    return "\n".join([f"\n### {toolset}\n", "| tool | what it does | scope | kind |", "|---|---|---|---|", *rows, ""])


def _row(each):
    name = f"**`{each.name}`**" if each.name in DEFAULT_TOOLS else f"`{each.name}`"
    first = each.description.split("\n\n")[0].replace("\n", " ").replace("|", "\\|")
    return f"| {name} | {first} | {each.scope} | {each.kind} |"


def current():
    return LIST.sub(lambda found: f"{found[1]}{listed()}\n{found[2]}", PAGE.read_text("utf-8"))


def test_the_list_of_tools_is_current():
    assert PAGE.read_text("utf-8") == current(), "run: .venv/bin/python -m tests.adapters.test_mcp_docs"


def test_the_page_names_every_resource_and_prompt():
    page = PAGE.read_text("utf-8")
    for template in TEMPLATES.values():
        assert f"`{template.uri_template}`" in page
    for prompt in Prompts(None, list_toolsets()).list_prompts():
        arguments = ", ".join(f"`{each.name}`{'' if each.required else '?'}" for each in prompt.arguments)
        assert f"| `{prompt.name}` | {arguments} |" in page


def test_the_twelve_tools_of_every_day_exist():
    assert set(operations()) >= DEFAULT_TOOLS.keys() and len(ToolList().filter(SCOPES)) == 12


if __name__ == "__main__":
    PAGE.write_text(current(), "utf-8")
