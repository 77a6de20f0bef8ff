"""A folder of bad files beside good ones, and what must become of each."""

import ctypes
import json
import os
import socket
import sys
from contextlib import contextmanager
from pathlib import Path

from makers import docx, encrypted_pdf, packed, paragraph, pdf

CANARY = "zyxwcanaryoutside"
_KEY_BODY = "\n".join(
    ("MIIEvgIBADANBgkqhkiG9w0BAQEFAASCBKgwggSk" + letter * 12 + "QkFTRTY0Ym9keQ") for letter in "abcdefghij"
)
PEM = f"-----BEGIN PRIVATE KEY-----\n{_KEY_BODY}\n-----END PRIVATE KEY-----\n"
SECRETS = ("Sup3rS3cretEnvValue", "aaaaaaaaaaaaQkFTRTY0Ym9keQ", "jjjjjjjjjjjjQkFTRTY0Ym9keQ", "rsaKeyNobodyMayRead77")
LAUGHS = (
    '<!DOCTYPE x [<!ENTITY a "ha">'
    + "".join(f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in zip("abcdefgh", "bcdefghi", strict=True))
    + "]><office>&i;</office>"
)
# The good ones: what is in them, and a word by which each is found.
GOOD = {
    "readme.md": ("# The zoo\n\nVisitors find the penguinhouse here.\n", "penguinhouse"),
    "docs/guide.md": ("# Guide\n\nFeeding times of the walrusbasin.\n", "walrusbasin"),
    "docs/été/größe.txt": ("Ein Text über das elefantengehege.\n", "elefantengehege"),
    "src/keeper.py": ("def feed_ocelots(pens):\n    return [pen.food for pen in pens]\n", "feed_ocelots"),
    "data/animals.csv": ("name,legs\nmillipedex,750\nsnake,0\n", "millipedex"),
    "with space & 'quote' %41.md": ("# Odd but fine\n\nThe quokkacorner.\n", "quokkacorner"),
    "page.html": ("<html><body><h1>Birds</h1><p>The flamingopond.</p></body></html>", "flamingopond"),
}


def _deep(depth):
    return "[" * depth + "]" * depth


# What cannot be indexed: the content, and what the reason must say.
UNREADABLE = {
    "empty.md": (b"", "empty"),
    "blank.txt": (b" \n\t \n" * 50, "empty"),
    "nul.txt": (b"text\0with\0nul" * 100, "NUL"),
    "program": (b"\x7fELF" + bytes(range(256)) * 10, "binary"),
    "bomb.docx": (packed({"word/document.xml": b"<a>" + b" " * 30_000_000}), "zip bomb|unpacks to more"),
    "not-a.docx": (b"I am no archive at all.", "damaged"),
    "cut.docx": (docx(paragraph("whole"))[:300], "damaged"),
    "laughs.odt": (packed({"content.xml": LAUGHS}), "document type"),
    "locked.pdf": (encrypted_pdf(), "password"),
    "cut.pdf": (pdf(["one", "two"])[:40], "damaged"),
    "no-page.pdf": (b"%PDF-1.7\n" + os.urandom(2000), "damaged|no text"),
    "deep.ipynb": (('{"cells":' + _deep(10_000) + "}").encode(), "deeply"),
    "broken.ipynb": (b'{"cells": [', "damaged"),
    "key.txt": (PEM.encode(), "nothing but keys"),
}
# What is strange and indexed all the same: the content, a word that is found, and what is said about it.
STRANGE = {
    "line.txt": (b"gibbonisland " + b"word " * 40_000, "gibbonisland", None),
    "bom16.txt": ("\ufeffThe lemurtower opens".encode("utf-16-le"), "lemurtower", None),
    "plain16.txt": ("The marmotburrow opens early".encode("utf-16-le"), "marmotburrow", "utf-16-le"),
    "cesu.txt": ("größe der wombatwiese ".encode() * 20 + b"\xed\xa0\x80 wombatwiese", "wombatwiese", "decoded"),
    "latin1.txt": ("Die Größe des dachsbaus ist mäßig".encode("latin-1"), "dachsbaus", "UTF-8"),
    "escapes.json": (b'{"animal": "\\ud800 tapirwalk"}', "tapirwalk", None),
    "deep.json": (b'{"koalatree": ' + _deep(10_000).encode() + b"}", "koalatree", None),
    "nested.html": (b"<div>" * 100_000 + b"llamafield" + b"</div>" * 100_000, "llamafield", None),
    "bundle.js": (b"function alpacaPen(){return 1};var a=[1,2,3];" * 8_000, "alpacaPen", None),
    "row.csv": (b"name," + b"v" * 999_000 + b"\nzebraline,1\n", "zebraline", None),
    "key-inside.md": (f"# Setup\n\n```\n{PEM}```\n\nThe lynxrock is behind it.\n".encode(), "lynxrock", None),
    "crlf.md": (b"# Title\r\n\r\nThe heronmarsh.\r\n" * 3, "heronmarsh", None),
    "lone-cr.txt": (b"old mac\rthe storknest\r" * 10, "storknest", None),
    "escape-codes.txt": (b"\x1b[31mred\x1b[0m raccoonden", "raccoonden", None),
    "lone.ipynb": (
        json.dumps({"cells": [{"cell_type": "markdown", "source": "# \ud800 jackalhill"}]}).encode(),
        "jackalhill",
        None,
    ),
}
# What is not even opened: the reason by the path as it is shown.
REFUSED = {
    "pipe.txt": "not a regular file",
    "socket.txt": "not a regular file",
    "loop": "symbolic link",
    "out.md": "symbolic link",
    "outside": "symbolic link",
    "to-proc.txt": "symbolic link",
    "dangling.md": "symbolic link",
    "sparse.txt": "larger than 10 MB",
    "sparse.pdf": "larger than 64 MB",
    ".env": "quarantined",
    "config/.env.production": "quarantined",
    "id_rsa": "quarantined",
    "server.pem": "quarantined",
    "new\\nline.md": "name",
    "escape\\x1b[31mred.md": "name",
    "c1\\x9b31m.md": "name",
    "bytes\\udcff\\udcfe.md": "name",
    "odd\\udcff/": "name",
}


def build(folder, outside):
    """Fill an empty folder; `outside` gets what must never be read."""
    outside.mkdir()
    (outside / "canary.md").write_text(f"# Secret\n\n{CANARY}\n")
    for path, (text, _) in GOOD.items():
        write(folder / path, text.encode())
    for path, (content, *_) in {**UNREADABLE, **STRANGE}.items():
        write(folder / path, content)
    _special_files(folder)
    _links(folder, outside)
    _secrets(folder)
    _odd_names(folder)
    deep = folder.joinpath(*["deep"] * 70)
    write(deep / "bottom.md", b"nobody gets here")
    _skipped(folder)


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _special_files(folder):
    os.mkfifo(folder / "pipe.txt")
    here = Path.cwd()
    os.chdir(folder)  # the path of a socket must be short
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.bind("socket.txt")
    finally:
        os.chdir(here)
    for name in ("sparse.txt", "sparse.pdf"):
        with (folder / name).open("wb") as file:
            file.truncate(2_000_000_000)


def _links(folder, outside):
    (folder / "loop").symlink_to("loop")
    (folder / "out.md").symlink_to(outside / "canary.md")
    (folder / "outside").symlink_to(outside)
    (folder / "to-proc.txt").symlink_to("/proc/self/environ")
    (folder / "dangling.md").symlink_to("nowhere.md")


def _secrets(folder):
    write(folder / ".env", f"TOKEN={SECRETS[0]}\n".encode())
    write(folder / "config/.env.production", f"TOKEN={SECRETS[0]}\n".encode())
    write(folder / "id_rsa", f"-----BEGIN\n{SECRETS[3]}\n".encode())
    write(folder / "server.pem", PEM.encode())


def _odd_names(folder):
    for name in (b"new\nline.md", b"escape\x1b[31mred.md", "c1\x9b31m.md".encode(), b"bytes\xff\xfe.md"):
        write(Path(os.fsdecode(os.fsencode(folder) + b"/" + name)), b"# Odd\n\nA good text under a bad name.\n")
    write(Path(os.fsdecode(os.fsencode(folder) + b"/odd\xff/inside.md")), b"# Odd")


def _skipped(folder):
    """What is passed over and counted."""
    for path in ("node_modules/a/index.js", ".git/config", "picture.png", "package-lock.json", "env/lib/x.py"):
        write(folder / path, b"passedover = 1\n")
    write(folder / "env/pyvenv.cfg", b"home = /usr\n")
    write(folder / ".gitignore", b"*.ignored\n")
    write(folder / "x.ignored", b"passedover\n")


def store_bytes(path):
    """Every byte of a store: the database, its log, its files of vectors."""
    files = [each for each in path.parent.rglob("*") if each.is_file() and each.name.startswith(path.name)]
    files += [each for each in path.parent.glob(f"{path.name}*/**/*") if each.is_file()]
    assert path in files
    return b"\0".join(each.read_bytes() for each in files)


@contextmanager
def like_anybody():
    """Permissions count for this thread, even when root runs the tests: the powers to override them are laid down."""
    if os.geteuid() != 0 or sys.platform != "linux":
        yield
        return
    libc = ctypes.CDLL(None, use_errno=True)
    header, held = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    assert libc.capget(header, held) == 0
    before = held[0]
    held[0] &= ~0b110  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
    assert libc.capset(header, held) == 0
    try:
        yield
    finally:
        held[0] = before
        assert libc.capset(header, held) == 0
