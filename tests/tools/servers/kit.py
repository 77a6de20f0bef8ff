"""Tools to put into catalogues, and a live server whose tools a test changes."""

import json
import sys
from pathlib import Path

from tests.tools.patience import LIMIT

from athand.embed import DEFAULT_MODEL, LazyEmbedder

_SERVER = Path(__file__).parent / "board.py"
THINGS = "invoice ticket branch photo message contact meeting parcel account playlist recipe sensor vehicle".split()
DEEDS = "create delete list update archive share rename count export import translate print compare".split()
READ = {"readOnlyHint": True}
TEXT = {"type": "string"}


def a_tool(name, description="", properties=None, **more):
    """A tool as tools/list has it."""
    schema = {"type": "object", "properties": properties or {}}
    return {"name": name, "description": description, "inputSchema": schema, **more}


FILES = (
    a_tool("read_file", "Read the contents of a file.", {"path": TEXT}, annotations=READ),
    a_tool("write_file", "Write text to a file.", {"path": TEXT, "text": TEXT}, annotations={"destructiveHint": False}),
    a_tool("remove_file", "Remove a file for good.", {"path": TEXT}),
)
WEATHER = (
    a_tool("get_forecast", "Weather forecast of the next days for a city.", {"city": TEXT}, annotations=READ),
    a_tool("get_alerts", "Warnings of storms, floods and other severe weather.", annotations=READ),
)
MAIL = (
    a_tool("send_email", "Send an email to somebody.", {"to": TEXT, "body": TEXT}),
    a_tool("search_inbox", "Find messages in the inbox by sender or subject.", annotations=READ),
)


def many_tools():
    """Hundreds of tools on things that have nothing to do with files, weather or mail."""
    return [a_tool(f"{deed}_{thing}", f"{deed.title()} one {thing} of the user.") for deed in DEEDS for thing in THINGS]


def ids(hits):
    return [hit.id for hit in hits]


def write_config(path, **servers):
    """A configuration that names these servers."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"mcpServers": servers}))
    return path


class Board:
    """A live server whose tools a test changes through a file."""

    def __init__(self, path, tools):
        self.path = path
        self.write(tools)

    def write(self, tools):
        whole = self.path.with_suffix(".new")
        whole.write_text(json.dumps(list(tools)))
        whole.replace(self.path)

    def change(self, at=0, **fields):
        """Describe one tool in another way."""
        listed = json.loads(self.path.read_text())
        listed[at] |= fields
        self.write(listed)

    def entry(self, *words, **more):
        """How a configuration names it."""
        words = ("-I", "-S", str(_SERVER), str(self.path), *words)
        limits = {"connectSeconds": LIMIT, "callSeconds": LIMIT}
        return {"command": sys.executable, "args": list(words), **limits, **more}

    @property
    def calls(self):
        return self._noted("calls")

    @property
    def starts(self):
        return self._noted("starts")

    def forget_calls(self):
        self.path.with_suffix(".calls").unlink(missing_ok=True)

    def _noted(self, kind):
        file = self.path.with_suffix(f".{kind}")
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


class CountingEmbedder(LazyEmbedder):
    """The real model, which keeps what it is given."""

    def __init__(self, name=DEFAULT_MODEL):
        super().__init__(name)
        self.embedded, self.asked = [], []

    def _load(self):
        real, ours = super()._load(), self

        class Counting:
            model_id, dimensions, calibration = real.model_id, real.dimensions, real.calibration

            def embed_passages(self, texts):
                ours.embedded += texts
                return real.embed_passages(texts)

            def embed_query(self, text):
                ours.asked.append(text)
                return real.embed_query(text)

        return Counting()
