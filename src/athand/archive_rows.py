"""The parts of an archive that are table rows, as JSON Lines: tools, their rules, folders, rejected suggestions.

Each row is read into what it stands for before anything is written. What would let something run or be read without
the user is not taken over: tools are quarantined, servers need trust again, folders wait.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from athand.documents import folders
from athand.documents.cursors import ensure_key
from athand.errors import AthandError, BadData
from athand.flows.rows import insert_row
from athand.flows.validation import check_id
from athand.inputs import check_choice, check_name, check_text
from athand.store import Snapshot, Store, Transaction, to_datetime, to_microseconds
from athand.store.tables import Table
from athand.tools import Tools, catalogue, definitions
from athand.tools.calls import DECISIONS
from athand.tools.catalogue import StoredTool
from athand.tools.config import TRANSPORTS
from athand.tools.model import STATES, Rule
from athand.tools.rows import put_rule
from athand.tools.scoring import INDEX
from athand.tools.servers import NONE, list_rows, put_server

Line = Mapping[str, Any]
Kind = TypeVar("Kind")
_FOLDER_COLUMNS = ("space", "path", "host", "project", "added_at")
_TRANSIENT = ("failure", "failed_at")  # the state of a server on this machine
_LONGEST_DEFINITION = 10_000_000  # bytes
_TOOL_TABLES = ("tool_servers", "tools", "tool_rules", "tool_trust")


@dataclass(frozen=True, slots=True)
class ArchivedRows:
    """What the rows of an archive stand for."""

    servers: Sequence[dict[str, Any]]
    tools: Sequence[StoredTool]
    rules: Sequence[Rule]
    trusted: Sequence[str]  # paths of configurations
    folders: Sequence[dict[str, Any]]
    rejections: Sequence[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class ImportedTools:
    """What was new among the tools of an archive, and what waits for a decision of the user."""

    servers: int
    tools: int
    rules: int
    waiting: tuple[str, ...]


def export_rows(snapshot: Snapshot, table: Table) -> Iterator[dict[str, Any]]:
    """The rows of a table in the order of its key, each with the table's name, without the state of this machine."""
    names = table.columns
    for row in snapshot.rows(f"SELECT {', '.join(names)} FROM {table} ORDER BY {', '.join(table.key)}"):
        line = dict(zip(names, row, strict=True))
        kept = {name: line[name] for name in _FOLDER_COLUMNS} if table.name == "document_folders" else line
        yield {"table": table.name, **{name: value for name, value in kept.items() if name not in _TRANSIENT}}


def read_rows(tools: Sequence[Line], folders_: Sequence[Line], rejections: Sequence[Line]) -> ArchivedRows:
    """What the rows stand for; BadData names the first that makes no sense."""
    by_table = _group(tools, _TOOL_TABLES)
    return ArchivedRows(
        servers=_read_all(by_table["tool_servers"], _read_server),
        tools=_read_all(by_table["tools"], _read_tool),
        rules=_read_all(by_table["tool_rules"], _read_rule),
        trusted=_read_all(by_table["tool_trust"], _read_trust),
        folders=_read_all(_group(folders_, ("document_folders",))["document_folders"], _read_folder),
        rejections=_read_all(_group(rejections, ("flow_rejections",))["flow_rejections"], _read_rejection),
    )


def put_tools(tools: Tools, rows: ArchivedRows) -> ImportedTools:
    """Imports new servers, tools and rules in one transaction."""
    with tools.store.transaction() as transaction:
        new_servers = _put_servers(transaction, rows.servers)
        new = _put_tools(transaction, tools, rows.tools)
        new_rules = _put_rules(transaction, rows.rules)
    if new:
        tools.embed_missing()
    sources = {server["source"] for server in new_servers if server["source"] is not None}
    waiting = [
        f"{path} needs your trust: read it, then athand tools trust {path}"
        for path in sorted({*sources, *rows.trusted})
    ]
    waiting += [f"{tool.id} waits for approval: athand tools approve {tool.id}" for tool in new if _waits(tool)]
    allowed = [rule.pattern for rule in rows.rules if rule.decision == "allow"]
    waiting += [f'the rule to allow {each} was not taken: athand tools rule "{each}" allow' for each in allowed]
    return ImportedTools(len(new_servers), len(new), len(new_rules), tuple(waiting))


def put_folders(store: Store, rows: ArchivedRows, now: datetime) -> list[str]:
    """Registers new folders, which are not read before the user asks for it; returns their paths."""
    with store.transaction() as transaction:
        known = transaction.rows("SELECT space, path FROM document_folders")
        names, paths = {name for name, _ in known}, {path for _, path in known}
        new = [folder for folder in rows.folders if folder["space"] not in names and folder["path"] not in paths]
        for folder in new:
            folders.insert(transaction, folder, folders.IMPORTED, to_microseconds(now))
        ensure_key(transaction)
    return [folder["path"] for folder in new]


def put_rejections(store: Store, rows: ArchivedRows) -> None:
    """Imports new rejections of suggested actions."""
    with store.transaction() as transaction:
        for each in rows.rejections:
            insert_row(transaction, "flow_rejections", each, if_new=True)


def _group(lines: Sequence[Line], tables: Sequence[str]) -> dict[str, list[Line]]:
    """The rows by table."""
    groups: dict[str, list[Line]] = {table: [] for table in tables}
    for line in lines:
        table = line.get("table")
        if table not in groups:
            raise BadData(f"A row of {table!r} does not belong here. Nothing was imported.")
        groups[table].append(line)
    return groups


def _read_all(lines: Sequence[Line], read: Callable[[Line], Kind]) -> list[Kind]:
    """What each of these rows stands for."""
    found = []
    for number, line in enumerate(lines, 1):
        try:
            found.append(read(line))
        except (AthandError, ValueError, TypeError, OverflowError) as error:
            where = f"row {number} of {line['table']}"
            raise BadData(f"{where} in the archive does not fit: {error} Nothing was imported.") from error
    return found


def _read_server(line: Line) -> dict[str, Any]:
    """The row of a server: whoever named its configuration, the user has to trust it here."""
    source = line.get("source")
    if source is not None and not Path(check_text("source", source)).is_absolute():
        raise BadData(f"source {source!r} must be an absolute path.")
    return {
        "space": check_name("space", line.get("space")),
        "id": check_name("id", line.get("id")),
        "transport": NONE if source is None else check_choice("transport", line.get("transport"), TRANSPORTS),
        "source": source,
        "origin": "code" if source is None else "project",
        "description": _optional_text("description", line.get("description")),
        "is_enabled": int(_flag("is_enabled", line.get("is_enabled", 1))),
        "protocol": _optional_text("protocol", line.get("protocol")),
        "listed_at": _optional_moment("listed_at", line.get("listed_at")),
        "updated_at": _moment("updated_at", line.get("updated_at")),
    }


def _read_tool(line: Line) -> StoredTool:
    """A tool; its definition must be the one that its hash was made of."""
    from athand.tools.poisoning.scan import scan_definition  # slow to import

    definition = definitions.from_json(check_text("definition", line.get("definition"), longest=_LONGEST_DEFINITION))
    hash_ = definitions.content_hash(definition)
    if hash_ != line.get("hash"):
        raise BadData(f"the tool {line.get('id')!r} is not the one that was approved: its hash differs.")
    server = check_name("server", line.get("server"))
    if line.get("id") != definitions.tool_id(server, definition.name):
        raise BadData(f"the tool {line.get('id')!r} has the id of another one.")
    state = check_choice("state", line.get("state"), STATES)
    return StoredTool(
        space=check_name("space", line.get("space")),
        id=definitions.tool_id(server, definition.name),
        server=server,
        definition=definition,
        hash=hash_,
        offered=None,
        state="rejected" if state == "rejected" else "quarantined",
        is_enabled=_flag("is_enabled", line.get("is_enabled", 1)),
        flags=scan_definition(definition, server),
        created_at=_moment("created_at", line.get("created_at")),
        is_deleted=_flag("is_deleted", line.get("is_deleted", 0)),
    )


def _read_trust(line: Line) -> str:
    check_text("hash", line.get("hash"))
    return check_text("path", line.get("path"))


def _read_rule(line: Line) -> Rule:
    pattern, decision = check_name("pattern", line.get("pattern")), line.get("decision")
    return Rule(pattern, check_choice("decision", decision, DECISIONS), check_name("space", line.get("space")))


def _read_folder(line: Line) -> dict[str, Any]:
    path = check_text("path", line.get("path"))
    if not Path(path).is_absolute():
        raise BadData(f"path {path!r} must be an absolute path.")
    project = line.get("project")
    return {
        "space": folders.check_folder_id(line.get("space")),
        "path": path,
        "host": check_text("host", line.get("host")),
        "project": None if project is None else check_name("project", project),
        "added_at": _moment("added_at", line.get("added_at")),
    }


def _read_rejection(line: Line) -> dict[str, Any]:
    texts = {name: _text(name, line.get(name)) for name in ("screen", "action", "element")}
    at = _moment("rejected_at", line.get("rejected_at"))
    return {"space": check_id("space", line.get("space")), **texts, "rejected_at": at}


def _text(what: str, value: object) -> str:
    """A text, which may be empty."""
    return "" if value == "" else check_text(what, value)


def _optional_text(what: str, value: object) -> str | None:
    return None if value is None else _text(what, value)


def _flag(what: str, value: object) -> bool:
    if value not in (0, 1):
        raise BadData(f"{what} must be 0 or 1.")
    return bool(value)


def _moment(what: str, value: object) -> int:
    """Microseconds since 1970 that are a time."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise BadData(f"{what} must be a whole number.")
    to_datetime(value)
    return value


def _optional_moment(what: str, value: object) -> int | None:
    return None if value is None else _moment(what, value)


def _put_servers(transaction: Transaction, servers: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Writes the servers that are not there yet; returns them."""
    known = {row.key for row in list_rows(transaction)}
    new = [server for server in servers if (server["space"], server["id"]) not in known]
    for server in new:
        put_server(transaction, server)
    return new


def _put_tools(transaction: Transaction, tools: Tools, found: Sequence[StoredTool]) -> list[StoredTool]:
    """Writes and indexes the tools that are not there yet; their vectors are embedded later. Returns them."""
    new = [tool for tool in found if not catalogue.get_stored_tools(transaction, tool.space, [tool.id])]
    if new:
        catalogue.save_tools(transaction, new, tools)
        transaction.put(INDEX, [tool.passage for tool in new if not tool.is_deleted], None)
    return new


def _put_rules(transaction: Transaction, rules: Sequence[Rule]) -> list[Rule]:
    """Writes the rules that restrict calls and are not there yet; returns them."""
    return [rule for rule in rules if rule.decision != "allow" and put_rule(transaction, rule)]


def _waits(tool: StoredTool) -> bool:
    return tool.state == "quarantined" and not tool.is_deleted


def read_lines(file: Path) -> list[Mapping[str, Any]]:
    """The objects of a JSON Lines file; none if there is no file."""
    if not file.is_file() or not file.stat().st_size:
        return []
    found = []
    for number, line in enumerate(file.read_bytes().removesuffix(b"\n").split(b"\n"), 1):
        try:
            found.append(json.loads(line))
        except (ValueError, RecursionError) as error:
            raise BadData(f"{file.name} line {number} is not JSON: {error}. Nothing was imported.") from error
        if not isinstance(found[-1], dict):
            raise BadData(f"{file.name} line {number} is no object. Nothing was imported.")
    return found
