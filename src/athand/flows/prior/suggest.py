"""Prior knowledge: what earlier sessions know about the screen that is shown now."""

from collections import Counter
from collections.abc import Iterable, Mapping

from athand.flows.context import FlowContext
from athand.flows.model import SCHEMA, UNKNOWN, FlowSession, Observation, PriorKnowledge, Step, SuggestedAction
from athand.flows.prior.around import avoided, related, shown_avoids, similar
from athand.flows.prior.confidence import Count, Deed, Tally, Walk, add_votes, age_weight, goal_weight, shares, votes
from athand.flows.prior.deeds import Teller, Told, places_of
from athand.flows.prior.hints import Page, as_words, hints, how_possible, offered_input, several
from athand.flows.prior.scene import Scene, set_scene
from athand.flows.prior.similar import Look
from athand.flows.prior.walks import Reader
from athand.store import to_datetime

MOST_SUGGESTED = 5
LIKE = 0.55  # as near as two goals are that want the same
LEAST_CONFIDENCE = 0.02
_DAY = 86_400_000_000


def prior_knowledge(
    context: FlowContext,
    session: FlowSession,
    observation: Observation,
    previous: Step | None,
    *,
    window_hours: float = 48.0,
) -> PriorKnowledge | None:
    """What earlier sessions know about a screen; None when there is nothing to say."""
    screen = observation.screen or UNKNOWN
    with context.store.snapshot() as snapshot:
        reader = Reader(snapshot, context.history_cache, session.app, screen, Look.of(observation))
        scene = set_scene(context, reader, session, previous)
        failing = avoided(scene)
        found = PriorKnowledge(
            schema_version=SCHEMA,
            generated_at=to_datetime(scene.now),
            query=_query(scene, screen, window_hours),
            related_sessions=related(scene, window_hours),
            similar_steps=similar(scene, reader),
            suggested_next_actions=_suggested(scene, reader, observation, {each.action for each in failing}),
            avoid=shown_avoids(reader, failing),
        )
    is_empty = not (found.related_sessions or found.similar_steps or found.suggested_next_actions or found.avoid)
    return None if is_empty else found


def _query(scene: Scene, screen: str, window_hours: float) -> dict[str, object]:
    """What was asked, in words."""
    last = scene.own[-1] if scene.own else None
    asked = {
        "app": scene.session.app,
        "screen": screen,
        "goal": scene.session.goal,
        "previous": last and as_words(last.verb, last.target, last.given),
        "windowHours": window_hours,
    }
    return {name: value for name, value in asked.items() if value is not None}


def _suggested(
    scene: Scene, reader: Reader, observation: Observation, failing: set[str]
) -> tuple[SuggestedAction, ...]:
    page = Page.of(observation)
    count = _count(scene, reader, page)
    forbidden = failing | set(scene.failed)
    possible = {}
    for key, tally in count.tallies.items():
        deed = tally.newest
        factor = how_possible(deed.move.verb, deed.target, deed.given, page)
        if factor and not {key, deed.move.action} & forbidden:
            possible[key] = factor
    failures = Counter(each.action for each in scene.failures)
    confidence = shares(count, possible, failures)
    best = sorted(confidence, key=lambda key: (-confidence[key], key))[:MOST_SUGGESTED]
    return tuple(
        _shown(rank, count, count.tallies[key], confidence[key], scene, page)
        for rank, key in enumerate(best, 1)
        if confidence[key] >= LEAST_CONFIDENCE
    )


def _shown(rank: int, count: Count, tally: Tally, confidence: float, scene: Scene, page: Page) -> SuggestedAction:
    deed = tally.newest
    ways = hints(deed.target, page)
    return SuggestedAction(
        rank=rank,
        action=deed.move.verb,
        rationale=_rationale(count, tally, scene) + _doubt(several(deed.target, page)),
        confidence=round(confidence, 3),
        preferred_target=ways[0] if ways else None,
        fallback_targets=ways[1:],
        input=offered_input(deed.move.verb, deed.given, scene.session.goal),
    )


def _rationale(count: Count, tally: Tally, scene: Scene) -> str:
    """Why, in one sentence with counts."""
    last = scene.own[-1] if scene.own else None
    after = f"after {as_words(last.verb, last.target, last.given)}" if last else "at the beginning"
    if tally.after_like:
        return f"Done {tally.after_like} of {count.after_like} times {after} in sessions with a like goal."
    if tally.after:
        return f"Done {tally.after} of {count.after} times {after} in other sessions."
    return f"Done in {tally.sessions} other session{'s' if tally.sessions > 1 else ''} on this screen."


def _doubt(number: int) -> str:
    return f" There are {number} such elements now: look which is meant." if number else ""


def _count(scene: Scene, reader: Reader, page: Page) -> Count:
    """All votes of the walks that were asked."""
    places = places_of(move for walk in (*scene.walks.values(), Walk("", tuple(scene.own))) for move in walk.moves)
    teller = Teller(
        scene.session.goal, scene.own, page, places, lambda move: reader.is_here(move.screen, move.observation)
    )
    sessions = scene.known.sessions
    told = [(walk, teller.tell(walk, sessions[walk.session].goal)) for walk in scene.walks.values() if walk.moves]
    confirmed = _confirmed(scene, told)
    count = Count()
    for walk, each in told:
        may_end = walk.moves[-1].after in (None, reader.screen)
        some = votes(each.deeds, each.history, may_end=may_end, values_left=each.values_left)
        weight = goal_weight(scene.nearness(walk.session))
        weighed = ((vote, vote.weight * weight * _age(scene, vote.deed, walk, confirmed)) for vote in some)
        add_votes(count, weighed, is_like=scene.nearness(walk.session) >= LIKE)
    return count


def _confirmed(scene: Scene, told: Iterable[tuple[Walk, Told]]) -> dict[str, tuple[int, bool]]:
    """When each action was last done here, and whether in this version of the app."""
    found: dict[str, tuple[int, bool]] = {}
    for walk, each in told:
        is_same = _is_same_version(scene, walk)
        for deed in each.deeds:
            if deed.is_here:
                at, was = found.get(deed.offered, (0, False))
                found[deed.offered] = (max(at, deed.move.created_at), was or is_same)
    return found


def _is_same_version(scene: Scene, walk: Walk) -> bool:
    """Whether a walk was in this version of the app, or nobody knows."""
    version = scene.known.sessions[walk.session].app_version
    return version is None or scene.session.app_version in (None, version)


def _age(scene: Scene, deed: Deed | None, walk: Walk, confirmed: Mapping[str, tuple[int, bool]]) -> float:
    ended = (walk.moves[-1].created_at, _is_same_version(scene, walk))
    at, is_same = ended if deed is None else confirmed[deed.offered]
    return age_weight((scene.now - at) / _DAY, is_same_version=is_same)
