import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from athand.documents.chunking import chunk_text, extract_outline
from athand.documents.extract import Extract, FileKind, Marker

LANGUAGES = ("python", "javascript", "rust", "c", "java", "csharp", "ruby", "php", "go", "shell", "sql", "vue", "none")
KINDS = [FileKind(name) for name in "markdown text html docx pdf pptx xlsx notebook table data epub odt".split()]
KINDS += [FileKind("code", language) for language in LANGUAGES]
LINES = st.sampled_from(
    [
        "# Title", "## Part", "Words\n=====", "Words\n-----", "---", "```", "~~~~", "````python", "| a | b |",
        "|---|---|",
        "<!-- hidden", "-->", "- an item", "1. first", "", "", "   ", "\t", "A sentence. And another! " * 30,
        "def run():", "    return 1", "class Thing:", "    def method(self):", "@decorator", '"""', "'''", "/*", "*/",
        "function go() {", "}", "impl Thing for Other {", "  fn act() {", "static int main(int argc) {", "x" * 3000,
        "é ü 漢字。" * 200, "key: value", '"a,b",c', "\r", "title: Named",
        "CREATE TABLE users (", "<script>", "`", "# a comment",
    ]
)  # fmt: skip
TEXTS = st.one_of(
    st.text(max_size=400), st.lists(LINES, max_size=120).map("\n".join), st.text("ab\n .#`", max_size=3000)
)


@st.composite
def extracts(draw):
    text = draw(TEXTS)
    kinds = st.sampled_from(["page", "slide", "sheet", "cell", "heading", "chapter"])
    marks = st.builds(
        Marker, st.integers(0, len(text)), kinds, st.sampled_from(["", "1", "Page 2", "A title"]), st.integers(0, 7)
    )
    return Extract(
        text, tuple(sorted(draw(st.lists(marks, max_size=12)), key=lambda mark: mark.offset)), draw(st.text(max_size=5))
    )


def check(text, pieces):
    """Everything that holds for the pieces of any text."""
    assert bool(pieces) == bool(text)
    reached = 0
    for before, piece in zip([None, *pieces], pieces, strict=False):
        assert piece.start <= reached < piece.end
        assert before is None or piece.start > before.start
        assert piece.start_line == text.count("\n", 0, piece.start) + 1
        assert piece.end_line == text.count("\n", 0, piece.end - 1) + 1
        assert len(pieces) == 1 or text[reached : piece.end].strip()
        reached = piece.end
    assert reached == len(text)


every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.name}-{kind.language}".strip("-"))


@pytest.mark.parametrize("examples", [12, pytest.param(60, marks=pytest.mark.slow)])
@every_kind
def test_pieces_of_any_text_are_in_order_and_make_the_whole_text(kind, examples):
    @given(extracts())
    @settings(max_examples=examples)
    def holds(extract):
        pieces = chunk_text(extract, kind)
        check(extract.text, pieces)
        assert chunk_text(extract, kind) == pieces

    holds()


@pytest.mark.parametrize("examples", [6, pytest.param(30, marks=pytest.mark.slow)])
@every_kind
def test_an_outline_names_lines_that_exist_in_their_order(kind, examples):
    @given(extracts())
    @settings(max_examples=examples)
    def holds(extract):
        lines = [heading.line for heading in extract_outline(extract, kind)]
        assert lines == sorted(lines)
        assert all(1 <= line <= extract.text.count("\n") + 1 for line in lines)
        assert all(heading.title.strip() for heading in extract_outline(extract, kind))

    holds()


@every_kind
def test_an_empty_text_has_no_pieces_and_a_blank_one_has_one(kind):
    assert chunk_text(Extract(""), kind) == []
    assert [(piece.start, piece.end) for piece in chunk_text(Extract(" \n\n \t\n"), kind)] == [(0, 6)]


BIG = {
    "one line": "x",
    "one line of words": "word ",
    "one line of sentences": "A word. ",
    "empty lines": "\n",
    "headings": "# A\n\nb\n",
    "deep headings": "# A\n## B\n### C\n#### D\n##### E\n",
    "fences": "```\n",
    "longer and longer fences": "\n".join("`" * (3 + at % 300) for at in range(600)),
    "list items": "- a\n",
    "table rows": "| a | b |\n",
    "open comments": "/* <!-- {- (* ",
    "open strings": "\"\"\" ''' ` ",
    "quotes": "'",
    "backticks": "`",
    "open brackets": "a b(",
    "open brackets in lines": "a b(\n",
    "words in lines": "static int\n",
    "angle brackets": "template <",
    "angle brackets in lines": "impl <\n",
    "definitions": "def f(): pass\n",
    "deeper and deeper": "\n".join(" " * at + "class A:" for at in range(450)),
    "decorators": "@a\n",
    "closings": ")\n",
    "underlines": "===\n",
    "dollars": "`${",
    "regexes": "= /[",
    "modifiers": "public static ",
    "modifiers in lines": "public static final\n",
    "dots": "a.",
}


def big_texts(size):
    """A text of every shape, of about this many characters."""
    yield "words far apart", "a" + "\n" * (size // 2) + "b" + " " * (size // 2)
    for shape, part in BIG.items():
        yield shape, (part * (size // len(part) + 1))[:size]


@pytest.mark.parametrize("size", [20_000, pytest.param(100_000, marks=pytest.mark.slow)])
@every_kind
def test_a_big_text_of_any_shape_takes_time_in_proportion_to_its_size(kind, size):
    halves = dict(big_texts(size // 2))
    for shape, text in big_texts(size):
        took, pieces = timed_cut(text, kind)
        check(text, pieces)
        if took > size / 400_000:  # several times what it takes
            # Half a text takes half the time, or more where some work is the same for any text; it takes a quarter
            # where the time grows with the square. A busy machine may slow down any one of them.
            half = max(timed_cut(halves[shape], kind)[0] for _ in range(3))
            assert any(timed_cut(text, kind)[0] < 3 * half for _ in range(20)), shape


def timed_cut(text, kind):
    began = time.process_time()
    pieces = chunk_text(Extract(text), kind)
    return time.process_time() - began, pieces
