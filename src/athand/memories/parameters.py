"""Parameters of operations on memories."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, TypedDict

from athand.memories.importers import FORMATS
from athand.memories.model import RELATIONS, WRITERS
from athand.memories.scoring import MODES, Weights
from athand.memories.sectors import MEMORY_TYPES, SECTORS, TIERS
from athand.parameters import Choice, Fraction, Help, Length, Name, Project, Range, Time

_Sector = Annotated[str, Choice(SECTORS)]
_Tier = Annotated[str, Choice(TIERS)]
_MemoryType = Annotated[str, Choice(MEMORY_TYPES)]
_Writer = Annotated[str, Choice(WRITERS)]
_Count = Annotated[int, Range(0, 1000)]

MemoryId = Annotated[Name, Help("The id of a memory, as searches give it")]

# Adding
Content = Annotated[str, Help("What to remember, in one or a few sentences that stand alone")]
FromSession = Annotated[Name | None, Help("The session it comes from")]
NewSector = Annotated[_Sector | None, Help("The kind of memory; default: detected")]
NewTier = Annotated[_Tier, Help("Where it shows: in its session, in its project, or everywhere")]
NewType = Annotated[_MemoryType | None, Help("The subject")]
Importance = Annotated[Fraction, Help("How slowly it fades, 0 to 1")]
Tags = Annotated[Sequence[str], Help("Words to filter by")]
Concepts = Annotated[Sequence[str], Help("Other words to find it by")]
Files = Annotated[Sequence[str], Help("Paths of files it is about")]
Summary = Annotated[str | None, Help("A title")]
Context = Annotated[str | None, Help("The situation in which it came up")]
Author = Annotated[Name | None, Help("Who said it")]
Writer = Annotated[_Writer, Help("Who writes it down")]
CreatedAt = Annotated[Time | None, Help("When it was said, ISO 8601; default: now")]
ValidFrom = Annotated[Time | None, Help("Since when it holds, ISO 8601")]
ValidUntil = Annotated[Time | None, Help("Until when it holds, ISO 8601")]
NewPinned = Annotated[bool, Help("Never let it fade, and begin every brief with it")]
NewId = Annotated[Name | None, Help("An id of your own")]
Key = Annotated[Name | None, Help("A name for this call: repeated, it adds nothing again")]
NewMemories = Annotated[
    Iterable[Mapping[str, Any]], Length(0, 1000), Help("Each an object with the arguments of memory_add")
]

# Finding
SearchProject = Annotated[Name | None, Help("Only this project and what holds everywhere; default: all projects")]
OfSector = Annotated[_Sector | None, Help("Only this kind of memory")]
OfTier = Annotated[_Tier | None, Help("Only what shows in its session, in its project, or everywhere")]
OfType = Annotated[_MemoryType | None, Help("Only this type")]
WithTags = Annotated[Sequence[str], Help("Only with all of these tags")]
InSession = Annotated[Name | None, Help("Only what this session made or used")]
OwnSession = Annotated[Name | None, Help("Your own session, to be linked with the results")]
LeastSalience = Annotated[Fraction, Help("Minimum salience now, 0 to 1")]
IncludeSuperseded = Annotated[bool, Help("Also what was replaced by something newer")]
IncludeDocuments = Annotated[bool, Help("Also passages of the project's documents")]
IncludeDeleted = Annotated[bool, Help("Also what was deleted and can be restored")]
AsOf = Annotated[Time | None, Help("Search what was valid at this time, ISO 8601")]
Mode = Annotated[str, Choice(MODES), Help("By meaning and words, or one of them")]
Reinforce = Annotated[bool, Help("Let the results fade more slowly")]
PlainWeights = Annotated[Weights | None, Help("Rank by a plain weighted sum instead")]
Before = Annotated[_Count, Help("Maximum number of older memories")]
After = Annotated[_Count, Help("Maximum number of newer memories")]
BriefTokens = Annotated[int, Range(0, 1_000_000), Help("Maximum length, in tokens")]


class MemoryFilters(TypedDict, total=False):
    """Which memories are listed or forgotten: those that pass all filters."""

    project: Project
    sector: OfSector
    tier: OfTier
    memory_type: OfType
    tags: WithTags
    author: Annotated[Name | None, Help("Only what this person said")]
    written_by: Annotated[_Writer | None, Help("Only what the user, an agent or an import wrote down")]
    in_session: InSession
    since: Annotated[Time | None, Help("Only made at this time or later, ISO 8601")]
    until: Annotated[Time | None, Help("Only made before this time, ISO 8601")]
    pinned: Annotated[bool | None, Help("Only pinned memories, or only others")]
    min_salience: Annotated[Fraction | None, Help("Minimum salience now, 0 to 1")]
    max_salience: Annotated[Fraction | None, Help("Maximum salience now, 0 to 1")]
    superseded: Annotated[bool | None, Help("Only superseded memories, or only those that still hold")]


# Changing
class MemoryChanges(TypedDict, total=False):
    """The fields of a memory that can be changed."""

    content: Annotated[str | None, Help("Another text")]
    summary: Annotated[str | None, Help("Another title")]
    context: Annotated[str | None, Help("Another situation in which it came up")]
    author: Author
    sector: Annotated[_Sector | None, Help("The kind of memory")]
    tier: Annotated[_Tier | None, Help("Where it shows")]
    memory_type: NewType
    importance: Annotated[Fraction | None, Help("How slowly it fades")]
    pinned: Annotated[bool | None, Help("Whether it never fades")]
    tags: Annotated[Sequence[str] | None, Help("All its tags from now on")]
    concepts: Annotated[Sequence[str] | None, Help("All its concepts from now on")]
    files: Annotated[Sequence[str] | None, Help("All its files from now on")]
    valid_until: ValidUntil


ChangingSession = Annotated[Name | None, Help("Your own session, to be linked with the memory")]
ExpectedUpdatedAt = Annotated[Time | None, Help("The updated_at you saw: refuse if it was changed since")]
Hard = Annotated[bool, Help("Leave no trace: it cannot be restored")]
DryRun = Annotated[bool, Help("Only list them; false deletes them")]
Reinforcement = Annotated[Fraction, Help("The part of its lost salience that comes back")]
Deemphasis = Annotated[Fraction, Help("How much salience to take away")]

# Relations, sessions, files
OldId = Annotated[Name, Help("The memory that does not hold any more")]
NewerId = Annotated[Name, Help("The memory that takes its place")]
By = Annotated[Name, Help("Who says so")]
SourceId = Annotated[Name, Help("The id of the memory that is related")]
TargetId = Annotated[Name, Help("The id of the memory it is related to")]
RelationType = Annotated[str, Choice(RELATIONS), Help("What the source is to the target")]
NewSessionId = Annotated[Name | None, Help("An id of your own; a session that has begun goes on")]
StartedAt = Annotated[Time | None, Help("When it began, ISO 8601; default: now")]
SessionId = Annotated[Name, Help("The id of the session")]
SessionSummary = Annotated[str | None, Help("What was done, for the brief of the next session")]
ImportProject = Annotated[Name | None, Help("The project of the notes; an export names its own")]
Format = Annotated[Annotated[str, Choice(FORMATS)] | None, Help("The format of the file; default: detected")]
