"""Lean answers about flows: steps in words (pure functions of answers as JSON)."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from athand.flows.descriptions import describe_step
from athand.flows.model import Step

_FIELDS = tuple(each.name for each in fields(Step))


def describe_recorded_step(item: Mapping[str, Any]) -> str:
    """What was done, to which element, on which screen."""
    return describe_step(Step(**{name: item[name] for name in _FIELDS}))


def lean_steps(answer: Sequence[Mapping[str, Any]]) -> list[str]:
    """Steps in words, each after its session and its number there."""
    return [f"{each['session_id']} {each['position']}. {describe_recorded_step(each)}" for each in answer]
