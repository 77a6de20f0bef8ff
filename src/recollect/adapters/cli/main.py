"""The `recollect` command: its groups, its errors, its exit codes."""

import importlib
import logging
import os
import sys
from typing import Any

import click

from recollect import __version__
from recollect.adapters.cli.session import Session, common_options
from recollect.errors import RecollectError

EXIT_IO = 74
EXIT_INTERRUPTED = 130
EXIT_PIPE_CLOSED = 141

_COLOR = False if os.environ.get("NO_COLOR") else None  # None: as the terminal can
_COMMANDS = {
    "search": "everything",
    "memory": "memory",
    "docs": "docs",
    "tools": "tools",
    "flows": "flows",
    "status": "everything",
    "reindex": "everything",
    "store": "store",
    "demo": "demo",
    "bench": "bench",
}


class LazyGroup(click.Group):
    """Imports a command's module when the command is used, or listed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order a newcomer needs them."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name."""
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module(f"recollect.adapters.cli.{_COMMANDS[cmd_name]}")
        found: click.Command = getattr(module, cmd_name)
        return found


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="recollect")
@common_options
def cli(**given: Any) -> None:
    """Find what an AI agent can use, with scores that say why.

    \b
    Try it:
      recollect demo
      recollect memory add "Staging deploys need the VPN" --project shop
      recollect docs add ~/notes
      recollect tools import
      recollect flows record https://shop.test --goal "Buy a kettle"
      recollect search "how do I deploy to staging?"
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    context = click.get_current_context()
    context.color = _COLOR
    context.obj = Session(**{name: value for name, value in given.items() if value})


def main() -> None:
    """Run the command line; every failure is one sentence on stderr and the right exit code."""
    logging.basicConfig(format="%(levelname)s %(message)s", stream=sys.stderr)
    try:
        cli(prog_name="recollect", standalone_mode=False)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except RecollectError as error:
        _fail(str(error), error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("Interrupted.", err=True)
        sys.exit(EXIT_INTERRUPTED)
    except BrokenPipeError:
        # The reader has gone; Python must not complain about it once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(EXIT_PIPE_CLOSED)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        _fail(f"{where}{error.strerror or error}.", EXIT_IO)


def _fail(message: str, code: int) -> None:
    click.echo(f"{click.style('Error:', fg='red', bold=True)} {message}", err=True, color=_COLOR)
    sys.exit(code)
