"""The program of the sandbox process: reads files from one pipe and writes their texts to another.

It sets limits on itself before it reads, and imports little: every import costs start time and address space.
"""

import gc
import json
import os
import resource
import signal
import sys
import threading
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from select import poll
from time import process_time
from typing import BinaryIO

from athand.documents.extract import Extract, UnreadableFile
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
_MAX_OPEN_FILES = 16
_POLL_MS = 500


def main() -> None:
    """Reads files until the pipe is closed."""
    source, responses = _take_pipes()
    _restrict_process()
    gc.set_threshold(50_000)  # XML trees are large and have no cycles
    _exit_with_parent(source.fileno())
    used = _address_space_bytes()
    while header_line := source.readline(1_000):
        task = json.loads(header_line)
        _set_limits(task["seconds"], used + task["memory"] + task["size"])
        response = _respond(task["kind"], source, task["size"])
        is_retiring = _address_space_bytes() > used + _MAX_GROWTH_BYTES
        responses.write(len(response).to_bytes(8, "big") + bytes([is_retiring]))
        responses.write(response)
        _clear_limits()
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


def _restrict_process() -> None:
    """Forbids writing files and core dumps, and limits open files."""
    for limit, maximum in (
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, _MAX_OPEN_FILES),
    ):
        resource.setrlimit(limit, (maximum, maximum))


def _set_limits(seconds: float, memory: int) -> None:
    """Limits CPU and wall time from now, and on Linux the address space, for one file."""
    cpu = int(process_time() + seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (cpu, resource.RLIM_INFINITY))
    signal.setitimer(signal.ITIMER_REAL, seconds + 1)  # ends the process even without its parent
    if sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_AS, (memory, resource.RLIM_INFINITY))


def _clear_limits() -> None:
    """Lifts the time limits between two files."""
    signal.setitimer(signal.ITIMER_REAL, 0)
    resource.setrlimit(resource.RLIMIT_CPU, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def _address_space_bytes() -> int:
    """The size of the address space of this process; 0 without /proc."""
    try:
        return int(Path("/proc/self/statm").read_text("ascii").split()[0]) * resource.getpagesize()
    except OSError:
        return 0


def _exit_with_parent(pipe: int) -> None:
    """Starts a thread that ends this process when its parent is gone, even while it reads a file."""
    parent, watched = os.getppid(), poll()
    watched.register(pipe, 0)  # POLLHUP is always reported

    def watch() -> None:
        while not watched.poll(_POLL_MS) and os.getppid() == parent:
            pass
        os._exit(0)

    threading.stack_size(256 * 1024)
    threading.Thread(target=watch, daemon=True).start()
    threading.stack_size(0)
