"""Path patterns: what they fit, and that both engines agree on it."""

import fnmatch
import time

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from athand.documents.globs import check_path, path_filter, to_regex
from athand.errors import InvalidInput
from athand.store.sqlite.sql import _path_matches

NAMES = [
    "docs",
    "api",
    "a.md",
    "b.py",
    "README.md",
    "x[1]",
    "src",
    "résumé.txt",
    "a b",
    "doc",
    "-",
    "]",
    "!",
    "^",
    "\\",
]
PATHS = st.lists(st.sampled_from(NAMES), min_size=1, max_size=4).map("/".join)
PIECES = [*NAMES, "*", "**", "?", "*.md", "[ab]*", "[!a]*", "[a-c].md", "*é*", "[]a]", "[!]", "[z-a]", "[", "[^a]*"]
PIECES += ["[[:alpha:]]*", "[a-]", "[!!]", "d*c*", "{a,b}", "(a|b)", "+", "$", ".", "***", "[!z-a]", "[\\d]", "[--z]*"]
GLOBS = st.lists(st.sampled_from(PIECES) | st.text("ab[]!-*?^\\.", max_size=4), min_size=1, max_size=4).map("/".join)


@pytest.fixture(scope="module")
def server(postgres):
    with psycopg.connect(postgres.url("postgres")) as connection:
        yield connection


def fits(path, pattern):
    return bool(_path_matches(path, check_path(pattern), ""))


@pytest.mark.parametrize(
    ("pattern", "fitting", "others"),
    [
        ("*.md", ["a.md", "docs/a.md", "docs/deep/a.md"], ["a.mdx", "amd"]),
        ("docs", ["docs", "docs/a.md", "docs/deep/a.md", "src/docs/a.md"], ["docs2/a.md", "mydocs/a.md"]),
        ("docs/", ["docs/a.md"], ["docs2/a.md"]),
        ("docs/*.md", ["docs/a.md"], ["docs/deep/a.md", "a.md", "src/docs/a.md"]),
        ("docs/**", ["docs/a.md", "docs/deep/a.md"], ["src/docs/a.md"]),
        ("docs/**/*.md", ["docs/a.md", "docs/deep/a.md", "docs/deep/er/a.md"], ["a.md", "docs/a.py"]),
        ("**/test_*.py", ["test_a.py", "x/test_a.py"], ["x/a_test.py"]),
        ("./src/api", ["src/api/a.py"], ["src/apis/a.py", "lib/src/api/a.py"]),
        ("?.md", ["a.md", "x/b.md"], ["ab.md"]),
        ("[ab].md", ["a.md"], ["c.md", "ab.md"]),
        ("[!ab].md", ["c.md"], ["a.md"]),
        ("a.md", ["a.md"], ["axmd", "A.md"]),
        ("100%_.txt", ["100%_.txt"], ["1000_.txt", "100%x.txt"]),
    ],
)
def test_a_pattern_fits_as_people_expect(server, pattern, fitting, others):
    regex = to_regex(check_path(pattern))
    for path in (*fitting, *others):
        assert fits(path, pattern) is (path in fitting), path
        assert server.execute("SELECT %s ~ %s", (path, regex)).fetchone()[0] is (path in fitting), path


@settings(max_examples=150)
@given(st.lists(PATHS, min_size=1, max_size=8), GLOBS)
def test_both_engines_fit_the_same_paths(server, paths, pattern):
    try:
        glob = check_path(pattern)
    except InvalidInput:
        return
    asked = {"paths": paths, "regex": to_regex(glob)}
    found = server.execute("SELECT p ~ %(regex)s FROM unnest(%(paths)s::text[]) p", asked).fetchall()
    assert [row[0] for row in found] == [_path_matches(path, glob, "") for path in paths]


@settings(max_examples=150)
@given(st.text("ab-]!^[\\", min_size=1, max_size=3), st.text("ab-]![^\\&~|", max_size=6))
def test_both_engines_read_a_set_as_python_does(server, name, inside):
    pattern = f"[{inside}]"
    regex = to_regex(f"**/{pattern}")
    assert server.execute("SELECT %s ~ %s", (name, regex)).fetchone()[0] is fnmatch.fnmatchcase(name, pattern)


@pytest.mark.parametrize("path", [5, ["x"], "a\0b", "\ud800", "x" * 2000, "**/" * 9 + "x", "  "])
def test_what_is_no_pattern_is_refused(path):
    with pytest.raises(InvalidInput, match="path"):
        path_filter(path)


def test_a_long_pattern_of_stars_takes_no_time(server):
    pattern, path = "*a" * 300 + "b", "a" * 250
    assert not fits(path, pattern)
    assert not server.execute("SELECT %s ~ %s", (path, to_regex(check_path(pattern)))).fetchone()[0]


@pytest.mark.parametrize("pattern", ["**/*a*/**/*a*/**/*a*/**/b", "**/**/**/**/b", "**/a/**/a/**/a/**/b"])
def test_stars_for_directories_take_no_time_on_a_deep_path(pattern):
    began = time.process_time()
    assert not _path_matches("a/" * 2000, check_path(pattern), "")
    assert time.process_time() - began < 1
