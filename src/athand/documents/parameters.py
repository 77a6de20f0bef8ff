"""Parameters of operations on documents."""

from collections.abc import Sequence
from typing import Annotated

from athand.parameters import Help, Length, Name, PathText, Range

FolderId = Annotated[Name, Help("The id of a folder, as hits give it")]
NewFolderId = Annotated[Name | None, Help("The id that the folder gets; default: made from its name")]
AnyFolderId = Annotated[Name | None, Help("Only this folder; default: all folders")]
FolderProject = Annotated[Name | None, Help("The project that the folder belongs to; default: all projects")]
Wait = Annotated[bool, Help("Return when it is indexed; false indexes in the background")]

DocumentId = Annotated[PathText, Help("The path of a document in its folder, as searches give it")]
PathPattern = Annotated[PathText | None, Help("Only files whose path fits this pattern, such as docs/**/*.md")]
DirectoryPath = Annotated[PathText, Help("A directory in the folder; default: the folder itself")]
DirectoryOrPattern = Annotated[PathText, Help("A directory in the folder, or a pattern such as docs/**/*.md")]

Concepts = Annotated[Sequence[str], Help("What passages should be about, in a few words each")]
ExactTerms = Annotated[Sequence[str], Help("Names, numbers or code, found literally; with concepts they raise scores")]
Subject = Annotated[str, Help("What the documents are about; leave it out with a continuation_token")]
Once = Annotated[bool, Help("Return each document once, with its best passage")]
FewPerPage = Annotated[int, Range(1, 50), Help("Maximum number of results per page")]
HundredPerPage = Annotated[int, Range(1, 100), Help("Maximum number of documents per page")]
ManyPerPage = Annotated[int, Range(1, 500), Help("Maximum number of entries per page")]
PageTokens = Annotated[
    Annotated[int, Range(0, 1_000_000)] | None, Help("Maximum length of a page, in tokens of a language model")
]

Line = Annotated[int, Range(1)]
StartLine = Annotated[Line | None, Help("The first line, counted from 1")]
EndLine = Annotated[Line | None, Help("The last line, included")]
MaxChars = Annotated[int, Range(0, 200_000), Help("Maximum number of characters per answer")]
ChunkIds = Annotated[Sequence[Name], Length(1, 100), Help("Ids of passages, from a search")]
Neighbours = Annotated[int, Range(0, 10), Help("Number of passages to add before and after each")]
