"""SQL of tools, usage counters and rules: queries, and conversion of rows."""

import json
from collections.abc import Iterator, Mapping, Sequence

from athand.errors import Conflict, NotFound
from athand.inputs import is_text
from athand.store import Passage, Row, Snapshot, Transaction, one_of, to_datetime
from athand.text_length import estimate_tokens
from athand.tools import definitions
from athand.tools.access import may_reach, server_condition
from athand.tools.definitions import to_passage
from athand.tools.masking import indexed_definition, pattern_of_shown_id
from athand.tools.model import Definition, Flag, Rule, Tool
from athand.types import Filter

EVERYWHERE = "*"
SEARCHED = Filter("i.is_searched = 1")
GENERATION = "generation"
TOOL = (
    "space, id, server, definition, hash, offered, offered_hash, state, is_enabled, flags, updated_at, is_deleted, "
    "created_at"
)
_AT_ONCE = 500


def to_tool(row: Row) -> Tool:
    """Convert a row to a tool: its approved definition, with a diff to the offered one."""
    space, id_, server, definition, hash_, offered, _, state, enabled, flags, updated_at, *_ = row
    approved = definitions.from_json(definition)
    return Tool(
        id=id_,
        catalogue=space,
        server=server,
        name=approved.name,
        title=approved.title,
        description=approved.description,
        input_schema=approved.input_schema,
        output_schema=approved.output_schema,
        annotations=approved.annotations,
        kind=approved.kind,
        state=state,
        enabled=bool(enabled),
        flags=tuple(Flag(**flag) for flag in json.loads(flags)),
        hash=hash_,
        diff=definitions.diff(approved, definitions.from_json(offered)) if offered else "",
        updated_at=to_datetime(updated_at),
    )


def get_tool(snapshot: Snapshot, id_: object, spaces: Sequence[str] | None) -> Tool:
    """The tool in the first of these catalogues that has it; Conflict if none is named and several have it."""
    if not is_text(id_):
        raise _no_such_tool(id_)
    rows = _find_rows(snapshot, spaces, "id = :id", id_)
    if not rows and (pattern := pattern_of_shown_id(str(id_))):
        rows = _find_rows(snapshot, spaces, "id LIKE :id", pattern)
    if not rows:
        raise _no_such_tool(id_)
    if len(rows) > 1:
        names = ", ".join(repr(row[0]) for row in rows)
        raise Conflict(f"{id_} is in several catalogues: {names}. Say which, by catalogue= or --catalogue.")
    return to_tool(rows[0])


def _find_rows(snapshot: Snapshot, spaces: Sequence[str] | None, condition: str, id_: object) -> list[Row]:
    inside, values = one_of("space", spaces)
    sql = f"SELECT {TOOL} FROM tools WHERE {inside} AND {condition} AND is_deleted = 0 ORDER BY space"
    hidden = hidden_servers(snapshot, spaces)
    found = snapshot.rows(sql, {**values, "id": id_})
    return [row for row in found if (row[0], row[2]) not in hidden and may_reach(row[2])]


def _no_such_tool(id_: object) -> NotFound:
    return NotFound(f"No tool {id_!r}. See what there is with: athand tools list")


def get_rows(snapshot: Snapshot, places: Sequence[tuple[str, str]]) -> list[Row]:
    """The rows of tools by catalogue and id."""
    found: list[Row] = []
    for start in range(0, len(places), _AT_ONCE):
        some = places[start : start + _AT_ONCE]
        either = " OR ".join(f"(space = :s{at} AND id = :i{at})" for at in range(len(some)))
        values = {f"s{at}": space for at, (space, _) in enumerate(some)}
        values |= {f"i{at}": id_ for at, (_, id_) in enumerate(some)}
        found += snapshot.rows(f"SELECT {TOOL} FROM tools WHERE {either} ORDER BY space, id", values)
    return found


def list_tools(snapshot: Snapshot, spaces: Sequence[str] | None, server: str | None = None) -> list[Tool]:
    """All tools ordered by catalogue and id, including those that wait for approval."""
    inside, values = one_of("space", spaces)
    own = "AND server = :server" if server is not None else ""
    sql = f"SELECT {TOOL} FROM tools WHERE {inside} {own} AND is_deleted = 0 ORDER BY space, id"
    hidden = hidden_servers(snapshot, spaces)
    rows = snapshot.rows(sql, {**values, "server": server} if own else values)
    return [to_tool(row) for row in rows if (row[0], row[2]) not in hidden and may_reach(row[2])]


def list_searchable(snapshot: Snapshot, spaces: Sequence[str] | None) -> list[Row]:
    """Catalogue, id, server, name and definition of all searchable tools."""
    inside, values = one_of("space", spaces)
    sql = f"SELECT space, id, server, name, definition FROM tools WHERE {inside} AND is_searched = 1 ORDER BY space, id"
    return [row for row in snapshot.rows(sql, values) if may_reach(row[2])]


def hidden_servers(snapshot: Snapshot, spaces: Sequence[str] | None) -> frozenset[tuple[str, str]]:
    """Servers (catalogue, name) that are hidden by one of the same name in an earlier catalogue.

    The hiding server need not be searchable itself: it is the one that would be called.
    """
    if spaces is None or len(spaces) < 2:
        return frozenset()
    inside, values = one_of("space", spaces)
    rows = snapshot.rows(f"SELECT DISTINCT space, server FROM tools WHERE {inside} AND is_deleted = 0", values)
    first: dict[str, str] = {}
    for space, server in sorted(rows, key=lambda row: spaces.index(row[0])):
        first.setdefault(server, space)
    return frozenset((space, server) for space, server in rows if first[server] != space)


def read_passages(snapshot: Snapshot, places: Sequence[tuple[str, str]]) -> list[Passage]:
    """The passages of tools by catalogue and id; deleted tools have none."""
    return [_to_passage(row) for row in get_rows(snapshot, places) if not row[11]]


def iterate_passages(snapshot: Snapshot, batch: int) -> Iterator[list[Passage]]:
    """The passages of all tools in batches, ordered by catalogue and id (keyset pagination)."""
    place = ("", "")
    while True:
        sql = (
            f"SELECT {TOOL} FROM tools WHERE (space, id) > (:space, :id) AND is_deleted = 0 "
            "ORDER BY space, id LIMIT :limit"
        )
        rows = snapshot.rows(sql, {"space": place[0], "id": place[1], "limit": batch})
        if not rows:
            return
        yield [_to_passage(row) for row in rows]
        place = (rows[-1][0], rows[-1][1])


def _to_passage(row: Row) -> Passage:
    shown = indexed_definition(definitions.from_json(row[3]), row[7])
    return to_passage(row[0], row[1], row[2], shown, row[12])


def get_generations(snapshot: Snapshot, spaces: Sequence[str] | None) -> list[Row]:
    """The generation counter of each catalogue; it is incremented by every change."""
    inside, values = one_of("space", spaces)
    sql = f"SELECT space, amount FROM tool_uses WHERE {inside} AND name = :name ORDER BY space"
    return snapshot.rows(sql, {**values, "name": GENERATION})


def add_usage(transaction: Transaction, space: str, amounts: Mapping[str, int]) -> None:
    """Add to the usage counters of a catalogue."""
    for name, amount in amounts.items():
        values = {"space": space, "name": name, "amount": amount}
        sql = "UPDATE tool_uses SET amount = amount + :amount WHERE space = :space AND name = :name"
        if not transaction.execute(sql, values):
            transaction.execute("INSERT INTO tool_uses (space, name, amount) VALUES (:space, :name, :amount)", values)


def get_usage_totals(snapshot: Snapshot) -> dict[str, int]:
    """The usage counters, summed over all catalogues."""
    rows = snapshot.rows("SELECT name, amount FROM tool_uses")
    return {name: sum(amount for each, amount in rows if each == name) for name, _ in rows}


def count_all(snapshot: Snapshot) -> tuple[int, int, int]:
    """The number of servers and tools, and the estimated tokens to list all of them."""
    own, values = server_condition("id")
    servers = snapshot.rows(f"SELECT count(*) FROM tool_servers WHERE space <> ''{own}", values)[0][0]
    own, values = server_condition("server")
    sql = f"SELECT count(*), coalesce(sum(tokens), 0) FROM tools WHERE is_deleted = 0{own}"
    return (int(servers), *map(int, snapshot.rows(sql, values)[0]))  # type: ignore[return-value]


def estimate_tool_tokens(tool: Tool | Definition) -> int:
    """About how many tokens of a language model a tool costs in a tool list."""
    own = {name: getattr(tool, name) for name in ("name", "title", "description", "annotations")}
    schemas = {"inputSchema": tool.input_schema, "outputSchema": tool.output_schema}
    return estimate_tokens(json.dumps({**own, **schemas}, separators=(",", ":")))


def put_rule(transaction: Transaction, rule: Rule) -> bool:
    """Write a rule unless there is one for its pattern; whether it was written."""
    values = {"space": rule.catalogue, "pattern": rule.pattern, "decision": rule.decision}
    sql = (
        "INSERT INTO tool_rules (space, pattern, decision) VALUES (:space, :pattern, :decision) ON CONFLICT DO NOTHING"
    )
    return bool(transaction.execute(sql, values))


def list_rules(snapshot: Snapshot, space: str) -> list[Rule]:
    """The rules of a catalogue and the global ones."""
    sql = "SELECT space, pattern, decision FROM tool_rules WHERE space IN (:space, :every) ORDER BY space, pattern"
    rows = snapshot.rows(sql, {"space": space, "every": EVERYWHERE})
    return [Rule(pattern, decision, catalogue) for catalogue, pattern, decision in rows]
