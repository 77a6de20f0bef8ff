"""Moves the servers of an MCP client behind Athand, and back; nothing is lost if it is interrupted at any step.

What is needed to undo it is written first, then our own file of servers, then the client's file. Undoing goes the
other way: the client's file, our own, the record.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import click

from athand.adapters.cli.install_clients import Client
from athand.adapters.cli.install_entries import create_stdio_entry
from athand.adapters.cli.render_tools import escape_line, hide_secrets
from athand.adapters.cli.session import Session
from athand.adapters.cli.tools_catalogues import servers_file
from athand.adapters.cli.words import echo, pluralize
from athand.errors import NotFound
from athand.files import replace_atomically, sync
from athand.tools.clients import ClientServers, read_files
from athand.tools.config import parse_servers
from athand.tools.config_files import (
    parse_object,
    read_bytes,
    read_user_config,
    remove_from_user_config,
    write_user_config,
)
from athand.types import Noun

RECORD = "taken-over.json"  # beside our own file of servers
Entries = Mapping[str, Any]
Step = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Move(Noun):
    """The servers that left a client's file or came back to it, and those that stayed where they were."""

    client: str
    file: str
    moved: tuple[str, ...] = ()
    stayed: tuple[str, ...] = ()
    backup: str | None = None


def transfer(session: Session, name: str, *, is_back: bool, only_print: bool) -> None:
    """Carry out `--take-over` or `--give-back` for a client, and say what was done."""
    client, own, now = Client(name), servers_file(session), datetime.now(UTC)
    if is_back:
        _report(session, give_back(client, own, now), f"Gave {{}} back to {name}", "it has others of that name")
        session.say(f" Restart {name}. Athand has them no longer, unless another program's are the same.")
        return
    found, ready = find_movable(client, own)
    for note in found.notes:
        session.say(f" {click.style('!', fg='yellow')} {escape_line(note)}")
    if only_print:
        _preview(session, ready)
        return
    moved = take_over(client, own, create_stdio_entry(session, client), now)
    _report(session, moved, f"Moved {{}} of {name} behind Athand", "Athand has others of that name, or a note says why")
    if moved.moved:
        session.say(f" Restart {name}. See them with: athand tools servers")
        session.say(f" Undo it with: athand tools import --give-back {name}")


def has_taken_over(session: Session, name: str) -> bool:
    """Whether servers of a client are behind Athand."""
    return name in _read_record(servers_file(session))


def _preview(session: Session, ready: Mapping[str, Entries]) -> None:
    if session.as_json:
        session.show({"mcpServers": {name: hide_secrets(entry) for name, entry in ready.items()}})
    elif session.quiet:
        echo("\n".join(ready))
    else:
        names = ", ".join(map(escape_line, ready)) or "none"
        session.say(f" These servers would move: {names}. Nothing was written. Move them without --print.")


def _report(session: Session, move: Move, done: str, why: str) -> None:
    if session.print_plain(move, data="file"):
        return
    session.say(
        f"{done.format(pluralize(len(move.moved), 'server'))}: {', '.join(map(escape_line, move.moved)) or '—'}"
    )
    session.say(f" {move.file} was changed." if move.moved else f" {move.file} stays as it is.")
    if move.stayed:
        session.say(f" {', '.join(map(escape_line, move.stayed))} stayed: {why}.")
    if move.backup:
        session.say(f" The previous file is kept as {move.backup}")


def find_movable(client: Client, own: Path) -> tuple[ClientServers, dict[str, Any]]:
    """The servers in a client's file, and those of them in our format that would work behind Athand."""
    found = read_files(client.name, [client.file])
    theirs, ours = client.servers, read_user_config(own)
    ready = {
        name: entry
        for name, entry in found.servers.items()
        if name in theirs and name not in found.incomplete and ours.get(name, entry) == entry and _works(name, entry)
    }
    return found, ready


def _works(name: str, entry: Entries) -> bool:
    return parse_servers({"mcpServers": {name: entry}}, Path())[name].problem is None


def take_over(client: Client, own: Path, entry: Entries, now: datetime) -> Move:
    """Move the servers of a client to our own file, and put Athand in their place."""
    found, ready = find_movable(client, own)
    stayed = tuple(name for name in found.servers if name not in ready)
    old = client.read_data()
    if not ready or old is None:
        return Move(client.name, str(client.file), stayed=stayed)
    added = {} if client.entry is not None else {client.entry_name: entry}
    new = client.edit(put=added, remove=ready)
    present = read_user_config(own)
    step = {
        "theirs": {name: client.servers[name] for name in ready},
        "ours": {name: each for name, each in ready.items() if name not in present},
        "added": added,
        "before": _hash(old),
        "after": _hash(new),
    }
    backup = client.back_up(old, now)
    _push(own, client.name, {**step, "backup": str(backup)})
    try:
        write_user_config(own, ready)
        sync(own.resolve().parent)
        client.replace(new, instead_of=old)
    except Exception:
        _forget_step(own, client.name)
        backup.unlink()
        raise
    return Move(client.name, str(client.file), tuple(ready), stayed, str(backup))


def give_back(client: Client, own: Path, now: datetime) -> Move:
    """Move the servers that were taken over back to the client's file; where nobody changed it, it is as it was."""
    steps = _read_record(own).get(client.name, [])
    if not steps:
        raise NotFound(f"No servers of {client.name} were taken over. Nothing was written.")
    moved: dict[str, None] = {}
    backup = None
    for step in reversed(steps):
        backup = _restore(client, step, now) or backup
        moved |= dict.fromkeys(step["theirs"])
        _forget_step(own, client.name)
    here = client.servers
    stayed = tuple(name for name in moved if not any(here.get(name) == step["theirs"].get(name) for step in steps))
    given = tuple(name for name in moved if name not in stayed)
    return Move(client.name, str(client.file), given, stayed, None if backup is None else str(backup))


def _restore(client: Client, step: Step, now: datetime) -> Path | None:
    """Bring the client's file back: from its copy if nobody changed it since, else entry by entry."""
    data = client.read_data()
    copy = _read_copy(step)
    if data is not None and copy is not None and _hash(data) in (step["before"], step["after"]):
        if data != copy:
            client.replace(copy, instead_of=data)
        Path(step["backup"]).unlink()
        return None
    here = client.servers
    missing = {name: entry for name, entry in step["theirs"].items() if name not in here}
    new = client.edit(put=missing, remove=[name for name, entry in step["added"].items() if here.get(name) == entry])
    if new == data:
        return None
    backup = None if data is None else client.back_up(data, now)
    client.replace(new, instead_of=data)
    return backup


def _read_copy(step: Step) -> bytes | None:
    """The copy of the client's file from before, if it is still there as it was made."""
    try:
        data = Path(step["backup"]).read_bytes()
    except FileNotFoundError:
        return None
    return data if _hash(data) == step["before"] else None


# The record: the steps of each client, the latest last


def _read_record(own: Path) -> dict[str, list[Step]]:
    path = own.with_name(RECORD)
    try:
        return parse_object(read_bytes(path), path)
    except NotFound:
        return {}


def _write_record(own: Path, record: Mapping[str, list[Step]]) -> None:
    own.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with replace_atomically(own.with_name(RECORD)) as file:
        file.write(json.dumps({name: steps for name, steps in record.items() if steps}, indent=1).encode())
    sync(own.parent)


def _push(own: Path, client: str, step: Step) -> None:
    record = _read_record(own)
    _write_record(own, {**record, client: [*record.get(client, []), step]})


def _forget_step(own: Path, client: str) -> None:
    """Take the latest step of a client back from our own file, but what other steps need, and forget it."""
    record = _read_record(own)
    *earlier, step = record[client]
    record[client] = earlier
    here = read_user_config(own)
    for name, entry in step["ours"].items():
        other = _find_step(record.values(), name)
        if other is not None:
            other["ours"][name] = entry
        elif here.get(name) == entry:
            remove_from_user_config(own, name)
    _write_record(own, record)


def _find_step(record: Iterable[list[Step]], name: str) -> Step | None:
    """A step that still needs this server in our own file."""
    return next((step for steps in record for step in steps if name in step["theirs"]), None)


def _hash(data: bytes) -> str:
    return sha256(data).hexdigest()
