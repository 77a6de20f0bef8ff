"""The `athand` command."""

from athand.adapters.cli.main import main

__all__ = ["main"]
