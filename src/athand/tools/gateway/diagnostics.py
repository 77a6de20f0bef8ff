"""Connection diagnostics: stderr tail, exit code, HTTP status, and the error text made of them."""

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from athand.redaction import redact
from athand.text_length import shorten
from athand.tools.model import Launch
from athand.tools.variables import private_environment

_MOST = 300  # characters of foreign text in our messages
_TAIL, _LINES = 4096, 20  # bytes and lines of stderr that are kept
_SHORTEST_SECRET = 8
_LIKE_A_SECRET = re.compile(r"(?=.*\d)(?=.*[A-Za-z])[\w.-]{16,}")


class LoginNeeded(Exception):
    """The server requires a login."""


@dataclass(slots=True)
class Diagnostics:
    """What is observed about one connection."""

    launch: Launch
    on_end: Callable[[], None] = lambda: None  # called when the server closes its side
    is_closed: bool = False  # by the server
    is_ending: bool = False  # by us
    messages: int = 0
    noise: int = 0  # lines that were not messages
    noise_in_a_row: int = 0
    unanswered: int = 0  # requests of the server that are not answered yet
    problem: str | None = None  # why we closed the connection
    exit_code: int | None = None
    status: int | None = None  # of the last HTTP response, if it was an error
    left_out: dict[str, str] = field(default_factory=dict)  # tools of the last list that are not valid, and why
    _tail: bytes = field(default=b"", repr=False)

    def add_stderr(self, chunk: bytes) -> None:
        """Append output of the server's stderr."""
        self._tail = (self._tail + chunk)[-_TAIL:]

    @property
    def stderr_tail(self) -> str:
        """The last lines of stderr, with secrets masked."""
        lines = mask_secrets(self._tail.decode("utf-8", "replace"), self.launch).split("\n")
        return sanitize(" / ".join(line.strip() for line in lines[-_LINES:] if line.strip()), from_the_end=True)

    def describe_error(self, error: BaseException) -> str:
        """The text of an error, with the secrets of this server masked."""
        return error_text(error, self.launch)

    def describe_left_out(self) -> str | None:
        """The tools that the last list has lost, in the words of `describe_failure`; None if there are none."""
        if not self.left_out:
            return None
        count = f"{len(self.left_out)} of its tools {'is' if len(self.left_out) == 1 else 'are'} left out: not valid"
        return "\n".join((count, "; ".join(f"{name} ({flaw})" for name, flaw in list(self.left_out.items()))))

    @property
    def needs_login(self) -> bool:
        """Whether the server answers 401 and the configuration has no Authorization header."""
        return self.launch.transport != "stdio" and self.status == 401 and not has_authorization(self.launch)

    def describe_failure(self, error: BaseException | None) -> str:
        """Why the server does not work, as half a sentence; in a second line what it says itself, for its owner."""
        own = "; ".join(part for part in (self._cause(error), self._describe_noise()) if part)
        said = "; ".join(part for part in (self._what_it_says(error), self._describe_stderr()) if part)
        return f"{own}\n{said}" if said else own

    def _what_it_says(self, error: BaseException | None) -> str:
        is_told = self.problem is not None or self.exit_code is not None or self.status is not None or self.is_closed
        return self.describe_error(error) if error is not None and not is_told else ""

    def _cause(self, error: BaseException | None) -> str:
        if self.problem:
            return self.problem
        if self.exit_code == 127 and "command not found" in self.stderr_tail:
            return f"command not found: {self.launch.command} (install it, or name its full path)"
        if self.exit_code is not None:
            return f"it stopped with exit code {self.exit_code}"
        if self.launch.transport != "stdio":
            return self._remote_cause(error)
        return "it answers with an error" if error and not self.is_closed else "it closed the connection"

    def _remote_cause(self, error: BaseException | None) -> str:
        where = origin_of(self.launch.url)
        if self.needs_login:
            return f"{where} wants a login: athand tools login {self.launch.name}"
        if self.status == 401:
            return f"{where} refuses the Authorization header of the configuration"
        if self.status is not None:
            return f"{where} answered with HTTP status {self.status}"
        return f"cannot reach {where}{'' if error else ': the connection was closed'}"

    def _describe_noise(self) -> str:
        return f"it wrote {self.noise} lines that are not messages" if self.noise else ""

    def _describe_stderr(self) -> str:
        tail = self.stderr_tail
        return f"its stderr ends with: {tail}" if tail and "command not found" not in tail else ""


def split_reason(reason: str | None) -> tuple[str, str]:
    """A reason without the words of the server, and these words, which are for its owner."""
    own, _, said = (reason or "").partition("\n")
    return own, said


def has_authorization(launch: Launch) -> bool:
    """Whether the configuration has an Authorization header."""
    return any(name.lower() == "authorization" for name in launch.headers)


def error_text(error: BaseException, launch: Launch | None = None) -> str:
    """The text of a library error, sanitized."""
    first = next(leaf_errors(error))
    text = str(first).split("\n")[0] or type(first).__name__
    if _is_validation_error(first):
        return sanitize(f"not valid MCP: {first.title}")  # type: ignore[attr-defined]
    return sanitize(text if launch is None else mask_secrets(text, launch)).rstrip(".")


def _is_validation_error(error: BaseException) -> bool:
    return type(error).__name__ == "ValidationError" and hasattr(error, "title")


def leaf_errors(error: BaseException) -> Iterator[BaseException]:
    """The single errors inside nested exception groups."""
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from leaf_errors(each)
    else:
        yield error


def is_login_error(error: BaseException) -> bool:
    """Whether a LoginNeeded is among the errors."""
    return any(isinstance(each, LoginNeeded) for each in leaf_errors(error))


def sanitize(text: str, from_the_end: bool = False) -> str:
    """Foreign text on one line without control characters and secrets, shortened."""
    line = " ".join("".join(each if _is_printable(each) else " " for each in text).split())
    line = redact(line)
    return f"…{line[1 - _MOST :]}" if from_the_end and len(line) > _MOST else shorten(line, _MOST)


def _is_printable(character: str) -> bool:
    return unicodedata.category(character)[0] not in "CZ" or character == " "


def mask_secrets(text: str, launch: Launch) -> str:
    """Replace the values from this server's configuration by their names."""
    for secret, name in sorted(_secrets(launch), key=lambda each: -len(each[0])):
        text = text.replace(secret, f"[{name}]")
    return text


def _secrets(launch: Launch) -> Iterator[tuple[str, str]]:
    for name, value in {**private_environment(launch.env), **launch.headers}.items():
        yield from ((part, name) for part in (value, value.partition(" ")[2]) if len(part) >= _SHORTEST_SECRET)
    words = (*launch.args, *re.split("[/?&=:@]", launch.url))
    yield from ((word, "hidden") for word in words if _LIKE_A_SECRET.fullmatch(word))


def origin_of(url: str) -> str:
    """Scheme and host of a URL; its path and query may hold secrets."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
