"""Parameters of operations on memories."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, TypedDict

from athand.memories.importers import FORMATS
from athand.memories.model import MOST_FORGOTTEN, RELATIONS, WRITERS
from athand.memories.scoring import MODES, Weights
from athand.memories.sectors import MEMORY_TYPES, SECTORS, TIERS
from athand.parameters import Choice, Fraction, FromCaller, Help, Length, Name, Project, Range, Time

_Sector = Annotated[str, Choice(SECTORS)]
_Tier = Annotated[str, Choice(TIERS)]
_MemoryType = Annotated[str, Choice(MEMORY_TYPES)]
_Writer = Annotated[str, Choice(WRITERS)]
_Count = Annotated[int, Range(0, 1000)]

MemoryId = Annotated[Name, Help("The id of a memory, as searches give it")]

# Adding
Content = Annotated[str, Help("What to remember, in one or a few sentences that stand alone")]
FromSession = Annotated[Name | None, Help("The session it comes from")]
NewSector = Annotated[_Sector | None, Help("The sector of the memory; default: detected from its text")]
NewTier = Annotated[_Tier, Help("Where it is found: in its session, in its project, or in every project")]
NewType = Annotated[_MemoryType | None, Help("The type of the memory; default: none")]
Importance = Annotated[Fraction, Help("How slowly it fades, 0 to 1")]
Tags = Annotated[Sequence[str], Help("Tags to filter by")]
Concepts = Annotated[Sequence[str], Help("Other words to find it by")]
Files = Annotated[Sequence[str], Help("Paths of files it is about")]
Summary = Annotated[str | None, Help("A title, for lists and briefs")]
Context = Annotated[str | None, Help("The situation it comes from")]
Author = Annotated[Name | None, Help("Who said it")]
Writer = Annotated[_Writer, FromCaller("writer"), Help("Who writes it down: a person, an agent, or an import")]
# None from Python: each says who writes it down.
WriterOfAll = Annotated[_Writer | None, FromCaller("writer"), Help("Who writes all of them down")]
Changer = Annotated[_Writer, FromCaller("writer"), Help("Who changes it: a person, an agent, or an import")]
CreatedAt = Annotated[Time | None, Help("When it was said, ISO 8601; default: now")]
ValidFrom = Annotated[Time | None, Help("From when it is valid, ISO 8601; default: created_at")]
ValidUntil = Annotated[Time | None, Help("Until when it is valid, ISO 8601; default: for ever")]
NewPinned = Annotated[bool, Help("Never let it fade, and begin every brief with it")]
NewId = Annotated[Name | None, Help("An id of your own; default: a new id")]
Key = Annotated[Name | None, Help("A name for this call: repeated with the same key, it adds nothing again")]
NewMemories = Annotated[
    Iterable[Mapping[str, Any]], Length(0, 1000), Help("Each an object with the arguments of memory_add")
]

# Finding
SearchProject = Annotated[Name | None, Help("Only this project and global memories; default: all, yours first")]
OfSector = Annotated[_Sector | None, Help("Only memories of this sector; default: all sectors")]
OfTier = Annotated[
    _Tier | None, Help("Only memories of this tier, which says where they are found; default: all tiers")
]
OfType = Annotated[_MemoryType | None, Help("Only memories of this type; default: all types")]
WithTags = Annotated[Sequence[str], Help("Only memories with all of these tags")]
InSession = Annotated[Name | None, Help("Only memories that this session made or used")]
OwnSession = Annotated[Name | None, Help("Your own session, to be linked with the results")]
LeastSalience = Annotated[Fraction, Help("Minimum salience now, 0 to 1")]
IncludeSuperseded = Annotated[bool, Help("Also memories that a newer one has replaced")]
IncludeDocuments = Annotated[bool, Help("Also passages of the project's documents")]
IncludeDeleted = Annotated[bool, Help("Also deleted memories that can be restored")]
Since = Annotated[Time | None, Help("Only memories made at this time or later: ISO 8601, or an age: 12h, 7d, 2w")]
Until = Annotated[Time | None, Help("Only memories made before this time: ISO 8601, or an age: 12h, 7d, 2w")]
AsOf = Annotated[Time | None, Help("Only what was valid at this time, ISO 8601; default: now")]
Mode = Annotated[str, Choice(MODES), Help("Search by meaning and words (hybrid), or by one of them")]
Reinforce = Annotated[bool, Help("Let the results fade more slowly")]
PlainWeights = Annotated[Weights | None, Help("Rank by a plain sum with these weights instead")]
Before = Annotated[_Count, Help("Maximum number of older memories")]
After = Annotated[_Count, Help("Maximum number of newer memories")]
BriefProject = Annotated[Name, Help("The project that work begins on")]
BriefTokens = Annotated[int, Range(0, 1_000_000), Help("Maximum length, in tokens")]


class MemoryFilters(TypedDict, total=False):
    """Which memories are listed or forgotten: those that pass all filters."""

    project: Project
    sector: OfSector
    tier: OfTier
    memory_type: OfType
    tags: WithTags
    author: Annotated[Name | None, Help("Only memories that this person said")]
    written_by: Annotated[_Writer | None, Help("Only memories that a person, an agent or an import wrote down")]
    in_session: InSession
    since: Since
    until: Until
    as_of: AsOf
    pinned: Annotated[bool | None, Help("Only pinned memories, or only others")]
    min_salience: Annotated[Fraction | None, Help("Minimum salience now, 0 to 1")]
    max_salience: Annotated[Fraction | None, Help("Maximum salience now, 0 to 1")]
    superseded: Annotated[bool | None, Help("Only superseded memories, or only valid ones")]


# Changing
class MemoryChanges(TypedDict, total=False):
    """The fields of a memory that can be changed."""

    content: Annotated[str | None, Help("The new text")]
    summary: Annotated[str | None, Help("The new title")]
    context: Annotated[str | None, Help("The situation it comes from")]
    author: Author
    sector: Annotated[_Sector | None, Help("The sector of the memory")]
    tier: Annotated[_Tier | None, Help("Where it is found: in its session, in its project, or in every project")]
    memory_type: NewType
    importance: Annotated[Fraction | None, Help("How slowly it fades, 0 to 1")]
    pinned: Annotated[bool | None, Help("Whether it never fades and begins every brief")]
    tags: Annotated[Sequence[str] | None, Help("The new tags, in place of the old ones")]
    concepts: Annotated[Sequence[str] | None, Help("The new concepts, in place of the old ones")]
    files: Annotated[Sequence[str] | None, Help("The new files, in place of the old ones")]
    valid_until: ValidUntil


ChangingSession = Annotated[Name | None, Help("Your own session, to be linked with the memory")]
ExpectedUpdatedAt = Annotated[Time | None, Help("The updated_at that you have read: refuse if it was changed since")]
Hard = Annotated[bool, Help("Leave no trace: it cannot be restored")]
DryRun = Annotated[bool, Help("Only list what would be deleted; false deletes it")]
ForgetLimit = Annotated[int, Range(1, MOST_FORGOTTEN), Help("Maximum number, the oldest first; ask again for more")]
Reinforcement = Annotated[Fraction, Help("The part of its lost salience that comes back")]
Deemphasis = Annotated[Fraction, Help("How much salience to take away")]

# Relations, sessions, files
OldId = Annotated[Name, Help("The id of the memory that is not valid any more")]
NewerId = Annotated[Name, Help("The id of the memory that takes its place")]
By = Annotated[Name, FromCaller("writer"), Help("Who relates them")]
SourceId = Annotated[Name, Help("The id of the memory that is related")]
TargetId = Annotated[Name, Help("The id of the memory it is related to")]
RelationType = Annotated[str, Choice(RELATIONS), Help("What the source is to the target")]
NewSessionId = Annotated[Name | None, Help("An id of your own, or that of a session to continue; default: a new id")]
StartedAt = Annotated[Time | None, Help("When it began, ISO 8601; default: now")]
SessionId = Annotated[Name, Help("The id of the session")]
SessionSummary = Annotated[str | None, Help("What was done, for the brief of the next session")]
ImportProject = Annotated[Name | None, Help("The project of the notes; an export has its own projects")]
Format = Annotated[Annotated[str, Choice(FORMATS)] | None, Help("The format of the file; default: detected")]
