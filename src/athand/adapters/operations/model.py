"""An operation: a service method with a name, a scope and a kind; parameters and answer are read off its signature."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, get_type_hints

from pydantic import BaseModel

from athand.adapters.operations.answers import hide_texts, plain_answer, schema_of
from athand.adapters.operations.arguments import make_model, plain_argument, schema_of_arguments, validate
from athand.adapters.operations.caller import AGENT, Caller
from athand.adapters.operations.context import AppContext
from athand.adapters.project import DEFAULT
from athand.parameters import Choice, FromCaller, Help, Parameter, parameters_of
from athand.tools.access import count_searches, limit_servers

ALWAYS = "everything"  # the toolset that is part of every choice of toolsets
KINDS = ("read", "write", "destructive")

OwnBrowser = Annotated[str | None, Help("The session that the browser records; needed if several are open")]
_BROWSER = Parameter("session_id", OwnBrowser, None)

Progress = Callable[[int, int], None]  # done, total
Function = Callable[..., Any]


@dataclass(frozen=True)
class Operation:
    """One thing that can be done, as every surface offers it."""

    name: str  # of the MCP tool: memory_add
    path: str  # of the HTTP route, made of the names in the Python API: memories/add
    toolset: str
    scope: str
    kind: str
    run: Function  # a method of a service, or a function of the context
    title: str
    idempotent: bool  # doing it twice changes nothing more
    open_world: bool  # it reaches beyond the store: a server, a browser
    # The name of the corpus that has the method, "" for Athand itself, "browser" for a browser; None for a function.
    service: str | None
    description: str
    corpora: tuple[str, ...] = ()  # the names that a parameter `corpora` takes

    @cached_property
    def signature(self) -> Mapping[str, Parameter]:
        """The parameters that a caller gives, as the method has them; with the browser, and names of corpora."""
        written = {name: each for name, each in parameters_of(self.run).items() if not each.find(FromCaller)}
        if self.service == "browser":
            written["session_id"] = _BROWSER
        if "corpora" in written:
            names = Annotated[Sequence[Annotated[str, Choice(self.corpora)]] | None, Help(written["corpora"].help)]
            written["corpora"] = replace(written["corpora"], annotation=names)
        return written

    @cached_property
    def from_caller(self) -> Mapping[str, str]:
        """The parameters that are filled in from the caller, with the attribute of it."""
        marks = {name: each.find(FromCaller) for name, each in parameters_of(self.run).items()}
        return {name: mark.attribute for name, mark in marks.items() if mark}

    @cached_property
    def arguments(self) -> type[BaseModel]:
        """The pydantic model of the parameters; it refuses unknown ones."""
        return make_model(self.name, self.signature.values())

    @cached_property
    def parameters(self) -> dict[str, Any]:
        """The JSON Schema of the parameters."""
        return schema_of_arguments(self.arguments)

    @cached_property
    def answer(self) -> dict[str, Any]:
        """The JSON Schema of the answer."""
        return schema_of(get_type_hints(self.run)["return"])

    @cached_property
    def has_progress(self) -> bool:
        """Whether it reports progress."""
        return "progress" in inspect.signature(self.run).parameters

    @property
    def is_slow(self) -> bool:
        """Whether it may take long, or waits for a server or a browser."""
        return self.open_world or self.has_progress or self.scope in ("call-tools", "admin")

    def perform(
        self,
        ctx: AppContext,
        arguments: Mapping[str, Any] | BaseModel,
        *,
        caller: Caller = AGENT,
        progress: Progress | None = None,
    ) -> Any:
        """Validate the arguments, run the operation, and return its answer as JSON values."""
        checked = arguments if isinstance(arguments, BaseModel) else self.check(arguments)
        keywords = self._keywords(checked) | self._find_home(checked, caller)
        given = dict(keywords)
        keywords.update({name: getattr(caller, each) if each else caller for name, each in self.from_caller.items()})
        if self.has_progress:
            keywords["progress"] = progress or _ignore_progress
        outcome = "ok"
        try:
            with limit_servers(caller.servers), count_searches(caller.may_write or caller.may_call):
                answer = plain_answer(self._call(ctx, keywords, caller))
            return hide_texts(answer, self.answer, given) if self.scope == "write" and not caller.may_read else answer
        except Exception as error:
            outcome = type(error).__name__
            raise
        finally:
            ctx.tally(self.name, outcome)

    def check(self, arguments: Mapping[str, Any]) -> BaseModel:
        """The arguments as their model; raises an error that names everything that is wrong."""
        return validate(self.name, self.arguments, arguments)

    def _keywords(self, arguments: BaseModel) -> dict[str, Any]:
        values = {name: plain_argument(getattr(arguments, name)) for name in self.signature}
        return {name: value for name, value in values.items() if value is not None or not self.signature[name].is_extra}

    def _find_home(self, arguments: BaseModel, caller: Caller) -> dict[str, str]:
        """The project of the caller, where something is kept in a project and none is named."""
        project = self.signature.get("project")
        is_open = project is not None and project.default == DEFAULT and "project" not in arguments.model_fields_set
        return {"project": caller.project} if is_open and caller.project else {}

    def _call(self, ctx: AppContext, keywords: dict[str, Any], caller: Caller) -> Any:
        """Call the function or the service method; a method cannot reach catalogues of another project."""
        if self.service is None:
            return self.run(ctx, **keywords)
        if self.service == "browser":
            return self.run(ctx.browsers.get(keywords.pop("session_id"), caller), **keywords)
        if "catalogue" in keywords:
            keywords["catalogue"] = ctx.resolve_catalogues(keywords["catalogue"])
        service = ctx.athand.corpora[self.service] if self.service else ctx.athand
        return getattr(service, self.run.__name__)(**keywords)


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
    """A row of the table of operations. The path and toolset of a service method follow from its class and name."""
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


def _ignore_progress(done: int, total: int) -> None:
    """Shows nothing: the default progress callback."""
