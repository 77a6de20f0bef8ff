"""A server that wants a login, and the server that gives out the tokens for it; both on one loopback address."""

import secrets
import time
from typing import Any
from urllib.parse import urlencode

from chaos.web import free_socket, tool_server
from mcp.server.auth.provider import AccessToken, AuthorizationCode, AuthorizationParams, RefreshToken
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken


class Tokens:
    """Gives out tokens to everybody who asks, and takes them back when the test says so."""

    def __init__(self) -> None:
        self.clients: dict[str, OAuthClientInformationFull] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.access: dict[str, AccessToken] = {}
        self.refresh: dict[str, RefreshToken] = {}
        self.refreshed = 0
        self.lasts: int | None = 3600  # what is said to the client
        self.refuses = False

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        """The user agrees at once, or not at all."""
        if self.refuses:
            return f"{params.redirect_uri}?{urlencode({'error': 'access_denied', 'state': params.state})}"
        code = AuthorizationCode(
            code=secrets.token_hex(),
            scopes=params.scopes or [],
            expires_at=time.time() + 3600,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=True,
            resource=params.resource,
        )
        self.codes[code.code] = code
        return f"{params.redirect_uri}?{urlencode({'code': code.code, 'state': params.state})}"

    async def load_authorization_code(self, client: Any, authorization_code: str) -> AuthorizationCode | None:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(self, client: Any, authorization_code: AuthorizationCode) -> OAuthToken:
        del self.codes[authorization_code.code]
        return self._given(client.client_id, authorization_code.resource)

    async def load_refresh_token(self, client: Any, refresh_token: str) -> RefreshToken | None:
        return self.refresh.get(refresh_token)

    async def exchange_refresh_token(self, client: Any, refresh_token: RefreshToken, scopes: list[str]) -> OAuthToken:
        del self.refresh[refresh_token.token]
        self.refreshed += 1
        return self._given(client.client_id, refresh_token.resource)

    async def load_access_token(self, token: str) -> AccessToken | None:
        return self.access.get(token)

    async def revoke_token(self, token: Any) -> None:
        self.access.pop(token.token, None)
        self.refresh.pop(token.token, None)

    def _given(self, client_id: str, resource: str | None) -> OAuthToken:
        access, refresh = secrets.token_hex(), secrets.token_hex()
        self.access[access] = AccessToken(token=access, client_id=client_id, scopes=[], resource=resource)
        self.refresh[refresh] = RefreshToken(token=refresh, client_id=client_id, scopes=[])
        return OAuthToken(access_token=access, refresh_token=refresh, expires_in=self.lasts)


def protected(tokens: Tokens) -> tuple[Any, Any]:
    """The application and the socket it is made for."""
    listener = free_socket()
    address = f"http://127.0.0.1:{listener.getsockname()[1]}"
    settings = AuthSettings(
        issuer_url=address,
        resource_server_url=f"{address}/mcp",
        client_registration_options=ClientRegistrationOptions(enabled=True),
        validate_token_resource=False,
    )
    server = tool_server(auth_server_provider=tokens, auth=settings)
    return server.streamable_http_app(), listener
