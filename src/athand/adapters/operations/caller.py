"""Who runs an operation: the name of a token, its scopes, and whether a person or an agent is behind it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

from athand.parameters import FromCaller

if TYPE_CHECKING:
    from athand.tools.relay import Relay

SCOPES = ("search", "write", "call-tools", "admin")
_LONGEST_ANSWER = 2_000_000
DEFAULT_SCOPES = ("search", "write", "call-tools")  # of an agent; admin is for its owner


@dataclass(frozen=True, slots=True)
class Caller:
    """The owner of a token, or the client of a local process."""

    name: str
    scopes: frozenset[str]
    writer: str = "agent"  # who writes down what this caller stores: "agent" or "user"
    servers: frozenset[str] | None = None  # the tool servers that it may reach; None: all of them
    project: str | None = None  # that it works on, where that is known
    client: "Relay | None" = field(default=None, compare=False, repr=False)  # where it can be asked during a call

    @property
    def is_owner(self) -> bool:
        """Whether it may do what the owner of the store does: decide, and see what waits for a decision."""
        return "admin" in self.scopes

    @property
    def may_read(self) -> bool:
        """Whether it may read what others have stored."""
        return "search" in self.scopes

    @property
    def longest_answer(self) -> int:
        """How many characters the texts in a list of items have together; longer ones are cut."""
        return _LONGEST_ANSWER

    @property
    def may_write(self) -> bool:
        """Whether it may change anything."""
        return "write" in self.scopes

    @property
    def may_call(self) -> bool:
        """Whether it may call tools."""
        return "call-tools" in self.scopes

    def ask(self, message: str, schema: Mapping[str, Any]) -> dict[str, Any] | None:
        """Ask the person behind the client, and wait for the answer; None if the client cannot ask one.

        The schema is a JSON Schema of an object with flat properties. The answer has an "action" (accept, decline or
        cancel, also when nobody answers in time) and, if accepted, the "content". Only for the thread of an operation.
        """
        from athand.tools.relay import ELICIT, ClientCannot

        if self.client is None:
            return None
        try:
            return self.client.request(ELICIT, {"message": message, "requestedSchema": dict(schema)}).result()
        except ClientCannot:
            return None


ByCaller = Annotated[Caller, FromCaller()]  # a parameter that is the caller itself
AGENT = Caller("agent", frozenset(DEFAULT_SCOPES))  # whoever is on the other end of a pipe
