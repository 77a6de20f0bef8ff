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
from athand.tools.characters import named, visible
from athand.tools.files import parse_object, read_bytes
from athand.tools.launch import CALL_SECONDS, CONNECT_SECONDS, Launch
from athand.tools.variables import Filler, passed_on, read_env_file, workspace

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
class Entry:
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


def read_config(path: Path) -> dict[str, Entry]:
    """The servers of a file, by name. NotFound or BadData if the file as a whole cannot be read."""
    return read_config_and_hash(path)[0]


def read_config_and_hash(path: Path) -> tuple[dict[str, Entry], str]:
    """The servers of a file and the SHA-256 of the very bytes that name them."""
    data = read_bytes(path)
    entries = entries_of(parse_object(data, path), path)
    return entries, hashlib.sha256(data).hexdigest()


def with_files(entries: Iterable[Entry], hash_: str, environment: Mapping[str, str]) -> str:
    """The hash of a configuration together with the files of variables that it names."""
    for entry in entries:
        if file := None if entry.problem else _text(entry.given, "envFile"):
            hash_ = hashlib.sha256(f"{hash_} {_hash_of(entry, file, environment)}".encode()).hexdigest()
    return hash_


def _hash_of(entry: Entry, file: str, environment: Mapping[str, str]) -> str:
    try:
        return fingerprint(workspace(entry.source) / Filler(entry.name, entry.source, environment).path(file))
    except AthandError:
        return "none"


def fingerprint(path: Path) -> str:
    """The SHA-256 of a file's bytes."""
    return hashlib.sha256(read_bytes(path)).hexdigest()


def entries_of(config: Mapping[str, Any], path: Path) -> dict[str, Entry]:
    """The servers of a configuration that has been parsed."""
    found = [key for key in _KEYS if key in config]
    if not found and set(config) - _BESIDES:
        raise BadData(f'{path} names no servers. Put them into an object under the key "mcpServers".')
    servers: dict[str, Any] = {}
    for key in found:
        if not isinstance(config[key], Mapping):
            raise BadData(f"{key} in {path} must be an object with a server under each name.")
        servers |= config[key]
    entries = (_entry(name, given, path) for name, given in servers.items())
    return {entry.name: entry for entry in entries}


def allowed(entry: Entry, tool: str) -> bool:
    """Whether the configuration lets a tool in; what is excluded stays out, even if it is included too."""
    is_included = any(fnmatchcase(tool, pattern) for pattern in entry.include)
    return is_included and not any(fnmatchcase(tool, pattern) for pattern in entry.exclude)


def launch(entry: Entry, environment: Mapping[str, str]) -> Launch:
    """How to start or reach a server, all variables filled in. InvalidInput says what is missing for that."""
    if entry.problem:
        raise InvalidInput(entry.problem)
    filler = Filler(entry.name, entry.source, environment)
    return _process(entry, filler) if entry.transport == "stdio" else _remote(entry, filler)


def _entry(name: str, given: Any, path: Path) -> Entry:
    try:
        check_name("The name of a server", name)
        return _checked(name, given, path)
    except InvalidInput as error:
        shown = visible(name).replace("\n", named("\n"))[:256] or "(no name)"
        return Entry(shown, {}, path, problem=f"The server {shown!r} in {path} cannot be used: {error}")


def _checked(name: str, given: Any, path: Path) -> Entry:
    """An entry whose keys all have the right shape; values of variables come later."""
    if not isinstance(given, Mapping):
        raise BadData("it must be an object with a command or a url.")
    transport = _transport(given)
    for key in ("args", "includeTools", "excludeTools"):
        _strings(given, key)
    for key in ("env", "headers"):
        _pairs(given, key)
    for key in ("cwd", "envFile", "description"):
        _text(given, key)
    _limits(given)
    return Entry(
        name=name,
        given=dict(given),
        source=path,
        transport=transport,
        include=_strings(given, "includeTools") if given.get("includeTools") is not None else ("*",),
        exclude=_strings(given, "excludeTools"),
        disabled=given.get("disabled") is True or given.get("enabled") is False,
        description=_text(given, "description"),
    )


def _transport(given: Mapping[str, Any]) -> str:
    said = _text(given, "type") or _text(given, "transport")
    if said is not None and said not in _TRANSPORTS:
        raise BadData(f"type {said!r} is unknown. Use stdio, http or sse.")
    command, url = _text(given, "command"), _url(given)
    if command and url and said is None:
        raise BadData("it has both a command and a url. Say which by type.")
    transport = _TRANSPORTS[said] if said else "stdio" if command else "http"
    if not (command if transport == "stdio" else url):
        raise BadData("command is missing." if transport == "stdio" else "it needs a command or a url.")
    return transport


def _url(given: Mapping[str, Any]) -> str | None:
    return next((value for key in _URLS if (value := _text(given, key))), None)


def _text(given: Mapping[str, Any], key: str) -> str | None:
    value = given.get(key)
    if value is not None and not isinstance(value, str):
        raise BadData(f"{key} must be text.")
    if value is not None and ("\0" in value or not is_text(value)):
        raise BadData(f"{key} has characters in it that are no text.")
    return value


def _strings(given: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = given.get(key)
    if value is None:
        return ()
    if not isinstance(value, list):
        raise BadData(f"{key} must be a list of texts.")
    return tuple(_plain(each, key) for each in value)


def _pairs(given: Mapping[str, Any], key: str) -> dict[str, str | None]:
    """Names with texts; null takes a name away."""
    value = given.get(key)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise BadData(f"{key} must be an object of texts.")
    return {name: None if each is None else _plain(each, f"{key}.{name}") for name, each in value.items()}


def _plain(value: Any, key: str) -> str:
    """A text; numbers and true or false are written as JSON writes them."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str | int | float):
        raise BadData(f"{key} must be text.")
    return str(value)


def _limits(given: Mapping[str, Any]) -> tuple[float, float]:
    """Seconds to connect and to answer a call. `timeout` has milliseconds, but a small number is meant as seconds."""
    both = _number(given, "timeout")
    both = both / 1000 if both is not None and both >= 1000 else both
    connect = _number(given, "connectSeconds") or both or CONNECT_SECONDS
    call = _number(given, "callSeconds") or both or CALL_SECONDS
    return min(connect, _LONGEST_WAIT), min(call, _LONGEST_WAIT)


def _number(given: Mapping[str, Any], key: str) -> float | None:
    value = given.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise BadData(f"{key} must be a number above 0.")
    return float(value)


def _process(entry: Entry, filler: Filler) -> Launch:
    given, (connect, call) = entry.given, _limits(entry.given)
    command = filler.path(given["command"])
    args = tuple(filler.fill(each) for each in _strings(given, "args"))
    env = _environment(entry, filler)
    cwd = _cwd(entry, filler)
    _refuse(filler, "text that no process can be given", _is_broken, command, *args, *env, *env.values(), str(cwd))
    return Launch(entry.name, "stdio", command, args, env, cwd, connect_seconds=connect, call_seconds=call)


def _environment(entry: Entry, filler: Filler) -> dict[str, str]:
    """All that the process gets: what every one does, the variables of a file, and its own."""
    found = passed_on(filler.environment)
    if file := _text(entry.given, "envFile"):
        path = workspace(entry.source) / filler.path(file)
        try:
            found |= read_env_file(path)
        except AthandError as error:
            raise filler.wrong(f"has an envFile that cannot be read: {error}".rstrip(".")) from error
    for name, value in _pairs(entry.given, "env").items():
        found.pop(name, None)
        if value is not None:
            found[name] = filler.fill(value)
    _refuse(filler, "a variable without a proper name", lambda name: not name or "=" in name, *found)
    return found


def _cwd(entry: Entry, filler: Filler) -> Path:
    """Where the process starts: as given, else where its configuration lies.

    Never wherever we are: in a cloned repository, `npx` and `python -m` would run what lies there.
    """
    return workspace(entry.source) / filler.path(_text(entry.given, "cwd") or "")


def _remote(entry: Entry, filler: Filler) -> Launch:
    connect, call = _limits(entry.given)
    url = filler.fill(_url(entry.given) or "").strip()
    if not _is_web_address(url):
        raise filler.wrong("has a url that does not begin with http:// or https:// and a host. Correct it")
    given = _pairs(entry.given, "headers")
    headers = {name: filler.fill(value).strip() for name, value in given.items() if value is not None}
    _refuse(filler, "a header without a proper name", lambda name: not _HEADER.fullmatch(name), *headers)
    _refuse(filler, "a header that is not one line of ASCII", lambda text: not _is_one_line(text), *headers.values())
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


def _refuse(filler: Filler, what: str, is_wrong: Callable[[str], bool], *texts: str) -> None:
    if any(is_wrong(text) for text in texts):
        raise filler.wrong(f"has {what}. Take it out")
