"""What a check-up can mend: nothing that is stored is changed, only what is around it or made from it."""

import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from athand.adapters.cli.answers import EVERYTHING
from athand.adapters.cli.doctor_checks import LONG_LOG, REINDEX
from athand.adapters.cli.doctor_files import exposed, leftovers
from athand.adapters.cli.words import pluralize
from athand.errors import AthandError

if TYPE_CHECKING:
    from athand.adapters.cli.session import Session
    from athand.app import Athand


def mend(session: "Session") -> list[str]:
    """Mend what can be mended; what was done, in words. What is in the way is told by the checks that follow."""
    from athand.config import load_settings

    done: list[str] = []
    with suppress(AthandError, OSError):
        settings = load_settings(data_dir=session.data_dir)
        done += _hide(exposed(session, settings))
        done += _clear(leftovers(session, settings))
        with session.open() as athand:
            done += _renew(athand)
    return done


def _hide(paths: list[Path]) -> Iterator[str]:
    for path in paths:
        path.chmod(stat.S_IMODE(path.stat().st_mode) & 0o700)
        yield f"made {path} private"


def _clear(paths: list[Path]) -> Iterator[str]:
    for path in paths:
        path.unlink(missing_ok=True)
        yield f"removed {path}, which a process left when it died"


def _renew(athand: "Athand") -> Iterator[str]:
    """Make anew what is derived and wrong, or missing."""
    if any(finding.endswith(REINDEX) for finding in athand.check()):
        for name in EVERYTHING:
            getattr(athand, name).reindex()
        yield "made every index anew"
    missing = sum(athand.without_vectors().values())
    if missing and athand.embed_missing():
        yield f"made the vectors of {pluralize(missing, 'passage')}"
    if athand.status().store["log"] > LONG_LOG and athand.compact():
        yield "folded the log into the store"
