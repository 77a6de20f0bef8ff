"""Sessions: stretches of work, each with a beginning, an end and a summary for the next one."""

from dataclasses import replace

from athand.errors import Conflict
from athand.inputs import check_name, check_past, check_text
from athand.memories import adding, records
from athand.memories.desk import Desk
from athand.memories.entry import check_project
from athand.memories.model import Session
from athand.redaction import clean
from athand.store import new_id


def start(desk: Desk, project: str, id_: str | None, started_at: object) -> Session:
    """Begin a session; one that has begun already goes on."""
    now = desk.now()
    began = now if started_at is None else check_past("started_at", started_at, now)
    named = new_id(now) if id_ is None else check_name("id", id_)
    with desk.store.transaction(spaces=[check_project(project)]) as transaction:
        session = adding.ensure_session(transaction, named, project, began)
    if session.project != project:
        raise Conflict(f"There is a session {named} of project {session.project} already. Choose another id.")
    return session


def end(desk: Desk, id_: str, summary: str | None) -> Session:
    """End a session; a summary given before stays if there is no new one."""
    with desk.store.transaction() as transaction:
        before = records.get_session(transaction, id_)
        kept = before.summary if summary is None else clean(check_text("summary", summary))
        session = replace(before, ended_at=desk.now(), summary=kept)
        records.put_session(transaction, session)
    return session
