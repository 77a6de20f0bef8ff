"""The screenshot of a recorded step: a picture of the session's own folder, and no other file."""

from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from athand.adapters.http.route_table import SCREENSHOT_PATH
from athand.adapters.operations import AppContext
from athand.errors import NotFound
from athand.files import open_regular

_MOST_BYTES = 20_000_000
_KINDS = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg"}  # by how they begin
_HEADERS = {"Content-Security-Policy": "sandbox; default-src 'none'"}


def screenshots_router(ctx: AppContext) -> APIRouter:
    """The route of screenshots."""
    router = APIRouter(tags=["flows"])
    picture = {200: {"description": "The picture", "content": {"image/png": {}, "image/jpeg": {}}}}

    @router.get(SCREENSHOT_PATH, operation_id="screenshot", summary="The screenshot of a step", responses=picture)  # type: ignore[arg-type]
    def screenshot(
        session_id: Annotated[str, Query(description="The id of the session")],
        position: Annotated[int, Query(ge=1, le=1_000_000, description="The position of the step")],
    ) -> Response:
        """What the browser showed at a step of a recorded session."""
        data = _read(ctx, session_id, position)
        kind = next((kind for start, kind in _KINDS.items() if data.startswith(start)), None)
        if kind is None:
            raise NotFound("The file of this screenshot is no picture.")
        return Response(data, media_type=kind, headers=_HEADERS)

    return router


def _read(ctx: AppContext, session_id: str, position: int) -> bytes:
    flows = ctx.athand.flows
    steps = {step.position: step for step in flows.steps(session_id)}
    path, folder = getattr(steps.get(position), "screenshot", None), flows.pictures(session_id)
    if path is None or folder is None or not Path(path).resolve().is_relative_to(folder.resolve()):
        raise NotFound(f"Step {position} of {session_id} has no screenshot here.")
    try:
        with open_regular(Path(path), follow_links=False) as file:
            return file.read(_MOST_BYTES)
    except OSError as error:
        raise NotFound(f"The screenshot of step {position} cannot be read: {error.strerror or error}.") from error
