"""What can be asked about tools: the parameters of the routes, checked before anything happens."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Annotated, Any, Literal

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field

from athand.adapters.operations.catalogues import Catalogues
from athand.tools import Tool

PIECE = 20_000  # characters of an answer, if the caller does not say how many
_LONGEST_CALL = 3600.0  # seconds

Named = Annotated[list[str] | None, Query(alias="catalogue", description="Catalogues; the first that has a tool wins")]
Filter = Annotated[
    str | None,
    Query(alias="filter", max_length=20_000, description="Ids or patterns such as git__*, with commas between"),
]
Characters = Annotated[int, Query(ge=1, description="How much text to answer")]


class Asked(BaseModel):
    """A search of tools."""

    model_config = ConfigDict(extra="forbid")

    query: str
    limit: int | None = None
    threshold: float | None = None
    alpha: float | None = None
    server: str | None = None
    catalogue: list[str] | None = None
    mode: str | None = None
    output: Literal["json", "types", "python"] = "json"

    def options(self) -> dict[str, Any]:
        """All that a search takes besides the query and the catalogues."""
        return self.model_dump(exclude={"query", "catalogue", "output"})


class Call(BaseModel):
    """A call of a tool. Without `kinds` it may be of any kind; `max_chars` null wants all of the answer."""

    model_config = ConfigDict(extra="forbid")

    arguments: dict[str, Any] | str | None = None
    kinds: list[Literal["read", "write", "destructive"]] | None = None
    max_chars: Annotated[int, Field(ge=1)] | None = PIECE
    seconds: Annotated[float, Field(gt=0, le=_LONGEST_CALL)] | None = None


def fitting(tools: Sequence[Tool], pattern: str | None, catalogue: Catalogues) -> list[Tool]:
    """The tools whose id a filter names; of one id in several catalogues that were named, the first."""
    # Only * and ? are patterns: sets of characters are in no id, and many of them take minutes to be read.
    wanted = [each.strip().replace("[", "[[]") for each in (pattern or "*").split(",") if each.strip()]
    found = [tool for tool in tools if any(fnmatchcase(tool.id, each) for each in wanted)]
    if catalogue is None or isinstance(catalogue, str):
        return found
    first = {tool.id: tool for tool in sorted(found, key=lambda tool: -catalogue.index(tool.catalogue))}
    return [tool for tool in found if first[tool.id] is tool]
