"""Tables that read well on a terminal and as Markdown."""

from collections.abc import Sequence


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """The first column to the left, numbers to the right."""
    cells = [[str(cell) for cell in row] for row in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    lines = [[row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])] for row in cells]
    return "\n".join("| " + " | ".join(line) + " |" for line in (lines[0], rule, *lines[1:]))


def bold_best(values: Sequence[float | None]) -> list[str]:
    """Measures from 0 to 1, the best of the column in bold."""
    best = max((round(value, 3) for value in values if value is not None), default=None)
    shown = ("-" if value is None else f"{value:.3f}" for value in values)
    return [f"**{text}**" if text == f"{best:.3f}" else text for text in shown]
