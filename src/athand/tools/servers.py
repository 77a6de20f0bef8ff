"""Which servers there are: named by configurations, registered in catalogues, started if the user trusts them."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from athand.errors import BadData, Conflict, NotFound, Refused, Unavailable
from athand.inputs import check_text
from athand.store import Row, Snapshot, Transaction, to_microseconds
from athand.tools import catalogue, configs, records
from athand.tools.configs import Entry
from athand.tools.desk import Desk
from athand.tools.launch import ServerKey
from athand.tools.scoring import INDEX

if TYPE_CHECKING:
    from athand.tools.gateway import ServerState

ORIGINS = ("user", "project", "code")
SERVER = "space, id, transport, source, origin, description, is_enabled, protocol, listed_at, failure, failed_at"
FAILING = ("failing", "needs login")
_RECENTLY = 300_000_000  # microseconds
NONE = "none"  # the transport of tools that were added without a server


def register(desk: Desk, source: Path, space: str, origin: str) -> tuple[list[Entry], list[ServerKey]]:
    """Register the servers of a configuration; those that it names no more are taken out.

    Returns what it names, and the keys of what is gone or is another server now.
    """
    path = place_of(source)
    entries = list(configs.read_config(path).values())
    with desk.store.snapshot() as snapshot:
        if _is_known(rows(snapshot, space), entries, path, origin):
            return entries, []
    with desk.store.transaction(spaces=(space,)) as transaction:
        known = {row[1]: row for row in rows(transaction, space)}
        named = {entry.name for entry in entries}
        gone = [row[1] for row in known.values() if row[3] == str(path) and row[1] not in named]
        for name in gone:
            unregister(transaction, desk, space, name)
        for entry in entries:
            _save(transaction, desk, space, entry, origin, known.get(entry.name))
            if entry.disabled:
                switch(transaction, desk, (space, entry.name), on=False)
    moved = [name for name in named if name in known and known[name][3] != str(path)]
    return entries, [(space, name) for name in (*gone, *moved)]


def _is_known(known: Sequence[Row], entries: Sequence[Entry], path: Path, origin: str) -> bool:
    """Whether a configuration names what it named before."""
    before = {(row[1], row[2], row[5], bool(row[6])) for row in known if row[3] == str(path) and row[4] == origin}
    return before == {(each.name, each.transport, each.description, not each.disabled) for each in entries}


def _save(transaction: Transaction, desk: Desk, space: str, entry: Entry, origin: str, before: Row | None) -> None:
    """Write a server; one of the same name from another configuration is replaced, its approved tools stay known."""
    values = {
        "space": space,
        "id": entry.name,
        "transport": entry.transport,
        "source": str(entry.source),
        "origin": origin,
        "description": entry.description,
        "is_enabled": int(not entry.disabled) if before is None or entry.disabled else before[6],
        "protocol": before[7] if before else None,
        "listed_at": before[8] if before else None,
        "updated_at": to_microseconds(desk.now()),
    }
    put(transaction, values)


def register_list(desk: Desk, space: str, name: str, description: str | None) -> None:
    """Register a list of tools without a server, unless there is one of that name."""
    values: dict[str, Any] = {"space": space, "id": name, "transport": NONE, "source": None, "origin": "code"}
    values |= {"description": description, "updated_at": to_microseconds(desk.now())}
    with desk.store.transaction(spaces=(space,)) as transaction:
        known = rows(transaction, space, name)
        if not known:
            put(transaction, values)
        elif known[0][3] is None and description not in (None, known[0][5]):
            put(transaction, {**values, "is_enabled": known[0][6], "listed_at": known[0][8]})


def note_listed(desk: Desk, key: ServerKey, protocol: str) -> None:
    """Remember that a server works, and which protocol it speaks."""
    with desk.store.snapshot() as snapshot:
        known = get(snapshot, key[:1], key[1])
    if (known[7], known[9]) != (protocol, None):
        _note(desk, key, "protocol = :value, failure = NULL, failed_at = NULL", protocol)


def note_failures(desk: Desk, states: "Mapping[ServerKey, ServerState]") -> None:
    """Remember which servers do not work, and why: others need not try them at once."""
    failing = {key: state.reason for key, state in states.items() if state.state in FAILING}
    with desk.store.snapshot() as snapshot:
        known = {(row[0], row[1]): row[9:11] for row in rows(snapshot)} if failing else {}
    for key, reason in failing.items():
        if key in known and (known[key][0] != reason or not is_recent(desk, known[key][1])):
            _note(desk, key, "failure = :value, failed_at = :now", reason)


def is_recent(desk: Desk, failed_at: int | None) -> bool:
    """Whether a server has failed so lately that those who only look need not try it again."""
    return failed_at is not None and to_microseconds(desk.now()) - failed_at < _RECENTLY


def _note(desk: Desk, key: ServerKey, what: str, value: str | None) -> None:
    values = {"space": key[0], "id": key[1], "value": value, "now": to_microseconds(desk.now())}
    if ":now" not in what:
        values.pop("now")
    with desk.store.transaction(durable=False, spaces=(key[0],)) as transaction:
        transaction.execute(f"UPDATE tool_servers SET {what} WHERE space = :space AND id = :id", values)


def put(transaction: Transaction, values: Mapping[str, Any]) -> None:
    """Write the row of a server."""
    transaction.execute("DELETE FROM tool_servers WHERE space = :space AND id = :id", dict(values))
    names = ", ".join(values)
    marks = ", ".join(f":{name}" for name in values)
    transaction.execute(f"INSERT INTO tool_servers ({names}) VALUES ({marks})", dict(values))


def switch(transaction: Transaction, desk: Desk, key: ServerKey, *, on: bool) -> None:
    """Switch a server and all its tools on or off."""
    values = {"space": key[0], "server": key[1]}
    sql = "UPDATE tool_servers SET is_enabled = :on WHERE space = :space AND id = :server"
    transaction.execute(sql, {**values, "on": int(on)})
    sql = f"SELECT {records.TOOL} FROM tools WHERE space = :space AND server = :server AND is_deleted = 0"
    entries = [catalogue.to_entry(row) for row in transaction.rows(sql, values)]
    changed = [replace(entry, is_enabled=on) for entry in entries if entry.is_enabled != on]
    catalogue.save(transaction, changed, desk)


def unregister(transaction: Transaction, desk: Desk, space: str, name: str) -> None:
    """Take a server out, and its tools out of the searches; what was approved of them stays known."""
    transaction.execute("DELETE FROM tool_servers WHERE space = :space AND id = :id", {"space": space, "id": name})
    sql = f"SELECT {records.TOOL} FROM tools WHERE space = :space AND server = :server AND is_deleted = 0"
    entries = [catalogue.to_entry(row) for row in transaction.rows(sql, {"space": space, "server": name})]
    catalogue.save(transaction, [catalogue.gone(entry) for entry in entries], desk)
    transaction.remove(INDEX, space, [entry.id for entry in entries])


def rows(snapshot: Snapshot, space: str | None = None, name: str | None = None) -> list[Row]:
    """The servers of a catalogue, or of all."""
    inside, values = records.within(None if space is None else (space,))
    own = "AND id = :name" if name is not None else ""
    sql = f"SELECT {SERVER} FROM tool_servers WHERE {inside} {own} ORDER BY space, id"
    return snapshot.rows(sql, {**values, "name": name} if own else values)


def named_by(desk: Desk, source: Path) -> list[ServerKey]:
    """The servers that come from a configuration."""
    path = str(place_of(source))
    with desk.store.snapshot() as snapshot:
        return [(row[0], row[1]) for row in rows(snapshot) if row[3] == path]


def get(snapshot: Snapshot, spaces: Sequence[str] | None, name: object) -> Row:
    """The server of that name, in the first of these catalogues that has it."""
    check_text("server", name)
    found = [row for row in rows(snapshot, None, str(name)) if spaces is None or row[0] in spaces]
    if not found:
        raise NotFound(f"No server {name!r}. See what there is with: athand tools servers")
    if spaces is None and len(found) > 1:
        names = ", ".join(repr(row[0]) for row in found)
        raise Conflict(f"{name} is in several catalogues: {names}. Say which, by catalogue= or --catalogue.")
    return min(found, key=lambda row: spaces.index(row[0]) if spaces else 0)


def entry_of(desk: Desk, key: ServerKey) -> Entry:
    """A server as its configuration names it now; refused where the user has not trusted that."""
    with desk.store.snapshot() as snapshot:
        _, name, _, source, origin, _, is_enabled, *_ = get(snapshot, key[:1], key[1])
        trusted = _trusted(snapshot, source)
    if source is None:
        raise Unavailable(f"{name} is a list of tools without a server: they can be found, not called.")
    if not is_enabled:
        raise Refused(f"The server {name} is disabled. Enable it with: athand tools enable {name}")
    entries, hash_ = configs.read_config_and_hash(Path(source))
    if origin == "project" and configs.with_files(entries.values(), hash_, desk.environment) != trusted:
        raise Refused(
            f"{source} is not trusted{' any more: it has changed' if trusted else ''}, so nothing in it is started. "
            f"Read it, then run: athand tools trust {source}"
        )
    if name not in entries:
        raise NotFound(f"{source} names no server {name!r} any more. Load it again with: athand tools load {source}")
    return entries[name]


def place_of(path: Path) -> Path:
    """A configuration by the one path of its folder, however that was reached; a link stays a link."""
    try:
        whole = path.expanduser().absolute()
        return Path(os.path.realpath(whole.parent)) / whole.name
    except (RuntimeError, ValueError):  # no path at all, or a home that nobody has: reading it will say so
        return path.absolute()


def trust(desk: Desk, path: Path, as_hash: str | None = None) -> str:
    """Let a project's configuration start what it names, as long as it stays the same; its hash."""
    place = place_of(path)
    hash_ = hash_now(desk, place)
    if as_hash not in (None, hash_):
        raise Conflict(f"{place} has just changed, so it is not trusted. Look at it again: athand tools trust")
    values = {"space": records.EVERYWHERE, "path": str(place), "hash": hash_, "now": to_microseconds(desk.now())}
    with desk.store.transaction(spaces=(records.EVERYWHERE,)) as transaction:
        transaction.execute("DELETE FROM tool_trust WHERE space = :space AND path = :path", values)
        sql = "INSERT INTO tool_trust (space, path, hash, trusted_at) VALUES (:space, :path, :hash, :now)"
        transaction.execute(sql, values)
    return hash_


def distrust(desk: Desk, path: Path) -> bool:
    """Take trust back; whether there was any."""
    values = {"space": records.EVERYWHERE, "path": str(place_of(path))}
    with desk.store.transaction(spaces=(records.EVERYWHERE,)) as transaction:
        return bool(transaction.execute("DELETE FROM tool_trust WHERE space = :space AND path = :path", values))


def is_trusted(desk: Desk, path: Path) -> bool:
    """Whether the user trusts a configuration as it is now; one that cannot be read is not trusted."""
    place = place_of(path)
    with desk.store.snapshot() as snapshot:
        trusted = _trusted(snapshot, str(place))
    try:
        return trusted is not None and trusted == hash_now(desk, place)
    except (NotFound, BadData):
        return False


def hash_now(desk: Desk, place: Path) -> str:
    """What a configuration is trusted by: its bytes, and those of the files of variables that it names."""
    entries, hash_ = configs.read_config_and_hash(place)
    return configs.with_files(entries.values(), hash_, desk.environment)


def _trusted(snapshot: Snapshot, path: str | None) -> str | None:
    """The hash of the configuration that was trusted at this path."""
    sql = "SELECT hash FROM tool_trust WHERE space = :space AND path = :path"
    found = snapshot.rows(sql, {"space": records.EVERYWHERE, "path": path or ""})
    return found[0][0] if found else None


def allowed(entry: Entry, tools: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The tools that the configuration of a server lets in."""
    return [tool for tool in tools if configs.allowed(entry, str(tool.get("name", "")))]
