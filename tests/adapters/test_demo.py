"""The demo as a newcomer runs it: in an empty home, with real servers, and nothing left when it is over."""

import http.client
import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import anyio
import httpx2
import psutil
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from tests.waiting import PATIENCE

from athand import Athand
from athand.adapters.cli import demo, demo_store
from athand.adapters.cli.demo_server import Home, note_server
from athand.errors import Conflict

HOLDS = "import sys, time; print('ready', flush=True); time.sleep(600)"
BRANCHING = {"name": "git_create_branch", "description": "Creates a new branch from an optional base branch"}


@pytest.fixture(scope="module")
def newcomer(tmp_path_factory):
    """Runs the command in an empty home, as another process."""
    home = tmp_path_factory.mktemp("newcomer")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ATHAND_", "XDG_"))}

    def newcomer(*arguments):
        command = [sys.executable, "-m", "athand", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, env=kept | {"HOME": str(home)}, check=False)
        assert done.returncode == 0, done.stderr
        return done

    newcomer.home = home
    yield newcomer
    newcomer("demo", "--stop")


@pytest.fixture(scope="module")
def shown(newcomer):
    return json.loads(newcomer("demo", "--json").stdout)


def ask(server, path, token=None):
    connection = http.client.HTTPConnection(urlsplit(server["url"]).netloc, timeout=PATIENCE)
    connection.request("GET", path, headers={"Authorization": f"Bearer {token}"} if token else {})
    answer = connection.getresponse()
    content = json.loads(answer.read())
    connection.close()
    return answer.status, content


def speak_mcp(server, conversation):
    """Run a conversation of an MCP client with the server that a demo left."""
    headers = {"Authorization": f"Bearer {Path(server['token_file']).read_text().strip()}"}

    async def run():
        async with (
            httpx2.AsyncClient(headers=headers, timeout=PATIENCE) as connection,
            Client(streamable_http_client(f"{server['url']}/mcp", http_client=connection)) as client,
        ):
            await conversation(client)

    anyio.run(run)


def test_all_four_corpora_answer_one_question(shown):
    first, *_ = shown["questions"]
    assert set(first["facets"]) >= {"memories", "documents", "tools", "flows"}
    assert {hit["corpus"] for hit in first["hits"]} == {"memories", "documents", "tools", "flows"}
    assert all(hit["why"]["signals"] for hit in first["hits"])


def test_typos_are_understood_and_nothing_is_made_up(shown):
    _, mistyped, unanswerable = shown["questions"]
    assert mistyped["did_you_mean"] == {"oredr": "order"}
    assert [hit["corpus"] for hit in mistyped["hits"][:2]] == ["flows", "memories"]
    assert unanswerable["hits"] == []


def test_the_tools_are_those_of_real_servers(shown):
    servers = {each["name"]: each for each in shown["corpora"]["tools"]["servers"]}
    assert servers.keys() == {"git", "time"}
    assert servers["git"]["tools"] > 5


def test_what_was_superseded_does_not_answer(shown):
    memories = shown["corpora"]["memories"]
    assert memories["answers"]
    assert memories["superseded"] not in memories["answers"]


def test_the_server_answers_who_has_the_token_and_nobody_else(shown):
    server = shown["server"]
    token = Path(server["token_file"]).read_text().strip()
    status, found = ask(server, "/v1/search?query=cancel+an+order", token)
    assert status == 200
    assert found["hits"][0]["title"] == "Cancel order 17 for a customer"
    assert ask(server, "/v1/search?query=cancel+an+order")[0] == 401
    assert ask(server, "/readyz")[0] == 200


def test_what_an_agent_gets_of_the_demo_keeps_to_its_budget(shown):
    question = shown["questions"][0]["query"]

    async def measure(client, name, **arguments):
        found = await client.call_tool(name, arguments)
        assert not found.is_error, found
        return len(json.dumps(found.structured_content, ensure_ascii=False, separators=(",", ":")))

    async def talk(client):
        assert await measure(client, "search", query=question) <= 3_000
        assert await measure(client, "search", query=question, limit=10) <= 6_000
        assert await measure(client, "search_tools", query="list the branches of a repository", limit=3) <= 1_500
        assert await measure(client, "memory_add", content="The kettle in the kitchen leaks.") <= 250

    speak_mcp(shown["server"], talk)


def test_an_agent_with_the_tools_of_every_day_starts_the_branch_of_the_demo(shown, tmp_path):
    """It finds how branches begin, reads the document, walks the way to the ticket, and calls the tool of git."""
    repository = tmp_path / "harbour"
    git = ["git", "-C", str(repository), "-c", "user.name=m", "-c", "user.email=m@example.org"]
    subprocess.run(["git", "init", "-q", "-b", "main", str(repository)], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "Begin"], check=True)

    async def work(client):
        async def call(name, **arguments):
            result = await client.call_tool(name, arguments)
            assert not result.is_error, result.content
            return result.structured_content

        memory = (await call("memory_search", query="what do branches start from?"))["hits"][0]
        assert "from main" in memory["snippet"]
        assert "develop" in (await call("open", id=memory["id"]))["supersedes"][0]["title"]
        passage = (await call("search", query="how an agent starts a branch", corpora=["documents"]))["hits"][0]
        assert "branch for ticket 9" in (await call("open", id=passage["id"]))["text"]
        walk = (await call("search", query="open ticket 9", corpora=["flows"]))["hits"][0]
        assert any("Ticket 9" in step for step in (await call("open", id=walk["id"]))["steps"])
        tool = (await call("search_tools", query="start a new branch"))["hits"][0]
        assert tool["id"] == "git__git_create_branch" and "branch_name: string" in tool["signature"]
        asked = {"repo_path": str(repository), "branch_name": "9-cart-total", "base_branch": "main"}
        await call("call_tool", id=tool["id"], arguments=asked)

    speak_mcp(shown["server"], work)
    branches = subprocess.run([*git, "branch", "--list"], capture_output=True, text=True, check=True).stdout
    assert "9-cart-total" in branches


def test_stopping_leaves_no_process_and_no_file(newcomer, shown):
    process = psutil.Process(shown["server"]["process_id"])
    family = [process, *process.children(recursive=True)]
    assert "nothing is left" in newcomer("demo", "--stop").stderr
    _, alive = psutil.wait_procs(family, timeout=PATIENCE)
    assert alive == []
    assert [*newcomer.home.rglob("*.db")] == []
    assert "no demo to stop" in newcomer("demo", "--stop").stderr


def test_the_demo_is_told_in_words_and_leaves_the_users_store_alone(run, tmp_path, monkeypatch):
    def add_tools(athand, folder):
        athand.tools.add("git", [BRANCHING])
        return demo_store.CorpusSummary("tools", "1 of git", {})

    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(demo_store, "_add_tools", add_tools)  # real servers are started by the demo of a newcomer
    shown = run("demo", "--no-server", "--data-dir", str(tmp_path / "data"))
    assert shown.code == 0, shown.err
    assert "git__git_create_branch" in shown.out
    assert "Nothing fits" in shown.err
    assert max(map(len, shown.out.splitlines())) <= 80
    assert run("memory", "list", "--json").json == []


def test_without_the_extra_our_own_server_brings_the_tools(tmp_path, monkeypatch):
    monkeypatch.setattr(demo_store, "find_spec", lambda module: None)
    with Athand(":memory:") as athand:
        filled = demo_store._add_tools(athand, tmp_path)
        assert "pip install 'athand[demo]'" in filled.text
        assert "athand__memory_add" in [tool.id for tool in athand.tools.list()]


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path / "demo")


def test_what_is_printed_can_be_typed_where_the_demo_was_run(tmp_path, monkeypatch):
    program = tmp_path / ".venv/bin/athand"
    program.parent.mkdir(parents=True)
    program.touch(mode=0o755)
    monkeypatch.setattr(demo, "own_command", lambda: [str(program)])
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert demo._quote_program() == "~/.venv/bin/athand"
    monkeypatch.chdir(tmp_path)
    assert demo._quote_program() == ".venv/bin/athand"
    monkeypatch.setenv("PATH", str(program.parent))
    assert demo._quote_program() == "athand"


def test_the_next_demo_ends_the_server_of_the_last(home):
    with home.lock() as handle:
        server = subprocess.Popen([sys.executable, "-c", HOLDS], stdout=subprocess.PIPE, pass_fds=(handle,))
        note_server(handle, server.pid)
        server.stdout.readline()
    with home.lock():
        assert server.wait(PATIENCE) != 0
    server.stdout.close()


def test_the_folders_that_a_demo_makes_are_private(tmp_path):
    with Home(tmp_path / "data" / "demo").lock():
        assert stat.S_IMODE((tmp_path / "data" / "demo").stat().st_mode) == 0o700
        assert stat.S_IMODE((tmp_path / "data").stat().st_mode) == 0o700


def test_two_demos_at_once_are_refused(home):
    with home.lock(), pytest.raises(Conflict, match="Another demo is running"), home.lock():
        pass


def test_a_folder_of_somebody_else_is_never_emptied(home):
    home.folder.mkdir()
    (home.folder / "thesis.md").write_text("years of work")
    with pytest.raises(Conflict, match="not made by a demo"), home.lock():
        pass
    assert (home.folder / "thesis.md").read_text() == "years of work"


def test_a_demo_that_is_interrupted_leaves_nothing(home):
    def interrupted():
        with home.lock():
            (home.folder / "athand.db").write_text("half a store")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert not home.folder.exists()
