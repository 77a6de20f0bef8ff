"""A real browser whose every use is recorded as a step of a session."""

from athand.flows.browser.service import Browser

__all__ = ["Browser"]
