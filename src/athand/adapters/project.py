"""The project that work is done in: named by whoever starts us, or found by the repository of a folder."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from athand.errors import InvalidInput
from athand.inputs import check_name

DEFAULT = "default"
VARIABLE = "ATHAND_PROJECT"
_REMOTE = re.compile(r'^\s*\[remote "(?P<name>[^"]+)"\]\s*$|^\s*url\s*=\s*(?P<url>\S+)\s*$', re.MULTILINE)
_MOST_BYTES = 1_000_000  # of a configuration of git


@dataclass(frozen=True, slots=True)
class FoundProject:
    """The name of a project, and how it was found."""

    name: str
    source: str

    @property
    def is_named(self) -> bool:
        """Whether somebody named it, rather than a folder."""
        return self.source in ("--project", VARIABLE)

    @property
    def is_known(self) -> bool:
        """Whether there is a project at all: somebody named it, or work is done in a repository."""
        return self.name != DEFAULT

    def __str__(self) -> str:
        return f"{self.name} ({self.source})"


NO_PROJECT = FoundProject(DEFAULT, "no repository here")


def find_project(given: str | None, folder: Path, environment: Mapping[str, str] = os.environ) -> FoundProject:
    """The project by name, by the variable, or by the repository of the folder."""
    if given is not None:
        return FoundProject(check_name("--project", given), "--project")
    if named := environment.get(VARIABLE):
        return FoundProject(check_name(VARIABLE, named), VARIABLE)
    return find_project_of([folder]) or NO_PROJECT


def find_project_of(folders: list[Path]) -> FoundProject | None:
    """The project of the first folder that is in a repository."""
    for folder in folders:
        if name := find_repository(folder):
            return FoundProject(name, f"the repository of {folder}")
    return None


def project_of_session(folder: str | None) -> str:
    """The project of a past session by its folder: its repository; where the folder is gone, its name."""
    if not folder:
        return DEFAULT
    path = Path(folder)
    try:
        return find_repository(path) or (DEFAULT if path.is_dir() else check_name("project", path.name))
    except (InvalidInput, OSError, ValueError):
        return DEFAULT


def folder_of_address(address: str) -> Path | None:
    """The folder that a file address names."""
    parts = urlsplit(address)
    return Path(unquote(parts.path)) if parts.scheme == "file" and parts.netloc in ("", "localhost") else None


def find_repository(folder: Path) -> str | None:
    """The name of the git repository that a folder is in: that of its remote, else of its folder.

    Linked worktrees have the name of the repository that they are of.
    """
    for each in (folder, *folder.parents):
        entry = each / ".git"
        try:
            if entry.is_dir():
                return _name_repository(entry, each)
            if entry.is_file():
                return _name_worktree(entry, each)
        except (OSError, ValueError):  # a folder that may not be read, or a path that cannot be, is of no project
            return None
    return None


def _name_worktree(entry: Path, top: Path) -> str | None:
    """The name where `.git` is a file: that of a linked worktree's repository, or of a submodule."""
    place = _read(entry).removeprefix("gitdir:").strip()
    own = (top / place).resolve()
    common = own / "commondir"
    if not common.is_file():
        return _name_repository(own, top)
    shared = (own / _read(common).strip()).resolve()
    return _name_repository(shared, shared.parent if shared.name == ".git" else shared)


def _name_repository(git: Path, top: Path) -> str | None:
    """The last part of the remote's address, origin first, else the name of the folder; None if neither is a name."""
    config = git / "config"
    remotes = _read_remotes(_read(config)) if config.is_file() else {}
    address = remotes.get("origin") or next(iter(remotes.values()), "")
    for name in (re.split(r"[/:\\]", address.rstrip("/"))[-1], top.name):
        short = name.removesuffix(".git")
        try:
            return check_name("project", short)
        except InvalidInput:
            continue
    return None


def _read_remotes(config: str) -> dict[str, str]:
    """The addresses of remotes by name."""
    remotes: dict[str, str] = {}
    section = None
    for line in config.splitlines():
        found = _REMOTE.match(line)
        if line.lstrip().startswith("["):
            section = found["name"] if found else None
        elif found and section is not None:
            remotes.setdefault(section, found["url"])
    return remotes


def _read(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(_MOST_BYTES).decode(errors="replace")
