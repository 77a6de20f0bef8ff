"""Server configurations (mcpServers): parsing and validation, and the launch parameters made from them."""

import hashlib
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from athand.errors import AthandError, BadData, InvalidInput
from athand.inputs import check_name, is_text
from athand.tools.config_files import parse_object, read_bytes
from athand.tools.model import CALL_SECONDS, CONNECT_SECONDS, Launch
from athand.tools.poisoning.unicode import describe_character, escape_invisible
from athand.tools.variables import VariableResolver, inherited_environment, read_env_file, workspace_folder

_KEYS = ("servers", "mcpServers")
_BESIDES = {"$schema", "inputs"}
_TRANSPORTS = {
    "stdio": "stdio",
    "local": "stdio",
    "http": "http",
    "streamable-http": "http",
    "streamable_http": "http",
    "streamableHttp": "http",
    "sse": "sse",
}
TRANSPORTS = tuple(dict.fromkeys(_TRANSPORTS.values()))
_URLS = ("url", "httpUrl", "serverUrl")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_LONGEST_WAIT = 86_400.0


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """One server entry of a file. With a `problem` it cannot be used, but the others of its file can."""

    name: str
    raw: Mapping[str, Any] = field(repr=False)  # as written, variables not substituted; it may hold secrets
    source: Path
    transport: str = "none"
    include: tuple[str, ...] = ("*",)
    exclude: tuple[str, ...] = ()
    disabled: bool = False
    description: str | None = None
    problem: str | None = None


def read_config(path: Path) -> dict[str, ServerConfig]:
    """The servers of a file, by name. NotFound or BadData if the file as a whole cannot be read."""
    return read_config_and_hash(path)[0]


def read_config_and_hash(path: Path) -> tuple[dict[str, ServerConfig], str]:
    """The servers of a file, and the SHA-256 of its bytes."""
    data = read_bytes(path)
    entries = parse_servers(parse_object(data, path), path)
    return entries, hashlib.sha256(data).hexdigest()


def hash_with_env_files(entries: Iterable[ServerConfig], hash_: str, environment: Mapping[str, str]) -> str:
    """The hash of a configuration combined with the hashes of its env files."""
    for entry in entries:
        if file := None if entry.problem else _get_text(entry.raw, "envFile"):
            hash_ = hashlib.sha256(f"{hash_} {_hash_env_file(entry, file, environment)}".encode()).hexdigest()
    return hash_


def _hash_env_file(entry: ServerConfig, file: str, environment: Mapping[str, str]) -> str:
    try:
        return hash_file(
            workspace_folder(entry.source) / VariableResolver(entry.name, entry.source, environment).path(file)
        )
    except AthandError:
        return "none"


def hash_file(path: Path) -> str:
    """The SHA-256 of a file."""
    return hashlib.sha256(read_bytes(path)).hexdigest()


def parse_servers(config: Mapping[str, Any], path: Path) -> dict[str, ServerConfig]:
    """The servers of a parsed configuration, by name."""
    found = [key for key in _KEYS if key in config]
    if not found and set(config) - _BESIDES:
        raise BadData(f'{path} names no servers. Put them into an object under the key "mcpServers".')
    servers: dict[str, Any] = {}
    for key in found:
        if not isinstance(config[key], Mapping):
            raise BadData(f"{key} in {path} must be an object with a server under each name.")
        servers |= config[key]
    entries = (_parse_entry(name, raw, path) for name, raw in servers.items())
    return {entry.name: entry for entry in entries}


def is_tool_allowed(entry: ServerConfig, tool: str) -> bool:
    """Whether the include and exclude patterns admit a tool; exclude takes precedence."""
    is_included = any(fnmatchcase(tool, pattern) for pattern in entry.include)
    return is_included and not any(fnmatchcase(tool, pattern) for pattern in entry.exclude)


def build_launch(entry: ServerConfig, environment: Mapping[str, str]) -> Launch:
    """The launch parameters of a server with all variables substituted; InvalidInput if something is missing."""
    if entry.problem:
        raise InvalidInput(entry.problem)
    variables = VariableResolver(entry.name, entry.source, environment)
    return _build_process(entry, variables) if entry.transport == "stdio" else _build_remote(entry, variables)


def _parse_entry(name: str, raw: Any, path: Path) -> ServerConfig:
    try:
        check_name("The name of a server", name)
        return _parse_server(name, raw, path)
    except InvalidInput as error:
        shown = escape_invisible(name).replace("\n", describe_character("\n"))[:256] or "(no name)"
        return ServerConfig(shown, {}, path, problem=f"The server {shown!r} in {path} cannot be used: {error}")


def _parse_server(name: str, raw: Any, path: Path) -> ServerConfig:
    """Parse an entry and check the types of all its keys; variables are substituted later."""
    if not isinstance(raw, Mapping):
        raise BadData("it must be an object with a command or a url.")
    transport = _get_transport(raw)
    for key in ("args", "includeTools", "excludeTools"):
        _get_strings(raw, key)
    for key in ("env", "headers"):
        _get_pairs(raw, key)
    for key in ("cwd", "envFile", "description"):
        _get_text(raw, key)
    _get_timeouts(raw)
    return ServerConfig(
        name=name,
        raw=dict(raw),
        source=path,
        transport=transport,
        include=_get_strings(raw, "includeTools") if raw.get("includeTools") is not None else ("*",),
        exclude=_get_strings(raw, "excludeTools"),
        disabled=raw.get("disabled") is True or raw.get("enabled") is False,
        description=_get_text(raw, "description"),
    )


def _get_transport(raw: Mapping[str, Any]) -> str:
    type_name = _get_text(raw, "type") or _get_text(raw, "transport")
    if type_name is not None and type_name not in _TRANSPORTS:
        raise BadData(f"type {type_name!r} is unknown. Use stdio, http or sse.")
    command, url = _get_text(raw, "command"), _get_url(raw)
    if command and url and type_name is None:
        raise BadData("it has both a command and a url. Say which by type.")
    transport = _TRANSPORTS[type_name] if type_name else "stdio" if command else "http"
    if not (command if transport == "stdio" else url):
        raise BadData("command is missing." if transport == "stdio" else "it needs a command or a url.")
    return transport


def _get_url(raw: Mapping[str, Any]) -> str | None:
    return next((value for key in _URLS if (value := _get_text(raw, key))), None)


def _get_text(raw: Mapping[str, Any], key: str) -> str | None:
    value = raw.get(key)
    if value is not None and not isinstance(value, str):
        raise BadData(f"{key} must be text.")
    if value is not None and ("\0" in value or not is_text(value)):
        raise BadData(f"{key} has a NUL character or invalid Unicode.")
    return value


def _get_strings(raw: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = raw.get(key)
    if value is None:
        return ()
    if not isinstance(value, list):
        raise BadData(f"{key} must be a list of texts.")
    return tuple(_to_string(each, key) for each in value)


def _get_pairs(raw: Mapping[str, Any], key: str) -> dict[str, str | None]:
    """A mapping of strings; null removes a name."""
    value = raw.get(key)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise BadData(f"{key} must be an object of texts.")
    return {name: None if each is None else _to_string(each, f"{key}.{name}") for name, each in value.items()}


def _to_string(value: Any, key: str) -> str:
    """A string; numbers and booleans are converted as in JSON."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str | int | float):
        raise BadData(f"{key} must be text.")
    return str(value)


def _get_timeouts(raw: Mapping[str, Any]) -> tuple[float, float]:
    """Seconds to connect and to answer a call. `timeout` is in milliseconds, or seconds if below 1000."""
    both = _get_number(raw, "timeout")
    both = both / 1000 if both is not None and both >= 1000 else both
    connect = _get_number(raw, "connectSeconds") or both or CONNECT_SECONDS
    call = _get_number(raw, "callSeconds") or both or CALL_SECONDS
    return min(connect, _LONGEST_WAIT), min(call, _LONGEST_WAIT)


def _get_number(raw: Mapping[str, Any], key: str) -> float | None:
    value = raw.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise BadData(f"{key} must be a number above 0.")
    return float(value)


def _build_process(entry: ServerConfig, variables: VariableResolver) -> Launch:
    raw, (connect, call) = entry.raw, _get_timeouts(entry.raw)
    command = variables.path(raw["command"])
    args = tuple(variables.substitute(each) for each in _get_strings(raw, "args"))
    env = _build_environment(entry, variables)
    cwd = _get_cwd(entry, variables)
    _reject_if(
        variables, "text that no process can be given", _is_broken, command, *args, *env, *env.values(), str(cwd)
    )
    return Launch(entry.name, "stdio", command, args, env, cwd, connect_seconds=connect, call_seconds=call)


def _build_environment(entry: ServerConfig, variables: VariableResolver) -> dict[str, str]:
    """The environment of the process: inherited variables, then the env file, then `env`."""
    found = inherited_environment(variables.environment)
    if file := _get_text(entry.raw, "envFile"):
        path = workspace_folder(entry.source) / variables.path(file)
        try:
            found |= read_env_file(path)
        except AthandError as error:
            raise variables.to_error(f"has an envFile that cannot be read: {error}".rstrip(".")) from error
    for name, value in _get_pairs(entry.raw, "env").items():
        found.pop(name, None)
        if value is not None:
            found[name] = variables.substitute(value)
    _reject_if(variables, "a variable without a proper name", lambda name: not name or "=" in name, *found)
    return found


def _get_cwd(entry: ServerConfig, variables: VariableResolver) -> Path:
    """The working directory: as configured, else the folder of the configuration.

    Never the current directory: in a cloned repository, `npx` and `python -m` would run code from there.
    """
    return workspace_folder(entry.source) / variables.path(_get_text(entry.raw, "cwd") or "")


def _build_remote(entry: ServerConfig, variables: VariableResolver) -> Launch:
    connect, call = _get_timeouts(entry.raw)
    url = variables.substitute(_get_url(entry.raw) or "").strip()
    if not _is_web_address(url):
        raise variables.to_error("has a url that does not begin with http:// or https:// and a host. Correct it")
    raw = _get_pairs(entry.raw, "headers")
    headers = {name: variables.substitute(value).strip() for name, value in raw.items() if value is not None}
    _reject_if(variables, "a header without a proper name", lambda name: not _HEADER.fullmatch(name), *headers)
    _reject_if(
        variables, "a header that is not one line of ASCII", lambda text: not _is_one_line(text), *headers.values()
    )
    return Launch(entry.name, entry.transport, url=url, headers=headers, connect_seconds=connect, call_seconds=call)


def _is_web_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        has_host = bool(parts.hostname) and parts.port != 0
        return parts.scheme in ("http", "https") and has_host and url.isprintable() and " " not in url
    except ValueError:
        return False


def _is_broken(text: str) -> bool:
    return "\0" in text or not is_text(text)


def _is_one_line(text: str) -> bool:
    return text.isascii() and text.replace("\t", " ").isprintable()


def _reject_if(variables: VariableResolver, what: str, is_wrong: Callable[[str], bool], *texts: str) -> None:
    if any(is_wrong(text) for text in texts):
        raise variables.to_error(f"has {what}. Take it out")
