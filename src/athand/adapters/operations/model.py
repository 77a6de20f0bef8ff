"""An operation: a service method with a name, a scope and a kind; its signature tells its parameters and its answer."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, get_type_hints

from pydantic import BaseModel

from athand.adapters.operations.answers import plain_answer, schema_of
from athand.adapters.operations.arguments import checked, make_model, plain_argument, schema_of_arguments
from athand.adapters.operations.catalogues import resolve_catalogues
from athand.adapters.operations.context import AppContext
from athand.parameters import Help, Parameter, parameters_of

ALWAYS = "everything"  # the toolset that every choice of toolsets has
TOOLSETS = ("memories", "documents", "tools", "flows", "store")
SCOPES = ("search", "write", "call-tools", "admin")
DEFAULT_SCOPES = ("search", "write", "call-tools")  # what an agent may do; the rest is for its owner
KINDS = ("read", "write", "destructive")

OwnBrowser = Annotated[str | None, Help("The session that the browser records; needed if several are open")]
_BROWSER = Parameter("session_id", OwnBrowser, None)

Progress = Callable[[int, int], None]  # done, total
Function = Callable[..., Any]


@dataclass(frozen=True)
class Operation:
    """One thing that can be done, as every surface offers it."""

    name: str  # of the MCP tool: memory_add
    path: str  # of the HTTP route, the words of the Python API: memories/add
    toolset: str
    scope: str
    kind: str
    run: Function  # a method of a service, or a function of the context
    title: str
    idempotent: bool  # doing it twice changes nothing more
    open_world: bool  # it reaches beyond the store: a server, a browser
    # The attribute of Athand that has the method, "" for Athand itself, "browser" for a browser; None for a function.
    service: str | None
    description: str

    @cached_property
    def given(self) -> Mapping[str, Parameter]:
        """The parameters, as they are written on the method; a method of a browser needs to know which one is meant."""
        own = parameters_of(self.run)
        return {**own, "session_id": _BROWSER} if self.service == "browser" else own

    @cached_property
    def arguments(self) -> type[BaseModel]:
        """The parameters, as a model that refuses what it does not know."""
        return make_model(self.name, self.given.values())

    @cached_property
    def parameters(self) -> dict[str, Any]:
        """The JSON Schema of the parameters, as surfaces publish it."""
        return schema_of_arguments(self.arguments)

    @cached_property
    def answer(self) -> dict[str, Any]:
        """The JSON Schema of the answer."""
        return schema_of(get_type_hints(self.run)["return"])

    @cached_property
    def has_progress(self) -> bool:
        """Whether it tells how far it is."""
        return "progress" in inspect.signature(self.run).parameters

    def perform(
        self, ctx: AppContext, arguments: Mapping[str, Any] | BaseModel, *, progress: Progress | None = None
    ) -> Any:
        """Check the arguments, do it, and answer with plain JSON values."""
        given = self._keywords(arguments if isinstance(arguments, BaseModel) else self.check(arguments))
        if self.has_progress:
            given["progress"] = progress or _ignore_progress
        outcome = "ok"
        try:
            return plain_answer(self._call(ctx, given))
        except Exception as error:
            outcome = type(error).__name__
            raise
        finally:
            ctx.tally(self.name, outcome)

    def check(self, arguments: Mapping[str, Any]) -> BaseModel:
        """The arguments as their model; an error that names all that is wrong."""
        return checked(self.name, self.arguments, arguments)

    def _keywords(self, taken: BaseModel) -> dict[str, Any]:
        values = {name: plain_argument(getattr(taken, name)) for name in self.given}
        return {name: value for name, value in values.items() if value is not None or not self.given[name].is_extra}

    def _call(self, ctx: AppContext, given: dict[str, Any]) -> Any:
        """Call the function, or the method of its service; a service never reaches catalogues of another project."""
        if self.service is None:
            return self.run(ctx, **given)
        if self.service == "browser":
            return self.run(ctx.browsers.get(given.pop("session_id")), **given)
        if "catalogue" in given:
            given["catalogue"] = resolve_catalogues(ctx, given["catalogue"])
        return self.run(getattr(ctx.athand, self.service) if self.service else ctx.athand, **given)


def row(
    name: str,
    run: Function,
    title: str,
    *,
    path: str = "",
    toolset: str = "",
    scope: str = "search",
    kind: str = "read",
    idempotent: bool = False,
    open_world: bool = False,
) -> Operation:
    """An operation of the table. A service method has its path and toolset from its class and name."""
    owner, _, method = run.__qualname__.rpartition(".")
    service = {"": None, "Athand": ""}.get(owner, owner.lower())
    return Operation(
        name=name,
        path=path or f"{service}/{method.rstrip('_')}".removeprefix("/"),
        toolset=toolset or service or "store",
        scope=scope,
        kind=kind,
        run=run,
        title=title,
        idempotent=idempotent or kind == "read",
        open_world=open_world,
        service=service,
        description=inspect.getdoc(run) or "",
    )


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
        shown = title or function.__name__.replace("_", " ").capitalize()
        return row(
            function.__name__,
            function,
            shown,
            path=path,
            toolset=toolset,
            scope=scope,
            kind=kind,
            idempotent=idempotent,
            open_world=open_world,
        )

    return decorate


def _ignore_progress(done: int, total: int) -> None:
    """Progress that is not shown."""
