"""How far memory alone gets with MiniWoB++: twenty tasks recorded with some seeds, then done with others.

python -m benchmarks.miniwob [FOLDER]: with a folder, what was recorded is kept there and used the next time.
"""

import json
import shutil
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from athand import Athand
from athand.errors import AthandError
from athand.flows import Flows, Step
from athand.flows.actions import ACTIONS
from athand.flows.browser import Browser
from athand.flows.model import Hint, SuggestedAction
from athand.flows.secrets import MASK
from benchmarks.flows_next import Outcome, reliability
from benchmarks.miniwob_pages import Pages
from benchmarks.miniwob_tasks import SOLVERS, Screen, act, secrets
from benchmarks.tables import table

APP = "miniwob"
RECORDED, PLAYED = (5, 6, 7, 8), (21, 22, 23)  # seeds; 1 to 4 and 11 to 13 were those things were mended with
MOST_ACTIONS = 10
NAMES = {"testId": "test_id", "selector": "selector"}
GIVEN = {"type": "text", "select": "value"}


@dataclass(frozen=True)
class Asked:
    """One moment of a session: what was suggested for it, and whether the value that the goal names was offered."""

    task: str
    outcomes: Sequence[Outcome]
    values: Sequence[bool]  # of each suggestion: it is right, and so is what it types or selects


def measure(folder: Path | None = None) -> dict[str, Any]:
    """Record, then ask for every next action, replay what a search finds, and follow the suggestions."""
    with TemporaryDirectory() as temporary, Pages() as pages:
        path = (folder or Path(temporary)) / "miniwob.db"
        if not path.exists():
            _record(path, pages)
        with Athand(shutil.copy(path, Path(temporary) / "played.db")) as athand:
            flows = athand.flows
            return {
                "sessions": flows.count()[APP],
                "next action": _next_actions(flows, Path(temporary)),
                **{way: _played(flows, pages, play) for way, play in WAYS.items()},
            }


# Recording


def _record(path: Path, pages: Pages) -> None:
    """Every task with its seeds; only what was solved by all solvers is kept."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".unfinished.db")
    unfinished.unlink(missing_ok=True)
    with Athand(unfinished) as athand, _browser(athand.flows) as browser:
        for task in SOLVERS:
            for seed in RECORDED:
                with _episode(athand.flows, pages, browser, task, seed, flow_tags=(task,)) as goal:
                    _solve(browser, pages, task, goal)
                if (pages.reward or 0) <= 0:
                    raise RuntimeError(f"The solver of {task} failed with seed {seed} ({goal}): {pages.reward}")
    unfinished.rename(path)


@contextmanager
def _browser(flows: Flows) -> Iterator[Browser]:
    """One browser for all episodes; the session of its own is that of another app, and no knowledge."""
    with flows.open_browser(app="harness", git={}, timeout_s=3) as browser:
        yield browser


@contextmanager
def _episode(
    flows: Flows, pages: Pages, browser: Browser, task: str, seed: int, flow_tags: Sequence[str] = ()
) -> Iterator[str]:
    """The browser on the page of a task, in a session of its own; what is asked for is its goal."""
    browser.navigate(pages.prepare(task, seed))
    goal = pages.asked()
    with browser.record_into(flows.start_session(app=APP, goal=goal, flow_tags=flow_tags).id):
        yield goal


def _solve(browser: Browser, pages: Pages, task: str, goal: str) -> None:
    for done in range(MOST_ACTIONS):
        if pages.reward is not None:
            return
        screen = Screen(browser)
        action = SOLVERS[task](goal, screen, done)
        if action is not None:
            act(browser, action, screen.nodes)


# What comes next


def _next_actions(flows: Flows, folder: Path) -> dict[str, Any]:
    """Each session once more as if it were new: taken out, and asked about before each of its actions."""
    asked: list[Asked] = []
    for session in flows.sessions(limit=1000, filters={"app": APP}):
        steps = [step for step in flows.steps(session.id) if step.ok and step.verb in ACTIONS]
        exported = folder / session.id
        flows.export(exported, session.id)
        flows.delete(session.id)
        asked += _moments(flows, session.flow_tags[0], session.goal or "", steps)
        flows.import_(exported, app=APP)
    by_task = {task: _shares([each for each in asked if each.task == task]) for task in SOLVERS}
    bins = reliability([outcome for each in asked for outcome in each.outcomes])
    gap = sum(number * abs(said - came) for said, came, number in bins) / sum(number for _, _, number in bins)
    return {"all": _shares(asked), "by task": by_task, "reliability": bins, "calibration error": gap}


def _moments(flows: Flows, task: str, goal: str, steps: Sequence[Step]) -> Iterator[Asked]:
    """Walk through a session again, under another name."""
    walked, previous = flows.start_session(goal=goal, app=APP), None
    for step in steps:
        known = flows.prior_knowledge(walked.id, step.before or {}, previous=previous)
        some = known.suggested_next_actions if known else ()
        yield Asked(
            task,
            [Outcome(each.rank, each.confidence, is_same_action(each, step)) for each in some],
            [is_same_action(each, step) and has_same_value(each, step, goal) for each in some],
        )
        previous = flows.record(
            walked.id,
            tool=step.tool,
            target=step.target,
            input=step.input,
            before=step.before,
            after_screen=step.after_screen,
        )
    flows.delete(walked.id)


def is_same_action(suggested: SuggestedAction, step: Step) -> bool:
    """Whether a suggestion is what was done: the same verb, on a target that means the same element and no other."""
    return suggested.action == step.verb and _leads_to(suggested.preferred_target, step)


def _leads_to(hint: Hint | None, step: Step) -> bool:
    if hint is None or not isinstance(hint.value, Mapping):
        return hint is not None and step.target.get(hint.type) == hint.value
    wanted = (hint.value["role"], hint.value["name"])
    alike = [node for node in (step.before.a11y if step.before else ()) if (node["role"], node["name"]) == wanted]
    return len(alike) == 1 and wanted == (step.target.get("role"), step.target.get("name"))


def has_same_value(suggested: SuggestedAction, step: Step, goal: str) -> bool:
    """Whether what is typed or selected is offered, where the goal names it and it is no secret."""
    name = GIVEN.get(step.verb, "")
    value = str(step.input.get(name, ""))
    return value in ("", MASK) or value not in goal or (suggested.input or {}).get(name) == value


def _shares(asked: Sequence[Asked]) -> dict[str, Any]:
    """How often the first, or one of the first three, is what came next."""
    number = max(1, len(asked))
    rights = [[outcome.is_next for outcome in each.outcomes] for each in asked]
    values = [list(each.values) for each in asked]
    return {
        "actions": len(asked),
        "top-1": sum(any(each[:1]) for each in rights) / number,
        "top-3": sum(any(each[:3]) for each in rights) / number,
        "top-1 with value": sum(any(each[:1]) for each in values) / number,
        "top-3 with value": sum(any(each[:3]) for each in values) / number,
    }


# Doing it from memory

Player = Callable[[Flows, Pages, Browser, str, str], str]  # does the task of a goal; says how it ended


def _played(flows: Flows, pages: Pages, play: Player) -> dict[str, Any]:
    """Every task with seeds that were not recorded; what is learnt meanwhile is forgotten again."""
    recorded = _sessions(flows)
    solved: dict[str, list[bool]] = defaultdict(list)
    unsolved = []
    with _browser(flows) as browser:
        for task in SOLVERS:
            for seed in PLAYED:
                with _episode(flows, pages, browser, task, seed) as goal:
                    reason = play(flows, pages, browser, task, goal)
                solved[task].append((pages.reward or 0) > 0)
                if not solved[task][-1]:
                    unsolved.append({"task": task, "goal": goal, "reward": pages.reward, "reason": reason})
                for new in _sessions(flows) - recorded:
                    flows.delete(new)
    every = [each for some in solved.values() for each in some]
    by_task = {task: sum(some) / len(some) for task, some in solved.items()}
    return {"episodes": len(every), "solved": sum(every) / len(every), "by task": by_task, "unsolved": unsolved}


def _sessions(flows: Flows) -> set[str]:
    return {session.id for session in flows.sessions(limit=1000, filters={"app": APP})}


def _replay(flows: Flows, pages: Pages, browser: Browser, task: str, goal: str) -> str:
    """The session that a search finds for the goal, done again."""
    return _replay_found(flows, browser, task, goal, {"app": APP})


def _replay_here(flows: Flows, pages: Pages, browser: Browser, task: str, goal: str) -> str:
    """The session that a search finds for the goal on the screen that is shown, done again."""
    return _replay_found(flows, browser, task, goal, {"app": APP, "screen": browser.observe().screen})


def _replay_found(flows: Flows, browser: Browser, task: str, goal: str, filters: Mapping[str, Any]) -> str:
    found = flows.search(goal, limit=1, filters=filters, once=True)
    if not found:
        return "no session was found"
    source = flows.session(found[0].session_id)
    done = flows.replay(browser, source.id, goal=goal, values=secrets(task, goal))
    return f"replayed {source.flow_tags[0]} ({source.goal}): {done.reason or 'to the end'}"


def _follow(flows: Flows, pages: Pages, browser: Browser, task: str, goal: str) -> str:
    """The first suggestion, again and again."""
    ended = "too many actions"
    for _ in range(MOST_ACTIONS):
        known = browser.describe_screen().prior_knowledge
        if pages.reward is not None:
            return ended
        if known is None or not known.suggested_next_actions:
            return "nothing was suggested"
        try:
            ended = _do(browser, known.suggested_next_actions[0], secrets(task, goal).get("password", ""))
        except AthandError as error:
            ended = str(error)
    return ended


def _do(browser: Browser, suggested: SuggestedAction, secret: str) -> str:
    """Do what was suggested, as it was; a text that memory does not have is the secret."""
    hint, given = suggested.preferred_target, dict(suggested.input or {})
    target: dict[str, Any] = {}
    if hint is not None:
        target = dict(hint.value) if isinstance(hint.value, Mapping) else {NAMES[hint.type]: hint.value}
    if suggested.action == "type":
        given.setdefault("text", secret)
    getattr(browser, suggested.action)(**given, **target)
    return f"{suggested.action} {hint and hint.value} {given or ''}".strip()


WAYS: Mapping[str, Player] = {"replayed": _replay, "replayed here": _replay_here, "followed": _follow}


def tables(results: Mapping[str, Any]) -> Iterator[str]:
    """All tasks, and how far confidence is right."""
    following = results["next action"]
    rows = [_row(task, each, results) for task, each in following["by task"].items()]
    yield table(
        ["task", "actions", "top-1", "top-3", "top-1 + value", "top-3 + value", *WAYS],
        [*rows, _row("all", following["all"], results)],
    )
    reliable = [(f"{said:.2f}", f"{came:.2f}", number) for said, came, number in following["reliability"]]
    yield "\n" + table(["mean confidence", "came next", "suggestions"], reliable) + "\n"
    yield f"calibration error: {following['calibration error']:.3f}\n"


def _row(task: str, shares: Mapping[str, Any], results: Mapping[str, Any]) -> list[str]:
    names = ("top-1", "top-3", "top-1 with value", "top-3 with value")
    played = [results[way]["by task"].get(task, results[way]["solved"]) for way in WAYS]
    return [task, str(shares["actions"]), *(f"{value:.2f}" for value in (*(shares[name] for name in names), *played))]


def main() -> dict[str, Any]:
    results = measure(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
    print("\n".join(tables(results)))
    for way in WAYS:
        print(f"not solved when {way}:", *map(json.dumps, results[way]["unsolved"]), sep="\n  ")
    return results


if __name__ == "__main__":
    main()
