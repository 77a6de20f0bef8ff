"""Operations as a surface performs them: every answer is held against the schema that is published for it."""

import json
from contextlib import contextmanager
from importlib import import_module

from jsonschema import Draft202012Validator

from athand import Athand
from athand.adapters.operations import AppContext, operations
from athand.config import Settings


class Caller:
    """Performs operations on a workspace, and knows which it has performed."""

    def __init__(self, at):
        self.at = at
        self.performed = set()

    def __call__(self, name, /, progress=None, **arguments):
        operation = operations()[name]
        answer = json.loads(json.dumps(operation.perform(self.at, arguments, progress=progress), allow_nan=False))
        Draft202012Validator(operation.answer).validate(answer)
        Draft202012Validator(operation.parameters).validate(json.loads(json.dumps(arguments)))
        self.performed.add(name)
        return answer


@contextmanager
def calling(folder):
    """A caller with a store, a home and browsers of its own."""
    at = AppContext(lambda: Athand(":memory:", settings=Settings(home=str(folder / "home"))))
    try:
        yield Caller(at)
    finally:
        at.close()


def names_in(*modules):
    """The operations that these modules have."""
    found = [import_module(f"athand.adapters.operations.{module}") for module in modules]
    return {each.name for module in found for each in module.OPERATIONS}
