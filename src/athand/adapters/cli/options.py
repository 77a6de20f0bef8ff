"""Options that are read off the parameters of service methods, and those that several commands share."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pkgutil import resolve_name
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Union, get_args, get_origin

import click

from athand.adapters.cli.completion_values import (
    complete_app,
    complete_folder,
    complete_memory,
    complete_memory_session,
    complete_project,
    complete_server,
)
from athand.adapters.cli.session import Command

if TYPE_CHECKING:
    from athand.parameters import Parameter, Range

Method = str | Callable[..., Any]
# The flag of a parameter, where it is not `--` and the parameter's name.
_FLAGS = {
    "memory_type": "--type",
    "tags": "--tag",
    "concepts": "--concept",
    "semantic_concepts": "--concept",
    "exact_terms": "--term",
    "files": "--file",
    "folder_id": "--folder",
    "corpora": "--corpus",
    "continuation_token": "--token",
    "include_superseded": "--superseded",
    "include_documents": "--documents",
    "include_deleted": "--deleted",
}
# What stands for the value in a help text, where it is not the type.
_METAVARS = {
    **dict.fromkeys(("id", "session", "in_session", "folder_id"), "ID"),
    **dict.fromkeys(("project", "app", "server", "catalogue"), "NAME"),
    **dict.fromkeys(("author", "by"), "WHO"),
    **dict.fromkeys(("created_at", "valid_from", "valid_until", "as_of", "since", "until", "started_at"), "TIME"),
    "expected_updated_at": "TIME",
    "tags": "WORD",
    "continuation_token": "TOKEN",
    "files": "PATH",
    "path": "PATTERN",
}
_COMPLETE = {
    "project": complete_project,
    "session": complete_memory_session,
    "in_session": complete_memory_session,
    "folder_id": complete_folder,
    "server": complete_server,
    "app": complete_app,
}


class NameChoice(click.Choice[str]):
    """One of some names; the error for another one suggests the nearest."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name as it is written in the list."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            from athand.inputs import suggest

            self.fail(f"{error.message}{suggest(value, self.choices)}", param, ctx)


def _join_words(context: click.Context, parameter: click.Parameter, words: tuple[str, ...]) -> str:
    return " ".join(words)


# A question in quotes, or as several words.
query = click.argument("query", nargs=-1, required=True, callback=_join_words)
memory_id = click.argument("id", metavar="ID", shell_complete=complete_memory)
folder_id = click.argument("folder_id", metavar="FOLDER", shell_complete=complete_folder)
document_id = click.argument("document_id", metavar="DOCUMENT")
explain = click.option("--explain", is_flag=True, help="Show how each score came about.")


def of(method: "Method", *names: str, flags: str = "", **settings: Any) -> Callable[[Command], Command]:
    """Add an option for each of these parameters of a service method, such as "memories:Memories.search".

    Instead of its name, it may be a method, or the name of a TypedDict whose keys are options. Type, range, choices,
    default and help are the parameter's; `flags` and the settings of `click.Option` given here win. The options are
    made when the command's own help or run needs them, because the services load the engine.
    """

    def decorate(command: Command) -> Command:
        for name in reversed(names):
            _add_later(command, partial(make_option, method, name, flags, **settings))
        return command

    return decorate


def argument(method: "Method", name: str, **settings: Any) -> Callable[[Command], Command]:
    """Add a required argument for a parameter of a service method, of its type and with its choices."""

    def decorate(command: Command) -> Command:
        _add_later(command, partial(make_argument, method, name, **settings))
        return command

    return decorate


def _add_later(command: Command, make: Callable[[], click.Parameter]) -> None:
    command.__click_params__ = [*getattr(command, "__click_params__", ()), make]  # type: ignore[attr-defined]


def make_option(method: "Method", name: str, flags: str = "", **settings: Any) -> click.Option:
    """The option for a parameter of a service method."""
    from athand.parameters import REQUIRED

    parameter = _find_parameter(method, name)
    kinds = {get_origin(each) or each for each in _alternatives(parameter.annotation)}
    flag = flags or _FLAGS.get(name, f"--{name.replace('_', '-')}")
    about, own = parameter.help, _read_type(parameter)
    if kinds & {Sequence, Iterable}:
        own["multiple"] = True
        about += "; may be repeated"
    elif bool in kinds:
        own = {"is_flag": True, "default": parameter.default, "show_default": bool(parameter.default)}
        if parameter.default and "/" not in flag:
            flag = f"{flag}/{flag.replace('--', '--no-')}"
    elif parameter.default is REQUIRED:
        own["required"] = True
    elif parameter.default:
        own |= {"default": parameter.default, "show_default": True}
    if "metavar" not in own and name in _METAVARS:
        own["metavar"] = _METAVARS[name]
    if name in _COMPLETE and not flags:  # with a flag of its own it names something new
        own["shell_complete"] = _COMPLETE[name]
    return click.Option([name, *flag.split()], **{"help": f"{about}."} | own | settings)


def make_argument(method: "Method", name: str, **settings: Any) -> click.Argument:
    """The argument for a parameter of a service method."""
    return click.Argument([name], **_read_type(_find_parameter(method, name)) | settings)


def _find_parameter(method: "Method", name: str) -> "Parameter":
    from athand.parameters import Keys, parameters_of

    owner = resolve_name(f"athand.{method}") if isinstance(method, str) else method
    if isinstance(owner, type):
        return next(each for each in Keys(owner).parameters if each.name == name)
    return parameters_of(owner)[name]


def _read_type(parameter: "Parameter") -> dict[str, Any]:
    """The settings of click for a type: choices, or a number and its range; none for text."""
    from athand.parameters import Choice, Range, marks_of

    alternatives = [*_alternatives(parameter.annotation)]
    entries = [entry for each in alternatives for entry in get_args(each)]
    marks = {type(mark): mark for each in (*entries, parameter.annotation) for mark in marks_of(each)}
    if choice := marks.get(Choice):
        return {"type": NameChoice(choice.words, case_sensitive=False)}
    if int in alternatives:
        return {"type": _make_parser(int, "a whole number", marks.get(Range)), "metavar": "N"}
    if float in alternatives:
        return {"type": _make_parser(float, "a number", marks.get(Range)), "metavar": "NUMBER"}
    return {}


def _make_parser(kind: type[float], noun: str, span: "Range | None") -> Callable[[str], float]:
    """A function that turns text into a number of this kind and range, or says what is wrong."""
    wanted = noun
    if span:
        wanted += f" above {span.low:,}" if span.exclusive else f" from {span.low:,}"
        wanted += "" if span.high is None else f" to {span.high:,}"

    def parse(value: str) -> float:
        try:
            number = kind(value)
        except ValueError:
            number = None
        if number is None or (span and not _is_within(number, span)):
            raise click.BadParameter(f"it must be {wanted}, not {value}.")
        return number

    return parse


def _is_within(number: float, span: "Range") -> bool:
    is_enough = number > span.low if span.exclusive else number >= span.low
    return is_enough and (span.high is None or number <= span.high)


def _alternatives(annotation: Any) -> Iterator[Any]:
    """The types of a union, without their marks."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        yield from _alternatives(inner[0])
    elif origin in (Union, UnionType):
        for each in inner:
            yield from _alternatives(each)
    else:
        yield annotation


def complete_from(*names: str) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """A shell completion that offers these names."""
    return lambda context, parameter, begun: [name for name in names if name.startswith(begun)]


def complete_toolset(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    """The toolsets of the MCP server that begin with what was typed."""
    from athand.adapters.operations import list_toolsets

    return [name for name in ("all", *list_toolsets()) if name.startswith(typed)]


def drop_unset(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that were given a value."""
    return {name: value for name, value in options.items() if value is not None and value != ()}
