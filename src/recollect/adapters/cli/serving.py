"""What the servers begin with: the store, the tools of the user and of the project, and folders that are watched."""

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.adapters.cli.session import Session
from recollect.adapters.cli.tools_open import servers_file
from recollect.errors import RecollectError

if TYPE_CHECKING:
    from recollect.app import Recollect

log = logging.getLogger("recollect")


def open_for_serving(session: Session) -> "Recollect":
    """The store, kept fresh from now on. A file of servers that is wrong is told of, and costs only its tools."""
    recollect = session.open()
    try:
        _load_servers(session, recollect)
        recollect.documents.watch()
    except BaseException:
        recollect.close()
        raise
    return recollect


def _load_servers(session: Session, recollect: "Recollect") -> None:
    try:
        catalogues = recollect.tools.load_all(user=servers_file(session), folder=Path.cwd())
        recollect.tools.connect_new(catalogues)
    except RecollectError as error:
        log.warning("Serving without the tools of other servers. %s", error)
