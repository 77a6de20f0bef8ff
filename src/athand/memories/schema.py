"""The tables of memories, sessions, links, relations and keys, in portable SQL."""

from athand.memories.model import GLOBAL_SPACE
from athand.memories.salience import RATES
from athand.memories.scoring import INDEX
from athand.store import Schema, holds_json

TABLES = """
-- The space of a memory is its project, or '*' if it is global.
CREATE TABLE memories (
    space TEXT NOT NULL,
    id TEXT NOT NULL,
    content TEXT NOT NULL,
    context TEXT,
    author TEXT,
    tags TEXT NOT NULL DEFAULT '[]',
    created_at INTEGER NOT NULL, -- microseconds since 1970, UTC
    updated_at INTEGER NOT NULL,
    is_deleted INTEGER NOT NULL DEFAULT 0,
    project TEXT NOT NULL DEFAULT '',
    summary TEXT,
    sector TEXT NOT NULL DEFAULT 'semantic',
    tier TEXT NOT NULL DEFAULT 'project',
    memory_type TEXT,
    importance REAL NOT NULL DEFAULT 0.5,
    salience REAL NOT NULL DEFAULT 1.0, -- as of last_accessed
    access_count INTEGER NOT NULL DEFAULT 0,
    last_accessed INTEGER NOT NULL DEFAULT 0,
    concepts TEXT NOT NULL DEFAULT '[]',
    files TEXT NOT NULL DEFAULT '[]',
    valid_from INTEGER NOT NULL DEFAULT 0,
    valid_until INTEGER,
    deleted_at INTEGER,
    pinned INTEGER NOT NULL DEFAULT 0,
    session TEXT, -- where it was created
    written_by TEXT NOT NULL DEFAULT 'user',
    fingerprint TEXT NOT NULL DEFAULT '', -- equal for the same content; derived
    near_duplicate_key TEXT NOT NULL DEFAULT '', -- equal for nearly the same content; derived
    PRIMARY KEY (space, id)
) WITHOUT ROWID;
CREATE UNIQUE INDEX memories_by_id ON memories (id);
CREATE INDEX memories_by_time ON memories (project, created_at, id);
CREATE INDEX memories_by_session ON memories (space, session, created_at, id) WHERE session IS NOT NULL;
CREATE INDEX memories_by_fingerprint ON memories (space, fingerprint);
CREATE INDEX memories_by_near_duplicate_key ON memories (space, near_duplicate_key) WHERE near_duplicate_key <> '';

CREATE TABLE memory_sessions (
    space TEXT NOT NULL,
    id TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    ended_at INTEGER,
    summary TEXT,
    PRIMARY KEY (space, id)
) WITHOUT ROWID;
CREATE UNIQUE INDEX memory_sessions_by_id ON memory_sessions (id);

-- The space of links and keys is the project of the memory: that never changes, while its tier may.
CREATE TABLE memory_links (
    space TEXT NOT NULL,
    session TEXT NOT NULL,
    memory_id TEXT NOT NULL,
    usage TEXT NOT NULL,
    linked_at INTEGER NOT NULL,
    PRIMARY KEY (space, session, memory_id, usage)
) WITHOUT ROWID;
CREATE INDEX memory_links_by_memory ON memory_links (memory_id, linked_at);
CREATE INDEX memory_links_by_session ON memory_links (session, memory_id);

-- The space of a relation is that of both memories, or '*' if one of them is elsewhere.
CREATE TABLE memory_relations (
    space TEXT NOT NULL,
    source_id TEXT NOT NULL,
    target_id TEXT NOT NULL,
    type TEXT NOT NULL,
    made_by TEXT NOT NULL,
    valid_from INTEGER NOT NULL,
    valid_until INTEGER,
    PRIMARY KEY (space, source_id, target_id, type)
) WITHOUT ROWID;
CREATE INDEX memory_relations_by_source ON memory_relations (source_id);
CREATE INDEX memory_relations_by_target ON memory_relations (target_id);

-- Idempotency keys of adds: adding again under the same key adds nothing.
CREATE TABLE memory_keys (
    space TEXT NOT NULL,
    name TEXT NOT NULL,
    memory_id TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    PRIMARY KEY (space, name)
) WITHOUT ROWID;
CREATE INDEX memory_keys_by_memory ON memory_keys (memory_id);
"""
# How far the transcripts of a machine were read; their turns may belong to any project.
TRANSCRIPTS = """
CREATE TABLE memory_transcripts (
    space TEXT NOT NULL,
    host TEXT NOT NULL,
    path TEXT NOT NULL,
    read_to INTEGER NOT NULL,
    mark TEXT NOT NULL,
    size INTEGER NOT NULL,
    modified_at INTEGER NOT NULL, -- nanoseconds
    PRIMARY KEY (space, host, path)
) WITHOUT ROWID;
"""
PINNED_BY = "ALTER TABLE memories ADD COLUMN pinned_by TEXT;"  # of what was pinned before, nobody knows it

_IS_ELSEWHERE = "NOT " + " OR NOT ".join(
    f"EXISTS (SELECT 1 FROM memories m WHERE m.space = memory_relations.space AND m.id = memory_relations.{end})"
    for end in ("source_id", "target_id")
)
_COLUMNS = "source_id, target_id, type, made_by, valid_from, valid_until"
# What is related within a project is found there and in the space of all projects: a cluster asks no other machine.
RELATIONS_IN_SPACES = f"""
INSERT INTO memory_relations (space, {_COLUMNS}) SELECT '{GLOBAL_SPACE}', {_COLUMNS} FROM memory_relations
    WHERE space <> '{GLOBAL_SPACE}' AND ({_IS_ELSEWHERE}) ON CONFLICT DO NOTHING;
DELETE FROM memory_relations WHERE space <> '{GLOBAL_SPACE}' AND ({_IS_ELSEWHERE});
"""

_SECTORS = ", ".join(f"'{sector}'" for sector in RATES)
_LISTS = " AND ".join(holds_json(column, "array") for column in ("tags", "concepts", "files"))
_CONDITIONS = {
    "memories": f"sector IN ({_SECTORS}) AND {_LISTS} "
    f"AND space = CASE tier WHEN 'global' THEN '{GLOBAL_SPACE}' ELSE project END",
    "memory_links": "memory_id IN (SELECT id FROM memories)",
    "memory_relations": "source_id IN (SELECT id FROM memories) AND target_id IN (SELECT id FROM memories)",
    "memory_keys": "memory_id IN (SELECT id FROM memories)",
}
_STEPS = (TABLES, PINNED_BY, RELATIONS_IN_SPACES, TRANSCRIPTS)
SCHEMA = Schema(INDEX, _STEPS, secure_delete=True, conditions=_CONDITIONS)
