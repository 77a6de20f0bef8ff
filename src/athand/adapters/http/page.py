"""The web page at /ui/: its files, from memory, with a policy that lets nothing run but them."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from fastapi import APIRouter
from starlette.responses import RedirectResponse, Response

from athand.adapters.http.responses import ProblemResponse
from athand.adapters.http.route_table import PAGE_PATHS

_HOME, _VIEW, _FILE = PAGE_PATHS[0], PAGE_PATHS[2], PAGE_PATHS[3]
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
_MEDIA_TYPES = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "txt": "text/plain; charset=utf-8",
}


def page_router() -> APIRouter:
    """The routes of the page. They need no token: the files hold nothing of the store."""
    router = APIRouter(include_in_schema=False)

    @router.get(_HOME)
    @router.get("/ui")
    def home() -> Response:
        """From the address of the server to the page."""
        return RedirectResponse("/ui/", 302)

    @router.get(_FILE)
    def file(name: str) -> Response:
        """A file of the page."""
        data = read_files().get(name)
        if data is None:
            return ProblemResponse(404, "The page has no such file.")
        return Response(data, media_type=_MEDIA_TYPES[name.rpartition(".")[2]], headers=_HEADERS)

    @router.get(_VIEW)
    def view(path: str) -> Response:
        """Every view has an address; all of them load the same page, which reads its own address."""
        return Response(read_files()["index.html"], media_type=_MEDIA_TYPES["html"], headers=_HEADERS)

    return router


@cache
def read_files() -> Mapping[str, bytes]:
    """The files of the page by their path: a request can name one of these, and no other."""
    return dict(_walk(files("athand.adapters.web") / "static", ""))


def _walk(folder: Traversable, prefix: str) -> list[tuple[str, bytes]]:
    found = []
    for each in folder.iterdir():
        if each.is_dir():
            found += _walk(each, f"{prefix}{each.name}/")
        else:
            found.append((f"{prefix}{each.name}", each.read_bytes()))
    return found
