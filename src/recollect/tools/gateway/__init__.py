"""The gateway: the clients of all servers."""

from recollect.tools.gateway.model import Listing, ServerState
from recollect.tools.gateway.service import Gateway

__all__ = ["Gateway", "Listing", "ServerState"]
