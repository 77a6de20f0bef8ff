"""Parameters of operations on tools."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from athand.parameters import Choice, Fraction, Help, Name, Range
from athand.tools.model import OUTCOMES
from athand.tools.scoring import MOST
from athand.tools.search import MODES

ToolId = Annotated[Name, Help("The tool's id: server__tool")]
ToolOrServer = Annotated[Name, Help("The id of a tool, or the name of a server: all its tools")]
ServerName = Annotated[Name, Help("The server's name")]
OfServer = Annotated[Name | None, Help("Only tools of this server; default: all servers")]
OwnCatalogue = Annotated[Name, Help("The catalogue that the tools belong to")]

Task = Annotated[str, Help("What is to be done, in plain words, or the name of a tool")]
ToolLimit = Annotated[Annotated[int, Range(1, MOST)] | None, Help("Maximum number of tools; default: 3 or the setting")]
Threshold = Annotated[Fraction | None, Help("Leave out tools that score less; default: 0.35 or the setting")]
Alpha = Annotated[Fraction | None, Help("Weight of meaning against words; default: 0.7 or the setting")]
ToolMode = Annotated[
    Annotated[str, Choice(MODES)] | None,
    Help("Search by meaning and words (hybrid), or by one of them, in place of alpha"),
]

Arguments = Annotated[
    Mapping[str, Any] | str | None, Help("The tool's arguments, as its input_schema says; also as JSON text")
]
Seconds = Annotated[
    Annotated[float, Range(0, 3600, exclusive=True)] | None, Help("Maximum seconds to wait for the answer")
]
MaxChars = Annotated[int, Range(1), Help("Maximum number of characters to return; the answer says how to read on")]
Continuation = Annotated[str, Help("The continuation of the answer that was cut")]

LoggedTool = Annotated[Name | None, Help("Only calls of this tool; default: all tools")]
LoggedServer = Annotated[Name | None, Help("Only calls of tools of this server; default: all servers")]
Outcome = Annotated[Annotated[str, Choice(OUTCOMES)] | None, Help("Only calls that ended like this; default: all")]
LogLimit = Annotated[int, Range(1, 10_000), Help("Maximum number of calls, the latest first")]

NewServer = Annotated[str, Help("The name that the tools are listed under")]
NewTools = Annotated[Iterable[Mapping[str, Any]], Help("Tools as tools/list has them: name, description, …")]
NewDescription = Annotated[str | None, Help("What the tools are for")]
