"""What an agent should remember: short texts, kept for good, found by word and by meaning."""

from recollect.memories.model import Memory
from recollect.memories.service import Memories

__all__ = ["Memories", "Memory"]
