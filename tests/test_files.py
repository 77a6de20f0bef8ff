"""Files are read only if they are regular, written privately and at once, and locked."""

import os
import stat
import threading

import pytest

from athand.files import (
    create_private,
    lock,
    make_private_folder,
    open_regular,
    private_opener,
    replace_atomically,
    sync,
)


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_a_regular_file_is_read_also_behind_a_link_unless_links_are_refused(tmp_path):
    (tmp_path / "file").write_bytes(b"content")
    (tmp_path / "link").symlink_to("file")
    with open_regular(tmp_path / "link") as file:
        assert file.read() == b"content"
    with pytest.raises(OSError, match="symbolic"):
        open_regular(tmp_path / "link", follow_links=False)


def test_a_folder_and_a_pipe_are_refused_without_waiting(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(OSError, match=r"directory|regular"):
            open_regular(place)


def test_a_new_file_is_private_and_takes_no_name_that_exists(tmp_path):
    create_private(tmp_path / "new", b"secret")
    assert mode_of(tmp_path / "new") == 0o600
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    for name in ("new", "link"):
        with pytest.raises(FileExistsError):
            create_private(tmp_path / name, b"other")
    assert (tmp_path / "new").read_bytes() == b"secret" and not (tmp_path / "elsewhere").exists()


def test_a_link_is_not_written_through(tmp_path):
    (tmp_path / "target").write_bytes(b"kept")
    (tmp_path / "link").symlink_to("target")
    with pytest.raises(OSError, match="symbolic"), open(tmp_path / "link", "wb", opener=private_opener):
        pass
    assert (tmp_path / "target").read_bytes() == b"kept"


def test_a_file_is_replaced_when_the_new_one_is_complete(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with replace_atomically(path) as file:
        file.write(b"new")
        assert path.read_bytes() == b"old"
    assert (path.read_bytes(), mode_of(path)) == (b"new", 0o600)
    with replace_atomically(path, mode=0o644) as file:
        file.write(b"newer")
    assert (path.read_bytes(), mode_of(path)) == (b"newer", 0o644)
    assert list(tmp_path.iterdir()) == [path]


def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with pytest.raises(ZeroDivisionError), replace_atomically(path) as file:
        file.write(b"half")
        raise ZeroDivisionError
    assert path.read_bytes() == b"old" and list(tmp_path.iterdir()) == [path]


def test_a_link_is_replaced_and_not_followed(tmp_path):
    (tmp_path / "target").write_bytes(b"kept")
    (tmp_path / "link").symlink_to("target")
    with replace_atomically(tmp_path / "link") as file:
        file.write(b"new")
    assert (tmp_path / "target").read_bytes() == b"kept" and not (tmp_path / "link").is_symlink()


def test_one_holds_a_lock_at_a_time(tmp_path):
    entered = threading.Event()

    def enter():
        with lock(tmp_path):
            entered.set()

    with lock(tmp_path):
        other = threading.Thread(target=enter)
        other.start()
        assert not entered.wait(0.05)
    other.join(60)
    assert entered.is_set()


def test_folders_are_private_from_the_first_that_is_missing(tmp_path):
    tmp_path.chmod(0o755)
    make_private_folder(tmp_path / "a" / "b")
    assert [mode_of(each) for each in (tmp_path, tmp_path / "a", tmp_path / "a" / "b")] == [0o755, 0o700, 0o700]
    sync(tmp_path / "a")
