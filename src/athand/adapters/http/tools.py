"""The gateway over HTTP: tools are found, described, typed and called by programs in any language.

Routes run in threads. Calls have threads of their own, so that many slow ones hold up no search.
"""

from collections.abc import Sequence
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, FastAPI, Query, Request
from fastapi.params import Depends
from starlette.responses import Response

from athand.adapters.http.answers import Json, answer_with_problems
from athand.adapters.http.tools_requests import (
    PIECE,
    Asked,
    Call,
    Characters,
    Filter,
    Named,
    fitting,
)
from athand.adapters.operations.answers import schema_of
from athand.adapters.operations.catalogues import Catalogues, within
from athand.adapters.operations.threads import Threads
from athand.app import Athand
from athand.errors import NotFound
from athand.inputs import check_choice
from athand.tools import CallResult, Server, Tool, ToolHit, ToolStats
from athand.tools.model import STATES
from athand.types import Hits

_LANGUAGES = {"types": "typescript", "python": "python"}


def tools_app(athand: Athand, *, catalogue: Catalogues = None, dependencies: Sequence[Depends] = ()) -> FastAPI:
    """An app to be mounted. Every route of it needs the dependencies; it shows no pages of its own."""
    app = FastAPI(title="Athand tools", openapi_url=None)
    app.include_router(tools_router(athand, catalogue=catalogue, dependencies=dependencies))
    answer_with_problems(app)
    return app


def tools_router(
    athand: Athand,
    *,
    catalogue: Catalogues = None,
    dependencies: Sequence[Depends] = (),
    threads: Threads | None = None,
) -> APIRouter:
    """The routes of the gateway, for the tools of these catalogues or of all."""
    router = APIRouter(
        dependencies=dependencies,
        default_response_class=Json,
        tags=["gateway"],
        generate_unique_id_function=lambda route: f"gateway_{route.name}",
    )
    _add_finding(router, athand, catalogue)
    _add_looking(router, athand, catalogue)
    _add_calling(router, athand, catalogue, threads or Threads())
    _add_runtime(router, athand, catalogue)
    return router


def _add_finding(router: APIRouter, athand: Athand, reachable: Catalogues) -> None:
    found = _answering(Hits[ToolHit], "text/markdown")

    def search(asked: Asked, request: Request) -> Response:
        catalogue = within(asked.catalogue, reachable)
        hits = athand.tools.search(asked.query, catalogue=catalogue, **asked.options())
        if asked.output == "json":
            return Json(hits.to_dict())
        from athand.tools.stubs import markdown

        rows = [(hit.item, hit.score, hit.reason) for hit in hits]
        return _text(markdown(rows, _LANGUAGES[asked.output], gateway=_gateway(request, "/search")), "text/markdown")

    @router.get("/search", responses=found)
    def search_by_address(asked: Annotated[Asked, Query()], request: Request) -> Response:
        """The tools that fit a request, best first; nothing if nothing does, with what came closest."""
        return search(asked, request)

    @router.post("/search", responses=found)
    def search_by_body(asked: Asked, request: Request) -> Response:
        """The same, for long requests."""
        return search(asked, request)

    @router.get("/search/stats", responses=_answering(ToolStats))
    def stats() -> Response:
        """How much there is, how often it was used, and what that saves."""
        return Json(athand.tools.stats().to_dict())


def _add_looking(router: APIRouter, athand: Athand, reachable: Catalogues) -> None:
    @router.get("/servers", responses=_answering(list[Server]))
    def servers(catalogue: Named = None) -> Response:
        """All servers, and how they are."""
        return Json([each.to_dict() for each in athand.tools.servers(catalogue=within(catalogue, reachable))])

    @router.get("/tools", responses=_answering(list[Tool]))
    def tools(
        wanted: Filter = None, server: str | None = None, state: str | None = None, catalogue: Named = None
    ) -> Response:
        """All tools, also those that wait for approval."""
        place = within(catalogue, reachable)
        if state is not None:
            check_choice("state", state, STATES)
        found = fitting(athand.tools.list(server, catalogue=place), wanted, place)
        return Json([tool.to_dict() for tool in found if state in (None, tool.state)])

    @router.get("/tools/{id}", responses=_answering(Tool))
    def describe(id: str, catalogue: Named = None) -> Response:
        """Everything about one tool."""
        return Json(athand.tools.describe(id, catalogue=within(catalogue, reachable)).to_dict())


def _add_calling(router: APIRouter, athand: Athand, reachable: Catalogues, threads: Threads) -> None:
    @router.post("/tools/{id}", responses=_answering(CallResult))
    async def call(id: str, wanted: Call, catalogue: Named = None) -> Response:
        """Call a tool, if it is approved, the rules allow it, and the arguments fit its schema."""

        def called() -> Response:
            place = within(catalogue, reachable)
            return Json(athand.tools.call(id, catalogue=place, **dict(wanted)).to_dict())

        return await threads.run(called, slow=True)

    @router.get("/continuations/{token}", responses=_answering(CallResult))
    def read_on(token: str, max_chars: Characters = PIECE) -> Response:
        """The next piece of an answer that was cut."""
        return Json(athand.tools.read_on(token, max_chars).to_dict())


def _add_runtime(router: APIRouter, athand: Athand, reachable: Catalogues) -> None:
    def module(language: str, wanted: str | None, catalogue: Sequence[str] | None, gateway: str) -> str:
        place = within(catalogue, reachable)
        found = [tool for tool in fitting(athand.tools.list(catalogue=place), wanted, place) if not tool.blocked]
        if not found:
            raise NotFound("No tool that can be called fits the filter. See what there is with: athand tools list")
        from athand.tools.stubs import stubs

        return stubs(found, language, gateway=gateway)

    @router.get("/runtime/tools.ts", responses=_answering(None, "text/typescript"))
    def typescript(request: Request, wanted: Filter = None, catalogue: Named = None) -> Response:
        """A module of typed functions that call through this gateway."""
        gateway = _gateway(request, "/runtime/tools.ts")
        return _text(module("typescript", wanted, catalogue, gateway), "text/typescript")

    @router.get("/runtime/tools.py", responses=_answering(None, "text/x-python"))
    def python(request: Request, wanted: Filter = None, catalogue: Named = None) -> Response:
        """The same in Python."""
        gateway = _gateway(request, "/runtime/tools.py")
        return _text(module("python", wanted, catalogue, gateway), "text/x-python")


def _answering(kind: Any, text: str | None = None) -> dict[int | str, dict[str, Any]]:
    """What a route says it answers: JSON of a kind, a text, or either."""
    content: dict[str, Any] = {} if kind is None else {"application/json": {"schema": schema_of(kind)}}
    if text is not None:
        content[text] = {"schema": {"type": "string"}}
    return {200: {"description": "The answer", "content": content}}


def _gateway(request: Request, route: str) -> str:
    """The address of the gateway as the caller knows it, wherever the routes are mounted."""
    return str(request.base_url.replace(path=quote(request.scope["path"].removesuffix(route))))


def _text(text: str, media_type: str) -> Response:
    return Response(text.encode("utf-8", "backslashreplace"), media_type=f"{media_type}; charset=utf-8")
