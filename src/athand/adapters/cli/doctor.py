"""`athand doctor`: everything looked at, one line each, and what helps."""

import shutil
import sys
import textwrap
from typing import TYPE_CHECKING

import click

from athand.adapters.cli.session import Session, command
from athand.adapters.cli.words import abbreviate_home, escape_controls, pluralize

if TYPE_CHECKING:
    from athand.adapters.cli.doctor_checks import Check

_MARKS = {"ok": ("✓", "green"), "warning": ("!", "yellow"), "broken": ("✗", "red"), "damaged": ("✗", "red")}
_INDENT = " " * 15
_NARROWEST = 40
_top = click.Group()


@command(_top, "doctor")
@click.option("--fix", is_flag=True, help="Mend what can be mended without changing anything that is stored.")
def doctor(session: Session, /, fix: bool) -> None:
    """Check everything, and mend what can be mended.

    Looks at the settings, the store and its indexes, the model, folders, servers, the browser, files that should be
    private, clients and the disk. Exit 1 if something is broken, 65 if the store is damaged; warnings are no failure.

    \b
    Examples:
      athand doctor
      athand doctor --fix
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    from athand.adapters.cli.doctor_checks import examine
    from athand.adapters.cli.doctor_repairs import mend

    fixed = mend(session) if fix else []
    checks = examine(session)
    if session.as_json:
        session.show({"checks": [check.to_dict() for check in checks], "fixed": fixed, **_counts(checks)})
    else:
        _print(session, checks, fixed, fix)
    states = {check.state for check in checks}
    if states & {"broken", "damaged"}:
        raise SystemExit(65 if "damaged" in states else 1)


def _print(session: Session, checks: "list[Check]", fixed: list[str], fix: bool) -> None:
    for check in checks:
        if session.quiet and check.state == "ok":
            continue
        mark, color = _MARKS[check.state]
        click.echo(
            f" {click.style(mark, fg=color)} {check.name:<10}  {_folded(abbreviate_home(escape_controls(check.text)))}"
        )
        if check.advice:
            click.echo(click.style(f"{_INDENT}try: {check.advice}", dim=True))
    for done in fixed:
        session.say(f" {click.style('✓', fg='green')} {done}")
    if fix and not fixed:
        session.say(" Nothing had to be mended.")
    session.say(f" {_summary(checks)}")


def _folded(text: str) -> str:
    """The text in lines that fit the terminal, below one another; elsewhere in one line."""
    if not sys.stdout.isatty():
        return text
    width = max(_NARROWEST, shutil.get_terminal_size().columns - len(_INDENT))
    lines = textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
    return f"\n{_INDENT}".join(lines)


def _counts(checks: "list[Check]") -> dict[str, int]:
    broken = sum(check.state in ("broken", "damaged") for check in checks)
    return {"warnings": sum(check.state == "warning" for check in checks), "broken": broken}


def _summary(checks: "list[Check]") -> str:
    counts = _counts(checks)
    pieces = [f"{counts['broken']} broken"] if counts["broken"] else []
    pieces += [pluralize(counts["warnings"], "warning")] if counts["warnings"] else []
    return ", ".join(pieces) or "All is well."
