"""A parameter is written once, in an annotation: its type, its range or choices, and the words that describe it.

`Limit = Annotated[int, Range(1, 1000), Help("Maximum number of results")]` stands on the service method. The schemas
of MCP and HTTP are read off it with `parameters_of`. A parameter without `Help` is for Python callers only.
"""

import collections.abc
import inspect
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from os import PathLike
from typing import Annotated, Any, TypeVar, get_args, get_origin

REQUIRED = inspect.Parameter.empty
Mark = TypeVar("Mark")


@dataclass(frozen=True, slots=True)
class Help:
    """What a parameter means, in the words that agents and people read."""

    text: str


@dataclass(frozen=True, slots=True)
class Range:
    """The least and the greatest number; `exclusive` leaves the least one out."""

    low: float
    high: float | None = None
    exclusive: bool = False


@dataclass(frozen=True, slots=True)
class Length:
    """The least and the greatest number of characters or of entries."""

    shortest: int = 0
    longest: int | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """The words of which a text must be one."""

    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys that a mapping may have: a TypedDict, none of whose keys is required."""

    of: type

    @property
    def parameters(self) -> "list[Parameter]":
        """The keys with their types."""
        hints = typing.get_type_hints(self.of, include_extras=True)
        return [Parameter(name, _or_none(annotation), None, is_extra=True) for name, annotation in hints.items()]


@dataclass(frozen=True, slots=True)
class PythonOnly:
    """A type that Python callers may give beside those that JSON has; surfaces do not offer it."""


@dataclass(frozen=True, slots=True)
class FromCaller:
    """A value that surfaces take from the caller, who cannot give it: an attribute, or by default the caller itself."""

    attribute: str = ""


ByOwner = Annotated[bool, FromCaller("is_owner")]  # whether the owner of the store asks for it
ByReader = Annotated[bool, FromCaller("may_read")]  # whether the caller may read what is stored
ByWriter = Annotated[bool, FromCaller("may_write")]  # whether the caller may change what is stored
# How many characters the texts of one answer have together; None from Python: they are whole.
AnswerLength = Annotated[int | None, FromCaller("longest_answer")]


Home = Annotated[str | None, FromCaller("project")]  # the project that the caller works on: what others have comes last


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a service method, as surfaces offer it."""

    name: str
    annotation: Any
    default: Any = REQUIRED
    is_extra: bool = False  # one of the **keywords: not passed unless it is given

    @property
    def help(self) -> str:
        """What it means."""
        found = self.find(Help)
        return found.text if found else ""

    def find(self, kind: type[Mark]) -> Mark | None:
        """Its range, length, choice or help; of several the outermost."""
        return next((mark for mark in marks_of(self.annotation) if isinstance(mark, kind)), None)


def marks_of(annotation: Any) -> Iterator[Any]:
    """The marks of an annotation, the outermost first; those of list entries are not its own."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        yield from reversed(inner[1:])
        yield from marks_of(inner[0])
    elif origin in (typing.Union, types.UnionType):
        for each in inner:
            yield from marks_of(each)


@cache
def parameters_of(function: Callable[..., Any]) -> Mapping[str, Parameter]:
    """The parameters that have help, by name, without the first one: the service. **keywords are their type's keys."""
    hints = typing.get_type_hints(function, include_extras=True)
    _, *given = inspect.signature(function).parameters.values()
    found = [
        parameter
        for each in given
        for parameter in (
            _extras(hints[each.name])
            if each.kind is inspect.Parameter.VAR_KEYWORD
            else [Parameter(each.name, hints[each.name], each.default)]
        )
    ]
    offered = {each.name: each for each in found if each.help or each.find(FromCaller) is not None}
    needed = [each.name for each in found if each.default is REQUIRED and not _is_callback(each.annotation)]
    if missing := [name for name in needed if name not in offered]:
        raise TypeError(f"{function.__qualname__} needs {', '.join(missing)}, which has no Help.")
    return types.MappingProxyType(offered)


def _extras(hint: Any) -> list[Parameter]:
    """The keys of `Unpack[SomeTypedDict]`; none for keywords of any name."""
    return Keys(get_args(hint)[0]).parameters if get_origin(hint) is typing.Unpack else []


def _or_none(annotation: Any) -> Any:
    bare = get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation
    return annotation if type(None) in get_args(bare) else annotation | None


def _is_callback(annotation: Any) -> bool:
    return get_origin(annotation) is collections.abc.Callable


# An error may repeat what it was given, so texts that name something have a limit.
Name = Annotated[str, Length(0, 256)]
PathText = Annotated[str, Length(0, 4096)]
Time = Annotated[datetime | str, Length(0, 64)]
Fraction = Annotated[float, Range(0, 1)]

# Parameters that several corpora share.
Question = Annotated[str, Help("What to look for, in plain words; the first 10,000 characters count")]
Limit = Annotated[int, Range(1, 1000), Help("Maximum number of results")]
MinScore = Annotated[Fraction | None, Help("Leave out results that score less, 0 to 1")]
LONGEST_ID = 4096  # the path of a document is a part of some
HitId = Annotated[str, Length(1, LONGEST_ID), Help("The id of a hit, or the place of a document")]
Project = Annotated[Name | None, Help("Only this project; default: all, yours first")]
HomeProject = Annotated[Name, Help("The project it belongs to")]
ContinuationToken = Annotated[str | None, Help("From the previous page, to get the next; keep the other arguments")]
FilePath = Annotated[str | PathLike[str], Length(1, 4096), Help("A path on the machine that Athand runs on")]
FolderIds = Annotated[Name | Sequence[Name] | None, Help("Only this folder, or these; default: all folders")]
CorpusNames = Annotated[Sequence[str] | None, Help("Only these corpora; default: all that the other filters apply to")]
Catalogues = Annotated[
    Name | Sequence[Name] | None, Help("Only tools of this catalogue, or these; default: all catalogues")
]
