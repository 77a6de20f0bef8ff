"""`athand config`: the settings, where each comes from, and how to change them."""

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from athand.adapters.cli.session import Session, command, common_options, start_session
from athand.adapters.cli.words import HIDDEN, echo, hide_password
from athand.errors import BadData

_SECRETS = ("embeddings_key",)


@click.group("config", invoke_without_command=True)
@common_options
def config(**given: Any) -> None:
    """Show and change settings.

    A variable ATHAND_NAME wins over the configuration file, the file over the default.

    \b
    Settings:
      store              the store to open: a file, or a postgresql:// address
      data_dir           the folder of the store, models and tokens
      home               one folder for data, configuration and your own servers
      model              the embedding model; athand models lists them
      device             where a model runs: auto, cpu or gpu
      no_cache           embed every text again instead of taking vectors from the cache
      embeddings_url     the endpoint of models that are named openai:…
      embeddings_key     its key
      search_limit       maximum number of results of a search for tools
      search_threshold   minimum score of these results, from 0 to 1
      search_alpha       weight of meaning against words in these searches
      tool_policy        new tools: first, quarantine or accept
      unannotated_tools  an agent calls a tool that does not say what it does: ask, allow or deny
      documents_redact   secrets in documents: values, blocks (private keys alone) or off
      chromium           the browser's executable; default: found by itself
      flow_window_hours  maximum age of the sessions that predictions use
      history            whether transcripts of past sessions with agents are read
      hook_seconds       time after which a hook of an agent's client ends in silence
      extensions         folders of browser extensions that agents may load, separated by :

    \b
    Examples:
      athand config
      athand config set model all-MiniLM-L6-v2
      athand config path
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    context = click.get_current_context()
    context.obj = start_session(context, **given)
    if context.invoked_subcommand is None:
        context.invoke(show)


def _complete_name(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    from athand.config import setting_names

    return [name for name in setting_names() if name.startswith(typed)]


_name = click.argument("name", shell_complete=_complete_name)


@command(config, "show")
def show(session: Session, /) -> None:
    """Show every setting and where it comes from."""
    from athand.config import config_file, explain_settings

    found = explain_settings(data_dir=session.data_dir)
    if session.as_json:
        session.show(
            {name: {"value": _hide_secret(name, value), "from": origin} for name, (value, origin) in found.items()}
        )
        return
    if session.quiet:
        for name, (value, _) in found.items():
            echo(f"{name}={_format_value(name, value)}")
        return
    _print_table(session, found)
    session.say(f" The file is {config_file()}")
    session.say(" Change a setting with: athand config set NAME VALUE  What they mean: athand config --help")


def _print_table(session: Session, found: dict[str, tuple[Any, str]]) -> None:
    from athand.adapters.cli.render import make_cell, make_table, print_table

    table = make_table("setting", "value", "from", flexible="value")
    for name, (value, origin) in found.items():
        table.add_row(
            name, make_cell(_format_value(name, value), "bold" if origin != "default" else ""), make_cell(origin, "dim")
        )
    print_table(session.console(), table)


@command(config, "get")
@_name
def get(session: Session, /, name: str) -> None:
    """Print one setting."""
    from athand.config import check_setting_name, explain_settings

    found = explain_settings(data_dir=session.data_dir)
    check_setting_name(name)
    value, origin = found[name]
    if session.as_json:
        session.show({"name": name, "value": _hide_secret(name, value), "from": origin})
    else:
        echo(_format_value(name, value))


@command(config, "set")
@_name
@click.argument("value")
def set_(session: Session, /, name: str, value: str) -> None:
    """Write a setting into the configuration file.

    The rest of the file, with its comments, stays as it is.

    \b
    Examples:
      athand config set model all-MiniLM-L6-v2
      athand config set search_limit 5
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    from athand.adapters.editing import toml
    from athand.config import check_setting

    wanted = check_setting(name, value)
    file = change_file(lambda text: toml.put_key(text, name, wanted), {name: wanted})
    _report_setting(session, name, file, f"Set {name} to {_format_value(name, wanted)} in {file}")


@command(config, "unset")
@_name
def unset(session: Session, /, name: str) -> None:
    """Take a setting out of the configuration file.

    From then on it has its default value.

    \b
    Example:
      athand config unset model
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    from athand.adapters.editing import toml
    from athand.config import check_setting_name

    check_setting_name(name)
    file = change_file(lambda text: toml.remove_key(text, name), {name: None})
    _report_setting(session, name, file, f"{name} is not in {file} any more")


@command(config, "path")
def path(session: Session, /) -> None:
    """Print where the configuration file is, or would be."""
    from athand.config import config_file

    if session.as_json:
        session.show({"path": str(config_file()), "exists": config_file().is_file()})
    else:
        echo(str(config_file()))


def _report_setting(session: Session, name: str, file: Path, text: str) -> None:
    """Print what was written, and whether a variable overrides it."""
    from athand.config import explain_settings

    value, origin = explain_settings(data_dir=session.data_dir)[name]
    if session.as_json:
        session.show({"name": name, "value": _hide_secret(name, value), "from": origin, "file": str(file)})
        return
    session.say(text)
    if origin not in ("file", "default"):
        session.say(f" {origin} is set and wins over the file.")


def change_file(edit: Callable[[str], str], wanted: dict[str, Any]) -> Path:
    """Change settings in the configuration file, if nothing else in it changes; returns its path."""
    from athand.adapters.editing.files import replace_file, resolve_file
    from athand.config import config_file, load_settings
    from athand.files import PRIVATE

    load_settings()  # fails for a broken file, which must not be changed
    file = config_file()
    place = resolve_file(file)
    old = place.read_bytes() if place.exists() else None
    text = (old or b"").decode("utf-8")
    new = edit(text)
    expected = {**tomllib.loads(text), **wanted}
    if tomllib.loads(new) != {name: value for name, value in expected.items() if value is not None}:
        raise BadData(f"{file} is written in a way that cannot be changed without loss. Change it by hand.")
    if new != text:
        replace_file(place, new.encode(), instead_of=old, mode=PRIVATE)
    return file


def _hide_secret(name: str, value: Any) -> Any:
    """A value with secrets hidden."""
    if name in _SECRETS and value:
        return HIDDEN
    return hide_password(value) if isinstance(value, str) else value


def _format_value(name: str, value: Any) -> str:
    shown = _hide_secret(name, value)
    return "" if shown is None else str(shown).lower() if isinstance(shown, bool) else str(shown)
