import pytest
from makers import docx, epub, notebook, odt, paragraph, pdf, pptx, shape, xlsx

from athand.documents.extract import Extract, FileKind, UnreadableFile
from athand.documents.readers import Readers


@pytest.fixture(scope="module")
def readers():
    with Readers() as readers:
        yield readers


def places(extract: Extract, kind: str) -> list[tuple[str, int, str]]:
    """Label, level and first line of all marks of a kind."""
    found = (mark for mark in extract.markers if mark.kind == kind)
    return [(mark.label, mark.level, extract.text[mark.offset :].split("\n")[0]) for mark in found]


def test_a_word_document_is_read_in_order_with_its_headings(readers):
    row = "".join(f"<w:tc>{paragraph(cell)}</w:tc>" for cell in ("a", "b", ""))
    item = paragraph("an item", more='<w:numPr><w:ilvl w:val="1"/><w:numId w:val="1"/></w:numPr>')
    body = (
        paragraph("Über uns", "berschrift1")
        + paragraph("Text mit <w:x/>".replace("<w:x/>", "&amp; 漢字 😀"))
        + f"<w:sdt><w:sdtContent>{paragraph('Tiefer', 'Mein')}</w:sdtContent></w:sdt>"
        + item
        + f"<w:tbl><w:tr>{row}</w:tr><w:tr>{row}</w:tr></w:tbl>"
        + paragraph("last", "Kreis")
    )
    extract = readers.read(FileKind("docx"), docx(body, "The Title"))
    assert extract.text == (
        "Über uns\n\nText mit & 漢字 😀\n\nTiefer\n\n  - an item\n\na | b\na | b\n\nlast\n\n[1] A footnote."
    )
    assert places(extract, "heading") == [("Über uns", 1, "Über uns"), ("Tiefer", 2, "Tiefer")]
    assert extract.title == "The Title"


def test_what_was_deleted_from_a_word_document_is_not_read(readers):
    body = (
        "<w:p><w:r><w:t>kept</w:t><w:tab/><w:t>here</w:t><w:br/></w:r><w:del><w:r><w:delText>gone</w:delText></w:r></w:del>"
        "<w:ins><w:r><w:t>new</w:t></w:r></w:ins><w:r><w:instrText>PAGE</w:instrText></w:r></w:p>"
    )
    assert readers.read(FileKind("docx"), docx(body)).text.startswith("kept\there\nnew\n\n[1]")


def test_a_workbook_is_read_sheet_by_sheet(readers):
    first = (
        '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c>'
        '<c r="D1" t="inlineStr"><is><t>in</t></is></c></row>'
        '<row r="2"><c r="A2"><v>0.30000000000000004</v></c><c r="B2" s="1"><v>45351</v></c>'
        '<c r="C2" t="b"><v>1</v></c><c r="D2" t="str"><f>A1&amp;"x"</f><v>nx</v></c>'
        '<c r="E2" t="e"><v>#REF!</v></c></row>'
        '<row r="3"/><row r="4"><c><v>7</v></c><c s="2"><v>45351.5</v></c><c s="3"><v>2</v></c>'
        "<c><f>SUM(A1:A2)</f><v/></c></row>"
    )
    strings = ("<t>name &amp; größe</t>", "<r><t>rich </t></r><r><t>text</t></r><rPh><t>spoken</t></rPh>")
    second = '<row><c r="XFD1"><v>12345678901234567890</v></c></row>'
    extract = readers.read(FileKind("xlsx"), xlsx({"Erstes &amp; Blatt": first, "Leer": "", "Zwei": second}, strings))
    assert extract.text.split("\n") == [
        "name & größe | rich text |  | in",
        "0.3 | 2024-02-29 | TRUE | nx | #REF!",
        "7 | 2024-02-29 12:00:00 | 2 | =SUM(A1:A2)",
        "",
        " | " * 10 + "12345678901234567890",
    ]
    assert [label for label, _, _ in places(extract, "sheet")] == ["Erstes & Blatt", "Zwei"]


def test_a_workbook_can_count_its_days_from_1904(readers):
    rows = '<row><c s="1"><v>0</v></c><c s="1"><v>366</v></c><c s="1"><v>1e300</v></c><c s="1"><v>x</v></c></row>'
    assert readers.read(FileKind("xlsx"), xlsx({"S": rows}, date1904=True)).text == "00:00:00 | 1905-01-01 | 1e300 | x"


def test_a_presentation_is_read_in_the_order_of_its_slides(readers):
    cells = "".join(f"<a:tc><a:p><a:r><a:t>{text}</a:t></a:r></a:p></a:tc>" for text in "xy")
    table = f"<a:tbl><a:tr>{cells}</a:tr></a:tbl>"
    data = pptx(
        [
            (shape("Erste Folie", "title") + shape("Punkt A\nPunkt B") + shape("3", "sldNum"), "Langsam sprechen"),
            ("", ""),
            (shape("Dritte", "ctrTitle") + table, ""),
        ]
    )
    extract = readers.read(FileKind("pptx"), data)
    assert extract.text == "Erste Folie\n\nPunkt A\nPunkt B\n\nNotes: Langsam sprechen\n\nDritte\n\nx | y"
    assert places(extract, "slide") == [("1", 0, "Erste Folie"), ("3", 0, "Dritte")]
    assert places(extract, "heading") == [("Erste Folie", 1, "Erste Folie"), ("Dritte", 1, "Dritte")]


def test_an_opendocument_text_is_read_with_lists_and_tables(readers):
    body = (
        "<text:tracked-changes><text:p>deleted</text:p></text:tracked-changes>"
        '<text:h text:outline-level="2">Kapitel</text:h>'
        '<text:p>a<text:s text:c="3"/>b<text:tab/>c<text:line-break/>d</text:p>'
        "<text:list><text:list-item><text:p>one</text:p><text:list><text:list-item><text:p>two</text:p></text:list-item>"
        "</text:list></text:list-item></text:list><text:p/>"
        "<table:table><table:table-row><table:table-cell><text:p>1</text:p></table:table-cell>"
        '<table:table-cell table:number-columns-repeated="999999"><text:p>2</text:p></table:table-cell>'
        "</table:table-row></table:table>"
    )
    extract = readers.read(FileKind("odt"), odt(body, "Titel"))
    assert extract.text == "Kapitel\n\na   b\tc\nd\n\n- one\n  - two\n\n1 | 2"
    assert (extract.title, places(extract, "heading")) == ("Titel", [("Kapitel", 2, "Kapitel")])


def test_a_book_is_read_chapter_by_chapter(readers):
    page = '<html><head><title/><script src="x"/></head><body>{}</body></html>'
    data = epub(
        [page.format("<h1>Eins</h1><p>Erster&nbsp;Text</p>"), page.format("<img/>"), page.format("<p>Zwei")], "Buch"
    )
    extract = readers.read(FileKind("epub"), data)
    assert extract.text == "Eins\n\nErster Text\n\nZwei"
    assert places(extract, "chapter") == [("Eins", 0, "Eins"), ("3", 0, "Zwei")]
    assert extract.title == "Buch"


def test_a_protected_book_is_called_encrypted(readers):
    listed = '<encryption><CipherReference URI="OEBPS/text/chapter%201.xhtml"/></encryption>'
    with pytest.raises(UnreadableFile, match="encrypted"):
        readers.read(FileKind("epub"), epub(["<p>x"], more={"META-INF/encryption.xml": listed}))


def test_a_pdf_is_read_page_by_page_with_its_bookmarks(readers):
    data = pdf(
        ["First page (größer)", "", "Before\nSecond Part\nmore"], "Der Titel", (("Second  part", 3), ("Gone", 1))
    )
    extract = readers.read(FileKind("pdf"), data)
    assert extract.text == "First page (größer)\n\nBefore\nSecond Part\nmore"
    assert places(extract, "page") == [("1", 0, "First page (größer)"), ("3", 0, "Before")]
    assert places(extract, "heading") == [("Gone", 1, "First page (größer)"), ("Second part", 1, "Second Part")]
    assert extract.title == "Der Titel"


def test_a_pdf_without_text_is_perhaps_scanned(readers):
    with pytest.raises(UnreadableFile, match="no text in it: perhaps scanned pages"):
        readers.read(FileKind("pdf"), pdf(["", ""]))


def test_a_notebook_is_read_cell_by_cell(readers):
    data = notebook(
        {"cell_type": "markdown", "source": ["# Daten\n", "Text\n", "```\n", "# no heading\n", "```\n", "## Mehr"]},
        {"cell_type": "code", "source": "", "outputs": []},
        {
            "cell_type": "code",
            "source": "# comment\nprint(1)",
            "outputs": [
                {"output_type": "stream", "text": ["\x1b[31m1\x1b[0m\n"]},
                {"output_type": "display_data", "data": {"image/png": "iVBORw0KGgo" * 99, "text/plain": "<Figure>"}},
                {"output_type": "error", "ename": "ValueError", "evalue": "bad", "traceback": ["long"]},
                {"output_type": "stream", "text": "line\n" * 500},
            ],
        },
    )
    extract = readers.read(FileKind("notebook"), data)
    begin = (
        "# Daten\nText\n```\n# no heading\n```\n\n## Mehr\n\n# comment\nprint(1)\n\nOutput: 1\n\nOutput: <Figure>\n\n"
    )
    assert extract.text == begin + "Output: ValueError: bad\n\nOutput: " + "line\n" * 19 + "line …"
    assert places(extract, "cell") == [("1", 0, "# Daten"), ("3", 0, "# comment")]
    assert places(extract, "heading") == [("Daten", 1, "# Daten"), ("Mehr", 2, "## Mehr")]


def test_an_old_notebook_is_read_too(readers):
    cells = '[{"cell_type": "heading", "level": 2, "source": "Alt"}, {"cell_type": "code", "input": ["x = 1"]}]'
    extract = readers.read(FileKind("notebook"), f'{{"worksheets": [{{"cells": {cells}}}], "nbformat": 3}}'.encode())
    assert (extract.text, places(extract, "heading")) == ("Alt\n\nx = 1", [("Alt", 2, "Alt")])


@pytest.mark.parametrize(
    "data", [b"[]", b'{"a": 1}', b"nonsense", b'{"cells": 7}', b'{"cells": [7, {}, {"source": {}}]}']
)
def test_other_json_is_not_a_notebook(readers, data):
    with pytest.raises(UnreadableFile, match=r"damaged|no text"):
        readers.read(FileKind("notebook"), data)


def test_a_page_is_read_as_a_browser_shows_it(readers):
    page = """<!DOCTYPE html><title>Meine &amp; Seite</title><style>p {}</style>
    <nav><ul><li>Home</ul></nav><h1>Große
      <b>Schrift</b></h1><p title="a>b">Eins<br>zwei &lt;tag&gt; &#x1F600;<!-- no --><p>drei
    <ul><li>a<ul><li>b</ul><li><p>c</p></ul>
    <table><tr><th>A<th>B<tr><td>1<td><p>2</p><p>3</p></table>
    <pre>  def f():
        return 1 &lt; 2
    </pre><script>if (a < b) "</p>"</script><h2>Zwei</h2>Ende"""
    extract = readers.read(FileKind("html"), page.encode())
    assert extract.text == (
        "Große Schrift\n\nEins\nzwei <tag> 😀\n\ndrei\n\n- a\n  - b\n- c\n\nA | B\n1 | 2 3\n\n"
        "  def f():\n        return 1 < 2\n\nZwei\n\nEnde"
    )
    assert places(extract, "heading") == [("Große Schrift", 1, "Große Schrift"), ("Zwei", 2, "Zwei")]
    assert extract.title == "Meine & Seite"


def test_an_element_that_is_never_closed_hides_nothing(readers):
    assert readers.read(FileKind("html"), b"<nav>menu<h1>Title</h1><svg>text").text == "menu\n\nTitle\n\ntext"


def test_a_page_says_itself_how_it_is_encoded(readers):
    page = "<meta http-equiv=Content-Type content='text/html; charset=windows-1251'><p>Привет"
    assert readers.read(FileKind("html"), page.encode("cp1251")).text == "Привет"
    assert readers.read(FileKind("html"), b"<meta charset=utf-16><p>\xc3\xa9").text == "é"
    assert readers.read(FileKind("html"), b"<meta charset=rot13><p>abc").text == "abc"
