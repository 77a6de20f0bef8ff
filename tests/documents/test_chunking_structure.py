from itertools import pairwise

import pytest

from athand.documents.chunking import chunk_text, extract_outline
from athand.documents.extract import Extract, FileKind, Marker
from athand.text_length import estimate_tokens

MARKDOWN, TEXT = FileKind("markdown"), FileKind("text")
PROSE = "A sentence about nothing in particular. Another one follows it here. "


def pieces_of(text, kind=MARKDOWN, marks=(), title=""):
    return chunk_text(Extract(text, tuple(marks), title), kind)


def code(text, language="python"):
    return pieces_of(text, FileKind("code", language))


def test_sections_that_are_long_are_pieces_with_their_path():
    text = (
        f"# Guide\n\n## Install\n\n{PROSE * 12}\n\n## Use\n\n### Daily\n\n{PROSE * 12}\n\n### Rarely\n\n{PROSE * 12}\n"
    )
    assert [piece.heading for piece in pieces_of(text)] == [
        ("Guide", "Install"),
        ("Guide", "Use", "Daily"),
        ("Guide", "Use", "Rarely"),
    ]


def test_small_siblings_share_a_piece_that_names_them():
    text = "# Guide\n\n" + "".join(f"## Part {at}\n\nFew words.\n\n" for at in range(4))
    (piece,) = pieces_of(text)
    assert piece.heading == ("Guide",)
    assert piece.names == ("Part 0", "Part 1", "Part 2", "Part 3")


def test_a_heading_in_a_fence_or_comment_is_none():
    text = "# Real\n\n```sh\n# not one\n```\n\n~~~~\n# nor this\n~~~\n# still inside\n~~~~\n\n<!--\n# hidden\n-->\n"
    assert [heading.title for heading in extract_outline(Extract(text), MARKDOWN)] == ["Real"]


def test_the_title_of_front_matter_heads_every_path_unless_there_is_a_first_heading():
    text = "---\ntitle: 'A Page'\nweight: 3\n---\n\nWords.\n\n## Part\n\nMore.\n"
    assert pieces_of(text)[0].heading == ("A Page",)
    assert pieces_of(text.replace("## Part", "# Top"))[0].heading == ("Top",)


def test_headings_are_read_without_markup():
    text = (
        'Under\n=====\n\n## The `code` of [links](x.md) {#anchor}\n\n## {{% heading "whatsnext" %}}\n\n### Closed ###\n'
    )
    assert [heading.title for heading in extract_outline(Extract(text), MARKDOWN)] == [
        "Under", "The code of links", "whatsnext", "Closed",
    ]  # fmt: skip


def test_a_table_is_not_cut_inside_of_a_row_and_a_fence_not_where_it_fits():
    table = "| name | value |\n|---|---|\n" + "| a name with words. And more | a value |\n" * 100
    text = f"# Tables\n\n{table}\n## Code\n\n{PROSE * 18}\n\n```python\n" + "call()\n\n" * 60 + "```\n\n" + PROSE * 10
    pieces = pieces_of(text)
    assert all(text[piece.start - 1] == "\n" for piece in pieces[1:] if text[piece.start] == "|")
    assert pieces[0].start == 0 and "|---|" in text[: pieces[0].end]
    fenced = [piece for piece in pieces if "```python" in text[piece.start : piece.end]]
    assert all(text[piece.start : piece.end].count("```") == 2 for piece in fenced)


def test_long_prose_is_cut_at_sentences_and_repeats_the_last_ones():
    text = PROSE * 100
    pieces = pieces_of(text, TEXT)
    assert len(pieces) > 3
    for before, piece in pairwise(pieces):
        assert 0 < before.end - piece.start <= 200
        assert text[piece.start :].startswith(("A sentence", "Another"))
        assert text[: before.end].rstrip().endswith(".")


def test_what_is_repeated_does_not_begin_inside_of_a_fence():
    text = "# Commands\n\n" + (PROSE * 7 + "\n\n```sh\nls. Then\n\n- more\n```\n\n") * 12
    pieces = pieces_of(text)
    assert len(pieces) > 2
    assert all(text[: piece.start].count("```") % 2 == 0 for piece in pieces)


def test_pieces_are_neither_tiny_nor_huge():
    sizes = [
        piece.end - piece.start for piece in pieces_of("\n\n".join(PROSE * (at % 9 + 1) for at in range(90)), TEXT)
    ]
    assert all(400 <= size <= 2400 for size in sizes)


def test_underlined_titles_of_plain_text_have_levels_in_the_order_of_their_lines():
    text = "=====\nTitle\n=====\n\nPart\n----\n\nWords.\n\nSub\n~~~\n\nNext part\n---------\n"
    assert [(heading.title, heading.level) for heading in extract_outline(Extract(text), TEXT)] == [
        ("Title", 1), ("Part", 2), ("Sub", 3), ("Next part", 2),
    ]  # fmt: skip


def test_marked_headings_give_the_path():
    text = f"Intro\n\n{PROSE * 15}\n\nDetails\n\n{PROSE * 15}"
    marks = [Marker(0, "heading", "Intro", 1), Marker(text.index("Details"), "heading", "Details", 2)]
    assert [piece.heading for piece in pieces_of(text, FileKind("docx"), marks)] == [("Intro",), ("Intro", "Details")]


def test_a_piece_does_not_cross_pages_unless_they_are_tiny():
    pages = [PROSE * 9, PROSE * 9, "Few words.\n", "Few more.\n", PROSE * 40]
    starts = [sum(map(len, pages[:at])) for at in range(5)]
    marks = [Marker(start, "page", str(number)) for number, start in enumerate(starts, 1)]
    places = [piece.place for piece in pieces_of("".join(pages), FileKind("pdf"), marks)]
    assert places == ["page 1", "pages 2\u20134", "page 5", "page 5"]


def test_small_cells_of_a_notebook_share_a_piece_and_headings_count():
    cells = ["# Title\n\n", "x = 1\n\n", "y = 2\n\n"]
    marks = [Marker(sum(map(len, cells[:at])), "cell", str(at + 1)) for at in range(3)]
    (piece,) = pieces_of("".join(cells), FileKind("notebook"), [*marks, Marker(0, "heading", "Title", 1)])
    assert (piece.place, piece.heading) == ("cells 1\u20133", ("Title",))


def test_rows_of_a_table_stay_whole_even_with_lines_in_quotes():
    text = "id,words\n" + '1,"some\nwords in\nlines"\n' * 200
    pieces = pieces_of(text, FileKind("table", "csv"))
    assert len(pieces) > 2
    assert all(text[piece.start : piece.start + 2] == "1," for piece in pieces[1:])
    assert {piece.heading for piece in pieces} == {("id, words",)}


def test_data_is_cut_at_its_keys():
    text = "".join(f"key{at}:\n" + "  - a value of it\n" * 60 for at in range(4))
    assert [piece.heading for piece in pieces_of(text, FileKind("data", "yaml"))] == [(f"key{at}",) for at in range(4)]


BODY = "        value = compute(value)\n" * 30
LONG_CLASS = f'''import os


@decorated(
    option=1,
)
class Thing(Base):
    """A thing."""

    # Counts.
    def first(self):
{BODY}
    async def second(self):
{BODY}
    def third(self):
        """def hidden(): pass"""
{BODY}

LIMIT = 3
'''


def test_a_long_class_is_cut_at_its_methods():
    pieces = code(LONG_CLASS)
    assert [piece.heading for piece in pieces] == [("Thing", "first"), ("Thing", "second"), ("Thing", "third")]
    assert [piece.names for piece in pieces] == [("Thing", "first"), ("second",), ("third", "LIMIT")]
    assert "@decorated" in LONG_CLASS[: pieces[0].end]


def test_what_stands_above_a_definition_belongs_to_it():
    text = "import a\n\n" + "x = a.b()\n" * 150 + "\n\n# Why it is.\n@cached\ndef act():\n" + "    a.b()\n" * 150
    piece = next(piece for piece in code(text) if "act" in piece.names)
    assert text[piece.start :].startswith("# Why it is.\n@cached\ndef act")


def test_small_functions_share_a_piece():
    (piece,) = code("".join(f"def act_{at}():\n    return {at}\n\n\n" for at in range(5)))
    assert piece.names == tuple(f"act_{at}" for at in range(5))


CHINESE = "本节介绍如何配置服务器的网络。首先、打开设置页面、然后选择要使用的接口。完成之后、请重新启动服务。"
JAPANESE = "この章では、サーバーのネットワークを設定する方法を説明します。まず設定画面を開いてください。"


@pytest.mark.parametrize("kind", [MARKDOWN, TEXT, FileKind("code", "python")], ids=["markdown", "text", "code"])
@pytest.mark.parametrize("sentence", [CHINESE, JAPANESE, PROSE], ids=["Chinese", "Japanese", "English"])
def test_pieces_have_alike_many_tokens_in_every_language(sentence, kind):
    text = f"{sentence}\n\n" * (40_000 // estimate_tokens(sentence) // 4)
    pieces = pieces_of(text, kind)
    tokens = [estimate_tokens(text[piece.start : piece.end]) for piece in pieces]
    assert all(200 <= each <= 500 for each in tokens[:-1])
    assert pieces[0].start == 0 and pieces[-1].end == len(text)
    assert all(before.end >= piece.start for before, piece in pairwise(pieces))


def test_a_piece_of_two_languages_is_cut_by_what_it_has_of_each():
    text = f"{PROSE * 30}\n\n{CHINESE * 30}\n\n{PROSE * 30}"
    sizes = [piece.end - piece.start for piece in pieces_of(text)]
    tokens = [estimate_tokens(text[piece.start : piece.end]) for piece in pieces_of(text)]
    assert max(tokens) <= 600 and max(sizes) > 2 * min(sizes)
