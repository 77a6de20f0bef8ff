"""Sessions of eight invented apps, as they would be recorded, and queries for them: benchmarks/questions/flows.txt."""

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import ClassVar

from athand.flows import Flows
from athand.flows.actions import action_key, labels_of
from athand.flows.model import FlowSession, Observation, Step
from athand.flows.rows import insert_row, observation_row, session_row, step_row, to_passage
from athand.flows.scoring import INDEX
from athand.store import to_microseconds
from benchmarks.questions.check import FOLDER
from benchmarks.tool_sets import is_for_tuning

NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)
SEED = 7
ROLES = {"~": "textbox", "@": "link", "#": "tab", "%": "combobox", "^": "checkbox", "=": "heading"}
VERBS = {"textbox": "type", "combobox": "select"}
# What pages have beside their own elements: things that people bought, wrote and did.
_THINGS = """
    lamp invoice report meeting laptop ticket shoes camera bicycle coffee window garden table contract insurance phone
    holiday summer budget release server backup concert museum guitar kitchen jacket water printer school dinner
""".split()
_PEOPLE = "Alice Bruno Chiara Dmitri Elena Farid Greta Hiro Ines Jonas Kofi Lena Marco Nadia Omar Petra".split()
_BRANCHES = ("main", "develop", "release/7.2", "fix/flaky-tests", "feature/dark-mode")
_BATCH = 2_000


@dataclass(frozen=True, slots=True)
class Element:
    """Something to see on a screen."""

    role: str
    name: str

    def test_id(self, screen: str) -> str:
        """As developers would call it."""
        kind = {"textbox": "input", "combobox": "select", "heading": "title"}.get(self.role, self.role)
        return f"{screen}-{re.sub('[^a-z0-9]+', '-', self.name.lower())}-{kind}"


@dataclass(frozen=True, slots=True)
class Flow:
    """What is done in an app, for what purpose, and how one would ask for it."""

    app: str
    name: str
    goal: str | None
    flow_tags: tuple[str, ...]
    tags: tuple[str, ...]
    path: tuple[tuple[str, Element], ...]  # screen, element


@dataclass(frozen=True, slots=True)
class Question:
    """What somebody asks, and the flow that answers it; None for nonsense."""

    text: str
    flow: str | None

    @property
    def part(self) -> str:
        """Which half it is of: the one that constants are chosen on, or the one that is reported."""
        return "tune" if is_for_tuning(self.text) else "report"


class Apps:
    """All that is in the file."""

    def __init__(self) -> None:
        self.screens: dict[tuple[str, str], list[Element]] = {}
        self.flows: list[Flow] = []
        self.questions: list[Question] = []
        self._app = ""
        for line in (FOLDER / "flows.txt").read_text("utf-8").splitlines():
            kind, _, rest = line.partition(" ")
            if line and kind != "#":
                self._readers[kind](self, rest)

    def _begin(self, name: str) -> None:
        self._app = name

    def _screen(self, text: str) -> None:
        name, _, listed = text.partition(": ")
        self.screens[self._app, name] = [_element(each) for each in listed.split(", ")]

    def _flow(self, text: str) -> None:
        name, goal, flow_tags, tags, path = (part.strip() for part in text.split("|"))
        done = [each.split(".", 1) for each in path.split(", ")]
        known = None if goal == "-" else goal
        steps = tuple((screen, self._known(screen, element)) for screen, element in done)
        self.flows.append(Flow(self._app, name, known, _names(flow_tags), _names(tags), steps))

    def _known(self, screen: str, text: str) -> Element:
        wanted = _element(text).name
        return next(each for each in self.screens[self._app, screen] if each.name == wanted)

    def _query(self, text: str) -> None:
        self.questions.append(Question(text, self.flows[-1].name))

    def _nonsense(self, text: str) -> None:
        self.questions.append(Question(text, None))

    _readers: ClassVar = {"app": _begin, "screen": _screen, "flow": _flow, "?": _query, "!": _nonsense}


def _element(text: str) -> Element:
    return Element(ROLES[text[0]], text[1:]) if text[0] in ROLES else Element("button", text)


def _names(text: str) -> tuple[str, ...]:
    return () if text == "-" else tuple(text.split(", "))


def sessions(apps: Apps, steps: int | None = None) -> Iterator[tuple[FlowSession, list[Step]]]:
    """Every flow once; or again and again, each time a little different, until there are so many steps."""
    chance, made = random.Random(SEED), 0
    for number in count():
        flow = apps.flows[number % len(apps.flows)]
        session = _session(flow, number, chance)
        done = list(_steps(apps, flow, session, chance))
        yield session, done
        made += len(done)
        if (made >= steps) if steps else number + 1 == len(apps.flows):
            return


def _session(flow: Flow, number: int, chance: random.Random) -> FlowSession:
    again = number >= 1000
    goal = f"{flow.goal} for {chance.choice(_PEOPLE)}, build {number}" if flow.goal and again else flow.goal
    return FlowSession(
        id=f"{flow.name}--{number}",
        app=flow.app,
        created_at=NOW - timedelta(hours=chance.uniform(1, 24 * 60)),
        goal=goal,
        flow_tags=flow.flow_tags,
        tags=flow.tags,
        git={"branch": chance.choice(_BRANCHES)},
    )


def _steps(apps: Apps, flow: Flow, session: FlowSession, chance: random.Random) -> Iterator[Step]:
    position = 0
    for screen, element in flow.path:
        seen = _seen(flow.app, screen, apps.screens[flow.app, screen], chance)
        target = {"testId": element.test_id(screen), "role": element.role, "name": element.name}
        for verb, aim in (("describe_screen", {}), (VERBS.get(element.role, "click"), target)):
            position += 1
            yield _step(session, position, verb, aim, screen, seen)


def _seen(app: str, screen: str, elements: Sequence[Element], chance: random.Random) -> Observation:
    rows = [Element("row", f"{chance.choice(_PEOPLE)} {chance.choice(_THINGS)}") for _ in range(chance.randint(2, 12))]
    shown = [*elements, *rows]
    return Observation(
        screen,
        f"https://{app}.example/{screen}",
        tuple({"testId": each.test_id(screen), "visible": True} for each in elements),
        tuple({"ref": f"e{at}", "role": each.role, "name": each.name} for at, each in enumerate(shown, 1)),
    )


def _step(
    session: FlowSession, position: int, verb: str, target: dict[str, str], screen: str, seen: Observation
) -> Step:
    return Step(
        id=f"{session.id}-{position:04}",
        session_id=session.id,
        app=session.app,
        position=position,
        timestamp=session.created_at + timedelta(seconds=position),
        tool=f"ui_{verb}",
        verb=verb,
        input={},
        target=target,
        ok=True,
        error=None,
        labels=labels_of(verb, target, after_failure=False),
        screen=screen,
        before=seen,
    )


def fill(flows: Flows, made: Iterator[tuple[FlowSession, list[Step]]]) -> int:
    """Write sessions as recording would, many in one transaction; how many steps there are."""
    waiting: list[tuple[FlowSession, list[Step]]] = []
    total = 0
    for session, steps in made:
        waiting.append((replace(session, steps=len(steps)), steps))
        total += len(steps)
        if sum(len(each) for _, each in waiting) >= _BATCH:
            _write(flows, waiting)
            waiting = []
    _write(flows, waiting)
    return total


def _write(flows: Flows, batch: Sequence[tuple[FlowSession, list[Step]]]) -> None:
    passages = [to_passage(session, step) for session, steps in batch for step in steps]
    vectors = flows.embed(passages)
    with flows.store.transaction(durable=False) as transaction:
        for session, steps in batch:
            insert_row(transaction, "flows", session_row(session, to_microseconds(session.created_at)))
            previous = ""
            for step in steps:
                if step.before is not None:
                    insert_row(transaction, "flow_observations", observation_row(step.app, step.before), if_new=True)
                key = action_key(step.verb, step.target, step.input)
                insert_row(transaction, "flow_steps", step_row(step, key, previous))
                previous = key or previous
        transaction.put(INDEX, passages, vectors)
