"""Bad files beside good ones: the good ones are found, each bad one is named with its reason, nothing leaks."""

import os
import re
import threading
import time

import pytest
from makers import docx, notebook, packed, paragraph, pdf, pptx, shape
from zoo import CANARY, GOOD, PEM, REFUSED, SECRETS, STRANGE, UNREADABLE, build, like_anybody, store_bytes, write

from athand import Athand
from athand.documents import walk


@pytest.fixture(scope="module")
def zoo(tmp_path_factory):
    place = tmp_path_factory.mktemp("zoo")
    folder = place / "folder"
    folder.mkdir()
    build(folder, place / "outside")
    with Athand(place / "r.db") as athand:
        yield athand, athand.documents.add(folder), place


def found(athand, word):
    answer = athand.documents.search_content(exact_terms=[word])
    return {result.document_id for result in answer.data.results}


def problems(athand):
    return {each.document_id: (each.reason, each.is_indexed) for each in athand.documents.problems()}


def test_there_are_enough_kinds_of_bad_files():
    assert len(UNREADABLE) + len(STRANGE) + len(REFUSED) >= 40


@pytest.mark.parametrize("path", GOOD)
def test_good_files_are_found(zoo, path):
    athand, _, _ = zoo
    assert found(athand, GOOD[path][1]) == {path}
    assert path not in problems(athand)


@pytest.mark.parametrize("path", STRANGE)
def test_strange_files_are_indexed_and_said_to_be_strange(zoo, path):
    athand, _, _ = zoo
    _, word, note = STRANGE[path]
    assert found(athand, word) == {path}
    if note is None:
        assert path not in problems(athand)
    else:
        reason, is_indexed = problems(athand)[path]
        assert note in reason and is_indexed


@pytest.mark.parametrize("path", UNREADABLE)
def test_unreadable_files_are_listed_with_their_reason(zoo, path):
    reason, is_indexed = problems(zoo[0])[path]
    assert re.search(UNREADABLE[path][1], reason) and not is_indexed
    assert "Error" not in reason and "0x" not in reason and len(reason) < 200


@pytest.mark.parametrize("path", REFUSED)
def test_what_is_not_opened_is_listed_with_its_reason(zoo, path):
    reason, is_indexed = problems(zoo[0])[path]
    assert REFUSED[path] in reason and not is_indexed


def test_directories_end_somewhere(zoo):
    [(path, (reason, _))] = [each for each in problems(zoo[0]).items() if each[0].startswith("deep/")]
    assert path == "deep/" * 65 and "64 directories" in reason


def test_nothing_else_is_said_to_be_wrong(zoo):
    named = {path for path, (_, _, note) in STRANGE.items() if note} | set(UNREADABLE) | set(REFUSED)
    assert set(problems(zoo[0])) - named == {"deep/" * 65}


def test_the_folder_is_ready_and_what_was_passed_over_is_counted(zoo):
    _, added, _ = zoo
    assert (added.state, added.reason) == ("ready", None)
    # .gitignore itself is text that people write
    assert added.documents == len(GOOD) + len(STRANGE) + 1
    assert added.skipped == {"ignored": 3, "binary": 1, "lock files": 1, "virtual environments": 1, "too large": 2}
    assert zoo[0].check() == []


def test_a_second_refresh_reads_none_of_them_again(zoo, monkeypatch):
    athand, added, _ = zoo
    athand.documents.refresh(added.folder_id)  # what was written just before the first may be looked at once more
    read = []
    usual = walk.read_file
    monkeypatch.setattr("athand.documents.index.read_file", lambda root, path: read.append(path) or usual(root, path))
    again = athand.documents.refresh(added.folder_id)
    assert read == [] and again.generation == added.generation


def test_no_secret_and_nothing_from_outside_is_anywhere_in_the_store(zoo):
    athand, _, place = zoo
    content = store_bytes(place / "r.db")
    for secret in (CANARY, *SECRETS):
        assert secret.encode() not in content and secret.encode("utf-16-le") not in content
        assert found(athand, secret) == set()
    assert "[redacted: private key]" in athand.documents.get_document_text("folder", "key-inside.md").text


def test_no_shown_path_or_reason_can_play_tricks_with_a_terminal(zoo):
    for path, (reason, _) in problems(zoo[0]).items():
        assert (path + reason).isprintable()


def test_a_file_without_permission_is_named_and_read_once_it_has_it(tmp_path):
    folder = tmp_path / "folder"
    write(folder / "good.md", b"# Good\n\nThe ottercreek.\n")
    write(folder / "closed.md", b"# Closed\n\nThe weaseldam.\n")
    write(folder / "shut/inside.md", b"# Inside\n\nThe beaverlodge.\n")
    with Athand(tmp_path / "r.db") as athand, like_anybody():
        (folder / "closed.md").chmod(0)
        (folder / "shut").chmod(0)
        time.sleep(0.15)
        athand.documents.add(folder)
        assert found(athand, "ottercreek") == {"good.md"}
        assert {path: reason for path, (reason, _) in problems(athand).items()} == {
            "closed.md": "cannot be opened: permission denied",
            "shut/": "cannot be opened: permission denied",
        }
        (folder / "closed.md").chmod(0o600)
        (folder / "shut").chmod(0o700)
        athand.documents.refresh("folder")
        assert problems(athand) == {}
        assert found(athand, "weaseldam") and found(athand, "beaverlodge")


def test_a_directory_that_cannot_be_read_for_a_while_keeps_its_documents(tmp_path):
    folder = tmp_path / "folder"
    write(folder / "good.md", b"# Good\n\nThe ottercreek.\n")
    write(folder / "shut/inside.md", b"# Inside\n\nThe beaverlodge.\n")
    with Athand(tmp_path / "r.db") as athand, like_anybody():
        athand.documents.add(folder)
        (folder / "shut").chmod(0)
        athand.documents.refresh("folder")
        (folder / "shut").chmod(0o700)
        assert found(athand, "beaverlodge") == {"shut/inside.md"}


def test_a_file_that_changes_while_it_is_read_is_right_in_the_end(tmp_path):
    folder = tmp_path / "folder"
    write(folder / "lively.log", b"The first line\n")
    stop = threading.Event()

    def append():
        with (folder / "lively.log").open("ab", buffering=0) as log:
            while not stop.wait(0.001):
                log.write(b"another magpie line\n" * 100)

    writer = threading.Thread(target=append)
    with Athand(tmp_path / "r.db") as athand:
        writer.start()
        try:
            for _ in range(8):
                athand.documents.add(folder)
        finally:
            (folder / "lively.log").write_bytes(b"cut\n")
            stop.set()
            writer.join()
        (folder / "lively.log").write_bytes(b"The last line speaks of a nuthatch\n")
        athand.documents.refresh("folder")
        assert athand.documents.get_document_text("folder", "lively.log").text.endswith("nuthatch\n")
        assert problems(athand) == {}


@pytest.mark.slow
def test_files_of_nearly_the_largest_size_are_found_and_a_big_bomb_is_not(tmp_path):
    folder = tmp_path / "folder"
    write(folder / "line.txt", b"gibbonisland " + b"word " * 200_000)
    write(folder / "bundle.js", b"function alpacaPen(){return 1};var a=[1,2,3];" * 40_000)
    write(folder / "row.csv", b"name," + b"v" * 9_999_000 + b"\nzebraline,1\n")
    write(folder / "bomb.docx", packed({"word/document.xml": b"<a>" + b" " * 80_000_000}))
    with Athand(tmp_path / "r.db") as athand:
        athand.documents.add(folder)
        for path, word in (("line.txt", "gibbonisland"), ("bundle.js", "alpacaPen"), ("row.csv", "zebraline")):
            assert found(athand, word) == {path}
        assert set(problems(athand)) == {"bomb.docx"}


def test_secrets_in_titles_and_headings_and_across_pages_are_redacted(tmp_path):
    folder, token = tmp_path / "folder", "ghp_aB3dE6gH9jK2mN5pQ8sT1vW4yZ7cF0hJ"
    body, key = "words that may be kept", PEM.splitlines()
    files = {
        "a.html": f"<html><title>x {token}</title><body><h1>Head {token}</h1><p>{body}</body></html>".encode(),
        "b.ipynb": notebook({"cell_type": "markdown", "source": f"# Head {token}\n{body}"}),
        "c.pptx": pptx([(shape(f"Slide {token}", "title") + shape(body, "body"), "")]),
        "d.docx": docx(paragraph(f"Head {token}", "berschrift1") + paragraph(body), title=f"Title {token}"),
        "e.pdf": pdf([body], title=f"Title {token}", bookmarks=((f"Mark {token}", 1),)),
        "f.pdf": pdf(["\n".join([body, *key[:5]]), "\n".join([*key[5:], "the lynxrock"])]),
        "g.md": f"# Head {token}\n\n{body}\n".encode(),
    }
    for name, content in files.items():
        write(folder / name, content)
    with Athand(tmp_path / "r.db") as athand:
        athand.documents.add(folder)
        assert found(athand, body) == set(files) and found(athand, "lynxrock") == {"f.pdf"}
        content = store_bytes(tmp_path / "r.db")
        for secret in (token, *SECRETS):
            assert secret.encode() not in content


@pytest.mark.parametrize("years", [-60, 40], ids=["long ago", "in the future"])
def test_a_file_from_another_time_is_not_read_again_and_again(tmp_path, monkeypatch, years):
    folder = tmp_path / "folder"
    write(folder / "strange.md", b"# Good\n\nThe ottercreek.\n")
    when = time.time() + years * 365 * 86_400
    os.utime(folder / "strange.md", (when, when))
    with Athand(tmp_path / "r.db") as athand:
        athand.documents.add(folder)
        athand.documents.refresh("folder")
        monkeypatch.setattr("athand.documents.index.read_file", None)
        athand.documents.refresh("folder")
