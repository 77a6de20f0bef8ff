"""The gateway: the clients of all servers."""

from athand.tools.gateway.service import Gateway
from athand.tools.model import Listing, ServerState

__all__ = ["Gateway", "Listing", "ServerState"]
