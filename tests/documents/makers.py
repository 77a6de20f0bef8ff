"""Small real files of every rich format, built by hand; and pieces to build broken ones from."""

import hashlib
import json
import struct
import zipfile
import zlib
from io import BytesIO

_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_SHEET = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
_SLIDE = (
    'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" '
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
)
_ODF = (
    'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
    'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" '
    'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" xmlns:dc="http://purl.org/dc/elements/1.1/"'
)
_XML = '<?xml version="1.0" encoding="UTF-8"?>'


def packed(parts: dict[str, str | bytes]) -> bytes:
    """A zip archive of these parts."""
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def relations(*targets: tuple[str, str, str]) -> str:
    """A part of relations: id, type and target of each."""
    entries = "".join(
        f'<Relationship Id="{name}" Type="{_OFFICE}/{kind}" Target="{target}"/>' for name, kind, target in targets
    )
    space = "http://schemas.openxmlformats.org/package/2006/relationships"
    return f'{_XML}<Relationships xmlns="{space}">{entries}</Relationships>'


def core(title: str) -> str:
    return (
        f'{_XML}<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties" '
        f'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{title}</dc:title></cp:coreProperties>'
    )


def paragraph(text: str, style: str = "", more: str = "") -> str:
    properties = f'<w:pPr><w:pStyle w:val="{style}"/>{more}</w:pPr>' if style or more else ""
    return f'<w:p>{properties}<w:r><w:t xml:space="preserve">{text}</w:t></w:r></w:p>'


def docx(body: str, title: str = "", prolog: str = _XML) -> bytes:
    """A Word document with this body; the styles are those of a German Word."""
    styles = (
        f'{_XML}<w:styles {_WORD}><w:style w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style>'
        '<w:style w:styleId="berschrift2"><w:name w:val="heading 2"/></w:style>'
        '<w:style w:styleId="Mein"><w:name w:val="Mein"/><w:basedOn w:val="berschrift2"/></w:style>'
        '<w:style w:styleId="Kreis"><w:name w:val="Kreis"/><w:basedOn w:val="Kreis"/></w:style></w:styles>'
    )
    notes = (
        f'{_XML}<w:footnotes {_WORD}><w:footnote w:type="separator" w:id="-1">{paragraph("---")}</w:footnote>'
        f'<w:footnote w:id="1">{paragraph("A footnote.")}</w:footnote></w:footnotes>'
    )
    parts: dict[str, str | bytes] = {
        "_rels/.rels": relations(("rId1", "officeDocument", "word/document.xml")),
        "word/_rels/document.xml.rels": relations(("s", "styles", "styles.xml"), ("f", "footnotes", "footnotes.xml")),
        "word/document.xml": f"{prolog}<w:document {_WORD}><w:body>{body}</w:body></w:document>",
        "word/styles.xml": styles,
        "word/footnotes.xml": notes,
    }
    return packed({**parts, "docProps/core.xml": core(title)} if title else parts)


def xlsx(sheets: dict[str, str], strings: tuple[str, ...] = (), date1904: bool = False) -> bytes:
    """A workbook: rows of XML by the names of the sheets; style 1 is a date, 2 a date and time, 3 a text in days."""
    numbers = range(1, len(sheets) + 1)
    listed = "".join(
        f'<sheet name="{name}" sheetId="{at}" r:id="r{at}"/>' for at, name in zip(numbers, sheets, strict=True)
    )
    parts: dict[str, str | bytes] = {
        "_rels/.rels": relations(("rId1", "officeDocument", "xl/workbook.xml")),
        "xl/_rels/workbook.xml.rels": relations(
            *((f"r{at}", "worksheet", f"worksheets/sheet{at}.xml") for at in numbers),
            ("st", "styles", "/xl/styles.xml"),
            ("ss", "sharedStrings", "sharedStrings.xml"),
        ),
        "xl/workbook.xml": f'{_XML}<workbook {_SHEET} xmlns:r="{_OFFICE}"><workbookPr date1904="{int(date1904)}"/>'
        f"<sheets>{listed}</sheets></workbook>",
        "xl/styles.xml": f'{_XML}<styleSheet {_SHEET}><numFmts><numFmt numFmtId="164" formatCode="dd/mm/yyyy hh:mm"/>'
        '<numFmt numFmtId="165" formatCode="0.0&quot; days&quot;"/></numFmts><cellXfs><xf numFmtId="0"/>'
        '<xf numFmtId="14"/><xf numFmtId="164"/><xf numFmtId="165"/></cellXfs></styleSheet>',
        "xl/sharedStrings.xml": f"{_XML}<sst {_SHEET}>{''.join(f'<si>{each}</si>' for each in strings)}</sst>",
    }
    for at, rows in zip(numbers, sheets.values(), strict=True):
        parts[f"xl/worksheets/sheet{at}.xml"] = f"{_XML}<worksheet {_SHEET}><sheetData>{rows}</sheetData></worksheet>"
    return packed(parts)


def shape(text: str, place: str = "") -> str:
    lines = "".join(f"<a:p><a:r><a:t>{line}</a:t></a:r></a:p>" for line in text.split("\n"))
    return f'<p:sp><p:nvSpPr><p:nvPr><p:ph type="{place}"/></p:nvPr></p:nvSpPr><p:txBody>{lines}</p:txBody></p:sp>'


def pptx(slides: list[tuple[str, str]]) -> bytes:
    """A presentation of slides: the shapes, and the notes (or nothing)."""
    numbers = range(1, len(slides) + 1)
    order = "".join(f'<p:sldId id="{255 + at}" r:id="r{at}"/>' for at in numbers)
    # the files are numbered against the order of the slides, as after moving slides around
    files = {at: len(slides) + 1 - at for at in numbers}
    parts: dict[str, str | bytes] = {
        "_rels/.rels": relations(("rId1", "officeDocument", "ppt/presentation.xml")),
        "ppt/_rels/presentation.xml.rels": relations(
            *((f"r{at}", "slide", f"slides/slide{files[at]}.xml") for at in numbers)
        ),
        "ppt/presentation.xml": f'{_XML}<p:presentation {_SLIDE} xmlns:r="{_OFFICE}"><p:sldIdLst>{order}</p:sldIdLst>'
        "</p:presentation>",
    }
    for at, (shapes, notes) in zip(numbers, slides, strict=True):
        name = f"slide{files[at]}.xml"
        parts[f"ppt/slides/{name}"] = f"{_XML}<p:sld {_SLIDE}><p:cSld><p:spTree>{shapes}</p:spTree></p:cSld></p:sld>"
        if notes:
            parts[f"ppt/slides/_rels/{name}.rels"] = relations(("n", "notesSlide", f"../notesSlides/notes{at}.xml"))
            parts[f"ppt/notesSlides/notes{at}.xml"] = (
                f"{_XML}<p:notes {_SLIDE}>{shape('7', 'sldNum')}{shape(notes, 'body')}</p:notes>"
            )
    return packed(parts)


def odt(body: str, title: str = "") -> bytes:
    """An OpenDocument text with this body."""
    meta = f"<office:meta><dc:title>{title}</dc:title></office:meta>"
    return packed(
        {
            "mimetype": "application/vnd.oasis.opendocument.text",
            "content.xml": f"{_XML}<office:document-content {_ODF}><office:body><office:text>{body}</office:text>"
            "</office:body></office:document-content>",
            "meta.xml": f"{_XML}<office:document-meta {_ODF}>{meta}</office:document-meta>",
        }
    )


def epub(chapters: list[str], title: str = "", more: dict[str, str | bytes] | None = None) -> bytes:
    """A book of XHTML pages; a page with the table of contents stands before them."""
    numbers = range(1, len(chapters) + 1)
    items = "".join(
        f'<item id="c{at}" href="text/chapter%20{at}.xhtml" media-type="application/xhtml+xml"/>' for at in numbers
    )
    spine = "".join(f'<itemref idref="c{at}"/>' for at in numbers)
    listing = (
        f'{_XML}<package xmlns="http://www.idpf.org/2007/opf"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f'<dc:title>{title}</dc:title></metadata><manifest><item id="nav" href="nav.xhtml" properties="nav" '
        f'media-type="application/xhtml+xml"/>{items}</manifest><spine><itemref idref="nav"/>'
        f"{spine}</spine></package>"
    )
    parts: dict[str, str | bytes] = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": f'{_XML}<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container">'
        '<rootfiles><rootfile full-path="OEBPS/content.opf"/></rootfiles></container>',
        "OEBPS/content.opf": listing,
        "OEBPS/nav.xhtml": "<html><body>Contents</body></html>",
    }
    for at, chapter in zip(numbers, chapters, strict=True):
        parts[f"OEBPS/text/chapter {at}.xhtml"] = chapter
    return packed({**parts, **(more or {})})


def notebook(*cells: dict[str, object]) -> bytes:
    return json.dumps({"cells": list(cells), "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()


def pdf(pages: list[str], title: str = "", bookmarks: tuple[tuple[str, int], ...] = ()) -> bytes:
    """A PDF with one string on each page (Latin-1), and bookmarks that point to pages."""
    objects: dict[int, bytes] = {
        3: b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
    }
    kids = []
    for at, text in enumerate(pages):
        page, content = 10 + 2 * at, 11 + 2 * at
        kids.append(f"{page} 0 R")
        objects[page] = (
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents {content} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>"
        ).encode()
        lines = " T* ".join(f"({_escaped(line)}) Tj" for line in text.split("\n"))
        objects[content] = _stream(f"BT /F1 12 Tf 14 TL 50 700 Td {lines} ET".encode("cp1252"))
    objects[2] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(kids)} >>".encode()
    objects[1] = b"<< /Type /Catalog /Pages 2 0 R /Outlines 5 0 R >>"
    objects[4] = f"<< /Title ({_escaped(title)}) >>".encode("cp1252")
    objects |= _outline(bookmarks)
    return _assembled(objects, "/Info 4 0 R")


def encrypted_pdf() -> bytes:
    """A PDF that needs a password: RC4 with 40 bits, whose check value belongs to a random password."""
    owner = hashlib.sha256(b"owner").hexdigest()
    user = hashlib.sha256(b"user").hexdigest()
    objects = {
        1: b"<< /Type /Catalog /Pages 2 0 R >>",
        2: b"<< /Type /Pages /Kids [] /Count 0 >>",
        3: f"<< /Filter /Standard /V 1 /R 2 /Length 40 /P -4 /O <{owner}> /U <{user}> >>".encode(),
    }
    return _assembled(objects, f"/Encrypt 3 0 R /ID [<{'00' * 16}> <{'00' * 16}>]")


def _outline(bookmarks: tuple[tuple[str, int], ...]) -> dict[int, bytes]:
    first, last = 1000, 1000 + len(bookmarks) - 1
    ends = f" /First {first} 0 R /Last {last} 0 R" if bookmarks else ""
    objects = {5: f"<< /Type /Outlines /Count {len(bookmarks)}{ends} >>".encode()}
    for at, (title, page) in enumerate(bookmarks):
        following = f" /Next {first + at + 1} 0 R" if first + at < last else ""
        goal = f"/Dest [{8 + 2 * page} 0 R /Fit]"
        objects[first + at] = f"<< /Title ({_escaped(title)}) /Parent 5 0 R {goal}{following} >>".encode("cp1252")
    return objects


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")


def _stream(content: bytes) -> bytes:
    squeezed = zlib.compress(content)
    return b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(squeezed), squeezed)


def _assembled(objects: dict[int, bytes], trailer: str) -> bytes:
    """Objects with the table that says where each begins."""
    out = bytearray(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
    places = {}
    for number in sorted(objects):
        places[number] = len(out)
        out += b"%d 0 obj\n%s\nendobj\n" % (number, objects[number])
    begin = len(out)
    out += b"xref\n0 1\n0000000000 65535 f \n"
    for number, place in places.items():
        out += b"%d 1\n%010d 00000 n \n" % (number, place)
    size = max(objects) + 1
    out += f"trailer\n<< /Size {size} /Root 1 0 R {trailer} >>\nstartxref\n{begin}\n%%EOF\n".encode()
    return bytes(out)


def lying_zip(name: str, content: bytes, declared: int) -> bytes:
    """An archive that declares another size for its only part than it has."""
    data = packed({name: content})
    real, false = struct.pack("<L", len(content)), struct.pack("<L", declared)
    return data.replace(real, false)


SAMPLES = {
    "docx": docx(paragraph("Title", "berschrift1") + paragraph("Some text.")),
    "xlsx": xlsx({"One": '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1"><v>1.5</v></c></row>'}, ("<t>x</t>",)),
    "pptx": pptx([(shape("Hello", "title") + shape("a\nb", "body"), "note")]),
    "odt": odt('<text:h text:outline-level="1">Title</text:h><text:p>Text</text:p>', "Name"),
    "epub": epub(["<html><body><h1>One</h1><p>Text</p></body></html>"], "Book"),
    "pdf": pdf(["Hello", "World"], "Name", (("Hello", 1),)),
    "html": b"<html><head><title>T</title></head><body><h1>H</h1><ul><li>a</ul><table><tr><td>1<td>2</table></html>",
    "notebook": notebook({"cell_type": "markdown", "source": ["# H\n", "text"]}, {"cell_type": "code", "source": "1"}),
}
