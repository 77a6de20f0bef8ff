"""Flows: everything that can be done with them, each in its own module; this is the list."""

import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from athand.embed import LazyEmbedder
from athand.errors import InvalidInput
from athand.flows import exchange, recording, records, rejections, search, sessions, upkeep
from athand.flows.desk import Desk
from athand.flows.entry import (
    check_error,
    check_id,
    check_number,
    check_observation,
    check_path,
    check_target,
    check_tool,
    plain_mapping,
)
from athand.flows.exchange import Imported
from athand.flows.export import LANGUAGES, export_script
from athand.flows.filters import Filters
from athand.flows.model import DEFAULT_APP, FlowHit, FlowSession, Observation, PriorKnowledge, SessionSummary, Step
from athand.flows.prior import suggest
from athand.flows.profiles import Profile, Profiles
from athand.flows.recording import Call
from athand.flows.replay.player import Replay, replay
from athand.indexing import Corpus
from athand.inputs import check_choice, check_limit, check_name, check_past
from athand.store import Store
from athand.types import Hits, Noun

if TYPE_CHECKING:
    from athand.flows.browser import Browser


class Flows:
    """The sessions of a store: recorded, searched, used again."""

    def __init__(
        self,
        store: Store,
        embedder: LazyEmbedder,
        *,
        use_cache: bool = True,
        profile_folders: Sequence[Path] = (),
        window_hours: float = 48.0,
        browser: str | None = None,
        pictures: Path | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        when_uncovered: Callable[[], None] = lambda: None,
    ) -> None:
        profiles = Profiles(profile_folders)
        self._desk = Desk(store, embedder, use_cache, clock, profiles, when_uncovered, window_hours)
        self._executable = browser
        self._pictures = pictures
        self._browsers: WeakSet[Browser] = WeakSet()

    # Recording

    def start_session(
        self,
        *,
        goal: str | None = None,
        flow_tags: Iterable[str] = (),
        tags: Iterable[str] = (),
        app: str = DEFAULT_APP,
        app_version: str | None = None,
        git: Mapping[str, Any] | None = None,
        launch: Mapping[str, Any] | None = None,
        id: str | None = None,
        created_at: datetime | str | None = None,
    ) -> FlowSession:
        """Begin a session; its steps are recorded under its id."""
        begun = sessions.Begun(goal, flow_tags, tags, app, app_version, git, launch, id, created_at)
        return sessions.start(self._desk, begun)

    def record(
        self,
        session_id: str,
        *,
        tool: str,
        target: Mapping[str, Any] | None = None,
        input: Mapping[str, Any] | None = None,
        ok: bool = True,
        error: Mapping[str, Any] | None = None,
        before: Observation | Mapping[str, Any] | None = None,
        after_screen: str | None = None,
        screenshot: str | PathLike[str] | None = None,
        duration_ms: float | None = None,
        prior_knowledge: PriorKnowledge | Mapping[str, Any] | None = None,
        timestamp: datetime | str | None = None,
    ) -> Step:
        """Keep one call of a tool, with what was seen before it. Durable when it returns; secrets are not kept."""
        shown = prior_knowledge.to_dict() if isinstance(prior_knowledge, Noun) else prior_knowledge
        call = Call(
            tool=check_tool(tool),
            target=check_target(target),
            input=plain_mapping("input", input),
            error=check_error(error, ok=ok),
            before=check_observation(before),
            after_screen=None if after_screen is None else check_name("after_screen", after_screen),
            screenshot=None if screenshot is None else check_path("screenshot", screenshot),
            duration_ms=check_number("duration_ms", duration_ms),
            prior_knowledge=None if shown is None else plain_mapping("prior_knowledge", shown),
            timestamp=None if timestamp is None else check_past("timestamp", timestamp, self._desk.now()),
        )
        return recording.record(self._desk, check_id("session id", session_id), call)

    def share_secrets(self, session_id: str, other_id: str) -> None:
        """What was typed in secret in one session is not kept in another either: one browser writes both."""
        self._desk.typed.share(session_id, other_id)

    # Finding

    def search(
        self,
        query: str,
        *,
        limit: int = 20,
        scope: str | Mapping[str, str] = "all",
        session: str | None = None,
        filters: Mapping[str, Any] | None = None,
        min_score: float | None = None,
        once: bool = False,
    ) -> Hits[FlowHit]:
        """The steps that fit, best first; `once` names each session once, by its best step."""
        return search.search(
            self._desk,
            query,
            limit=limit,
            scope=scope,
            session=session,
            filters=filters,
            min_score=min_score,
            once=once,
        )

    def prior_knowledge(
        self,
        session_id: str,
        observation: Observation | Mapping[str, Any],
        *,
        previous: Step | None = None,
        window_hours: float | None = None,
    ) -> PriorKnowledge | None:
        """What earlier sessions know about a screen; None when there is nothing to say."""
        if not isinstance(previous, Step | None):
            raise InvalidInput(f"previous must be a Step, as record returns it, not {type(previous).__name__}.")
        session, seen = self.session(session_id), check_observation(observation)
        if seen is None:
            raise InvalidInput("Say what is on the screen: an Observation.")
        window = check_number("window_hours", window_hours)
        return suggest.prior_knowledge(
            self._desk,
            session,
            recording.located(seen, self.profile(session.app)),
            previous,
            window_hours=self._desk.window_hours if window is None else window,
        )

    def suggest(self, session_id: str) -> PriorKnowledge | None:
        """What is known about the screen that a session has seen last, after the action before."""
        seen, previous = sessions.newest_look(session_id, self.steps(session_id))
        return self.prior_knowledge(session_id, seen, previous=previous)

    def last(self, n: int = 20, session: str | None = None) -> list[Step]:
        """The newest steps, newest first."""
        limit = check_limit(n)
        with self._desk.store.snapshot() as snapshot:
            own = None if session is None else records.get_session(snapshot, check_id("session id", session))
            return records.newest_steps(snapshot, limit, own)

    def sessions(self, limit: int = 10, filters: Mapping[str, Any] | None = None) -> list[FlowSession]:
        """Sessions, newest first."""
        return sessions.newest(self._desk, check_limit(limit), Filters.checked(filters))

    def session(self, id: str) -> FlowSession:
        """The session of an id."""
        with self._desk.store.snapshot() as snapshot:
            return records.get_session(snapshot, check_id("session id", id))

    def steps(self, session_id: str) -> list[Step]:
        """All steps of a session, in order."""
        with self._desk.store.snapshot() as snapshot:
            return records.steps_of(snapshot, records.get_session(snapshot, check_id("session id", session_id)))

    def summarize(self, session_id: str) -> SessionSummary:
        """A session at a glance: where it went, what it did, what failed."""
        return sessions.summary(self.session(session_id), self.steps(session_id))

    def delete(self, session_id: str) -> int:
        """Take out a session and leave nothing of it; how many steps it had."""
        steps = sessions.delete(self._desk, check_id("session id", session_id))
        pictures = self.pictures(session_id)
        if pictures and pictures.is_dir():
            shutil.rmtree(pictures)
        return steps

    def pictures(self, session_id: str) -> Path | None:
        """The folder of a session's screenshots, where they are kept at all; it goes with the session."""
        return self._pictures / check_id("session id", session_id) if self._pictures else None

    def count(self) -> dict[str, int]:
        """How many sessions there are, by app."""
        with self._desk.store.snapshot() as snapshot:
            rows = snapshot.rows("SELECT space, count(*) FROM flows GROUP BY space ORDER BY space")
        return {space: int(number) for space, number in rows}

    def count_steps(self) -> int:
        """How many steps there are in all."""
        return sum(self._desk.store.counts("flows").values())

    # Using again

    def open_browser(self, **launch_options: Any) -> "Browser":
        """A running browser whose every use is recorded in a session of its own."""
        browser = self.prepare_browser(**launch_options)
        browser.launch()
        return browser

    def prepare_browser(self, **launch_options: Any) -> "Browser":
        """A browser that runs once it is launched, or a session is replayed in it: then as a part of that replay."""
        from athand.flows.browser import Browser

        launch_options.setdefault("executable", self._executable)
        browser = Browser(self, **launch_options)
        self._browsers.add(browser)
        return browser

    def replay(
        self,
        browser: "Browser",
        session_id: str,
        *,
        start: int = 1,
        goal: str | None = None,
        values: Mapping[str, str] | None = None,
        heal: bool = True,
        progress: Callable[[Any], None] = lambda step: None,
    ) -> Replay:
        """Do again what a session did, from its step `start` on; stops where the page differs, and says how."""
        return replay(self, browser, session_id, start=start, goal=goal, values=values, heal=heal, progress=progress)

    def script(self, session_id: str, language: str = "python") -> str:
        """A session as a Playwright test that runs by itself."""
        check_choice("language", language, LANGUAGES)
        session = self.session(session_id)
        attribute = self.profile(session.app).test_id_attribute
        return export_script(session, self.steps(session_id), language, test_id_attribute=attribute)

    def reject_heal(self, step: Step, element: str) -> None:
        """Remember that an element is not what a step was done to: it is not proposed again."""
        rejections.add(self._desk, step, check_name("element", element))

    def rejected_heals(self, step: Step) -> frozenset[str]:
        """The elements that were said not to be what a step was done to."""
        return rejections.of(self._desk, step)

    # Moving and keeping

    def import_(
        self, path: str | PathLike[str], *, app: str = DEFAULT_APP, progress: Callable[[int, int], None] | None = None
    ) -> Imported:
        """Take in a folder of sessions, each `<session>/session.json` with `steps/*.json`; what is known stays."""
        return exchange.import_folder(
            self._desk, Path(path), check_id("app", app), progress or (lambda done, total: None)
        )

    def export(self, path: str | PathLike[str], session: str | None = None) -> list[Path]:
        """Write sessions as folders that can be imported; all of them, or one. Returns the folders."""
        chosen = None if session is None else [self.session(session)]
        return exchange.export_folder(self._desk, Path(path), chosen)

    def profile(self, app: str) -> Profile:
        """How an app is read: its screens, its test-id attribute, its secret fields."""
        return self._desk.profiles.get(check_id("app", app))

    def profiles(self) -> list[str]:
        """The names of the profiles there are."""
        return self._desk.profiles.names()

    @property
    def corpus(self) -> Corpus:
        """How passages come from sessions."""
        return upkeep.corpus()

    def reindex(self, progress: Callable[[int], None] = lambda done: None) -> int:
        """Make everything derived from the steps anew; how many there are."""
        return upkeep.reindex(self._desk, progress)

    def embed_missing(self, stop: Callable[[], bool] = lambda: False) -> bool:
        """Give every step a vector of the current model; until all have one, searches go by keyword."""
        return upkeep.embed_missing(self._desk, stop)

    def fingerprint(self) -> str:
        """A hash of everything that is derived from the steps."""
        return self._desk.store.fingerprint(self.corpus.index)

    def close(self) -> None:
        """Close every browser that is still open."""
        with ExitStack() as ending:  # all of them, whatever one of them says
            for browser in list(self._browsers):
                ending.callback(browser.cleanup)
