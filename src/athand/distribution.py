"""The installed distribution: its name, and the commands that add an extra to it or upgrade it."""

import re
import shlex
import sys
from pathlib import Path

DISTRIBUTION = "athand"
_REQUIREMENT = re.compile(
    r"([\w.-]+(?:\[[^\]]*\])?)[^;]*;.*\bextra == [\"']([\w.-]+)[\"']"
)  # playwright>=1; extra == "x"


def install_hint(extra: str) -> str:
    """The command that installs what an extra needs, right for the way Athand was installed."""
    requirement = f"{DISTRIBUTION}[{extra}]"
    installer = _installer()
    if installer == "uv":
        return shlex.join(["uv", "tool", "install", requirement])
    packages = _packages(extra) if installer == "pipx" else []
    if packages:
        return shlex.join(["pipx", "inject", DISTRIBUTION, *packages])
    return shlex.join(["pip", "install", requirement])


def upgrade_hint() -> str:
    """The command that upgrades Athand, right for the way it was installed."""
    commands = {"pip": "pip install --upgrade", "pipx": "pipx upgrade", "uv": "uv tool upgrade"}
    return f"{commands[_installer()]} {DISTRIBUTION}"


def _installer() -> str:
    """The program that made the environment we run in: pipx, uv (as a tool), else pip."""
    prefix = Path(sys.prefix)
    if (prefix / "pipx_metadata.json").is_file():
        return "pipx"
    return "uv" if (prefix / "uv-receipt.toml").is_file() else "pip"


def _packages(extra: str) -> list[str]:
    """The packages of an extra, as the metadata of the installed distribution lists them, without versions."""
    from importlib import metadata

    try:
        required = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        return []
    matches = (_REQUIREMENT.match(line) for line in required)
    return [match[1] for match in matches if match and match[2] == extra]
