"""`athand completion`: a script that lets a shell complete commands, options and their values."""

import sys

import click

from athand.adapters.cli.session import Session, command
from athand.adapters.cli.words import echo_data

SHELLS = {
    "bash": '~/.bashrc:  eval "$(athand completion bash)"',
    "zsh": '~/.zshrc:  eval "$(athand completion zsh)"',
    "fish": "~/.config/fish/config.fish:  athand completion fish | source",
}
_top = click.Group()


@command(_top, "completion")
@click.argument("shell", type=click.Choice(tuple(SHELLS)))
def completion(session: Session, /, shell: str) -> None:
    """Let the shell complete commands and options.

    Prints a script for the shell to read.

    \b
    Add one of these lines to a file of your shell:
      eval "$(athand completion bash)"        in ~/.bashrc
      eval "$(athand completion zsh)"         in ~/.zshrc
      athand completion fish | source         in ~/.config/fish/config.fish
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    from click.shell_completion import get_completion_class

    from athand.adapters.cli.main import cli

    make_completion = get_completion_class(shell)
    if make_completion is None:
        raise click.UsageError(f"click has no completion for {shell}.")
    script = make_completion(cli, {}, "athand", "_ATHAND_COMPLETE").source()
    if session.as_json:
        session.show({"shell": shell, "script": script})
        return
    echo_data(script)
    if sys.stdout.isatty():  # not for a shell that reads the script
        session.say(f" To complete in every new shell, add this line to {SHELLS[shell]}")
