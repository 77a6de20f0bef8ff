"""The plugin and the entry of the MCP registry are what the program says of itself."""

import json
import re

import pytest
from scripts.plugin import PLUGIN, ROOT, files

GENERATED = dict(files())
MARKER = re.compile(r"<!-- mcp-name: (\S+) -->")


@pytest.mark.parametrize("file", GENERATED, ids=str)
def test_what_is_generated_is_current(file):
    assert (ROOT / file).read_text("utf-8") == GENERATED[file], "run: python -m scripts.plugin"


def test_the_plugin_has_no_file_that_nobody_generates():
    there = {path.relative_to(ROOT) for path in (ROOT / PLUGIN).rglob("*") if path.is_file()}
    assert there == {file for file in GENERATED if file.is_relative_to(PLUGIN)}


def test_the_entry_of_the_registry_keeps_its_rules():
    """Those of the schema of 2025-12-11 that an entry like ours can break, and the marker of whose package it is."""
    entry = json.loads((ROOT / "server.json").read_text("utf-8"))
    assert re.fullmatch(r"[a-zA-Z0-9.-]{1,100}/[a-zA-Z0-9._-]{1,100}", entry["name"])
    assert 1 <= len(entry["description"]) <= 100 and 1 <= len(entry["title"]) <= 100
    (package,) = entry["packages"]
    assert package["version"] == entry["version"] and re.fullmatch(r"\d+\.\d+\.\d+", entry["version"])
    assert (package["registryType"], package["transport"]) == ("pypi", {"type": "stdio"})
    assert all(each["type"] == "positional" and each["value"] for each in package["packageArguments"])
    assert MARKER.findall((ROOT / "README.md").read_text("utf-8")) == [entry["name"]]
