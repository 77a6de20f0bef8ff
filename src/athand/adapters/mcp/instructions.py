"""What an agent is told at the start: which tool is for what, as far as it has them."""

from collections.abc import Collection

_BEGINNING = (
    "Athand finds what you can use: what was remembered, documents, tools of other servers, and recorded UI flows. "
    "Scores are from 0 to 1 and say why; no hit means that nothing fits, so do not search again with the same words."
)
# The tool that each line is about, and the line.
_LINES = {
    "search": "Begin with search, which asks everything at once; the other searches look into one corpus.",
    "memory_brief": "When work on a project begins, read memory_brief.",
    "memory_add": (
        "Keep decisions, preferences and hard-won facts with memory_add as they come up; when one replaces another, "
        "call memory_supersede."
    ),
    "search_content": (
        "Questions about files: search_content for passages (concepts and exact terms), find_documents for files, "
        "get_document_text to read one."
    ),
    "search_tools": (
        "To do something you have no tool for: search_tools, then describe_tool for its parameters, then call_tool. "
        "A tool that changes things is called with call_tool_write or call_tool_destructive, where you have these."
    ),
    "knowledge_search": "Before you drive a browser, ask knowledge_search what was done there before.",
}


def instructions(offered: Collection[str]) -> str:
    """A few sentences on the tools that are offered."""
    return "\n".join([_BEGINNING, *(line for tool, line in _LINES.items() if tool in offered)])
