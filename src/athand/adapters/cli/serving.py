"""What the servers begin with: the store, the tools of the user and of the project, and folders that are watched."""

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from athand.adapters.cli.session import Session
from athand.adapters.cli.tools_catalogues import servers_file
from athand.errors import AthandError

if TYPE_CHECKING:
    from athand.app import Athand

log = logging.getLogger("athand")


def open_for_serving(session: Session) -> "Athand":
    """The store, kept fresh from now on. A file of servers that is wrong is told of, and costs only its tools."""
    athand = session.open()
    try:
        _load_servers(session, athand)
        athand.documents.watch()
    except BaseException:
        athand.close()
        raise
    return athand


def _load_servers(session: Session, athand: "Athand") -> None:
    try:
        catalogues = athand.tools.load_all(user=servers_file(session), folder=Path.cwd())
        athand.tools.connect_new(catalogues)
    except AthandError as error:
        log.warning("Serving without the tools of other servers. %s", error)
