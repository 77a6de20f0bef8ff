"""The texts of the memory tool: numbered lines, parts of a file, edits, sizes. Pure."""

from collections.abc import Iterator, Sequence
from itertools import accumulate, islice

from athand.errors import InvalidInput

MOST_LINES = 999_999
# What the model has been told about views of long files.
MOST_SHOWN = 16_000
_MOST_NAMED = 20
_AROUND_EDIT = 2


def _lines(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n") if text else []


def _numbered(lines: Sequence[str], first: int) -> str:
    return "\n".join(f"{number:6}\t{line}" for number, line in enumerate(lines, first))


def _fitting(lines: Sequence[str]) -> int:
    """How many lines can be shown at once: at least one, as lines are what one can ask for."""
    ends = accumulate(len(line) + 1 for line in lines)
    return max(1, sum(end - 1 <= MOST_SHOWN for end in ends))


def snippet(text: str, changed: int, count: int) -> str:
    """The changed lines and a few around them."""
    first = max(0, changed - _AROUND_EDIT)
    lines = (_lines(text) or [""])[first : changed + count + _AROUND_EDIT]
    return "\n" + _numbered(lines[: _fitting(lines)], first + 1)


def page(path: str, text: str, view_range: Sequence[int] | None) -> str:
    """The lines of a file that are asked for, as many as can be shown at once."""
    lines = _lines(text) or [""]
    if len(lines) > MOST_LINES:
        raise InvalidInput(f"File {path} exceeds maximum line limit of {MOST_LINES:,} lines.")
    first, last = _checked_range(view_range, len(lines))
    asked = lines[first - 1 : last]
    shown = asked[: _fitting(asked)]
    if len(shown) == len(asked):
        return _numbered(shown, first)
    end = first + len(shown) - 1
    note = f"(Lines {first} to {end} of {len(lines)}; go on with view_range [{end + 1}, -1].)"
    return f"{_numbered(shown, first)}\n{note}"


def _checked_range(view_range: object, count: int) -> tuple[int, int]:
    """The first and the last line that are asked for; a range may begin before the file and end after it."""
    if view_range is None:
        return 1, count
    match view_range:
        case [int(first), int(last)] if first <= count and (last == -1 or last >= max(1, first)):
            return max(1, first), count if last == -1 else min(last, count)
    raise InvalidInput(
        f"Error: Invalid `view_range` parameter: {view_range}. It should be two lines of the file: [1, {count}]"
    )


def only_place(path: str, text: str, old: str) -> int:
    """Where the one occurrence begins."""
    if not old:
        raise InvalidInput("No replacement was performed, old_str is empty.")
    found = list(islice(_occurrences(text, old), _MOST_NAMED + 1))
    if not found:
        raise InvalidInput(f"No replacement was performed, old_str `{old}` did not appear verbatim in {path}.")
    if len(found) > 1:
        lines = dict.fromkeys(str(text.count("\n", 0, at) + 1) for at in found[:_MOST_NAMED])
        more = ", …" if len(found) > _MOST_NAMED else ""
        raise InvalidInput(
            f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: "
            f"{', '.join(lines)}{more}. Please ensure it is unique"
        )
    return found[0]


def _occurrences(text: str, part: str) -> Iterator[int]:
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + 1)


def inserted(text: str, after: object, addition: str) -> str:
    """The text with lines added; it ends with a line break if it did before, or if the last lines now do."""
    lines = _lines(text)
    if not isinstance(after, int) or isinstance(after, bool) or not 0 <= after <= len(lines):
        raise InvalidInput(
            f"Error: Invalid `insert_line` parameter: {after}. "
            f"It should be within the range of lines of the file: [0, {len(lines)}]"
        )
    is_closed = text.endswith("\n") or (after == len(lines) and addition.endswith("\n"))
    changed = [*lines[:after], addition.removesuffix("\n"), *lines[after:]]
    return "\n".join(changed) + ("\n" if is_closed else "")


def size(count: int) -> str:
    """Bytes, as a person reads them."""
    power = max(0, count.bit_length() - 1) // 10
    return f"{count / 1024**power:.1f}{'BKMG'[power]}" if power else f"{count}B"
