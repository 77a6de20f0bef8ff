"""What every command shares: where the store is, how to print, how to speak."""

import json
import logging
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from rich.console import Console

    from recollect.app import Recollect

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(slots=True)
class Session:
    """The options that every command takes, and what they lead to."""

    store: str | None = None
    data_dir: str | None = None
    model: str | None = None
    no_cache: bool = False
    as_json: bool = False
    quiet: bool = False

    def open(self) -> "Recollect":
        """The store the options, the environment or the configuration name."""
        from recollect.app import Recollect
        from recollect.config import load_settings

        settings = load_settings(data_dir=self.data_dir)
        if self.no_cache:
            settings = replace(settings, no_cache=True)
        return Recollect(self.store, model=self.model, settings=settings)

    def show(self, value: Any) -> None:
        """Print the data as JSON."""
        click.echo(json.dumps(value, ensure_ascii=False, indent=2 if sys.stdout.isatty() else None))

    def say(self, text: str) -> None:
        """Talk, beside the data: on stderr, unless asked to be quiet."""
        if not self.quiet:
            click.echo(text, err=True)

    def console(self, *, stderr: bool = False) -> "Console":
        """Where to draw: colours on a terminal, plain text elsewhere."""
        from rich.console import Console

        return Console(stderr=stderr, highlight=False, soft_wrap=False)


def common_options(command: Command) -> Command:
    """Add the options every command takes, before or after its name, and hand it the session."""
    options = (
        click.option("--store", metavar="PATH", help="The database file (or RECOLLECT_STORE)."),
        click.option(
            "--data-dir", metavar="DIR", help="The folder of the database and models (or RECOLLECT_DATA_DIR)."
        ),
        click.option("--model", metavar="NAME", help="The embedding model: a name, a folder, or openai:<name>."),
        click.option("--no-cache", is_flag=True, help="Embed every text anew."),
        click.option("--json", "as_json", is_flag=True, help="Print JSON, the full truth."),
        click.option("--quiet", "-q", is_flag=True, help="Print the data only."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def start_session(context: click.Context, **given: Any) -> Session:
    """The session of a command: what was said after its name, else what was said before it."""
    outer = context.find_object(Session) or Session()
    return replace(outer, **{name: value for name, value in given.items() if value})


def command(group: click.Group, name: str) -> Callable[[Callable[..., None]], click.Command]:
    """A command of a group that takes the common options and gets a `Session` as its first argument."""

    def decorate(function: Callable[..., None]) -> click.Command:
        names = ("store", "data_dir", "model", "no_cache", "as_json", "quiet")

        def run(**arguments: Any) -> None:
            session = start_session(click.get_current_context(), **{each: arguments.pop(each) for each in names})
            logging.getLogger("recollect").setLevel(logging.ERROR if session.quiet else logging.WARNING)
            function(session, **arguments)

        run.__doc__ = function.__doc__
        run.__click_params__ = getattr(function, "__click_params__", [])  # type: ignore[attr-defined]
        return group.command(name)(common_options(run))

    return decorate
