"""The search over everything."""

from typing import Annotated

from athand.adapters.operations.catalogues import resolve_catalogues
from athand.adapters.operations.context import AppContext
from athand.adapters.operations.model import ALWAYS, operation
from athand.adapters.operations.parameters import (
    Catalogues,
    Corpus,
    FolderIds,
    Limit,
    MinScore,
    Name,
    Project,
    Question,
)
from athand.parameters import Help
from athand.types import Hit, Hits


@operation("search", toolset=ALWAYS, title="Search everything")
def search(
    ctx: AppContext,
    query: Question,
    corpora: Annotated[tuple[Corpus, ...] | None, Help("Only these corpora; all of them without")] = None,
    limit: Limit = 10,
    min_score: MinScore = None,
    project: Project = None,
    folder_id: FolderIds = None,
    catalogue: Catalogues = None,
    app: Annotated[Name | None, Help("Only flows of this app")] = None,
) -> Hits[Hit]:
    """Find what can be used for a task: memories, documents, tools and recorded UI flows, best first, each with why.

    Nothing is returned when nothing fits.
    """
    return ctx.athand.search(
        query,
        corpora=corpora,
        limit=limit,
        min_score=min_score,
        project=project,
        folder_id=folder_id,
        catalogue=resolve_catalogues(ctx, catalogue),
        app=app,
    )
