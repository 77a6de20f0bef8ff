"""Recorded sessions, their steps and observations, and rejections: their tables in portable SQL."""

from athand.flows.scoring import INDEX
from athand.store import Schema, holds_json

TABLES = """
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

_CONDITIONS = {
    "flows_passages": "EXISTS (SELECT 1 FROM flow_steps t WHERE t.id = flows_passages.id)",
    "flow_observations": holds_json("content", "object"),
    "flow_steps": f"{holds_json('record', 'object')} AND EXISTS "
    "(SELECT 1 FROM flows f WHERE f.space = flow_steps.space AND f.id = flow_steps.session)",
    "flows": " AND ".join(
        (
            *(holds_json(each, "array") for each in ("flow_tags", "tags")),
            *(holds_json(each, "object") for each in ("git", "launch")),
        )
    ),
}
SCHEMA = Schema(INDEX, (TABLES,), secure_delete=True, conditions=_CONDITIONS)
