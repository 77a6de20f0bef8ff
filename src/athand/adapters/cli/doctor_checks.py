"""The checks of `athand doctor`: the state of each part of Athand, and the command that helps."""

import os
import platform
import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from athand import __version__
from athand.adapters.cli.words import format_size, pluralize, to_one_line
from athand.errors import AthandError, DataError, Unavailable
from athand.types import Noun

if TYPE_CHECKING:
    from athand.adapters.cli.session import Session
    from athand.app import Athand
    from athand.config import Settings
    from athand.types import Status

OK, WARNING, BROKEN, DAMAGED = "ok", "warning", "broken", "damaged"
NOTHING_IN_IT = "empty"  # as the readers of files say
LONG_LOG = 100_000_000  # bytes
_LOW_DISK, _FULL_DISK = 1_000_000_000, 50_000_000  # free bytes
_ANSWER_SECONDS = 10.0
_FIX = "athand doctor --fix"
REINDEX = "run: athand reindex"  # the end of the store's findings about derived data
_UNFINISHED = re.compile(r"\..+\.unfinished-(\d+)(-|$)")
_TOKEN_FILES = ("token", "tokens.json", "sessions.json")
_OTHERS = 0o077


@dataclass(frozen=True, slots=True)
class Check(Noun):
    """The state of a part (ok, warning, broken or damaged) in one line, with a command that helps."""

    name: str
    state: str
    text: str
    advice: str | None = None


def run_checks(session: "Session") -> list[Check]:
    """Check every part; without readable settings or store, the parts that do not need them."""
    from athand.config import config_file, load_settings

    try:
        settings = load_settings(data_dir=session.data_dir)
    except AthandError as error:
        return [_check_program(), Check("settings", BROKEN, str(error), "athand config path")]
    file = config_file()
    checks = [_check_program(), Check("settings", OK, f"{file}{'' if file.is_file() else ' (none yet)'}")]
    try:
        with session.open() as athand:
            checks += _check_store_parts(athand, session, settings)
    except AthandError as error:
        checks.append(Check("store", DAMAGED if isinstance(error, DataError) else BROKEN, str(error), _advise(error)))
    return [*checks, _check_logins(settings), _check_files(session, settings), _check_clients(), _check_disk(settings)]


def _advise(error: AthandError) -> str:
    return "athand restore BACKUP" if isinstance(error, DataError) else "athand config"


def _check_program() -> Check:
    return Check("program", OK, f"athand {__version__} · Python {platform.python_version()}")


def _check_store_parts(athand: "Athand", session: "Session", settings: "Settings") -> Iterator[Check]:
    """The checks that need an open store."""
    status = athand.status()
    parts: tuple[tuple[str, Callable[[], Check]], ...] = (
        ("store", lambda: _check_store(athand, status)),
        ("model", lambda: _check_model(athand, session, settings, status)),
        ("memories", lambda: _check_memories(status)),
        ("documents", lambda: _check_documents(athand, status)),
        ("tools", lambda: _check_tools(athand, session)),
        ("flows", lambda: _check_flows(settings, status)),
    )
    for name, check in parts:
        try:
            yield check()
        except AthandError as error:
            yield Check(name, BROKEN, to_one_line(str(error)), "athand status --check")


def _check_store(athand: "Athand", status: "Status") -> Check:
    store, findings = status.store, athand.check()
    engine = f"{'SQLite' if store['engine'] == 'sqlite' else 'PostgreSQL'} {store['version']}"
    log = f"WAL {format_size(store['log'])}" if store["engine"] == "sqlite" else ""
    pieces = [store["location"], format_size(store["bytes"]), "" if findings else "integrity ok", log, engine]
    text = " · ".join(filter(None, [*pieces, f"schema {store['schema']}"]))
    if findings:
        derived = all(finding.endswith(REINDEX) for finding in findings)
        more = f" (and {len(findings) - 1} more)" if len(findings) > 1 else ""
        found = f"{text} · {to_one_line(findings[0].removesuffix(f'; {REINDEX}'))}{more}"
        return Check("store", DAMAGED, found, _FIX if derived else "athand restore BACKUP")
    if store["log"] > LONG_LOG:
        return Check("store", WARNING, text, _FIX)
    return Check("store", OK, text)


def _check_model(athand: "Athand", session: "Session", settings: "Settings", status: "Status") -> Check:
    from athand.config import list_models

    name = str(status.model["name"])
    state = next(each for each in list_models(settings, session.model) if each.is_current)
    if not status.model["working"]:
        problem = next((each for each in status.problems if "keyword only" in each), "it does not work")
        return Check("model", WARNING, f"{name} · {to_one_line(problem)}", "athand models")
    pieces = [f"{name} (bundled)" if state.kind == "static" else name, f"{status.model['dimensions']} dimensions"]
    pieces.append("calibrated" if state.is_calibrated else "calibrated when it is first used")
    missing = {corpus: count for corpus, count in athand.without_vectors().items() if count}
    if missing:
        lacking = ", ".join(f"{count:,} of {corpus}" for corpus, count in missing.items())
        return Check("model", WARNING, " · ".join([*pieces, f"passages without a vector yet: {lacking}"]), _FIX)
    return Check("model", OK, " · ".join(pieces))


def _check_memories(status: "Status") -> Check:
    memories = status.corpora["memories"]
    text = f"{pluralize(memories['count'], 'memory', 'memories')} in {pluralize(memories['projects'], 'project')}"
    return Check("memories", OK, text)


def _check_documents(athand: "Athand", status: "Status") -> Check:
    documents: dict[str, Any] = status.corpora["documents"]
    folders = documents["folders"]
    pieces = [f"{pluralize(documents['count'], 'file')} in {pluralize(len(folders), 'folder')}"]
    bad = [f"{each['folder_id']} is {each['state']}: {each['reason']}" for each in folders if each["reason"]]
    # A file with nothing in it, such as many an __init__.py, is no problem.
    unread = sum(each.reason != NOTHING_IN_IT for each in athand.documents.problems())
    pieces += [to_one_line(bad[0])] if bad else []
    pieces += [f"{pluralize(unread, 'file')} could not be read"] if unread else []
    if bad:
        return Check("documents", WARNING, " · ".join(pieces), "athand docs status")
    return Check("documents", OK, " · ".join(pieces), "athand docs status --problems" if unread else None)


def _check_tools(athand: "Athand", session: "Session") -> Check:
    """Connect to every trusted and enabled server."""
    from athand.adapters.cli.tools_catalogues import FAILED, Catalogues, servers_file

    tools = athand.tools
    catalogues = Catalogues(tools, tools.load_all(user=servers_file(session), folder=Path.cwd()))
    tools.connect([(each.catalogue, each.name) for each in catalogues.select_servers(())])
    tools.wait(_ANSWER_SECONDS)
    servers = catalogues.list_servers()
    text = f"{pluralize(sum(each.tools for each in servers), 'tool')} of {pluralize(len(servers), 'server')}"
    silent = [each for each in servers if each.state in FAILED or each.state == "connecting"]
    waiting = sum(each.waiting for each in servers)
    if silent:
        reason = to_one_line(silent[0].reason or "no answer yet")
        more = f" (and {len(silent) - 1} more)" if len(silent) > 1 else ""
        problem = f"{text} · server “{to_one_line(silent[0].name)}” does not answer{more}: {reason}"
        return Check("tools", WARNING, problem, f"athand tools refresh {shlex.quote(silent[0].name)}")
    partial = [each for each in servers if each.state == "connected" and each.reason]
    if partial:
        reason = to_one_line(partial[0].reason or "")
        return Check(
            "tools", WARNING, f"{text} · server “{to_one_line(partial[0].name)}”: {reason}", "athand tools servers"
        )
    untrusted = [each for each in servers if each.state == "untrusted"]
    if waiting or untrusted:
        reason = (
            f"{pluralize(waiting, 'tool waits', 'tools wait')} for approval" if waiting else "a project is not trusted"
        )
        return Check("tools", WARNING, f"{text} · {reason}", "athand tools list" if waiting else "athand tools trust")
    return Check("tools", OK, text)


def _check_flows(settings: "Settings", status: "Status") -> Check:
    count = int(status.corpora["flows"]["count"])
    text = pluralize(count, "session")
    if find_spec("playwright") is None:
        from athand.distribution import install_hint

        text += " · no Playwright to record and replay with"
        return Check("flows", WARNING if count else OK, text, install_hint("browser"))
    try:
        return Check("flows", OK, f"{text} · browser {_find_browser(settings.chromium)}")
    except AthandError:
        text += " · no browser to record and replay with"
        return Check("flows", WARNING if count else OK, text, "athand flows setup-browser")


def _find_browser(configured: str | None) -> str:
    """The browser that flows would use; Playwright is asked only where the machine has none."""
    from athand.flows.browser.chromium import find_executable, find_launch_executable

    try:
        return find_executable(configured, None)
    except Unavailable:
        return find_launch_executable(configured)


def _check_logins(settings: "Settings") -> Check:
    """Where the logins to tool servers are kept."""
    from athand.distribution import install_hint
    from athand.tools.oauth.keyring import find_keyring

    keyring = find_keyring()
    if keyring is not None:
        return Check("logins", OK, f"kept in the keyring of the system ({to_one_line(keyring.name)})")
    missing = "no keyring runs here" if find_spec("keyring") else f"for a keyring: {install_hint('keyring')}"
    return Check("logins", OK, f"kept in private files in {settings.data_folder / 'logins'} · {missing}")


def _check_files(session: "Session", settings: "Settings") -> Check:
    """Whether private files are private, and no unfinished file is left."""
    readable, leftovers = find_readable_by_others(session, settings), find_leftovers(session, settings)
    if readable:
        names = ", ".join(str(path) for path in readable[:3])
        return Check("files", WARNING, f"other users of this machine can read {names}", _FIX)
    if leftovers:
        return Check("files", WARNING, f"{pluralize(len(leftovers), 'unfinished file')} of a process that died", _FIX)
    return Check("files", OK, "private")


def find_readable_by_others(session: "Session", settings: "Settings") -> list[Path]:
    """Private files and folders that other users of the machine can read."""
    return [path for path in _list_private_files(session, settings) if path.stat().st_mode & _OTHERS]


def find_leftovers(session: "Session", settings: "Settings") -> list[Path]:
    """Unfinished files of processes that died."""
    folders = {settings.data_folder, _store_file(session, settings).parent}
    found = [file for folder in folders if folder.is_dir() for file in folder.iterdir()]
    return sorted(file for file in found if (name := _UNFINISHED.match(file.name)) and not _is_running(int(name[1])))


def _list_private_files(session: "Session", settings: "Settings") -> Iterator[Path]:
    """The existing files, not links, that only their owner should read."""
    from athand.config import config_file

    store = _store_file(session, settings)
    files = [store, *(Path(f"{store}{end}") for end in ("-wal", "-shm")), *_list_secret_files(settings), config_file()]
    for file in files:
        if file.is_file() and not file.is_symlink():
            yield file
    is_ours = not settings.data_dir and not settings.home  # a folder that the user chose may hold other files
    if is_ours and settings.data_folder.is_dir():
        yield settings.data_folder


def _list_secret_files(settings: "Settings") -> list[Path]:
    return [settings.data_folder / name for name in _TOKEN_FILES] + [settings.servers_file]


def _store_file(session: "Session", settings: "Settings") -> Path:
    """The file of the store; for PostgreSQL, the file that SQLite would use."""
    location = session.store or settings.location
    return settings.data_folder / "athand.db" if "://" in location else Path(location).expanduser().absolute()


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _check_clients() -> Check:
    from athand.adapters.cli.install_clients import Client
    from athand.adapters.cli.install_shapes import get_command
    from athand.adapters.cli.tools_servers import CLIENTS

    installed = []
    for name in CLIENTS:
        try:
            entry = Client(name).entry
        except AthandError as error:
            return Check("clients", WARNING, to_one_line(str(error)), f"athand install {name} --print")
        command = get_command(entry) if entry else None
        if command is not None and shutil.which(command) is None:
            text = f"{name} starts {to_one_line(command)}, which does not exist"
            return Check("clients", WARNING, text, f"athand install {name}")
        installed += [name] if entry is not None else []
    text = f"installed in {', '.join(installed) or 'none'}"
    return Check("clients", OK, text, None if installed else "athand install")


def _check_disk(settings: "Settings") -> Check:
    folder = settings.data_folder
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    state = BROKEN if free < _FULL_DISK else WARNING if free < _LOW_DISK else OK
    return Check("disk", state, f"{format_size(free)} free", None if state == OK else "df -h")
