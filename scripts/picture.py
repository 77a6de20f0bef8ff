"""Makes the picture of the README from what a terminal really shows. Run: python -m scripts.picture"""

import io
import os
import pty
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

PICTURE = Path(__file__).parents[1] / "docs/picture.svg"
QUESTION = "start a branch for ticket 9"
WIDTH = 100


def shown(*arguments, **environment):
    """What a command shows on a terminal, with its colours."""
    ours, theirs = pty.openpty()
    known = os.environ | {"TERM": "xterm-256color", "COLUMNS": str(WIDTH)} | environment
    command = [sys.executable, "-m", "athand", *arguments]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, env=known) as process:
        os.close(theirs)
        pieces = [*iter(lambda: read(ours), b"")]
    os.close(ours)
    assert process.returncode == 0, b"".join(pieces).decode()
    return b"".join(pieces).decode().replace("\r\n", "\n")


def read(terminal):
    try:
        return os.read(terminal, 65536)
    except OSError:  # how a terminal says on Linux that nobody writes to it any more
        return b""


def draw(text):
    console = Console(record=True, width=WIDTH, file=io.StringIO())
    console.print(Text.from_ansi(text))
    drawn = console.export_svg(title="athand", unique_id="athand")
    return re.sub(r"\s*@font-face \{.*?\}", "", drawn, flags=re.DOTALL)  # no font is fetched from anywhere


def main():
    with tempfile.TemporaryDirectory() as folder:
        shown("demo", "--no-server", "--data-dir", folder)
        answer = shown("search", QUESTION, "--limit", "6", ATHAND_HOME=f"{folder}/demo")
    timeless = re.sub(r" (in|·) \d+ ms", "", answer)
    PICTURE.write_text(draw(f'$ athand search "{QUESTION}"\n\n{timeless.rstrip()}'), "utf-8")
    print(PICTURE)


if __name__ == "__main__":
    main()
