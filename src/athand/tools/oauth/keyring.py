"""The keyring of the operating system, where there is one and the extra `keyring` is installed."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from athand.errors import Unavailable

T = TypeVar("T")
_SERVICE = "athand"
_SECONDS = 30.0  # a keyring may ask its user to unlock it


def find_keyring() -> Any | None:
    """The keyring; None if there is none that protects what it keeps, or the extra is not installed."""
    try:
        import keyring
        from keyring import core
    except ImportError:
        return None
    backend = keyring.get_keyring()
    return backend if core.recommended(backend) else None


def read_secret(keyring: Any, name: str) -> str | None:
    """The text under a name; Unavailable if the keyring does not answer, or is locked."""
    found: str | None = _run(lambda: keyring.get_password(_SERVICE, name))
    return found


def write_secret(keyring: Any, name: str, text: str) -> None:
    """Keep a text under a name, and look whether it is kept."""
    _run(lambda: keyring.set_password(_SERVICE, name, text))
    if read_secret(keyring, name) != text:
        raise Unavailable("The keyring of the system does not keep what it is given.")


def delete_secret(keyring: Any, name: str) -> None:
    """Delete what is kept under a name, if there is such."""
    if read_secret(keyring, name) is not None:
        _run(lambda: keyring.delete_password(_SERVICE, name))


def _run(work: Callable[[], T]) -> T:
    """The result of the work, in a thread of its own: a keyring that waits for its user must not hold up our end."""
    done: Future[T] = Future()

    def run() -> None:
        try:
            done.set_result(work())
        except Exception as error:  # of the keyring, or of what it talks to
            done.set_exception(error)

    threading.Thread(target=run, name="athand-keyring", daemon=True).start()
    try:
        return done.result(_SECONDS)
    except TimeoutError:
        raise Unavailable(f"The keyring of the system did not answer within {_SECONDS:g} s. Unlock it.") from None
    except Exception as error:
        raise Unavailable(f"The keyring of the system does not work: {error or type(error).__name__}.") from error
