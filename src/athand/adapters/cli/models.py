"""`athand models`: which embedding models there are, which is used, and how to get another."""

from typing import TYPE_CHECKING, Any

import click

from athand.adapters.cli.options import complete_from
from athand.adapters.cli.session import Session, command, common_options, start_session
from athand.adapters.cli.words import format_size
from athand.distribution import install_hint

if TYPE_CHECKING:
    from athand.config import ModelState

# Written out, because importing them would load the engine for `--help`; a test compares them with the engine's.
MODELS = ("athand-static-1", "bge-small-en-v1.5", "all-MiniLM-L6-v2", "all-mpnet-base-v2")


_name = click.argument("name", shell_complete=complete_from(*MODELS))


@click.group("models", invoke_without_command=True)
@common_options
def models(**given: Any) -> None:
    """Show, choose and fetch embedding models.

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
    """List the models, and whether they are on this machine."""
    from athand.config import list_models, load_settings

    settings = load_settings(data_dir=session.data_dir)
    found = list_models(settings, session.model)
    if not session.print_plain(found, data="name"):
        _print(session, found)
        session.say(" Choose one with:  athand models use NAME")
        if any(each.needs for each in found):
            session.say(f" What it needs:    {install_hint('onnx')}")


def _print(session: Session, found: "list[ModelState]") -> None:
    from athand.adapters.cli.render import make_cell, make_table, print_table

    table = make_table("", "model", "dimensions", "size", "calibrated", "state", flexible="state")
    for each in found:
        mark = make_cell("●", "green") if each.is_current else make_cell("")
        size = format_size(each.bytes) if each.bytes is not None else "—"
        calibrated = "yes" if each.is_calibrated else "on first use"
        table.add_row(mark, each.name, str(each.dimensions or "?"), size, calibrated, make_cell(_state(each), "dim"))
    print_table(session.console(), table)


def _state(model: "ModelState") -> str:
    if model.kind == "static":
        return "bundled"
    if model.needs:
        return f"needs {model.needs}"
    return "an endpoint" if model.kind == "endpoint" else "here" if model.is_present else "to be fetched"


@command(models, "use")
@_name
def use(session: Session, /, name: str) -> None:
    """Choose the model for this and every later search.

    It is written into your configuration. The vectors of what is stored are made anew in the background, with the
    next search; until then searches go by keyword.

    \b
    Example:
      athand models use all-MiniLM-L6-v2
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    from athand.adapters.cli.config import change
    from athand.adapters.editing import toml
    from athand.config import list_models, load_settings

    list_models(load_settings(data_dir=session.data_dir), name)  # refuses what is no model
    file = change(lambda text: toml.put_key(text, "model", name), {"model": name})
    settings = load_settings(data_dir=session.data_dir)
    if session.as_json:
        session.show({"model": settings.model, "file": str(file)})
        return
    session.say(f"Set model to {name} in {file}")
    if settings.model != name:
        session.say(" The variable ATHAND_MODEL is set and wins over the file.")
    session.say(" Vectors are made anew with the next search, in the background; or now, with: athand reindex")


@command(models, "download")
@_name
def download(session: Session, /, name: str) -> None:
    """Fetch the files of a model, check them, and try it once.

    \b
    Example:
      athand models download all-MiniLM-L6-v2
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    from athand.config import fetch_model, load_settings

    dimensions = fetch_model(load_settings(data_dir=session.data_dir), name)
    if session.as_json:
        session.show({"model": name, "dimensions": dimensions})
    else:
        session.say(f"{name} is here and works: {dimensions} dimensions. Use it with: athand models use {name}")
