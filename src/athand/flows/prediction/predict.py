"""Predicts what to do on a screen: from the history of past sessions to prior knowledge."""

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np

from athand.flows.actions import action_key
from athand.flows.context import FlowContext
from athand.flows.descriptions import summarize_action
from athand.flows.model import SCHEMA, UNKNOWN, FlowSession, Observation, PriorKnowledge, Step, SuggestedAction
from athand.flows.prediction.confidence import Tally, VoteCount, Voter, confidences, count_votes
from athand.flows.prediction.history import Action, HistoryReader, ScreenStep, Trace
from athand.flows.prediction.page import Page, PageSignature, choose_input, feasibility, locate_target
from athand.flows.prediction.related import find_repeated_failures, related_sessions, similar_steps, to_avoids
from athand.flows.prediction.rewrite import Rewriter
from athand.flows.prediction.session_index import SessionIndex, SessionInfo
from athand.flows.rows import purpose
from athand.rank import Numbers
from athand.store import to_datetime, to_microseconds

MAX_SUGGESTED = 5
MIN_CONFIDENCE = 0.02
_WITH_SIMILAR_GOAL, _AFTER_SAME_ACTION, _NEWEST = 24, 20, 10  # sessions whose traces are read


@dataclass(frozen=True, slots=True)
class PredictionContext:
    """The current session, and what past sessions did on its screen and elsewhere."""

    session: FlowSession
    now: int
    index: SessionIndex
    similarities: Numbers  # goal similarity per session of the index; -1 marks the current one
    own: Sequence[Action]  # of the current session, so far
    failed: Set[str]  # keys of the actions that failed in the current session since its last success
    successes: Sequence[ScreenStep]  # on this screen, newest first
    failures: Sequence[ScreenStep]
    by_others: Sequence[ScreenStep]  # the successes of other sessions
    traces: Mapping[str, Trace]  # of the past sessions that are asked, by their id
    ids_on_screen: frozenset[str]  # of the actions in the traces that were done on this screen

    def similarity(self, session_id: str) -> float:
        """The goal similarity of a past session."""
        return float(self.similarities[self.index.positions[session_id]])

    @property
    def traces_by_similarity(self) -> list[Trace]:
        """The traces, most similar goal first."""
        return [self.traces[id_] for id_ in sorted(self.traces, key=lambda id_: (-self.similarity(id_), id_))]


def build_prior_knowledge(
    flows: FlowContext,
    session: FlowSession,
    observation: Observation,
    previous: Step | None,
    *,
    window_hours: float = 48.0,
) -> PriorKnowledge | None:
    """What past sessions know about the page of a session; None if they know nothing."""
    screen = observation.screen or UNKNOWN
    with flows.store.snapshot() as snapshot:
        reader = HistoryReader(snapshot, flows.history_cache, session.app, screen, PageSignature.of(observation))
        context = _gather_context(flows, reader, session, previous)
        repeated = find_repeated_failures(context.successes, context.failures)
        knowledge = PriorKnowledge(
            schema_version=SCHEMA,
            generated_at=to_datetime(context.now),
            query=_describe_query(context, screen, window_hours),
            related_sessions=related_sessions(
                context.index, context.similarities, context.by_others, context.now, window_hours
            ),
            similar_steps=similar_steps(reader, context.by_others, context.traces_by_similarity, context.ids_on_screen),
            suggested_next_actions=_suggest_actions(
                context, screen, Page.of(observation), {each.key for each in repeated} | context.failed
            ),
            avoid=to_avoids(reader, repeated),
        )
    found = (knowledge.related_sessions, knowledge.similar_steps, knowledge.suggested_next_actions, knowledge.avoid)
    return knowledge if any(found) else None


def _gather_context(
    flows: FlowContext, reader: HistoryReader, session: FlowSession, previous: Step | None
) -> PredictionContext:
    """Reads what past sessions did, and what the current one has done until now."""
    index = reader.session_index(session.id, flows.embedder)
    similarities = index.goal_similarities(purpose(session.goal, session.flow_tags, session.tags), flows.embedder)
    if session.id in index.positions:
        similarities[index.positions[session.id]] = -1.0
    own, failed = _read_own_history(reader, session, previous)
    successes = reader.steps_on_screen(ok=True)
    by_others = [each for each in successes if each.session_id != session.id and each.session_id in index.positions]
    traces = reader.traces(_select_sessions(index, similarities, by_others, own[-1].key if own else ""))
    return PredictionContext(
        session=session,
        now=to_microseconds(flows.now()),
        index=index,
        similarities=similarities,
        own=own,
        failed=frozenset(failed),
        successes=successes,
        failures=reader.steps_on_screen(ok=False),
        by_others=by_others,
        traces=traces,
        ids_on_screen=reader.select_on_screen(traces.values()),
    )


def _read_own_history(
    reader: HistoryReader, session: FlowSession, previous: Step | None
) -> tuple[list[Action], list[str]]:
    """The actions of the session until now, or until the previous step, and what failed since the last of them."""
    is_own = previous is not None and previous.session_id == session.id
    actions, failed = reader.own_actions(session.id, previous.position if previous is not None and is_own else None)
    if previous is None or is_own:
        return actions, failed
    key = action_key(previous.verb, previous.target, previous.input)
    if not key or not previous.ok:
        return actions, [*failed, *filter(None, [key])]
    created_at = to_microseconds(previous.timestamp)
    action = Action(previous.id, key, previous.verb, previous.screen, previous.target, previous.input, created_at)
    return [*actions, action], []


def _select_sessions(
    index: SessionIndex, similarities: Numbers, on_screen: Sequence[ScreenStep], last: str
) -> list[SessionInfo]:
    """The sessions to ask: with the most similar goals, here after the same last action, and the newest here."""
    ids = list(index.positions)
    best = np.lexsort((-index.created, -similarities))[:_WITH_SIMILAR_GOAL].tolist()
    by_goal = [ids[at] for at in best if similarities[at] >= 0]
    after_same = dict.fromkeys(step.session_id for step in on_screen if step.key and step.previous == last)
    newest = dict.fromkeys(step.session_id for step in on_screen)
    chosen = dict.fromkeys((*by_goal, *list(after_same)[:_AFTER_SAME_ACTION], *list(newest)[:_NEWEST]))
    return [index.sessions[id_] for id_ in chosen]


def _describe_query(context: PredictionContext, screen: str, window_hours: float) -> dict[str, object]:
    """What was asked, in words."""
    session = context.session
    asked = {
        "app": session.app,
        "screen": screen,
        "goal": session.goal,
        "previous": _describe_last(context),
        "windowHours": window_hours,
    }
    return {name: value for name, value in asked.items() if value is not None}


def _describe_last(context: PredictionContext) -> str | None:
    """The last action of the session in words."""
    last = context.own[-1] if context.own else None
    return None if last is None else summarize_action(last.verb, last.target, last.input)


def _suggest_actions(
    context: PredictionContext, screen: str, page: Page, excluded: Set[str]
) -> tuple[SuggestedAction, ...]:
    """The most probable next actions that can be done now, without those that fail."""
    count = count_votes(_rewrite_sessions(context, page), screen, context.now)
    feasible: dict[str, float] = {}
    for key, tally in count.tallies.items():
        planned = tally.newest
        factor = feasibility(planned.action.verb, planned.target, planned.input, page)
        if factor and not {key, planned.action.key} & excluded:
            feasible[key] = factor
    confidence = confidences(count, feasible, Counter(step.key for step in context.failures))
    best = sorted(confidence, key=lambda key: (-confidence[key], key))[:MAX_SUGGESTED]
    return tuple(
        _to_suggestion(rank, confidence[key], count, count.tallies[key], context, page)
        for rank, key in enumerate(best, 1)
        if confidence[key] >= MIN_CONFIDENCE
    )


def _rewrite_sessions(context: PredictionContext, page: Page) -> list[Voter]:
    """The past sessions rewritten for the current goal, ready to vote."""
    session, sessions = context.session, context.index.sessions
    rewriter = Rewriter(session.goal, context.own, page, context.traces.values(), context.ids_on_screen)
    return [
        Voter(
            rewriter.rewrite(trace, sessions[id_].goal),
            context.similarity(id_),
            is_same_version=sessions[id_].app_version is None
            or session.app_version in (None, sessions[id_].app_version),
        )
        for id_, trace in context.traces.items()
        if trace.actions
    ]


def _to_suggestion(
    rank: int, confidence: float, count: VoteCount, tally: Tally, context: PredictionContext, page: Page
) -> SuggestedAction:
    planned = tally.newest
    hints, matches = locate_target(planned.target, page)
    doubt = f" There are {matches} such elements now; check which one is meant." if matches > 1 else ""
    return SuggestedAction(
        rank=rank,
        action=planned.action.verb,
        rationale=_explain(count, tally, context) + doubt,
        confidence=round(confidence, 3),
        preferred_target=hints[0] if hints else None,
        fallback_targets=hints[1:],
        input=choose_input(planned.action.verb, planned.input, context.session.goal),
        last_time=planned.action.appeared[0] if planned.action.appeared else None,
    )


def _explain(count: VoteCount, tally: Tally, context: PredictionContext) -> str:
    """Why an action is suggested: one sentence with counts."""
    last = _describe_last(context)
    after = "at the beginning" if last is None else f"after {last}"
    if similar := tally.after_same_similar:
        return f"Done {similar} of {count.after_same_similar} times {after} in sessions with a similar goal."
    if tally.after_same:
        return f"Done {tally.after_same} of {count.after_same} times {after} in other sessions."
    return f"Done in {tally.sessions} other session{'s' if tally.sessions > 1 else ''} on this screen."
