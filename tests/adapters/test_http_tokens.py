"""Tokens: who has one, what it opens, and how they are kept."""

import json
import os
import stat
import threading

import pytest
from tests.adapters.gateway import is_problem, opened
from tests.tools.servers.kit import a_tool

from athand.adapters.http.token_registry import (
    TokenRegistry,
    create_token,
    ensure_owner_token,
    list_tokens,
    owner_file,
    revoke_token,
    tokens_file,
)
from athand.errors import AthandError, Conflict, InvalidInput, NotFound


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "data" / "athand"


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_the_owners_token_is_made_once_for_its_owner_alone(folder):
    before = os.umask(0)
    try:
        token = ensure_owner_token(folder)
    finally:
        os.umask(before)
    assert len(token) == 43
    assert ensure_owner_token(folder) == token
    assert (mode(owner_file(folder)), mode(folder), mode(folder.parent)) == (0o600, 0o700, 0o700)
    assert [each.name for each in folder.iterdir()] == ["token"]


def test_many_that_start_at_once_get_the_same_token(folder):
    tokens = []
    starting = [threading.Thread(target=lambda: tokens.append(ensure_owner_token(folder))) for _ in range(8)]
    for each in starting:
        each.start()
    for each in starting:
        each.join()
    assert (len(tokens), len(set(tokens))) == (8, 1)


@pytest.mark.parametrize("permissions", [0o644, 0o640, 0o602])
def test_a_token_that_others_can_read_or_write_is_refused(folder, permissions):
    ensure_owner_token(folder)
    owner_file(folder).chmod(permissions)
    with pytest.raises(AthandError, match="chmod 600"):
        ensure_owner_token(folder)


def test_a_link_in_the_place_of_the_token_is_never_followed(folder, tmp_path):
    folder.mkdir(parents=True, mode=0o700)
    canary = tmp_path / "canary"
    for target in (canary, tmp_path / "there"):
        target.write_text("k" * 43)
        target.chmod(0o600)
        owner_file(folder).symlink_to(target)
        with pytest.raises(AthandError, match="link"):
            ensure_owner_token(folder)
        owner_file(folder).unlink()
        assert target.read_text() == "k" * 43
    owner_file(folder).symlink_to(tmp_path / "nowhere")
    with pytest.raises(AthandError):
        ensure_owner_token(folder)
    assert not (tmp_path / "nowhere").exists()


def test_a_link_that_appears_just_before_the_file_is_made_is_not_written_through(folder, tmp_path, monkeypatch):
    canary = tmp_path / "canary"

    def late(path):
        owner_file(folder).symlink_to(canary)

    monkeypatch.setattr("athand.adapters.http.token_registry.read_private", late)
    with pytest.raises(FileExistsError):
        ensure_owner_token(folder)
    assert not canary.exists()


def test_a_pipe_or_a_folder_in_the_place_of_the_token_is_refused_without_waiting(folder):
    folder.mkdir(parents=True, mode=0o700)
    os.mkfifo(owner_file(folder), 0o600)
    with pytest.raises(AthandError):
        ensure_owner_token(folder)
    owner_file(folder).unlink()
    owner_file(folder).mkdir()
    with pytest.raises(AthandError):
        ensure_owner_token(folder)


def test_a_folder_in_which_others_may_write_is_refused(folder):
    ensure_owner_token(folder)
    folder.chmod(0o777)
    with pytest.raises(AthandError, match="chmod 700"):
        ensure_owner_token(folder)


def test_a_start_that_was_cut_off_is_mended_and_other_rubbish_is_told(folder):
    folder.mkdir(parents=True, mode=0o700)
    owner_file(folder).touch(0o600)
    assert len(ensure_owner_token(folder)) == 43
    owner_file(folder).write_text("short")
    with pytest.raises(AthandError, match="does not hold a token"):
        ensure_owner_token(folder)


def test_a_token_that_is_given_away_is_kept_as_a_hash_only(folder):
    made, text = create_token(folder, "laptop", ["write", "search"])
    assert made.scopes == ("search", "write")
    assert text not in tokens_file(folder).read_text()
    assert mode(tokens_file(folder)) == 0o600
    assert [each.to_dict() for each in list_tokens(folder)] == [made.to_dict()]
    with pytest.raises(Conflict):
        create_token(folder, "laptop", ["search"])


@pytest.mark.parametrize(
    ("name", "scopes"), [("", ["search"]), ("a b", ["search"]), ("owner", ["search"]), ("x", ["root"]), ("x", [])]
)
def test_names_and_scopes_that_make_no_sense_are_refused(folder, name, scopes):
    with pytest.raises(InvalidInput):
        create_token(folder, name, scopes)


def test_many_that_give_tokens_at_once_lose_none(folder):
    giving = [threading.Thread(target=create_token, args=(folder, f"t{number}", ["search"])) for number in range(12)]
    for each in giving:
        each.start()
    for each in giving:
        each.join()
    assert {each.name for each in list_tokens(folder)} == {f"t{number}" for number in range(12)}
    assert [each.name for each in folder.iterdir()] == ["tokens.json"]


def test_a_running_server_notices_new_and_revoked_tokens_and_a_new_owner(folder):
    owner, clock = ensure_owner_token(folder), Clock()
    registry = TokenRegistry(folder, clock=clock)
    assert registry.find(owner).name == "owner"
    _, text = create_token(folder, "laptop", ["search"])
    assert registry.find(text).scopes == {"search"}, "a new one is known at once"
    revoke_token(folder, "laptop")
    owner_file(folder).unlink()
    clock.now += 2
    assert (registry.find(text), registry.find(owner)) == (None, None)
    assert registry.find(ensure_owner_token(folder)).name == "owner"


def test_files_that_become_unusable_open_nothing_and_the_log_says_why(folder, caplog):
    owner, clock = ensure_owner_token(folder), Clock()
    _, text = create_token(folder, "laptop", ["search"])
    registry = TokenRegistry(folder, clock=clock)
    owner_file(folder).chmod(0o644)
    tokens_file(folder).write_text("{")
    clock.now += 2
    assert (registry.find(owner), registry.find(text)) == (None, None)
    assert "chmod 600" in caplog.text
    assert "tokens.json" in caplog.text


@pytest.mark.parametrize(
    "text", ["[]", '{"tokens": [{}]}', '{"tokens": [{"name": "x", "scopes": [], "created_at": "", "sha256": "ab"}]}']
)
def test_a_list_of_tokens_that_is_broken_is_told(folder, text):
    ensure_owner_token(folder)
    tokens_file(folder).touch(0o600)
    tokens_file(folder).write_text(text)
    with pytest.raises(AthandError, match=r"tokens\.json"):
        list_tokens(folder)


def test_tokens_from_the_command_line(run, tmp_path, monkeypatch):
    monkeypatch.setenv("ATHAND_HOME", str(tmp_path / "home"))
    made = run("token", "create", "laptop", "--scope", "search")
    assert (made.code, len(made.out.strip())) == (0, 43)
    assert run("token", "create", "agent", "--json").json["scopes"] == ["search", "write", "call-tools"]
    assert [each["name"] for each in run("token", "list", "--json").json] == ["laptop", "agent"]
    assert "laptop" in run("token", "list").out
    assert run("token", "revoke", "laptop", "--json").json["name"] == "laptop"
    assert run("token", "revoke", "laptop").code == NotFound.exit_code
    assert run("token", "create", "x", "--scope", "root").code == 2
    kept = json.loads((tmp_path / "home" / "tokens.json").read_text())
    assert [each["name"] for each in kept["tokens"]] == ["agent"]


def test_a_call_over_http_is_logged_under_the_name_of_its_token(tmp_path):
    with opened(tmp_path) as gateway:
        gateway.workspace.athand.tools.add("box", [a_tool("shout", "Say something loudly.")])
        own, other = gateway.token("call-tools"), gateway.token("call-tools", "search", "write")
        assert gateway.post("/tools/box__shout", {"arguments": {"word": "x"}}, own).status_code == 503
        assert gateway.post("/v1/tools/call_destructive", {"id": "box__shout"}, other).status_code == 503
        (second, first) = gateway.post("/v1/tools/call_log", {"tool": "box__shout"}).json()
        assert (first["caller"], second["caller"]) == ("t1", "t2")
        assert first["outcome"] == "unavailable" and first["arguments"] == '{"word": "x"}'
        assert is_problem(gateway.post("/v1/tools/call_log", {}, other), 403)


@pytest.fixture
def http(tmp_path):
    with opened(tmp_path) as gateway:
        yield gateway


@pytest.fixture
def of_shop(http):
    return create_token(http.folder, "shop-agent", ("search", "write"), project="shop")[1]


@pytest.mark.parametrize(
    ("headers", "named", "project"),
    [
        ({}, {}, "shop"),
        ({"X-Athand-Project": "häfen".encode()}, {}, "häfen"),
        ({"X-Athand-Project": "harbour"}, {"project": "default"}, "default"),
    ],
)
def test_what_is_kept_without_a_project_is_kept_in_that_of_the_request_or_of_the_token(
    http, of_shop, headers, named, project
):
    kept = http.ask("POST", "/v1/memories/add", of_shop, headers, json={"content": "The crane is 40 m high", **named})
    assert kept.json()["project"] == project


def test_a_search_begins_in_the_project_of_the_request(http, of_shop):
    for project in ("shop", "harbour"):
        http.ask("POST", "/v1/memories/add", json={"content": "Deploys need the VPN", "project": project})
    question = {"query": "what do deploys need?", "corpora": ["memories"]}
    for headers, first in (({}, "shop"), ({"X-Athand-Project": "harbour"}, "harbour")):
        hits = http.ask("POST", "/v1/search", of_shop, headers, json=question).json()["hits"]
        assert hits[0]["item"]["project"] == first


@pytest.mark.parametrize("headers", [{"X-Athand-Project": "a\tb"}, {"X-Athand-Project": "x" * 300}])
def test_a_project_that_is_no_name_is_refused(http, headers):
    answer = http.ask("GET", "/v1/status", http.owner, headers)
    assert is_problem(answer, 400) and "X-Athand-Project" in answer.json()["detail"]


def test_the_command_creates_a_token_of_a_project(run):
    assert "in the project shop" in run("token", "create", "shop-agent", "--project", "shop").err
    assert "project shop" in run("token", "list").out
    assert run("token", "list", "--json").json[0]["project"] == "shop"
    assert run("token", "create", "other", "--project", "a\nb").code == 2
