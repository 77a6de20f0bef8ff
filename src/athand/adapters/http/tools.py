"""Tool gateway routes: search, list, describe and call tools, and typed stubs for programs in any language.

Routes run in worker threads. Calls have a thread pool of their own, so that slow ones delay no search.
"""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, FastAPI, Query, Request
from fastapi.params import Depends
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from athand.adapters.http.middleware import CALLER
from athand.adapters.http.responses import AsciiJsonResponse, add_error_handlers
from athand.adapters.operations.answers import schema_of
from athand.adapters.operations.caller import Caller
from athand.adapters.operations.context import Catalogues, restrict_catalogues
from athand.adapters.operations.threads import Threads
from athand.app import Athand
from athand.errors import NotFound
from athand.inputs import check_choice
from athand.tools import CallResult, Server, Tool, ToolHit, ToolStats
from athand.tools.model import STATES
from athand.types import Hits

_DEFAULT_CHARS = 20_000  # of a result, unless the caller asks for more or less
_MAX_CALL_SECONDS = 3600.0
_LANGUAGES = {"types": "typescript", "python": "python"}

CatalogueParameter = Annotated[
    list[str] | None, Query(alias="catalogue", description="Catalogues; the first that has a tool wins")
]
FilterParameter = Annotated[
    str | None,
    Query(alias="filter", max_length=20_000, description="Ids or patterns such as git__*, with commas between"),
]
CharsParameter = Annotated[int, Query(ge=1, description="How much text to answer")]


class ToolSearchQuery(BaseModel):
    """A search of tools."""

    model_config = ConfigDict(extra="forbid")

    query: str
    limit: int | None = None
    threshold: float | None = None
    alpha: float | None = None
    server: str | None = None
    catalogue: list[str] | None = None
    mode: str | None = None
    output: Literal["json", "types", "python"] = "json"

    def options(self) -> dict[str, Any]:
        """The search options besides query, catalogues and output."""
        return self.model_dump(exclude={"query", "catalogue", "output"})


class ToolCallBody(BaseModel):
    """A call of a tool. Without `kinds` it may be of any kind; `max_chars` null returns the whole result."""

    model_config = ConfigDict(extra="forbid")

    arguments: dict[str, Any] | str | None = None
    kinds: list[Literal["read", "write", "destructive"]] | None = None
    max_chars: Annotated[int, Field(ge=1)] | None = _DEFAULT_CHARS
    seconds: Annotated[float, Field(gt=0, le=_MAX_CALL_SECONDS)] | None = None


def tools_app(athand: Athand, *, catalogue: Catalogues = None, dependencies: Sequence[Depends] = ()) -> FastAPI:
    """An app to be mounted, without docs pages; every route has the dependencies."""
    app = FastAPI(title="Athand tools", openapi_url=None)
    app.include_router(tools_router(athand, catalogue=catalogue, dependencies=dependencies))
    add_error_handlers(app)
    return app


def tools_router(
    athand: Athand,
    *,
    catalogue: Catalogues = None,
    dependencies: Sequence[Depends] = (),
    threads: Threads | None = None,
) -> APIRouter:
    """The routes of the gateway, limited to these catalogues (default: all)."""
    router = APIRouter(
        dependencies=dependencies,
        default_response_class=AsciiJsonResponse,
        tags=["gateway"],
        generate_unique_id_function=lambda route: f"gateway_{route.name}",
    )
    _add_search_routes(router, athand, catalogue)
    _add_catalogue_routes(router, athand, catalogue)
    _add_call_routes(router, athand, catalogue, threads or Threads())
    _add_stub_routes(router, athand, catalogue)
    return router


def _add_search_routes(router: APIRouter, athand: Athand, reachable: Catalogues) -> None:
    responses = _response_docs(Hits[ToolHit], "text/markdown")

    def search(search_query: ToolSearchQuery, request: Request) -> Response:
        catalogue = restrict_catalogues(search_query.catalogue, reachable)
        hits = athand.tools.search(search_query.query, catalogue=catalogue, **search_query.options())
        if search_query.output == "json":
            return AsciiJsonResponse(hits.to_dict())
        from athand.tools.stubs import render_markdown

        rows = [(hit.item, hit.score, hit.reason) for hit in hits]
        text = render_markdown(rows, _LANGUAGES[search_query.output], gateway=_gateway_url(request, "/search"))
        return _text_response(text, "text/markdown")

    @router.get("/search", responses=responses)
    def search_by_address(search_query: Annotated[ToolSearchQuery, Query()], request: Request) -> Response:
        """The tools that fit a request, best first; nothing if nothing does, with what came closest."""
        return search(search_query, request)

    @router.post("/search", responses=responses)
    def search_by_body(search_query: ToolSearchQuery, request: Request) -> Response:
        """The same, for long requests."""
        return search(search_query, request)

    @router.get("/search/stats", responses=_response_docs(ToolStats))
    def stats() -> Response:
        """How much there is, how often it was used, and what that saves."""
        return AsciiJsonResponse(athand.tools.stats().to_dict())


def _add_catalogue_routes(router: APIRouter, athand: Athand, reachable: Catalogues) -> None:
    @router.get("/servers", responses=_response_docs(list[Server]))
    def servers(request: Request, catalogue: CatalogueParameter = None) -> Response:
        """All servers, and how they are."""
        catalogues = restrict_catalogues(catalogue, reachable)
        found = athand.tools.servers(catalogue=catalogues, by_owner=_is_owner(request))
        return AsciiJsonResponse([each.to_dict() for each in found])

    @router.get("/tools", responses=_response_docs(list[Tool]))
    def tools(
        request: Request,
        filter_: FilterParameter = None,
        server: str | None = None,
        state: str | None = None,
        catalogue: CatalogueParameter = None,
    ) -> Response:
        """All tools, also those that wait for approval, whose texts only the scope admin reads."""
        catalogues = restrict_catalogues(catalogue, reachable)
        if state is not None:
            check_choice("state", state, STATES)
        listed = athand.tools.list(server, catalogue=catalogues, by_owner=_is_owner(request))
        found = _filter_tools(listed, filter_, catalogues)
        return AsciiJsonResponse([tool.to_dict() for tool in found if state in (None, tool.state)])

    @router.get("/tools/{id}", responses=_response_docs(Tool))
    def describe(request: Request, id: str, catalogue: CatalogueParameter = None) -> Response:
        """Everything about one tool; of what is not approved its texts and its changes only with the scope admin."""
        catalogues = restrict_catalogues(catalogue, reachable)
        tool = athand.tools.describe(id, catalogue=catalogues, by_owner=_is_owner(request))
        return AsciiJsonResponse(tool.to_dict())


def _add_call_routes(router: APIRouter, athand: Athand, reachable: Catalogues, threads: Threads) -> None:
    @router.post("/tools/{id}", responses=_response_docs(CallResult))
    async def call(id: str, body: ToolCallBody, request: Request, catalogue: CatalogueParameter = None) -> Response:
        """Call a tool, if it is approved, the rules allow it, and the arguments fit its schema."""

        def call_tool() -> Response:
            catalogues = restrict_catalogues(catalogue, reachable)
            caller = request.scope.get(CALLER)  # none where an application mounts these routes
            name = "http" if caller is None else caller.name
            return AsciiJsonResponse(athand.tools.call(id, catalogue=catalogues, caller=name, **dict(body)).to_dict())

        return await threads.run(call_tool, slow=True)

    @router.get("/continuations/{token}", responses=_response_docs(CallResult))
    def read_on(token: str, max_chars: CharsParameter = _DEFAULT_CHARS) -> Response:
        """The next piece of an answer that was cut."""
        return AsciiJsonResponse(athand.tools.read_on(token, max_chars).to_dict())


def _add_stub_routes(router: APIRouter, athand: Athand, reachable: Catalogues) -> None:
    def render_module(language: str, filter_: str | None, catalogue: Sequence[str] | None, gateway: str) -> str:
        catalogues = restrict_catalogues(catalogue, reachable)
        tools = _filter_tools(athand.tools.list(catalogue=catalogues), filter_, catalogues)
        callable_tools = [tool for tool in tools if not tool.block_reason]
        if not callable_tools:
            raise NotFound("No tool that can be called fits the filter. See what there is with: athand tools list")
        from athand.tools.stubs import render_stubs

        return render_stubs(callable_tools, language, gateway=gateway)

    @router.get("/runtime/tools.ts", responses=_response_docs(None, "text/typescript"))
    def typescript(request: Request, filter_: FilterParameter = None, catalogue: CatalogueParameter = None) -> Response:
        """A module of typed functions that call through this gateway."""
        gateway = _gateway_url(request, "/runtime/tools.ts")
        return _text_response(render_module("typescript", filter_, catalogue, gateway), "text/typescript")

    @router.get("/runtime/tools.py", responses=_response_docs(None, "text/x-python"))
    def python(request: Request, filter_: FilterParameter = None, catalogue: CatalogueParameter = None) -> Response:
        """The same in Python."""
        gateway = _gateway_url(request, "/runtime/tools.py")
        return _text_response(render_module("python", filter_, catalogue, gateway), "text/x-python")


def _is_owner(request: Request) -> bool:
    """Whether the owner asks; an app that does not know its callers takes them for agents."""
    caller: Caller | None = request.scope.get(CALLER)
    return caller is not None and caller.is_owner


def _response_docs(kind: Any, text: str | None = None) -> dict[int | str, dict[str, Any]]:
    """The OpenAPI `responses` of a route: JSON of a type, a text, or either."""
    content: dict[str, Any] = {} if kind is None else {"application/json": {"schema": schema_of(kind)}}
    if text is not None:
        content[text] = {"schema": {"type": "string"}}
    return {200: {"description": "The answer", "content": content}}


def _gateway_url(request: Request, route: str) -> str:
    """The base URL of the gateway as the client sees it, wherever the routes are mounted."""
    return str(request.base_url.replace(path=quote(request.scope["path"].removesuffix(route))))


def _text_response(text: str, media_type: str) -> Response:
    return Response(text.encode("utf-8", "backslashreplace"), media_type=f"{media_type}; charset=utf-8")


def _filter_tools(tools: Sequence[Tool], pattern: str | None, catalogue: Catalogues) -> list[Tool]:
    """The tools whose id matches the filter; if catalogues are given, the first one that has an id wins."""
    # Only * and ? are wildcards: character sets occur in no id, and many of them take fnmatch minutes.
    wanted = [each.strip().replace("[", "[[]") for each in (pattern or "*").split(",") if each.strip()]
    found = [tool for tool in tools if any(fnmatchcase(tool.id, each) for each in wanted)]
    if catalogue is None or isinstance(catalogue, str):
        return found
    first = {tool.id: tool for tool in sorted(found, key=lambda tool: -catalogue.index(tool.catalogue))}
    return [tool for tool in found if first[tool.id] is tool]
