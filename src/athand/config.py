"""Settings: the only reader of the environment and of configuration files."""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import platformdirs

from athand.errors import InvalidInput
from athand.inputs import check_text

if TYPE_CHECKING:
    from athand.embed import ModelOptions
    from athand.embed import ModelState as ModelState

DATABASE = "athand.db"
_TRUE = {"1", "true", "yes", "on"}
_FALSE = {"0", "false", "no", "off", ""}
# Alternative names of variables.
_ALIASES = {
    "model": "ATHAND_SEARCH_MODEL",
    "device": "ATHAND_SEARCH_DEVICE",
    "no_cache": "ATHAND_SEARCH_NO_CACHE",
}
_TYPES: dict[Any, tuple[tuple[type, ...], str]] = {
    bool: ((bool,), "true or false"),
    int: ((int,), "a whole number"),
    float: ((int, float), "a number"),
}
_CHOICES = {
    "device": ("auto", "cpu", "gpu"),
    "tool_policy": ("first", "quarantine", "accept"),
    "unannotated_tools": ("ask", "allow", "deny"),
    "documents_redact": ("blocks", "values", "off"),
}
_RANGES = {
    "search_limit": (1, 100),
    "search_threshold": (0, 1),
    "search_alpha": (0, 1),
    "flow_window_hours": (0, 1_000_000),
    "hook_seconds": (0.1, 60),
}


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings. A variable ATHAND_<NAME> takes precedence over the file, the file over the defaults here."""

    store: str | None = field(default=None, repr=False)  # may have a password in it
    data_dir: str | None = None
    home: str | None = None
    model: str = "athand-static-1"
    device: str = "auto"
    no_cache: bool = False
    embeddings_url: str | None = None
    embeddings_key: str | None = field(default=None, repr=False)
    search_limit: int = 3  # of tools
    search_threshold: float = 0.35
    search_alpha: float = 0.7
    tool_policy: str = "first"
    unannotated_tools: str = "ask"
    documents_redact: str = "values"
    chromium: str | None = None  # the executable; default: found by itself
    flow_window_hours: float = 48.0
    history: bool = False  # whether transcripts of past sessions may be read into memories
    hook_seconds: float = 1.5  # after which a hook ends in silence
    extensions: str | None = None  # folders of browser extensions that agents may load, separated as in PATH

    def __post_init__(self) -> None:
        for name, words in _CHOICES.items():
            if (value := getattr(self, name)) not in words:
                raise InvalidInput(f"{name} must be {', '.join(words[:-1])} or {words[-1]}, not {value!r}.")
        for name, (least, most) in _RANGES.items():
            if not least <= (value := getattr(self, name)) <= most:
                raise InvalidInput(f"{name} must be a number from {least:,} to {most:,}, not {value}.")

    @property
    def data_folder(self) -> Path:
        """The folder of databases and downloaded models."""
        return Path(self.data_dir or self.home or platformdirs.user_data_dir("athand")).expanduser()

    @property
    def servers_file(self) -> Path:
        """The user's configuration file of MCP servers."""
        return self._config_folder / "mcp.json"

    @property
    def profiles_folder(self) -> Path:
        """The folder of the user's app profiles."""
        return self._config_folder / "profiles"

    @property
    def extension_folders(self) -> tuple[Path, ...]:
        """The browser extensions that agents may load."""
        return tuple(Path(each) for each in (self.extensions or "").split(os.pathsep) if each)

    @property
    def _config_folder(self) -> Path:
        return Path(self.home).expanduser() if self.home else platformdirs.user_config_path("athand")

    @property
    def location(self) -> str:
        """The default store."""
        return self.store or str(self.data_folder / DATABASE)


def load_settings(
    environment: Mapping[str, str] | None = None, file: Path | None = None, data_dir: str | None = None
) -> Settings:
    """Settings from the config file, then `data_dir`, then the environment."""
    environment = os.environ if environment is None else environment
    given = _read_file(file or config_file(environment))
    if data_dir:
        given = {**given, "store": None, "data_dir": data_dir}
    for each in fields(Settings):
        value = environment.get(_ALIASES.get(each.name, "")) or environment.get(f"ATHAND_{each.name.upper()}")
        if value and not (each.name == "data_dir" and data_dir):
            given[each.name] = _parse(f"ATHAND_{each.name.upper()}", each.type, value)
    return Settings(**{name: value for name, value in given.items() if value is not None})


def explain_settings(
    environment: Mapping[str, str] | None = None, data_dir: str | None = None
) -> dict[str, tuple[Any, str]]:
    """Every setting by name: its value, and its origin: a variable, an option, `file` or `default`."""
    environment = os.environ if environment is None else environment
    settings = load_settings(environment, data_dir=data_dir)
    written = _read_file(config_file(environment))
    return {
        each.name: (getattr(settings, each.name), _origin(each.name, environment, written, data_dir))
        for each in fields(Settings)
    }


def check_setting(name: str, text: str) -> Any:
    """Parses the text of a setting; raises InvalidInput."""
    check_setting_name(name)
    check_text(name, text)
    value = _parse(name, {each.name: each.type for each in fields(Settings)}[name], text)
    Settings(**{name: value})
    return value


def check_setting_name(name: str) -> None:
    """Raises if there is no setting of this name."""
    if name not in setting_names():
        close = get_close_matches(name, setting_names(), n=1)
        hint = f" Did you mean {close[0]}?" if close else ""
        raise InvalidInput(f"No setting {name!r}.{hint} See all with: athand config")


def setting_names() -> list[str]:
    """The names of all settings."""
    return [each.name for each in fields(Settings)]


def _origin(name: str, environment: Mapping[str, str], written: Mapping[str, Any], data_dir: str | None) -> str:
    """The origin of a value: the name of a variable or an option, `file`, or `default`."""
    if data_dir and name == "data_dir":
        return "--data-dir"
    variables = [each for each in (_ALIASES.get(name, ""), f"ATHAND_{name.upper()}") if environment.get(each)]
    if variables:
        return variables[0]
    return "file" if written.get(name) is not None and not (data_dir and name == "store") else "default"


def config_file(environment: Mapping[str, str] | None = None) -> Path:
    """The path of the config file, whether it exists or not."""
    environment = os.environ if environment is None else environment
    return Path(environment.get("ATHAND_CONFIG") or platformdirs.user_config_path("athand") / "config.toml")


def _read_file(path: Path) -> dict[str, Any]:
    """The settings of a config file; none if there is no file."""
    try:
        given = tomllib.loads(path.read_text("utf-8")) if path.is_file() else {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} is not valid TOML: {error}. Correct it, or move it away.") from error
    known = [each.name for each in fields(Settings)]
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise InvalidInput(f"{path} has unknown settings: {', '.join(unknown)}. Known: {', '.join(known)}.")
    for each in fields(Settings):
        kinds, wanted = _TYPES.get(each.type, ((str, type(None)), "text"))
        value = given.get(each.name, each.default)
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise InvalidInput(f"{path}: {each.name} must be {wanted}.")
    return given


def _parse(label: str, kind: Any, text: str) -> Any:
    """Parses a text as the type of the setting."""
    if kind not in (int, float):
        return _parse_bool(label, text) if kind is bool else text
    try:
        return kind(text)
    except ValueError as error:
        raise InvalidInput(f"{label} must be {_TYPES[kind][1]}, not {text!r}.") from error


def _parse_bool(label: str, value: str) -> bool:
    if value.strip().lower() in _TRUE | _FALSE:
        return value.strip().lower() in _TRUE
    raise InvalidInput(f"{label} must be 1 or 0, not {value!r}.")


def model_options(settings: Settings) -> "ModelOptions":
    """How the settings want an embedding model to be loaded."""
    from athand.embed import ModelOptions

    return ModelOptions(
        device=settings.device,
        cache_dir=settings.data_folder / "models",
        base_url=settings.embeddings_url,
        api_key=settings.embeddings_key,
    )


def list_models(settings: Settings, current: str | None = None) -> "list[ModelState]":
    """The embedding models that can be chosen; `current` defaults to that of the settings."""
    from athand import embed

    return embed.list_models(embed.LazyEmbedder(current or settings.model).name, model_options(settings))


def fetch_model(settings: Settings, name: str) -> int:
    """Downloads a model unless it is present, runs it once, and returns the number of dimensions of its vectors."""
    from athand import embed

    return len(embed.load_embedder(name, model_options(settings)).embed_query("a question"))
