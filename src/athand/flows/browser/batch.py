"""Several tools in one call: what is asked is checked before anything is done."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from athand.errors import AthandError, InvalidInput
from athand.flows.actions import ACTIONS, LOOKS, verb_of
from athand.flows.browser.model import Batch
from athand.types import plain

_ALLOWED = (*ACTIONS, *LOOKS)
_INNER = ("args", "input")  # arguments may stand beside the tool, or in one of these
_NAMES = {"testId": "test_id", "a11yRef": "ref", "timeoutS": "timeout_s", "fullPage": "full_page"}
_MOST = 100
Call = tuple[str, Callable[[], Any]]


def prepared(tools: object, steps: Sequence[Mapping[str, Any]], prefix: str) -> list[Call]:
    """The calls that the steps mean, or the error that names the step that means none."""
    if isinstance(steps, (str, Mapping)) or not 1 <= len(steps) <= _MOST:
        raise InvalidInput(f"steps must be a list of 1 to {_MOST} steps such as {{'tool': 'click', 'testId': 'send'}}.")
    return [_call(tools, number, step, prefix) for number, step in enumerate(steps, 1)]


def run(calls: Sequence[Call], *, stop_on_error: bool) -> tuple[Batch, AthandError | None]:
    """Do them in order; the first error ends it, unless it should go on. Both are handed back."""
    results: list[Mapping[str, Any]] = []
    first: AthandError | None = None
    for verb, call in calls:
        try:
            results.append({"tool": verb, "ok": True, "result": plain(call().to_dict())})
        except AthandError as error:
            first = first or error
            results.append({"tool": verb, "ok": False, "error": {"code": error.code, "message": str(error)}})
            if stop_on_error:
                break
    return Batch(first is None, tuple(results), len(calls) - len(results)), first


def _call(tools: object, number: int, step: Mapping[str, Any], prefix: str) -> Call:
    if not isinstance(step, Mapping):
        raise InvalidInput(f"Step {number} must be a dictionary with a tool, not {step!r}.")
    verb = verb_of(str(step.get("tool", step.get("action", ""))), prefix)
    if verb not in _ALLOWED:
        raise InvalidInput(f"Step {number} has no tool that can run in a batch. Known: {', '.join(_ALLOWED)}.")
    method, arguments = getattr(tools, verb), _arguments(step)
    try:
        inspect.signature(method).bind(**arguments)
    except TypeError as error:
        raise InvalidInput(f"Step {number} ({verb}) has wrong arguments: {error}.") from error
    return verb, lambda: method(**arguments)


def _arguments(step: Mapping[str, Any]) -> dict[str, Any]:
    inner = {key: value for name in _INNER if isinstance(step.get(name), Mapping) for key, value in step[name].items()}
    beside = {key: value for key, value in step.items() if key not in ("tool", "action", *_INNER)}
    return {_NAMES.get(key, key): value for key, value in {**inner, **beside}.items()}
