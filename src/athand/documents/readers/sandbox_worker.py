"""The program of the sandbox process: reads files from one pipe and writes their texts to another.

It imports little: every import costs start time and address space.
"""

import gc
import json
import os
from collections.abc import Callable
from importlib import import_module
from typing import BinaryIO

from athand.documents.extract import Extract, UnreadableFile
from athand.documents.readers import rlimits
from athand.documents.readers.plain_text import make_storable

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
_MAX_GROWTH_BYTES = 100_000_000


def main() -> None:
    """Reads files until the pipe is closed."""
    source, responses = _take_pipes()
    rlimits.restrict_process()
    gc.set_threshold(50_000)  # XML trees are large and have no cycles
    rlimits.exit_with_parent(source.fileno())
    used = rlimits.address_space_bytes()
    while header_line := source.readline(1_000):
        task = json.loads(header_line)
        rlimits.set_limits(task["seconds"], used + task["memory"] + task["size"])
        response = _respond(task["kind"], source, task["size"])
        is_retiring = rlimits.address_space_bytes() > used + _MAX_GROWTH_BYTES
        responses.write(len(response).to_bytes(8, "big") + bytes([is_retiring]))
        responses.write(response)
        rlimits.clear_limits()
        if is_retiring:  # its memory must not count against the next file
            return


def _take_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Takes over stdin and stdout as pipes to the parent; prints of libraries go to /dev/null."""
    source, responses = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)
    os.close(nothing)
    return os.fdopen(source, "rb"), os.fdopen(responses, "wb", 0)


def _respond(kind: str, source: BinaryIO, size: int) -> bytes:
    """The text of the next file, or the reason why there is none, as JSON."""
    try:
        return _encode(_run_reader(kind, source.read(size)))
    except UnreadableFile as error:
        reason = str(error)
    except MemoryError:
        reason = "memory"  # the parent adds the limit
    except RecursionError:
        reason = "damaged: nested too deeply"
    except Exception as error:  # any error of a library on a broken file
        reason = f"damaged: the reader made no sense of it ({type(error).__name__})"
    return json.dumps({"reason": reason}).encode("ascii")


def _run_reader(kind: str, data: bytes) -> Extract:
    module, _, function = READERS[kind].partition(".")
    reader: Callable[[bytes], Extract] = getattr(import_module(f"athand.documents.readers.{module}"), function)
    return reader(data)


def _encode(extract: Extract) -> bytes:
    markers = [(marker.offset, marker.kind, make_storable(marker.label), marker.level) for marker in extract.markers]
    fields = {"text": make_storable(extract.text), "markers": markers, "title": make_storable(extract.title)}
    return json.dumps({**fields, "note": make_storable(extract.note)}, ensure_ascii=False).encode("utf-8")
