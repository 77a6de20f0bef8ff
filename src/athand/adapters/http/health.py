"""Whether the server lives, whether it can answer, and its numbers."""

import logging
import threading
import time
from collections.abc import Callable, Mapping
from http import HTTPStatus

from fastapi import APIRouter
from starlette.responses import Response

from athand.adapters.http.answers import Json, Problem
from athand.adapters.http.metrics import CONTENT_TYPE, Metrics
from athand.adapters.operations import AppContext
from athand.errors import AthandError
from athand.types import Status

log = logging.getLogger("athand")

_FRESH = 5.0  # seconds: anybody may ask, and asking must cost nothing
_TEXT = {"type": "string"}


class Pulse:
    """The state of the store, looked at now and then."""

    def __init__(self, workspace: AppContext, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._workspace, self._clock = workspace, clock
        self._lock = threading.Lock()
        self._looked = float("-inf")
        self._status: Status | None = None

    def status(self) -> Status | None:
        """How things are; None if the store cannot be read. What is wrong with it is for the log only."""
        with self._lock:
            if self._clock() - self._looked > _FRESH:
                try:
                    self._status = self._workspace.athand.status()
                except AthandError as error:
                    log.warning("Not ready: %s", error)
                    self._status = None
                self._looked = self._clock()
            return self._status


def health_router(pulse: Pulse, metrics: Metrics) -> APIRouter:
    """The routes that watch over the server."""
    router = APIRouter(default_response_class=Json, tags=["server"])
    alive = {"type": "object", "properties": {"alive": {"const": True}}}
    ready = {"type": "object", "properties": {"ready": {"const": True}, "store": _TEXT, "model": _TEXT}}

    @router.get("/healthz", operation_id="healthz", responses={200: _json(alive)})
    async def healthz() -> Response:
        """The process lives. No token is needed."""
        return Json({"alive": True})

    @router.get("/readyz", operation_id="readyz", responses={200: _json(ready)})
    def readyz() -> Response:
        """The store can be read; without a working model searches are by keyword. No token is needed."""
        status = pulse.status()
        if status is None:
            detail = "The store cannot be read. See why with: athand status"
            return Problem(HTTPStatus.SERVICE_UNAVAILABLE, detail)
        model = "working" if status.model["working"] else "not working: searching by keyword only"
        return Json({"ready": True, "store": "readable", "model": model})

    @router.get("/metrics", operation_id="metrics", responses={200: {"content": {"text/plain": {"schema": _TEXT}}}})
    def numbers() -> Response:
        """Numbers for Prometheus."""
        return Response(metrics.text(), media_type=CONTENT_TYPE)

    return router


def _json(schema: Mapping[str, object]) -> dict[str, object]:
    return {"description": "How it is", "content": {"application/json": {"schema": schema}}}
