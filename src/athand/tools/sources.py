"""Where the servers of somebody at work come from: the user's own file, the project, and one more configuration."""

import hashlib
import logging
from pathlib import Path
from typing import TYPE_CHECKING

from athand.errors import InvalidInput
from athand.inputs import check_name
from athand.tools.model import DEFAULT

if TYPE_CHECKING:
    from athand.tools.service import Tools

PROJECT_FILE = ".mcp.json"

log = logging.getLogger("athand")


def load_all(tools: "Tools", user: Path | None, folder: Path | None, config: Path | None) -> tuple[str, ...]:
    """Register all of them, each in a catalogue of its own. What is nearer wins: the last is searched first.

    A file that was only found and is broken is named in the log: it must not take the others away.
    """
    catalogues = [DEFAULT]
    if user is not None and user.is_file():
        _load(tools, user, DEFAULT, "user")
    if folder is not None and (file := project_file(folder)) is not None:
        catalogues.append(catalogue_of(file.parent))
        _load(tools, file, catalogues[-1], "project")
    if config is not None:
        catalogues.append(catalogue_of(config.expanduser().absolute()))
        tools.load(config, catalogue=catalogues[-1], origin="user", connect=False)
    return tuple(reversed(catalogues))


def _load(tools: "Tools", file: Path, catalogue: str, origin: str) -> None:
    try:
        tools.load(file, catalogue=catalogue, origin=origin, connect=False)
    except InvalidInput as error:
        log.warning("No server comes from %s: %s", file, error)


def catalogue_of(place: Path) -> str:
    """The catalogue of a place: its path, or a hash of it where that is no name."""
    try:
        return check_name("catalogue", str(place))
    except InvalidInput:
        return hashlib.sha256(bytes(place)).hexdigest()


def project_file(folder: Path) -> Path | None:
    """The configuration of the project that a folder is in; the user's home is no project."""
    home = Path.home()
    for place in (folder.absolute(), *folder.absolute().parents):
        if place == home:
            return None
        if (place / PROJECT_FILE).is_file():
            return place / PROJECT_FILE
        if (place / ".git").exists():
            return None
    return None
