"""Settings: the only reader of the environment and of configuration files."""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import platformdirs

from recollect.errors import InvalidInput

DATABASE = "recollect.db"
_TRUE = {"1", "true", "yes", "on"}
_FALSE = {"0", "false", "no", "off", ""}
# Other names of variables, as those know them who search tools.
_ALSO = {
    "model": "RECOLLECT_SEARCH_MODEL",
    "device": "RECOLLECT_SEARCH_DEVICE",
    "no_cache": "RECOLLECT_SEARCH_NO_CACHE",
}
_WANTED: dict[Any, tuple[tuple[type, ...], str]] = {
    bool: ((bool,), "true or false"),
    int: ((int,), "a whole number"),
    float: ((int, float), "a number"),
}


@dataclass(frozen=True, slots=True)
class Settings:
    """What can be chosen. A variable RECOLLECT_<NAME> wins over the file, the file over what is written here."""

    store: str | None = field(default=None, repr=False)  # may have a password in it
    data_dir: str | None = None
    home: str | None = None
    model: str = "recollect-static-1"
    device: str = "auto"
    no_cache: bool = False
    embeddings_url: str | None = None
    embeddings_key: str | None = field(default=None, repr=False)
    search_limit: int = 3  # of tools
    search_threshold: float = 0.35
    search_alpha: float = 0.7
    tool_policy: str = "first"
    chromium: str | None = None  # the browser to drive, where it should not be looked for
    flow_window_hours: float = 48.0

    def __post_init__(self) -> None:
        if self.device not in ("auto", "cpu", "gpu"):
            raise InvalidInput(f"device must be auto, cpu or gpu, not {self.device!r}.")

    @property
    def data_folder(self) -> Path:
        """Where databases and downloaded models live."""
        return Path(self.data_dir or self.home or platformdirs.user_data_dir("recollect")).expanduser()

    @property
    def servers_file(self) -> Path:
        """The servers of the user's own configuration."""
        return self._config_folder / "mcp.json"

    @property
    def profiles_folder(self) -> Path:
        """The user's own profiles of apps."""
        return self._config_folder / "profiles"

    @property
    def _config_folder(self) -> Path:
        return Path(self.home).expanduser() if self.home else platformdirs.user_config_path("recollect")

    @property
    def location(self) -> str:
        """The store to open when none is named."""
        return self.store or str(self.data_folder / DATABASE)


def load_settings(
    environment: Mapping[str, str] | None = None, file: Path | None = None, data_dir: str | None = None
) -> Settings:
    """Settings from the config file, then `data_dir`, then the environment."""
    environment = os.environ if environment is None else environment
    given = _read(file or _config_file(environment))
    if data_dir:
        given = {**given, "store": None, "data_dir": data_dir}
    for each in fields(Settings):
        value = environment.get(_ALSO.get(each.name, "")) or environment.get(f"RECOLLECT_{each.name.upper()}")
        if value and not (each.name == "data_dir" and data_dir):
            given[each.name] = _value(each.name, each.type, value)
    return Settings(**{name: value for name, value in given.items() if value is not None})


def _config_file(environment: Mapping[str, str]) -> Path:
    return Path(environment.get("RECOLLECT_CONFIG") or platformdirs.user_config_path("recollect") / "config.toml")


def _read(path: Path) -> dict[str, Any]:
    """The settings of a config file; none where there is no file."""
    try:
        given = tomllib.loads(path.read_text("utf-8")) if path.is_file() else {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} is not valid TOML: {error}. Mend it, or move it away.") from error
    known = [each.name for each in fields(Settings)]
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise InvalidInput(f"{path} has unknown settings: {', '.join(unknown)}. Known: {', '.join(known)}.")
    for each in fields(Settings):
        kinds, wanted = _WANTED.get(each.type, ((str, type(None)), "text"))
        value = given.get(each.name, each.default)
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise InvalidInput(f"{path}: {each.name} must be {wanted}.")
    return given


def _value(name: str, kind: Any, text: str) -> Any:
    """What a variable says, as the kind of value that is wanted."""
    if kind not in (int, float):
        return _flag(name, text) if kind is bool else text
    try:
        return kind(text)
    except ValueError as error:
        raise InvalidInput(f"RECOLLECT_{name.upper()} must be {_WANTED[kind][1]}, not {text!r}.") from error


def _flag(name: str, value: str) -> bool:
    if value.strip().lower() in _TRUE | _FALSE:
        return value.strip().lower() in _TRUE
    raise InvalidInput(f"RECOLLECT_{name.upper()} must be 1 or 0, not {value!r}.")
