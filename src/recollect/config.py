"""Settings: the only reader of the environment and of configuration files."""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path

import platformdirs

from recollect.errors import InvalidInput

DATABASE = "recollect.db"
_TRUE = {"1", "true", "yes", "on"}
_FALSE = {"0", "false", "no", "off", ""}


@dataclass(frozen=True, slots=True)
class Settings:
    """What can be chosen. A variable RECOLLECT_<NAME> wins over the file, the file over what is written here."""

    store: str | None = None
    data_dir: str | None = None
    home: str | None = None
    model: str = "recollect-static-1"
    device: str = "auto"
    no_cache: bool = False
    embeddings_url: str | None = None
    embeddings_key: str | None = None

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


def load_settings(environment: Mapping[str, str] | None = None, file: Path | None = None) -> Settings:
    """Settings from the config file and the environment."""
    environment = os.environ if environment is None else environment
    path = file or Path(
        environment.get("RECOLLECT_CONFIG") or platformdirs.user_config_path("recollect") / "config.toml"
    )
    given: dict[str, object] = _read(path) if path.is_file() else {}
    names = {field.name: field.type for field in fields(Settings)}
    unknown = set(given) - set(names)
    if unknown:
        raise InvalidInput(f"{path} has unknown settings: {', '.join(sorted(unknown))}. Known: {', '.join(names)}.")
    for name in names:
        value = environment.get(f"RECOLLECT_{name.upper()}")
        if value is not None:
            given[name] = _flag(name, value) if names[name] is bool else value or None
    return Settings(**{name: value for name, value in given.items() if value is not None})  # type: ignore[arg-type]


def _read(path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} is not valid TOML: {error}. Mend it, or move it away.") from error


def _flag(name: str, value: str) -> bool:
    if value.strip().lower() in _TRUE | _FALSE:
        return value.strip().lower() in _TRUE
    raise InvalidInput(f"RECOLLECT_{name.upper()} must be 1 or 0, not {value!r}.")
