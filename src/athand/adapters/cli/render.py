"""How hits look: score, title and origin in one line, below it the passage and the reasons."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from athand.adapters.cli.excerpts import Words, is_prose, make_excerpt
from athand.adapters.cli.words import (
    WITHIN,
    describe_session,
    draw_bar,
    format_age,
    format_fraction,
    pluralize,
    to_one_line,
)
from athand.adapters.reasons import LABELS, TIMES, is_factor

if TYPE_CHECKING:
    from rich.table import Table

    from athand.types import Hit, Hits, Signal

_INDENT = 17
_GAP = 2
_NARROWEST = 20
_FOUND_BY = {"both": "by both", "keyword": "by keyword", "semantic": "by meaning", "context": "by its neighbours"}
_LIKELY, _POSSIBLE = 0.5, 0.25
_LEAST_SHOWN = 0.05  # the smallest effect on a score that is shown where there is room for one line
_MARK = re.compile(r"<mark>(.*?)</mark>", re.DOTALL)


def make_table(*columns: str, flexible: str | None = None, header: bool = True) -> "Table":
    """A table without lines; when it is too wide, only the flexible column gives way."""
    from rich.table import Table

    table = Table(box=None, padding=(0, _GAP, 0, 0), show_header=header, header_style="dim", pad_edge=False)
    for column in columns:
        table.add_column(column, no_wrap=column != flexible, overflow="ellipsis")
    return table


def print_table(console: Console, table: "Table") -> None:
    """Print a table with one blank to its left."""
    console.print(Padding(table, (0, 0, 0, 1), expand=False))


def make_cell(text: str, style: str = "") -> Text:
    """A cell of a table: stored text in one line, cut where it does not fit."""
    return Text(to_one_line(text), style, no_wrap=True, overflow="ellipsis")


def print_hits(console: Console, hits: "Hits[Any]", nouns: Mapping[str, str], *, explain: bool = False) -> None:
    """Print each hit: score, what it is (a noun by corpus), title and origin; the passage; the reasons."""
    origins = max((cell_len(_format_origin(hit)) for hit in hits), default=0)
    room = max(_NARROWEST, console.width - _INDENT - _GAP - origins)
    printed: set[tuple[str, str]] = set()  # documents whose key phrases were printed
    for hit in hits:
        console.print(_format_headline(hit, nouns[hit.corpus], room), overflow="ellipsis", no_wrap=True)
        for line in _format_passage(hit, room, max(_NARROWEST, console.width - _INDENT)):
            console.print(line, overflow="ellipsis", no_wrap=hit.corpus == "flows")
        if explain:
            console.print(_make_score_table(hit))
        for line in (*_describe_end(hit), *_list_details(hit, console.width, printed, explain=explain)):
            console.print(line, overflow="ellipsis", no_wrap=True)


def _list_details(hit: "Hit", width: int, printed: set[tuple[str, str]], *, explain: bool) -> list[Text]:
    """The reasons and remarks of a hit; of a hit from a search over all corpora, the main reasons in one line."""
    if "scale" in hit.why.signals:
        return [] if explain else wrap_pieces(_draw_main_reasons(hit), width)[:1]
    pieces = _list_remarks(hit) if explain else (*_draw_reasons(hit), *_list_remarks(hit))
    return [*wrap_pieces(pieces, width), *_list_key_phrases(hit, printed)]


def wrap_pieces(pieces: Iterable[Text], width: int) -> list[Text]:
    """Indented lines of pieces; no piece is broken."""
    lines: list[Text] = []
    for piece in pieces:
        if lines and lines[-1].cell_len + 3 + piece.cell_len <= width:
            lines[-1] = Text.assemble(lines[-1], "   ", piece)
        else:
            lines.append(Text(" " * _INDENT) + piece)
    return lines


def _format_headline(hit: "Hit", noun: str, room: int) -> Text:
    name = hit.id if hit.corpus == "tools" else hit.title
    title = (
        _format_place(hit.item)
        if hit.corpus == "documents"
        else find_matched_words(hit).highlight(_clean_text(hit, name))
    )
    if hit.corpus != "documents":
        title.stylize("bold")
    title.truncate(room, overflow="ellipsis", pad=True)
    return Text.assemble(
        (f" {hit.score:.2f}  ", _color_score(hit.score)),
        (f"{noun:<10}", "cyan"),
        title,
        "  ",
        (_format_origin(hit), "dim"),
    )


def _color_score(score: float) -> str:
    """Green for what is most likely meant, yellow for what may be, dim for the rest."""
    return "green" if score >= _LIKELY else "yellow" if score >= _POSSIBLE else "dim"


def _format_place(chunk: Any) -> Text:
    """The file and line of a chunk, as editors open them, then its page or headings."""
    where = [*filter(None, [chunk.place]), *chunk.heading]
    return Text.assemble(
        (f"{to_one_line(chunk.document_id)}:{chunk.start_line}", "bold"),
        ("".join(f"{WITHIN}{to_one_line(each)}" for each in where), "dim"),
    )


def _format_origin(hit: "Hit") -> str:
    if hit.corpus == "documents":
        return to_one_line(hit.item.folder_id)
    if hit.corpus == "tools":
        return f"server {to_one_line(hit.item.server)}"
    if hit.corpus == "flows":
        return f"{to_one_line(hit.item.app)} · {format_age(hit.item.timestamp)}"
    if hit.corpus == "memories":
        written = f"{hit.item.writer_note.removeprefix('written ')} · " if hit.item.writer_note else ""
        return f"{to_one_line(hit.item.project)} · {written}{format_age(hit.item.created_at)}"
    return ""


def _format_passage(hit: "Hit", title_room: int, room: int) -> list[Text]:
    """The lines of a text that says more than the title; of a long text, the sentences that matched."""
    if hit.corpus == "documents":
        prose = is_prose(hit.item.document_id)
        rows = make_excerpt(hit.text, hit.item.start_line, find_matched_words(hit), room, prose=prose)
        return [Text(" " * _INDENT) + row for row in rows]
    if hit.corpus == "flows":
        return [Text(" " * _INDENT) + _describe_session(hit)]
    text = _clean_text(hit, hit.text)
    if text == _clean_text(hit, hit.title) and cell_len(text) <= title_room:
        return []
    excerpts = [to_one_line(_MARK.sub(r"\1", each)) for each in getattr(hit, "highlights", ())]
    if excerpts and cell_len(text) > 2 * room:
        together = " ".join(excerpts)
        text = together if together in text else " … ".join(excerpts)
    shown = find_matched_words(hit).highlight(f"“{text}”")
    shown.truncate(2 * room - 2, overflow="ellipsis")
    return [Text(" " * _INDENT) + line for line in shown.wrap(Console(width=room), room)]


def _describe_session(hit: Any) -> Text:
    """The session of a step, and its goal; if the goal is the title already, the step."""
    from athand.flows.descriptions import describe_step

    step = describe_step(hit.item)
    detail = hit.session_goal if hit.title == step else step
    return make_cell(f"session {hit.session_id}" + (f" · {detail}" if detail else ""))


def _clean_text(hit: "Hit", text: str) -> str:
    """A text of a hit in one line; in texts of tool servers, invisible characters are escaped."""
    if hit.corpus != "tools":
        return to_one_line(text)
    from athand.tools.poisoning.unicode import escape_invisible

    return to_one_line(escape_invisible(" ".join(text.split())))


def find_matched_words(hit: "Hit") -> Words:
    """The words that matched, as they are written in the hit if its highlights say so, else as in the question."""
    written = [word for each in getattr(hit, "highlights", ()) for word in _MARK.findall(each)]
    if written or hit.corpus in ("memories", "flows"):
        return Words.of(written)
    return Words.literally(hit.why.matched) if "exact" in hit.why.signals else Words.of((), hit.why.matched)


def _is_factor(name: str, signal: "Signal") -> bool:
    return is_factor(name, weight=signal.weight, calibrated=signal.calibrated)


def _label_signal(name: str, hit: "Hit") -> str:
    return str(getattr(hit.item, "sector", name)) if name == "sector" else LABELS.get(name, name)


def _draw_reasons(hit: "Hit") -> Iterator[Text]:
    """A bar for each part of the score, then the factors that changed it."""
    for name, signal in hit.why.signals.items():
        if not _is_factor(name, signal):
            if signal.contribution:
                yield _draw_signal(_label_signal(name, hit), signal)
        elif abs(signal.weight - 1) > 0.005:
            yield _format_factor(_label_signal(name, hit), signal)


def _draw_signal(label: str, signal: "Signal") -> Text:
    value = format_fraction(signal.calibrated)
    return Text.assemble((f"{label} ", "dim"), (draw_bar(signal.calibrated), "blue"), (f" {value}", "dim"))


def _format_factor(label: str, signal: "Signal") -> Text:
    return Text.assemble((f"{label} ", "dim"), (f"{TIMES}{signal.weight:.2f}", "dim"))


def _draw_main_reasons(hit: "Hit") -> Iterator[Text]:
    """Bars, then the factors with the largest effect first; small effects are left out."""
    parts = {name: each for name, each in hit.why.signals.items() if not _is_factor(name, each) and name != "scale"}
    for name, each in sorted(parts.items(), key=lambda part: part[0] in ("semantic", "goal")):  # words come first
        if abs(each.contribution) >= _LEAST_SHOWN:
            yield _draw_signal(_label_signal(name, hit), each)
    factors = [(name, each) for name, each in hit.why.signals.items() if _is_factor(name, each)]
    for name, each in sorted(factors, key=lambda factor: -abs(factor[1].weight - 1)):
        if abs(each.weight - 1) >= _LEAST_SHOWN:
            yield _format_factor(_label_signal(name, hit), each)


def _list_remarks(hit: Any) -> Iterator[Text]:
    """Whether keyword or meaning found it, the words that matched, and a memory's session and relations."""
    found_by = _FOUND_BY.get(getattr(hit, "match_type", ""), "matched")
    if hit.why.matched:
        yield Text.assemble((f"{found_by}: ", "dim"), (to_one_line(", ".join(hit.why.matched)), "yellow"))
    elif found_by != "matched":
        yield Text(found_by, "dim")
    if session := getattr(hit, "source_session", None):
        yield Text(f"session {describe_session(session)}", "dim")
    if count := getattr(hit, "related_count", 0):
        yield Text(pluralize(count, "relation"), "dim")


def _list_key_phrases(hit: Any, printed: set[tuple[str, str]]) -> Iterator[Text]:
    """The key phrases of a hit's document, once for each document."""
    place = (hit.corpus, getattr(hit.item, "document_id", ""))
    if getattr(hit, "keywords", ()) and place not in printed:
        printed.add(place)
        yield Text.assemble(" " * _INDENT, (to_one_line(" · ".join(hit.keywords)), "dim italic"))


def _describe_end(hit: Any) -> Iterator[Text]:
    """What superseded a memory, or until when it held."""
    indent = " " * _INDENT
    if successor := getattr(hit, "superseded_by", None):
        text = f" “{to_one_line(successor.content)}”"
        yield Text.assemble(indent, ("superseded by ", "red"), (successor.id, "cyan"), (text, "dim"))
    elif getattr(hit, "is_superseded", False):
        yield Text.assemble(indent, (f"held until {hit.item.valid_until:%-d %b %Y}", "red"))


def _make_score_table(hit: "Hit") -> "Table":
    table = make_table(" " * (_INDENT - _GAP), "signal", "measured", "means", "weight", "adds")
    for column in table.columns[2:]:
        column.justify = "right"
    for name, signal in hit.why.signals.items():
        if abs(signal.contribution) >= 0.0005 or name in ("keyword", "semantic"):
            table.add_row("", _label_signal(name, hit), *_format_numbers(signal, is_factor=_is_factor(name, signal)))
    table.add_row("", "total", "", "", "", f"{hit.why.total:.3f}", style="bold")
    return table


def _format_numbers(signal: "Signal", *, is_factor: bool) -> tuple[str, str, str, str]:
    means = "" if is_factor else f"{signal.calibrated:.3f}"
    weight = f"{TIMES}{signal.weight:.3f}" if is_factor else f"{signal.weight:.2f}"
    return f"{signal.raw:.3f}", means, weight, f"{signal.contribution:+.3f}"
