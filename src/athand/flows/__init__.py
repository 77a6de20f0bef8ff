"""Flows: recorded UI sessions, found by their goal, and what they know about each screen."""

from athand.flows.model import (
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
from athand.flows.profiles import Profile
from athand.flows.replay.player import Replay
from athand.flows.service import Flows
from athand.flows.transfer import ImportedFlows

__all__ = [
    "DEFAULT_APP",
    "UNKNOWN",
    "Avoid",
    "FlowHit",
    "FlowSession",
    "Flows",
    "Hint",
    "ImportedFlows",
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
