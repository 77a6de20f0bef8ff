"""Memories: short texts that an agent keeps, found by words and by meaning."""

from athand.memories.memory_tool import MemoryFolder
from athand.memories.model import (
    GLOBAL_SPACE,
    Memory,
    MemoryHit,
    Related,
    Relation,
    Session,
    SessionContext,
    Similar,
    Stats,
    Successor,
    Timeline,
)
from athand.memories.scoring import SEED_WEIGHTS, Weights
from athand.memories.service import Memories

__all__ = [
    "GLOBAL_SPACE",
    "SEED_WEIGHTS",
    "Memories",
    "Memory",
    "MemoryFolder",
    "MemoryHit",
    "Related",
    "Relation",
    "Session",
    "SessionContext",
    "Similar",
    "Stats",
    "Successor",
    "Timeline",
    "Weights",
]
