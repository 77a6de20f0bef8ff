"""Lean answers: what an agent pays for is what it needs. `detail="full"` sends everything."""

from athand.adapters.mcp.lean.shapes import DETAIL, FULL, LEAN, find_shape, make_lean, make_lean_schema

__all__ = ["DETAIL", "FULL", "LEAN", "find_shape", "make_lean", "make_lean_schema"]
