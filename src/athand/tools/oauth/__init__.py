"""OAuth logins to remote servers: made once in a browser, stored, refreshed, and used for their server only."""

from collections.abc import AsyncGenerator, Callable
from pathlib import Path

import httpx2
from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import OAuthClientMetadata
from pydantic import AnyUrl

from athand.errors import AthandError, InvalidInput, Unavailable
from athand.tools.gateway import connection
from athand.tools.gateway.diagnostics import (
    Diagnostics,
    LoginNeeded,
    error_text,
    has_authorization,
    leaf_errors,
    origin_of,
)
from athand.tools.gateway.timing import run_with_timeout
from athand.tools.model import Launch, ServerKey
from athand.tools.oauth.callback import Callback, listen_for_callback
from athand.tools.oauth.token_store import TokenStore

_UNUSED_REDIRECT = "http://127.0.0.1/callback"  # never opened: a stored login shows no page


class StoredLogin(OAuthClientProvider):
    """Uses and refreshes the tokens of an earlier login; never prompts the user."""

    def __init__(self, store: TokenStore, url: str) -> None:
        super().__init__(url, _client_metadata(_UNUSED_REDIRECT), store)
        self._store = store
        store.context = lambda: self.context

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """While the tokens are valid, requests run in parallel; otherwise one after the other."""
        if self._initialized and self.context.is_token_valid():
            self._add_auth_header(request)
            response = yield request
            if response.status_code != 401:
                return
        elif self._initialized:
            self._initialized = False  # another process may have refreshed them
        flow = super().async_auth_flow(request)
        try:
            outgoing = await anext(flow)
            while True:
                outgoing = await flow.asend((yield outgoing))
        except StopAsyncIteration:
            return
        finally:
            await flow.aclose()

    async def _initialize(self) -> None:
        await self._store.load()
        await super()._initialize()
        self._store.restore(self.context)

    async def _perform_authorization(self) -> httpx2.Request:
        """Refresh instead of prompting the user; also helps when tokens are revoked before they expire."""
        if not self.context.can_refresh_token():
            raise LoginNeeded
        self._store.restore(self.context)  # refreshed by their issuer, whatever the server says now
        return await self._refresh_token()

    async def _handle_refresh_response(self, response: httpx2.Response) -> bool:
        """On failure, use the stored tokens if another process has refreshed them meanwhile."""
        used = self.context.current_tokens
        if await super()._handle_refresh_response(response):
            return True
        newer = await (await self._store.load()).get_tokens()
        if newer is None or used is None or newer.refresh_token == used.refresh_token:
            return False
        self.context.current_tokens = newer
        self._store.restore(self.context)
        return True

    async def _handle_token_response(self, response: httpx2.Response) -> None:
        if not await self._handle_refresh_response(response):
            raise LoginNeeded


def forget_login(folder: Path | None, key: ServerKey, launch: Launch) -> bool:
    """Delete the tokens of a server; whether there were any."""
    return folder is not None and TokenStore(folder, key, launch.url).forget()


async def load_login(folder: Path | None, key: ServerKey, launch: Launch) -> StoredLogin | None:
    """The stored login of a server; None if there is none or the configuration has an Authorization header."""
    if folder is None or launch.transport == "stdio" or has_authorization(launch):
        return None
    store = await TokenStore(folder, key, launch.url).load()
    return None if store.is_empty else StoredLogin(store, launch.url)


async def login(
    folder: Path | None, key: ServerKey, launch: Launch, open_page: Callable[[str], None], seconds: float
) -> None:
    """Let the user log in, and store the tokens."""
    if launch.transport == "stdio":
        raise InvalidInput(f"The server {launch.name} is started on this machine: there is nowhere to log in.")
    if has_authorization(launch):
        raise InvalidInput(f"The configuration of {launch.name} has an Authorization header: it is used as it is.")
    if folder is None:
        raise Unavailable("There is no folder to store logins in.")
    try:
        async with listen_for_callback(open_page) as callback:
            await run_with_timeout(seconds, _request_login(TokenStore(folder, key, launch.url), launch, callback))
    except TimeoutError:
        raise Unavailable(f"Nobody logged in to {origin_of(launch.url)} within {seconds:g} s.") from None


async def _request_login(store: TokenStore, launch: Launch, callback: Callback) -> None:
    """Connect without credentials, so that the server starts the OAuth flow."""
    metadata = _client_metadata(callback.address)
    auth = OAuthClientProvider(launch.url, metadata, store, callback.open_login_page, callback.wait_for_code)
    store.context = lambda: auth.context
    *others, last = connection.connection_attempts(launch.transport)
    for attempt in (*others, last):
        diagnostics = Diagnostics(launch)
        try:
            async with connection.open_connection(diagnostics, auth, attempt, lambda: None) as opened:
                await opened.list_tools()
                return
        except Exception as error:  # any error is reported to the user
            if attempt == last or not connection.can_try_next(diagnostics):
                raise _login_error(launch, error) from error


def _login_error(launch: Launch, error: Exception) -> AthandError:
    own = next((each for each in leaf_errors(error) if isinstance(each, AthandError)), None)
    return own or Unavailable(f"The login to {origin_of(launch.url)} failed: {error_text(error, launch)}.")


def _client_metadata(address: str) -> OAuthClientMetadata:
    return OAuthClientMetadata(client_name="Athand", redirect_uris=[AnyUrl(address)])
