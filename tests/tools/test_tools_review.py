"""Answers of tools that are too long or too deep."""

from athand.tools.calls import Continuations
from athand.tools.model import CallResult


def test_a_long_text_is_cut_wherever_it_stands() -> None:
    resource = {"type": "resource", "resource": {"uri": "file:///a", "text": "x" * 500}}
    rests = Continuations()
    cut = rests.truncate(CallResult("a__b", ({"type": "text", "text": "A file:"}, resource)), 400)
    assert (len(cut.text), cut.truncated) == (400, True)
    assert cut.text + rests.read_on(str(cut.continuation), 400).text == "A file:\n" + "x" * 500


def test_an_answer_nested_without_end_is_a_text() -> None:
    text = "[" * 100_000
    assert CallResult("a__b", ({"type": "text", "text": text},)).value == text
