"""Exports a recorded session as a Playwright test, in Python or TypeScript."""

from collections.abc import Sequence

from athand.flows.export import python, typescript
from athand.flows.export.script import build_script
from athand.flows.model import FlowSession, Step

_WRITERS = {"python": python.write_test, "typescript": typescript.write_test}
LANGUAGES = tuple(_WRITERS)


def export_script(
    session: FlowSession, steps: Sequence[Step], language: str, *, test_id_attribute: str = "data-testid"
) -> str:
    """The source of a test that does what the session did; recorded texts only appear in it as string literals."""
    return _WRITERS[language](build_script(session, steps, test_id_attribute))
