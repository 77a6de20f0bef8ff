"""Assembles the HTTP server: operations, tool routes, MCP, monitoring, docs and the web page behind the middleware."""

import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fastapi import APIRouter, FastAPI
from starlette.routing import Route

from athand import __version__
from athand.adapters.http.docs_page import docs_router
from athand.adapters.http.events import Events, events_router
from athand.adapters.http.login import login_router
from athand.adapters.http.middleware import Limits
from athand.adapters.http.middleware.access_log import AccessLogMiddleware
from athand.adapters.http.middleware.auth import AuthMiddleware, HostMiddleware
from athand.adapters.http.middleware.body import BodyLimitMiddleware
from athand.adapters.http.middleware.timeout import TimeoutMiddleware
from athand.adapters.http.monitoring import HealthCache, Metrics, monitoring_router
from athand.adapters.http.openapi import build_openapi
from athand.adapters.http.page import page_router
from athand.adapters.http.responses import add_error_handlers
from athand.adapters.http.route_table import MCP_PATH, RouteTable
from athand.adapters.http.routes import operations_router
from athand.adapters.http.screenshots import screenshots_router
from athand.adapters.http.sessions import Sessions
from athand.adapters.http.token_registry import TokenRegistry
from athand.adapters.http.token_routes import tokens_router
from athand.adapters.http.tools import tools_router
from athand.adapters.operations import AppContext, operations
from athand.adapters.operations.threads import Threads

if TYPE_CHECKING:
    from athand.adapters.mcp.streamable_http import McpEndpoint

_DESCRIPTION = "Finds what an AI agent can use: tools, documents, memories and UI flows, with scores that say why."


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """What a server offers, under which host names, and its limits."""

    host_names: Sequence[str] = ()  # besides those of the loopback
    mcp: bool = True
    toolsets: Sequence[str] | None = None
    profile: str | None = None
    limits: Limits = field(default_factory=Limits)


def create_app(ctx: AppContext, *, tokens: TokenRegistry, options: ServerOptions = ServerOptions()) -> FastAPI:
    """The app. It opens the store; the caller closes it."""
    threads = Threads()
    endpoint = _create_mcp_endpoint(ctx, threads, options) if options.mcp else None
    app = FastAPI(
        title="Athand",
        version=__version__,
        description=_DESCRIPTION,
        openapi_url=None,
        redirect_slashes=False,
        lifespan=_make_lifespan(threads, endpoint),
    )
    events = Events(ctx, threads)
    ends = [ctx.athand.end_long_work, events.end, *([endpoint.end_streams] if endpoint is not None else [])]
    app.state.begin_to_end = ends
    health = HealthCache(ctx)
    metrics = Metrics(health.status)
    ctx.tally = metrics.count_operation
    sessions = Sessions(tokens)
    page = [
        login_router(sessions, options.limits),
        tokens_router(tokens),
        events_router(events),
        screenshots_router(ctx),
        page_router(),
    ]
    routes = _add_routes(app, ctx, threads, health, metrics, options.limits, page)
    if endpoint is not None:
        route = Route(MCP_PATH, endpoint, methods=["GET", "POST", "DELETE"])
        app.router.routes.append(route)
        routes.add(route)
    add_error_handlers(app)
    _add_middleware(app, routes, tokens, sessions, metrics, options)
    return app


def _add_routes(
    app: FastAPI,
    ctx: AppContext,
    threads: Threads,
    health: HealthCache,
    metrics: Metrics,
    limits: Limits,
    page: Sequence[APIRouter],
) -> RouteTable:
    """Add all routes but MCP, and return the table of their rules."""
    routes = RouteTable(operations(ctx.corpora).values())
    app.openapi = _cache_openapi(app, routes)  # type: ignore[method-assign]
    routers = [
        operations_router(ctx, threads, max_depth=limits.depth),
        tools_router(ctx.athand, catalogue=ctx.athand.tools.catalogues, threads=threads),
        monitoring_router(health, metrics),
        docs_router(app.openapi),
        *page,
    ]
    for router in routers:
        app.include_router(router)
        for route in router.routes:
            routes.add(route)
    return routes


def _cache_openapi(app: FastAPI, routes: RouteTable) -> "Callable[[], dict[str, object]]":
    lock = threading.Lock()  # FastAPI fails when two threads build the document at once

    def get_openapi() -> dict[str, object]:
        with lock:
            if app.openapi_schema is None:
                app.openapi_schema = build_openapi(app, routes)
            return app.openapi_schema

    return get_openapi


def _add_middleware(
    app: FastAPI,
    routes: RouteTable,
    tokens: TokenRegistry,
    sessions: Sessions,
    metrics: Metrics,
    options: ServerOptions,
) -> None:
    """Add the middleware, innermost first."""
    app.add_middleware(TimeoutMiddleware)
    app.add_middleware(BodyLimitMiddleware, limits=options.limits)
    app.add_middleware(AuthMiddleware, routes=routes, tokens=tokens, sessions=sessions, limits=options.limits)
    app.add_middleware(HostMiddleware, names=options.host_names)
    app.add_middleware(AccessLogMiddleware, metrics=metrics)


def _create_mcp_endpoint(ctx: AppContext, threads: Threads, options: ServerOptions) -> "McpEndpoint":
    from athand.adapters.mcp.streamable_http import McpEndpoint

    return McpEndpoint(ctx, toolsets=options.toolsets, profile=options.profile, threads=threads)


def _make_lifespan(
    threads: Threads, endpoint: "McpEndpoint | None"
) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            stack.callback(threads.close)
            if endpoint is not None:
                await stack.enter_async_context(endpoint.run())
            yield

    return lifespan
