"""A recorded step as it is to be done now: with the values of another goal, and those that were told. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from athand.flows.binding import Slots, bound_target, slots
from athand.flows.model import Step
from athand.flows.moves import given, is_masked, place_of
from athand.text import fold, split_identifier


def plan(
    steps: Sequence[Step], old_goal: str | None, new_goal: str | None, values: Mapping[str, str]
) -> list[tuple[Step, Step]]:
    """Each step as it is to be done now, with the one it was; another goal may name more things to click, or fewer."""
    known = slots(old_goal, new_goal) if old_goal and new_goal else Slots()
    named = [step for step in steps if _item(step, [old for old, _ in known.pairs])]
    planned: list[tuple[Step, Step]] = []
    for step in steps:
        if not (named and _item(step, known.more_old)):
            planned.append((_planned(step, known, values), step))
        if named and step is named[-1]:
            more = (Slots(((step.target["name"], new),)) for new in known.more_new)
            planned += [(_planned(step, each, values), step) for each in more]
    return planned


def _item(step: Step, values: Sequence[str]) -> bool:
    """Whether a step clicks on something that is called like one of these values."""
    return step.verb == "click" and fold(step.target.get("name", "")).strip() in map(fold, values)


def _planned(step: Step, known: Slots, values: Mapping[str, str]) -> Step:
    found = given(step)
    put_in = dict(step.input)
    if found is not None and step.verb != "press":
        name, value = found
        told = _told(step, values)
        put_in[name] = told if told is not None else known.bound(value)
        put_in |= {"secret": True} if is_masked(value) else {}
    return replace(step, target=bound_target(step.target, known), input=put_in)


def _told(step: Step, values: Mapping[str, str]) -> str | None:
    """The value for a field, under its test id or name; for what was secret a word of them is enough."""
    name, value = given(step) or ("", "")
    labels = [step.target[key] for key in ("testId", "name", "selector") if step.target.get(key)] or [name]
    exact = next((values[label] for label in labels if label in values), None)
    if exact is not None or not is_masked(value):
        return exact
    words = {word for label in labels for word in split_identifier(label)}
    fitting = [key for key in values if split_identifier(key) and words.issuperset(split_identifier(key))]
    return values[max(fitting, key=len)] if fitting else None


def wanted(steps: Sequence[Step]) -> str:
    """What is asked for, where values are missing."""
    names = ", ".join(dict.fromkeys(place_of(step) or step.verb for step in steps))
    return (
        f"What was put into {names} was secret and is not kept. "
        "Give it in values (--value or --value-env), under its test id or name."
    )
