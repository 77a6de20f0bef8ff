"""The child process in which rich formats are read: bytes come in by one pipe, answers go out by another."""

import gc
import json
import os
from collections.abc import Callable
from importlib import import_module
from typing import BinaryIO

from athand.documents.extract import Extract, Unreadable
from athand.documents.readers import limits
from athand.documents.readers.plain import storable

READERS = {
    "pdf": "pdf.read_pdf",
    "docx": "docx.read_docx",
    "xlsx": "xlsx.read_xlsx",
    "pptx": "pptx.read_pptx",
    "epub": "epub.read_epub",
    "odt": "odt.read_odt",
    "html": "html.read_html",
    "notebook": "notebook.read_notebook",
}
_TOO_LARGE_AFTER = 100_000_000


def main() -> None:
    """Read files until the pipe is closed."""
    source, answers = _private_pipes()
    limits.confine()
    gc.set_threshold(50_000)  # trees of XML are big and have no circles
    limits.end_with_parent(source.fileno())
    used = limits.address_space()
    while order := source.readline(1_000):
        task = json.loads(order)
        limits.allow(task["seconds"], used + task["memory"] + task["size"])
        answer = _answer(task["kind"], source, task["size"])
        retires = limits.address_space() > used + _TOO_LARGE_AFTER
        answers.write(len(answer).to_bytes(8, "big") + bytes([retires]))
        answers.write(answer)
        limits.rest()
        if retires:  # what one file left behind must not be taken from the next
            return


def _private_pipes() -> tuple[BinaryIO, BinaryIO]:
    """The pipes to the parent; what a library prints goes nowhere."""
    source, answers = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)
    os.close(nothing)
    return os.fdopen(source, "rb"), os.fdopen(answers, "wb", 0)


def _answer(kind: str, source: BinaryIO, size: int) -> bytes:
    """The text of the file that comes next, or why there is none, as JSON."""
    try:
        return _told(_extract(kind, source.read(size)))
    except Unreadable as error:
        reason = str(error)
    except MemoryError:
        reason = "memory"  # the parent knows how much there was
    except RecursionError:
        reason = "damaged: nested too deeply"
    except Exception as error:  # whatever a library raises on a broken file is a reason, not the end
        reason = f"damaged: the reader made no sense of it ({type(error).__name__})"
    return json.dumps({"reason": reason}).encode("ascii")


def _extract(kind: str, data: bytes) -> Extract:
    module, _, function = READERS[kind].partition(".")
    reader: Callable[[bytes], Extract] = getattr(import_module(f"athand.documents.readers.{module}"), function)
    return reader(data)


def _told(extract: Extract) -> bytes:
    marks = [(mark.offset, mark.kind, storable(mark.label), mark.level) for mark in extract.marks]
    told = {"text": storable(extract.text), "marks": marks, "title": storable(extract.title)}
    return json.dumps({**told, "note": storable(extract.note)}, ensure_ascii=False).encode("utf-8")
