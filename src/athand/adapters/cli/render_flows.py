"""Prints recorded sessions, their steps, predictions and replays. Text of pages is escaped for the terminal."""

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from athand.adapters.cli.render import make_cell, make_table, print_table
from athand.adapters.cli.words import (
    draw_bar,
    format_age,
    format_duration,
    format_fraction,
    format_time,
    pluralize,
    to_one_line,
)
from athand.flows.browser.model import ActionResult, BrowserState, ScreenDescription, Screenshot
from athand.flows.model import UNKNOWN

if TYPE_CHECKING:
    from athand.flows import FlowSession, Observation, Step
    from athand.flows.model import SessionSummary
    from athand.flows.profiles import Profile
    from athand.flows.replay.player import Replay
    from athand.types import Noun

_BAR = 6
_COMMIT = 10  # characters of a commit's hash
_ARROW = " → "
_HINTS = {"testId": "test id", "selector": "selector", "a11yRef": "ref"}


def print_sessions(console: Console, sessions: "Sequence[FlowSession]") -> None:
    """One line for each session."""
    table = make_table("session", "when", "app", "goal", "tags", "steps", flexible="goal")
    table.columns[-1].justify = "right"
    for each in sessions:
        goal = make_cell(each.goal or "—", "bold" if each.goal else "dim")
        row = (
            make_cell(each.id, "cyan"),
            format_age(each.created_at),
            make_cell(each.app),
            goal,
            make_cell(_tags(each), "dim"),
        )
        table.add_row(*row, f"{each.steps:,}")
    print_table(console, table)


def _tags(session: "FlowSession") -> str:
    return ", ".join((*session.flow_tags, *session.tags))


def print_session(console: Console, session: "FlowSession") -> None:
    """Everything about a session but its steps."""
    console.print(Text(f" {to_one_line(session.goal or '(no goal)')}", "bold"))
    git = session.git or {}
    state = "with changes" if git.get("dirty") else ""
    _print_details(
        console,
        {
            "session": session.id,
            "app": _join(session.app, session.app_version),
            "when": format_time(session.created_at),
            "flow tags": ", ".join(session.flow_tags),
            "tags": ", ".join(session.tags),
            "git": _join(git.get("branch"), str(git.get("commit") or "")[:_COMMIT], state),
            "launched with": _to_json(session.launch),
        },
    )
    console.print()


def _join(*parts: object) -> str:
    return " · ".join(str(part) for part in parts if part)


def _to_json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False) if value else ""


def _print_details(console: Console, details: Mapping[str, str | Text]) -> None:
    table = make_table("name", "value", flexible="value", header=False)
    for name, value in details.items():
        if value:
            table.add_row(Text(name, "dim"), Text(to_one_line(value)) if isinstance(value, str) else value)
    print_table(console, table)


def print_steps(console: Console, steps: "Sequence[Step]") -> None:
    """One line for each step: action, element, screens, outcome, duration."""
    table = make_table("", "action", "element", "screen", "", "took", flexible="element")
    table.columns[3].max_width = table.columns[4].max_width = console.width // 5  # long ones give way to the element
    table.columns[0].justify = table.columns[5].justify = "right"
    for step in steps:
        table.add_row(str(step.position), *_step_cells(step))
    print_table(console, table)


def print_last(console: Console, steps: "Sequence[Step]") -> None:
    """One line for each step, with its session and age."""
    table = make_table("when", "session", "", "action", "element", "screen", "", "took", flexible="element")
    table.columns[5].no_wrap = False
    table.columns[2].justify = table.columns[7].justify = "right"
    for step in steps:
        table.add_row(
            format_age(step.timestamp), make_cell(step.session_id, "cyan"), str(step.position), *_step_cells(step)
        )
    print_table(console, table)


def _step_cells(step: "Step") -> tuple[Text, ...]:
    outcome = Text("✓", "green") if step.ok else make_cell(f"✗ {_code(step)}", "red")
    duration = Text(format_duration(step.duration_ms / 1000) if step.duration_ms is not None else "", "dim")
    return (
        make_cell(step.verb.replace("_", " "), "bold"),
        _format_element(step),
        _format_screens(step),
        outcome,
        duration,
    )


def _code(step: "Step") -> str:
    return str((step.error or {}).get("code", ""))


def _format_element(step: "Step") -> Text:
    """The element of a step, and the text that was typed or chosen there."""
    values = [step.input[name] for name in ("text", "value", "label", "key", "url") if name in step.input]
    given = make_cell(f"“{values[0]}”", "yellow") if values else Text()
    return Text("  ", no_wrap=True, overflow="ellipsis").join(
        filter(None, (make_cell(_format_target(step.target)), given))
    )


def _format_target(target: Mapping[str, str]) -> str:
    """A target by role and name if known, else by the locator that was used."""
    if target.get("name"):
        return f'{target.get("role") or "element"} "{target["name"]}"'
    return next((target[kind] for kind in _HINTS if target.get(kind)), "")


def _format_screens(step: "Step") -> Text:
    """The screen that a step was done on, and the one it led to."""
    screens = (step.screen if step.before or step.screen != UNKNOWN else None, step.after_screen)
    return make_cell(_ARROW.join(dict.fromkeys(filter(None, screens))), "dim")


def print_step(console: Console, step: "Step") -> None:
    """Everything about one step: the action, what was on the page before it, and what was known then."""
    head = (f" {step.position}  ", "dim"), (to_one_line(step.verb.replace("_", " ")), "bold"), "  "
    console.print(Text.assemble(*head, _format_element(step)), overflow="ellipsis", no_wrap=True)
    _print_details(console, dict(_list_details(step)))
    if step.before is not None:
        _print_observation(console, step.before)
    if step.prior_knowledge:
        console.print(Text("\n predicted then", "dim"))
        print_knowledge(console, step.prior_knowledge)
    console.print()


def _list_details(step: "Step") -> Iterator[tuple[str, str | Text]]:
    yield "step", step.id
    yield "tool", step.tool
    yield "when", format_time(step.timestamp)
    yield "target", ", ".join(f"{_HINTS.get(kind, kind)} {value}" for kind, value in step.target.items())
    yield "input", _to_json(step.input)
    yield "screen", _format_screens(step)
    yield "address", step.before.url if step.before else ""
    error = step.error or {}
    message = to_one_line(f"{error.get('code', '')}: {error.get('message', '')}")
    yield "outcome", Text("succeeded", "green") if step.ok else Text(message, "red")
    yield "appeared", "; ".join(map(to_one_line, step.appeared))
    yield "took", format_duration(step.duration_ms / 1000) if step.duration_ms is not None else ""
    yield "labels", ", ".join(step.labels)
    yield "screenshot", step.screenshot or ""


def _print_observation(console: Console, observation: "Observation") -> None:
    if observation.test_ids:
        table = make_table("test id", "tag", "text", flexible="text")
        for each in observation.test_ids:
            style = "" if each.get("visible", True) else "dim strike"
            table.add_row(make_cell(str(each["testId"]), style or "cyan"), *_cells(each, ("tag", "text"), style))
        console.print()
        print_table(console, table)
    if observation.a11y:
        table = make_table("ref", "role", "name", flexible="name")
        for each in observation.a11y:
            table.add_row(*_cells(each, ("ref", "role", "name"), ""))
        console.print()
        print_table(console, table)


def _cells(of: Mapping[str, Any], names: Iterable[str], style: str) -> list[Text]:
    return [make_cell(str(of.get(name) or ""), style) for name in names]


def print_result(console: Console, result: "Noun") -> None:
    """The result of a browser tool."""
    if isinstance(result, ScreenDescription):
        _print_location(console, result.state.screen, result.state.url)
        console.print(Text(result.page), soft_wrap=True)
        if result.prior_knowledge:
            console.print()
            print_knowledge(console, result.prior_knowledge.to_dict())
    elif isinstance(result, BrowserState):
        _print_tabs(console, result)
    elif isinstance(result, Screenshot):
        console.print(Text(f" {result.path}"), soft_wrap=True)
    elif isinstance(result, ActionResult):
        _print_location(console, result.screen, result.url)
        if result.note:
            console.print(Text.assemble((" ! ", "yellow"), to_one_line(result.note)))


def _print_location(console: Console, screen: str, url: str) -> None:
    place = Text.assemble((" ✓ ", "green"), (to_one_line(screen), "bold"), (f"  {to_one_line(url)}", "dim"))
    console.print(place, overflow="ellipsis", no_wrap=True)


def _print_tabs(console: Console, state: BrowserState) -> None:
    _print_location(console, state.screen, state.url)
    table = make_table("", "tab", "title", "address", flexible="address")
    for tab in state.tabs:
        mark = Text("•" if tab.is_active else "", "green")
        table.add_row(mark, str(tab.index), make_cell(tab.title), make_cell(tab.url, "dim"))
    print_table(console, table)
    for dialog in state.dialogs:
        console.print(Text.assemble((" ! ", "yellow"), to_one_line(dialog)))


def print_knowledge(console: Console, knowledge: Mapping[str, Any]) -> None:
    """What earlier sessions know about a screen: next actions, actions that failed, and the sessions."""
    if suggested := knowledge.get("suggestedNextActions"):
        table = make_table("next", "confidence", "because", flexible="because")
        for each in suggested:
            sure = float(each["confidence"])
            shown = Text.assemble((draw_bar(sure, _BAR), "blue"), (f" {format_fraction(sure)}", "green"))
            table.add_row(make_cell(_format_suggestion(each), "bold"), shown, make_cell(_format_reason(each), "dim"))
        print_table(console, table)
    for each in knowledge.get("avoid") or ():
        console.print(Text.assemble((" avoid  ", "red"), to_one_line(each["rationale"])))
    if related := knowledge.get("relatedSessions"):
        table = make_table("was here", "goal", flexible="goal")
        for each in related:
            table.add_row(make_cell(each["sessionId"], "cyan"), make_cell(each.get("goal") or "—"))
        print_table(console, table)


def _format_reason(each: Mapping[str, Any]) -> str:
    last = each.get("lastTime")
    return f"{each['rationale']} Last time: “{last}”." if last else str(each["rationale"])


def _format_suggestion(each: Mapping[str, Any]) -> str:
    hint, given = each.get("preferredTarget"), each.get("input") or {}
    values = [f"“{value}”" for value in given.values() if isinstance(value, str)]
    return " ".join([str(each["action"]).replace("_", " "), *([_format_hint(hint)] if hint else []), *values])


def _format_hint(hint: Mapping[str, Any]) -> str:
    value = hint["value"]
    return _format_target(value) if isinstance(value, Mapping) else f"{_HINTS.get(hint['type'], hint['type'])} {value}"


def print_summary(console: Console, summary: "SessionSummary") -> None:
    """Counts, screens, errors and actions of a session."""
    print_session(console, summary.session)
    failed = f", {summary.failed:,} failed" if summary.failed else ""
    details = {
        "steps": f"{pluralize(summary.steps, 'step')}{failed} in {format_duration(summary.seconds)}",
        "screens": _ARROW.join(summary.screens),
        "kinds": ", ".join(f"{label} {count:,}" for label, count in summary.labels.items()),
        "errors": ", ".join(f"{code} {count:,}" for code, count in summary.errors.items()),
    }
    _print_details(console, details)
    for at, action in enumerate(summary.actions, 1):
        console.print(Text.assemble((f" {at:>3}  ", "dim"), to_one_line(action)), overflow="ellipsis", no_wrap=True)


def print_replay(console: Console, replay: "Replay") -> None:
    """How far a replay came, which elements it replaced, and how the page differs."""
    for each in replay.healed:
        found = f"{_format_target(each.now)} instead of {_format_target(each.was)}"
        console.print(Text.assemble((f" ~ {each.position:>3}  ", "yellow"), to_one_line(found)))
        advice = f"If this is wrong:  athand flows reject-heal {replay.of} {each.position} {shlex.quote(each.element)}"
        console.print(Text(f"        {to_one_line(f'{each.reason} {advice}')}", "dim"), soft_wrap=True)
    if replay.ok:
        console.print(Text.assemble((" ✓ ", "green"), f"Replayed all {pluralize(replay.done, 'action')}."))
    else:
        stopped = (
            f"Stopped at step {replay.stopped_at}, {replay.done} of {pluralize(replay.total, 'action')} replayed. "
        )
        code = f"{replay.code}: " if replay.code else ""
        console.print(Text.assemble((" ✗ ", "red"), stopped, (code, "bold"), to_one_line(replay.reason or "")))
    _print_details(console, dict(_list_differences(replay)))


def _list_differences(replay: "Replay") -> Iterator[tuple[str, str]]:
    if replay.expected_screen != replay.seen_screen:
        yield "expected screen", replay.expected_screen or ""
        yield "screen", replay.seen_screen or ""
    yield "missing", ", ".join(replay.missing)
    yield "recorded", f"athand flows show {replay.session_id}" if replay.session_id else ""


def print_profiles(console: Console, profiles: "Sequence[Profile]") -> None:
    """One line for each profile."""
    table = make_table("profile", "tools", "test ids", "screens", flexible="screens")
    for each in profiles:
        screens = ", ".join(each.screens)
        table.add_row(
            make_cell(each.name, "cyan"),
            make_cell(f"{each.prefix}*"),
            make_cell(each.test_id_attribute),
            make_cell(screens, "dim"),
        )
    print_table(console, table)
