"""`athand doctor`: checks every part of Athand, and repairs what can be repaired without changing stored data."""

import shutil
import stat
import sys
import textwrap
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from athand.adapters.cli.session import Session, command
from athand.adapters.cli.words import abbreviate_home, echo, escape_controls, pluralize
from athand.errors import AthandError

if TYPE_CHECKING:
    from athand.adapters.cli.doctor_checks import Check
    from athand.app import Athand

_MARKS = {"ok": ("✓", "green"), "warning": ("!", "yellow"), "broken": ("✗", "red"), "damaged": ("✗", "red")}
_INDENT = " " * 15
_MIN_WIDTH = 40
_top = click.Group()


@command(_top, "doctor")
@click.option("--fix", is_flag=True, help="Repair what can be repaired without changing stored data.")
def doctor(session: Session, /, fix: bool) -> None:
    """Check every part of Athand, and say which command helps.

    Checks the settings, the store and its indexes, the model, folders, servers, the browser, the permissions of
    private files, clients and free disk space. Exit 1 if something is broken, 65 if the store is damaged; 0 if there
    are only warnings.

    \b
    Examples:
      athand doctor
      athand doctor --fix
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    from athand.adapters.cli.doctor_checks import run_checks

    repairs = _repair(session) if fix else []
    checks = run_checks(session)
    if session.as_json:
        session.show({"checks": [check.to_dict() for check in checks], "fixed": repairs, **_count_problems(checks)})
    else:
        _print_checks(session, checks)
        for each in repairs:
            session.say(f" {click.style('✓', fg='green')} {each}")
        if fix and not repairs:
            session.say(" There was nothing to repair.")
        session.say(f" {_summarize(checks)}")
    states = {check.state for check in checks}
    if states & {"broken", "damaged"}:
        raise SystemExit(65 if "damaged" in states else 1)


def _print_checks(session: Session, checks: "list[Check]") -> None:
    for check in checks:
        if session.quiet and check.state == "ok":
            continue
        mark, color = _MARKS[check.state]
        text = _wrap(abbreviate_home(escape_controls(check.text)))
        echo(f" {click.style(mark, fg=color)} {check.name:<10}  {text}")
        if check.advice:
            echo(click.style(f"{_INDENT}try: {check.advice}", dim=True))


def _wrap(text: str) -> str:
    """The text in lines that fit the terminal; in one line if the output is no terminal."""
    if not sys.stdout.isatty():
        return text
    width = max(_MIN_WIDTH, shutil.get_terminal_size().columns - len(_INDENT))
    lines = textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
    return f"\n{_INDENT}".join(lines)


def _count_problems(checks: "list[Check]") -> dict[str, int]:
    broken = sum(check.state in ("broken", "damaged") for check in checks)
    return {"warnings": sum(check.state == "warning" for check in checks), "broken": broken}


def _summarize(checks: "list[Check]") -> str:
    counts = _count_problems(checks)
    pieces = [f"{counts['broken']} broken"] if counts["broken"] else []
    pieces += [pluralize(counts["warnings"], "warning")] if counts["warnings"] else []
    return ", ".join(pieces) or "All is well."


def _repair(session: Session) -> list[str]:
    """Repair what can be repaired; returns what was done. Errors are left to the checks that follow."""
    from athand.adapters.cli.doctor_checks import find_leftovers, find_readable_by_others
    from athand.config import load_settings

    repairs: list[str] = []
    with suppress(AthandError, OSError):
        settings = load_settings(data_dir=session.data_dir)
        repairs += _make_private(find_readable_by_others(session, settings))
        repairs += _remove_leftovers(find_leftovers(session, settings))
        with session.open() as athand:
            repairs += _rebuild_indexes(athand)
    return repairs


def _make_private(paths: list[Path]) -> Iterator[str]:
    for path in paths:
        path.chmod(stat.S_IMODE(path.stat().st_mode) & 0o700)
        yield f"made {path} private"


def _remove_leftovers(paths: list[Path]) -> Iterator[str]:
    for path in paths:
        path.unlink(missing_ok=True)
        yield f"removed {path}, the unfinished file of a process that died"


def _rebuild_indexes(athand: "Athand") -> Iterator[str]:
    """Rebuild indexes that are wrong, add vectors that are missing, and shorten a long log."""
    from athand.adapters.cli.doctor_checks import LONG_LOG, REINDEX

    if any(finding.endswith(REINDEX) for finding in athand.check()):
        for corpus in athand.corpora.values():
            corpus.reindex()
        yield "rebuilt every index"
    missing = sum(athand.without_vectors().values())
    if missing and athand.embed_missing():
        yield f"computed the vectors of {pluralize(missing, 'passage')}"
    if athand.status().store["log"] > LONG_LOG and athand.compact():
        yield "wrote the log into the database"
