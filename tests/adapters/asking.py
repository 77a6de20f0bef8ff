"""An operation that asks: what `memory_add` keeps is what the person behind the client has answered."""

from athand.adapters.operations.model import Operation

COLOUR = {"type": "object", "properties": {"colour": {"type": "string"}}, "required": ["colour"]}
_perform = Operation.perform


def asking(self, ctx, arguments, *, caller, progress=None):
    if self.name == "memory_add":
        answer = caller.ask("Which colour?", COLOUR)
        arguments = {**arguments, "content": f"The answer was {answer}"}
    return _perform(self, ctx, arguments, caller=caller, progress=progress)


def install():
    """For a process of its own."""
    Operation.perform = asking
