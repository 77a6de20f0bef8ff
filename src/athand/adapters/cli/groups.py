"""A group whose help is a table of contents instead of an alphabet."""

from collections.abc import Mapping
from typing import Any

import click


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
