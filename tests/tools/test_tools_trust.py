"""Who may start what: configurations of projects wait for the user, and secrets stay where they belong."""

import json
import logging
import os
import shutil
import sys

import pytest
from tests.engines import one_engine
from tests.tools.servers.kit import FILES, READ, a_tool, write_config
from tests.waiting import PATIENCE

from athand import Athand
from athand.errors import AthandError, Conflict, NotFound, Refused

CALL = ("files__read_file", {"path": "a"})


@pytest.fixture
def project(tools, board, tmp_path):
    """A project whose configuration names a live server; the tools know it, and nothing was started."""
    made = board()
    made.config = write_config(tmp_path / "project" / ".mcp.json", files=made.entry())
    tools.load(made.config, origin="project")
    assert tools.wait(PATIENCE)
    return made


def server(tools, name="files"):
    return next(each for each in tools.servers() if each.name == name)


def test_a_configuration_of_a_project_starts_nothing_until_it_is_trusted(tools, project):
    assert project.starts == []
    assert server(tools).state == "untrusted"
    assert f"athand tools trust {project.config}" in server(tools).reason
    with pytest.raises(Refused, match="not trusted"):
        tools.refresh("files")
    assert tools.connect_new() == 0
    assert not tools.is_trusted(project.config)
    assert project.starts == []


def test_once_it_is_trusted_it_works_at_once(tools, project):
    tools.trust(project.config)
    assert tools.is_trusted(project.config)
    assert tools.wait(PATIENCE)
    assert server(tools).state == "connected"
    assert tools.call(*CALL)


@one_engine
def test_the_command_of_a_project_really_does_not_run(tools, tmp_path):
    marker = tmp_path / "marker"
    entry = {"command": "touch", "args": [str(marker)]}
    config = write_config(tmp_path / "project" / ".mcp.json", evil=entry)
    tools.load(config, origin="project")
    tools.load_all(folder=config.parent)
    tools.wait(PATIENCE)
    for attempt in (lambda: tools.refresh("evil", catalogue="default"), lambda: tools.connect([("default", "evil")])):
        try:
            attempt()
        except Refused as refused:
            assert "trust" in str(refused)
    assert tools.wait(PATIENCE)
    assert server(tools, "evil").state == "untrusted"
    assert not marker.exists()


@one_engine
@pytest.mark.parametrize("change", [b" ", b"\n"])
def test_one_byte_takes_the_trust_away(tools, project, change):
    tools.trust(project.config)
    assert tools.wait(PATIENCE)
    starts = len(project.starts)
    with project.config.open("ab") as file:
        file.write(change)
    assert not tools.is_trusted(project.config)
    with pytest.raises(Refused, match="it has changed"):
        tools.call(*CALL)
    tools._running.forget(("default", "files"))
    with pytest.raises(Refused, match="it has changed"):
        tools.call(*CALL)
    assert (len(project.starts), project.calls) == (starts, [])
    assert server(tools).state == "untrusted"
    tools.trust(project.config)
    assert tools.call(*CALL)


@one_engine
def test_the_command_that_is_run_is_the_one_that_was_trusted(tools, project, board, tmp_path):
    tools.trust(project.config)
    assert tools.wait(PATIENCE)
    tools._running.forget(("default", "files"))
    other = board("other")
    write_config(project.config, files=other.entry())
    with pytest.raises(Refused):
        tools.call(*CALL)
    tools.load(project.config, origin="project")
    tools.wait(PATIENCE)
    with pytest.raises(Refused):
        tools.call(*CALL)
    assert other.starts == []


def test_trust_can_be_taken_back(tools, project):
    tools.trust(project.config)
    assert tools.wait(PATIENCE)
    assert tools.distrust(project.config) is True
    assert tools.distrust(project.config) is False
    with pytest.raises(Refused, match="not trusted"):
        tools.call(*CALL)
    assert project.calls == []
    assert ("default", "files") not in tools._running.states()


@one_engine
def test_a_copy_elsewhere_is_not_trusted(tools, project, tmp_path):
    tools.trust(project.config)
    copy = tmp_path / "copy" / ".mcp.json"
    copy.parent.mkdir()
    shutil.copy(project.config, copy)
    assert not tools.is_trusted(copy)
    starts = len(project.starts)
    tools.load(copy, origin="project", catalogue="copy")
    tools.wait(PATIENCE)
    assert server(tools).name == "files"
    assert [each.state for each in tools.servers(catalogue="copy")] == ["untrusted"]
    assert len(project.starts) <= starts + 1


@one_engine
def test_a_link_that_is_turned_elsewhere_is_not_trusted_any_more(tools, board, tmp_path):
    good, evil = board("good"), board("evil")
    first = write_config(tmp_path / "good.config", files=good.entry())
    second = write_config(tmp_path / "evil.config", files=evil.entry())
    link = tmp_path / "project" / ".mcp.json"
    link.parent.mkdir()
    link.symlink_to(first)
    tools.load(link, origin="project", connect=False)
    tools.trust(link)
    tools.refresh("files")
    assert tools.call(*CALL)
    assert not tools.is_trusted(first)
    link.unlink()
    link.symlink_to(second)
    assert not tools.is_trusted(link)
    tools._running.forget(("default", "files"))
    with pytest.raises(Refused, match="it has changed"):
        tools.call(*CALL)
    assert evil.starts == []


@one_engine
def test_what_cannot_be_read_cannot_be_trusted(tools, tmp_path):
    with pytest.raises(NotFound):
        tools.trust(tmp_path / "nowhere.json")
    with pytest.raises(AthandError):
        tools.trust(tmp_path)
    assert not tools.is_trusted(tmp_path)
    assert tools.distrust(tmp_path / "nowhere.json") is False


@one_engine
def test_it_does_not_matter_by_which_way_a_folder_is_reached(tools, project, tmp_path, monkeypatch):
    (tmp_path / "link").symlink_to(project.config.parent, target_is_directory=True)
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    for way in ("../project/.mcp.json", tmp_path / "link" / ".mcp.json", f"{tmp_path}/other/../project/./.mcp.json"):
        assert not tools.is_trusted(project.config)
        tools.trust(way)
        assert tools.is_trusted(project.config)
        assert tools.distrust(way)


@one_engine
@pytest.mark.parametrize("path", ["a\0b", "~nobody-of-that-name/.mcp.json", "", "x" * 5000])
def test_what_is_no_path_is_refused(tools, path):
    for ask in (tools.trust, tools.load):
        with pytest.raises(AthandError):
            ask(path)
    assert not tools.is_trusted(path)


def test_trust_survives_reopening(board, tmp_path):
    made = board()
    config = write_config(tmp_path / "project" / ".mcp.json", files=made.entry())
    with Athand(tmp_path / "store.db") as opened:
        opened.tools.trust(config)
    with Athand(tmp_path / "store.db") as opened:
        catalogues = opened.tools.load_all(folder=config.parent)
        assert opened.tools.connect_new(catalogues) == 1
        assert opened.tools.wait(PATIENCE)
        assert opened.tools.call(*CALL, catalogue=catalogues)


@one_engine
def test_what_the_user_wrote_needs_no_trust(tools, live):
    live()
    assert server(tools).state == "connected"


# What servers get to know


@pytest.fixture
def telling(board):
    return lambda name: board(name, [a_tool("environment", "What it is told.", annotations=READ)])


def test_a_server_knows_nothing_of_the_secrets_of_another(open_tools, telling, tmp_path):
    environment = {**os.environ, "API_KEY": "from-the-user", "ATHAND_EMBEDDINGS_KEY": "from-us"}
    tools = open_tools(environment=environment)
    one, other = telling("one"), telling("other")
    config = write_config(
        tmp_path / "mcp.json",
        one=one.entry("--token", "argument-of-one", env={"OWN": "secret-of-one", "GIVEN": "${API_KEY}"}),
        other=other.entry(env={"OWN": "secret-of-other"}),
    )
    tools.load(config)
    assert tools.wait(PATIENCE)
    of_one, of_other = (tools.call(f"{name}__environment").value for name in ("one", "other"))
    assert (of_one["OWN"], of_one["GIVEN"]) == ("secret-of-one", "from-the-user")
    assert of_other["OWN"] == "secret-of-other"
    for secret in ("secret-of-one", "argument-of-one", "from-the-user", "from-us"):
        assert secret not in json.dumps(of_other)
    assert "from-us" not in json.dumps(of_one)


@one_engine
def test_a_command_is_no_line_for_a_shell(tools, board, tmp_path):
    made, marker = board(), tmp_path / "marker"
    words = [f"; touch {marker}", f"$(touch {marker})", f"`touch {marker}`", f"| touch {marker}", "&&", ">", "a b"]
    shell = {"command": f"{sys.executable}; touch {marker}", "args": []}
    tools.load(write_config(tmp_path / "mcp.json", files=made.entry(*words), shell=shell))
    assert tools.wait(PATIENCE)
    assert made.starts == [words]
    assert server(tools, "shell").state == "failing"
    assert not marker.exists()


SECRETS = ("sk-in-the-environment", "sk-in-an-argument", "sk-in-a-header", "sk-in-the-address", "sk-of-the-user")


@pytest.fixture
def log(tmp_path, caplog):
    """The log of somebody who wants to see everything."""
    handler, root = logging.FileHandler(tmp_path / "everything.log"), logging.getLogger()
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.DEBUG, logger="athand")
    root.addHandler(handler)
    yield tmp_path / "everything.log"
    root.removeHandler(handler)
    handler.close()


def test_the_secrets_of_a_configuration_are_kept_nowhere(open_tools, board, tmp_path, log):
    tools = open_tools(tmp_path / "store.db", environment={**os.environ, "MINE": SECRETS[4]})
    made = board()
    dead = {"command": sys.executable, "args": ["-c", "raise SystemExit(3)", SECRETS[1]], "env": {"K": SECRETS[0]}}
    remote = {"url": f"http://127.0.0.1:9/{SECRETS[3]}", "headers": {"Authorization": f"Bearer {SECRETS[2]}"}}
    entry = made.entry(SECRETS[1], env={"KEY": SECRETS[0], "MINE": "${MINE}"})
    tools.load(write_config(tmp_path / "mcp.json", files=entry, dead=dead, remote=remote))
    assert tools.wait(PATIENCE)
    said = [json.dumps([each.to_dict() for each in tools.servers()]), repr(tools.servers())]
    for name in ("files", "dead", "remote"):
        try:
            tools.refresh(name, seconds=PATIENCE)
        except AthandError as error:
            said.append(str(error))
    assert {each.state for each in tools.servers()} == {"connected", "failing"}
    tools.call(*CALL)
    tools.reindex()
    tools.close()
    kept = b"".join(file.read_bytes() for file in tmp_path.glob("store.db*"))
    assert FILES[0]["description"].encode() in kept
    for secret in SECRETS:
        assert secret.encode() not in kept
        assert secret not in "".join(said) + log.read_text()
    assert "The server dead failed" in log.read_text()


def test_a_missing_variable_is_named_and_only_that_server_fails(open_tools, board, tmp_path):
    tools, made = open_tools(environment=dict(os.environ)), board()
    lost = made.entry(env={"KEY": "${NOBODY_HAS_SET_THIS}"})
    tools.load(write_config(tmp_path / "mcp.json", files=made.entry(), lost=lost))
    assert tools.wait(PATIENCE)
    assert "NOBODY_HAS_SET_THIS" in server(tools, "lost").reason
    assert server(tools).state == "connected"


@one_engine
def test_a_changed_file_of_variables_takes_the_trust_away(tools, board, tmp_path):
    made = board()
    variables = tmp_path / "project" / "variables.env"
    config = write_config(tmp_path / "project" / ".mcp.json", files=made.entry(envFile="variables.env"))
    variables.write_text("COLOUR=red\n")
    tools.load(config, origin="project")
    tools.trust(config)
    assert tools.wait(PATIENCE)
    assert tools.is_trusted(config)
    variables.write_text("LD_PRELOAD=./evil.so\n")
    assert not tools.is_trusted(config)
    with pytest.raises(Refused, match="has changed"):
        tools.call(*CALL)


@one_engine
def test_what_was_looked_at_is_what_is_trusted(tools, project):
    seen = tools.hash_to_trust(project.config)
    with project.config.open("ab") as file:
        file.write(b" ")
    with pytest.raises(Conflict, match="has just changed"):
        tools.trust(project.config, hash=seen)
    assert not tools.is_trusted(project.config)
