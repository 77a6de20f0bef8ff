"""The gateway: the clients of all servers."""

from athand.tools.gateway.model import Listing, ServerState
from athand.tools.gateway.service import Gateway

__all__ = ["Gateway", "Listing", "ServerState"]
