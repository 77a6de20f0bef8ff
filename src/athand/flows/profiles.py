"""App profiles: TOML files with the screens, secret fields and synonyms of a web app; some come with the package."""

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from athand.errors import BadData, InvalidInput
from athand.flows.model import DEFAULT_APP, UNKNOWN
from athand.inputs import check_name
from athand.types import Noun

log = logging.getLogger("athand")

_BUNDLED = files("athand.flows") / "profiles_data"
_LARGEST = 1_000_000
_LONGEST = 60  # characters of a name, so that it has at most 256 bytes


@dataclass(frozen=True, slots=True)
class UrlRule(Noun):
    """URLs whose path or hash route begins with these segments show this screen; `*` is any one segment."""

    pattern: str
    screen: str


@dataclass(frozen=True, slots=True)
class TestIdRule(Noun):
    """A page with an element of this test id shows this screen; `*` matches anything."""

    test_id: str
    screen: str


@dataclass(frozen=True, slots=True)
class Profile(Noun):
    """The profile of one app."""

    name: str
    prefix: str = "ui_"  # of the names of its tools
    test_id_attribute: str = "data-testid"
    infer: bool = True  # names for screens without a rule
    url_rules: tuple[UrlRule, ...] = ()
    test_id_rules: tuple[TestIdRule, ...] = ()
    flow_tags: tuple[str, ...] = ()
    synonyms: tuple[tuple[str, ...], ...] = ()
    secret_fields: tuple[str, ...] = ()

    @property
    def screens(self) -> tuple[str, ...]:
        """The screens of the rules, and `unknown`."""
        by_url = [rule.screen for rule in self.url_rules]
        by_test_id = [rule.screen for rule in self.test_id_rules]
        return tuple(dict.fromkeys([*by_url, *by_test_id, UNKNOWN]))


class Profiles:
    """The available profiles: those of the folders, first folder first, then those of the package."""

    def __init__(self, folders: Sequence[Path] = ()) -> None:
        self._folders = tuple(folders)
        self._loaded: dict[str, Profile] = {}
        self._broken: set[str] = set()  # problems that have been logged

    def get(self, name: str) -> Profile:
        """The profile of an app; the default one under its name if it has no file."""
        check_name("profile", name)
        if re.search(r"[/\\]|\A\.", name):
            raise InvalidInput(f"The profile {name!r} is a path. Give the name of an app: {', '.join(self.names())}.")
        if name not in self._loaded:
            file = self._files().get(name)
            self._loaded[name] = load_profile(file) if file else replace(self.get(DEFAULT_APP), name=name)
        return self._loaded[name]

    def load_readable(self, names: Iterable[str]) -> tuple[list[Profile], list[str]]:
        """The profiles that can be read, and the problems of the others, each logged once."""
        profiles, wrong = [], []
        for name in names:
            try:
                profiles.append(self.get(name))
            except (BadData, InvalidInput) as error:
                wrong.append(str(error))
        for problem in sorted(set(wrong) - self._broken):
            log.warning("Searching flows without one of the profiles. %s", problem)
        self._broken.update(wrong)
        return profiles, wrong

    def names(self) -> list[str]:
        """The names of all profiles that have a file, sorted."""
        return sorted(self._files())

    def _files(self) -> dict[str, Traversable]:
        folders: list[Traversable] = [_BUNDLED, *reversed(self._folders)]
        return {file.name.removesuffix(".toml"): file for folder in folders for file in _toml_files(folder)}


def load_profile(path: Traversable) -> Profile:
    """The profile of a TOML file, named like the file; raises BadData."""
    where = f"The profile {path}"
    given = _parse(where, path)
    unknown = sorted(given.keys() - _READERS.keys())
    if unknown:
        raise BadData(f"{where} has unknown keys: {', '.join(unknown)}. Known are: {', '.join(_READERS)}.")
    return Profile(
        path.name.removesuffix(".toml"), **{key: _READERS[key](f"{where}: {key}", given[key]) for key in given}
    )


def _toml_files(folder: Traversable) -> Iterator[Traversable]:
    """The TOML files of a folder, without hidden ones, which copying and editing leave behind."""
    listed = folder.iterdir() if folder.is_dir() else iter(())
    return (file for file in listed if file.name.endswith(".toml") and not file.name.startswith("."))


def _parse(where: str, path: Traversable) -> dict[str, Any]:
    import tomllib

    try:
        content = path.read_bytes()
        if len(content) > _LARGEST:
            raise BadData(f"{where} has {len(content):,} bytes; at most {_LARGEST:,} are read. Shorten it.")
        return tomllib.loads(content.decode("utf-8"))
    except OSError as error:
        raise BadData(f"{where} cannot be read: {error.strerror}. Check its name and its permissions.") from error
    except (ValueError, RecursionError) as error:
        raise BadData(f"{where} is not valid TOML: {error}. Mend it at that place.") from error


def _read_text(where: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > _LONGEST or not value.isprintable():
        raise BadData(f"{where} must be a text of 1 to {_LONGEST} visible characters, not {value!r}.")
    return value


def _read_flag(where: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise BadData(f"{where} must be true or false, not {value!r}.")
    return value


def _pattern_reader(pattern: str, what: str) -> Callable[[str, object], str]:
    def read(where: str, value: object) -> str:
        if not isinstance(value, str) or not re.fullmatch(pattern, value):
            raise BadData(f"{where} must be {what}, not {value!r}.")
        return value

    return read


def _read_list(where: str, value: object) -> Iterator[tuple[str, Any]]:
    if not isinstance(value, list):
        raise BadData(f"{where} must be a list, not {value!r}.")
    return ((f"{where}[{position}]", entry) for position, entry in enumerate(value))


def _read_texts(where: str, value: object) -> tuple[str, ...]:
    return tuple(_read_text(*entry) for entry in _read_list(where, value))


def _read_groups(where: str, value: object) -> tuple[tuple[str, ...], ...]:
    groups = [(at, _read_texts(at, entry)) for at, entry in _read_list(where, value)]
    for at, group in groups:
        if len(group) < 2:
            raise BadData(f"{at} must have at least two words that mean the same, not {list(group)!r}.")
    return tuple(group for _, group in groups)


def _read_entries(
    where: str, value: object, readers: Mapping[str, Callable[[str, object], str]]
) -> Iterator[list[str]]:
    """The rules of a list, each with exactly these keys."""
    for at, entry in _read_list(where, value):
        if not isinstance(entry, dict) or entry.keys() != readers.keys():
            raise BadData(f"{at} must have the keys {' and '.join(readers)}, and no others, not {entry!r}.")
        yield [read(f"{at}.{key}", entry[key]) for key, read in readers.items()]


def _read_url_rules(where: str, value: object) -> tuple[UrlRule, ...]:
    return tuple(UrlRule(*rule) for rule in _read_entries(where, value, {"pattern": _read_route, "screen": _read_text}))


def _read_test_id_rules(where: str, value: object) -> tuple[TestIdRule, ...]:
    return tuple(
        TestIdRule(*rule) for rule in _read_entries(where, value, {"test_id": _read_text, "screen": _read_text})
    )


_read_route = _pattern_reader(r"/[^\s?#]*", "a path that begins with /, without host, query and #")
_READERS: dict[str, Callable[[str, object], Any]] = {
    "prefix": _pattern_reader(r"[A-Za-z0-9_-]{0,32}", "at most 32 letters, digits, _ and -"),
    "test_id_attribute": _pattern_reader(r"[A-Za-z_][\w.:-]{0,63}", "the name of an HTML attribute"),
    "infer": _read_flag,
    "url_rules": _read_url_rules,
    "test_id_rules": _read_test_id_rules,
    "flow_tags": _read_texts,
    "synonyms": _read_groups,
    "secret_fields": _read_texts,
}
