"""Arguments that make no sense: each is answered, or refused with an error of ours; nothing else is ever raised."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.adapters.operations_kit import arguments, opened
from tests.adapters.test_operations import OURS, named

from athand.adapters.operations import operations
from athand.errors import InvalidInput, NotFound, StoreError

LONGEST_REFUSAL = 5000
READS = [each for each in OURS if each.kind == "read"]
NASTY = (
    *("", " ", "\0", "\ud800", "a\0b", "'; DROP TABLE memories; --", "[[[[", '{"a":' * 500, "2026-99-99", "*", "../.."),
    *("NaN", "1e400", "9" * 5000, "x" * 1_000_000, "**/" * 300, "[" * 2000, "\u202e", "NEAR(a AND"),
    *(None, True, 0, -1, 10**30, 10**400, 1e308, float("nan"), float("inf"), -0.0),
    *([], [None], [""], ["\0"], ["\ud800"], ["x"] * 5000, {}, {"a": {"b": []}}, {"": None}, {"\ud800": "\ud800"}),
    *({"semantic": float("nan"), "keyword": 1e308, "salience": -1e308, "recency": 0}, ["x" * 100_000]),
)


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    with opened(tmp_path_factory.mktemp("hostile")) as workspace:
        yield workspace


@pytest.fixture(scope="module")
def fitting(workspace, tmp_path_factory):
    return arguments(workspace, tmp_path_factory.mktemp("unused"))


def answered(workspace, operation, arguments):
    """The answer, which JSON can hold, or a refusal that can be read."""
    try:
        return json.dumps(operation.perform(workspace, arguments), allow_nan=False)
    except (InvalidInput, NotFound) as refused:
        assert 0 < len(str(refused).encode()) < LONGEST_REFUSAL
        return str(refused)


@pytest.mark.parametrize("operation", READS, ids=named)
def test_anything_in_any_place_is_answered_or_refused(workspace, fitting, operation):
    for name in operation.parameters["properties"]:
        for nasty in NASTY:
            answered(workspace, operation, {**fitting[operation.name], name: nasty})


def values():
    text = st.text(max_size=20) | st.sampled_from(["old", "notes", "deploy.md", "shop", "audit", "\ud800", "\0"])
    number = st.integers() | st.floats() | st.booleans() | st.none()
    leaves = text | number
    return leaves | st.lists(leaves, max_size=3) | st.dictionaries(text, leaves, max_size=3)


@st.composite
def calls(draw):
    operation = draw(st.sampled_from(READS))
    names = sorted(operation.parameters["properties"])
    chosen = draw(st.lists(st.sampled_from(names), unique=True)) if names else []
    needed = operation.parameters.get("required", [])
    return operation, {name: draw(values()) for name in {*chosen, *needed}}


@settings(max_examples=120)
@given(call=calls())
def test_any_call_is_answered_or_refused(workspace, call):
    answered(workspace, *call)


PATHS = ("memory_export", "memory_import", "add_folder", "backup_store", "export_store", "import_store")


@pytest.mark.parametrize("path", ["", "\0", "a\0b", "x" * 4000, "~nobody-has-this-name/x", "no/such/folder/x"])
@pytest.mark.parametrize("name", PATHS)
def test_a_path_that_leads_nowhere_is_refused(workspace, name, path):
    with pytest.raises((InvalidInput, NotFound, StoreError)):
        operations()[name].perform(workspace, {"path": path})
