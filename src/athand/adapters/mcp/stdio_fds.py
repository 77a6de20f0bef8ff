"""Reserves stdin and stdout for the protocol. Imports devnull heavy: this must run first."""

import os
import select
import sys
from typing import BinaryIO


class StdioFds:
    """Private duplicates of stdin and stdout; descriptor 0 becomes /dev/null, descriptor 1 becomes stderr."""

    def __init__(self) -> None:
        sys.stdout.flush()
        self.stdin: BinaryIO = os.fdopen(os.dup(0), "rb")
        self.stdout: BinaryIO = os.fdopen(os.dup(1), "wb")
        devnull = os.open(os.devnull, os.O_RDONLY)
        os.dup2(devnull, 0)
        os.close(devnull)
        os.dup2(2, 1)  # print(), C libraries and child processes now write to stderr
        sys.stdout = sys.stderr

    def is_connected(self) -> bool:
        """Whether the client still has its end of stdout open."""
        poll = select.poll()
        poll.register(self.stdout, 0)  # errors are always reported
        return not poll.poll(0)

    def write(self, data: bytes) -> None:
        """Send one message."""
        self.stdout.write(data)
        self.stdout.flush()
