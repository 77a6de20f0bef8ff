"""Parameters of the browser's tools: elements, waiting, test ids and tabs."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypedDict

from athand.flows.browser.actions import WAIT_STATES
from athand.flows.browser.render_tree import MAX_LENGTH
from athand.flows.browser.snapshot import MAX_TEST_IDS
from athand.parameters import Choice, Help, Length, PythonOnly, Range

MAX_STEPS = 100


class ElementTarget(TypedDict, total=False):
    """An element: exactly one of test_id, selector, ref, or role with name."""

    test_id: Annotated[str | None, Help("The element with this test id. Give exactly one kind of target")]
    selector: Annotated[str | None, Help("The element of this CSS selector")]
    ref: Annotated[str | None, Help("The element with this ref (e1, e2 …) of the newest snapshot")]
    role: Annotated[str | None, Help("The element with this accessible role; with a name")]
    name: Annotated[str | None, Help("The accessible name, beside a role")]
    target: Mapping[str, Any]  # the same as one dictionary, from Python


TimeoutS = Annotated[
    float | None, Range(0, 300, exclusive=True), Help("Maximum wait, in seconds; default: that of the launch")
]

# Looking
MaxTestIds = Annotated[int, Range(1, MAX_TEST_IDS), Help("Maximum number of test ids")]
Root = Annotated[
    str | Annotated[Mapping[str, str], PythonOnly()] | None,
    Help("Only the element with this test id and all inside it"),
]
PartRoot = Annotated[str | None, Help("Only the element with this ref or test id, and all inside it")]
PartText = Annotated[str | None, Help("Only what contains this text, and where it is")]
TreeLength = Annotated[int, Range(1, MAX_LENGTH), Help("Maximum number of characters of `page`")]
WithScreenshot = Annotated[bool, Help("Save a picture of the page too")]
FileName = Annotated[str | None, Help("A plain file name; default: a new one")]
FullPage = Annotated[bool, Help("The whole page, also what is scrolled out of view")]
AwaitedText = Annotated[str | None, Help("A text on the page")]
AwaitedUrl = Annotated[str | None, Help("An address: a part of it, or a pattern with *")]
AwaitedScreen = Annotated[str | None, Help("A screen by its name")]
AwaitedState = Annotated[str, Choice(WAIT_STATES), Help("Wait until it is visible, or until it is hidden")]

# Acting
Url = Annotated[str, Help("The address with its scheme; files of the machine are not opened")]
TypedText = Annotated[str, Help("What to type")]
Clear = Annotated[bool, Help("Replace what is in the field")]
Submit = Annotated[bool, Help("Press Enter at the end")]
Secret = Annotated[bool | None, Help("Keep the text out of all records, as always in fields that look like passwords")]
Key = Annotated[str, Help("The key: Enter, Escape, Control+a …")]
OptionValue = Annotated[str | None, Help("The value of the option")]
OptionLabel = Annotated[str | None, Help("The visible text of the option, instead of its value")]
TabIndex = Annotated[int | None, Range(0), Help("The number of the tab, as ui_get_state lists it")]
TabUrl = Annotated[str | None, Help("A part of the tab's address, instead of its number")]
TabTitle = Annotated[str | None, Help("A part of the tab's title, instead of its number")]
BatchSteps = Annotated[
    Sequence[Mapping[str, Any]], Length(1, MAX_STEPS), Help('Each such as {"tool": "click", "test_id": "send"}')
]
StopOnError = Annotated[bool, Help("Stop at the first step that fails")]
