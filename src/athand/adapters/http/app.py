"""The HTTP gateway: every operation, the routes of the tools, MCP, health and numbers behind one row of guards."""

import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fastapi import FastAPI
from starlette.routing import Route

from athand import __version__
from athand.adapters.http.answers import answer_with_problems
from athand.adapters.http.callers import Callers
from athand.adapters.http.description import describe
from athand.adapters.http.guards import Bodies, Gate, Hosts
from athand.adapters.http.health import Pulse, health_router
from athand.adapters.http.limits import Limits
from athand.adapters.http.metrics import Metrics
from athand.adapters.http.observing import Observer
from athand.adapters.http.page import pages_router
from athand.adapters.http.places import MCP, Places
from athand.adapters.http.routes import operations_router
from athand.adapters.http.timing import Clock
from athand.adapters.http.tools import tools_router
from athand.adapters.operations import AppContext
from athand.adapters.operations.threads import Threads

if TYPE_CHECKING:
    from athand.adapters.mcp.endpoint import McpEndpoint

_ABOUT = "Finds what an AI agent can use: tools, documents, memories and UI flows, with scores that say why."


@dataclass(frozen=True, slots=True)
class Options:
    """What a server offers, under which names, and how much of it."""

    names: Sequence[str] = ()  # besides those of the loopback
    mcp: bool = True
    toolsets: Sequence[str] | None = None
    profile: str | None = None
    limits: Limits = field(default_factory=Limits)


def http_app(workspace: AppContext, *, callers: Callers, options: Options = Options()) -> FastAPI:
    """The app. It opens the store, and leaves closing it to the caller."""
    threads = Threads()
    endpoint = _mcp_endpoint(workspace, threads, options) if options.mcp else None
    app = FastAPI(
        title="Athand",
        version=__version__,
        description=_ABOUT,
        openapi_url=None,
        redirect_slashes=False,
        lifespan=_lifespan(threads, endpoint),
    )
    app.state.end_streams = endpoint.end_streams if endpoint is not None else lambda: None
    pulse = Pulse(workspace)
    metrics = Metrics(pulse.status)
    workspace.tally = metrics.operation
    places = _add_routes(app, workspace, threads, pulse, metrics)
    if endpoint is not None:
        route = Route(MCP, endpoint, methods=["GET", "POST", "DELETE"])
        app.router.routes.append(route)
        places.add(route)
    answer_with_problems(app)
    _add_guards(app, places, callers, metrics, options)
    return app


def _add_routes(app: FastAPI, workspace: AppContext, threads: Threads, pulse: Pulse, metrics: Metrics) -> Places:
    """All routes but MCP; the document of the pages is made from them."""
    places = Places()
    app.openapi = _described_once(app, places)  # type: ignore[method-assign]
    routers = [
        operations_router(workspace, threads),
        tools_router(workspace.athand, catalogue=workspace.athand.tools.catalogues, threads=threads),
        health_router(pulse, metrics),
        pages_router(app.openapi),
    ]
    for router in routers:
        app.include_router(router)
        for route in router.routes:
            places.add(route)
    return places


def _described_once(app: FastAPI, places: Places) -> "Callable[[], dict[str, object]]":
    making = threading.Lock()  # the framework fails where two threads ask it for the document at once

    def described() -> dict[str, object]:
        with making:
            if app.openapi_schema is None:
                app.openapi_schema = describe(app, places)
            return app.openapi_schema

    return described


def _add_guards(app: FastAPI, places: Places, callers: Callers, metrics: Metrics, options: Options) -> None:
    """The innermost first: each stands around those before it."""
    app.add_middleware(Clock)
    app.add_middleware(Bodies, limits=options.limits)
    app.add_middleware(Gate, places=places, callers=callers, limits=options.limits)
    app.add_middleware(Hosts, names=options.names)
    app.add_middleware(Observer, metrics=metrics)


def _mcp_endpoint(workspace: AppContext, threads: Threads, options: Options) -> "McpEndpoint":
    from athand.adapters.mcp.endpoint import McpEndpoint

    return McpEndpoint(workspace, toolsets=options.toolsets, profile=options.profile, threads=threads)


def _lifespan(
    threads: Threads, endpoint: "McpEndpoint | None"
) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            stack.callback(threads.close)
            if endpoint is not None:
                await stack.enter_async_context(endpoint.running())
            yield

    return lifespan
