"""Parameters that several operations share, each with its meaning: agents read these words."""

from typing import Annotated, Literal

from athand.parameters import FilePath, Help, Length, Range

Corpus = Literal["memories", "documents", "tools", "flows"]

# An error may repeat what it was given: nothing that stands for something is longer than it can be.
Name = Annotated[str, Length(0, 256)]
Path = Annotated[str, Length(0, 4096)]
Time = Annotated[str, Length(0, 64)]

Question = Annotated[str, Help("What is looked for, in plain words; 10,000 characters count")]
Limit = Annotated[int, Range(1, 1000), Help("How many at most")]
MinScore = Annotated[float | None, Range(0, 1), Help("Leave out what scores less, 0 to 1")]
Project = Annotated[Name | None, Help("Only what belongs to this project")]
OwnProject = Annotated[Name, Help("The project it belongs to")]
Token = Annotated[str | None, Help("From the page before, to go on; leave the rest as it was")]
ServerPath = FilePath

FolderId = Annotated[Name, Help("The id of a folder, see list_folders")]
FolderIds = Annotated[Name | tuple[Name, ...] | None, Help("Only this folder, or these; all without")]
DocumentId = Annotated[Path, Help("The path of a document in its folder, as searches give it")]
FilePattern = Annotated[Path | None, Help("Only files that fit, such as docs/**/*.md")]
Catalogues = Annotated[Name | tuple[Name, ...] | None, Help("Only tools of this catalogue, or these")]

MemoryId = Annotated[Name, Help("The id of a memory, as searches give it")]
Session = Annotated[Name | None, Help("Your own session, which will be linked with the memory")]
Sector = Literal["emotional", "reflective", "episodic", "procedural", "semantic"]
Tier = Literal["session", "project", "global"]
MemoryType = Literal["preference", "codebase", "decision", "gotcha", "pattern", "turn_summary", "task_completion"]
OfSector = Annotated[Sector | None, Help("Only this kind of memory")]
OfTier = Annotated[Tier | None, Help("Only what shows in its session, in its project, or everywhere")]
OfType = Annotated[MemoryType | None, Help("Only this type")]
WithTags = Annotated[tuple[str, ...], Help("Only with all of these tags")]
InSession = Annotated[Name | None, Help("Only what this session made or used")]
OfAuthor = Annotated[Name | None, Help("Only what this person said")]
Writer = Literal["user", "agent", "import"]
WrittenBy = Annotated[Writer | None, Help("Only what was written down by the user, an agent, or an import")]
Since = Annotated[Time | None, Help("Only made at this time or later, ISO 8601")]
Until = Annotated[Time | None, Help("Only made before this time, ISO 8601")]
Pinned = Annotated[bool | None, Help("Only those that are pinned, or only those that are not")]
LeastSalience = Annotated[float | None, Range(0, 1), Help("Only what matters at least so much now, 0 to 1")]
MostSalience = Annotated[float | None, Range(0, 1), Help("Only what matters at most so much now, 0 to 1")]
Superseded = Annotated[bool | None, Help("Only what was superseded, or only what still holds")]
