"""Which files of a folder are seen: the rules of git, what is never worth reading, and never anything outside."""

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from athand.documents.extract import UnreadableFile
from athand.documents.walk import open_root, read_file, walk_folder
from athand.errors import NotFound, Unavailable

NAMES = ("a", "b", "ab", "a.b", "foo", "x[1]", "#c", "!d", "e ", "é")
GLOBS = r"* ** ? a* *.b [ab] [!a] [^a] [a-c]* [[:alpha:]] []a] \#c \!d \* x\[1\]".split()
PIECES = (*NAMES, *GLOBS, "e\\ ")


def seen(folder):
    with open_root(str(folder)) as root:
        return walk_folder(root)


def tree(folder, files):
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8", newline="")


def ignored_by_git(folder, paths):
    """What git itself says, without settings of the user."""
    done = subprocess.run(
        ["git", "check-ignore", "--no-index", "--stdin", "-z"],
        input="\0".join(paths).encode(),
        capture_output=True,
        cwd=folder,
        env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"},
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr
    return set(filter(None, done.stdout.decode().split("\0")))


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    folder = tmp_path_factory.mktemp("repository")
    subprocess.run(["git", "init", "--quiet", "."], cwd=folder, check=True)
    return folder


PATHS = st.lists(st.sampled_from(NAMES), min_size=1, max_size=4).map("/".join)
PATTERNS = st.builds(
    lambda no, lead, pieces, end: no + lead + "/".join(pieces) + end,
    st.sampled_from(["", "", "!"]),
    st.sampled_from(["", "", "/"]),
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=3),
    st.sampled_from(["", "", "/", " ", "\\ "]),
)
ODD = st.text(alphabet="ab*?[]!/\\# -^.\t", max_size=8)
RULES = st.lists(PATTERNS | ODD, max_size=6)


@pytest.mark.parametrize("examples", [30, pytest.param(100, marks=pytest.mark.slow)])
def test_files_are_ignored_as_by_git(repository, examples):
    @settings(max_examples=examples)
    @given(
        paths=st.sets(PATHS, min_size=1, max_size=12),
        rules=st.dictionaries(st.sampled_from(["", "a/", "b/", "a/b/", "foo/"]), RULES, min_size=1, max_size=3),
        newline=st.sampled_from(["\n", "\n", "\r\n"]),
    )
    @example(paths={"sub/a/x.txt"}, rules={"": ["*.txt"], "sub/": ["!a"]}, newline="\n")
    @example(paths={"a/x", "b/x"}, rules={"": ["*", "!*/", "!x"]}, newline="\n")
    @example(paths={"a/b/x"}, rules={"": ["a/*", "!a/b"]}, newline="\n")
    @example(paths={"a/b/x"}, rules={"": ["a/", "!a/b/x"], "a/": ["!b"]}, newline="\n")
    @example(paths={"a\x0cb"}, rules={"": ["a\x0cb"]}, newline="\n")
    @example(paths={"a"}, rules={"": ["\ufeffa"]}, newline="\n")
    @example(paths={"a/b", "b/a"}, rules={"": ["[z-a]", "b["]}, newline="\n")
    def holds(paths, rules, newline):
        for each in repository.iterdir():
            if each.name != ".git":
                shutil.rmtree(each) if each.is_dir() else each.unlink()
        files = _possible(paths | {f"{directory}.gitignore" for directory in rules})
        tree(repository, dict.fromkeys(files, "x"))
        for directory, lines in rules.items():
            tree(repository, {f"{directory}.gitignore": newline.join([*lines, ""])})
        everything = [path for path in files if (repository / path).is_file() and path.isprintable()]
        expected = set(everything) - ignored_by_git(repository, everything)
        found = seen(repository)
        assert {path for path in found.files if path.isprintable()} == expected

    holds()


def _possible(paths):
    """Without those that would have to be a file and a directory."""
    return [path for path in sorted(paths) if not any(other.startswith(f"{path}/") for other in paths)]


def test_what_is_never_worth_reading_is_passed_over_and_counted(tmp_path):
    skipped = ("node_modules/p/i.js", ".git/HEAD", "env/pyvenv.cfg", "env/lib/a.py", "i.png", "uv.lock", "go.sum")
    tree(tmp_path, dict.fromkeys(("a.md", "node_modules.md", "src/b.py", *skipped), "text"))
    found = seen(tmp_path)
    assert set(found.files) == {"a.md", "node_modules.md", "src/b.py"}
    assert found.skipped == {"ignored": 2, "virtual environments": 1, "binary": 1, "lock files": 2}
    assert found.problems == {}


def test_own_rules_stand_beside_those_of_git_and_win(tmp_path):
    tree(tmp_path, {"a.log": "x", "b.log": "x", "c.md": "x", "sub/d.log": "x", "sub/e.md": "x"})
    tree(tmp_path, {".gitignore": "*.log\n", ".athandignore": "!a.log\nc.md\n", "sub/.athandignore": "!d.log"})
    assert set(seen(tmp_path).files) - {".gitignore", ".athandignore", "sub/.athandignore"} == {
        "a.log",
        "sub/d.log",
        "sub/e.md",
    }


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: path.symlink_to("/etc/passwd")])
def test_rules_that_are_no_file_do_no_harm(tmp_path, make):
    tree(tmp_path, {"a.md": "x"})
    make(tmp_path / ".gitignore")
    assert "a.md" in seen(tmp_path).files


@pytest.mark.parametrize("size", [500, pytest.param(3_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("unit", ["*a", "**/", "**/a/", "[", "[[:", "[a", "\\", "!", "a\n", "*?"])
def test_hostile_rules_take_no_time(tmp_path, unit, size):
    name, deep = "a" * 200, "a/" * 60
    rules = [unit * size + "b"] * 5 + [unit * 40 + "b"] * (size // 75)
    tree(tmp_path, {f"{deep}{name}.md": "x", ".gitignore": "\n".join(rules), f"{deep}.gitignore": unit * 20 * size})
    begin = time.process_time()
    seen(tmp_path)
    assert time.process_time() - begin < size / 200  # ten times what it takes


ESCAPES = ("../x.md", "a/../../x.md", "..", ".", "", "/etc/passwd", "a//x.md", "a/./x.md", "a/", "out.md", "out/x.md")


@pytest.mark.parametrize("path", ESCAPES)
def test_no_path_leads_out_of_the_folder(tmp_path, path):
    (tmp_path / "x.md").write_text("outside")
    folder = tmp_path / "folder"
    tree(folder, {"a/b.md": "inside"})
    (folder / "out.md").symlink_to(tmp_path / "x.md")
    (folder / "out").symlink_to(tmp_path)
    with open_root(str(folder)) as root, pytest.raises((UnreadableFile, NotFound)):
        read_file(root, path)


def test_nothing_stays_open_whatever_happens(tmp_path):
    tree(tmp_path, {"a/b/c.md": "x"})
    (tmp_path / "loop").symlink_to("loop")
    before = sorted(Path("/proc/self/fd").iterdir())
    with open_root(str(tmp_path)) as root:
        walk_folder(root)
        read_file(root, "a/b/c.md")
        for path in (*ESCAPES, "loop", "nothing", "a/nothing/x"):
            with pytest.raises((UnreadableFile, NotFound)):
                read_file(root, path)
    with pytest.raises(Unavailable), open_root(str(tmp_path / "nowhere")):
        pass
    assert sorted(Path("/proc/self/fd").iterdir()) == before


def test_a_file_that_grows_beyond_the_limit_is_not_read_to_its_end(tmp_path, monkeypatch):
    monkeypatch.setattr("athand.documents.walk.MAX_TEXT_BYTES", 1_000_000)
    with (tmp_path / "a.txt").open("wb") as file:
        file.truncate(10**12)
    with open_root(str(tmp_path)) as root, pytest.raises(UnreadableFile, match="larger than 1 MB"):
        read_file(root, "a.txt")
