"""What becomes known of a server beside its messages, and how to say why it fails."""

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from athand.redaction import redact
from athand.tools.model import Launch
from athand.tools.variables import private_environment

_MOST = 300  # characters of somebody else's words in a message of ours
_TAIL, _LINES = 4096, 20  # bytes and lines kept of what a server complains about
_SHORTEST_SECRET = 8
_LIKE_A_SECRET = re.compile(r"(?=.*\d)(?=.*[A-Za-z])[\w.-]{16,}")


class LoginNeeded(Exception):
    """The server wants somebody to log in first."""


@dataclass(slots=True)
class Diagnostics:
    """The traces of one connection."""

    launch: Launch
    on_end: Callable[[], None] = lambda: None  # the server has closed its side
    is_closed: bool = False  # by the server
    is_ending: bool = False  # by us
    messages: int = 0
    noise: int = 0  # lines that were no messages
    noise_in_a_row: int = 0
    questions: int = 0  # of the server that we have not answered yet
    problem: str | None = None  # why we gave it up
    exit_code: int | None = None
    status: int | None = None  # the last HTTP status that was an error
    _tail: bytes = field(default=b"", repr=False)

    def add_stderr(self, chunk: bytes) -> None:
        """The server wrote to its standard error."""
        self._tail = (self._tail + chunk)[-_TAIL:]

    @property
    def stderr_tail(self) -> str:
        """The last words of the server."""
        lines = mask_secrets(self._tail.decode("utf-8", "replace"), self.launch).split("\n")
        return sanitize(" / ".join(line.strip() for line in lines[-_LINES:] if line.strip()), from_the_end=True)

    def describe_error(self, error: BaseException) -> str:
        """What an error says, without what the configuration has told this server alone."""
        return error_text(error, self.launch)

    @property
    def needs_login(self) -> bool:
        """Whether it is only a login that is missing."""
        return self.launch.transport != "stdio" and self.status == 401 and not has_authorization(self.launch)

    def describe_failure(self, error: BaseException | None) -> str:
        """Why it does not work, in half a sentence."""
        return "; ".join(part for part in (self._cause(error), self._describe_noise(), self._describe_stderr()) if part)

    def _cause(self, error: BaseException | None) -> str:
        if self.problem:
            return self.problem
        if self.exit_code == 127 and "command not found" in self.stderr_tail:
            return f"command not found: {self.launch.command} (install it, or name its full path)"
        if self.exit_code is not None:
            return f"it stopped with exit code {self.exit_code}"
        if self.launch.transport != "stdio":
            return self._remote_cause(error)
        return self.describe_error(error) if error and not self.is_closed else "it closed the connection"

    def _remote_cause(self, error: BaseException | None) -> str:
        where = origin_of(self.launch.url)
        if self.needs_login:
            return f"{where} wants a login: athand tools login {self.launch.name}"
        if self.status == 401:
            return f"{where} refuses the Authorization header of the configuration"
        if self.status is not None:
            return f"{where} answered with HTTP status {self.status}"
        return f"cannot reach {where}: {self.describe_error(error) if error else 'the connection was closed'}"

    def _describe_noise(self) -> str:
        return f"it wrote {self.noise} lines that are no messages" if self.noise else ""

    def _describe_stderr(self) -> str:
        said = self.stderr_tail
        return f"its last words: {said}" if said and "command not found" not in said else ""


def has_authorization(launch: Launch) -> bool:
    """Whether the configuration says how to be let in."""
    return any(name.lower() == "authorization" for name in launch.headers)


def error_text(error: BaseException, launch: Launch | None = None) -> str:
    """What an error of a library says, made safe to show."""
    first = next(leaf_errors(error))
    text = str(first).split("\n")[0] or type(first).__name__
    if _is_validation_error(first):
        return sanitize(f"not the protocol: {first.title}")  # type: ignore[attr-defined]
    return sanitize(text if launch is None else mask_secrets(text, launch)).rstrip(".")


def _is_validation_error(error: BaseException) -> bool:
    return type(error).__name__ == "ValidationError" and hasattr(error, "title")


def leaf_errors(error: BaseException) -> Iterator[BaseException]:
    """The errors in a group of errors."""
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from leaf_errors(each)
    else:
        yield error


def is_login_error(error: BaseException) -> bool:
    """Whether somewhere in it lies the wish for a login."""
    return any(isinstance(each, LoginNeeded) for each in leaf_errors(error))


def sanitize(text: str, from_the_end: bool = False) -> str:
    """Words of others without secrets, line breaks and control characters, cut."""
    line = " ".join("".join(each if _is_printable(each) else " " for each in text).split())
    line = redact(line)
    if len(line) <= _MOST:
        return line
    return f"…{line[-_MOST:]}" if from_the_end else f"{line[:_MOST]}…"


def _is_printable(character: str) -> bool:
    return unicodedata.category(character)[0] not in "CZ" or character == " "


def mask_secrets(text: str, launch: Launch) -> str:
    """A text without what the configuration has told one server alone: names stand in the place of values."""
    for secret, name in sorted(_secrets(launch), key=lambda each: -len(each[0])):
        text = text.replace(secret, f"[{name}]")
    return text


def _secrets(launch: Launch) -> Iterator[tuple[str, str]]:
    for name, value in {**private_environment(launch.env), **launch.headers}.items():
        yield from ((part, name) for part in (value, value.partition(" ")[2]) if len(part) >= _SHORTEST_SECRET)
    words = (*launch.args, *re.split("[/?&=:@]", launch.url))
    yield from ((word, "hidden") for word in words if _LIKE_A_SECRET.fullmatch(word))


def origin_of(url: str) -> str:
    """An address without the parts that may hold a secret; some servers have it in the path."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
