"""Servers, their tools, rules, trust, usage and calls: their tables in portable SQL."""

from athand.store import Schema, holds_json
from athand.tools.scoring import INDEX

TABLES = """
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

CALLS = """
-- The latest calls of tools; what was given to them is kept without secrets.
CREATE TABLE tool_calls (
    space TEXT NOT NULL,
    id TEXT NOT NULL, -- in the order of time
    called_at INTEGER NOT NULL,
    caller TEXT NOT NULL, -- the name of a token; agent, user or python where there is none
    tool TEXT NOT NULL,
    server TEXT NOT NULL,
    outcome TEXT NOT NULL, -- ok, failed, invalid, refused, cancelled, unavailable, error
    reason TEXT,
    microseconds INTEGER NOT NULL,
    arguments TEXT NOT NULL,
    PRIMARY KEY (space, id)
) WITHOUT ROWID;
"""

_CONDITIONS = {
    "tools": " AND ".join(
        (holds_json("definition", "object"), holds_json("offered", "object"), holds_json("flags", "array"))
    )
}
SCHEMA = Schema(INDEX, (TABLES, CALLS), conditions=_CONDITIONS)
