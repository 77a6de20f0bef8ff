"""Standard input and output, kept for the protocol alone. Imports nothing heavy: it has to be the first thing done."""

import os
import select
import sys
from typing import BinaryIO


class Wire:
    """The two ends of the protocol: files of its own, so that nobody else can read from or write to them."""

    def __init__(self) -> None:
        sys.stdout.flush()
        self.reading: BinaryIO = os.fdopen(os.dup(0), "rb")
        self.writing: BinaryIO = os.fdopen(os.dup(1), "wb")
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)  # prints, C libraries and children now write to standard error
        sys.stdout = sys.stderr

    def is_read(self) -> bool:
        """Whether somebody is still there to read what is written."""
        poll = select.poll()
        poll.register(self.writing, 0)  # errors are always told
        return not poll.poll(0)

    def write(self, data: bytes) -> None:
        """Send one message."""
        self.writing.write(data)
        self.writing.flush()
