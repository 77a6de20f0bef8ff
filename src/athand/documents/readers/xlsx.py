"""Workbooks: the rows of every sheet, with the values that were last computed."""

import re
from collections.abc import Iterator

from athand.documents.extract import Extract
from athand.documents.readers.cells import Formats, formats, shown_date, shown_number
from athand.documents.readers.package import Package
from athand.documents.readers.relations import declared_title, main_part, relations
from athand.documents.readers.writing import Writer, written
from athand.documents.readers.xml import Node, elements, root

_COLUMN = re.compile(r"[A-Z]{1,3}(?=\d)")
_WIDEST_GAP = 10


def read_xlsx(data: bytes) -> Extract:
    """The text of a workbook with its sheets as places."""
    return written(lambda out: _workbook(Package(data), out))


def _workbook(package: Package, out: Writer) -> None:
    main = main_part(package, "xl/workbook.xml")
    targets = relations(package, main)
    parts = {each.kind: each.target for each in targets.values()}
    book = root(package.pieces(main), "workbook")
    style = formats(package, parts.get("styles", ""), book)
    strings = list(_strings(package, parts.get("sharedStrings", "")))
    out.title = declared_title(package)
    for sheet in (node for node in book.walk() if node.name == "sheet"):
        relation = targets.get(sheet.get("r:id"))
        if relation and relation.kind == "worksheet" and relation.target in package:
            out.mark("sheet", sheet.get("name"))
            for row in elements(package.pieces(relation.target), ("row",)):
                out.row(list(_cells(row, strings, style)))


def _strings(package: Package, part: str) -> Iterator[str]:
    if part in package:
        for node in elements(package.pieces(part), ("si",)):
            yield _rich(node)


def _rich(node: Node) -> str:
    """The text of a cell in which parts have their own fonts; how it is spoken (`rPh`) is left out."""
    runs = (run for run in node.nodes() if run.name in ("t", "r"))
    return "".join(text.text() for run in runs for text in run.walk() if text.name == "t")


def _cells(row: Node, strings: list[str], style: Formats) -> Iterator[str]:
    """The values of a row; small gaps between them stay, so that columns keep their place."""
    last = 0
    for cell in row.nodes():
        column = _column(cell.get("r")) or last + 1
        yield from [""] * min(column - last - 1, _WIDEST_GAP)
        yield _value(cell, strings, style)
        last = column


def _column(place: str) -> int:
    """The number of a column: 28 for `AB7`."""
    found = _COLUMN.match(place)
    number = 0
    for letter in found[0] if found else "":
        number = number * 26 + ord(letter) - 64
    return number


def _value(cell: Node, strings: list[str], style: Formats) -> str:
    kind, inline, value = cell.get("t", "n"), cell.child("is"), cell.child("v")
    if kind == "inlineStr" and inline:
        return _rich(inline)
    text = value.text() if value else ""
    if not text:
        formula = cell.child("f")
        return f"={formula.text()}" if formula and formula.text() else ""
    if kind == "s":
        return strings[int(text)] if text.isdecimal() and len(text) < 9 and int(text) < len(strings) else ""
    if kind == "b":
        return "TRUE" if text.strip() == "1" else "FALSE"
    if kind != "n":
        return text
    return shown_date(text, style.since_1904) if cell.get("s", "0") in style.dates else shown_number(text)
