"""`athand models`: which embedding models there are, which is used, and how to get another."""

from typing import TYPE_CHECKING, Any

import click

from athand.adapters.cli.session import Session, command, common_options, start_session
from athand.adapters.cli.words import format_size
from athand.distribution import install_hint

if TYPE_CHECKING:
    from athand.config import ModelState


def _complete_model(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    from athand.config import list_models, load_settings

    return [each.name for each in list_models(load_settings()) if each.name.startswith(typed)]


_name = click.argument("name", shell_complete=_complete_model)


@click.group("models", invoke_without_command=True)
@common_options
def models(**given: Any) -> None:
    """Show, choose and download embedding models.

    \b
    Examples:
      athand models
      athand models download all-MiniLM-L6-v2
      athand models use all-MiniLM-L6-v2
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    context = click.get_current_context()
    context.obj = start_session(context, **given)
    if context.invoked_subcommand is None:
        context.invoke(list_)


@command(models, "list")
def list_(session: Session, /) -> None:
    """List the models, and which of them are on this machine."""
    from athand.config import list_models, load_settings

    settings = load_settings(data_dir=session.data_dir)
    found = list_models(settings, session.model)
    if not session.print_plain(found, data="name"):
        _print_models(session, found)
        session.say(" Choose one with:  athand models use NAME")
        if any(each.needs for each in found):
            session.say(f" What it needs:    {install_hint('onnx')}")


def _print_models(session: Session, found: "list[ModelState]") -> None:
    from athand.adapters.cli.render import make_cell, make_table, print_table

    table = make_table("", "model", "dimensions", "size", "calibrated", "state", flexible="state")
    for each in found:
        mark = make_cell("●", "green") if each.is_current else make_cell("")
        size = format_size(each.bytes) if each.bytes is not None else "—"
        calibrated = "yes" if each.is_calibrated else "on first use"
        table.add_row(
            mark, each.name, str(each.dimensions or "?"), size, calibrated, make_cell(_describe_state(each), "dim")
        )
    print_table(session.console(), table)


def _describe_state(model: "ModelState") -> str:
    if model.kind == "static":
        return "bundled"
    if model.needs:
        return f"needs {model.needs}"
    return "an endpoint" if model.kind == "endpoint" else "downloaded" if model.is_present else "to be downloaded"


@command(models, "use")
@_name
def use(session: Session, /, name: str) -> None:
    """Choose the model for this and every later search.

    It is written into your configuration file. What is stored is embedded again in the background, from the next
    search on; until that is done, searches go by keyword.

    \b
    Example:
      athand models use all-MiniLM-L6-v2
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    from athand.adapters.cli.config import change_file
    from athand.adapters.editing import toml
    from athand.config import list_models, load_settings

    list_models(load_settings(data_dir=session.data_dir), name)  # fails for an unknown name
    file = change_file(lambda text: toml.put_key(text, "model", name), {"model": name})
    settings = load_settings(data_dir=session.data_dir)
    if session.as_json:
        session.show({"model": settings.model, "file": str(file)})
        return
    session.say(f"Set model to {name} in {file}")
    if settings.model != name:
        session.say(" The variable ATHAND_MODEL is set and wins over the file.")
    session.say(
        " What is stored is embedded again from the next search on, in the background; or now, with: athand reindex"
    )


@command(models, "download")
@_name
def download(session: Session, /, name: str) -> None:
    """Download the files of a model, check them, and embed a text with it.

    \b
    Example:
      athand models download all-MiniLM-L6-v2
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    from athand.config import fetch_model, load_settings

    dimensions = fetch_model(load_settings(data_dir=session.data_dir), name)
    if session.as_json:
        session.show({"model": name, "dimensions": dimensions})
    else:
        session.say(f"{name} is downloaded and works: {dimensions} dimensions. Use it with: athand models use {name}")
