"""The `recollect` command."""

from recollect.adapters.cli.main import main

__all__ = ["main"]
