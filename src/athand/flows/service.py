"""The service of flows: record, search, predict, replay, import and export sessions."""

import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from athand.corpus import CorpusQuestion, Match, Names, Report
from athand.embed import LazyEmbedder
from athand.errors import InvalidInput
from athand.flows import rows, search, sessions, transfer
from athand.flows.context import FlowContext
from athand.flows.descriptions import describe_step
from athand.flows.export import LANGUAGES, export_script
from athand.flows.filters import FlowFilters
from athand.flows.model import DEFAULT_APP, FlowHit, FlowSession, OpenedSession, PriorKnowledge, SessionSummary, Step
from athand.flows.origins import origin_of
from athand.flows.parameters import (
    AfterScreen,
    App,
    Appeared,
    Before,
    CreatedAt,
    CurrentSession,
    Failure,
    Filters,
    FlowTags,
    FreeTags,
    Git,
    Goal,
    ImportApp,
    Input,
    Language,
    Launch,
    Milliseconds,
    NewSessionId,
    OfSession,
    Ok,
    PicturePath,
    Scope,
    Seen,
    SessionId,
    ShownKnowledge,
    Target,
    Timestamp,
    Tool,
    Version,
)
from athand.flows.prediction.predict import build_prior_knowledge
from athand.flows.profiles import Profile
from athand.flows.record import ToolCall, identify_screen, mask_element, mask_steps, record_step
from athand.flows.replay.player import Replay, replay
from athand.flows.search import FlowRanking, FlowSearchRequest
from athand.flows.transfer import ImportedFlows
from athand.flows.validation import (
    check_error,
    check_id,
    check_json_object,
    check_number,
    check_observation,
    check_path,
    check_string,
    check_target,
    check_texts,
    check_tool,
)
from athand.inputs import check_choice, check_limit, check_name, check_past
from athand.parameters import AnswerLength, FilePath, Limit, MinScore, Question
from athand.redaction import refuse_secret
from athand.store import Snapshot, Store, to_microseconds
from athand.types import Hits, Noun

if TYPE_CHECKING:
    from athand.flows.browser import Browser


class Flows(FlowContext):
    """The recorded sessions of a store."""

    def __init__(
        self,
        store: Store,
        embedder: LazyEmbedder,
        *,
        browser: str | None = None,
        pictures: Path | None = None,
        extensions: Sequence[Path] = (),
        **options: Any,
    ) -> None:
        super().__init__(store, embedder, **options)
        self._executable = browser
        self._pictures = pictures
        self._extensions = {folder.expanduser().resolve() for folder in extensions}
        self._browsers: WeakSet[Browser] = WeakSet()

    # Recording

    def start_session(
        self,
        *,
        goal: Goal = None,
        flow_tags: FlowTags = (),
        tags: FreeTags = (),
        app: App = DEFAULT_APP,
        app_version: Version = None,
        git: Git = None,
        launch: Launch = None,
        id: NewSessionId = None,
        created_at: CreatedAt = None,
    ) -> FlowSession:
        """Start a session, to record steps of a browser that is driven elsewhere. ui_launch starts one by itself."""
        args = sessions.SessionArgs(goal, flow_tags, tags, app, app_version, git, launch, id, created_at)
        return sessions.start_session(self, args)

    def record(
        self,
        session_id: SessionId,
        *,
        tool: Tool,
        target: Target = None,
        input: Input = None,
        ok: Ok = True,
        error: Failure = None,
        before: Before = None,
        after_screen: AfterScreen = None,
        screenshot: PicturePath = None,
        duration_ms: Milliseconds = None,
        prior_knowledge: ShownKnowledge = None,
        timestamp: Timestamp = None,
        origin: str | None = None,
        appeared: Appeared = (),
    ) -> Step:
        """Record one step of a session with what was seen before it, without secrets; durable when this answers."""
        shown = prior_knowledge.to_dict() if isinstance(prior_knowledge, Noun) else prior_knowledge
        call = ToolCall(
            tool=check_tool(tool),
            target=check_target(target),
            input=check_json_object("input", input),
            error=check_error(error, ok=ok),
            before=check_observation(before),
            after_screen=None if after_screen is None else check_name("after_screen", after_screen),
            screenshot=None if screenshot is None else check_path("screenshot", screenshot),
            duration_ms=check_number("duration_ms", duration_ms),
            prior_knowledge=None if shown is None else check_json_object("prior_knowledge", shown),
            timestamp=None if timestamp is None else check_past("timestamp", timestamp, self.now()),
            origin="" if origin is None else origin_of(check_string("origin", origin)),
            appeared=check_texts("appeared", appeared),
        )
        return record_step(self, check_id("session id", session_id), call)

    def share_secrets(self, session_id: str, other_id: str) -> None:
        """Mask the typed secrets of one session in another too, which the same browser records."""
        self.typed_secrets.share(session_id, other_id)

    def refuse_typed_secret(self, session_id: str, what: str, name: str) -> None:
        """Refuse a name that holds what was typed into a secret field of a session, or that looks like a secret."""
        refuse_secret(what, name)
        if self.typed_secrets.mask(session_id, name) != name:
            raise InvalidInput(f"{what} holds what was typed into a secret field. Choose another.")

    # Finding

    def search(
        self,
        query: Question,
        *,
        limit: Limit = 20,
        scope: Scope = "all",
        session: CurrentSession = None,
        filters: Filters = None,
        min_score: MinScore = None,
        once: bool = False,
        longest: AnswerLength = None,
    ) -> Hits[FlowHit]:
        """The matching steps, best first; with `once`, only the best step of each session."""
        request = search.make_request(
            self,
            query,
            limit=limit,
            scope=scope,
            session=session,
            filters=filters,
            min_score=min_score,
            once=once,
            longest=longest,
        )
        return self.find(request)

    def prior_knowledge(
        self,
        session_id: str,
        observation: Seen,
        *,
        previous: Step | None = None,
        window_hours: float | None = None,
    ) -> PriorKnowledge | None:
        """What earlier sessions know about a screen; None if they know nothing."""
        if not isinstance(previous, Step | None):
            raise InvalidInput(f"previous must be a Step, as record() returns it, not {type(previous).__name__}.")
        session, seen = self.session(session_id), check_observation(observation)
        if seen is None:
            raise InvalidInput("Say what is on the screen: an Observation.")
        window = check_number("window_hours", window_hours)
        return build_prior_knowledge(
            self,
            session,
            identify_screen(seen, self.profile(session.app)),
            previous,
            window_hours=self.window_hours if window is None else window,
        )

    def suggest(self, session_id: str) -> PriorKnowledge | None:
        """What earlier sessions know about the last screen a session saw."""
        seen, previous = sessions.last_observation(session_id, self.steps(session_id))
        return self.prior_knowledge(session_id, seen, previous=previous)

    def last(self, n: Limit = 20, session: OfSession = None) -> list[Step]:
        """List the newest steps, newest first, with what was seen before each and how it ended."""
        limit = check_limit(n)
        with self.store.snapshot() as snapshot:
            within = None if session is None else self.get_session(snapshot, check_id("session id", session))
            return rows.newest_steps(snapshot, limit, within)

    def sessions(self, limit: Limit = 10, filters: Filters = None) -> list[FlowSession]:
        """List the sessions, the newest first: their goals, tags and number of steps."""
        return sessions.list_sessions(self, check_limit(limit), FlowFilters.parse(filters))

    def session(self, session_id: SessionId) -> FlowSession:
        """Read one session: its goal, its tags, and where it comes from."""
        with self.store.snapshot() as snapshot:
            return self.get_session(snapshot, check_id("session id", session_id))

    def steps(self, session_id: SessionId) -> list[Step]:
        """List all steps of a session in order, with what was seen before each."""
        with self.store.snapshot() as snapshot:
            return rows.read_steps(snapshot, self.get_session(snapshot, check_id("session id", session_id)))

    def summarize(self, session_id: SessionId) -> SessionSummary:
        """Sum up a session: the screens it saw, what it did, and what failed."""
        return sessions.summarize_session(self.session(session_id), self.steps(session_id))

    def delete(self, session_id: str) -> int:
        """Delete a session with all that is derived from it; returns the number of its steps."""
        steps = sessions.delete_session(self, check_id("session id", session_id))
        pictures = self.pictures(session_id)
        if pictures and pictures.is_dir():
            shutil.rmtree(pictures)
        return steps

    def pictures(self, session_id: str) -> Path | None:
        """The folder of a session's screenshots, if they are stored; it is deleted with the session."""
        return self._pictures / check_id("session id", session_id) if self._pictures else None

    def count(self) -> dict[str, int]:
        """The number of sessions of each app."""
        with self.store.snapshot() as snapshot:
            counted = snapshot.rows("SELECT space, count(*) FROM flows GROUP BY space ORDER BY space")
        return {space: int(number) for space, number in counted}

    def count_steps(self) -> int:
        """The number of all steps."""
        return sum(self.store.counts("flows").values())

    # Replaying

    def open_browser(self, **launch_options: Any) -> "Browser":
        """A running browser that records its use in a session of its own."""
        browser = self.prepare_browser(**launch_options)
        browser.launch()
        return browser

    def prepare_browser(self, **launch_options: Any) -> "Browser":
        """A browser that starts when it is launched or a session is replayed in it."""
        from athand.flows.browser import Browser

        launch_options.setdefault("executable", self._executable)
        browser = Browser(self, **launch_options)
        self._browsers.add(browser)
        return browser

    def is_known_extension(self, folder: str | PathLike[str]) -> bool:
        """Whether the settings name this folder of a browser extension, so that agents may load it."""
        return Path(folder).expanduser().resolve() in self._extensions

    def replay(
        self,
        browser: "Browser",
        session_id: str,
        *,
        start: int = 1,
        goal: str | None = None,
        values: Mapping[str, str] | None = None,
        heal: bool = True,
        origins: Iterable[str] = (),
        progress: Callable[[Any], None] = lambda step: None,
    ) -> Replay:
        """Replay the actions of a session from step `start` on; stops where the page differs and reports it.

        Texts are typed only where they were recorded, and at the `origins` that are named here.
        """
        options: dict[str, Any] = {"start": start, "goal": goal, "values": values, "heal": heal, "origins": origins}
        return replay(self, browser, session_id, progress=progress, **options)

    def script(self, session_id: SessionId, language: Language = "python") -> str:
        """Write a session as a Playwright test that runs by itself, with the locators that were really used."""
        check_choice("language", language, LANGUAGES)
        session = self.session(session_id)
        attribute = self.profile(session.app).test_id_attribute
        return export_script(session, self.steps(session_id), language, test_id_attribute=attribute)

    def reject_heal(self, step: Step, element: str) -> None:
        """Store that an element is not the one a step acted on: healing does not propose it again."""
        _check_step(step)
        (step,) = mask_steps(self, step.session_id, [step])
        name = mask_element(self, step.session_id, check_name("element", element))
        now = to_microseconds(self.now())
        with self.store.transaction(spaces=(step.app,)) as transaction:
            rows.insert_rejection(transaction, step, name, now)

    def rejected_heals(self, step: Step) -> frozenset[str]:
        """The elements rejected for the action of a step, on its screen."""
        _check_step(step)
        with self.store.snapshot() as snapshot:
            return rows.read_rejections(snapshot, step)

    # Import, export and maintenance

    def import_(
        self, path: FilePath, *, app: ImportApp = DEFAULT_APP, progress: Callable[[int, int], None] | None = None
    ) -> ImportedFlows:
        """Import the sessions in a folder, each a folder with session.json and steps/*.json; existing steps stay."""
        return transfer.import_folder(self, Path(path), check_id("app", app), progress or (lambda done, total: None))

    def export(self, path: str | PathLike[str], session: str | None = None) -> list[Path]:
        """Export all sessions, or one, as folders that can be imported; returns the folders."""
        chosen = None if session is None else [self.session(session)]
        return transfer.export_folder(self, Path(path), chosen)

    def profile(self, app: str) -> Profile:
        """The profile of an app: its screens, test-id attribute and secret fields."""
        return self.app_profiles.get(check_id("app", app))

    def profiles(self) -> list[str]:
        """The names of the available profiles."""
        return self.app_profiles.names()

    # What the base class asks for

    def open(self, id: str, names: Names = None) -> OpenedSession:
        """A session with its steps in words, by its id or by that of one of its steps."""
        with self.store.snapshot() as snapshot:
            step = rows.steps_by_id(snapshot, [check_id("id", id)]).get(id)
            session = self.get_session(snapshot, step.session_id if step else id)
            steps = rows.read_steps(snapshot, session)
        return OpenedSession(session, tuple(map(describe_step, steps)), step.position if step else None)

    def make_request(self, question: CorpusQuestion) -> FlowSearchRequest:
        """The request of a search over all corpora: one hit per session."""
        filters = {"app": question.app}
        return search.make_request(
            self,
            question.text,
            limit=question.limit,
            filters=filters,
            min_score=question.min_total,
            once=True,
            longest=question.longest,
        )

    def rank(self, snapshot: Snapshot, request: FlowSearchRequest) -> FlowRanking:
        """The steps that answer a request, best first."""
        return search.rank(self, snapshot, request)

    def to_hits(self, snapshot: Snapshot, ranking: FlowRanking, matches: Sequence[Match]) -> list[FlowHit]:
        """The hits with everything needed to show them."""
        return search.to_hits(snapshot, ranking, matches)

    def size(self) -> int:
        """How many steps `reindex` goes through."""
        return self.count_steps()

    def report(self) -> Report:
        """The number of sessions, steps and apps."""
        sessions = self.count()
        return {"count": sum(sessions.values()), "steps": self.count_steps(), "apps": len(sessions)}, []

    def close(self) -> None:
        """Close every open browser."""
        with ExitStack() as ending:  # all of them, even if one fails
            for browser in list(self._browsers):
                ending.callback(browser.cleanup)


def _check_step(step: object) -> None:
    if not isinstance(step, Step):
        raise InvalidInput(f"step must be a Step, as steps() returns it, not {type(step).__name__}.")
