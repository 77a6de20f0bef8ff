"""The servers that run for this process: started from what their configurations name now, and from nothing else."""

import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from athand.tools import catalogue, configs, servers
from athand.tools.catalogue import Offer
from athand.tools.configs import Entry
from athand.tools.desk import Desk
from athand.tools.launch import Launch, ServerKey

if TYPE_CHECKING:
    from athand.tools.gateway import Gateway, Listing, ServerState


class Running:
    """Starts servers when they are needed, and takes in what they offer. Nothing is loaded before it is needed."""

    def __init__(self, desk: Desk, take_in: Callable[[Offer], object]) -> None:
        self._desk, self._take_in = desk, take_in
        self._lock = threading.Lock()
        self._gateway: Gateway | None = None
        self._started: dict[ServerKey, Entry] = {}

    def connect(self, keys: Iterable[ServerKey]) -> None:
        """Connect in the background."""
        for key in keys:
            self._upstream().connect(key)

    def wait(self, seconds: float) -> bool:
        """Until every server that was asked for is connected or has failed; what failed is remembered."""
        is_settled = self._gateway is None or self._gateway.wait(seconds)
        servers.note_failures(self._desk, self.states())
        return is_settled

    def refresh(self, key: ServerKey, seconds: float | None) -> None:
        """List the tools of a server again, now."""
        self.forget_other(key, servers.entry_of(self._desk, key))
        self._upstream().refresh(key, seconds)

    def login(self, key: ServerKey, open_page: Callable[[str], None], seconds: float) -> None:
        """Let the user log in to a remote server."""
        self._upstream().login(key, open_page=open_page, seconds=seconds)

    def logout(self, key: ServerKey) -> bool:
        """Forget a login; whether there was one."""
        from athand.tools.oauth import forget_login

        self.forget(key)
        launch = configs.launch(servers.entry_of(self._desk, key), self._desk.environment)
        return forget_login(self._desk.choices.tokens, key, launch)

    def call(
        self,
        key: ServerKey,
        tool: str,
        arguments: dict[str, Any],
        seconds: float | None,
        check: Callable[[], None],
    ) -> Mapping[str, Any]:
        """What a tool answers; refused where the trust in its configuration was taken away meanwhile."""
        self.forget_other(key, servers.entry_of(self._desk, key))
        return self._upstream().call(key, tool, arguments, seconds=seconds, check=check)

    def states(self) -> "Mapping[ServerKey, ServerState]":
        """How the servers are that were asked for."""
        return {} if self._gateway is None else self._gateway.states()

    def forget(self, key: ServerKey) -> None:
        """Stop a server and know nothing of it any more."""
        self._started.pop(key, None)
        if self._gateway is not None:
            self._gateway.forget(key)

    def forget_other(self, key: ServerKey, entry: Entry) -> None:
        """Stop a server that was started as something else than its configuration names now."""
        if self._started.get(key, entry) != entry:
            self.forget(key)

    def forget_all_of(self, source: Path) -> list[ServerKey]:
        """Stop the servers of a configuration; the keys of those that were asked for."""
        asked = self.states()
        keys = [key for key in servers.named_by(self._desk, source) if key in asked]
        for key in keys:
            self.forget(key)
        return keys

    def close(self) -> None:
        """Stop everything."""
        with self._lock:
            gateway, self._gateway = self._gateway, None
        if gateway is not None:
            gateway.close()

    def _upstream(self) -> "Gateway":
        with self._lock:
            if self._gateway is None:
                from athand.tools.gateway import Gateway

                choices = self._desk.choices
                self._gateway = Gateway(
                    self._launch, self._listed, tokens=choices.tokens, idle_seconds=choices.idle_seconds
                )
            return self._gateway

    def _launch(self, key: ServerKey) -> Launch:
        self._started[key] = servers.entry_of(self._desk, key)
        return configs.launch(self._started[key], self._desk.environment)

    def _listed(self, key: ServerKey, listing: "Listing") -> None:
        """Take in what a server lists, as far as its configuration lets it."""
        entry = servers.entry_of(self._desk, key)
        self._take_in(catalogue.offer(*key, servers.allowed(entry, listing.tools)))
        servers.note_listed(self._desk, key, listing.protocol)
