"""Memories are searched within a time, which is given as such or as an age."""

from datetime import UTC, datetime, timedelta

import pytest
from tests.engines import one_engine

from athand.errors import InvalidInput


@pytest.fixture
def dated(memories):
    now = datetime.now(UTC)
    for days in (0, 3, 20, 400):
        made = (now - timedelta(days=days, minutes=5)).isoformat()
        memories.add(f"We decided about the deploy {days} days ago", created_at=made)
    return memories


def ages(hits):
    return sorted(int(hit.item.content.split()[-3]) for hit in hits)


@pytest.mark.parametrize(
    ("within", "expected"),
    [
        ({}, [0, 3, 20, 400]),
        ({"since": "12h"}, [0]),
        ({"since": "7d"}, [0, 3]),
        ({"since": "3w"}, [0, 3, 20]),
        ({"until": "7d"}, [20, 400]),
        ({"since": "3w", "until": "24h"}, [3, 20]),
        ({"since": (datetime.now(UTC) - timedelta(days=7)).isoformat()}, [0, 3]),
    ],
    ids=["always", "hours", "days", "weeks", "until", "between", "date"],
)
def test_only_what_was_made_in_that_time_is_found(dated, within, expected):
    assert ages(dated.search("what was decided about the deploy?", **within)) == expected
    assert len(dated.list(**within)) == len(expected)


@one_engine
@pytest.mark.parametrize("wrong", ["7 days", "d", "7y", "yesterday", "-3d", "٣d"])
def test_another_word_for_a_time_is_refused(dated, wrong):
    with pytest.raises(InvalidInput, match="since"):
        dated.search("deploy", since=wrong)
