"""How hits look: the answer first, the reason beside it, quiet colours."""

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from athand.adapters.cli.excerpts import Words, excerpt, is_prose
from athand.adapters.cli.words import (
    WITHIN,
    describe_session,
    draw_bar,
    format_age,
    format_fraction,
    pluralize,
    to_one_line,
)

if TYPE_CHECKING:
    from athand.types import Hit, Hits, Signal

_INDENT = 17
_GAP = 2
_NARROWEST = 20
_LABELS = {
    "semantic": "meaning",
    "lexical": "keyword",
    "exact": "exact terms",
    "heading": "in headings",
    "definition": "in names",
    "path": "in path",
    "document": "its document",
    "repetition": "same document",
    "scale": "common scale",
}
_SINGULAR = {"memories": "memory", "documents": "document", "tools": "tool", "flows": "flow"}
_FOUND_BY = {"both": "by both", "keyword": "by keyword", "semantic": "by meaning", "context": "by its neighbours"}
_PARTS = ("keyword", "semantic", "author", "neighbours", "scale")  # never factors, whatever their numbers
_LEAST_SHOWN = 0.05  # of a reason, in a line that has room for a few
_TIMES = "\N{MULTIPLICATION SIGN}"
_MARK = re.compile(r"<mark>(.*?)</mark>", re.DOTALL)


def make_table(*columns: str, flexible: str | None = None, header: bool = True) -> Table:
    """A table without lines; when it is too wide, only the flexible column gives way."""
    table = Table(box=None, padding=(0, _GAP, 0, 0), show_header=header, header_style="dim", pad_edge=False)
    for column in columns:
        table.add_column(column, no_wrap=column != flexible, overflow="ellipsis")
    return table


def print_table(console: Console, table: Table) -> None:
    """Print a table a little away from the edge, like everything else."""
    console.print(Padding(table, (0, 0, 0, 1), expand=False))


def make_cell(text: str, style: str = "") -> Text:
    """Stored text for one line of a table: cut where it does not fit."""
    return Text(to_one_line(text), style, no_wrap=True, overflow="ellipsis")


def print_hits(console: Console, hits: "Hits[Any]", *, explain: bool = False) -> None:
    """Each hit: score, what it is, where it is from; the passage; the reasons."""
    origins = max((cell_len(_origin(hit)) for hit in hits), default=0)
    room = max(_NARROWEST, console.width - _INDENT - _GAP - origins)
    told: set[tuple[str, str]] = set()  # documents whose key phrases were shown
    for hit in hits:
        console.print(_headline(hit, room), overflow="ellipsis", no_wrap=True)
        for line in _passage(hit, room, max(_NARROWEST, console.width - _INDENT)):
            console.print(line, overflow="ellipsis", no_wrap=hit.corpus == "flows")
        if explain:
            console.print(_explained(hit))
        for line in (*_superseded(hit), *_beside(hit, console.width, told, explain=explain)):
            console.print(line, overflow="ellipsis", no_wrap=True)


def _beside(hit: "Hit", width: int, told: set[tuple[str, str]], *, explain: bool) -> list[Text]:
    """The reasons and remarks of a hit; among hits of all corpora, the main reasons in one line."""
    if "scale" in hit.why.signals:
        return [] if explain else wrap_pieces(_main_reasons(hit), width)[:1]
    pieces = _remarks(hit) if explain else (*_reasons(hit), *_remarks(hit))
    return [*wrap_pieces(pieces, width), *_key_phrases(hit, told)]


def wrap_pieces(pieces: Iterable[Text], width: int) -> list[Text]:
    """Pieces one after the other, in as many indented lines as they need; none is broken."""
    lines: list[Text] = []
    for piece in pieces:
        if lines and lines[-1].cell_len + 3 + piece.cell_len <= width:
            lines[-1] = Text.assemble(lines[-1], "   ", piece)
        else:
            lines.append(Text(" " * _INDENT) + piece)
    return lines


def _headline(hit: "Hit", room: int) -> Text:
    kind = _SINGULAR.get(hit.corpus, hit.corpus)
    name = hit.id if hit.corpus == "tools" else hit.title
    title = _place(hit.item) if hit.corpus == "documents" else matched_words(hit).marked(_plainly(hit, name))
    if hit.corpus != "documents":
        title.stylize("bold")
    title.truncate(room, overflow="ellipsis", pad=True)
    return Text.assemble((f" {hit.score:.2f}  ", "green"), (f"{kind:<10}", "cyan"), title, "  ", (_origin(hit), "dim"))


def _place(chunk: Any) -> Text:
    """The file and line of a chunk, as editors open it, then where in the document that is."""
    where = [*filter(None, [chunk.place]), *chunk.heading]
    return Text.assemble(
        (f"{to_one_line(chunk.document_id)}:{chunk.start_line}", "bold"),
        ("".join(f"{WITHIN}{to_one_line(each)}" for each in where), "dim"),
    )


def _origin(hit: "Hit") -> str:
    if hit.corpus == "documents":
        return to_one_line(hit.item.folder_id)
    if hit.corpus == "tools":
        return f"server {to_one_line(hit.item.server)}"
    if hit.corpus == "flows":
        return f"{to_one_line(hit.item.app)} · {format_age(hit.item.timestamp)}"
    return f"{to_one_line(hit.item.project)} · {format_age(hit.item.created_at)}"


def _passage(hit: "Hit", title_room: int, room: int) -> list[Text]:
    """The text, where it says more than the title; of a long one, the sentences that matched."""
    if hit.corpus == "documents":
        prose = is_prose(hit.item.document_id)
        rows = excerpt(hit.text, hit.item.start_line, matched_words(hit), room, prose=prose)
        return [Text(" " * _INDENT) + row for row in rows]
    if hit.corpus == "flows":
        return [Text(" " * _INDENT) + _walked(hit)]
    text = _plainly(hit, hit.text)
    if text == _plainly(hit, hit.title) and cell_len(text) <= title_room:
        return []
    excerpts = [to_one_line(_MARK.sub(r"\1", each)) for each in getattr(hit, "highlights", ())]
    if excerpts and cell_len(text) > 2 * room:
        together = " ".join(excerpts)
        text = together if together in text else " … ".join(excerpts)
    shown = matched_words(hit).marked(f"“{text}”")
    shown.truncate(2 * room - 2, overflow="ellipsis")
    return [Text(" " * _INDENT) + line for line in shown.wrap(Console(width=room), room)]


def _walked(hit: Any) -> Text:
    """The session of a step, and which of the two the title does not tell: what was done, or what for."""
    from athand.flows.descriptions import describe_step

    step = describe_step(hit.item)
    told = hit.session_goal if hit.title == step else step
    return make_cell(f"session {hit.session_id}" + (f" · {told}" if told else ""))


def _plainly(hit: "Hit", text: str) -> str:
    """A text of a hit in one line; in the words of a server, also characters that nobody sees are shown."""
    if hit.corpus != "tools":
        return to_one_line(text)
    from athand.tools.poisoning.unicode import escape_invisible

    return to_one_line(escape_invisible(" ".join(text.split())))


def matched_words(hit: "Hit") -> Words:
    """The words of a hit that matched: as they are written in it, where the hit tells, else as they were asked for."""
    written = [word for each in getattr(hit, "highlights", ()) for word in _MARK.findall(each)]
    if written or hit.corpus in ("memories", "flows"):
        return Words.of(written)
    return Words.literally(hit.why.matched) if "exact" in hit.why.signals else Words.of((), hit.why.matched)


def _is_factor(name: str, signal: "Signal") -> bool:
    return name not in _PARTS and signal.weight == signal.calibrated


def _label(name: str, hit: "Hit") -> str:
    return str(getattr(hit.item, "sector", name)) if name == "sector" else _LABELS.get(name, name)


def _reasons(hit: "Hit") -> Iterator[Text]:
    """Bars for what was found, factors for what moved it."""
    for name, signal in hit.why.signals.items():
        if not _is_factor(name, signal):
            if signal.contribution:
                yield _as_bar(_label(name, hit), signal)
        elif abs(signal.weight - 1) > 0.005:
            yield _as_factor(_label(name, hit), signal)


def _as_bar(label: str, signal: "Signal") -> Text:
    value = format_fraction(signal.calibrated)
    return Text.assemble((f"{label} ", "dim"), (draw_bar(signal.calibrated), "blue"), (f" {value}", "dim"))


def _as_factor(label: str, signal: "Signal") -> Text:
    return Text.assemble((f"{label} ", "dim"), (f"{_TIMES}{signal.weight:.2f}", "dim"))


def _main_reasons(hit: "Hit") -> Iterator[Text]:
    """Bars, then the factors that moved the score most, strongest first; what hardly counts is left out."""
    parts = {name: each for name, each in hit.why.signals.items() if not _is_factor(name, each) and name != "scale"}
    for name, each in sorted(parts.items(), key=lambda part: part[0] in ("semantic", "goal")):  # words come first
        if abs(each.contribution) >= _LEAST_SHOWN:
            yield _as_bar(_label(name, hit), each)
    factors = [(name, each) for name, each in hit.why.signals.items() if _is_factor(name, each)]
    for name, each in sorted(factors, key=lambda factor: -abs(factor[1].weight - 1)):
        if abs(each.weight - 1) >= _LEAST_SHOWN:
            yield _as_factor(_label(name, hit), each)


def _remarks(hit: Any) -> Iterator[Text]:
    """By what and by which words it was found; a memory's session and relations."""
    found_by = _FOUND_BY.get(getattr(hit, "match_type", ""), "matched")
    if hit.why.matched:
        yield Text.assemble((f"{found_by}: ", "dim"), (to_one_line(", ".join(hit.why.matched)), "yellow"))
    elif found_by != "matched":
        yield Text(found_by, "dim")
    if session := getattr(hit, "source_session", None):
        yield Text(f"session {describe_session(session)}", "dim")
    if count := getattr(hit, "related_count", 0):
        yield Text(pluralize(count, "relation"), "dim")


def _key_phrases(hit: Any, told: set[tuple[str, str]]) -> Iterator[Text]:
    """What the document of a hit is about, once for each document."""
    place = (hit.corpus, getattr(hit.item, "document_id", ""))
    if getattr(hit, "keywords", ()) and place not in told:
        told.add(place)
        yield Text.assemble(" " * _INDENT, (to_one_line(" · ".join(hit.keywords)), "dim italic"))


def _superseded(hit: Any) -> Iterator[Text]:
    """That a memory holds no more, and what does instead."""
    indent = " " * _INDENT
    if successor := getattr(hit, "superseded_by", None):
        text = f" “{to_one_line(successor.content)}”"
        yield Text.assemble(indent, ("superseded by ", "red"), (successor.id, "cyan"), (text, "dim"))
    elif getattr(hit, "is_superseded", False):
        yield Text.assemble(indent, (f"held until {hit.item.valid_until:%-d %b %Y}", "red"))


def _explained(hit: "Hit") -> Table:
    table = make_table(" " * (_INDENT - _GAP), "signal", "measured", "means", "weight", "adds")
    for column in table.columns[2:]:
        column.justify = "right"
    for name, signal in hit.why.signals.items():
        if abs(signal.contribution) >= 0.0005 or name in ("keyword", "semantic"):
            table.add_row("", _label(name, hit), *_numbers(signal, is_factor=_is_factor(name, signal)))
    table.add_row("", "total", "", "", "", f"{hit.why.total:.3f}", style="bold")
    return table


def _numbers(signal: "Signal", *, is_factor: bool) -> tuple[str, str, str, str]:
    means = "" if is_factor else f"{signal.calibrated:.3f}"
    weight = f"{_TIMES}{signal.weight:.3f}" if is_factor else f"{signal.weight:.2f}"
    return f"{signal.raw:.3f}", means, weight, f"{signal.contribution:+.3f}"
