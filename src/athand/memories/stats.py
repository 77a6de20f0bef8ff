"""What there is, counted."""

from datetime import datetime
from typing import Any

from athand.memories.model import Stats
from athand.memories.salience import EFFECTIVE_SQL
from athand.store import Snapshot, to_microseconds

_HERE = "(:project IS NULL OR i.project = :project)"


def stats(snapshot: Snapshot, project: str | None, now: datetime) -> Stats:
    """Memories by kind, sessions and relations; of one project or of all."""
    values = {"project": project, "now": to_microseconds(now)}
    kept = f"FROM memories i WHERE {_HERE} AND i.is_deleted = 0"

    def number(sql: str) -> Any:
        return snapshot.rows(sql, values)[0][0] or 0

    def counted(column: str) -> dict[str, int]:
        rows = snapshot.rows(
            f"SELECT {column}, count(*) {kept} AND {column} IS NOT NULL GROUP BY {column} ORDER BY 2 DESC, 1", values
        )
        return {name: count for name, count in rows}

    return Stats(
        memories=number(f"SELECT count(*) {kept}"),
        superseded=number(f"SELECT count(*) {kept} AND i.valid_until <= :now"),
        deleted=number(f"SELECT count(*) FROM memories i WHERE {_HERE} AND i.is_deleted = 1"),
        pinned=number(f"SELECT count(*) {kept} AND i.pinned = 1"),
        sessions=number("SELECT count(*) FROM memory_sessions i WHERE (:project IS NULL OR i.space = :project)"),
        relations=number(
            "SELECT count(*) FROM memory_relations i WHERE (:project IS NULL OR i.space = :project) "
            "AND i.valid_until IS NULL"
        ),
        salience=float(number(f"SELECT avg({EFFECTIVE_SQL}) {kept}")),
        by_project=counted("i.project"),
        by_sector=counted("i.sector"),
        by_tier=counted("i.tier"),
        by_type=counted("i.memory_type"),
    )
