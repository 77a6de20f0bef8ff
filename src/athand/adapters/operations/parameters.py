"""Parameters that several operations share, each with its meaning: agents read these words."""

from pathlib import Path as FilePath
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

_LONGEST_PART = 255  # of a path, in bytes


def _possible(path: str) -> str:
    """A path that the system can be asked for."""
    try:
        parts = FilePath(path).expanduser().parts
    except RuntimeError as error:
        raise ValueError("there is no user of that name") from error
    if "\0" in path or any(len(part.encode()) > _LONGEST_PART for part in parts):
        raise ValueError("no file can have that name")
    return path


Corpus = Literal["memories", "documents", "tools", "flows"]

# An error may repeat what it was given: nothing that stands for something is longer than it can be.
Name = Annotated[str, Field(max_length=256)]
Path = Annotated[str, Field(max_length=4096)]
Time = Annotated[str, Field(max_length=64)]

Question = Annotated[str, Field(description="What is looked for, in plain words; 10,000 characters count")]
Limit = Annotated[int, Field(ge=1, le=1000, description="How many at most")]
MinScore = Annotated[float | None, Field(ge=0, le=1, description="Leave out what scores less, 0 to 1")]
Project = Annotated[Name | None, Field(description="Only what belongs to this project")]
OwnProject = Annotated[Name, Field(description="The project it belongs to")]
Token = Annotated[str | None, Field(description="From the page before, to go on; leave the rest as it was")]
ServerPath = Annotated[
    Path, AfterValidator(_possible), Field(min_length=1, description="A path on the machine that Athand runs on")
]

FolderId = Annotated[Name, Field(description="The id of a folder, see list_folders")]
FolderIds = Annotated[Name | tuple[Name, ...] | None, Field(description="Only this folder, or these; all without")]
DocumentId = Annotated[Path, Field(description="The path of a document in its folder, as searches give it")]
FilePattern = Annotated[Path | None, Field(description="Only files that fit, such as docs/**/*.md")]
Catalogues = Annotated[Name | tuple[Name, ...] | None, Field(description="Only tools of this catalogue, or these")]

MemoryId = Annotated[Name, Field(description="The id of a memory, as searches give it")]
Session = Annotated[Name | None, Field(description="Your own session, which will be linked with the memory")]
Sector = Literal["emotional", "reflective", "episodic", "procedural", "semantic"]
Tier = Literal["session", "project", "global"]
MemoryType = Literal["preference", "codebase", "decision", "gotcha", "pattern", "turn_summary", "task_completion"]
OfSector = Annotated[Sector | None, Field(description="Only this kind of memory")]
OfTier = Annotated[Tier | None, Field(description="Only what shows in its session, in its project, or everywhere")]
OfType = Annotated[MemoryType | None, Field(description="Only this type")]
WithTags = Annotated[tuple[str, ...], Field(description="Only with all of these tags")]
InSession = Annotated[Name | None, Field(description="Only what this session made or used")]
OfAuthor = Annotated[Name | None, Field(description="Only what this person said")]
Writer = Literal["user", "agent", "import"]
WrittenBy = Annotated[
    Writer | None, Field(description="Only what was written down by the user, an agent, or an import")
]
Since = Annotated[Time | None, Field(description="Only made at this time or later, ISO 8601")]
Until = Annotated[Time | None, Field(description="Only made before this time, ISO 8601")]
Pinned = Annotated[bool | None, Field(description="Only those that are pinned, or only those that are not")]
LeastSalience = Annotated[float | None, Field(ge=0, le=1, description="Only what matters at least so much now, 0 to 1")]
MostSalience = Annotated[float | None, Field(ge=0, le=1, description="Only what matters at most so much now, 0 to 1")]
Superseded = Annotated[bool | None, Field(description="Only what was superseded, or only what still holds")]
