"""Whose tools are meant: a server that was started in one project does not reach into another."""

from collections.abc import Sequence

from athand.adapters.operations.context import AppContext
from athand.errors import NotFound

Catalogues = str | Sequence[str] | None


def resolve_catalogues(ctx: AppContext, named: Catalogues) -> Catalogues:
    """The catalogues that were named, or all that this process was opened for."""
    return within(named, ctx.athand.tools.catalogues)


def within(named: Catalogues, reachable: Catalogues) -> Catalogues:
    """The catalogues that a request means; it cannot reach others than it may."""
    wanted = [named] if isinstance(named, str) else named
    if not wanted:
        return reachable
    known = [reachable] if isinstance(reachable, str) else reachable
    if known is not None and (foreign := [each for each in wanted if each not in known]):
        raise NotFound(f"No catalogue {foreign[0]!r} here. There are: {', '.join(known)}.")
    return named
