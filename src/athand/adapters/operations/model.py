"""An operation: a function with a name, a scope and a kind; its signature tells its parameters and its answer."""

import inspect
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, get_type_hints

from pydantic import BaseModel, ConfigDict, create_model

from athand.adapters.operations.answers import plain_answer, schema_of
from athand.adapters.operations.arguments import checked, schema_of_arguments

if TYPE_CHECKING:
    from athand.adapters.operations.browsers import Browsers
    from athand.app import Athand

ALWAYS = "everything"  # the toolset that every choice of toolsets has
TOOLSETS = ("memories", "documents", "tools", "flows", "store")
SCOPES = ("search", "write", "call-tools", "admin")
DEFAULT_SCOPES = ("search", "write", "call-tools")  # what an agent may do; the rest is for its owner
KINDS = ("read", "write", "destructive")

Progress = Callable[[int, int], None]  # done, total
Tally = Callable[[str, str], None]  # the name of an operation; ok, or the kind of its error
Function = Callable[..., Any]
_GIVEN = ("ctx", "progress")  # what the surface hands in, not the caller


class AppContext:
    """What operations work with: Athand, opened when it is first needed, and the browsers that were launched."""

    def __init__(self, opener: "Callable[[], Athand]") -> None:
        self._opener = opener
        self._lock = threading.RLock()
        self._closing = ExitStack()
        self._athand: Athand | None = None
        self._browsers: Browsers | None = None
        self.tally: Tally = _nobody_counts

    @property
    def athand(self) -> "Athand":
        """The one Athand of this process."""
        with self._lock:
            if self._athand is None:
                self._athand = self._closing.enter_context(self._opener())
            return self._athand

    @property
    def browsers(self) -> "Browsers":
        """The browsers that are open, by the session they record."""
        with self._lock:
            if self._browsers is None:
                from athand.adapters.operations.browsers import Browsers

                self._browsers = Browsers(self.athand.flows)
                self._closing.callback(self._browsers.close)
            return self._browsers

    def close(self) -> None:
        """Let go of everything: browsers first, then the store."""
        with self._lock:
            self._closing.close()


@dataclass(frozen=True)
class Operation:
    """One thing that can be done, as every surface offers it."""

    name: str  # of the MCP tool: memory_add
    path: str  # of the HTTP route, the words of the Python API: memories/add
    toolset: str
    scope: str
    kind: str
    run: Function
    title: str
    idempotent: bool  # doing it twice changes nothing more
    open_world: bool  # it reaches beyond the store: a server, a browser

    @property
    def description(self) -> str:
        """What it does, as its docstring says."""
        return inspect.getdoc(self.run) or ""

    @cached_property
    def arguments(self) -> type[BaseModel]:
        """The parameters, as a model that refuses what it does not know."""
        hints = get_type_hints(self.run, include_extras=True)
        given = [each for each in inspect.signature(self.run).parameters.values() if each.name not in _GIVEN]
        fields: dict[str, Any] = {
            each.name: (hints[each.name], ... if each.default is each.empty else each.default) for each in given
        }
        # What was given may be secret: no error repeats it.
        strict = ConfigDict(extra="forbid", allow_inf_nan=False, hide_input_in_errors=True)
        return create_model(self.name, __config__=strict, **fields)

    @cached_property
    def parameters(self) -> dict[str, Any]:
        """The JSON Schema of the parameters, as surfaces publish it."""
        return schema_of_arguments(self.arguments)

    @cached_property
    def answer(self) -> dict[str, Any]:
        """The JSON Schema of the answer."""
        return schema_of(get_type_hints(self.run)["return"])

    def perform(
        self, ctx: AppContext, arguments: Mapping[str, Any] | BaseModel, *, progress: Progress | None = None
    ) -> Any:
        """Check the arguments, do it, and answer with plain JSON values."""
        taken = arguments if isinstance(arguments, BaseModel) else self.check(arguments)
        given = {name: getattr(taken, name) for name in type(taken).model_fields}
        if "progress" in inspect.signature(self.run).parameters:
            given["progress"] = progress or _nobody_watches
        outcome = "ok"
        try:
            return plain_answer(self.run(ctx, **given))
        except Exception as error:
            outcome = type(error).__name__
            raise
        finally:
            ctx.tally(self.name, outcome)

    def check(self, arguments: Mapping[str, Any]) -> BaseModel:
        """The arguments as their model; an error that names all that is wrong."""
        return checked(self.name, self.arguments, arguments)


def operation(
    path: str,
    *,
    toolset: str,
    scope: str = "search",
    kind: str = "read",
    title: str = "",
    idempotent: bool = False,
    open_world: bool = False,
) -> Callable[[Function], Operation]:
    """Make a function an operation: it takes the context as `ctx`, and `progress` where the work is long."""

    def decorate(function: Function) -> Operation:
        name = function.__name__
        shown = title or name.replace("_", " ").capitalize()
        return Operation(name, path, toolset, scope, kind, function, shown, idempotent or kind == "read", open_world)

    return decorate


def _nobody_watches(done: int, total: int) -> None:
    """Progress that is not shown."""


def _nobody_counts(name: str, outcome: str) -> None:
    """Operations that are not counted."""
