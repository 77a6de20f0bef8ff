"""The MCP server: what can be done, as tools for agents; memories and documents as resources; a few prompts."""
