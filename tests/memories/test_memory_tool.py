import threading
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from athand import Athand
from athand.app import SCHEMAS
from athand.embed import LazyEmbedder
from athand.embed.models import DEFAULT_MODEL
from athand.errors import AthandError, Conflict, InvalidInput, NotFound
from athand.memories import Memories
from athand.store import open_store

NOTES = "/memories/notes.md"
HEADER = "Here're the files and directories up to 2 levels deep in {}, excluding hidden items and node_modules:"


class Clock:
    def __init__(self):
        self.time = datetime(2026, 3, 1, tzinfo=UTC)

    def __call__(self):
        self.time += timedelta(seconds=1)
        return self.time


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def memories(clock):
    return Memories(open_store(":memory:", SCHEMAS), LazyEmbedder(DEFAULT_MODEL), clock=clock)


@pytest.fixture
def folder(memories):
    return memories.folder("shop")


def files(memories, **filters):
    return memories.list(tags=["memory-file"], limit=1000, **filters)


def text_of(folder, path):
    """The text as the model can read it; it cannot see whether the last line is closed."""
    _, _, numbered = folder.view(path).partition("\n")
    return "\n".join(line[7:] for line in numbered.split("\n"))


# View


def test_the_first_view_of_an_empty_folder_is_no_error(folder):
    assert folder.view("/memories") == f"{HEADER.format('/memories')}\n0B\t/memories"


def test_a_file_is_shown_with_numbered_lines(folder):
    folder.create(NOTES, "Hello World\nThis is line two\n")
    assert folder.view(NOTES) == (
        "Here's the content of /memories/notes.md with line numbers:\n     1\tHello World\n     2\tThis is line two"
    )


@pytest.mark.parametrize(
    ("view_range", "shown"),
    [([2, 3], "23"), ([3, -1], "345"), ([1, 1], "1"), ([4, 99], "45"), ([0, 2], "12"), ((5, 5), "5"), (None, "12345")],
)
def test_a_range_of_lines_is_shown(folder, view_range, shown):
    folder.create(NOTES, "\n".join(f"line {number}" for number in range(1, 6)))
    lines = folder.view(NOTES, view_range).split("\n")[1:]
    assert lines == [f"     {number}\tline {number}" for number in shown]


@pytest.mark.parametrize("view_range", [[6, 9], [3, 2], [1], [1, 2, 3], ["1", 2], "12", 5, [0, 0], [1, -2]])
def test_a_range_that_is_none_is_refused(folder, view_range):
    folder.create(NOTES, "1\n2\n3\n4\n5")
    with pytest.raises(InvalidInput, match=r"Invalid `view_range` parameter: .* \[1, 5\]"):
        folder.view(NOTES, view_range)


def test_a_directory_is_listed_two_levels_deep_with_sizes(folder):
    for path, text in {
        "b.md": "é" * 700,
        "a/one.md": "1234567890",
        "a/deep/two.md": "x" * 1024,
        "a.md": "12345",
        ".hidden/x.md": "1",
        "a/.secret": "1",
        "node_modules/y.md": "1",
        "node_modules_of_mine.md": "1",
    }.items():
        folder.create(f"/memories/{path}", text)
    assert folder.view("/memories/").split("\n") == [
        HEADER.format("/memories"),
        "2.4K\t/memories",
        "1.0K\t/memories/a/",
        "1.0K\t/memories/a/deep/",
        "10B\t/memories/a/one.md",
        "5B\t/memories/a.md",
        "1.4K\t/memories/b.md",
        "1B\t/memories/node_modules_of_mine.md",
    ]
    assert folder.view("/memories/a").split("\n")[1:] == [
        "1.0K\t/memories/a",
        "1.0K\t/memories/a/deep/",
        "1.0K\t/memories/a/deep/two.md",
        "10B\t/memories/a/one.md",
    ]
    assert folder.view("/memories/.hidden").endswith("1B\t/memories/.hidden/x.md")


def test_a_long_file_is_shown_in_pages_of_whole_lines(folder):
    folder.create(NOTES, "\n".join(f"{number:04} {'x' * 95}" for number in range(1, 401)))
    seen, start = [], 1
    while start:
        *lines, note = folder.view(NOTES, [start, -1]).split("\n")[1:]
        start = int(note.split("[")[1].split(",")[0]) if note.startswith("(") else 0
        seen += lines if start else [*lines, note]
    assert [line[7:11] for line in seen] == [f"{number:04}" for number in range(1, 401)]
    assert folder.view(NOTES).endswith("\n(Lines 1 to 158 of 400; go on with view_range [159, -1].)")


def test_a_line_that_is_too_long_for_a_page_is_shown_whole(folder):
    folder.create(NOTES, f"{'x' * 20_000}\nshort")
    assert folder.view(NOTES).endswith(f"1\t{'x' * 20_000}\n(Lines 1 to 1 of 2; go on with view_range [2, -1].)")


def test_exactly_a_page_is_shown_whole(folder):
    folder.create(NOTES, "x" * 15_000 + "\n" + "y" * 999)
    assert folder.view(NOTES).endswith("y" * 999)


def test_a_file_with_a_million_lines_is_not_shown(folder):
    folder.create(NOTES, "\n" * 999_999 + "x")
    with pytest.raises(InvalidInput) as caught:
        folder.view(NOTES)
    assert str(caught.value) == "File /memories/notes.md exceeds maximum line limit of 999,999 lines."


def test_what_is_not_there_is_not_shown(folder):
    folder.create("/memories/a/b.md", "text")
    for path in ("/memories/a/c.md", "/memories/a/b", "/memories/a/b.md/c"):
        with pytest.raises(NotFound) as caught:
            folder.view(path)
        assert str(caught.value) == f"The path {path} does not exist. Please provide a valid path."


# Create


def test_a_file_is_created_and_is_a_memory(memories, folder):
    assert folder.create(NOTES, "Staging deploys need the VPN") == f"File created successfully at: {NOTES}"
    [memory] = files(memories)
    assert (memory.content, memory.files, memory.tags) == ("Staging deploys need the VPN", (NOTES,), ("memory-file",))
    assert (memory.project, memory.written_by) == ("shop", "agent")
    [hit] = memories.search("how do I reach staging?", project="shop")
    assert hit.id == memory.id
    assert [hit.id for hit in memories.search("notes.md", project="shop")] == [memory.id]


def test_creating_a_file_again_supersedes_it(memories, folder):
    folder.create(NOTES, "old text about zebras")
    folder.create(NOTES, "new text about giraffes")
    assert text_of(folder, NOTES) == "new text about giraffes"
    assert [hit.title for hit in memories.search("text about", project="shop")] == ["new text about giraffes"]
    [old] = files(memories, superseded=True)
    assert old.content == "old text about zebras"


def test_files_with_the_same_text_stay_apart(memories, folder):
    folder.create("/memories/a.md", "exactly the same text in both of these files")
    folder.create("/memories/b.md", "exactly the same text in both of these files")
    assert len(files(memories)) == 2
    folder.create("/memories/a.md", "something else")
    assert text_of(folder, "/memories/b.md") == "exactly the same text in both of these files"


@pytest.mark.parametrize("text", ["", "\n", " \n\t"])
def test_a_file_may_be_empty_and_blank_ones_are(memories, folder, text):
    folder.create(NOTES, text)
    assert folder.view(NOTES) == f"Here's the content of {NOTES} with line numbers:\n     1\t"
    assert folder.view("/memories").endswith(f"0B\t{NOTES}")
    assert [memory.content for memory in files(memories)] == ["(empty file)"]
    folder.insert(NOTES, 0, "first line\n")
    assert text_of(folder, NOTES) == "first line"
    assert files(memories, superseded=False)[0].tags == ("memory-file",)


def test_a_file_that_only_says_it_is_empty_is_not(folder):
    folder.create(NOTES, "(empty file)")
    assert text_of(folder, NOTES) == "(empty file)"


def test_a_file_cannot_be_where_a_directory_is(folder):
    folder.create("/memories/a/b.md", "text")
    for path in ("/memories/a", "/memories"):
        with pytest.raises(Conflict) as caught:
            folder.create(path, "text")
        assert str(caught.value) == f"Error: File {path} already exists"


def test_a_file_cannot_be_in_a_file(folder):
    folder.create(NOTES, "text")
    with pytest.raises(Conflict, match=f"{NOTES} is a file"):
        folder.create(f"{NOTES}/deep/er.md", "text")


def test_a_file_has_a_name(folder):
    with pytest.raises(InvalidInput, match="names a directory"):
        folder.create("/memories/a/", "text")


def test_secrets_are_not_kept(memories, folder):
    folder.create(NOTES, "token: ghp_0123456789abcdefghijABCDEFGHIJ456789\n<private>my diary</private>the rest")
    assert text_of(folder, NOTES) == "token: [redacted: GitHub token]\nthe rest"
    answer = folder.str_replace(NOTES, "the rest", "key ghp_9876543210abcdefghijABCDEFGHIJ456789")
    assert answer.endswith("     2\tkey [redacted: GitHub token]")
    assert not any("ghp_" in memory.content for memory in files(memories))
    with pytest.raises(InvalidInput, match="private from beginning to end"):
        folder.create("/memories/diary.md", "<private>all of it</private>")


def test_a_text_must_fit_into_a_memory(folder):
    with pytest.raises(InvalidInput, match="at most 1,000,000"):
        folder.create(NOTES, "x" * 1_000_001)
    folder.create(NOTES, "x" * 600_000)
    with pytest.raises(InvalidInput, match="at most 1,000,000"):
        folder.insert(NOTES, 1, "y" * 600_000)
    assert folder.view("/memories").endswith(f"585.9K\t{NOTES}")


# Edit


def test_a_text_is_replaced_and_what_is_around_it_shown(folder):
    folder.create(NOTES, "\n".join(f"line {number}" for number in range(1, 10)) + "\n")
    assert folder.str_replace(NOTES, "line 5", "line five\nand a half") == (
        "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n"
        "     3\tline 3\n     4\tline 4\n     5\tline five\n     6\tand a half\n     7\tline 6\n     8\tline 7"
    )
    assert text_of(folder, NOTES).split("\n")[4:6] == ["line five", "and a half"]


def test_a_text_of_several_lines_is_replaced(folder):
    folder.create(NOTES, "# Notes\n- (none yet)\n")
    folder.str_replace(NOTES, "# Notes\n- (none yet)", "# Notes\n- one")
    assert text_of(folder, NOTES) == "# Notes\n- one"


@pytest.mark.parametrize("new", [{}, {"new_str": ""}, {"new_str": None}])
def test_without_a_new_text_the_old_one_goes(folder, new):
    folder.create(NOTES, "keep, drop")
    folder.run({"command": "str_replace", "path": NOTES, "old_str": ", drop", **new})
    assert text_of(folder, NOTES) == "keep"
    folder.run({"command": "str_replace", "path": NOTES, "old_str": "keep", **new})
    assert text_of(folder, NOTES) == ""


@pytest.mark.parametrize(
    ("old", "message"),
    [
        ("nope", "No replacement was performed, old_str `nope` did not appear verbatim in /memories/notes.md."),
        (
            "aa",
            "No replacement was performed. Multiple occurrences of old_str `aa` in lines: 1, 3. "
            "Please ensure it is unique",
        ),
        ("\\w", "No replacement was performed, old_str `\\w` did not appear verbatim in /memories/notes.md."),
        ("", "No replacement was performed, old_str is empty."),
    ],
)
def test_a_replacement_must_be_clear(folder, old, message):
    folder.create(NOTES, "aa\nb\naaa\n")
    with pytest.raises(InvalidInput) as caught:
        folder.str_replace(NOTES, old, "new")
    assert str(caught.value) == message


def test_only_some_of_very_many_occurrences_are_named(folder):
    folder.create(NOTES, "a\n" * 100_000)
    with pytest.raises(InvalidInput, match=r"in lines: 1, 2, [\d, ]*, 20, …\. Please") as caught:
        folder.str_replace(NOTES, "a", "b")
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("text", "line", "addition", "after"),
    [
        ("one\ntwo", 1, "between", "one\nbetween\ntwo"),
        ("one\ntwo", 0, "first", "first\none\ntwo"),
        ("one\ntwo", 2, "last", "one\ntwo\nlast"),
        ("one\ntwo\n", 2, "last", "one\ntwo\nlast\n"),
        ("one\ntwo\n", 1, "a\nb\n", "one\na\nb\ntwo\n"),
        ("one", 1, "two\n", "one\ntwo\n"),
        ("one\n", 1, "\n", "one\n\n"),
        ("", 0, "one", "one"),
    ],
)
def test_lines_are_inserted_after_a_line(memories, folder, text, line, addition, after):
    folder.create(NOTES, text)
    assert folder.insert(NOTES, line, addition) == f"The file {NOTES} has been edited."
    assert files(memories, superseded=False)[0].content == after


@pytest.mark.parametrize("line", [3, -1, "1", 1.5, True, None])
def test_lines_are_inserted_within_the_file(folder, line):
    folder.create(NOTES, "one\ntwo\n")
    with pytest.raises(InvalidInput) as caught:
        folder.insert(NOTES, line, "text")
    assert str(caught.value) == (
        f"Error: Invalid `insert_line` parameter: {line}. It should be within the range of lines of the file: [0, 2]"
    )


def test_only_files_are_edited(folder):
    folder.create("/memories/a/b.md", "text")
    for path in ("/memories/a", "/memories/c.md", "/memories"):
        with pytest.raises(NotFound) as caught:
            folder.str_replace(path, "text", "new")
        assert str(caught.value) == f"Error: The path {path} does not exist. Please provide a valid path."
        with pytest.raises(NotFound) as caught:
            folder.insert(path, 0, "new")
        assert str(caught.value) == f"Error: The path {path} does not exist"


def test_an_edit_keeps_what_else_is_known_of_a_file(memories, folder):
    folder.create(NOTES, "one fact")
    memories.update(files(memories)[0].id, pinned=True, importance=0.9, tags=["memory-file", "mine"], author="mira")
    memories.pin(memories.update(files(memories)[0].id, pinned=False).id, changed_by="user")
    folder.insert(NOTES, 1, "another fact")
    [memory] = files(memories, superseded=False)
    assert (memory.pinned_by, memory.written_by) == ("user", "agent")
    assert (memory.pinned, memory.importance, memory.tags, memory.author) == (
        True,
        0.9,
        ("memory-file", "mine"),
        "mira",
    )


# Delete


def test_a_deleted_file_can_be_restored(memories, folder):
    folder.create(NOTES, "the zebra crossing")
    [memory] = files(memories)
    assert folder.delete(NOTES) == f"Successfully deleted {NOTES}"
    assert memories.search("zebra") == []
    assert folder.view("/memories").endswith("0B\t/memories")
    memories.restore(memory.id)
    assert text_of(folder, NOTES) == "the zebra crossing"


def test_a_directory_is_deleted_with_all_that_is_in_it(folder):
    for name in ("a/one.md", "a/b/two.md", "a/.hidden", "ab.md"):
        folder.create(f"/memories/{name}", "text")
    assert folder.delete("/memories/a/") == "Successfully deleted /memories/a"
    assert folder.view("/memories").split("\n")[2:] == ["4B\t/memories/ab.md"]
    with pytest.raises(NotFound):
        folder.view("/memories/a")


def test_the_folder_itself_stays(folder):
    folder.create(NOTES, "text")
    for path in ("/memories", "/memories/"):
        with pytest.raises(InvalidInput, match="Error: Cannot delete the /memories directory itself"):
            folder.delete(path)
        with pytest.raises(InvalidInput, match="Error: Cannot rename the /memories directory itself"):
            folder.rename(path, "/memories/b")
    assert text_of(folder, NOTES) == "text"


def test_what_is_not_there_is_not_deleted(folder):
    with pytest.raises(NotFound) as caught:
        folder.delete(NOTES)
    assert str(caught.value) == f"Error: The path {NOTES} does not exist"


def test_a_deleted_file_goes_with_its_history_and_does_not_come_back(memories, folder, clock):
    folder.create("/memories/draft.md", "the zebra of old")
    folder.rename("/memories/draft.md", NOTES)
    folder.insert(NOTES, 1, "the zebra of today")
    folder.delete(NOTES)
    assert memories.search("zebra", include_superseded=True) == []
    assert len(files(memories, include_deleted=True)) == 3
    clock.time += timedelta(days=31)
    folder.create("/memories/other.md", "text")
    folder.delete("/memories/other.md")
    assert len(files(memories, include_deleted=True)) == 1
    assert folder.view("/memories").endswith("0B\t/memories")


def test_deleting_a_file_leaves_an_ordinary_memory_that_it_superseded(memories, folder):
    ordinary = memories.add("the zebra of old", project="shop")
    folder.create(NOTES, "the zebra of today")
    memories.supersede(ordinary.id, files(memories)[0].id)
    folder.delete(NOTES)
    assert not memories.get(ordinary.id).is_deleted


# Rename


def test_a_file_is_renamed(memories, folder):
    folder.create("/memories/draft.md", "text")
    assert folder.rename("/memories/draft.md", NOTES) == f"Successfully renamed /memories/draft.md to {NOTES}"
    assert text_of(folder, NOTES) == "text"
    with pytest.raises(NotFound):
        folder.view("/memories/draft.md")
    assert [memory.files for memory in files(memories, superseded=False)] == [(NOTES,)]


def test_a_directory_is_renamed_with_all_that_is_in_it(folder):
    for name in ("a/one.md", "a/b/two.md", "a/.hidden", "a/empty.md", "ab.md"):
        folder.create(f"/memories/{name}", "" if "empty" in name else f"text of {name}")
    folder.rename("/memories/a", "/memories/x/y")
    assert text_of(folder, "/memories/x/y/b/two.md") == "text of a/b/two.md"
    assert text_of(folder, "/memories/x/y/.hidden") == "text of a/.hidden"
    assert text_of(folder, "/memories/x/y/empty.md") == ""
    assert text_of(folder, "/memories/ab.md") == "text of ab.md"
    with pytest.raises(NotFound):
        folder.view("/memories/a")


@pytest.mark.parametrize(
    ("old", "new", "error", "message"),
    [
        ("/memories/no.md", "/memories/x.md", NotFound, "Error: The path /memories/no.md does not exist"),
        ("/memories/a", "/memories/b.md", Conflict, "Error: The destination /memories/b.md already exists"),
        ("/memories/b.md", "/memories/a", Conflict, "Error: The destination /memories/a already exists"),
        ("/memories/b.md", "/memories/b.md", Conflict, "Error: The destination /memories/b.md already exists"),
        ("/memories/b.md", "/memories", Conflict, "Error: The destination /memories already exists"),
        ("/memories/a", "/memories/a/b", InvalidInput, "Cannot rename /memories/a to /memories/a/b, which is inside"),
        ("/memories/a", "/memories/b.md/c", Conflict, "/memories/b.md is a file"),
        ("/memories/a", "/memories/" + "x" * 242, InvalidInput, "path has 259 bytes"),
        ("/memories/a", "/etc/passwd", InvalidInput, "must start with /memories"),
    ],
)
def test_a_rename_must_be_possible(folder, old, new, error, message):
    folder.create("/memories/a/one.md", "text")
    folder.create("/memories/b.md", "text")
    before = folder.view("/memories")
    with pytest.raises(error, match=message):
        folder.rename(old, new)
    assert folder.view("/memories") == before


# Paths and projects


@pytest.mark.parametrize(
    "path",
    [
        "/memories/../x",
        "/memories/a/../b",
        "/memories/..",
        "/memories/./x",
        "/memories/%2e%2e/x",
        "/memories/%2E%2e%2fx",
        "/memories/%252e%252e",
        "/memories/..\\x",
        "/memories\\x",
        "/memories/a\x00b",
        "/memories/a\nb",
        "/memories//x",
        "/memories//",
        "//memories/x",
        "/memoriesx",
        "/memory/x",
        "memories/x",
        "/",
        "/etc/passwd",
        "/memories/\ud800",
        "/memories/ghp_0123456789abcdefghijABCDEFGHIJ456789",
        "/memories/<private>x</private>",
        "/memories/" + "x" * 300,
        "",
        " ",
        5,
        ["/memories/x"],
    ],
)
def test_odd_paths_are_refused_everywhere(memories, folder, path):
    for command in (
        {"command": "view", "path": path},
        {"command": "create", "path": path, "file_text": "text"},
        {"command": "str_replace", "path": path, "old_str": "a", "new_str": "b"},
        {"command": "insert", "path": path, "insert_line": 0, "insert_text": "text"},
        {"command": "delete", "path": path},
        {"command": "rename", "old_path": path, "new_path": "/memories/x"},
        {"command": "rename", "old_path": "/memories/x", "new_path": path},
    ):
        with pytest.raises(InvalidInput, match=r"(?i)path"):
            folder.run(command)
    assert files(memories) == []


@pytest.mark.parametrize(
    "name", ["a b.md", "日本.md", 'say "hi".md', "100%.md", "it's_*_[1].md", ".hidden", "...", "a%"]
)
def test_plain_names_are_files(folder, name):
    folder.create(f"/memories/{name}/{name}", "text")
    assert text_of(folder, f"/memories/{name}/{name}") == "text"
    folder.rename(f"/memories/{name}", "/memories/moved")
    assert text_of(folder, f"/memories/moved/{name}") == "text"


def test_a_folder_has_the_files_of_its_project_only(memories):
    shop, blog = memories.folder("shop"), memories.folder("blog")
    shop.create(NOTES, "of the shop")
    with pytest.raises(NotFound):
        blog.view(NOTES)
    with pytest.raises(NotFound):
        blog.delete(NOTES)
    blog.create(NOTES, "of the blog")
    assert (text_of(shop, NOTES), text_of(blog, NOTES)) == ("of the shop", "of the blog")
    assert memories.folder().view("/memories").endswith("0B\t/memories")
    with pytest.raises(InvalidInput, match="No project can be named"):
        memories.folder("*")


def test_ordinary_memories_are_no_files(memories, folder):
    memories.add("about a file", project="shop", files=[NOTES])
    memories.add("tagged so", project="shop", tags=["memory-file"])
    memories.add("tagged alike", project="shop", tags=["my memory-file"], files=["/memories/b.md"])
    for number, path in enumerate(["/memories/../x", "/memories", "src/app.py", "/memories/a/", "/memories//"]):
        memories.add(f"odd path, number {number}", project="shop", tags=["memory-file"], files=[path])
    memories.add("two paths", project="shop", tags=["memory-file"], files=[NOTES, "/memories/b.md"])
    assert folder.view("/memories").endswith("0B\t/memories")
    folder.create(NOTES, "text")
    assert folder.view("/memories").split("\n")[2:] == [f"4B\t{NOTES}"]


# Run


def test_a_tool_call_is_done(folder):
    calls = [
        ({"command": "create", "path": NOTES, "file_text": "one\n"}, f"File created successfully at: {NOTES}"),
        ({"command": "insert", "path": NOTES, "insert_line": 1, "insert_text": "two"}, f"The file {NOTES} has been"),
        ({"command": "str_replace", "path": NOTES, "old_str": "one", "new_str": "1"}, "The memory file has been"),
        ({"command": "view", "path": NOTES, "view_range": None}, "Here's the content of"),
        ({"command": "rename", "old_path": NOTES, "new_path": "/memories/b"}, f"Successfully renamed {NOTES} to"),
        ({"command": "delete", "path": "/memories/b"}, "Successfully deleted /memories/b"),
        ({"command": "view", "path": "/memories"}, "Here're the files and directories"),
    ]
    for call, beginning in calls:
        assert folder.run(call).startswith(beginning)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({}, "No command None. Choose one of: view, create, str_replace, insert, delete, rename"),
        ({"command": "run"}, "No command 'run'"),
        ({"command": ["view"]}, "No command"),
        ({"command": "_write", "seen": 1}, "No command '_write'"),
        ({"command": "view"}, "Error: view: missing a required argument: 'path'"),
        ({"command": "create", "path": NOTES, "file_text": None}, "create: missing a required argument: 'file_text'"),
        ({"command": "delete", "path": NOTES, "force": True}, "delete: got an unexpected keyword argument 'force'"),
        ({"command": "view", "path": NOTES, "self": 1}, "view: .*'self'"),
        ({"command": "create", "path": NOTES, "file_text": 5}, "file_text must be text, not int"),
        ({"command": "insert", "path": "/memories/a", "insert_line": 0, "insert_text": 5}, "insert_text must be text"),
        ({"command": "str_replace", "path": "/memories/a", "old_str": 5}, "old_str must be text"),
        ({"command": "str_replace", "path": "/memories/a", "old_str": "a", "new_str": 5}, "new_str must be text"),
    ],
)
def test_a_malformed_tool_call_is_refused(folder, call, message):
    folder.create("/memories/a", "a")
    with pytest.raises(InvalidInput, match=message):
        folder.run(call)


# History


def test_every_edit_is_kept_as_it_was_at_the_time(memories, folder, clock):
    times = []
    for edit in (
        lambda: folder.create(NOTES, "the deploy key lives in vault one"),
        lambda: folder.str_replace(NOTES, "one", "two"),
        lambda: folder.insert(NOTES, 1, "rotated on Monday"),
        lambda: folder.rename(NOTES, "/memories/keys.md"),
        lambda: folder.create("/memories/keys.md", "the deploy key is gone"),
    ):
        edit()
        times.append(clock())
    said = [
        (hit.item.content, hit.item.files[0])
        for time in times
        for hit in memories.search("deploy key", project="shop", as_of=time, reinforce=False)
    ]
    assert said == [
        ("the deploy key lives in vault one", NOTES),
        ("the deploy key lives in vault two", NOTES),
        ("the deploy key lives in vault two\nrotated on Monday", NOTES),
        ("the deploy key lives in vault two\nrotated on Monday", "/memories/keys.md"),
        ("the deploy key is gone", "/memories/keys.md"),
    ]
    hits = memories.search("deploy key vault", project="shop", include_superseded=True)
    last = files(memories, superseded=False)[0].id
    assert {hit.superseded_by.id for hit in hits if hit.is_superseded} == {last}
    assert len(hits) == 5


def test_an_edit_is_undone_by_unsupersede(memories, folder):
    folder.create(NOTES, "old text")
    [old] = files(memories)
    folder.str_replace(NOTES, "old", "new")
    memories.unsupersede(old.id)
    assert text_of(folder, NOTES) == "old text"
    assert folder.view("/memories").split("\n")[2:] == [f"8B\t{NOTES}"]
    folder.insert(NOTES, 1, "more")
    [current] = files(memories, superseded=False)
    assert current.content == "old text\nmore"
    assert len(memories.related(current.id)) == 2


def test_a_file_whose_edit_was_undone_is_deleted_in_all_its_versions(memories, folder):
    folder.create(NOTES, "old text")
    [old] = files(memories)
    folder.str_replace(NOTES, "old", "new")
    memories.unsupersede(old.id)
    folder.delete(NOTES)
    assert files(memories) == []


def test_a_file_that_was_restored_where_a_new_one_is_becomes_the_file(memories, folder):
    folder.create(NOTES, "first file")
    [first] = files(memories)
    folder.delete(NOTES)
    folder.create(NOTES, "second file")
    memories.restore(first.id)
    assert text_of(folder, NOTES) == "first file"


def test_a_superseded_file_is_gone_even_for_a_clock_that_is_behind(memories, folder, clock):
    folder.create(NOTES, "old text")
    clock.time += timedelta(seconds=30)
    folder.create(NOTES, "new text")
    clock.time -= timedelta(seconds=30)
    assert text_of(folder, NOTES) == "new text"
    folder.create(NOTES, "newest text")
    assert text_of(folder, NOTES) == "newest text"


def test_a_file_ends_when_its_time_does(memories, folder, clock):
    folder.create(NOTES, "until tomorrow")
    memories.update(files(memories)[0].id, valid_until=clock.time + timedelta(days=1))
    folder.insert(NOTES, 1, "still")
    assert text_of(folder, NOTES) == "until tomorrow\nstill"
    clock.time += timedelta(days=2)
    with pytest.raises(NotFound):
        folder.view(NOTES)


def test_files_and_history_survive_export_and_import(memories, folder, tmp_path):
    folder.create(NOTES, "old text\n")
    [old] = files(memories)
    folder.str_replace(NOTES, "old", "new")
    folder.create("/memories/a/empty.md", "")
    folder.create("/memories/gone.md", "gone")
    folder.delete("/memories/gone.md")
    memories.export(tmp_path / "one.jsonl")
    with Athand(":memory:") as other:
        other.memories.import_(tmp_path / "one.jsonl")
        copy = other.memories.folder("shop")
        for path in ("/memories", NOTES, "/memories/a/empty.md"):
            assert copy.view(path) == folder.view(path)
        other.memories.export(tmp_path / "two.jsonl")
        other.memories.unsupersede(old.id)
        assert text_of(copy, NOTES) == "old text"
    assert (tmp_path / "one.jsonl").read_text() == (tmp_path / "two.jsonl").read_text()


def test_the_index_of_files_can_be_made_again(memories, folder):
    folder.create(NOTES, "old text")
    folder.create(NOTES, "new text")
    folder.rename(NOTES, "/memories/b.md")
    folder.create("/memories/c.md", "")
    folder.delete("/memories/c.md")
    before = memories.fingerprint()
    memories.reindex()
    assert memories.fingerprint() == before


# Several at once


class MeddlingEmbedder(LazyEmbedder):
    """Lets someone else act between the reading of a file and the writing."""

    def __init__(self):
        super().__init__(DEFAULT_MODEL)
        self.meddle = None

    def attempt(self, action):
        meddle, self.meddle = self.meddle, None
        if meddle:
            meddle()
        return super().attempt(action)


@pytest.mark.parametrize(
    "edit",
    [
        lambda folder: folder.create(NOTES, "mine"),
        lambda folder: folder.str_replace(NOTES, "text", "mine"),
        lambda folder: folder.insert(NOTES, 0, "mine"),
        lambda folder: folder.rename(NOTES, "/memories/mine.md"),
        lambda folder: folder.rename("/memories/a", "/memories/mine"),
    ],
)
@pytest.mark.parametrize(
    "meddle",
    [
        lambda folder: [folder.create(path, "theirs") for path in (NOTES, "/memories/a/notes.md")],
        lambda folder: [folder.delete(path) for path in (NOTES, "/memories/a")],
        lambda folder: [folder.rename(NOTES, "/memories/b"), folder.rename("/memories/a", "/memories/c")],
    ],
)
def test_an_edit_of_what_was_changed_meanwhile_is_a_conflict(edit, meddle):
    embedder = MeddlingEmbedder()
    memories = Memories(open_store(":memory:", SCHEMAS), embedder)
    folder = memories.folder()
    folder.create(NOTES, "text")
    folder.create("/memories/a/notes.md", "text")
    embedder.meddle = lambda: meddle(memories.folder())
    with pytest.raises(Conflict, match="was changed meanwhile"):
        edit(folder)
    assert not any("mine" in memory.content + memory.files[0] for memory in files(memories))


def test_two_that_create_the_same_file_at_once_do_not_both_succeed():
    embedder = MeddlingEmbedder()
    memories = Memories(open_store(":memory:", SCHEMAS), embedder)
    embedder.meddle = lambda: memories.folder().create(NOTES, "theirs")
    with pytest.raises(Conflict, match="was changed meanwhile"):
        memories.folder().create(NOTES, "mine")
    assert text_of(memories.folder(), NOTES) == "theirs"


def test_what_was_only_recalled_or_pinned_meanwhile_can_be_edited():
    embedder = MeddlingEmbedder()
    memories = Memories(open_store(":memory:", SCHEMAS), embedder)
    folder = memories.folder()
    folder.create(NOTES, "some text")
    [memory] = files(memories)
    embedder.meddle = lambda: (memories.search("text", mode="keyword"), memories.pin(memory.id))
    folder.insert(NOTES, 1, "more")
    assert text_of(folder, NOTES) == "some text\nmore"
    old = memories.get(memory.id)
    assert (old.pinned, old.access_count) == (True, 1)


def test_no_line_is_lost_among_many_writers(tmp_path):
    with Athand(str(tmp_path / "store.db")) as athand:
        athand.memories.folder().create(NOTES, "start\n")
        written, refused = [], []

        def write(number):
            folder = athand.memories.folder()
            for turn in range(5):
                try:
                    folder.insert(NOTES, 0, f"writer {number} turn {turn}")
                    written.append(f"writer {number} turn {turn}")
                except Conflict:
                    refused.append(number)

        threads = [threading.Thread(target=write, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        lines = text_of(athand.memories.folder(), NOTES).split("\n")
        assert sorted(lines) == sorted([*written, "start"])
        assert len(written) + len(refused) == 30


# Against plain Python

NAMES = ("/memories/a", "/memories/b", "/memories/d/a", "/memories/d/b", "/memories/d", "/memories/d/e/f", "/memories")
paths = st.sampled_from(NAMES)
texts = st.text("ab \n", max_size=8)
commands = st.one_of(
    st.tuples(st.just("create"), paths, texts),
    st.tuples(st.just("str_replace"), paths, texts, texts),
    st.tuples(st.just("insert"), paths, st.integers(-1, 4), texts),
    st.tuples(st.just("delete"), paths),
    st.tuples(st.just("rename"), paths, paths),
)


class PlainFolder:
    """Files as they are in a dictionary; a mistake is a False."""

    def __init__(self):
        self.files = {}

    def under(self, path):
        return {each for each in self.files if each.startswith(f"{path}/")}

    def is_free(self, path):
        above = {path[:at] for at, letter in enumerate(path) if letter == "/"}
        return path != "/memories" and not self.under(path) and not above & self.files.keys()

    def put(self, path, text):
        self.files[path] = text if text.strip() else ""
        return True

    def create(self, path, text):
        return self.is_free(path) and self.put(path, text)

    def str_replace(self, path, old, new):
        text = self.files.get(path, "")
        starts = [at for at in range(len(text)) if old and text.startswith(old, at)]
        return len(starts) == 1 and self.put(path, text.replace(old, new))

    def insert(self, path, line, addition):
        text = self.files.get(path)
        if text is None:
            return False
        parts = text.split("\n")[:-1] if text.endswith("\n") else text.split("\n") if text else []
        if not 0 <= line <= len(parts):
            return False
        body = addition[:-1] if addition.endswith("\n") else addition
        closed = text.endswith("\n") or (line == len(parts) and addition.endswith("\n"))
        return self.put(path, "\n".join([*parts[:line], body, *parts[line:]]) + "\n" * closed)

    def delete(self, path):
        gone = {path, *self.under(path)} & self.files.keys()
        self.files = {each: text for each, text in self.files.items() if each not in gone}
        return path != "/memories" and bool(gone)

    def rename(self, old, new):
        moved = {old, *self.under(old)} & self.files.keys()
        if old == "/memories" or not moved or new in self.files or new.startswith(f"{old}/") or not self.is_free(new):
            return False
        self.files = {new + each[len(old) :] if each in moved else each: text for each, text in self.files.items()}
        return True


@settings(max_examples=60)
@given(st.lists(commands, max_size=25))
def test_any_sequence_of_commands_does_what_it_does_to_plain_files(sequence):
    with Athand(":memory:") as athand:
        folder, plain = athand.memories.folder(), PlainFolder()
        for name, *arguments in sequence:
            if name == "delete" and arguments == ["/memories"]:
                continue
            try:
                getattr(folder, name)(*arguments)
                succeeded = True
            except AthandError:
                succeeded = False
            assert succeeded == getattr(plain, name)(*arguments), (name, arguments)
            current = files(athand.memories, superseded=False)
            kept = {each.files[0]: "" if "empty-file" in each.tags else each.content for each in current}
            assert len(current) == len(kept)
            assert kept == plain.files
        for path, text in plain.files.items():
            assert text_of(folder, path) == text.removesuffix("\n")
