"""A gateway in this process: its tokens, and clients that hold them."""

import itertools
from contextlib import contextmanager
from dataclasses import dataclass, field

from starlette.testclient import TestClient

from athand import Athand
from athand.adapters.http.app import ServerOptions, create_app
from athand.adapters.http.token_registry import TokenRegistry, create_token, ensure_owner_token
from athand.adapters.operations import AppContext

ADDRESS = "http://127.0.0.1:7325"


@dataclass
class Gateway:
    app: object
    folder: object
    workspace: AppContext
    owner: str
    client: TestClient
    _numbers: object = field(default_factory=lambda: itertools.count(1))

    def token(self, *scopes):
        """A new token with these scopes; the server has noticed it."""
        return create_token(self.folder, f"t{next(self._numbers)}", scopes)[1]

    def get(self, path, token=None, **given):
        return self.ask("GET", path, token, **given)

    def post(self, path, json=None, token=None, **given):
        return self.ask("POST", path, token, json={} if json is None else json, **given)

    def ask(self, method, path, token=None, headers=None, **given):
        authorization = {"Authorization": f"Bearer {self.owner if token is None else token}"} if token != "" else {}
        return self.client.request(method, path, headers={**authorization, **(headers or {})}, **given)


@contextmanager
def opened(folder, *, location=":memory:", **options):
    """A gateway on a store; its tokens are in the folder."""
    folder.chmod(0o700)
    workspace = AppContext(lambda: Athand(location))
    owner = ensure_owner_token(folder)
    clock = itertools.count(10, 10)  # each look is ten seconds after the last, so that no change is overlooked
    registry = TokenRegistry(folder, clock=lambda: next(clock))
    try:
        app = create_app(workspace, tokens=registry, options=ServerOptions(**options))
        with TestClient(app, base_url=ADDRESS, client=("127.0.0.1", 5000)) as client:
            yield Gateway(app, folder, workspace, owner, client)
    finally:
        workspace.close()


def is_problem(answer, status):
    """Whether it is a problem with this status, that says something."""
    if answer.request.method == "HEAD":
        return answer.status_code == status
    problem = answer.json()
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.status_code, problem["status"]) == (status, status), problem
    return bool(problem["detail"])
