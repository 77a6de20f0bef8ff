"""The project is found by itself: by a name, by the variable, or by the git repository of the working folder."""

import subprocess
import sys

import anyio
import pytest
from mcp import types
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from tests.adapters.mcp_kit import ERAS, gateway, opened, serve, talk
from tests.adapters.test_mcp_http import converse

from athand import Athand
from athand.adapters.http.token_registry import create_token
from athand.adapters.project import DEFAULT, FoundProject, find_project, folder_of_address
from athand.errors import InvalidInput


def git(folder, *words):
    identity = ("-c", "user.name=m", "-c", "user.email=m@example.org", "-c", "protocol.file.allow=always")
    subprocess.run(["git", "-C", str(folder), *identity, *words], check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "checkout"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    git(folder, "commit", "-q", "--allow-empty", "-m", "Begin")
    return folder


def name_of(folder, **environment):
    return find_project(None, folder, environment).name


def test_a_name_comes_first_then_the_variable_then_the_repository(repository):
    assert find_project("shop", repository, {"ATHAND_PROJECT": "other"}).name == "shop"
    assert name_of(repository, ATHAND_PROJECT="other") == "other"
    assert name_of(repository) == "checkout"


@pytest.mark.parametrize(
    "address",
    ["https://example.org/team/harbour.git", "git@example.org:team/harbour.git", "/srv/git/harbour.git/", "../harbour"],
)
def test_the_remote_names_the_project_wherever_it_lies(repository, address):
    git(repository, "remote", "add", "origin", address)
    inside = repository / "src" / "deep"
    inside.mkdir(parents=True)
    assert name_of(inside) == "harbour"


def test_origin_counts_before_other_remotes(repository):
    git(repository, "remote", "add", "fork", "https://example.org/me/fork.git")
    assert name_of(repository) == "fork"
    git(repository, "remote", "add", "origin", "https://example.org/team/harbour.git")
    assert name_of(repository) == "harbour"


def test_a_linked_worktree_is_the_same_project(repository, tmp_path):
    git(repository, "worktree", "add", "-q", "-b", "topic", str(tmp_path / "topic"))
    assert name_of(tmp_path / "topic") == "checkout"
    git(repository, "remote", "add", "origin", "https://example.org/team/harbour.git")
    assert name_of(tmp_path / "topic") == "harbour"


def test_a_submodule_is_a_project_of_its_own(repository, tmp_path):
    library = tmp_path / "library"
    library.mkdir()
    git(library, "init", "-q", "-b", "main")
    git(library, "commit", "-q", "--allow-empty", "-m", "Begin")
    git(repository, "submodule", "add", "-q", str(library), "vendor")
    assert name_of(repository / "vendor") == "library"


def test_without_a_repository_it_is_the_default_project(tmp_path):
    found = find_project(None, tmp_path, {})
    assert found.name == DEFAULT and not found.is_known


@pytest.mark.parametrize("content", [b"", b"gitdir: /nowhere/at/all", b"\xff\xfe\x00", b"gitdir: " + b"a" * 5000])
def test_a_broken_repository_costs_nothing_but_the_name_of_its_remote(tmp_path, content):
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / ".git").write_bytes(content)
    assert name_of(tmp_path / "broken") in ("broken", DEFAULT)


def test_a_remote_that_is_no_name_is_passed_over(repository):
    (repository / ".git" / "config").write_text('[remote "origin"]\n\turl = https://example.org/\x1b[31mred.git\n')
    assert name_of(repository) == "checkout"


def test_a_name_that_cannot_be_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match="--project"):
        find_project("a\nb", tmp_path, {})


def test_an_address_of_a_file_is_a_folder_and_any_other_is_none(tmp_path):
    assert folder_of_address((tmp_path / "with space").as_uri()) == tmp_path / "with space"
    assert folder_of_address("https://example.org/x") is None


HARBOUR = FoundProject("harbour", "the repository of /srv/harbour")


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    def fill(athand, folder):
        for project in ("harbour", "billing"):
            athand.memories.add(f"Deploys of {project} need the VPN", project=project, id=project)
            notes = folder.parent / project
            notes.mkdir()
            (notes / "deploying.md").write_text(f"# Deploying {project}\n\nDeploys need the VPN and a ticket.\n")
            athand.documents.add(notes, folder_id=project, project=project)
        athand.memories.add("Deploys everywhere need the VPN client 5", project="home", tier="global", id="global")

    with opened(tmp_path_factory.mktemp("project"), fill) as workspace:
        yield workspace


def ask(workspace, name, **arguments):
    async def call(client):
        return await client.call_tool(name, arguments)

    return talk(serve(workspace, project=HARBOUR), call)


def test_an_agent_is_told_its_project(workspace):
    async def look(client):
        return client.instructions

    assert "You work on the project harbour (the repository of /srv/harbour)" in talk(
        serve(workspace, project=HARBOUR), look
    )


@pytest.mark.parametrize("name", ["search", "memory_search"])
def test_a_search_begins_with_the_project_and_what_is_global_and_ends_with_others(workspace, name):
    answer = ask(workspace, name, query="what do deploys need?").structured_content
    memories = [hit["id"] for hit in answer["hits"] if hit["corpus"] == "memories"]
    assert set(memories[:2]) == {"harbour", "global"} and memories[2:] == ["billing"]
    assert any("not of this project" in note for note in answer["notes"])
    last = answer["hits"][-1]
    assert "billing" in last["place"]


def test_a_search_that_finds_enough_in_the_project_asks_no_other(workspace):
    answer = ask(workspace, "memory_search", query="what do deploys need?", limit=2).structured_content
    assert {hit["id"] for hit in answer["hits"]} == {"harbour", "global"} and "notes" not in answer


def test_what_is_kept_is_kept_in_the_project(workspace):
    added = ask(workspace, "memory_add", content="The harbour crane is 40 m high").structured_content
    assert added["project"] == "harbour"
    elsewhere = ask(workspace, "memory_add", content="The bill is due on Monday", project="billing").structured_content
    assert elsewhere["project"] == "billing"


def test_a_project_that_nobody_knows_is_named_with_those_there_are(workspace):
    answer = ask(workspace, "memory_search", query="deploys", project="harbor").structured_content
    assert any("Did you mean harbour?" in note and "billing, harbour" in note for note in answer["notes"])


@pytest.mark.parametrize("mode", ERAS)
def test_the_roots_of_the_client_say_which_project_it_is(workspace, repository, mode):
    async def roots(context):
        return types.ListRootsResult(roots=[types.Root(uri=repository.as_uri())])

    async def add(client):
        return await client.call_tool("memory_add", {"content": f"The {mode} roots were asked"})

    server = serve(workspace, project=HARBOUR, asks_roots=True)
    assert talk(server, add, mode=mode, list_roots_callback=roots).structured_content["project"] == "checkout"
    server = serve(workspace, project=HARBOUR, asks_roots=True)
    assert talk(server, add, mode=mode).structured_content["project"] == "harbour"


def test_athand_mcp_finds_the_project_of_its_working_folder(repository, tmp_path):
    git(repository, "remote", "add", "origin", "https://example.org/team/harbour.git")
    environment = {"ATHAND_HOME": str(tmp_path / "home"), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    parameters = StdioServerParameters(
        command=sys.executable, args=["-m", "athand", "mcp"], env=environment, cwd=str(repository)
    )

    async def work():
        async with Client(stdio_client(parameters)) as client:
            await client.call_tool("memory_add", {"content": "Cranes are inspected in May"})
            return client.instructions

    assert "the project harbour" in anyio.run(work)
    [store] = (tmp_path / "home").rglob("*.db")
    with Athand(store) as athand:
        assert [each.project for each in athand.memories.list()] == ["harbour"]


def test_the_shell_works_on_the_project_of_the_folder_and_says_so(run, repository, tmp_path, monkeypatch):
    monkeypatch.delenv("ATHAND_PROJECT")
    monkeypatch.chdir(repository)
    added = run("memory", "add", "Branches start from main")
    assert "in checkout:" in added.out and "Project checkout (the repository of" in added.err
    run("memory", "add", "Branches of the bank start from develop", "--project", "bank")
    found = run("memory", "search", "where do branches start?")
    assert found.out.index("from main") < found.out.index("from develop")
    assert "not of this project" in found.err and "Project checkout" in found.err
    assert "Branches start from main" in run("memory", "brief").out
    assert "Project" not in run("memory", "brief", "--project", "bank").err
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "__init__.py").touch()
    assert "Project" not in run("docs", "add", str(tmp_path / "notes"), "--name", "notes").err
    assert "could not be read" not in run("doctor").out


@pytest.mark.parametrize("mode", ERAS)
def test_over_http_a_header_or_the_token_names_the_project(tmp_path, mode):
    (tmp_path / "tokens").mkdir(mode=0o700)
    token = create_token(tmp_path / "tokens", "shop-agent", ("search", "write"), project="shop")[1]

    async def add(client):
        return (await client.call_tool("memory_add", {"content": f"The crane is {mode}"})).structured_content["project"]

    with opened(tmp_path) as workspace, gateway(workspace, tmp_path / "tokens") as (url, owner):
        assert converse(url, token, add, mode) == "shop"
        assert converse(url, token, add, mode, **{"X-Athand-Project": "harbour"}) == "harbour"
        assert converse(url, owner, add, mode) == "default"
