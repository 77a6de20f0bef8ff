"""Scanner for tool poisoning: flags what is suspicious in the definition of a tool."""

from athand.tools.poisoning.neighbours import Neighbours
from athand.tools.poisoning.scan import scan_definition

__all__ = ["Neighbours", "scan_definition"]
