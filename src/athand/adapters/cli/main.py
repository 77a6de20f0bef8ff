"""The `athand` command: its groups, its errors, its exit codes."""

import atexit
import gc
import importlib
import itertools
import json
import logging
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from athand import __version__
from athand.adapters.cli.plain_writer import make_writable
from athand.adapters.cli.session import Session, common_options, start_session
from athand.adapters.cli.words import echo, escape_controls
from athand.errors import AthandError

if TYPE_CHECKING:
    from athand.corpus import AnyCorpus

EXIT_IO = 74
EXIT_INTERRUPTED = 130
_MANY_OBJECTS = 50_000

_COLOR = False if os.environ.get("NO_COLOR") else None  # None: as the terminal can
# By section and name: the module, and the short help, so that the list imports no module.
_SECTIONS = {
    "Find": {
        "search": ("everything", "Search memories, documents, tools and flows with one question."),
        "memory": ("memory", "Keep and find what should be remembered."),
        "history": ("history", "Find what was said and done in past sessions with agents."),
        "docs": ("docs", "Index folders of files, find passages in them, read them."),
        "tools": ("tools", "Find, check and call the tools of MCP servers."),
        "flows": ("flows", "Record sessions in a browser, search and replay them, and predict the next action."),
    },
    "Serve": {
        "serve": (
            "serve",
            "Serve everything over HTTP: a web page, MCP at /mcp, REST at /v1, and its description at /docs.",
        ),
        "open": ("page", "Open the web page in your browser."),
        "mcp": ("serve", "Serve MCP on standard input and output, for a client that starts it."),
        "token": ("token", "Create and revoke tokens for the server."),
        "install": ("install", "Add Athand to an MCP client."),
        "uninstall": ("install", "Remove Athand from an MCP client."),
        "hook": ("hook", "Answer a hook of an agent's client; `athand install` sets them up."),
    },
    "Look after": {
        "status": ("everything", "Show what the store holds and every problem."),
        "doctor": ("doctor", "Check every part of Athand, and say which command helps."),
        "config": ("config", "Show and change settings."),
        "models": ("models", "Show, choose and download embedding models."),
        "reindex": ("everything", "Rebuild every index from what is stored; nothing stored is changed."),
        "export": ("store", "Write all your data to one file."),
        "import": ("store", "Read an exported file into this store."),
        "backup": ("store", "Copy the store to a file while it is in use."),
        "restore": ("store", "Put a backup in the place of the store."),
        "store": ("store", "Create a store, copy it to another engine, or distribute it over machines."),
    },
    "Try": {
        "demo": ("demo", "Try Athand in a minute, on a store of its own."),
        "bench": ("bench", "Measure the search."),
        "completion": ("completion", "Let the shell complete commands and options."),
    },
}
_COMMANDS = {name: about for section in _SECTIONS.values() for name, about in section.items()}


class LazyGroup(click.Group):
    """Imports a command's module when the command is used; its help lists the commands in sections."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order a newcomer needs them, then corpora of one's own."""
        return [*_COMMANDS, *_own_corpora(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name."""
        if cmd_name not in _COMMANDS:
            corpus = _own_corpora(ctx).get(cmd_name)
            return None if corpus is None else _make_corpus_group(corpus)
        module = importlib.import_module(f"athand.adapters.cli.{_COMMANDS[cmd_name][0]}")
        found: click.Command = getattr(module, f"{cmd_name}_" if cmd_name in ("import", "open") else cmd_name)
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command of that name; the error for an unknown name suggests the closest one."""
        known = self.list_commands(ctx)
        if args[0] not in known:
            from difflib import get_close_matches

            if close := get_close_matches(args[0], known, 1):
                ctx.fail(f"No such command {args[0]!r}. Did you mean {close[0]!r}?")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write one list per section, their second columns in line."""
        width = max(map(len, _COMMANDS))
        for heading, commands in _SECTIONS.items():
            with formatter.section(heading):
                formatter.write_dl([(f"{name:<{width}}", about[1]) for name, about in commands.items()])
        if own := _own_corpora(ctx):
            with formatter.section("Corpora of your own"):
                formatter.write_dl([(f"{name:<{width}}", f"Search {name}.") for name in own])


def _own_corpora(context: click.Context) -> "dict[str, type[AnyCorpus]]":
    session = context.find_object(Session)
    return {each.name: each for each in session.corpora} if session else {}


def _make_corpus_group(corpus: "type[AnyCorpus]") -> click.Group:
    from athand.adapters.cli.everything import make_corpus_search

    group = click.Group(corpus.name, help=f"Search {corpus.name}.")
    make_corpus_search(group, corpus)
    return group


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="athand")
@common_options
def cli(**given: Any) -> None:
    """Find what an AI agent can use, with scores that say why.

    \b
    Try it:
      athand demo
      athand memory add "Staging deploys need the VPN" --project shop
      athand docs add ~/notes
      athand tools import
      athand flows record https://shop.test --goal "Buy a kettle"
      athand search "how do I deploy to staging?"
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    context = click.get_current_context()
    context.color = _COLOR
    context.obj = start_session(context, **given)


def main() -> None:
    """Run the command line; every failure is one sentence on stderr and the right exit code."""
    _collect_garbage_rarely()
    _open_closed_streams()
    sys.stdout, sys.stderr = make_writable(sys.stdout), make_writable(sys.stderr)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_TerminalFormatter("%(levelname)s %(message)s"))
    logging.basicConfig(handlers=[handler])
    try:
        cli(prog_name="athand", standalone_mode=False)
    except click.ClickException as error:
        if not _wants_json():
            error.show()
            sys.exit(error.exit_code)
        _fail(error, error.format_message(), error.exit_code)
    except AthandError as error:
        _fail(error, _with_quote(error), error.exit_code)
    except (click.Abort, KeyboardInterrupt) as error:
        if not _wants_json():
            echo("Interrupted.", err=True)
            sys.exit(EXIT_INTERRUPTED)
        _fail(error, "Interrupted.", EXIT_INTERRUPTED)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        _fail(error, f"{where}{error.strerror or error}.", EXIT_IO)


def _collect_garbage_rarely() -> None:
    """Save a fifth of a short command: imports make many objects, which need no search for garbage, also at the end."""
    gc.set_threshold(_MANY_OBJECTS)
    atexit.register(gc.freeze)


class _TerminalFormatter(logging.Formatter):
    """Log records in which nothing steers the terminal."""

    def format(self, record: logging.LogRecord) -> str:
        """The line of a record."""
        return escape_controls(super().format(record))


def _open_closed_streams() -> None:
    """Open the null device in place of a standard stream that is closed, so that printing does not fail."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("r+"))  # noqa: SIM115 - open as long as the process runs


def _with_quote(error: AthandError) -> str:
    """The message, and below it what another program said, which only the owner reads: whoever is at this terminal."""
    if not error.quote:
        return str(error)
    from athand.adapters.cli.render_tools import escape_lines

    return f"{error}\n{escape_lines(error.quote)}"


def _wants_json() -> bool:
    """Whether --json was given: also where the arguments could not be read, so that no session knows it."""
    return "--json" in itertools.takewhile(lambda word: word != "--", sys.argv[1:])


def _fail(error: BaseException, message: str, code: int) -> None:
    """Print the error to standard error, for people or as JSON, and exit."""
    if _wants_json():
        details = {"type": type(error).__name__, "message": message, "exit_code": code}
        of_program = getattr(error, "code", None)
        echo(json.dumps({"error": details | ({"code": of_program} if of_program else {})}), err=True)
        sys.exit(code)
    echo(f"{click.style('Error:', fg='red', bold=True)} {message}", err=True, color=_COLOR)
    sys.exit(code)
