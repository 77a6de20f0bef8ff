"""What a check-up looks at: each part of Athand, how it is, and the command that helps."""

import platform
import shlex
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from athand import __version__
from athand.adapters.cli.doctor_files import exposed, leftovers
from athand.adapters.cli.words import format_size, pluralize, to_one_line
from athand.errors import AthandError, DataError, Unavailable
from athand.types import Noun

if TYPE_CHECKING:
    from athand.adapters.cli.session import Session
    from athand.app import Athand
    from athand.config import Settings
    from athand.types import Status

OK, WARNING, BROKEN, DAMAGED = "ok", "warning", "broken", "damaged"
LONG_LOG = 100_000_000  # bytes
_LITTLE_ROOM, _NO_ROOM = 1_000_000_000, 50_000_000
_ANSWER_SECONDS = 10.0
_MEND = "athand doctor --fix"
REINDEX = "run: athand reindex"  # how the store ends what it says of derived data


@dataclass(frozen=True, slots=True)
class Check(Noun):
    """How a part is: ok, warning, broken or damaged; in a line, with a command that helps."""

    name: str
    state: str
    text: str
    advice: str | None = None


def examine(session: "Session") -> list[Check]:
    """Look at everything; where the settings or the store cannot be read, at what is left."""
    from athand.config import config_file, load_settings

    try:
        settings = load_settings(data_dir=session.data_dir)
    except AthandError as error:
        return [_program(), Check("settings", BROKEN, str(error), "athand config path")]
    file = config_file()
    checks = [_program(), Check("settings", OK, f"{file}{'' if file.is_file() else ' (none yet)'}")]
    try:
        with session.open() as athand:
            checks += _inside(athand, session, settings)
    except AthandError as error:
        checks.append(Check("store", DAMAGED if isinstance(error, DataError) else BROKEN, str(error), _rescue(error)))
    return [*checks, _files(session, settings), _clients(), _disk(settings)]


def _rescue(error: AthandError) -> str:
    return "athand restore BACKUP" if isinstance(error, DataError) else "athand config"


def _program() -> Check:
    return Check("program", OK, f"athand {__version__} · Python {platform.python_version()}")


def _inside(athand: "Athand", session: "Session", settings: "Settings") -> Iterator[Check]:
    """The parts that are known by the store."""
    status = athand.status()
    looks: tuple[tuple[str, Callable[[], Check]], ...] = (
        ("store", lambda: _store(athand, status)),
        ("model", lambda: _model(athand, session, settings, status)),
        ("memories", lambda: _memories(status)),
        ("documents", lambda: _documents(status)),
        ("tools", lambda: _tools(athand, session)),
        ("flows", lambda: _flows(settings, status)),
    )
    for name, look in looks:
        try:
            yield look()
        except AthandError as error:
            yield Check(name, BROKEN, to_one_line(str(error)), "athand status --check")


def _store(athand: "Athand", status: "Status") -> Check:
    store, findings = status.store, athand.check()
    engine = f"{'SQLite' if store['engine'] == 'sqlite' else 'PostgreSQL'} {store['version']}"
    log = f"WAL {format_size(store['log'])}" if store["engine"] == "sqlite" else ""
    pieces = [store["location"], format_size(store["bytes"]), "" if findings else "integrity ok", log, engine]
    text = " · ".join(filter(None, [*pieces, f"schema {store['schema']}"]))
    if findings:
        derived = all(finding.endswith(REINDEX) for finding in findings)
        more = f" (and {len(findings) - 1} more)" if len(findings) > 1 else ""
        found = f"{text} · {to_one_line(findings[0].removesuffix(f'; {REINDEX}'))}{more}"
        return Check("store", DAMAGED, found, _MEND if derived else "athand restore BACKUP")
    if store["log"] > LONG_LOG:
        return Check("store", WARNING, text, _MEND)
    return Check("store", OK, text)


def _model(athand: "Athand", session: "Session", settings: "Settings", status: "Status") -> Check:
    from athand.config import list_models

    name = str(status.model["name"])
    state = next(each for each in list_models(settings, session.model) if each.is_current)
    if not status.model["working"]:
        problem = next((each for each in status.problems if "keyword only" in each), "it does not work")
        return Check("model", WARNING, f"{name} · {to_one_line(problem)}", "athand models")
    pieces = [f"{name} (bundled)" if state.kind == "static" else name, f"{status.model['dimensions']} dimensions"]
    pieces.append("calibrated" if state.is_calibrated else "calibrated here on first use")
    missing = {corpus: count for corpus, count in athand.without_vectors().items() if count}
    if missing:
        lacking = ", ".join(f"{count:,} of {corpus}" for corpus, count in missing.items())
        return Check("model", WARNING, " · ".join([*pieces, f"passages without a vector yet: {lacking}"]), _MEND)
    return Check("model", OK, " · ".join(pieces))


def _memories(status: "Status") -> Check:
    memories = status.corpora["memories"]
    text = f"{pluralize(memories['count'], 'memory', 'memories')} in {pluralize(memories['projects'], 'project')}"
    return Check("memories", OK, text)


def _documents(status: "Status") -> Check:
    documents: dict[str, Any] = status.corpora["documents"]
    folders = documents["folders"]
    pieces = [f"{pluralize(documents['count'], 'file')} in {pluralize(len(folders), 'folder')}"]
    bad = [f"{each['folder_id']} is {each['state']}: {each['reason']}" for each in folders if each["reason"]]
    unread = sum(each["problems"] for each in folders)
    pieces += [to_one_line(bad[0])] if bad else []
    pieces += [f"{pluralize(unread, 'file')} could not be read"] if unread else []
    if bad:
        return Check("documents", WARNING, " · ".join(pieces), "athand docs status")
    return Check("documents", OK, " · ".join(pieces), "athand docs status --problems" if unread else None)


def _tools(athand: "Athand", session: "Session") -> Check:
    """Ask every server that may be asked whether it answers."""
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
        said = f"{text} · server “{to_one_line(silent[0].name)}” does not answer{more}: {reason}"
        return Check("tools", WARNING, said, f"athand tools refresh {shlex.quote(silent[0].name)}")
    untrusted = [each for each in servers if each.state == "untrusted"]
    if waiting or untrusted:
        held = (
            f"{pluralize(waiting, 'tool waits', 'tools wait')} for approval" if waiting else "a project is not trusted"
        )
        return Check("tools", WARNING, f"{text} · {held}", "athand tools list" if waiting else "athand tools trust")
    return Check("tools", OK, text)


def _flows(settings: "Settings", status: "Status") -> Check:
    count = int(status.corpora["flows"]["count"])
    text = pluralize(count, "session")
    try:
        return Check("flows", OK, f"{text} · browser {_browser(settings.chromium)}")
    except AthandError:
        said = f"{text} · no browser to record and replay with"
        return Check("flows", WARNING if count else OK, said, "athand flows setup-browser")


def _browser(chosen: str | None) -> str:
    """The browser that flows would use; Playwright is asked only where the machine has none."""
    from athand.flows.browser.chromium import find_executable, find_launch_executable, no_playwright

    if find_spec("playwright") is None:
        raise no_playwright()
    try:
        return find_executable(chosen, None)
    except Unavailable:
        return find_launch_executable(chosen)


def _files(session: "Session", settings: "Settings") -> Check:
    """Whether what is private is private, and nothing of ours lies about."""
    open_ones, left = exposed(session, settings), leftovers(session, settings)
    if open_ones:
        names = ", ".join(str(path) for path in open_ones[:3])
        return Check("files", WARNING, f"others on this machine can read {names}", _MEND)
    if left:
        return Check("files", WARNING, f"{pluralize(len(left), 'unfinished file')} of a process that died", _MEND)
    return Check("files", OK, "private")


def _clients() -> Check:
    from athand.adapters.cli.install_clients import Client
    from athand.adapters.cli.tools_servers import CLIENTS

    installed = []
    for name in CLIENTS:
        try:
            entry = Client(name).entry
        except AthandError as error:
            return Check("clients", WARNING, to_one_line(str(error)), f"athand install {name} --print")
        command = entry.get("command") if entry else None
        if isinstance(command, str) and shutil.which(command) is None:
            said = f"{name} starts {to_one_line(command)}, which is not there"
            return Check("clients", WARNING, said, f"athand install {name}")
        installed += [name] if entry is not None else []
    said = f"installed in {', '.join(installed) or 'none'}"
    return Check("clients", OK, said, None if installed else "athand install")


def _disk(settings: "Settings") -> Check:
    folder = settings.data_folder
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    state = BROKEN if free < _NO_ROOM else WARNING if free < _LITTLE_ROOM else OK
    return Check("disk", state, f"{format_size(free)} free", None if state == OK else "df -h")
