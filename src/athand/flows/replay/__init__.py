"""Replays recorded sessions, and heals targets that have changed since."""
