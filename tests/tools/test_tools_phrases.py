"""Requests are split into phrases: at the ends of sentences, and before "and" with a verb; lists stay whole."""

import pytest

from athand.tools.request_phrases import split_request


@pytest.mark.parametrize(
    ("request_", "phrases"),
    [
        ("Read the file. Send it to Bob", ["Read the file.", "Send it to Bob"]),
        ("read the notes and send a mail to Bob", ["read the notes", "send a mail to Bob"]),
        ("Read the notes, and then also send a mail", ["Read the notes", "send a mail"]),
        ("check the weather then how do I get there", ["check the weather", "how do I get there"]),
        ("the name and address of the customer", []),
        ("cats and dogs", []),
        ("run and find", []),
        ("", []),
    ],
)
def test_a_request_is_split_into_its_wishes(request_, phrases):
    assert split_request(request_) == phrases
