"""An archive may come from anybody: what it says about trust, approvals and folders is decided anew."""

import json
import sys
import zipfile
from contextlib import nullcontext

import pytest
from tests.tools.servers.kit import write_config

from athand import Athand
from athand.adapters.operations.caller import AGENT
from athand.adapters.operations.context import AppContext
from athand.adapters.operations.table import OPERATIONS
from athand.errors import NotFound, Refused
from athand.flows import Observation

SERVER = """
import pathlib, sys
pathlib.Path(sys.argv[1]).write_text("it ran")
"""


@pytest.fixture
def foreign(tmp_path):
    """An archive of somebody who trusts a server, approved its tools, allows all calls and added a folder."""
    repository = tmp_path / "repository"
    repository.mkdir()
    (repository / "server.py").write_text(SERVER)
    command = {"command": sys.executable, "args": [str(repository / "server.py"), str(tmp_path / "ran")]}
    config = write_config(repository / ".mcp.json", helper=command)
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "diary.md").write_text("# Diary\n\nThe harvest festival is in September.")
    with Athand(tmp_path / "theirs.db") as athand:
        athand.tools.add("helper", [{"name": "help", "description": "Helps", "inputSchema": {"type": "object"}}])
        athand.tools.load(config, connect=False, origin="project")
        athand.tools.trust(config)
        athand.tools.rule("helper__*", "allow")
        athand.tools.rule("*__drop", "deny")
        athand.documents.add(tmp_path / "private")
        athand.export(tmp_path / "theirs.zip")
    return tmp_path / "theirs.zip"


@pytest.fixture
def imported(foreign, tmp_path):
    with Athand(tmp_path / "mine.db") as athand:
        yield athand, athand.import_(foreign)


def test_no_command_of_an_archive_runs_before_its_configuration_is_trusted(imported, tmp_path):
    athand, done = imported
    assert [server.state for server in athand.tools.servers()] == ["untrusted"]
    assert not athand.tools.is_trusted(tmp_path / "repository" / ".mcp.json")
    with pytest.raises(Refused):
        athand.tools.call("helper__help", {})
    athand.tools.approve("helper__help")
    with pytest.raises(Refused, match="not trusted"):
        athand.tools.call("helper__help", {})
    assert not (tmp_path / "ran").exists()
    assert any(str(tmp_path / "repository" / ".mcp.json") in each and "tools trust" in each for each in done.waiting)


def test_tools_of_an_archive_wait_for_approval_and_only_rules_that_restrict_are_taken(imported):
    athand, done = imported
    assert [tool.state for tool in athand.tools.list()] == ["quarantined"]
    assert [(rule.pattern, rule.decision) for rule in athand.tools.rules()] == [("*__drop", "deny")]
    assert any("athand tools approve helper__help" in each for each in done.waiting)
    assert any("helper__*" in each for each in done.waiting)


def test_a_folder_of_an_archive_is_not_read_before_its_owner_asks_for_it(imported):
    athand, done = imported
    assert athand.documents.search("harvest festival") == []
    athand.documents.search_content(exact_terms=["harvest"])
    athand.documents.watch()
    athand.documents.reindex()
    assert [(folder.state, folder.documents) for folder in athand.documents.list_folders()] == [("imported", 0)]
    operation = next(each for each in OPERATIONS if each.name == "refresh_folder")
    with pytest.raises(Refused, match="athand docs add"):
        operation.perform(AppContext(lambda: nullcontext(athand)), {"folder_id": "private"}, caller=AGENT)
    assert any("athand docs add" in each for each in done.waiting)
    athand.documents.refresh("private")
    assert athand.documents.search("harvest festival")[0].item.document_id == "diary.md"


def test_the_command_line_names_what_waits(run, foreign, tmp_path):
    read = run("import", str(foreign))
    assert "athand tools approve helper__help" in read.err
    assert f"athand docs add {tmp_path / 'private'}" in read.err
    assert run("docs", "refresh", "--json").json == []
    assert run("docs", "refresh", "private", "--json").json[0]["documents"] == 1


def test_an_export_is_of_one_moment(tmp_path):
    with Athand(tmp_path / "store.db") as athand:
        athand.memories.add("Before", id="before")
        record(athand, "first")

        def write_more(what, done, total):
            if what == "flows" and done == 0:
                athand.memories.add("After", id="after")
                athand.memories.delete("before")
                record(athand, "second")
                athand.tools.rule("late__*", "ask")

        counts = athand.export(tmp_path / "all.zip", progress=write_more)
    assert (counts.memories, counts.sessions, counts.rules) == (1, 1, 0)
    with zipfile.ZipFile(tmp_path / "all.zip") as archive:
        names = archive.namelist()
        memories = [json.loads(line) for line in archive.read("memories.jsonl").splitlines()]
    assert [line["id"] for line in memories if line.get("kind") == "memory"] == ["before"]
    assert [name.split("/")[2] for name in names if name.endswith("session.json")] == ["first"]
    with Athand(tmp_path / "other.db") as other:
        assert other.import_(tmp_path / "all.zip").problems == ()
        with pytest.raises(NotFound):
            other.flows.session("second")


def record(athand, name):
    session = athand.flows.start_session(goal="Buy", app="shop", id=name)
    seen = Observation("cart", "https://shop.test", ({"testId": "pay", "visible": True},), ())
    athand.flows.record(session.id, tool="click", target={"testId": "pay"}, before=seen)
