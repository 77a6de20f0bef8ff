"""Imports servers from the files of other programs (Claude, Cursor, VS Code, Codex, …) in our format.

docs/install.md says which page of each program documents its files.
Files of a project are read only if the caller names the project, since they are as trustworthy as its folder.
"""

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from athand.errors import AthandError, BadData, NotFound
from athand.inputs import check_choice
from athand.tools.config_files import parse_object, read_bytes, to_text
from athand.tools.variables import workspace_folder

Json = Mapping[str, Any]

# Files of the user first, then those of the project; later ones take precedence.
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
    "copilot": ("{copilot}/mcp-config.json", "{project}/.mcp.json", "{project}/.github/mcp.json"),
    "opencode": (
        "{xdg}/opencode/opencode.json",
        "{xdg}/opencode/opencode.jsonc",
        "{project}/opencode.json",
        "{project}/opencode.jsonc",
    ),
    "zed": ("{zed}/settings.json", "{project}/.zed/settings.json"),
    "cline": (
        "{config}/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
        "{cline}",
    ),
    "kiro": ("{home}/.kiro/settings/mcp.json", "{project}/.kiro/settings/mcp.json"),
    "continue": ("{continue}/mcpServers/mcp.json", "{project}/.continue/mcpServers/mcp.json"),
}
CLIENTS = tuple(_PATHS)
_SERVERS_KEYS = {"codex": "mcp_servers", "zed": "context_servers"}  # mcpServers in most others
_OWN_NAME = "athand"  # prefix of our own entries, also of those with only a URL
_LARGEST = 64_000_000  # bytes; some programs keep whole conversations in the same file
_KEYS = (
    "type transport command args env envFile cwd url headers timeout connectSeconds callSeconds "
    "includeTools excludeTools disabled enabled description"
).split()
_INPUT = re.compile(r"\$\{input:([^{}]+)\}")
_ATHAND = re.compile(r"(?:.*[/\\])?athand(?:\.exe)?(?:[\[@=].*)?")
_BRACED = re.compile(r"\{env:([A-Za-z_][A-Za-z0-9_]*)\}")
_BARE = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")


@dataclass(slots=True)
class ClientServers:
    """The servers of a program in our format, notes for the user, and the files that were read.

    Those of the names in `incomplete` do not work here without what a note says.
    """

    servers: dict[str, dict[str, Any]] = field(default_factory=dict)
    incomplete: set[str] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)


def config_paths(
    client: str, home: Path, platform: str, project: Path | None = None, environment: Json | None = None
) -> list[Path]:
    """The paths where a program keeps servers, whether they exist or not. `platform` is as in `sys.platform`."""
    check_choice("program", client, CLIENTS)
    variables = environment or {}
    folders = {
        "home": str(home),
        "config": _config_folder(home, platform, variables),
        "codex": variables.get("CODEX_HOME") or f"{home}/.codex",
        "claude": variables.get("CLAUDE_CONFIG_DIR") or str(home),
        "copilot": variables.get("COPILOT_HOME") or f"{home}/.copilot",
        "cline": variables.get("CLINE_MCP_SETTINGS_PATH") or f"{home}/.cline/data/settings/cline_mcp_settings.json",
        "continue": variables.get("CONTINUE_GLOBAL_DIR") or f"{home}/.continue",
        "xdg": variables.get("XDG_CONFIG_HOME") or f"{home}/.config",
        "zed": _zed_folder(home, platform, variables),
        "project": str(project),
    }
    wanted = [each for each in _PATHS[client] if project is not None or "{project}" not in each]
    return [Path(each.format(**folders)) for each in wanted]


def read_client(
    client: str, home: Path, platform: str, project: Path | None = None, environment: Json | None = None
) -> ClientServers:
    """All servers of a program. Missing files are skipped; broken ones are noted."""
    return read_files(client, config_paths(client, home, platform, project, environment), project)


def read_files(client: str, paths: Iterable[Path], project: Path | None = None) -> ClientServers:
    """The servers of a program in some of its files."""
    found = ClientServers()
    for path in paths:
        try:
            config = _parse(path)
            for name, raw in _iter_servers(client, config, project):
                _add_server(found, client, name, raw, path, project)
            found.files.append(path)
            if client == "vscode":
                found.incomplete |= {name for name, raw in found.servers.items() if _INPUT.search(repr(raw))}
                found.notes += _replace_inputs(config, found.servers)
        except NotFound:
            continue
        except AthandError as error:
            found.notes.append(str(error))
    return found


def _config_folder(home: Path, platform: str, environment: Json) -> str:
    if platform == "darwin":
        return f"{home}/Library/Application Support"
    if platform == "win32":
        return environment.get("APPDATA") or f"{home}/AppData/Roaming"
    return environment.get("XDG_CONFIG_HOME") or f"{home}/.config"


def _zed_folder(home: Path, platform: str, environment: Json) -> str:
    if platform == "darwin":
        return f"{home}/.config/zed"
    return f"{_config_folder(home, platform, environment)}/{'Zed' if platform == 'win32' else 'zed'}"


def _parse(path: Path) -> dict[str, Any]:
    data = read_bytes(path, _LARGEST)
    if path.suffix != ".toml":
        return parse_object(data, path)
    try:
        return tomllib.loads(to_text(data, path))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise BadData(f"{path} is not TOML: {error}. Fix it there.") from error


def _iter_servers(client: str, config: Json, project: Path | None) -> Iterator[tuple[str, Any]]:
    """The servers in a parsed file, wherever this program keeps them."""
    if client == "opencode":
        yield from _iter_opencode(_object(config, "mcp"))
        return
    if client in _SERVERS_KEYS:
        yield from _object(config, _SERVERS_KEYS[client]).items()
        return
    if client == "vscode":
        yield from (_object(config, "mcp.servers") or _object(_object(config, "mcp"), "servers")).items()
        yield from _object(config, "servers").items()
    switched_off = _object(config, "mcp").get("excluded", []) if client == "gemini" else []
    for name, raw in _object(config, "mcpServers").items():
        yield name, {**raw, "disabled": True} if name in switched_off and isinstance(raw, Mapping) else raw
    if client == "claude-code" and project is not None:
        yield from _object(_object(_object(config, "projects"), str(project)), "mcpServers").items()


def _iter_opencode(servers: Json) -> Iterator[tuple[str, Any]]:
    """The servers of opencode; version 2 has them one level deeper, in `servers`, where 1 may have a server."""
    nested = _object(servers, "servers")
    is_server = any(isinstance(nested.get(key), str | list) for key in ("type", "command", "url"))
    yield from (each for each in servers.items() if not nested or is_server or each[0] not in ("servers", "timeout"))
    yield from nested.items() if not is_server else ()


def _object(config: Json, key: str) -> Json:
    value = config.get(key)
    return value if isinstance(value, Mapping) else {}


def _add_server(found: ClientServers, client: str, name: str, raw: Any, path: Path, project: Path | None) -> None:
    """Add a server in our format, or a note why not."""
    if not isinstance(raw, Mapping):
        found.notes.append(f"The server {name!r} in {path} is no object; it was left out.")
    elif _is_athand(translated := _TRANSLATORS.get(client, dict)(raw)) or (
        name.startswith(_OWN_NAME) and "command" not in raw
    ):
        found.notes.append(f"The server {name!r} in {path} is Athand itself; it was left out.")
    else:
        converted = {key: translated[key] for key in _KEYS if translated.get(key) is not None}
        is_of_project = project is not None and path.is_relative_to(project)
        found.servers[name] = _make_absolute(converted, path, is_of_project)
        losses = [*_describe_losses(name, raw, found.servers[name])]
        found.notes += losses
        found.incomplete |= {name} if losses else set()


def _is_athand(raw: Json) -> bool:
    """Whether an entry starts Athand itself: importing it would start gateways without end."""
    args = raw.get("args") if isinstance(raw.get("args"), list) else []
    words = [word for word in (raw.get("command"), *(args or [])[:6]) if isinstance(word, str)]
    return "mcp" in words and any(_ATHAND.fullmatch(word) for word in words)


def _make_absolute(converted: dict[str, Any], path: Path, is_of_project: bool) -> dict[str, Any]:
    """Make relative paths absolute, since the entry moves to another file."""
    folder = workspace_folder(path)
    if is_of_project:
        converted = _map_strings(converted, lambda text: text.replace("${workspaceFolder}", str(folder)))
    for key in ("cwd", "envFile"):
        value = converted.get(key)
        if isinstance(value, str) and not value.startswith(("~", "$", "/", "\\")) and ":" not in value:
            converted[key] = str(folder / value)
    needs_cwd = is_of_project and "command" in converted and "cwd" not in converted
    return {**converted, "cwd": str(folder)} if needs_cwd else converted


def _describe_losses(name: str, raw: Json, converted: Json) -> Iterator[str]:
    """Notes about settings that cannot be converted."""
    if "headersHelper" in raw:
        yield f"The server {name!r} gets its headers from a command; write them into its headers."
    if "${workspaceFolder}" in repr(converted):
        yield f"The server {name!r} uses ${{workspaceFolder}}, which is another folder here; write the path instead."


def _replace_inputs(config: Json, servers: Mapping[str, dict[str, Any]]) -> list[str]:
    """Replace `${input:…}` of VS Code by environment variables, in place; notes which ones to set."""
    listed = config.get("inputs")
    about = {each.get("id"): each.get("description") for each in listed or [] if isinstance(each, Mapping)}
    notes = []
    for name, raw in servers.items():
        for input_id in dict.fromkeys(_INPUT.findall(repr(raw))):
            what = f" ({about[input_id]})" if about.get(input_id) else ""
            notes.append(
                f"The server {name!r} needs the variable {_variable_name(input_id)}{what}. Set it before you use it."
            )
        raw.update(_map_strings(raw, lambda text: _INPUT.sub(lambda found: f"${{{_variable_name(found[1])}}}", text)))
    return notes


def _variable_name(input_id: str) -> str:
    name = re.sub(r"[^A-Za-z0-9]+", "_", input_id).strip("_").upper()
    return f"_{name}" if not name or name[0].isdigit() else name


def _map_strings(value: Any, change: Callable[[str], str]) -> Any:
    """Apply a function to every string in a JSON value."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {key: _map_strings(below, change) for key, below in value.items()}
    return [_map_strings(below, change) for below in value] if isinstance(value, list) else value


def _from_codex(raw: Json) -> dict[str, Any]:
    """Convert Codex: it names environment variables instead of using `${…}`, and its tool names are not patterns."""
    headers = {**_object(raw, "http_headers")}
    headers |= {name: f"${{{variable}}}" for name, variable in _object(raw, "env_http_headers").items()}
    if token := raw.get("bearer_token_env_var"):
        headers["Authorization"] = f"Bearer ${{{token}}}"
    passed = (each.get("name") if isinstance(each, Mapping) else each for each in raw.get("env_vars") or [])
    milliseconds = raw.get("startup_timeout_ms")
    seconds = milliseconds / 1000 if isinstance(milliseconds, int | float) else None
    return {
        **raw,
        "env": {f"{name}": f"${{{name}:-}}" for name in passed} | {**_object(raw, "env")} or None,
        "headers": headers or None,
        "includeTools": _escape_patterns(raw.get("enabled_tools")),
        "excludeTools": _escape_patterns(raw.get("disabled_tools")),
        "connectSeconds": raw.get("startup_timeout_sec", seconds),
        "callSeconds": raw.get("tool_timeout_sec"),
    }


def _from_gemini(raw: Json) -> dict[str, Any]:
    """Convert Gemini CLI: a `url` means SSE unless there is a type, and `$NAME` is a variable, too."""
    filled: dict[str, Any] = _map_strings(dict(raw), lambda text: _BARE.sub(r"${\1}", text))
    if filled.get("httpUrl"):
        filled |= {"url": filled["httpUrl"], "type": "http"}
    elif filled.get("url") and not filled.get("type"):
        filled["type"] = "sse"
    lists = {key: _escape_patterns(raw.get(key)) for key in ("includeTools", "excludeTools")}
    return {**filled, **lists}


def _from_windsurf(raw: Json) -> dict[str, Any]:
    excluded = _escape_patterns(raw.get("disabledTools"))
    return {**raw, "url": raw.get("serverUrl") or raw.get("url"), "excludeTools": excluded}


def _from_copilot(raw: Json) -> dict[str, Any]:
    tools = raw.get("tools")
    return {**raw, "includeTools": None if tools in (["*"], "*") else _escape_patterns(tools)}


def _from_opencode(raw: Json) -> dict[str, Any]:
    """Convert opencode: a command is one list, a type is local or remote, and `{env:NAME}` is a variable."""
    filled: dict[str, Any] = _map_strings(dict(raw), lambda text: _BRACED.sub(r"${\1}", text))
    words = filled.get("command")
    if isinstance(words, list):
        filled |= {"command": words[0] if words else None, "args": words[1:] or None}
    return {**filled, "type": None, "env": filled.get("environment")}


def _from_zed(raw: Json) -> dict[str, Any]:
    """Convert Zed: older versions wrote an object as the command."""
    older = _object(raw, "command")
    if not older:
        return dict(raw)
    return {**raw, "command": older.get("path"), "args": older.get("args"), "env": older.get("env")}


def _from_kiro(raw: Json) -> dict[str, Any]:
    return {**raw, "excludeTools": _escape_patterns(raw.get("disabledTools"))}


def _escape_patterns(names: Any) -> list[str] | None:
    """Escape names so that as patterns they match only themselves."""
    if not isinstance(names, list):
        return None
    return [re.sub(r"([*?\[])", r"[\1]", name) for name in names if isinstance(name, str)]


_TRANSLATORS: Mapping[str, Callable[[Json], dict[str, Any]]] = {
    "codex": _from_codex,
    "gemini": _from_gemini,
    "windsurf": _from_windsurf,
    "copilot": _from_copilot,
    "opencode": _from_opencode,
    "zed": _from_zed,
    "kiro": _from_kiro,
}
