"""Who runs an operation: the name of a token, its scopes, and whether a person or an agent is behind it."""

from dataclasses import dataclass

SCOPES = ("search", "write", "call-tools", "admin")
DEFAULT_SCOPES = ("search", "write", "call-tools")  # of an agent; admin is for its owner


@dataclass(frozen=True, slots=True)
class Caller:
    """The owner of a token, or the client of a local process."""

    name: str
    scopes: frozenset[str]
    writer: str = "agent"  # who writes down what this caller stores: "agent" or "user"

    @property
    def is_owner(self) -> bool:
        """Whether it may do what the owner of the store does: decide, and see what waits for a decision."""
        return "admin" in self.scopes

    @property
    def may_read(self) -> bool:
        """Whether it may read what others have stored."""
        return "search" in self.scopes

    @property
    def may_write(self) -> bool:
        """Whether it may change anything."""
        return "write" in self.scopes


AGENT = Caller("agent", frozenset(DEFAULT_SCOPES))  # whoever is on the other end of a pipe
