"""Flows: UI sessions that were walked, found again by their goal, and what is known about each screen."""

from recollect.flows.exchange import Imported
from recollect.flows.model import (
    DEFAULT_APP,
    UNKNOWN,
    Avoid,
    FlowHit,
    FlowSession,
    Hint,
    Observation,
    PriorKnowledge,
    RelatedSession,
    SessionSummary,
    SimilarStep,
    Step,
    SuggestedAction,
)
from recollect.flows.profiles import Profile
from recollect.flows.replaying.replay import Replay
from recollect.flows.service import Flows

__all__ = [
    "DEFAULT_APP",
    "UNKNOWN",
    "Avoid",
    "FlowHit",
    "FlowSession",
    "Flows",
    "Hint",
    "Imported",
    "Observation",
    "PriorKnowledge",
    "Profile",
    "RelatedSession",
    "Replay",
    "SessionSummary",
    "SimilarStep",
    "Step",
    "SuggestedAction",
]
