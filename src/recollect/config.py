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

    def __post_init__(self) -> None:
        if self.device not in ("auto", "cpu", "gpu"):
            raise InvalidInput(f"device must be auto, cpu or gpu, not {self.device!r}.")

    @property
    def data_folder(self) -> Path:
        """Where databases and downloaded models live."""
        return Path(self.data_dir or self.home or platformdirs.user_data_dir("recollect")).expanduser()

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
        value = environment.get(f"RECOLLECT_{each.name.upper()}")
        if value and not (each.name == "data_dir" and data_dir):
            given[each.name] = _flag(each.name, value) if each.type is bool else value
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
        if not isinstance(given.get(each.name, each.default), (bool,) if each.type is bool else (str, type(None))):
            raise InvalidInput(f"{path}: {each.name} must be {'true or false' if each.type is bool else 'text'}.")
    return given


def _flag(name: str, value: str) -> bool:
    if value.strip().lower() in _TRUE | _FALSE:
        return value.strip().lower() in _TRUE
    raise InvalidInput(f"RECOLLECT_{name.upper()} must be 1 or 0, not {value!r}.")
