"""Servers: registered from configurations, listed with their state, and started when needed."""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from athand.errors import Conflict, NotFound, Refused, Unavailable
from athand.inputs import check_text
from athand.store import Snapshot, Transaction, check_types, one_of, to_microseconds
from athand.tools import catalogue, config, rows
from athand.tools.access import may_reach
from athand.tools.approvals import get_trusted_hash, is_trusted
from athand.tools.catalogue import Offer
from athand.tools.config import ServerConfig
from athand.tools.config_files import canonical_path
from athand.tools.context import ToolContext
from athand.tools.model import Launch, Server, ServerKey
from athand.tools.relay import Relay
from athand.tools.scoring import INDEX

if TYPE_CHECKING:
    from athand.tools.gateway import Gateway, Listing, ServerState

ORIGINS = ("user", "project", "code")
FAILING = ("failing", "needs login")
_RECENTLY = 300_000_000  # microseconds
NONE = "none"  # the transport of tools that were added without a server


class ServerRow(NamedTuple):
    """A row of the table of servers; times are in microseconds."""

    space: str
    id: str
    transport: str
    source: str | None
    origin: str
    description: str | None
    is_enabled: int
    protocol: str | None
    listed_at: int | None
    failure: str | None
    failed_at: int | None

    @property
    def key(self) -> ServerKey:
        """Catalogue and name."""
        return self.space, self.id


def register(context: ToolContext, source: Path, space: str, origin: str) -> tuple[list[ServerConfig], list[ServerKey]]:
    """Register the servers of a configuration file, and unregister those it no longer contains.

    Returns its servers, and the keys of servers that are gone or now come from another file.
    """
    path = canonical_path(source)
    entries = list(config.read_config(path).values())
    with context.store.snapshot() as snapshot:
        if _is_unchanged(list_rows(snapshot, (space,)), entries, path, origin):
            return entries, []
    with context.store.transaction(spaces=(space,)) as transaction:
        stored = {row.id: row for row in list_rows(transaction, (space,))}
        named = {entry.name for entry in entries}
        gone = [row.id for row in stored.values() if row.source == str(path) and row.id not in named]
        for name in gone:
            unregister(transaction, context, space, name)
        for entry in entries:
            _save_server(transaction, context, space, entry, origin, stored.get(entry.name))
            if entry.disabled:
                enable_server(transaction, context, (space, entry.name), on=False)
    moved = [name for name in named if name in stored and stored[name].source != str(path)]
    return entries, [(space, name) for name in (*gone, *moved)]


def _is_unchanged(stored: Sequence[ServerRow], entries: Sequence[ServerConfig], path: Path, origin: str) -> bool:
    """Whether the file has the same servers as at the last registration."""
    before = {
        (row.id, row.transport, row.description, bool(row.is_enabled))
        for row in stored
        if row.source == str(path) and row.origin == origin
    }
    return before == {(each.name, each.transport, each.description, not each.disabled) for each in entries}


def _save_server(
    transaction: Transaction,
    context: ToolContext,
    space: str,
    entry: ServerConfig,
    origin: str,
    before: ServerRow | None,
) -> None:
    """Write a server; one of the same name from another file is replaced, and its approved tools are kept."""
    values = {
        "space": space,
        "id": entry.name,
        "transport": entry.transport,
        "source": str(entry.source),
        "origin": origin,
        "description": entry.description,
        "is_enabled": int(not entry.disabled) if before is None or entry.disabled else before.is_enabled,
        "protocol": before.protocol if before else None,
        "listed_at": before.listed_at if before else None,
        "updated_at": to_microseconds(context.now()),
    }
    put_server(transaction, values)


def register_list(context: ToolContext, space: str, name: str, description: str | None) -> None:
    """Register a list of tools without a server, unless there is one of that name."""
    values: dict[str, Any] = {"space": space, "id": name, "transport": NONE, "source": None, "origin": "code"}
    values |= {"description": description, "updated_at": to_microseconds(context.now())}
    with context.store.transaction(spaces=(space,)) as transaction:
        stored = list_rows(transaction, (space,), name)
        if not stored:
            put_server(transaction, values)
        elif stored[0].source is None and description not in (None, stored[0].description):
            before = {"is_enabled": stored[0].is_enabled, "listed_at": stored[0].listed_at}
            put_server(transaction, {**values, **before})


def record_listing(context: ToolContext, key: ServerKey, protocol: str) -> None:
    """Record that a server works, and its protocol version."""
    with context.store.snapshot() as snapshot:
        stored = get_row(snapshot, key[:1], key[1])
    if (stored.protocol, stored.failure) != (protocol, None):
        _update_server(context, key, "protocol = :value, failure = NULL, failed_at = NULL", protocol)


def record_failures(context: ToolContext, states: "Mapping[ServerKey, ServerState]") -> None:
    """Record failing servers with the reason, so that other processes do not try them at once."""
    failing = {key: state.reason for key, state in states.items() if state.state in FAILING}
    with context.store.snapshot() as snapshot:
        stored = {row.key: row for row in list_rows(snapshot)} if failing else {}
    for key, reason in failing.items():
        if key in stored and (stored[key].failure != reason or not is_recent(context, stored[key].failed_at)):
            _update_server(context, key, "failure = :value, failed_at = :now", reason)


def is_recent(context: ToolContext, failed_at: int | None) -> bool:
    """Whether a server has failed in the last minutes, so that listing need not try it again."""
    return failed_at is not None and to_microseconds(context.now()) - failed_at < _RECENTLY


def _update_server(context: ToolContext, key: ServerKey, what: str, value: str | None) -> None:
    values = {"space": key[0], "id": key[1], "value": value, "now": to_microseconds(context.now())}
    if ":now" not in what:
        values.pop("now")
    with context.store.transaction(durable=False, spaces=(key[0],)) as transaction:
        transaction.execute(f"UPDATE tool_servers SET {what} WHERE space = :space AND id = :id", values)


def put_server(transaction: Transaction, values: Mapping[str, Any]) -> None:
    """Insert or replace a server."""
    transaction.execute("DELETE FROM tool_servers WHERE space = :space AND id = :id", dict(values))
    names = ", ".join(values)
    marks = ", ".join(f":{name}" for name in values)
    transaction.execute(f"INSERT INTO tool_servers ({names}) VALUES ({marks})", dict(values))


def enable_server(transaction: Transaction, context: ToolContext, key: ServerKey, *, on: bool) -> None:
    """Enable or disable a server and all its tools."""
    values = {"space": key[0], "server": key[1]}
    sql = "UPDATE tool_servers SET is_enabled = :on WHERE space = :space AND id = :server"
    transaction.execute(sql, {**values, "on": int(on)})
    sql = f"SELECT {rows.TOOL} FROM tools WHERE space = :space AND server = :server AND is_deleted = 0"
    entries = [catalogue.to_stored_tool(row) for row in transaction.rows(sql, values)]
    changed = [replace(entry, is_enabled=on) for entry in entries if entry.is_enabled != on]
    catalogue.save_tools(transaction, changed, context)


def unregister(transaction: Transaction, context: ToolContext, space: str, name: str) -> None:
    """Delete a server and remove its tools from the index; their approved definitions are kept."""
    transaction.execute("DELETE FROM tool_servers WHERE space = :space AND id = :id", {"space": space, "id": name})
    sql = f"SELECT {rows.TOOL} FROM tools WHERE space = :space AND server = :server AND is_deleted = 0"
    entries = [catalogue.to_stored_tool(row) for row in transaction.rows(sql, {"space": space, "server": name})]
    catalogue.save_tools(transaction, [replace(entry, is_deleted=True) for entry in entries], context)
    transaction.remove(INDEX, space, [entry.id for entry in entries])


def list_rows(snapshot: Snapshot, spaces: Sequence[str] | None = None, name: str | None = None) -> list[ServerRow]:
    """The rows of some catalogues, or of all."""
    inside, values = one_of("space", spaces)
    own = "AND id = :name" if name is not None else ""
    sql = f"SELECT {', '.join(ServerRow._fields)} FROM tool_servers WHERE {inside} {own} ORDER BY space, id"
    return [check_types(ServerRow(*row)) for row in snapshot.rows(sql, {**values, "name": name} if own else values)]


def list_keys_of(context: ToolContext, source: Path) -> list[ServerKey]:
    """The keys of the servers from a configuration file."""
    path = str(canonical_path(source))
    with context.store.snapshot() as snapshot:
        return [row.key for row in list_rows(snapshot) if row.source == path]


def get_row(snapshot: Snapshot, spaces: Sequence[str] | None, name: object) -> ServerRow:
    """The server of that name, in the first of these catalogues that has it."""
    check_text("server", name)
    found = list_rows(snapshot, spaces, str(name))
    if not found:
        raise NotFound(f"No server {name!r}. See what there is with: athand tools servers")
    if spaces is None and len(found) > 1:
        names = ", ".join(repr(row.space) for row in found)
        raise Conflict(f"{name} is in several catalogues: {names}. Say which, by catalogue= or --catalogue.")
    return min(found, key=lambda row: spaces.index(row.space) if spaces else 0)


def get_config(context: ToolContext, key: ServerKey) -> ServerConfig:
    """The current configuration of a server; Refused if it is disabled or its file is not trusted."""
    with context.store.snapshot() as snapshot:
        row = get_row(snapshot, key[:1], key[1])
        trusted = get_trusted_hash(snapshot, row.source)
    name, source = row.id, row.source
    if source is None:
        raise Unavailable(f"{name} is a list of tools without a server: they can be found, not called.")
    if not row.is_enabled:
        raise Refused(f"The server {name} is disabled. Enable it with: athand tools enable {name}")
    entries, hash_ = config.read_config_and_hash(Path(source))
    if row.origin == "project" and config.hash_with_env_files(entries.values(), hash_, context.environment) != trusted:
        raise Refused(
            f"{source} is not trusted{' any more: it has changed' if trusted else ''}, so nothing in it is started. "
            f"Read it, then run: athand tools trust {source}"
        )
    if name not in entries:
        raise NotFound(f"{source} names no server {name!r} any more. Load it again with: athand tools load {source}")
    return entries[name]


def list_servers(
    context: ToolContext, spaces: Sequence[str] | None, states: Mapping[ServerKey, "ServerState"]
) -> list[Server]:
    """All servers that may be reached, with their state and number of tools."""
    inside, values = one_of("space", spaces)
    sql = (
        "SELECT space, server, count(*), sum(CASE WHEN state IN ('quarantined', 'changed') THEN 1 ELSE 0 END) "
        f"FROM tools WHERE {inside} AND is_deleted = 0 GROUP BY space, server"
    )
    with context.store.snapshot() as snapshot:
        counts = {(row[0], row[1]): (int(row[2]), int(row[3])) for row in snapshot.rows(sql, values)}
        found = [row for row in list_rows(snapshot, spaces) if may_reach(row.id)]
        sources = {row.source for row in found if row.origin == "project" and row.source is not None}
    untrusted = {source for source in sources if not is_trusted(context, Path(source))}
    return [_to_server(context, row, counts.get(row.key, (0, 0)), states, untrusted) for row in found]


def _to_server(
    context: ToolContext,
    row: ServerRow,
    counts: tuple[int, int],
    states: Mapping[ServerKey, "ServerState"],
    untrusted: set[str],
) -> Server:
    state = states.get(row.key)
    status, reason = _get_status(context, row, state, is_trusted=row.source not in untrusted)
    return Server(
        name=row.id,
        catalogue=row.space,
        transport=row.transport,
        source=row.source,
        state=status,
        reason=reason,
        tools=counts[0],
        waiting=counts[1],
        description=row.description,
        protocol=(state.protocol if state is not None else None) or row.protocol,
        retry_at=state.retry_at if state is not None else None,
    )


def _get_status(
    context: ToolContext, row: ServerRow, state: "ServerState | None", *, is_trusted: bool
) -> tuple[str, str | None]:
    """The status of a server and the reason for it: disabled, untrusted, the live state, or the stored one."""
    if not row.is_enabled:
        return "disabled", None
    if not is_trusted:
        return "untrusted", f"Read {row.source}, then run: athand tools trust {row.source}"
    if state is not None:
        return state.state, state.reason
    if row.failure is not None and is_recent(context, row.failed_at):
        return "failing", row.failure
    return "none" if row.source is None else "idle" if row.listed_at else "unknown", row.failure


class RunningServers:
    """The servers used by this process. They are started on demand, and their tool lists update the catalogue."""

    def __init__(self, context: ToolContext, apply_offer: Callable[[Offer], object]) -> None:
        self._context, self._apply_offer = context, apply_offer
        self._lock = threading.Lock()
        self._gateway: Gateway | None = None
        self._started: dict[ServerKey, ServerConfig] = {}

    def connect(self, keys: Iterable[ServerKey]) -> None:
        """Connect in the background."""
        for key in keys:
            self._get_gateway().connect(key)

    def wait(self, seconds: float) -> bool:
        """Wait until every requested server is connected or has failed; records failures."""
        is_settled = self._gateway is None or self._gateway.wait(seconds)
        record_failures(self._context, self.states())
        return is_settled

    def list_starting(self) -> set[ServerKey]:
        """The requested servers that have neither been listed nor failed yet."""
        return set() if self._gateway is None else self._gateway.list_starting()

    def wait_for_one(self, seconds: float) -> None:
        """Wait until one more of them is ready or has failed."""
        if self._gateway is not None:
            self._gateway.wait_for_one(seconds)

    def refresh(self, key: ServerKey, seconds: float | None) -> None:
        """List the tools of a server again."""
        self.forget_on_change(key, get_config(self._context, key))
        self._get_gateway().refresh(key, seconds)

    def login(self, key: ServerKey, open_page: Callable[[str], None], seconds: float) -> None:
        """Let the user log in to a remote server."""
        self._get_gateway().login(key, open_page=open_page, seconds=seconds)

    def logout(self, key: ServerKey) -> bool:
        """Delete a login; whether there was one."""
        from athand.tools.oauth import forget_login

        self.forget(key)
        launch = config.build_launch(get_config(self._context, key), self._context.environment)
        return forget_login(self._context.choices.tokens, key, launch)

    def call(
        self,
        key: ServerKey,
        tool: str,
        arguments: dict[str, Any],
        seconds: float | None,
        check: Callable[[], None],
        relay: Relay | None,
    ) -> Mapping[str, Any]:
        """The result of a tool; Refused if its configuration is no longer trusted."""
        self.forget_on_change(key, get_config(self._context, key))
        return self._get_gateway().call(key, tool, arguments, seconds=seconds, check=check, relay=relay)

    def states(self) -> "Mapping[ServerKey, ServerState]":
        """The states of all requested servers."""
        return {} if self._gateway is None else self._gateway.states()

    def forget(self, key: ServerKey) -> None:
        """Stop a server and drop its state."""
        self._started.pop(key, None)
        if self._gateway is not None:
            self._gateway.forget(key)

    def forget_on_change(self, key: ServerKey, entry: ServerConfig) -> None:
        """Stop a server whose configuration has changed since it was started."""
        if self._started.get(key, entry) != entry:
            self.forget(key)

    def forget_source(self, source: Path) -> list[ServerKey]:
        """Stop the servers of a configuration file; returns the keys of those that were requested."""
        requested = self.states()
        keys = [key for key in list_keys_of(self._context, source) if key in requested]
        for key in keys:
            self.forget(key)
        return keys

    def close(self) -> None:
        """Stop all servers."""
        with self._lock:
            gateway, self._gateway = self._gateway, None
        if gateway is not None:
            gateway.close()

    def _get_gateway(self) -> "Gateway":
        with self._lock:
            if self._gateway is None:
                from athand.tools.gateway import Gateway

                choices = self._context.choices
                self._gateway = Gateway(
                    self._get_launch, self._store_listing, tokens=choices.tokens, idle_seconds=choices.idle_seconds
                )
            return self._gateway

    def _get_launch(self, key: ServerKey) -> Launch:
        self._started[key] = get_config(self._context, key)
        return config.build_launch(self._started[key], self._context.environment)

    def _store_listing(self, key: ServerKey, listing: "Listing") -> None:
        """Apply a tool list to the catalogue, filtered by the configuration."""
        entry = get_config(self._context, key)
        tools = [tool for tool in listing.tools if config.is_tool_allowed(entry, str(tool.get("name", "")))]
        self._apply_offer(catalogue.build_offer(*key, tools))
        record_listing(self._context, key, listing.protocol)
