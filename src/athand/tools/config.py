"""The servers of a configuration file, and how each of them is started or reached."""

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
_URLS = ("url", "httpUrl", "serverUrl")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_LONGEST_WAIT = 86_400.0


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """A server as a configuration names it. With a `problem` it cannot be used, but the others of its file can."""

    name: str
    given: Mapping[str, Any] = field(repr=False)  # as written, without values of variables; it may hold secrets
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
    """The servers of a file and the SHA-256 of the very bytes that name them."""
    data = read_bytes(path)
    entries = parse_servers(parse_object(data, path), path)
    return entries, hashlib.sha256(data).hexdigest()


def hash_with_env_files(entries: Iterable[ServerConfig], hash_: str, environment: Mapping[str, str]) -> str:
    """The hash of a configuration together with the files of variables that it names."""
    for entry in entries:
        if file := None if entry.problem else _get_text(entry.given, "envFile"):
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
    """The SHA-256 of a file's bytes."""
    return hashlib.sha256(read_bytes(path)).hexdigest()


def parse_servers(config: Mapping[str, Any], path: Path) -> dict[str, ServerConfig]:
    """The servers of a configuration that has been parsed."""
    found = [key for key in _KEYS if key in config]
    if not found and set(config) - _BESIDES:
        raise BadData(f'{path} names no servers. Put them into an object under the key "mcpServers".')
    servers: dict[str, Any] = {}
    for key in found:
        if not isinstance(config[key], Mapping):
            raise BadData(f"{key} in {path} must be an object with a server under each name.")
        servers |= config[key]
    entries = (_parse_entry(name, given, path) for name, given in servers.items())
    return {entry.name: entry for entry in entries}


def is_tool_allowed(entry: ServerConfig, tool: str) -> bool:
    """Whether the configuration lets a tool in; what is excluded stays out, even if it is included too."""
    is_included = any(fnmatchcase(tool, pattern) for pattern in entry.include)
    return is_included and not any(fnmatchcase(tool, pattern) for pattern in entry.exclude)


def build_launch(entry: ServerConfig, environment: Mapping[str, str]) -> Launch:
    """How to start or reach a server, all variables filled in. InvalidInput says what is missing for that."""
    if entry.problem:
        raise InvalidInput(entry.problem)
    variables = VariableResolver(entry.name, entry.source, environment)
    return _build_process(entry, variables) if entry.transport == "stdio" else _build_remote(entry, variables)


def _parse_entry(name: str, given: Any, path: Path) -> ServerConfig:
    try:
        check_name("The name of a server", name)
        return _parse_server(name, given, path)
    except InvalidInput as error:
        shown = escape_invisible(name).replace("\n", describe_character("\n"))[:256] or "(no name)"
        return ServerConfig(shown, {}, path, problem=f"The server {shown!r} in {path} cannot be used: {error}")


def _parse_server(name: str, given: Any, path: Path) -> ServerConfig:
    """An entry whose keys all have the right shape; values of variables come later."""
    if not isinstance(given, Mapping):
        raise BadData("it must be an object with a command or a url.")
    transport = _get_transport(given)
    for key in ("args", "includeTools", "excludeTools"):
        _get_strings(given, key)
    for key in ("env", "headers"):
        _get_pairs(given, key)
    for key in ("cwd", "envFile", "description"):
        _get_text(given, key)
    _get_timeouts(given)
    return ServerConfig(
        name=name,
        given=dict(given),
        source=path,
        transport=transport,
        include=_get_strings(given, "includeTools") if given.get("includeTools") is not None else ("*",),
        exclude=_get_strings(given, "excludeTools"),
        disabled=given.get("disabled") is True or given.get("enabled") is False,
        description=_get_text(given, "description"),
    )


def _get_transport(given: Mapping[str, Any]) -> str:
    said = _get_text(given, "type") or _get_text(given, "transport")
    if said is not None and said not in _TRANSPORTS:
        raise BadData(f"type {said!r} is unknown. Use stdio, http or sse.")
    command, url = _get_text(given, "command"), _get_url(given)
    if command and url and said is None:
        raise BadData("it has both a command and a url. Say which by type.")
    transport = _TRANSPORTS[said] if said else "stdio" if command else "http"
    if not (command if transport == "stdio" else url):
        raise BadData("command is missing." if transport == "stdio" else "it needs a command or a url.")
    return transport


def _get_url(given: Mapping[str, Any]) -> str | None:
    return next((value for key in _URLS if (value := _get_text(given, key))), None)


def _get_text(given: Mapping[str, Any], key: str) -> str | None:
    value = given.get(key)
    if value is not None and not isinstance(value, str):
        raise BadData(f"{key} must be text.")
    if value is not None and ("\0" in value or not is_text(value)):
        raise BadData(f"{key} has characters in it that are no text.")
    return value


def _get_strings(given: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = given.get(key)
    if value is None:
        return ()
    if not isinstance(value, list):
        raise BadData(f"{key} must be a list of texts.")
    return tuple(_to_string(each, key) for each in value)


def _get_pairs(given: Mapping[str, Any], key: str) -> dict[str, str | None]:
    """Names with texts; null takes a name away."""
    value = given.get(key)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise BadData(f"{key} must be an object of texts.")
    return {name: None if each is None else _to_string(each, f"{key}.{name}") for name, each in value.items()}


def _to_string(value: Any, key: str) -> str:
    """A text; numbers and true or false are written as JSON writes them."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str | int | float):
        raise BadData(f"{key} must be text.")
    return str(value)


def _get_timeouts(given: Mapping[str, Any]) -> tuple[float, float]:
    """Seconds to connect and to answer a call. `timeout` has milliseconds, but a small number is meant as seconds."""
    both = _get_number(given, "timeout")
    both = both / 1000 if both is not None and both >= 1000 else both
    connect = _get_number(given, "connectSeconds") or both or CONNECT_SECONDS
    call = _get_number(given, "callSeconds") or both or CALL_SECONDS
    return min(connect, _LONGEST_WAIT), min(call, _LONGEST_WAIT)


def _get_number(given: Mapping[str, Any], key: str) -> float | None:
    value = given.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise BadData(f"{key} must be a number above 0.")
    return float(value)


def _build_process(entry: ServerConfig, variables: VariableResolver) -> Launch:
    given, (connect, call) = entry.given, _get_timeouts(entry.given)
    command = variables.path(given["command"])
    args = tuple(variables.substitute(each) for each in _get_strings(given, "args"))
    env = _build_environment(entry, variables)
    cwd = _get_cwd(entry, variables)
    _reject_if(
        variables, "text that no process can be given", _is_broken, command, *args, *env, *env.values(), str(cwd)
    )
    return Launch(entry.name, "stdio", command, args, env, cwd, connect_seconds=connect, call_seconds=call)


def _build_environment(entry: ServerConfig, variables: VariableResolver) -> dict[str, str]:
    """All that the process gets: what every one does, the variables of a file, and its own."""
    found = inherited_environment(variables.environment)
    if file := _get_text(entry.given, "envFile"):
        path = workspace_folder(entry.source) / variables.path(file)
        try:
            found |= read_env_file(path)
        except AthandError as error:
            raise variables.to_error(f"has an envFile that cannot be read: {error}".rstrip(".")) from error
    for name, value in _get_pairs(entry.given, "env").items():
        found.pop(name, None)
        if value is not None:
            found[name] = variables.substitute(value)
    _reject_if(variables, "a variable without a proper name", lambda name: not name or "=" in name, *found)
    return found


def _get_cwd(entry: ServerConfig, variables: VariableResolver) -> Path:
    """Where the process starts: as given, else where its configuration lies.

    Never wherever we are: in a cloned repository, `npx` and `python -m` would run what lies there.
    """
    return workspace_folder(entry.source) / variables.path(_get_text(entry.given, "cwd") or "")


def _build_remote(entry: ServerConfig, variables: VariableResolver) -> Launch:
    connect, call = _get_timeouts(entry.given)
    url = variables.substitute(_get_url(entry.given) or "").strip()
    if not _is_web_address(url):
        raise variables.to_error("has a url that does not begin with http:// or https:// and a host. Correct it")
    given = _get_pairs(entry.given, "headers")
    headers = {name: variables.substitute(value).strip() for name, value in given.items() if value is not None}
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
