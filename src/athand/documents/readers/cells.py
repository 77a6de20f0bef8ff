"""What numbers in a workbook stand for: some styles make them dates."""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta

from athand.documents.readers.package import Package
from athand.documents.readers.xml import Node, elements

_DATE_FORMATS = {*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)}
_NOT_LETTERS = re.compile(r'"[^"]*"|\\.|\[[^\]]*\]|_.|\*.')
_DATE_LETTERS = re.compile("[dmyhs]", re.IGNORECASE)
_LISTS = ("numFmts", "cellXfs")
_LONGEST_CODE = 500


@dataclass(frozen=True, slots=True)
class Formats:
    """Which styles of cells show a date, by their numbers, and where the counting of days begins."""

    dates: frozenset[str] = frozenset()
    since_1904: bool = False


def formats(package: Package, part: str, book: Node) -> Formats:
    """What the styles of a workbook say about dates."""
    properties = book.child("workbookPr")
    since_1904 = properties is not None and properties.get("date1904") in ("1", "true")
    nodes = list(elements(package.pieces(part), _LISTS)) if part in package else []
    own, styles = ([each for node in nodes if node.name == name for each in node.nodes()] for name in _LISTS)
    codes = {each.get("numFmtId"): each.get("formatCode") for each in own}
    dates = {str(at) for at, each in enumerate(styles) if _is_date(each.get("numFmtId"), codes)}
    return Formats(frozenset(dates), since_1904)


def _is_date(number: str, codes: dict[str, str]) -> bool:
    code = codes.get(number, "")
    if not code:
        return number.isdecimal() and len(number) < 4 and int(number) in _DATE_FORMATS
    return bool(_DATE_LETTERS.search(_NOT_LETTERS.sub("", code[:_LONGEST_CODE])))


def shown_date(value: str, since_1904: bool) -> str:
    """A count of days as a date, with the time if there is one; a part of a day as a time."""
    try:
        days = float(value)
        epoch = datetime(1904, 1, 1) if since_1904 else datetime(1899, 12, 30) + timedelta(days=0 < days < 60)
        moment = epoch + timedelta(seconds=round(days * 86_400))
    except (ValueError, OverflowError):
        return value
    if 0 <= days < 1:
        return moment.time().isoformat()
    return moment.date().isoformat() if days == int(days) else moment.isoformat(" ")


def shown_number(value: str) -> str:
    """A number with the 15 digits that a workbook shows; `0.30000000000000004` is 0.3."""
    if "." not in value and "e" not in value.lower():
        return value
    try:
        return f"{float(value):.15g}"
    except ValueError:
        return value
