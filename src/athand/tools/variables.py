"""Variables in configurations, and the environment of server processes."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from athand.errors import InvalidInput
from athand.tools.config_files import read_bytes, to_text

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_VARIABLE = re.compile(rf"\$\{{(env:)?({_NAME})(?::-((?:\$\{{[^{{}}]*\}}|[^{{}}])*+))?\}}")
_EDITOR_ONLY = re.compile(r"\$\{((?:input|command|config):[^{}]*)\}")
_PROJECT_FOLDERS = (".vscode", ".cursor", ".gemini", ".codex")
_LINE = re.compile(rf"(?:export[ \t]+)?({_NAME})[ \t]*=[ \t]*(.*)")

# What programs need to find their files and each other. Nothing that is likely to hold a secret.
_INHERITED = frozenset(
    """
    HOME LOGNAME PATH SHELL TERM USER LANG LANGUAGE LC_ALL LC_CTYPE LC_MESSAGES TZ TMPDIR TEMP TMP
    XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME XDG_RUNTIME_DIR XDG_DATA_DIRS
    DISPLAY WAYLAND_DISPLAY XAUTHORITY DBUS_SESSION_BUS_ADDRESS
    APPDATA LOCALAPPDATA HOMEDRIVE HOMEPATH USERPROFILE USERNAME SYSTEMROOT SYSTEMDRIVE WINDIR COMSPEC PATHEXT
    PROGRAMFILES PROGRAMDATA PROCESSOR_ARCHITECTURE
    SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE CURL_CA_BUNDLE NODE_EXTRA_CA_CERTS
    NVM_DIR FNM_DIR VOLTA_HOME ASDF_DIR ASDF_DATA_DIR MISE_DATA_DIR PNPM_HOME BUN_INSTALL DENO_DIR COREPACK_HOME
    PYENV_ROOT UV_CACHE_DIR UV_TOOL_DIR UV_PYTHON_INSTALL_DIR PIPX_HOME RUSTUP_HOME CARGO_HOME GOPATH JAVA_HOME
    DOCKER_HOST NO_PROXY no_proxy
    """.split()
)
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")


@dataclass(frozen=True, slots=True)
class VariableResolver:
    """Substitutes `${…}` in one server entry; values are not substituted again."""

    server: str
    source: Path
    environment: Mapping[str, str]

    def substitute(self, text: str) -> str:
        """Substitute the variables of a text; InvalidInput if one is not set and has no default."""
        if match := _EDITOR_ONLY.search(text):
            raise self.to_error(f"uses ${{{match[1]}}}, which only an editor can ask for. Put ${{A_VARIABLE}} there")
        return _VARIABLE.sub(self._value, text.replace("${/}", "${pathSeparator}"))

    def path(self, text: str) -> str:
        """Substitute variables in a path; `~` is the home folder."""
        filled = self.substitute(text)
        return self._home() + filled[1:] if filled == "~" or filled.startswith(("~/", "~\\")) else filled

    def to_error(self, what: str) -> InvalidInput:
        """An error with the names of server and file."""
        return InvalidInput(f"The server {self.server!r} in {self.source} {what}.")

    def _value(self, found: re.Match[str]) -> str:
        is_env, name, default = found.groups()
        if not is_env and (value := self._get_editor_variable(name)) is not None:
            return value
        value = self.environment.get(name)
        if default is not None:
            return value or _VARIABLE.sub(self._value, default)
        if value is None:
            raise self.to_error(f"needs the variable {name}, which is not set. Set it, or write ${{{name}:-a default}}")
        return value

    def _get_editor_variable(self, name: str) -> str | None:
        """Variables that editors define, such as `workspaceFolder`."""
        if name == "userHome":
            return self._home()
        folder = workspace_folder(self.source)
        values = {"workspaceFolder": str(folder), "workspaceFolderBasename": folder.name, "pathSeparator": "/"}
        return values.get(name)

    def _home(self) -> str:
        home = self.environment.get("HOME") or self.environment.get("USERPROFILE")
        if not home:
            raise self.to_error("uses the home folder, but HOME is not set. Set it")
        return home


def workspace_folder(source: Path) -> Path:
    """The project folder of a configuration: its folder, or the one above if that belongs to an editor."""
    folder = source.absolute().parent
    return folder.parent if folder.name in _PROJECT_FOLDERS else folder


def inherited_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The part of the environment that every server gets, including proxies without a password."""
    return {
        name: value
        for name, value in environment.items()
        if (name in _INHERITED or (name in _PROXIES and "@" not in value)) and not value.startswith("()")
    }


def private_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The part of a server's environment that is specific to it, and may hold secrets."""
    return {name: value for name, value in environment.items() if name not in _INHERITED and name not in _PROXIES}


def read_env_file(path: Path) -> dict[str, str]:
    """The variables of a file with lines `NAME=value`; quotes around values are removed."""
    found = {}
    for line in to_text(read_bytes(path), path).splitlines():
        if assigned := _LINE.fullmatch(line.strip()):
            found[assigned[1]] = _unquote(assigned[2])
    return found


def _unquote(value: str) -> str:
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1]
    return re.split(r"[ \t]#", value, maxsplit=1)[0].rstrip()
