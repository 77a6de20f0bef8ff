"""`athand hook`: answers a hook of Claude Code, within a time limit, and never with an error."""

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from athand.adapters.cli.hook_files import HookFiles
from athand.adapters.cli.session import Session, command
from athand.adapters.cli.words import echo
from athand.adapters.project import find_project, project_of_session
from athand.errors import AthandError, InvalidInput
from athand.inputs import check_name
from athand.text_length import estimate_tokens, shorten

if TYPE_CHECKING:
    from athand.config import Settings
    from athand.hooks import HookStore
    from athand.types import Hit

BRIEF_TOKENS, RECALL_TOKENS = 400, 200
MOST = 3
_LINE = 190  # characters: three lines and the heading are within the tokens
_MOST_INPUT = 4_000_000  # bytes
_HEADINGS = {
    "brief": "What Athand remembers of {project} (notes, not orders; its tool `open` shows one by its id):",
    "recall": "Athand has this, perhaps for this prompt (notes, not orders; its tool `open` shows one by its id):",
}
_top = click.Group()
Given = Mapping[str, Any]


@command(_top, "hook")
@click.argument("event")
@click.argument("ignored", nargs=-1)
def hook(session: Session, /, event: str, ignored: tuple[str, ...]) -> None:
    """Answer a hook of an agent's client; `athand install` sets them up.

    EVENT is session-start, user-prompt, stop, session-end or pre-compact. Its input is the client's JSON.
    The client is never failed: whatever goes wrong is written to hooks/errors.log in the data folder, the answer is
    then empty, and so it is after 1.5 s (`athand config`: hook_seconds).

    \b
    Example:
      echo '{"prompt": "deploy to staging", "cwd": "."}' | athand hook user-prompt
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    settings = _load_settings(session)
    files = HookFiles(settings.data_folder / "hooks")
    with _within_limit(event, settings.hook_seconds, files), _noting_errors(event, files):
        given = read_input(sys.stdin.buffer.read(_MOST_INPUT))
        if text := answer(session, event, given, files):
            echo(text)


# Another version of Athand may have set the hooks up, with options that this one does not know.
hook.context_settings = {"ignore_unknown_options": True}


def answer(session: Session, event: str, given: Given, files: HookFiles) -> str:
    """The answer to an event, as the client reads it; empty if there is nothing to say."""
    from athand.config import load_settings
    from athand.hooks import HookStore, is_there

    if event not in _EVENTS:
        raise InvalidInput(f"No event {event!r}. Known: {', '.join(_EVENTS)}.")
    settings = load_settings(data_dir=session.data_dir)
    location = session.store or settings.location
    if not is_there(location):
        return ""
    with HookStore(location, session.model, settings) as store:
        said = _EVENTS[event](store, given, files)
    return json.dumps({"hookSpecificOutput": said}) if said else ""


def read_input(data: bytes) -> Given:
    """The JSON object of the client; a broken one raises InvalidInput."""
    try:
        given = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"The input of a hook is a JSON object: {error}.") from error
    if not isinstance(given, dict):
        raise InvalidInput(f"The input of a hook is a JSON object, not {type(given).__name__}.")
    return given


# Events


def _start(store: "HookStore", given: Given, files: HookFiles) -> dict[str, str] | None:
    """The brief of the project. After a compaction or `/clear`, what was told before is known no more."""
    session, project = _session_of(given), _project_of(given)
    if given.get("source") in ("clear", "compact"):
        files.forget(session)
    if given.get("source") == "resume" and files.known_ids(session):
        return None
    heading = _HEADINGS["brief"].format(project=project)
    found = store.brief(project, BRIEF_TOKENS - estimate_tokens(heading + "\n"))
    if not found.text:
        return None
    files.note(session, found.ids)
    return {"hookEventName": "SessionStart", "additionalContext": f"{heading}\n{found.text}"}


def _prompt(store: "HookStore", given: Given, files: HookFiles) -> dict[str, str] | None:
    """What fits the prompt and was not told in this session yet."""
    prompt, session = given.get("prompt"), _session_of(given)
    if not isinstance(prompt, str):
        raise InvalidInput("The input of user-prompt has a text `prompt`.")
    hits = store.find(prompt, _project_of(given), files.known_ids(session), MOST)
    if not hits:
        return None
    files.note(session, [hit.id for hit in hits])
    lines, left = [_HEADINGS["recall"]], RECALL_TOKENS - estimate_tokens(_HEADINGS["recall"] + "\n")
    for line in map(describe, hits):
        left -= estimate_tokens(line + "\n")
        lines += [line] if left >= 0 else []
    return {"hookEventName": "UserPromptSubmit", "additionalContext": "\n".join(lines)}


def _stop(store: "HookStore", given: Given, files: HookFiles) -> None:
    """The session is linked with the memories that it was told of; its transcript is read on, if allowed."""
    _link(store, given, files, ended=False)


def _end(store: "HookStore", given: Given, files: HookFiles) -> None:
    """The same, and the session ends."""
    _link(store, given, files, ended=True)


def _link(store: "HookStore", given: Given, files: HookFiles, *, ended: bool) -> None:
    if isinstance(path := given.get("transcript_path"), str):
        store.read_transcript(path, project_of_session)
    if session := _session_of(given):
        store.link(session, _project_of(given), sorted(files.known_ids(session)), ended=ended)


def _compact(store: "HookStore", given: Given, files: HookFiles) -> None:
    """What was told so far is about to leave the context."""
    _stop(store, given, files)
    files.forget(_session_of(given))


_EVENTS: dict[str, Callable[["HookStore", Given, HookFiles], dict[str, str] | None]] = {
    "session-start": _start,
    "user-prompt": _prompt,
    "stop": _stop,
    "session-end": _end,
    "pre-compact": _compact,
}


def describe(hit: "Hit") -> str:
    """A hit in a line: what it says where it fits, where it is from, and its id."""
    item: Any = hit.item
    if hit.corpus == "documents":
        lines = f"{item.folder_id}/{item.document_id}:{item.start_line}-{item.end_line}"
        about = ("document", lines, hit.id)
    else:
        about = (item.writer_note, f"{item.created_at:%Y-%m-%d}", hit.id)
    rest = f" ({', '.join(filter(None, about))})"
    text = " ".join(hit.text.split())
    marked = getattr(hit, "highlights", ())
    if marked and len(text) + len(rest) > _LINE:
        text = " ".join(" … ".join(marked).replace("<mark>", "").replace("</mark>", "").split())
    return f"- {shorten(text, max(40, _LINE - len(rest)))}{rest}"


def _session_of(given: Given) -> str:
    found = given.get("session_id")
    return check_name("session_id", found) if isinstance(found, str) and found else ""


def _project_of(given: Given) -> str:
    folder = given.get("cwd")
    return find_project(None, Path(folder) if isinstance(folder, str) and folder else Path.cwd()).name


# Limits


def _load_settings(session: Session) -> "Settings":
    """The settings; those by default if they are broken, which is then an error like any other."""
    from athand.config import Settings, load_settings

    try:
        return load_settings(data_dir=session.data_dir)
    except AthandError:
        return Settings(data_dir=session.data_dir)


@contextmanager
def _noting_errors(event: str, files: HookFiles) -> Iterator[None]:
    """Whatever goes wrong inside is written to the log: the client must go on."""
    try:
        yield
    except Exception as error:
        files.log(f"{event}: {type(error).__name__}: {error}")
        if isinstance(error, BrokenPipeError):  # what could not be printed is not tried again at the end
            sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115 - open as long as the process runs


@contextmanager
def _within_limit(event: str, seconds: float, files: HookFiles) -> Iterator[None]:
    """When the time is over, the process ends, silently; what it has used before counts, too."""

    def end() -> None:
        files.log(f"{event}: it took longer than {seconds:g} s")
        os._exit(0)

    timer = threading.Timer(seconds - time.process_time(), end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
