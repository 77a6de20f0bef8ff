"""The service of the tools corpus: all operations on servers and tools."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from athand.corpus import CorpusQuestion, Match, Report
from athand.embed import LazyEmbedder
from athand.errors import InvalidInput, NotFound
from athand.inputs import check_choice, check_limit, check_name, check_names, check_text
from athand.parameters import AnswerLength, ByOwner, Catalogues
from athand.store import Snapshot, Store
from athand.tools import approvals, calls, config_files, rows, search, servers
from athand.tools import catalogue as catalogues
from athand.tools import parameters as p
from athand.tools.access import reachable_servers
from athand.tools.call_log import MOST_ROWS, CallLog
from athand.tools.catalogue import CatalogueUpdate
from athand.tools.context import ToolContext
from athand.tools.masking import UNAPPROVED, for_agents, server_for
from athand.tools.model import (
    DEFAULT,
    OUTCOMES,
    CallRecord,
    CallResult,
    Rule,
    Server,
    ServerKey,
    Tool,
    ToolHit,
    ToolStats,
)
from athand.tools.relay import Relay
from athand.tools.scoring import MOST, SERVER
from athand.tools.search import ToolRanking, ToolSearchRequest
from athand.tools.servers import RunningServers
from athand.tools.startup import FirstStarts
from athand.tools.usage import UsageCounter
from athand.types import Candidate, Hit, Hits

# The class below has a method named list.
ToolList: TypeAlias = list[Tool]
ServerList: TypeAlias = list[Server]
RuleList: TypeAlias = list[Rule]
CallList: TypeAlias = list[CallRecord]
HitList: TypeAlias = list[ToolHit]
T = TypeVar("T", Tool, Server)
_PIECE = 20_000  # characters of one part when reading on


class Tools(ToolContext):
    """The tools of a store: registered, searched, typed, approved and called."""

    def __init__(self, store: Store, embedder: LazyEmbedder, **options: Any) -> None:
        super().__init__(store, embedder, **options)
        self._continuations = calls.Continuations()
        self._counter = UsageCounter(store)
        self._log = CallLog(self)
        self._running = RunningServers(self, self._apply_offer)
        self._starts = FirstStarts(self, self._running)
        self.catalogues: tuple[str, ...] | None = None  # set by load_all; None means all

    # Servers

    def load(
        self, config_path: str | PathLike[str], *, catalogue: str = DEFAULT, origin: str = "code", connect: bool = True
    ) -> ServerList:
        """Register the servers of an mcpServers file, and connect to them in the background.

        A configuration that was found in a project, not chosen by the caller, has the origin "project": nothing in it
        is started until the user trusts it.
        """
        space = check_name("catalogue", catalogue)
        entries, stale = servers.register(
            self, Path(config_path), space, check_choice("origin", origin, servers.ORIGINS)
        )
        for key in stale:
            self._running.forget(key)
        for entry in entries:
            self._running.forget_on_change((space, entry.name), entry)
        if connect:
            self.connect([(space, entry.name) for entry in entries if not entry.disabled])
        names = {entry.name for entry in entries}
        return [server for server in self.servers(catalogue=space) if server.name in names]

    def add(
        self,
        server: p.NewServer,
        tools: p.NewTools,
        *,
        description: p.NewDescription = None,
        catalogue: p.OwnCatalogue = DEFAULT,
    ) -> CatalogueUpdate:
        """Add tools without a live server: they can be found and described, not called. They are approved at once."""
        space, name = check_name("catalogue", catalogue), check_name("server", server)
        if isinstance(tools, str | Mapping) or not isinstance(tools, Iterable):
            raise InvalidInput(f"tools must be a list of tools, not {type(tools).__name__}.")
        offer = catalogues.build_offer(space, name, tools, is_all=False, by_hand=True)
        about = check_text("description", description) if description else None
        servers.register_list(self, space, name, about)
        return self._apply_offer(offer)

    def load_all(
        self,
        *,
        user: str | PathLike[str] | None = None,
        folder: str | PathLike[str] | None = None,
        config: str | PathLike[str] | None = None,
    ) -> tuple[str, ...]:
        """Register the servers of the user's file, of the project around a folder, and of one more configuration.

        Nothing is started. Returns the catalogues to search, in the order of precedence.
        """
        paths = (None if each is None else Path(each) for each in (user, folder, config))
        self.catalogues = config_files.load_all(self, *paths)
        return self.catalogues

    def connect_new(self, catalogue: Catalogues = None) -> int:
        """Connect in the background to servers that were never listed; returns how many."""
        new = [each for each in self.servers(catalogue=catalogue) if each.state == "unknown"]
        self.connect([(server.catalogue, server.name) for server in new])
        return len(new)

    def connect(self, keys: Iterable[ServerKey]) -> None:
        """Connect to registered servers in the background."""
        self._running.connect(keys)

    def wait(self, seconds: float = 60.0) -> bool:
        """Wait until every requested server is connected or has failed; False on timeout."""
        return self._running.wait(seconds)

    def refresh(self, server: p.ServerName, *, catalogue: Catalogues = None, seconds: float | None = None) -> Server:
        """List the tools of a server again, now. Changed tools wait for approval."""
        key = self._get_key(server, catalogue)
        self._running.refresh(key, seconds)
        return self._get_server(key)

    def login(
        self, server: str, *, open_page: Callable[[str], None], catalogue: Catalogues = None, seconds: float = 300.0
    ) -> None:
        """Log in to a remote server: `open_page` shows the user a page, and the tokens are stored."""
        self._running.login(self._get_key(server, catalogue), open_page, seconds)

    def logout(self, server: str, *, catalogue: Catalogues = None) -> bool:
        """Delete the login to a remote server and disconnect; whether there was one."""
        return self._running.logout(self._get_key(server, catalogue))

    def servers(self, *, catalogue: Catalogues = None, by_owner: ByOwner = True) -> ServerList:
        """List the servers that tools come from: their state, the reason if it is bad, and how many tools they have."""
        found = servers.list_servers(self, _to_spaces(catalogue), self._running.states())
        shown = _drop_hidden(found, _to_spaces(catalogue), lambda server: server.name)
        return [server_for(each, by_owner=by_owner) for each in shown]

    def remove(self, server: str, *, catalogue: Catalogues = None) -> None:
        """Remove a server and its tools from a catalogue."""
        key = self._get_key(server, catalogue)
        self._running.forget(key)
        with self.store.transaction(spaces=(key[0],)) as transaction:
            servers.unregister(transaction, self, *key)

    def hash_to_trust(self, path: str | PathLike[str]) -> str:
        """The hash of a project's configuration with its env files."""
        return approvals.hash_to_trust(self, Path(path))

    def trust(self, path: str | PathLike[str], *, hash: str | None = None) -> str:
        """Trust a project's configuration as long as it is unchanged; Conflict if its hash is not `hash`."""
        hash_ = approvals.trust(self, Path(path), hash)
        self.connect(self._running.forget_source(Path(path)))
        return hash_

    def distrust(self, path: str | PathLike[str]) -> bool:
        """Withdraw trust and stop the servers of the file; whether it was trusted."""
        was_trusted = approvals.distrust(self, Path(path))
        self._running.forget_source(Path(path))
        return was_trusted

    def is_trusted(self, path: str | PathLike[str]) -> bool:
        """Whether a project's configuration is trusted as it is now."""
        return approvals.is_trusted(self, Path(path))

    # Search

    def search(
        self,
        query: p.Task,
        *,
        limit: p.ToolLimit = None,
        threshold: p.Threshold = None,
        alpha: p.Alpha = None,
        server: p.OfServer = None,
        catalogue: Catalogues = None,
        mode: p.ToolMode = None,
        longest: AnswerLength = None,
    ) -> Hits[ToolHit]:
        """Find the tools that can do something, best first, each with its parameters and why it fits.

        If no tool fits, none is returned, and `closest` has the nearest names. A tool that was found is called with
        call_tool.
        """
        request = search.make_request(
            self,
            query,
            limit=limit,
            threshold=threshold,
            alpha=alpha,
            mode=mode,
            server=server,
            spaces=_to_spaces(catalogue),
            longest=longest,
        )
        if not request.query.text.strip():
            return Hits()
        return self._starts.wait_while_empty(request.query.spaces, lambda: self.find(request))

    def wait_while_empty(self, question: CorpusQuestion, ask: Callable[[], Hits[Hit]]) -> Hits[Hit]:
        """The answer of `ask`; while it is empty and servers start for the first time, ask again for a few seconds."""
        return self._starts.wait_while_empty(_spaces_of(question), ask)

    def list(self, server: p.OfServer = None, *, catalogue: Catalogues = None, by_owner: ByOwner = True) -> ToolList:
        """List all tools in full, also those that wait for approval. To find one, `search()` returns far less.

        What the owner has not approved, agents are not told: only its state, and the flags it has.
        """
        own = None if server is None else check_name("server", server)
        spaces = _to_spaces(catalogue)

        def look() -> ToolList:
            with self.store.snapshot() as snapshot:
                found = rows.list_tools(snapshot, spaces, own)
            if not found:
                raise NotFound("There are no tools.")
            return found if by_owner else [for_agents(tool) for tool in found]

        try:
            return self._starts.wait_while_empty(spaces, look)
        except NotFound:
            return []

    def describe(self, id: p.ToolId, *, catalogue: Catalogues = None, by_owner: ByOwner = True) -> Tool:
        """Tell everything about one tool: what it does, takes and returns, its kind, and whether it may be called.

        What the owner has not approved, agents are not told.
        """
        spaces = _to_spaces(catalogue)
        tool = self._starts.wait_while_empty(spaces, lambda: self._look_up(id, spaces))
        return tool if by_owner else for_agents(tool)

    def stubs(
        self,
        ids: str | Sequence[str],
        language: str = "typescript",
        *,
        catalogue: Catalogues = None,
        gateway: str | None = None,
    ) -> str:
        """The source of a module with a typed function for each of these tools; Refused for one never approved."""
        from athand.tools.stubs import render_stubs

        names = [ids] if isinstance(ids, str) else ids
        tools = [self.describe(id_, catalogue=catalogue) for id_ in names]
        for tool in tools:
            if tool.state in UNAPPROVED:
                calls.check_state(tool)
        return render_stubs(tools, language, gateway=gateway)

    # Calls

    def call(
        self,
        id: str,
        arguments: Mapping[str, Any] | str | None = None,
        *,
        catalogue: Catalogues = None,
        kinds: Collection[str] | None = None,
        confirm: calls.Confirm | None = None,
        seconds: float | None = None,
        max_chars: int | None = None,
        caller: str = "python",
        relay: Relay | None = None,
        careful: bool = False,
    ) -> CallResult:
        """Call a tool if it is approved, the rules allow it, and the arguments match its schema.

        The call is logged under the name of the caller. What its server asks and tells meanwhile goes to `relay`. A
        careful caller asks about what may destroy something, where no rule decides.
        """
        most = None if max_chars is None else calls.check_size(max_chars)
        tool = self.describe(id, catalogue=catalogue)
        with self._log.record(tool, arguments, caller):
            decision = calls.decide_without_rule(tool, self.choices.unannotated) if careful else "allow"
            return self._call(
                tool, arguments, decision, kinds=kinds, confirm=confirm, seconds=seconds, most=most, relay=relay
            )

    def _call(
        self,
        tool: Tool,
        arguments: Mapping[str, Any] | str | None,
        otherwise: str,
        *,
        kinds: Collection[str] | None,
        confirm: calls.Confirm | None,
        seconds: float | None,
        most: int | None,
        relay: Relay | None,
    ) -> CallResult:
        calls.check_state(tool)
        calls.check_kind(tool, kinds)
        from athand.tools.validate import validate_arguments

        checked = validate_arguments(arguments, tool.input_schema)
        calls.check_rules(self.rules(catalogue=tool.catalogue), tool, checked, confirm, otherwise)
        key = (tool.catalogue, tool.server)

        def check() -> None:
            """Check again after the server was started: its tools may have changed."""
            calls.check_state(self._look_up(tool.id, (tool.catalogue,)), as_hash=tool.hash)

        with self._counter.count_call():
            raw = self._running.call(key, tool.name, checked, seconds, check, relay)
            return self._continuations.truncate(calls.to_result(tool, raw), most)

    def read_on(self, continuation: p.Continuation, max_chars: p.MaxChars = _PIECE) -> CallResult:
        """Read the next part of a tool's answer that was cut. Nothing is called."""
        return self._continuations.read_on(continuation, calls.check_size(max_chars))

    def call_log(
        self,
        *,
        server: p.LoggedServer = None,
        tool: p.LoggedTool = None,
        outcome: p.Outcome = None,
        limit: p.LogLimit = 100,
        catalogue: Catalogues = None,
    ) -> CallList:
        """List the latest calls of tools: when, by whom, how long, how they ended, and their arguments without secrets.

        Calls of the last 30 days are kept, at most 10,000 of a catalogue.
        """
        chosen = None if outcome is None else check_choice("outcome", outcome, OUTCOMES)
        most = check_limit(limit, MOST_ROWS)
        return self._log.read(_to_spaces(catalogue), server=server, tool=tool, outcome=chosen, limit=most)

    # Decisions

    def approve(self, id: p.ToolId, *, catalogue: Catalogues = None) -> Tool:
        """Let a tool be called as its server offers it now.

        A new tool may wait for this, and one that was changed by its server always does. Approving means: somebody has
        read its description, its diff and its flags, and wants agents to follow them. A later change has to be approved
        again.
        """
        return approvals.approve(self, id, _to_spaces(catalogue))

    def reject(self, id: p.ToolId, *, catalogue: Catalogues = None) -> Tool:
        """Hide a tool from searches and refuse its calls, until it is approved."""
        return approvals.reject(self, id, _to_spaces(catalogue))

    def enable(self, id: p.ToolOrServer, *, catalogue: Catalogues = None) -> Tool | Server:
        """Switch a tool, or all tools of a server, on again. A tool that waits for approval still waits."""
        return self._enable(id, catalogue, on=True)

    def disable(self, id: p.ToolOrServer, *, catalogue: Catalogues = None) -> Tool | Server:
        """Switch a tool off, or all tools of a server, which is stopped: hidden, never called, until `enable()`."""
        return self._enable(id, catalogue, on=False)

    def rules(self, *, catalogue: str = DEFAULT) -> RuleList:
        """The rules for calls, of this catalogue and global ones."""
        space = check_name("catalogue", catalogue)
        with self.store.snapshot() as snapshot:
            return rows.list_rules(snapshot, space)

    def rule(self, pattern: str, decision: str | None, *, catalogue: str = rows.EVERYWHERE) -> None:
        """Set the decision for calls of tools whose id matches a pattern: allow, ask or deny; None deletes the rule."""
        approvals.set_rule(self, check_name("pattern", pattern), decision, check_name("catalogue", catalogue))

    # Maintenance

    def stats(self) -> ToolStats:
        """Count the tools, how often they were searched and called, and the tokens that searching saved."""
        return self._counter.stats(self)

    # What the base class asks for

    def open(self, id: str, names: Catalogues = None) -> Tool | CallResult:
        """The tool with this id, as agents see it; or by the continuation of an answer that was cut, the next part."""
        if id in self._continuations:
            return self.read_on(id)
        return self.describe(id, catalogue=names, by_owner=False)

    def make_request(self, question: CorpusQuestion) -> ToolSearchRequest:
        """The request of a search over all corpora; by default to the catalogue of the project and the default one."""
        return search.make_request(
            self,
            question.text,
            limit=min(question.limit, MOST),
            threshold=question.min_total,
            spaces=_spaces_of(question),
            longest=question.longest,
        )

    def places_of(self, candidates: Sequence[Candidate]) -> Sequence[str]:
        """The servers of tools."""
        return [str(candidate.item[SERVER]) for candidate in candidates]

    def rank(self, snapshot: Snapshot, request: ToolSearchRequest) -> ToolRanking:
        """The tools that answer a request, best first; notes name the servers that are still starting."""
        ranking = search.rank(self, snapshot, request)
        notes = (*ranking.answer.notes, *self._starts.notes(snapshot, request.query.spaces))
        found = ranking.answer.found
        if reachable_servers() is not None:  # the words of typo corrections may be those of other servers
            found = replace(found, corrections={})
        return replace(ranking, answer=replace(ranking.answer, notes=notes, found=found))

    def to_hits(self, snapshot: Snapshot, ranking: ToolRanking, matches: Sequence[Match]) -> HitList:
        """The hits with the tools as they were approved, and why they fit; the same for agents and for their owner."""
        return search.to_hits(snapshot, ranking, matches)

    def count_shown(self, hits: Sequence[ToolHit]) -> None:
        """Count a search, and the tokens of its hits."""
        self._counter.count_search([hit.item for hit in hits])

    def report(self) -> Report:
        """The servers with their numbers of tools, those that do not work, and how many tools wait for approval."""
        found = self.servers(by_owner=False)
        waiting = sum(server.waiting for server in found)
        problems = [f"{each.name} is {each.state}: {each.reason}" for each in found if each.reason]
        problems += [f"Waiting for approval: {waiting} of the tools. See: athand tools list"] if waiting else []
        count, facts = sum(server.tools for server in found), [server.to_dict() for server in found]
        return {"count": count, "waiting": waiting, "servers": facts}, problems

    def close(self) -> None:
        """Stop all servers, and write the usage counters."""
        self._running.close()
        self._log.close()
        self.embedding_pool.shutdown(wait=False, cancel_futures=True)
        self._counter.flush()

    def _apply_offer(self, offer: catalogues.Offer) -> CatalogueUpdate:
        update = catalogues.apply_offer(self, offer)
        self._counter.count_update(update)
        return update

    def _look_up(self, id_: str, spaces: tuple[str, ...] | None) -> Tool:
        with self.store.snapshot() as snapshot:
            return rows.get_tool(snapshot, id_, spaces)

    def _get_key(self, server: str, catalogue: Catalogues) -> ServerKey:
        with self.store.snapshot() as snapshot:
            return servers.get_row(snapshot, _to_spaces(catalogue), server).key

    def _enable(self, id_: str, catalogue: Catalogues, *, on: bool) -> Tool | Server:
        """Enable or disable a tool, or else a server with all its tools; a disabled server is stopped."""
        if (tool := approvals.enable_tool(self, id_, _to_spaces(catalogue), on=on)) is not None:
            return tool
        key = self._get_key(id_, catalogue)
        with self.store.transaction(spaces=(key[0],)) as transaction:
            servers.enable_server(transaction, self, key, on=on)
        if not on:
            self._running.forget(key)
        return self._get_server(key)

    def _get_server(self, key: ServerKey) -> Server:
        return next(each for each in self.servers(catalogue=key[0]) if each.name == key[1])


def _to_spaces(catalogue: Catalogues) -> tuple[str, ...] | None:
    """The catalogues as a tuple; None means all."""
    if catalogue is None:
        return None
    return (check_name("catalogue", catalogue),) if isinstance(catalogue, str) else check_names("catalogue", catalogue)


def _spaces_of(question: CorpusQuestion) -> tuple[str, ...] | None:
    if question.catalogue is None and question.project is not None:
        return question.project, DEFAULT
    return _to_spaces(question.catalogue)


def _drop_hidden(found: Sequence[T], spaces: tuple[str, ...] | None, get_name: Callable[[T], str]) -> list[T]:
    """Of equal names, keep the one of the first catalogue; without an order, keep all."""
    if spaces is None:
        return list(found)
    best = {get_name(each): each for each in sorted(found, key=lambda each: -spaces.index(each.catalogue))}
    return [each for each in found if best[get_name(each)] is each]
