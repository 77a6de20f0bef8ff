"""What agents read first: the help of parameters and the descriptions of operations are plain and tell things apart."""

import re
from collections import Counter

import pytest

from athand.adapters.operations import operations

EVERY = list(operations().values())
# "All without" for "default: all"; but "without a visible window" is a plain word.
INSTEAD_OF_DEFAULT = re.compile(r"\bwithout\b(?! \w)|\bif (not|none)( (is )?(given|named))?\b", re.IGNORECASE)
NO_VERB = re.compile(r"(The|An?|All|What|How|Which|Whose|Where|Every|Everything|Each|One|Neither|\w+[^s]s) ")


def helps_of(operation):
    return {name: each.get("description", "") for name, each in operation.parameters["properties"].items()}


@pytest.mark.parametrize("operation", EVERY, ids=lambda each: each.name)
def test_parameters_are_described_and_no_two_alike(operation):
    helps = helps_of(operation)
    assert all(helps.values()), [name for name, text in helps.items() if not text]
    assert [text for text, times in Counter(helps.values()).items() if times > 1] == []


@pytest.mark.parametrize("operation", EVERY, ids=lambda each: each.name)
def test_help_begins_large_ends_open_and_names_a_default_as_such(operation):
    for name, text in helps_of(operation).items():
        assert text[0].isupper() and text[-1] not in ".;,", (name, text)
        assert not INSTEAD_OF_DEFAULT.search(text), (name, text)


@pytest.mark.parametrize("operation", EVERY, ids=lambda each: each.name)
def test_a_description_is_made_of_sentences_and_begins_with_a_verb(operation):
    for paragraph in operation.description.split("\n\n"):
        assert re.match(r"[A-Z`]|\w+_\w+", paragraph), paragraph
        assert paragraph.endswith("."), paragraph
    assert "()" not in operation.description  # methods of Python are not what agents call
    assert not NO_VERB.match(operation.description), operation.description
