"""Flows: sessions of UI steps, recorded, found, asked for what comes next, and done again."""

from itertools import count
from typing import Annotated, Any, Literal

from athand.adapters.operations.context import AppContext
from athand.adapters.operations.model import Progress, operation
from athand.adapters.operations.parameters import Limit, MinScore, Question, ServerPath
from athand.errors import NotFound
from athand.flows.model import DEFAULT_APP, FlowHit, FlowSession, PriorKnowledge, SessionSummary, Step
from athand.flows.parameters import (
    App,
    Extension,
    Failure,
    Filters,
    FlowTags,
    FreeTags,
    Git,
    Goal,
    Headless,
    OfSession,
    Seen,
    SessionId,
    Target,
    Version,
)
from athand.flows.profiles import Profile
from athand.flows.replay.player import Replay
from athand.flows.transfer import Imported
from athand.inputs import show_value
from athand.parameters import Help, Range
from athand.types import Hits

# Finding


@operation("flows/search", toolset="flows", title="Search recorded steps")
def knowledge_search(
    ctx: AppContext,
    query: Question,
    limit: Limit = 20,
    scope: Annotated[
        Literal["all", "current"] | dict[str, str],
        Help('All sessions, the one of the open browser, or one: {"session": id}'),
    ] = "all",
    session: Annotated[str | None, Help("Which one is current, if not that of the open browser")] = None,
    filters: Filters = None,
    min_score: MinScore = None,
) -> Hits[FlowHit]:
    """Find steps of recorded sessions by what was done, where, on what and what for, best first, each with why."""
    current = ctx.browsers.get().session_id if scope == "current" and session is None else session
    return ctx.athand.flows.search(
        query, limit=limit, scope=scope, session=current, filters=filters, min_score=min_score
    )


@operation("flows/last", toolset="flows", title="Newest steps")
def knowledge_last(ctx: AppContext, n: Limit = 20, session: OfSession = None) -> list[Step]:
    """List the newest steps, newest first, with what was seen and what came of them."""
    return ctx.athand.flows.last(n, session)


@operation("flows/sessions", toolset="flows", title="Newest sessions")
def knowledge_sessions(
    ctx: AppContext,
    limit: Limit = 10,
    filters: Filters = None,
) -> list[FlowSession]:
    """List the newest sessions: their goals, tags and number of steps."""
    return ctx.athand.flows.sessions(limit, filters)


@operation("flows/session", toolset="flows", title="One session")
def knowledge_session(ctx: AppContext, session_id: SessionId) -> FlowSession:
    """Tell what a session was for, and where it came from."""
    return ctx.athand.flows.session(session_id)


@operation("flows/steps", toolset="flows", title="Steps of a session")
def knowledge_steps(ctx: AppContext, session_id: SessionId) -> list[Step]:
    """List all steps of a session in order, with what was seen before each."""
    return ctx.athand.flows.steps(session_id)


@operation("flows/summarize", toolset="flows", title="Sum up a session")
def knowledge_summarize(ctx: AppContext, session_id: SessionId) -> SessionSummary:
    """Tell in short where a session went, what it did, and what failed."""
    return ctx.athand.flows.summarize(session_id)


@operation("flows/prior_knowledge", toolset="flows", title="What worked here before")
def knowledge_prior(
    ctx: AppContext,
    session_id: SessionId,
    observation: Annotated[Seen | None, Help("What is on the screen; what the session saw last, if not")] = None,
    previous: Annotated[str | None, Help("The id of the step that led here, beside an observation")] = None,
) -> PriorKnowledge | None:
    """Tell what earlier sessions know about a screen: what to do next and how sure that is, and what to avoid.

    Null when there is nothing to say.
    """
    flows = ctx.athand.flows
    if observation is None:
        return flows.suggest(session_id)
    step = None if previous is None else _step(ctx, session_id, previous)
    return flows.prior_knowledge(session_id, observation, previous=step)


def _step(ctx: AppContext, session_id: str, wanted: str | int) -> Step:
    """A step of a session, by its id or its position."""
    for step in ctx.athand.flows.steps(session_id):
        if wanted in (step.id, step.position):
            return step
    told = f"Session {session_id} has no step {show_value(wanted)}."
    raise NotFound(f"{told} See its steps with: athand flows show {session_id}")


@operation("flows/profiles", toolset="flows", title="App profiles")
def knowledge_profiles(ctx: AppContext) -> list[Profile]:
    """List how apps are read: their screens, the prefix of their tools, their flow tags and secret fields."""
    return [ctx.athand.flows.profile(name) for name in ctx.athand.flows.profiles()]


# Recording


@operation("flows/start_session", toolset="flows", scope="write", kind="write", title="Begin a session")
def knowledge_start_session(
    ctx: AppContext,
    goal: Goal = None,
    flow_tags: FlowTags = (),
    tags: FreeTags = (),
    app: App = DEFAULT_APP,
    app_version: Version = None,
    git: Git = None,
    launch: Annotated[dict[str, Any] | None, Help("How the app was started")] = None,
    id: Annotated[str | None, Help("Its id, if it should not be made up")] = None,
    created_at: Annotated[str | None, Help("When it began, as ISO time; now, if not given")] = None,
) -> FlowSession:
    """Begin a session, to record steps of a browser that is not driven from here. ui_launch begins one by itself."""
    return ctx.athand.flows.start_session(
        goal=goal,
        flow_tags=flow_tags,
        tags=tags,
        app=app,
        app_version=app_version,
        git=git,
        launch=launch,
        id=id,
        created_at=created_at,
    )


@operation("flows/record", toolset="flows", scope="write", kind="write", title="Record a step")
def knowledge_record(
    ctx: AppContext,
    session_id: SessionId,
    tool: Annotated[str, Help("What was called: click, type, navigate …, with or without a prefix")],
    target: Target = None,
    input: Annotated[dict[str, Any] | None, Help("What it was given; secrets are taken out")] = None,
    ok: Annotated[bool, Help("Whether it went well")] = True,
    error: Failure = None,
    before: Annotated[Seen | None, Help("What was on the screen that it was done on")] = None,
    after_screen: Annotated[str | None, Help("The screen it led to")] = None,
    screenshot: Annotated[str | None, Help("Where a picture is; it is only told, never opened")] = None,
    duration_ms: Annotated[float | None, Range(0), Help("How long it took")] = None,
    prior_knowledge: Annotated[dict[str, Any] | None, Help("What was known and shown before it")] = None,
    timestamp: Annotated[str | None, Help("When, as ISO time; now, if not given")] = None,
) -> Step:
    """Keep one step of a session with what was seen before it. Durable when this answers; secrets are not kept."""
    return ctx.athand.flows.record(
        session_id,
        tool=tool,
        target=target,
        input=input,
        ok=ok,
        error=error,
        before=before,
        after_screen=after_screen,
        screenshot=screenshot,
        duration_ms=duration_ms,
        prior_knowledge=prior_knowledge,
        timestamp=timestamp,
    )


@operation("flows/delete", toolset="flows", scope="write", kind="destructive", title="Delete a session")
def knowledge_delete(ctx: AppContext, session_id: SessionId) -> FlowSession:
    """Delete a session and its steps for good; answers what it was."""
    session = ctx.athand.flows.session(session_id)
    ctx.athand.flows.delete(session.id)
    return session


# Using again


@operation("flows/replay", toolset="flows", scope="call-tools", kind="write", title="Replay a session", open_world=True)
def knowledge_replay(
    ctx: AppContext,
    session_id: SessionId,
    *,
    start: Annotated[int, Range(1), Help("Begin with this step")] = 1,
    goal: Annotated[str | None, Help("Do it for this goal; its values take the place of the old")] = None,
    values: Annotated[dict[str, str] | None, Help("What goes into fields, by name; also secrets")] = None,
    heal: Annotated[bool, Help("Find an element again that has another name now")] = True,
    url: Annotated[str | None, Help("Begin at this address")] = None,
    browser: Annotated[str | None, Help("In the open browser of this session; else in a new one")] = None,
    headless: Headless = True,
    extension: Extension = None,
    progress: Progress,
) -> Replay:
    """Do again in a real browser what a session did. Stops where the page differs, and says how.

    What was secret is not kept, so its values must be given. The replay is recorded as a session of its own.
    """
    flows, done = ctx.athand.flows, count(1)
    session = flows.session(session_id)
    options = {"app": session.app, "url": url, "headless": headless, "extension": extension}
    with ctx.browsers.borrowed(browser, **options) as used:
        return flows.replay(
            used,
            session_id,
            start=start,
            goal=goal,
            values=values,
            heal=heal,
            progress=lambda _: progress(next(done), session.steps),
        )


@operation(
    "flows/reject_heal", toolset="flows", scope="write", kind="write", title="Reject a healed element", idempotent=True
)
def knowledge_reject_heal(
    ctx: AppContext,
    session_id: SessionId,
    position: Annotated[int, Range(1), Help("Which step of the session, from 1")],
    element: Annotated[str, Help("The element as the replay names it under healed")],
) -> Step:
    """Say that a replay took a wrong element for that of a step: no replay takes it for that again."""
    step = _step(ctx, session_id, position)
    ctx.athand.flows.reject_heal(step, element)
    return step


@operation("flows/script", toolset="flows", title="A session as a test")
def knowledge_script(
    ctx: AppContext,
    session_id: SessionId,
    language: Annotated[Literal["python", "typescript"], Help("Of the test")] = "python",
) -> str:
    """Write a session as a Playwright test that runs by itself, with the locators that were really used."""
    return ctx.athand.flows.script(session_id, language)


# Moving


@operation("flows/export", toolset="flows", scope="admin", kind="write", title="Export sessions", open_world=True)
def knowledge_export(ctx: AppContext, path: ServerPath, session: OfSession = None) -> dict[str, list[str]]:
    """Write sessions as folders that can be imported; answers the folders."""
    return {"folders": [str(folder) for folder in ctx.athand.flows.export(path, session)]}


@operation(
    "flows/import",
    toolset="flows",
    scope="admin",
    kind="write",
    title="Import sessions",
    idempotent=True,
    open_world=True,
)
def knowledge_import(
    ctx: AppContext,
    path: ServerPath,
    *,
    app: Annotated[str, Help("Whose sessions they are, if they do not say")] = DEFAULT_APP,
    progress: Progress,
) -> Imported:
    """Read the sessions in a folder: each a folder with session.json, and steps/*.json. What is known stays."""
    return ctx.athand.flows.import_(path, app=app, progress=progress)
