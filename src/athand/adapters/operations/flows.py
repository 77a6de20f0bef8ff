"""Operations on flows: sessions of UI steps are recorded, found, asked for what comes next, and replayed."""

from collections.abc import Sequence
from itertools import count
from typing import Annotated, Any

from athand.adapters.operations.caller import AGENT, ByCaller
from athand.adapters.operations.context import AppContext
from athand.adapters.operations.model import Operation, Progress, row
from athand.errors import NotFound
from athand.flows import Flows
from athand.flows.model import FlowHit, FlowSession, PriorKnowledge, Step
from athand.flows.parameters import (
    CurrentSession,
    Extension,
    Filters,
    Headless,
    OfSession,
    Scope,
    Seen,
    SessionId,
)
from athand.flows.profiles import Profile
from athand.flows.replay.player import Replay
from athand.inputs import show_value
from athand.parameters import FilePath, Help, Limit, MinScore, Question, Range
from athand.types import Hits


def knowledge_search(
    ctx: AppContext,
    query: Question,
    limit: Limit = 20,
    scope: Scope = "all",
    session: CurrentSession = None,
    filters: Filters = None,
    min_score: MinScore = None,
    caller: ByCaller = AGENT,
) -> Hits[FlowHit]:
    """Find steps of recorded sessions by what was done, where, on what and what for, best first, each with why."""
    if scope == "current" and session is None:
        session = ctx.browsers.get(caller=caller).session_id
    return ctx.athand.flows.search(
        query, limit=limit, scope=scope, session=session, filters=filters, min_score=min_score
    )


def knowledge_prior(
    ctx: AppContext,
    session_id: SessionId,
    observation: Annotated[Seen | None, Help("What is on the screen; default: what the session saw last")] = None,
    previous: Annotated[str | None, Help("The id of the step that led here, beside an observation")] = None,
) -> PriorKnowledge | None:
    """Tell what earlier sessions know about a screen: what to do next and how sure that is, and what to avoid.

    Null if they know nothing.
    """
    flows = ctx.athand.flows
    if observation is None:
        return flows.suggest(session_id)
    step = None if previous is None else _find_step(ctx, session_id, previous)
    return flows.prior_knowledge(session_id, observation, previous=step)


def knowledge_profiles(ctx: AppContext) -> list[Profile]:
    """List the profiles of apps: their screens, the prefix of their tools, their flow tags and secret fields."""
    return [ctx.athand.flows.profile(name) for name in ctx.athand.flows.profiles()]


def knowledge_delete(ctx: AppContext, session_id: SessionId) -> FlowSession:
    """Delete a session and its steps for good; answers what it was."""
    session = ctx.athand.flows.session(session_id)
    ctx.athand.flows.delete(session.id)
    return session


def knowledge_replay(
    ctx: AppContext,
    session_id: SessionId,
    *,
    start: Annotated[int, Range(1), Help("The position of the first step to replay")] = 1,
    goal: Annotated[str | None, Help("Another goal, whose values take the place of the recorded ones")] = None,
    values: Annotated[dict[str, str] | None, Help("Texts for fields, by the name of the field; also secrets")] = None,
    heal: Annotated[bool, Help("Find elements again that have another name now")] = True,
    origins: Annotated[
        Sequence[str], Help("Origins that may get what is typed beside the recorded ones, each with its scheme")
    ] = (),
    url: Annotated[str | None, Help("The address to open first, in a new browser")] = None,
    browser: Annotated[str | None, Help("The session of the open browser to use; default: a new browser")] = None,
    headless: Headless = True,
    extension: Extension = None,
    caller: ByCaller = AGENT,
    progress: Progress,
) -> Replay:
    """Repeat in a real browser what a session did. Stops where the page differs, and says how.

    Secrets are not stored, so their values must be given. The replay is recorded as a session of its own.
    """
    flows, done = ctx.athand.flows, count(1)
    session = flows.session(session_id)
    options = {"app": session.app, "url": url, "headless": headless, "extension": extension}
    with ctx.browsers.open_or_launch(browser, caller, **options) as used:
        return flows.replay(
            used,
            session_id,
            start=start,
            goal=goal,
            values=values,
            heal=heal,
            origins=origins,
            progress=lambda _: progress(next(done), session.steps),
        )


def knowledge_reject_heal(
    ctx: AppContext,
    session_id: SessionId,
    position: Annotated[int, Range(1), Help("The position of the step in the session, from 1")],
    element: Annotated[str, Help("The element as the replay names it under healed")],
) -> Step:
    """Say that a replay used a wrong element for a step: no replay uses it for that step again."""
    step = _find_step(ctx, session_id, position)
    ctx.athand.flows.reject_heal(step, element)
    return step


def knowledge_export(ctx: AppContext, path: FilePath, session: OfSession = None) -> dict[str, list[str]]:
    """Write sessions as folders that can be imported; answers the folders."""
    return {"folders": [str(folder) for folder in ctx.athand.flows.export(path, session)]}


def _find_step(ctx: AppContext, session_id: str, wanted: str | int) -> Step:
    """A step of a session, by its id or its position."""
    for step in ctx.athand.flows.steps(session_id):
        if wanted in (step.id, step.position):
            return step
    problem = f"Session {session_id} has no step {show_value(wanted)}."
    raise NotFound(f"{problem} See its steps with: athand flows show {session_id}")


def _row(name: str, run: Any, title: str, **options: Any) -> Operation:
    return row(name, run, title, **{"toolset": "flows", **options})


def _write(name: str, run: Any, title: str, **options: Any) -> Operation:
    return _row(name, run, title, **{"scope": "write", "kind": "write", **options})


_ADMIN: dict[str, Any] = {"scope": "admin", "open_world": True}

OPERATIONS = (
    _row("knowledge_search", knowledge_search, "Search recorded steps", path="flows/search"),
    _row("knowledge_last", Flows.last, "Newest steps"),
    _row("knowledge_sessions", Flows.sessions, "Newest sessions"),
    _row("knowledge_session", Flows.session, "One session"),
    _row("knowledge_steps", Flows.steps, "Steps of a session"),
    _row("knowledge_summarize", Flows.summarize, "Sum up a session"),
    _row("knowledge_prior", knowledge_prior, "What worked here before", path="flows/prior_knowledge"),
    _row("knowledge_profiles", knowledge_profiles, "App profiles", path="flows/profiles"),
    _write("knowledge_start_session", Flows.start_session, "Begin a session"),
    _write("knowledge_record", Flows.record, "Record a step"),
    _write("knowledge_delete", knowledge_delete, "Delete a session", path="flows/delete", kind="destructive"),
    _write(
        "knowledge_replay",
        knowledge_replay,
        "Replay a session",
        path="flows/replay",
        scope="call-tools",
        open_world=True,
    ),
    _write(
        "knowledge_reject_heal",
        knowledge_reject_heal,
        "Reject a healed element",
        path="flows/reject_heal",
        idempotent=True,
    ),
    _row("knowledge_script", Flows.script, "A session as a test"),
    _write("knowledge_export", knowledge_export, "Export sessions", path="flows/export", **_ADMIN),
    _write("knowledge_import", Flows.import_, "Import sessions", idempotent=True, **_ADMIN),
)
