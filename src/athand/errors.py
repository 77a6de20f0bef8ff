"""Every error Athand raises on purpose.

AthandError
├── InvalidInput    the arguments are wrong: change them
│   └── BadData         a file that was handed in is broken: mend it
├── NotFound        no such thing: look at what there is
├── Conflict        the thing changed meanwhile, or exists already: read it again
├── Refused         a tool may not be called like this: the user must approve it, or allow it
├── ToolFailed      a tool was called and answered with an error
├── ActionFailed    an action in the browser did not work; its code says how
└── Unavailable     the store, a model or a server cannot be used now
    └── StoreError      the database cannot be opened, read or written
        ├── StoreBusy       somebody else has been writing for too long: try again
        └── DataError       what the database holds is damaged, or newer than this program

A message says what happened, what is known, and what to do; a code, where there is one, is a word for programs.
"""


class AthandError(Exception):
    """The base of all errors of this package; catch it to catch them all."""

    exit_code = 1

    def __init__(self, message: str = "", *, code: str | None = None) -> None:
        super().__init__(message)
        self.code = code


class InvalidInput(AthandError):
    """An argument is missing, malformed or out of range."""

    exit_code = 2


class BadData(InvalidInput):
    """A file to be read is not what it should be; nothing of it was kept."""

    exit_code = 65


class NotFound(AthandError):
    """The id or name is unknown."""


class Conflict(AthandError):
    """The thing was changed by someone else, or its id is taken."""


class Refused(AthandError):
    """The user has not approved the tool, or a rule forbids the call; nothing was called."""

    exit_code = 77


class ToolFailed(AthandError):
    """The tool ran and says that it failed; its answer is the message."""


class ActionFailed(AthandError):
    """The page did not do what it was asked for; the step was recorded as failed."""


class Unavailable(AthandError):
    """A part that is needed does not answer; nothing was changed."""

    exit_code = 69


class StoreError(Unavailable):
    """The database cannot be opened, read or written; the last transaction was rolled back."""

    exit_code = 74


class StoreBusy(StoreError):
    """Another process has been writing for too long; nothing was changed."""


class DataError(StoreError):
    """The database is damaged, is no database, or belongs to a newer program."""

    exit_code = 65
