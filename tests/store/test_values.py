from datetime import UTC, datetime, timedelta

import pytest

from athand.store import new_id, one_of, select_in, to_datetime, to_microseconds


def test_ids_sort_by_time_and_differ():
    start = datetime(2026, 1, 1, tzinfo=UTC)
    ids = [new_id(start + timedelta(milliseconds=number)) for number in range(100)]
    assert ids == sorted(ids)
    assert len({new_id(start) for _ in range(1000)}) == 1000
    assert {len(each) for each in ids} == {18}


def test_times_survive_the_database_exactly():
    for time in (datetime(1969, 1, 1, tzinfo=UTC), datetime(2026, 11, 15, 9, 5, 20, 123457, tzinfo=UTC)):
        assert to_datetime(to_microseconds(time)) == time


@pytest.fixture
def settings(store):
    """A table of 1,200 names and values, of which each value stands in two rows."""
    with store.transaction() as transaction:
        transaction.execute_many(
            "INSERT INTO settings (name, value) VALUES (:name, :value)",
            [{"name": f"name{at:04}", "value": f"value{at // 2}"} for at in range(1_200)],
        )
    with store.snapshot() as snapshot:
        yield snapshot


def names(snapshot, values):
    condition, parameters = one_of("name", values)
    return [row[0] for row in snapshot.rows(f"SELECT name FROM settings WHERE {condition} ORDER BY name", parameters)]


def test_rows_with_one_of_the_values_are_found(settings):
    assert names(settings, ["name0001", "name0003", "no such name", "name') OR ('a' = 'a"]) == ["name0001", "name0003"]


def test_an_empty_list_finds_nothing_and_none_finds_everything(settings):
    assert names(settings, []) == []
    assert len(names(settings, None)) >= 1_200


def test_two_lists_stand_in_one_statement(settings):
    (first, values), (second, more) = one_of("name", ["name0001"], "name"), one_of("value", ["value0"], "of")
    rows = settings.rows(f"SELECT name FROM settings WHERE {first} AND {second}", {**values, **more})
    assert rows == [("name0001",)]


def test_more_values_than_fit_into_one_statement_are_found_once_each(settings):
    wanted = [f"value{at}" for at in range(600)] * 2
    found = select_in(settings, "SELECT name FROM settings", "value", wanted)
    assert sorted(row[0] for row in found) == [f"name{at:04}" for at in range(1_200)]
    assert select_in(settings, "SELECT name FROM settings", "value", []) == []


def test_other_columns_must_be_equal_too(settings):
    found = select_in(settings, "SELECT s.name FROM settings s", "s.value", ["value0"], {"s.name": "name0001"})
    assert found == [("name0001",)]
