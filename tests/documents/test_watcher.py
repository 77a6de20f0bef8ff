"""A watched folder is searched as it is now, without anybody asking for it."""

import logging
import shutil
import threading

import pytest
from tests.waiting import until

from athand import Athand
from athand.documents import refresh


@pytest.fixture(autouse=True)
def searches_do_not_look_themselves(monkeypatch):
    """What is found, is found because it was watched."""
    monkeypatch.setattr(refresh.FolderRefresher, "refresh_stale", lambda refresher, searched: None)


@pytest.fixture(autouse=True)
def rounds_are_short(monkeypatch):
    """What is waited for in rounds comes at once."""
    for name, milliseconds in (("_DEBOUNCE_MS", 50), ("_STEP_MS", 10), ("_CHECK_MS", 50)):
        monkeypatch.setattr(refresh, name, milliseconds)


@pytest.fixture
def looks(monkeypatch):
    """Which directory stood at the path, each time that a watcher looked: once in every round."""
    seen = []
    usual = refresh._directory_identity
    monkeypatch.setattr(refresh, "_directory_identity", lambda path: seen.append(usual(path)) or seen[-1])
    return seen


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "first.md").write_text("# First\n\nThe penguinhouse.\n")
    return folder


@pytest.fixture
def told():
    """The changes that were told."""
    return []


@pytest.fixture
def watched(tmp_path, folder, told):
    with Athand(tmp_path / "r.db") as athand:
        athand.documents.add(folder)
        athand.documents.watch(changed=lambda folder_id, paths: told.append((folder_id, paths)))
        until(lambda: told)
        yield athand


def found(athand, word):
    return {each.document_id for each in athand.documents.search_content(exact_terms=[word]).data.results}


def watchers():
    return [each for each in threading.enumerate() if each.name == "athand-watch"]


def test_what_changes_is_found_a_moment_later(watched, folder):
    (folder / "new").mkdir()
    (folder / "new" / "second.md").write_text("# Second\n\nThe walrusbasin.\n")
    until(lambda: found(watched, "walrusbasin") == {"new/second.md"})
    (folder / "first.md").write_text("# First\n\nThe ottercreek.\n")
    until(lambda: found(watched, "ottercreek") == {"first.md"})
    assert found(watched, "penguinhouse") == set()
    (folder / "first.md").rename(folder / "moved.md")
    until(lambda: found(watched, "ottercreek") == {"moved.md"})
    (folder / "new").rename(folder / "old")
    until(lambda: found(watched, "walrusbasin") == {"old/second.md"})
    shutil.rmtree(folder / "old")
    until(lambda: found(watched, "walrusbasin") == set())


def test_what_changed_before_watching_began_is_found_too(tmp_path, folder):
    with Athand(tmp_path / "r.db") as athand:
        athand.documents.add(folder)
        (folder / "second.md").write_text("# Second\n\nThe walrusbasin.\n")
        athand.documents.watch()
        until(lambda: found(athand, "walrusbasin"))


def test_many_changes_at_once_are_all_found(watched, folder):
    for at in range(300):
        (folder / f"{at}.md").write_text(f"# Number {at}\n\nThe millipedex.\n")
    until(lambda: watched.documents.list_folders()[0].documents == 301)


def test_a_rule_that_is_added_takes_files_out(watched, folder):
    (folder / ".gitignore").write_text("first.md\n")
    until(lambda: found(watched, "penguinhouse") == set())


def test_watching_ends_with_the_store_and_leaves_no_thread(tmp_path, folder):
    before = threading.active_count()
    for _ in range(3):
        with Athand(tmp_path / "r.db") as athand:
            athand.documents.add(folder)
            athand.documents.watch()
            athand.documents.watch()
            assert len(watchers()) == 1
        assert watchers() == []
    assert threading.active_count() <= before


def test_a_folder_that_is_deleted_does_no_harm_and_is_watched_again_when_it_is_back(watched, folder, looks):
    shutil.rmtree(folder)
    until(lambda: None in looks)
    [state] = watched.documents.list_folders()
    assert state.state == "offline" and found(watched, "penguinhouse") == {"first.md"}
    folder.mkdir()
    (folder / "back.md").write_text("# Back\n\nThe walrusbasin.\n")
    until(lambda: found(watched, "walrusbasin") == {"back.md"})
    (folder / "later.md").write_text("# Later\n\nThe heronmarsh.\n")
    until(lambda: found(watched, "heronmarsh") == {"later.md"})


def test_a_folder_that_is_away_when_watching_begins_is_waited_for(tmp_path, folder, looks):
    with Athand(tmp_path / "r.db") as athand:
        athand.documents.add(folder)
        folder.rename(tmp_path / "aside")
        athand.documents.watch()
        until(lambda: None in looks)
        (tmp_path / "aside" / "later.md").write_text("# Later\n\nThe heronmarsh.\n")
        (tmp_path / "aside").rename(folder)
        until(lambda: found(athand, "heronmarsh") == {"later.md"})


def test_a_folder_that_is_removed_is_not_watched_and_can_be_added_again(watched, folder, caplog):
    caplog.set_level(logging.WARNING, "athand")
    watched.documents.remove("folder")
    (folder / "later.md").write_text("# Later\n\nThe heronmarsh.\n")
    until(lambda: watchers() == [])
    assert watched.documents.list_folders() == [] and caplog.records == []
    watched.documents.add(folder)
    watched.documents.watch()
    (folder / "latest.md").write_text("# Latest\n\nThe storknest.\n")
    until(lambda: found(watched, "storknest") == {"latest.md"})


def test_a_store_in_the_watched_folder_does_not_wake_itself_for_ever(tmp_path, told, looks):
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "first.md").write_text("# First\n\nThe penguinhouse.\n")
    with Athand(folder / "r.db") as athand:
        athand.documents.add(folder)
        athand.documents.watch(changed=lambda folder_id, paths: told.append(paths))
        until(lambda: told)
        for number in range(12):
            rounds = len(looks)
            athand.memories.add(f"The store is written to, {number}")
            until(lambda: len(looks) > rounds + 1)  # noqa: B023 - it is waited for here
        assert len(told) <= 3, told
        assert found(athand, "penguinhouse") == {"first.md"}
