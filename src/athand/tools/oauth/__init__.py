"""Logins to remote servers: made once in a browser, kept, renewed, and used for nothing but their server."""

from collections.abc import AsyncGenerator, Callable
from pathlib import Path

import httpx2
from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import OAuthClientMetadata
from pydantic import AnyUrl

from athand.errors import AthandError, InvalidInput, Unavailable
from athand.tools.gateway import connection
from athand.tools.gateway.link import Link, LoginNeeded, brings_a_login, causes, in_words, shown_url
from athand.tools.gateway.timing import within
from athand.tools.launch import Launch, ServerKey
from athand.tools.oauth.callback import Callback, listening
from athand.tools.oauth.vault import Vault

_NOWHERE = "http://127.0.0.1/callback"  # no page is ever shown for a login that was kept


class KeptLogin(OAuthClientProvider):
    """Uses the tokens of an earlier login and renews them; it never asks anybody."""

    def __init__(self, vault: Vault, url: str) -> None:
        super().__init__(url, _about_us(_NOWHERE), vault)
        self._vault = vault
        vault.context = lambda: self.context

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """While the tokens hold, requests do not wait for each other; else one after the other."""
        if self._initialized and self.context.is_token_valid():
            self._add_auth_header(request)
            response = yield request
            if response.status_code != 401:
                return
        elif self._initialized:
            self._initialized = False  # another process may have renewed them
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
        self._vault.load()
        await super()._initialize()
        self._vault.remind(self.context)

    async def _perform_authorization(self) -> httpx2.Request:
        """Instead of asking the user: renew, which also helps when tokens end before their time."""
        if not self.context.can_refresh_token():
            raise LoginNeeded
        self._vault.remind(self.context)  # renewed by whom they came from, whatever the server says now
        return await self._refresh_token()

    async def _handle_refresh_response(self, response: httpx2.Response) -> bool:
        """A refusal may only mean that another process was quicker: then its tokens are in the file."""
        used = self.context.current_tokens
        if await super()._handle_refresh_response(response):
            return True
        newer = await self._vault.load().get_tokens()
        if newer is None or used is None or newer.refresh_token == used.refresh_token:
            return False
        self.context.current_tokens = newer
        self._vault.remind(self.context)
        return True

    async def _handle_token_response(self, response: httpx2.Response) -> None:
        if not await self._handle_refresh_response(response):
            raise LoginNeeded


def forget_login(folder: Path | None, key: ServerKey, launch: Launch) -> bool:
    """Throw the tokens of a server away; whether there were any."""
    return folder is not None and Vault(folder, key, launch.url).forget()


def kept_login(folder: Path | None, key: ServerKey, launch: Launch) -> KeptLogin | None:
    """The login for a server, if there is one and the configuration does not bring its own."""
    if folder is None or launch.transport == "stdio" or brings_a_login(launch):
        return None
    vault = Vault(folder, key, launch.url).load()
    return None if vault.is_empty else KeptLogin(vault, launch.url)


async def login(
    folder: Path | None, key: ServerKey, launch: Launch, open_page: Callable[[str], None], seconds: float
) -> None:
    """Let the user log in, and keep what that brings."""
    if launch.transport == "stdio":
        raise InvalidInput(f"The server {launch.name} is started on this machine: there is nowhere to log in.")
    if brings_a_login(launch):
        raise InvalidInput(f"The configuration of {launch.name} has an Authorization header: it is used as it is.")
    if folder is None:
        raise Unavailable("There is no folder to keep logins in.")
    try:
        async with listening(open_page) as callback:
            await within(seconds, _knock(Vault(folder, key, launch.url), launch, callback))
    except TimeoutError:
        raise Unavailable(f"Nobody logged in to {shown_url(launch.url)} within {seconds:g} s.") from None


async def _knock(vault: Vault, launch: Launch, callback: Callback) -> None:
    """Connect as somebody unknown, which makes the server ask for a login."""
    metadata = _about_us(callback.address)
    auth = OAuthClientProvider(launch.url, metadata, vault, callback.ask, callback.answer)
    vault.context = lambda: auth.context
    *others, last = connection.ways(launch.transport)
    for way in (*others, last):
        link = Link(launch)
        try:
            async with connection.opened(link, auth, way, lambda: None) as opened:
                await opened.listing()
                return
        except Exception as error:  # whatever stood in the way is what the user has to know
            if way == last or not connection.is_worth_another_way(link):
                raise _failed(launch, error) from error


def _failed(launch: Launch, error: Exception) -> AthandError:
    ours = next((each for each in causes(error) if isinstance(each, AthandError)), None)
    return ours or Unavailable(f"The login to {shown_url(launch.url)} failed: {in_words(error, launch)}.")


def _about_us(address: str) -> OAuthClientMetadata:
    return OAuthClientMetadata(client_name="Athand", redirect_uris=[AnyUrl(address)])
