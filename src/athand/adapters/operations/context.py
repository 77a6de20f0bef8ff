"""What operations work with: the opened Athand, the catalogues that may be reached, and the open browsers."""

import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, TypeAlias

from athand.errors import NotFound

if TYPE_CHECKING:
    from athand.adapters.operations.browsers import Browsers
    from athand.app import Athand
    from athand.corpus import AnyCorpus

Tally = Callable[[str, str], None]  # the name of an operation; ok, or the class of its error
Catalogues = str | Sequence[str] | None
OwnCorpora: TypeAlias = "tuple[type[AnyCorpus], ...]"  # classes of corpora beside the four


class AppContext:
    """Athand, opened when it is first needed, and the browsers that were launched."""

    def __init__(self, opener: "Callable[[], Athand]", corpora: OwnCorpora = ()) -> None:
        self._opener = opener
        self.corpora = corpora  # those that the opener adds, known before the store is open
        self._lock = threading.RLock()
        self._closing = ExitStack()
        self._athand: Athand | None = None
        self._browsers: Browsers | None = None
        self.tally: Tally = _ignore_outcome

    @property
    def athand(self) -> "Athand":
        """The one Athand of this process."""
        with self._lock:
            if self._athand is None:
                self._athand = self._closing.enter_context(self._opener())
            return self._athand

    @property
    def browsers(self) -> "Browsers":
        """The browsers that are open, by the session they record."""
        with self._lock:
            if self._browsers is None:
                from athand.adapters.operations.browsers import Browsers

                self._browsers = Browsers(self.athand.flows)
                self._closing.callback(self._browsers.close)
            return self._browsers

    def resolve_catalogues(self, names: Catalogues) -> Catalogues:
        """The named catalogues, by default all that this process was opened for; an error for any other."""
        return restrict_catalogues(names, self.athand.tools.catalogues)

    def close(self) -> None:
        """Close the browsers, then the store."""
        with self._lock:
            self._closing.close()


def restrict_catalogues(names: Catalogues, reachable: Catalogues) -> Catalogues:
    """The named catalogues, by default all reachable ones: servers of one project are out of reach of another."""
    wanted = [names] if isinstance(names, str) else names
    if not wanted:
        return reachable
    known = [reachable] if isinstance(reachable, str) else reachable
    if known is not None and (foreign := [each for each in wanted if each not in known]):
        raise NotFound(f"No catalogue {foreign[0]!r} here. Known: {', '.join(known)}.")
    return names


def _ignore_outcome(name: str, outcome: str) -> None:
    """Counts nothing: the default tally."""
