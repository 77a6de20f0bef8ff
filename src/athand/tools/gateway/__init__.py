"""The gateway: MCP clients of all servers, in one thread."""

from athand.tools.gateway.service import Gateway
from athand.tools.model import Listing, ServerState

__all__ = ["Gateway", "Listing", "ServerState"]
