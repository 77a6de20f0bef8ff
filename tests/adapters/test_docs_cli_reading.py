import os
import sys

import pytest

from athand.adapters.cli.excerpts import Words, make_excerpt

TEXT = "# Deploying\r\n\r\n" + "".join(
    f"Line {number} of a guide, with a tab\there and ünïcödé.\n" for number in range(3, 400)
)


@pytest.fixture
def guides(run, tmp_path):
    """A folder with a long document, and directories in it."""
    folder = tmp_path / "guides"
    (folder / "deploy" / "old").mkdir(parents=True)
    (folder / "deploy" / "long.md").write_bytes((TEXT + "the last line has no end").encode())
    (folder / "deploy" / "old" / "rollback.md").write_text("# Rolling back\nRun `make rollback`.\n\n## When\nSoon.\n")
    (folder / "index.txt").write_text("Everything about deploying.\n")
    (folder / "steer.txt").write_text("a \x1b[31mred\x1b[0m word\n")
    assert run("docs", "add", str(folder)).code == 0
    return folder


def test_the_text_of_a_document_is_exact_to_the_byte(run, guides, tmp_path, monkeypatch):
    with (tmp_path / "shown").open("w", encoding="utf-8") as file, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", file)
        shown = run("docs", "text", "guides", "deploy/long.md")
    assert (tmp_path / "shown").read_bytes() == (guides / "deploy" / "long.md").read_bytes()
    assert (shown.code, shown.err) == (0, "")


def test_lines_of_a_text_are_exact(run, guides):
    def lines(given):
        return run("docs", "text", "guides", "deploy/long.md", "--lines", given).out

    every = (TEXT + "the last line has no end").split("\n")
    assert lines("10:12") == "".join(f"{line}\n" for line in every[9:12])
    assert lines("12") == f"{every[11]}\n"
    assert lines(":2") == "# Deploying\r\n\r\n"
    assert lines("400:") == "the last line has no end"


def test_a_text_is_read_window_by_window(run, guides):
    first = run("docs", "text", "guides", "index.txt", "--max-chars", "10")
    assert first.out == "Everything"
    command = next(line for line in first.err.splitlines() if "More:" in line).split("athand ")[1].split()
    assert run(*command).out == " about dep"
    window = run("docs", "text", "guides", "index.txt", "--max-chars", "10", "--json").json
    assert (window["text"], window["start_offset"], window["end_offset"], window["lines"]) == ("Everything", 0, 10, 1)
    assert window["continuation"]["has_more"] is True


def test_a_text_cannot_steer_a_terminal(run, guides, monkeypatch):
    assert run("docs", "text", "guides", "steer.txt").out == "a \x1b[31mred\x1b[0m word\n"
    assert "\x1b[31m" not in run("docs", "search", "red word", "--path", "steer.txt").out
    ours, theirs = os.openpty()
    with os.fdopen(ours, "rb", buffering=0) as screen, os.fdopen(theirs, "w", encoding="utf-8") as terminal:
        monkeypatch.setattr(sys, "stdout", terminal)
        assert run("docs", "text", "guides", "steer.txt").code == 0
        terminal.flush()
        assert screen.read(1000) == "a ␛[31mred␛[0m word\r\n".encode()
        monkeypatch.undo()


def test_a_document_is_shown_with_outline_and_chunks(run, guides):
    shown = run("docs", "show", "guides", "deploy/old/rollback.md").out
    assert "Rolling back" in shown
    assert "1  Rolling back" in shown
    assert "4    When" in shown
    assert "1:5" in shown
    data = run("docs", "show", "guides", "deploy/old/rollback.md", "--json").json
    assert [each["title"] for each in data["outline"]] == ["Rolling back", "When"]
    assert run("docs", "show", "guides", "deploy/old/rollback.md", "-q").out == f"{data['chunks'][0]['chunk_id']}\n"


def test_the_chunks_of_a_document_are_paged(run, guides):
    first = run("docs", "show", "guides", "deploy/long.md", "--limit", "2")
    command = next(line for line in first.err.splitlines() if "More:" in line).split("athand ")[1].split()
    ids = run("docs", "show", "guides", "deploy/long.md", "-q").out.split()
    assert run(*command, "-q").out.split() == ids[2:4]


def test_chunks_come_with_their_neighbours(run, guides):
    ids = run("docs", "show", "guides", "deploy/long.md", "-q").out.split()
    around = run("docs", "chunks", "guides", ids[1], "--neighbours", "1", "-q").out.split()
    assert around == ids[:3]
    shown = run("docs", "chunks", "guides", ids[1], "--neighbours", "1").out
    assert shown.count("deploy/long.md:") == 3
    assert shown.count("●") == 1
    assert len(run("docs", "chunks", "guides", *ids[:2], "--json").json) == 2


def test_a_directory_is_explored(run, guides):
    shown = run("docs", "explore", "guides").out
    assert "deploy/" in shown
    assert "2 documents" in shown
    assert "index.txt" in shown
    inside = run("docs", "explore", "guides", "deploy", "--json").json
    assert [each["path"] for each in inside["subfolders"]] == ["deploy/old"]
    assert run("docs", "explore", "guides", "deploy", "-q").out == "deploy/old/\ndeploy/long.md\n"


def test_documents_are_listed_by_directory_or_pattern(run, guides):
    assert run("docs", "list", "guides", "deploy", "-q").out.split() == ["deploy/long.md", "deploy/old/rollback.md"]
    assert run("docs", "list", "guides", "*.txt", "-q").out.split() == ["index.txt", "steer.txt"]
    shown = run("docs", "list", "guides", "--limit", "3")
    assert "markdown" in shown.out
    assert "4 documents" in shown.err
    command = next(line for line in shown.err.splitlines() if "More:" in line).split("athand ")[1].split()
    assert run(*command, "--json").json["documents"][0]["document_id"] == "steer.txt"


def test_the_next_page_keeps_to_its_store(run, guides, tmp_path):
    shown = run("docs", "list", "guides", "--limit", "1", "--store", str(tmp_path / "store.db"))
    assert f"--store={tmp_path / 'store.db'} --token=" in shown.err


PROSE = "A sentence that was broken where the line was full, as people do, and\nthat goes on to tell of zebras.\n"
CODE = "from somewhere.that.is.far.away import a_first_thing, a_second_thing\nfrom zoo import zebra\n"


@pytest.mark.parametrize(
    ("text", "prose", "rows"),
    [
        (PROSE, True, ["1  A sentence that was broken where the line was full, as people do, and that", None]),
        (PROSE, False, ["2  that goes on to tell of zebras."]),
        (CODE, False, ["2  from zoo import zebra"]),
        (f"```\n{CODE}```\n", True, ["3  from zoo import zebra", "4  ```"]),
        ("word " * 100 + "zebra " + "word " * 100, True, ["…word", None, None]),
        ("# Heading\n\nThe text below.", True, ["3  The text below."]),
        ("", True, []),
    ],
)
def test_a_hit_shows_the_lines_that_say_most(text, prose, rows):
    shown = [row.plain for row in make_excerpt(text, 1, Words.of((), ["zebra"]), 80, prose=prose)]
    assert len(shown) == len(rows)
    for row, expected in zip(shown, rows, strict=True):
        assert expected is None or expected in row
    assert all(len(row) <= 80 for row in shown)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("text", "guides", "nope.md"), 1, "No document 'nope.md' in guides"),
        (("text", "guides", "../store.db"), 1, "No document '../store.db'"),
        (("text", "guides", "/etc/hostname"), 1, "No document"),
        (("text", "nope", "index.txt"), 1, "No folder 'nope'"),
        (("text", "guides", "index.txt", "--lines", "x:y"), 2, "is no range of lines"),
        (("text", "guides", "index.txt", "--lines", "3:1"), 2, "comes before"),
        (("text", "guides", "index.txt", "--token", "made-up"), 2, "Ask again without a token"),
        (("show", "guides", "../index.txt"), 1, "No document"),
        (("show", "guides", "index.txt", "--token", "made-up"), 2, "Ask again without a token"),
        (("explore", "guides", ".."), 1, "No directory '..'"),
        (("list", "nope"), 1, "athand docs status"),
        (("chunks", "guides", "nope"), 1, "No chunk 'nope'"),
        (("chunks", "guides"), 2, "Missing argument"),
    ],
)
def test_what_is_not_there_is_said_in_one_sentence(run, guides, arguments, code, message):
    outcome = run("docs", *arguments)
    assert outcome.code == code
    assert message in outcome.err
    assert outcome.out == ""
    assert "Traceback" not in outcome.err
