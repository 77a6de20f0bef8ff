"""What every command shares: the common options, how to open the store and how to print; groups with sections."""

import logging
import shlex
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from athand.adapters.cli.words import echo, to_json
from athand.adapters.project import DEFAULT, FoundProject, find_project
from athand.errors import InvalidInput, NotFound

if TYPE_CHECKING:
    from rich.console import Console

    from athand.app import Athand
    from athand.corpus import AnyCorpus
    from athand.documents.model import Continuation
    from athand.types import Noun

Command = TypeVar("Command", bound=Callable[..., Any])
Progress = Callable[..., None]  # done, total, and another label


@dataclass(slots=True)
class Session:
    """The values of the common options; opens the store and prints."""

    store: str | None = None
    data_dir: str | None = None
    model: str | None = None
    no_cache: bool = False
    as_json: bool = False
    quiet: bool = False
    project: "FoundProject | None" = None  # that this command works on, where none was named
    creates: bool = False  # whether the command may create the store that --store names
    corpora: "tuple[type[AnyCorpus], ...]" = ()  # of a program of one's own, beside the four

    def open(self) -> "Athand":
        """The store the options, the environment or the configuration name."""
        from athand.app import Athand
        from athand.config import load_settings

        settings = load_settings(data_dir=self.data_dir)
        if self.no_cache:
            settings = replace(settings, no_cache=True)
        if not self.creates:
            self._check_exists()
        return Athand(self.store, model=self.model, settings=settings, corpora=self.corpora)

    def find_home(self, project: str | None) -> str | None:
        """The project that a search begins with, if none was named and work is done in one."""
        if project is None:
            self.project = _find_known_project()
        return self.project.name if self.project else None

    def _check_exists(self) -> None:
        """Raise NotFound if --store names a file that is not there: most likely it is mistyped."""
        if not self.store or "://" in self.store or self.store == ":memory:":
            return
        path = Path(self.store).expanduser()
        if not path.exists() and not path.parent.is_file():  # no store can be created below a file: opening it says so
            create = shlex.join(["athand", "store", "init", "--store", self.store])
            raise NotFound(f"There is no store {self.store}. Check the path, or create the store with: {create}")

    def show(self, value: Any) -> None:
        """Print the data as JSON."""
        echo(to_json(value, 2 if sys.stdout.isatty() else None))

    def print_plain(self, found: "Noun | Sequence[Noun]", data: str = "id") -> bool:
        """Print items for a program, with --json in full, with --quiet one field of each; False without either."""
        one = not isinstance(found, Sequence)
        nouns: Sequence[Noun] = [found] if one else found  # type: ignore[list-item, assignment]
        if self.as_json:
            dictionaries = [noun.to_dict() for noun in nouns]
            self.show(dictionaries[0] if one else dictionaries)
        elif self.quiet:
            for noun in nouns:
                echo(getattr(noun, data))
        return self.as_json or self.quiet

    def report(self, changed: "Noun", text: str) -> None:
        """Print what a command has changed: for a program, or in words."""
        if not self.print_plain(changed):
            self.say(text)

    def say(self, text: str) -> None:
        """Print a remark to standard error, unless --quiet is given."""
        if not self.quiet:
            echo(text, err=True)

    def say_next_page(self, continuation: "Continuation", *words: str) -> None:
        """Print the command that gets the next page from the same store, if there is one."""
        if continuation.has_more:
            own = {"--store": self.store, "--data-dir": self.data_dir, "--model": self.model}
            shared = [f"{name}={value}" for name, value in own.items() if value]
            again = shlex.join(["athand", *words, *shared, f"--token={continuation.next_token}"])
            self.say(f" More:  {again}")

    @contextmanager
    def show_progress(self, label: str, unit: str = "") -> Iterator[Progress]:
        """Show a bar on a terminal until the work is done; yields what is called with the count and the total."""
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        columns = (
            TextColumn(" {task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(separator=" / "),
            *([TextColumn(f"{unit} ·")] if unit else []),
            TimeRemainingColumn(),
        )
        console = self.console(stderr=True)
        hidden = self.quiet or self.as_json or not console.is_terminal
        with Bar(*columns, console=console, transient=True, disable=hidden) as bar:
            task = bar.add_task(label, total=None)

            def show(done: int, total: int, label: str = label) -> None:
                bar.update(task, description=label, completed=done, total=total or None)

            yield show

    def console(self, *, stderr: bool = False) -> "Console":
        """A rich console: colours on a terminal, plain text elsewhere."""
        from rich.console import Console

        return Console(stderr=stderr, highlight=False, soft_wrap=False)


def common_options(command: Command) -> Command:
    """Add the options that every command takes; the same stand before the name of a command."""
    options = (
        click.option("--store", metavar="PLACE", help="A file, or a postgresql:// address (or ATHAND_STORE)."),
        click.option("--data-dir", metavar="DIR", help="The folder of the database and models (or ATHAND_DATA_DIR)."),
        click.option("--model", metavar="NAME", help="The embedding model: a name, a folder, or openai:<name>."),
        click.option("--no-cache", is_flag=True, help="Embed every text anew."),
        click.option("--json", "as_json", is_flag=True, help="Print everything as JSON."),
        click.option("--quiet", "-q", is_flag=True, help="Print the data only."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def start_session(context: click.Context, **given: Any) -> Session:
    """The session of a command: options after its name win over those before it."""
    outer = context.find_object(Session) or Session()
    return replace(outer, **{name: value for name, value in given.items() if value})


class LazyCommand(click.Command):
    """Makes those of its parameters that are functions when they are first needed, see `options.of`."""

    _params: list[Any]

    @property
    def params(self) -> list[click.Parameter]:
        """The options and arguments."""
        self._params = [each if isinstance(each, click.Parameter) else each() for each in self._params]
        return self._params

    @params.setter
    def params(self, params: list[Any]) -> None:
        self._params = params


def command(group: click.Group, name: str, *, creates: bool = False) -> Callable[[Callable[..., None]], click.Command]:
    """A command of a group that takes the common options and gets a `Session` as its first argument.

    One that `creates` makes the store that --store names, if it is not there.
    """

    def decorate(function: Callable[..., None]) -> click.Command:
        names = ("store", "data_dir", "model", "no_cache", "as_json", "quiet")

        def run(**arguments: Any) -> None:
            given = {each: arguments.pop(each) for each in names}
            session = start_session(click.get_current_context(), creates=creates, **given)
            logging.getLogger("athand").setLevel(logging.ERROR if session.quiet else logging.WARNING)
            _find_project(session, arguments)
            function(session, **arguments)
            if session.project is not None and not session.as_json:
                session.say(f" Project {session.project}; another one with --project NAME")

        run.__doc__ = function.__doc__
        shared = common_options(run)
        # Click reads decorators from the last to the first: so the command's own options lead its help.
        shared.__click_params__ += getattr(function, "__click_params__", [])  # type: ignore[attr-defined]
        return group.command(name, cls=LazyCommand)(shared)

    return decorate


def _find_project(session: Session, arguments: dict[str, Any]) -> None:
    """Where a command is about a project and none was named: finds that of the working folder."""
    if arguments.get("project") != DEFAULT:
        return
    if click.get_current_context().get_parameter_source("project") is not ParameterSource.DEFAULT:
        return
    if found := _find_known_project():
        session.project = found
        arguments["project"] = found.name


def _find_known_project() -> "FoundProject | None":
    """The project of the working folder, if it has one."""
    found = find_project(None, Path.cwd())
    return found if found.is_known else None


class SectionedGroup(click.Group):
    """Shows its commands under headings, in the order they were given."""

    def __init__(self, name: str, *, sections: Mapping[str, click.Group], **settings: Any) -> None:
        commands = {name: command for group in sections.values() for name, command in group.commands.items()}
        super().__init__(name, commands, **settings)
        self.sections = sections

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order of the sections."""
        return list(self.commands)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write one list per section, their second columns in line."""
        width = max(map(len, self.commands))
        for heading, group in self.sections.items():
            with formatter.section(heading):
                formatter.write_dl(
                    [(f"{name:<{width}}", command.get_short_help_str(80)) for name, command in group.commands.items()]
                )


def read_standard_input() -> str:
    """All of standard input, as text."""
    try:
        return sys.stdin.buffer.read().decode("utf-8").rstrip("\n")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"Standard input is not UTF-8 at byte {error.start}. Convert it before.") from error


@contextmanager
def exit_on_sigterm() -> Iterator[None]:
    """Exit at SIGTERM as at Ctrl-C, so that what is unfinished is removed, or said to be."""
    before = signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def confirm(question: str) -> None:
    """Ask a question; abort unless the answer is yes."""
    if not sys.stdin.isatty():
        raise InvalidInput(f"{question} There is no terminal to answer at; add --yes if you mean it.")
    click.confirm(question, abort=True, err=True)
