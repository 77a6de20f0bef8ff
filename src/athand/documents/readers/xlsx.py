"""Excel workbooks: the rows of every sheet with their cached values, dates formatted."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from athand.documents.extract import Extract
from athand.documents.readers.text_builder import TextBuilder, build_text
from athand.documents.readers.xml import Node, first_element, iterate_elements
from athand.documents.readers.zip_container import ZipContainer, find_main_part, read_relations, read_title

_DATE_FORMATS = {*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)}
_NOT_LETTERS = re.compile(r'"[^"]*"|\\.|\[[^\]]*\]|_.|\*.')
_DATE_LETTERS = re.compile("[dmyhs]", re.IGNORECASE)
_STYLE_LISTS = ("numFmts", "cellXfs")
_MAX_CODE_LENGTH = 500


@dataclass(frozen=True, slots=True)
class CellFormats:
    """The indexes of cell styles that show dates, and the epoch of the workbook."""

    dates: frozenset[str] = frozenset()
    since_1904: bool = False


def read_formats(container: ZipContainer, part: str, book: Node) -> CellFormats:
    """The date styles and epoch of a workbook."""
    properties = book.child("workbookPr")
    since_1904 = properties is not None and properties.get("date1904") in ("1", "true")
    nodes = list(iterate_elements(container.read_pieces(part), _STYLE_LISTS)) if part in container else []
    own, styles = ([each for node in nodes if node.name == name for each in node.nodes()] for name in _STYLE_LISTS)
    codes = {each.get("numFmtId"): each.get("formatCode") for each in own}
    dates = {str(at) for at, each in enumerate(styles) if _is_date(each.get("numFmtId"), codes)}
    return CellFormats(frozenset(dates), since_1904)


def _is_date(number: str, codes: dict[str, str]) -> bool:
    code = codes.get(number, "")
    if not code:
        return number.isdecimal() and len(number) < 4 and int(number) in _DATE_FORMATS
    return bool(_DATE_LETTERS.search(_NOT_LETTERS.sub("", code[:_MAX_CODE_LENGTH])))


def format_date(value: str, since_1904: bool) -> str:
    """A serial number as ISO date, with the time if there is one; a fraction of a day as time."""
    try:
        days = float(value)
        epoch = datetime(1904, 1, 1) if since_1904 else datetime(1899, 12, 30) + timedelta(days=0 < days < 60)
        moment = epoch + timedelta(seconds=round(days * 86_400))
    except (ValueError, OverflowError):
        return value
    if 0 <= days < 1:
        return moment.time().isoformat()
    return moment.date().isoformat() if days == int(days) else moment.isoformat(" ")


def format_number(value: str) -> str:
    """A number with 15 significant digits, as Excel shows it: `0.30000000000000004` is 0.3."""
    if "." not in value and "e" not in value.lower():
        return value
    try:
        return f"{float(value):.15g}"
    except ValueError:
        return value


_COLUMN = re.compile(r"[A-Z]{1,3}(?=\d)")
_MAX_COLUMN_GAP = 10


def read_xlsx(data: bytes) -> Extract:
    """The text of a workbook with sheet markers."""
    return build_text(lambda out: _add_workbook(ZipContainer(data), out))


def _add_workbook(container: ZipContainer, out: TextBuilder) -> None:
    main = find_main_part(container, "xl/workbook.xml")
    targets = read_relations(container, main)
    parts = {each.kind: each.target for each in targets.values()}
    book = first_element(container.read_pieces(main), "workbook")
    style = read_formats(container, parts.get("styles", ""), book)
    strings = list(_shared_strings(container, parts.get("sharedStrings", "")))
    out.title = read_title(container)
    for sheet in (node for node in book.iterate() if node.name == "sheet"):
        relation = targets.get(sheet.get("r:id"))
        if relation and relation.kind == "worksheet" and relation.target in container:
            out.add_marker("sheet", sheet.get("name"))
            for row in iterate_elements(container.read_pieces(relation.target), ("row",)):
                out.add_row(list(_row_values(row, strings, style)))


def _shared_strings(container: ZipContainer, part: str) -> Iterator[str]:
    if part in container:
        for node in iterate_elements(container.read_pieces(part), ("si",)):
            yield _rich_text(node)


def _rich_text(node: Node) -> str:
    """The text of a rich text cell, without phonetic runs (`rPh`)."""
    runs = (run for run in node.nodes() if run.name in ("t", "r"))
    return "".join(text.text() for run in runs for text in run.iterate() if text.name == "t")


def _row_values(row: Node, strings: list[str], style: CellFormats) -> Iterator[str]:
    """The values of a row; small gaps are kept as empty cells, so that columns stay aligned."""
    last = 0
    for cell in row.nodes():
        column = _column_number(cell.get("r")) or last + 1
        yield from [""] * min(column - last - 1, _MAX_COLUMN_GAP)
        yield _cell_value(cell, strings, style)
        last = column


def _column_number(place: str) -> int:
    """The number of a column: 28 for `AB7`."""
    found = _COLUMN.match(place)
    number = 0
    for letter in found[0] if found else "":
        number = number * 26 + ord(letter) - 64
    return number


def _cell_value(cell: Node, strings: list[str], style: CellFormats) -> str:
    kind, inline, value = cell.get("t", "n"), cell.child("is"), cell.child("v")
    if kind == "inlineStr" and inline:
        return _rich_text(inline)
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
    return format_date(text, style.since_1904) if cell.get("s", "0") in style.dates else format_number(text)
