"""Continuation tokens: they carry everything, and nobody can write one."""

import base64
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from athand.app import SCHEMAS
from athand.documents.cursors import Cursors, load_cursors
from athand.errors import InvalidInput
from athand.store import open_store

OURS = Cursors(b"k" * 32)
STATES = st.dictionaries(st.text(), st.none() | st.integers() | st.floats(allow_nan=False) | st.text() | st.booleans())


@given(STATES, st.text(min_size=1, max_size=20))
def test_a_token_opens_to_what_was_put_in(state, kind):
    token = OURS.encode(kind, state)
    assert re.fullmatch(r"[\w-]+", token, re.ASCII)
    assert OURS.decode(kind, token) == state


@given(STATES, st.data())
def test_a_token_that_was_changed_anywhere_is_refused(state, data):
    token = OURS.encode("search_content", state)
    at = data.draw(st.integers(0, len(token) - 1))
    other = data.draw(st.sampled_from("ABCxyz019-_=+/ é\n").filter(lambda letter: letter != token[at]))
    for broken in (token[:at] + other + token[at + 1 :], token[:at], token + other, token[at:] + token[:at]):
        if broken != token:
            with pytest.raises(InvalidInput, match="continuation_token"):
                OURS.decode("search_content", broken)


@given(st.none() | st.integers() | st.binary() | st.text() | st.text("ABCabc012-_", max_size=200))
def test_whatever_is_no_token_is_refused(given_):
    with pytest.raises(InvalidInput):
        OURS.decode("search_content", given_)


def test_a_token_of_another_store_or_call_is_refused():
    token = OURS.encode("search_content", {"a": 1})
    with pytest.raises(InvalidInput):
        Cursors(b"x" * 32).decode("search_content", token)
    with pytest.raises(InvalidInput, match="list_documents"):
        OURS.decode("list_documents", token)


def test_what_is_inside_of_a_token_cannot_be_written_by_hand():
    sealed = base64.urlsafe_b64decode(OURS.encode("search_content", {"limit": 10}) + "==")
    forged = base64.urlsafe_b64encode(sealed.replace(b"10", b"99")).decode().rstrip("=")
    with pytest.raises(InvalidInput):
        OURS.decode("search_content", forged)


def test_a_store_keeps_its_key_and_no_other_store_has_it(location, tmp_path):
    store, other = open_store(location, SCHEMAS), open_store(str(tmp_path / "other.db"), SCHEMAS)
    try:
        assert load_cursors(store) == load_cursors(store) != load_cursors(other)
    finally:
        store.close()
        other.close()
