"""Where the servers of somebody at work come from: the user's own file, the project, and one more configuration."""

from pathlib import Path
from typing import TYPE_CHECKING

from recollect.tools.model import DEFAULT

if TYPE_CHECKING:
    from recollect.tools.service import Tools

PROJECT_FILE = ".mcp.json"


def load_all(tools: "Tools", user: Path | None, folder: Path | None, config: Path | None) -> tuple[str, ...]:
    """Register all of them, each in a catalogue of its own. What is nearer wins: the last is searched first."""
    catalogues = [DEFAULT]
    if user is not None and user.is_file():
        tools.load(user, catalogue=DEFAULT, origin="user", connect=False)
    if folder is not None and (file := project_file(folder)) is not None:
        catalogues.append(str(file.parent))
        tools.load(file, catalogue=catalogues[-1], origin="project", connect=False)
    if config is not None:
        catalogues.append(str(config.expanduser().absolute()))
        tools.load(config, catalogue=catalogues[-1], origin="user", connect=False)
    return tuple(reversed(catalogues))


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
