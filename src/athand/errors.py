"""Every error Athand raises on purpose.

AthandError
├── InvalidInput    an argument is wrong: change it
│   └── BadData         a file to be read is broken: correct it
├── NotFound        nothing has this id or name: list what exists
├── Conflict        the item was changed meanwhile, or exists already: read it again
├── Refused         the call of a tool is not allowed: the user must approve the tool, or change a rule
├── ToolFailed      a tool was called and returned an error
├── Cancelled       nobody waits for the result any more
├── ActionFailed    an action in the browser did not work; its code says how
└── Unavailable     the store, a model or a server cannot be used now
    ├── Overloaded      too much is being done already: try again after some seconds
    └── StoreError      the database cannot be opened, read or written
        ├── StoreBusy       another process has been writing for too long: try again
        └── DataError       what the database holds is damaged, or newer than this program

A message says what happened, what is known, and what to do. A code, where there is one, is for programs. A quote is
what another program said, which nobody has approved: it is for the owner, and no agent reads it.
"""


class AthandError(Exception):
    """The base of all errors of this package; catch it to catch them all."""

    exit_code = 1

    def __init__(self, message: str = "", *, code: str | None = None, quote: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.quote = quote


class InvalidInput(AthandError):
    """An argument is missing, malformed or out of range."""

    exit_code = 2


class BadData(InvalidInput):
    """A file to be read is broken or of another format; nothing of it was stored."""

    exit_code = 65


class NotFound(AthandError):
    """The id or name is unknown."""


class Conflict(AthandError):
    """The item was changed by someone else, or its id is taken."""


class Refused(AthandError):
    """The user has not approved the tool, or a rule forbids the call; nothing was called."""

    exit_code = 77


class ToolFailed(AthandError):
    """The tool ran and reported an error, which is the message."""


class Cancelled(AthandError):
    """Whoever asked has given up, so the work ended early; an open transaction was rolled back."""


class ActionFailed(AthandError):
    """The page did not do what it was asked for; the step was recorded as failed."""


class Unavailable(AthandError):
    """The store, a model or a server does not work now; nothing was changed."""

    exit_code = 69


class Overloaded(Unavailable):
    """Too much is being done already; this was not begun. It may be tried again after so many seconds."""

    def __init__(self, message: str, seconds: int) -> None:
        super().__init__(message)
        self.seconds = seconds


class StoreError(Unavailable):
    """The database cannot be opened, read or written; the last transaction was rolled back."""

    exit_code = 74


class StoreBusy(StoreError):
    """Another process has been writing for too long; nothing was changed."""


class DataError(StoreError):
    """The database is damaged, is no database, or belongs to a newer program."""

    exit_code = 65
