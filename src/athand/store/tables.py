"""The tables of items, in SQL that SQLite understands as it is and `store/postgres/schema.py` translates word by word.

Every primary key begins with the space: an engine that spreads tables over machines does it by space.
"""

import re

MEMORIES = """
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
    PRIMARY KEY (space, id)
) WITHOUT ROWID;
CREATE UNIQUE INDEX memories_by_id ON memories (id);
CREATE INDEX memories_by_time ON memories (space, created_at, id);
"""

MEMORIES_IN_FULL = """
-- Where a memory is searched is its space: its project, or '*' for the global ones.
ALTER TABLE memories ADD COLUMN project TEXT NOT NULL DEFAULT '';
ALTER TABLE memories ADD COLUMN summary TEXT;
ALTER TABLE memories ADD COLUMN sector TEXT NOT NULL DEFAULT 'semantic';
ALTER TABLE memories ADD COLUMN tier TEXT NOT NULL DEFAULT 'project';
ALTER TABLE memories ADD COLUMN memory_type TEXT;
ALTER TABLE memories ADD COLUMN importance REAL NOT NULL DEFAULT 0.5;
ALTER TABLE memories ADD COLUMN salience REAL NOT NULL DEFAULT 1.0; -- as of last_accessed
ALTER TABLE memories ADD COLUMN access_count INTEGER NOT NULL DEFAULT 0;
ALTER TABLE memories ADD COLUMN last_accessed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE memories ADD COLUMN concepts TEXT NOT NULL DEFAULT '[]';
ALTER TABLE memories ADD COLUMN files TEXT NOT NULL DEFAULT '[]';
ALTER TABLE memories ADD COLUMN valid_from INTEGER NOT NULL DEFAULT 0;
ALTER TABLE memories ADD COLUMN valid_until INTEGER;
ALTER TABLE memories ADD COLUMN deleted_at INTEGER;
ALTER TABLE memories ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0;
ALTER TABLE memories ADD COLUMN session TEXT; -- where it was created
ALTER TABLE memories ADD COLUMN written_by TEXT NOT NULL DEFAULT 'user';
ALTER TABLE memories ADD COLUMN fingerprint TEXT NOT NULL DEFAULT ''; -- equal for the same content; derived
ALTER TABLE memories ADD COLUMN gist TEXT NOT NULL DEFAULT ''; -- equal for nearly the same content; derived
UPDATE memories SET project = space, last_accessed = created_at, valid_from = created_at,
    deleted_at = CASE WHEN is_deleted = 1 THEN updated_at END;
DROP INDEX memories_by_time;
CREATE INDEX memories_by_time ON memories (project, created_at, id);
CREATE INDEX memories_by_session ON memories (space, session, created_at, id) WHERE session IS NOT NULL;
CREATE INDEX memories_by_fingerprint ON memories (space, fingerprint);
CREATE INDEX memories_by_gist ON memories (space, gist) WHERE gist <> '';

CREATE TABLE memory_sessions (
    space TEXT NOT NULL,
    id TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    ended_at INTEGER,
    summary TEXT,
    PRIMARY KEY (space, id)
) WITHOUT ROWID;
CREATE UNIQUE INDEX memory_sessions_by_id ON memory_sessions (id);

-- The space of the following tables is the project of the memory: that never changes, while its tier may.
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

-- What a caller named an add, so that adding again by that name adds nothing.
CREATE TABLE memory_keys (
    space TEXT NOT NULL,
    name TEXT NOT NULL,
    memory_id TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    PRIMARY KEY (space, name)
) WITHOUT ROWID;
CREATE INDEX memory_keys_by_memory ON memory_keys (memory_id);
"""

DOCUMENTS = """
-- The space of everything about documents is the folder's id.
CREATE TABLE document_folders (
    space TEXT NOT NULL,
    path TEXT NOT NULL,
    host TEXT NOT NULL, -- whose path this is
    project TEXT,
    state TEXT NOT NULL, -- pending, indexing, ready, error
    reason TEXT,
    done INTEGER NOT NULL DEFAULT 0,
    total INTEGER NOT NULL DEFAULT 0,
    skipped TEXT NOT NULL DEFAULT '{}', -- how many files were passed over, by reason
    generation INTEGER NOT NULL DEFAULT 0, -- grows whenever a document changes
    added_at INTEGER NOT NULL,
    indexed_at INTEGER, -- when all files were last looked at
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (space)
) WITHOUT ROWID;

CREATE TABLE documents (
    space TEXT NOT NULL,
    id TEXT NOT NULL, -- the path inside the folder
    is_deleted INTEGER NOT NULL DEFAULT 0,
    kind TEXT NOT NULL,
    language TEXT NOT NULL,
    title TEXT NOT NULL,
    encoding TEXT NOT NULL,
    size INTEGER NOT NULL,
    modified_at INTEGER NOT NULL,
    stamp TEXT NOT NULL, -- size and time of the file that was read; empty while it may still change unnoticed
    hash TEXT NOT NULL,
    characters INTEGER NOT NULL,
    lines INTEGER NOT NULL,
    chunks INTEGER NOT NULL,
    phrases TEXT NOT NULL, -- candidates for key phrases with their weights
    outline TEXT NOT NULL,
    PRIMARY KEY (space, id)
) WITHOUT ROWID;

CREATE TABLE document_chunks (
    space TEXT NOT NULL,
    id TEXT NOT NULL,
    document_id TEXT NOT NULL,
    position INTEGER NOT NULL, -- among the chunks of its document
    start_offset INTEGER NOT NULL,
    end_offset INTEGER NOT NULL,
    start_line INTEGER NOT NULL,
    end_line INTEGER NOT NULL,
    heading TEXT NOT NULL,
    names TEXT NOT NULL,
    place TEXT NOT NULL,
    content TEXT NOT NULL,
    PRIMARY KEY (space, id)
);
CREATE UNIQUE INDEX document_chunks_in_order ON document_chunks (space, document_id, position);

CREATE TABLE document_problems (
    space TEXT NOT NULL,
    id TEXT NOT NULL, -- the path, made visible
    reason TEXT NOT NULL,
    is_indexed INTEGER NOT NULL, -- whether the rest of it is found all the same
    stamp TEXT NOT NULL,
    PRIMARY KEY (space, id)
) WITHOUT ROWID;
"""

TOOLS = """
-- The space of everything about tools is the catalogue; '*' is every catalogue.
CREATE TABLE tool_servers (
    space TEXT NOT NULL,
    id TEXT NOT NULL, -- its name, as given
    transport TEXT NOT NULL,
    source TEXT, -- the configuration that names it: what is in there is never copied, it may be secret
    origin TEXT NOT NULL, -- who named the configuration: user, project, code
    description TEXT,
    is_enabled INTEGER NOT NULL DEFAULT 1,
    protocol TEXT,
    listed_at INTEGER, -- when its tools were first seen
    failure TEXT, -- why it did not work when it was last tried
    failed_at INTEGER,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (space, id)
) WITHOUT ROWID;

CREATE TABLE tools (
    space TEXT NOT NULL,
    id TEXT NOT NULL, -- server__tool
    is_deleted INTEGER NOT NULL DEFAULT 0, -- not offered any more; what was approved stays known
    server TEXT NOT NULL,
    name TEXT NOT NULL,
    definition TEXT NOT NULL, -- as approved: this is searched, shown and called
    hash TEXT NOT NULL,
    offered TEXT, -- as the server describes it now, if that is something else
    offered_hash TEXT,
    state TEXT NOT NULL, -- approved, quarantined, changed, rejected
    is_enabled INTEGER NOT NULL DEFAULT 1,
    is_searched INTEGER NOT NULL DEFAULT 1,
    flags TEXT NOT NULL DEFAULT '[]',
    tokens INTEGER NOT NULL, -- what listing it costs a model, about
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (space, id)
) WITHOUT ROWID;
CREATE INDEX tools_by_server ON tools (space, server);

CREATE TABLE tool_rules (
    space TEXT NOT NULL,
    pattern TEXT NOT NULL,
    decision TEXT NOT NULL, -- allow, ask, deny
    PRIMARY KEY (space, pattern)
) WITHOUT ROWID;

-- Configurations of projects that the user has read and trusts, as long as they stay the same.
CREATE TABLE tool_trust (
    space TEXT NOT NULL,
    path TEXT NOT NULL,
    hash TEXT NOT NULL,
    trusted_at INTEGER NOT NULL,
    PRIMARY KEY (space, path)
) WITHOUT ROWID;

CREATE TABLE tool_uses (
    space TEXT NOT NULL,
    name TEXT NOT NULL, -- searches, calls, failures ...
    amount INTEGER NOT NULL,
    PRIMARY KEY (space, name)
) WITHOUT ROWID;
"""

FLOWS = """
-- The space of everything about flows is the app. An item is a session, a passage one of its steps.
CREATE TABLE flow_observations (
    space TEXT NOT NULL,
    hash TEXT NOT NULL, -- of the content: what looks the same twice is kept once
    content TEXT NOT NULL,
    PRIMARY KEY (space, hash)
);

CREATE TABLE flow_steps (
    space TEXT NOT NULL,
    id TEXT NOT NULL,
    session TEXT NOT NULL,
    position INTEGER NOT NULL, -- in its session, from 1
    created_at INTEGER NOT NULL, -- microseconds since 1970, UTC
    tool TEXT NOT NULL,
    verb TEXT NOT NULL,
    screen TEXT NOT NULL, -- on which it was done
    is_ok INTEGER NOT NULL,
    error_code TEXT,
    action TEXT NOT NULL, -- equal for the same action on the same target; empty for what is no action
    previous TEXT NOT NULL, -- the action before, if it went well; empty at the beginning
    observation TEXT, -- the hash of what was seen before
    record TEXT NOT NULL, -- all the rest, as JSON
    PRIMARY KEY (space, id)
);
CREATE UNIQUE INDEX flow_steps_in_order ON flow_steps (space, session, position);
CREATE UNIQUE INDEX flow_steps_by_id ON flow_steps (id);
CREATE INDEX flow_steps_by_screen ON flow_steps (space, screen, is_ok, created_at);
CREATE INDEX flow_steps_by_time ON flow_steps (created_at, id);

CREATE TABLE flows (
    space TEXT NOT NULL,
    id TEXT NOT NULL,
    is_deleted INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    goal TEXT,
    flow_tags TEXT NOT NULL DEFAULT '[]',
    tags TEXT NOT NULL DEFAULT '[]',
    git TEXT NOT NULL DEFAULT '{}',
    branch TEXT,
    app_version TEXT,
    launch TEXT NOT NULL DEFAULT '{}',
    has_metadata INTEGER NOT NULL DEFAULT 1,
    steps INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (space, id)
) WITHOUT ROWID;
CREATE UNIQUE INDEX flows_by_id ON flows (id);
CREATE INDEX flows_by_time ON flows (space, created_at, id);

-- Where an action was once looked for under another name, and somebody said that this was wrong.
CREATE TABLE flow_rejections (
    space TEXT NOT NULL,
    screen TEXT NOT NULL,
    action TEXT NOT NULL,
    element TEXT NOT NULL,
    rejected_at INTEGER NOT NULL,
    PRIMARY KEY (space, screen, action, element)
) WITHOUT ROWID;
"""

# Every table that holds what users gave, and its primary key.
KEYS = {
    "memories": ("space", "id"),
    "memory_sessions": ("space", "id"),
    "memory_links": ("space", "session", "memory_id", "usage"),
    "memory_relations": ("space", "source_id", "target_id", "type"),
    "memory_keys": ("space", "name"),
    "document_folders": ("space",),
    "documents": ("space", "id"),
    "document_chunks": ("space", "id"),
    "document_problems": ("space", "id"),
    "tool_servers": ("space", "id"),
    "tools": ("space", "id"),
    "tool_rules": ("space", "pattern"),
    "tool_trust": ("space", "path"),
    "tool_uses": ("space", "name"),
    "flow_observations": ("space", "hash"),
    "flow_steps": ("space", "id"),
    "flows": ("space", "id"),
    "flow_rejections": ("space", "screen", "action", "element"),
}


def columns(table: str) -> tuple[str, ...]:
    """The columns of a table, in the order they were added."""
    return tuple(kinds(table))


def kinds(table: str) -> dict[str, str]:
    """What each column of a table holds: TEXT, INTEGER or REAL."""
    every = MEMORIES + MEMORIES_IN_FULL + DOCUMENTS + TOOLS + FLOWS
    created = re.search(rf"CREATE TABLE {table} \((.*?)\n\)", every, re.DOTALL)
    first = re.findall(r"^    ([a-z_]+) (TEXT|INTEGER|REAL)", created[1] if created else "", re.MULTILINE)
    return dict([*first, *re.findall(rf"ALTER TABLE {table} ADD COLUMN ([a-z_]+) (TEXT|INTEGER|REAL)", every)])
