"""Where other programs keep their servers, and how theirs are written as ours.

Whoever imports the servers of a project takes over what a folder says, so projects are read only when one is named.
"""

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from athand.errors import AthandError, BadData, NotFound
from athand.inputs import check_choice
from athand.tools.config_files import parse_object, read_bytes, to_text
from athand.tools.variables import workspace_folder

Given = Mapping[str, Any]

# The files of a user first, then those of a project: later ones win.
_PATHS: Mapping[str, tuple[str, ...]] = {
    "claude-code": ("{claude}/.claude.json", "{project}/.mcp.json"),
    "claude-desktop": ("{config}/Claude/claude_desktop_config.json",),
    "cursor": ("{home}/.cursor/mcp.json", "{project}/.cursor/mcp.json"),
    "vscode": (
        "{config}/Code/User/settings.json",
        "{config}/Code/User/mcp.json",
        "{config}/Code - Insiders/User/mcp.json",
        "{project}/.vscode/settings.json",
        "{project}/.vscode/mcp.json",
    ),
    "codex": ("{codex}/config.toml", "{project}/.codex/config.toml"),
    "gemini": ("{home}/.gemini/settings.json", "{project}/.gemini/settings.json"),
    "windsurf": ("{home}/.codeium/mcp_config.json", "{home}/.codeium/windsurf/mcp_config.json"),
}
CLIENTS = tuple(_PATHS)
_OWN_NAME = "athand"  # how our entries begin, also where they have only an address
_LARGEST = 64_000_000  # some programs keep all that was ever said in the same file
_KEYS = (
    "type transport command args env envFile cwd url headers timeout connectSeconds callSeconds "
    "includeTools excludeTools disabled enabled description"
).split()
_INPUT = re.compile(r"\$\{input:([^{}]+)\}")
_ATHAND = re.compile(r"(?:.*[/\\])?athand(?:\.exe)?(?:[\[@=].*)?")
_BARE = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")


@dataclass(slots=True)
class ClientServers:
    """What a program has: its servers in our form, what one should know about them, and the files that were read."""

    servers: dict[str, dict[str, Any]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)


def config_paths(
    client: str, home: Path, platform: str, project: Path | None = None, environment: Given | None = None
) -> list[Path]:
    """Where a program may have servers, whether the files exist or not. `platform` is as in `sys.platform`."""
    check_choice("program", client, CLIENTS)
    said = environment or {}
    folders = {
        "home": str(home),
        "config": _config_folder(home, platform, said),
        "codex": said.get("CODEX_HOME") or f"{home}/.codex",
        "claude": said.get("CLAUDE_CONFIG_DIR") or str(home),
        "project": str(project),
    }
    wanted = [each for each in _PATHS[client] if project is not None or "{project}" not in each]
    return [Path(each.format(**folders)) for each in wanted]


def read_client(
    client: str, home: Path, platform: str, project: Path | None = None, environment: Given | None = None
) -> ClientServers:
    """All servers of a program. A file that is missing has none; one that is broken is noted."""
    found = ClientServers()
    for path in config_paths(client, home, platform, project, environment):
        try:
            config = _parse(path)
            for name, given in _iter_servers(client, config, project):
                _add_server(found, client, name, given, path, project)
            found.files.append(path)
            found.notes += _replace_inputs(config, found.servers) if client == "vscode" else []
        except NotFound:
            continue
        except AthandError as error:
            found.notes.append(str(error))
    return found


def _config_folder(home: Path, platform: str, environment: Given) -> str:
    if platform == "darwin":
        return f"{home}/Library/Application Support"
    if platform == "win32":
        return environment.get("APPDATA") or f"{home}/AppData/Roaming"
    return environment.get("XDG_CONFIG_HOME") or f"{home}/.config"


def _parse(path: Path) -> dict[str, Any]:
    data = read_bytes(path, _LARGEST)
    if path.suffix != ".toml":
        return parse_object(data, path)
    try:
        return tomllib.loads(to_text(data, path))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise BadData(f"{path} is not TOML: {error}. Mend it there.") from error


def _iter_servers(client: str, config: Given, project: Path | None) -> Iterator[tuple[str, Any]]:
    """The servers a file names, wherever its program puts them."""
    if client == "codex":
        yield from _object(config, "mcp_servers").items()
        return
    if client == "vscode":
        yield from (_object(config, "mcp.servers") or _object(_object(config, "mcp"), "servers")).items()
        yield from _object(config, "servers").items()
    switched_off = _object(config, "mcp").get("excluded", []) if client == "gemini" else []
    for name, given in _object(config, "mcpServers").items():
        yield name, {**given, "disabled": True} if name in switched_off and isinstance(given, Mapping) else given
    if client == "claude-code" and project is not None:
        yield from _object(_object(_object(config, "projects"), str(project)), "mcpServers").items()


def _object(config: Given, key: str) -> Given:
    value = config.get(key)
    return value if isinstance(value, Mapping) else {}


def _add_server(found: ClientServers, client: str, name: str, given: Any, path: Path, project: Path | None) -> None:
    """Keep a server in our form, or say why not."""
    if not isinstance(given, Mapping):
        found.notes.append(f"The server {name!r} in {path} is no object; it was left out.")
    elif _is_athand(given) or (name.startswith(_OWN_NAME) and "command" not in given):
        found.notes.append(f"The server {name!r} in {path} is Athand itself; it was left out.")
    else:
        translated = _TRANSLATORS.get(client, dict)(given)
        ours = {key: translated[key] for key in _KEYS if translated.get(key) is not None}
        is_of_project = project is not None and path.is_relative_to(project)
        found.servers[name] = _make_absolute(ours, path, is_of_project)
        found.notes += _describe_losses(name, given, found.servers[name])


def _is_athand(given: Given) -> bool:
    """A gateway that starts itself would never end."""
    args = given.get("args") if isinstance(given.get("args"), list) else []
    words = [word for word in (given.get("command"), *(args or [])[:6]) if isinstance(word, str)]
    return "mcp" in words and any(_ATHAND.fullmatch(word) for word in words)


def _make_absolute(ours: dict[str, Any], path: Path, is_of_project: bool) -> dict[str, Any]:
    """The server as it is when its entry moves to another file: what was relative becomes absolute."""
    folder = workspace_folder(path)
    if is_of_project:
        ours = _map_strings(ours, lambda text: text.replace("${workspaceFolder}", str(folder)))
    for key in ("cwd", "envFile"):
        value = ours.get(key)
        if isinstance(value, str) and not value.startswith(("~", "$", "/", "\\")) and ":" not in value:
            ours[key] = str(folder / value)
    return {**ours, "cwd": str(folder)} if is_of_project and "command" in ours and "cwd" not in ours else ours


def _describe_losses(name: str, given: Given, ours: Given) -> Iterator[str]:
    """What does not come along."""
    if "headersHelper" in given:
        yield f"The server {name!r} gets its headers from a command; write them into its headers."
    if "${workspaceFolder}" in repr(ours):
        yield f"The server {name!r} uses ${{workspaceFolder}}, which is another folder here; write the path instead."


def _replace_inputs(config: Given, servers: Mapping[str, dict[str, Any]]) -> list[str]:
    """Make variables of what VS Code asks its user for, in place; say which to set."""
    listed = config.get("inputs")
    about = {each.get("id"): each.get("description") for each in listed or [] if isinstance(each, Mapping)}
    notes = []
    for name, given in servers.items():
        for asked in dict.fromkeys(_INPUT.findall(repr(given))):
            what = f" ({about[asked]})" if about.get(asked) else ""
            notes.append(
                f"The server {name!r} needs the variable {_variable_name(asked)}{what}. Set it before you use it."
            )
        given.update(
            _map_strings(given, lambda text: _INPUT.sub(lambda found: f"${{{_variable_name(found[1])}}}", text))
        )
    return notes


def _variable_name(asked: str) -> str:
    name = re.sub(r"[^A-Za-z0-9]+", "_", asked).strip("_").upper()
    return f"_{name}" if not name or name[0].isdigit() else name


def _map_strings(value: Any, change: Callable[[str], str]) -> Any:
    """A value with all texts in it changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {key: _map_strings(below, change) for key, below in value.items()}
    return [_map_strings(below, change) for below in value] if isinstance(value, list) else value


def _from_codex(given: Given) -> dict[str, Any]:
    """Codex names variables instead of writing them into texts, and its names of tools are no patterns."""
    headers = {**_object(given, "http_headers")}
    headers |= {name: f"${{{variable}}}" for name, variable in _object(given, "env_http_headers").items()}
    if token := given.get("bearer_token_env_var"):
        headers["Authorization"] = f"Bearer ${{{token}}}"
    passed = (each.get("name") if isinstance(each, Mapping) else each for each in given.get("env_vars") or [])
    milliseconds = given.get("startup_timeout_ms")
    seconds = milliseconds / 1000 if isinstance(milliseconds, int | float) else None
    return {
        **given,
        "env": {f"{name}": f"${{{name}:-}}" for name in passed} | {**_object(given, "env")} or None,
        "headers": headers or None,
        "includeTools": _escape_patterns(given.get("enabled_tools")),
        "excludeTools": _escape_patterns(given.get("disabled_tools")),
        "connectSeconds": given.get("startup_timeout_sec", seconds),
        "callSeconds": given.get("tool_timeout_sec"),
    }


def _from_gemini(given: Given) -> dict[str, Any]:
    """Gemini CLI speaks SSE to a `url` unless it says otherwise, and fills in `$NAME` too."""
    filled: dict[str, Any] = _map_strings(dict(given), lambda text: _BARE.sub(r"${\1}", text))
    if filled.get("httpUrl"):
        filled |= {"url": filled["httpUrl"], "type": "http"}
    elif filled.get("url") and not filled.get("type"):
        filled["type"] = "sse"
    lists = {key: _escape_patterns(given.get(key)) for key in ("includeTools", "excludeTools")}
    return {**filled, **lists}


def _from_windsurf(given: Given) -> dict[str, Any]:
    excluded = _escape_patterns(given.get("disabledTools"))
    return {**given, "url": given.get("serverUrl") or given.get("url"), "excludeTools": excluded}


def _escape_patterns(names: Any) -> list[str] | None:
    """Names as patterns that fit nothing else."""
    if not isinstance(names, list):
        return None
    return [re.sub(r"([*?\[])", r"[\1]", name) for name in names if isinstance(name, str)]


_TRANSLATORS: Mapping[str, Callable[[Given], dict[str, Any]]] = {
    "codex": _from_codex,
    "gemini": _from_gemini,
    "windsurf": _from_windsurf,
}
