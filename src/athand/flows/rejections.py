"""Elements that somebody said were not what a step was done to: no healing proposes them again."""

from athand.errors import InvalidInput
from athand.flows import records
from athand.flows.actions import action_key
from athand.flows.desk import Desk
from athand.flows.model import Step
from athand.store import to_microseconds


def add(desk: Desk, step: Step, element: str) -> None:
    """Remember a rejection."""
    _check(step)
    row = {**_place(step), "element": element, "rejected_at": to_microseconds(desk.now())}
    with desk.store.transaction(spaces=(step.app,)) as transaction:
        records.insert(transaction, "flow_rejections", row, if_new=True)


def of(desk: Desk, step: Step) -> frozenset[str]:
    """The elements rejected for the action of a step, on its screen."""
    _check(step)
    sql = "SELECT element FROM flow_rejections WHERE space = :space AND screen = :screen AND action = :action"
    with desk.store.snapshot() as snapshot:
        return frozenset(row[0] for row in snapshot.rows(sql, _place(step)))


def _check(step: object) -> None:
    if not isinstance(step, Step):
        raise InvalidInput(f"step must be a Step, as steps returns them, not {type(step).__name__}.")


def _place(step: Step) -> dict[str, str]:
    return {"space": step.app, "screen": step.screen, "action": action_key(step.verb, step.target, step.input)}
