"""Options that several commands share, and the words they accept."""

from collections.abc import Callable, Mapping
from typing import Any

import click

from athand.adapters.cli.session import Command

# Written out, because importing them would load the engine for `--help`; a test compares them with the engine's.
SECTORS = ("episodic", "semantic", "procedural", "emotional", "reflective")
TIERS = ("session", "project", "global")
MEMORY_TYPES = ("preference", "codebase", "decision", "gotcha", "pattern", "turn_summary", "task_completion")
WRITERS = ("user", "agent", "import")
MODES = ("hybrid", "semantic", "keyword")
FORMATS = ("athand", "mcp", "markdown")
RELATIONS = (
    "SUPERSEDES",
    "CONTRADICTS",
    "RELATED_TO",
    "BUILDS_ON",
    "CONFIRMS",
    "APPLIES_TO",
    "DEPENDS_ON",
    "ALTERNATIVE_TO",
)

memory_id = click.argument("id", metavar="ID")
project = click.option("--project", metavar="NAME", help="Of this project only.")
own_project = click.option("--project", metavar="NAME", default="default", show_default=True, help="Where it belongs.")
session = click.option("--session", metavar="ID", help="Your session: what you use is linked with it.")
said_by = click.option("--by", metavar="WHO", default="user", show_default=True, help="Who says so.")

folder_id = click.argument("folder_id", metavar="FOLDER")
document_id = click.argument("document_id", metavar="DOCUMENT")
folders = click.option("--folder", "folders", metavar="ID", multiple=True, help="In this folder only; may be repeated.")
path = click.option("--path", metavar="PATTERN", help='Only documents whose path fits, such as "*.md" or "src/**".')
token = click.option("--token", "continuation_token", metavar="T", help="Go on behind the page that gave this token.")


def among(*names: str) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """Lets a shell complete names that an option also takes otherwise."""
    return lambda context, parameter, begun: [name for name in names if name.startswith(begun)]


def described(command: Command) -> Command:
    """Add the options that say what a memory is; `add` and `update` take them."""
    return _several(
        command,
        click.option("--summary", metavar="TEXT", help="A short form, for lists and briefs."),
        click.option("--context", metavar="TEXT", help="What it is about, searched beside the text."),
        click.option("--author", metavar="WHO", help="Who said it."),
        click.option("--type", "memory_type", type=click.Choice(MEMORY_TYPES), help="What it is; the sector follows."),
        click.option("--sector", type=click.Choice(SECTORS), help="What kind of remembering; else by type or words."),
        click.option("--tier", type=click.Choice(TIERS), help="Where it shows; in its project, if not given."),
        click.option("--importance", type=float, help="How slowly it fades, 0 to 1; 0.5, if not given."),
        click.option("--tag", "tags", metavar="WORD", multiple=True, help="A word to find it by; may be repeated."),
        click.option("--concept", "concepts", metavar="NAME", multiple=True, help="What it names; may be repeated."),
        click.option("--file", "files", metavar="PATH", multiple=True, help="A file it is about; may be repeated."),
        click.option("--valid-until", metavar="TIME", help="When it stops being true (ISO 8601)."),
    )


def searched(command: Command) -> Command:
    """Add the filters that every choice of memories knows; `search`, `list` and `forget` take them."""
    return _several(
        command,
        project,
        click.option("--sector", type=click.Choice(SECTORS), help="Of this sector only."),
        click.option("--tier", type=click.Choice(TIERS), help="Of this tier only."),
        click.option("--type", "memory_type", type=click.Choice(MEMORY_TYPES), help="Of this type only."),
        click.option("--tag", "tags", metavar="WORD", multiple=True, help="With this tag; repeated, with all of them."),
        click.option("--in-session", metavar="ID", help="Only what this session has made or used."),
        click.option("--min-salience", type=float, help="Only what matters at least so much now (0 to 1)."),
    )


def selected(command: Command) -> Command:
    """Add every filter; `list` and `forget` take them."""
    more = _several(
        command,
        click.option("--max-salience", type=float, help="Only what matters at most so much now (0 to 1)."),
        click.option("--author", metavar="WHO", help="Said by this one only."),
        click.option("--written-by", type=click.Choice(WRITERS), help="Written by a user, an agent, an import."),
        click.option("--since", metavar="TIME", help="Created then or later (ISO 8601)."),
        click.option("--until", metavar="TIME", help="Created before then (ISO 8601)."),
        click.option("--pinned/--not-pinned", default=None, help="Only pinned ones, or none of them."),
        click.option("--superseded/--current", default=None, help="Only what holds no more, or only what holds."),
    )
    return searched(more)


def given(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options somebody has said something with."""
    return {name: value for name, value in options.items() if value is not None and value != ()}


def _several(command: Command, *options: Any) -> Command:
    for option in reversed(options):
        command = option(command)
    return command
