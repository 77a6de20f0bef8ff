from datetime import UTC, datetime, timedelta

from athand.store import new_id, to_datetime, to_microseconds


def test_ids_sort_by_time_and_differ():
    start = datetime(2026, 1, 1, tzinfo=UTC)
    ids = [new_id(start + timedelta(milliseconds=number)) for number in range(100)]
    assert ids == sorted(ids)
    assert len({new_id(start) for _ in range(1000)}) == 1000
    assert {len(each) for each in ids} == {18}


def test_times_survive_the_database_exactly():
    for time in (datetime(1969, 1, 1, tzinfo=UTC), datetime(2026, 11, 15, 9, 5, 20, 123457, tzinfo=UTC)):
        assert to_datetime(to_microseconds(time)) == time
