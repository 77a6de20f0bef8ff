"""What agents can do over MCP: the same in both eras of the protocol."""

import json
import logging
import threading

import anyio
import jsonschema
import pytest
from mcp import MCPError, types
from tests.adapters.mcp_kit import ERAS, NOTE, everything, opened, serve, talk, wire

from athand.adapters.mcp import render
from athand.adapters.mcp.render import render_result
from athand.adapters.mcp.tool_list import DEFAULT_TOOLS, ToolList
from athand.adapters.operations import SCOPES, list_toolsets, operations
from athand.errors import InvalidInput

ARGUMENTS = {
    "search": {"query": "staging"},
    "memory_search": {"query": "staging", "project": "shop"},
    "memory_add": {"content": "Coffee is on the second floor", "id": "coffee"},
    "open": {"id": "vpn"},
    "memory_brief": {"project": "shop"},
    "search_content": {"folder_id": "notes", "exact_terms": ["VPN"]},
    "find_documents": {"query": "deploying"},
    "get_document_text": {"folder_id": "notes", "document_id": "deploying.md"},
    "search_tools": {"query": "read a file"},
    "describe_tool": {"id": "files__read_file"},
    "call_tool": {"id": "files__read_file", "arguments": {"path": "a.txt"}},
}


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    with opened(tmp_path_factory.mktemp("mcp")) as workspace:
        yield workspace


@pytest.fixture(params=ERAS)
def mode(request):
    return request.param


def test_the_twelve_tools_of_every_day_are_offered_without_a_choice(workspace, mode):
    async def listed(client):
        return [tool.name for tool in (await client.list_tools()).tools]

    names = talk(serve(workspace), listed, mode=mode)
    assert len(names) == 12 and set(names) == DEFAULT_TOOLS.keys()


def test_every_tool_of_every_day_answers_as_its_schema_says(workspace, mode):
    async def call_all(client):
        tools = (await client.list_tools()).tools
        return {tool.name: (tool, await client.call_tool(tool.name, ARGUMENTS.get(tool.name, given))) for tool in tools}

    for id_ in ("old", "new"):
        workspace.athand.memories.add(f"The {id_} fact of {mode}", id=f"{id_}-{mode}")
    given = {"old_id": f"old-{mode}", "new_id": f"new-{mode}"}
    for name, (tool, result) in talk(serve(workspace), call_all, mode=mode).items():
        assert not result.is_error, (name, result)
        jsonschema.validate(result.structured_content, tool.output_schema)
        assert result.content[0].text


def test_hits_are_readable_as_text_and_exact_as_data(workspace):
    async def ask(client):
        return await client.call_tool("search", {"query": "staging deploys VPN", "corpora": ["memories"]})

    result = talk(serve(workspace), ask)
    found = workspace.athand.search("staging deploys VPN", corpora=["memories"])
    first = result.structured_content["hits"][0]
    assert (first["id"], first["corpus"], first["score"]) == ("vpn", "memories", round(found[0].score, 2))
    assert first["snippet"] == found[0].item.content and "title" not in first
    assert first["place"].startswith("shop · ") and first["next"] == 'open("vpn")'
    assert first["why"].startswith("keyword ") and "raw" not in first["why"]
    text = result.content[0].text
    assert text.startswith(f"1. {found[0].score:.2f} memories vpn\n   {first['place']}\n   {first['snippet']}\n")
    assert f"why: {first['why']}" in text


def test_every_detail_is_there_for_who_asks_for_it(workspace, mode):
    async def ask(client):
        asked = {"query": "staging deploys VPN", "corpora": ["memories"], "detail": "full"}
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        return await client.call_tool("search", asked), tools["search"].output_schema

    result, schema = talk(serve(workspace), ask, mode=mode)
    found = workspace.athand.search("staging deploys VPN", corpora=["memories"])
    first = result.structured_content["hits"][0]
    assert first["id"] == found[0].id and first["item"]["content"] == found[0].item.content
    assert first["why"]["total"] == pytest.approx(found[0].why.total, abs=1e-3)
    assert first["why"]["signals"].keys() == found[0].why.signals.keys()
    jsonschema.validate(result.structured_content, schema)


def test_nothing_that_fits_is_said_in_words(workspace):
    async def ask(client):
        return await client.call_tool("search", {"query": "zebra migration over the Serengeti"})

    assert talk(serve(workspace), ask).content[0].text.startswith("Nothing fits.")


def test_an_answer_that_is_a_text_is_wrapped_and_readable(workspace):
    async def ask(client):
        return await client.call_tool("memory_brief", {"project": "shop"})

    result = talk(serve(workspace), ask)
    assert result.structured_content == {"result": result.content[0].text}
    assert "Staging deploys need the VPN" in result.content[0].text


def test_errors_of_a_tool_are_results_that_say_what_to_do(workspace, mode):
    async def fail(client):
        unknown = await client.call_tool("describe_tool", {"id": "nobody__nothing"})
        wrong = await client.call_tool("search", {"qery": "x", "limit": 0})
        return unknown, wrong

    unknown, wrong = talk(serve(workspace), fail, mode=mode)
    assert unknown.is_error and wrong.is_error
    assert unknown.meta["athand/error"] == {"kind": "NotFound"}
    assert "athand tools" in unknown.content[0].text or "search_tools" in unknown.content[0].text
    assert "query: Field required" in wrong.content[0].text and "qery is not known" in wrong.content[0].text


@pytest.mark.parametrize(("name", "says"), [("no_such_tool", "No tool"), ("add_folder", "No tool")])
def test_a_tool_that_is_not_offered_is_an_error_of_the_protocol(workspace, mode, name, says):
    async def call(client):
        with pytest.raises(MCPError, match=says) as raised:
            await client.call_tool(name, {})
        return raised.value.error.code

    assert talk(serve(workspace), call, mode=mode) == -32602


def test_an_error_nobody_has_foreseen_tells_nothing_of_the_inside(workspace, mode, monkeypatch, caplog):
    def broken(*given, **more):
        raise ZeroDivisionError("a secret of the inside")

    monkeypatch.setattr(type(workspace.athand), "search", broken)

    async def call(client):
        with pytest.raises(MCPError) as raised:
            await client.call_tool("search", {"query": "x"})
        return raised.value.error

    error = talk(serve(workspace), call, mode=mode)
    assert error.code == -32603 and "secret" not in error.message
    assert "a secret of the inside" in caplog.text


@pytest.mark.parametrize("toolset", list_toolsets())
def test_a_toolset_has_all_its_operations_and_the_search_over_everything(toolset):
    names = set(ToolList([toolset]).filter(SCOPES))
    assert names == {"search", "open"} | {each.name for each in operations().values() if each.toolset == toolset}


def test_all_toolsets_together_have_every_operation():
    assert [*ToolList(["all"]).filter(SCOPES)] == [*operations()]


@pytest.mark.parametrize("toolsets", [["memory"], ["memories", "nonsense"], [], [""]])
def test_toolsets_that_do_not_exist_are_refused_by_name(toolsets):
    with pytest.raises(InvalidInput, match="There are: memories, documents, tools, flows, store, all"):
        ToolList(toolsets)


@pytest.mark.parametrize("scope", SCOPES)
def test_a_scope_offers_and_allows_its_own_operations_only(workspace, scope):
    server = serve(workspace, toolsets=["all"], scopes=[scope])
    foreign = next(name for name, each in operations().items() if each.scope != scope)

    async def look(client):
        with pytest.raises(MCPError, match=f"needs the scope {operations()[foreign].scope}"):
            await client.call_tool(foreign, {})
        return {tool.name for tool in (await client.list_tools()).tools}

    assert talk(server, look) == {name for name, each in operations().items() if each.scope == scope}


def test_without_the_scope_search_nothing_can_be_read(workspace):
    async def read(client):
        for asking in (
            client.list_resources(),
            client.read_resource("athand://memory/vpn"),
            client.get_prompt("remember"),
        ):
            with pytest.raises(MCPError, match="needs the scope search"):
                await asking

    talk(serve(workspace, scopes=["write"]), read)


def test_the_tools_of_a_browser_are_named_as_the_profile_wants(workspace):
    async def listed(client):
        return {tool.name for tool in (await client.list_tools()).tools}

    plain = talk(serve(workspace, toolsets=["flows"]), listed)
    named = talk(serve(workspace, toolsets=["flows"], profile="metamask"), listed)
    assert "ui_click" in plain and "mm_click" in named
    assert {name.replace("mm_", "ui_") for name in named} == plain


def test_a_session_that_is_begun_belongs_to_the_app_of_the_profile(workspace):
    async def begin(client):
        own = await client.call_tool("knowledge_start_session", {"goal": "Send a token"})
        other = await client.call_tool("knowledge_start_session", {"goal": "Buy a kettle", "app": "shop"})
        return own.structured_content["app"], other.structured_content["app"]

    assert talk(serve(workspace, toolsets=["flows"], profile="metamask"), begin) == ("metamask", "shop")


def test_the_list_is_the_same_to_the_byte_every_time(workspace, mode):
    async def listed(client):
        return wire((await client.list_tools()).tools)

    first, second = (talk(everything(workspace), listed, mode=mode) for _ in range(2))
    assert first == second


def test_annotations_tell_what_a_tool_may_do(workspace):
    tools = {tool.name: tool.annotations for tool in ToolList(["all"]).list_tools(SCOPES)}
    assert tools["search"].read_only_hint and tools["search"].idempotent_hint
    assert not tools["memory_add"].read_only_hint and not tools["memory_add"].destructive_hint
    assert tools["call_tool"].open_world_hint and tools["memory_forget"].destructive_hint


def test_long_work_tells_how_far_it_is(workspace, tmp_path, mode):
    for number in range(30):
        (tmp_path / f"{number}.md").write_text(f"# Note {number}\n\nText of note {number}.\n")
    told = []

    async def hear(done, total, message):
        told.append((done, total))

    async def add(client):
        return await client.call_tool(
            "add_folder", {"path": str(tmp_path), "folder_id": f"many-{mode}"}, progress_callback=hear
        )

    result = talk(everything(workspace), add, mode=mode)
    assert not result.is_error and told
    assert [done for done, _ in told] == sorted({done for done, _ in told}) and told[-1][0] == told[-1][1]


def test_a_call_that_is_given_up_breaks_nothing(workspace, monkeypatch):
    begun, released, ended = threading.Event(), threading.Event(), threading.Event()
    real = type(workspace.athand).search

    def slow(self, query, **more):
        if query == "slow":
            begun.set()
            released.wait(60)
            ended.set()
        return real(self, query, **more)

    monkeypatch.setattr(type(workspace.athand), "search", slow)

    async def converse(client):
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(client.call_tool, "search", {"query": "slow"})
                await anyio.to_thread.run_sync(begun.wait)
                scope.cancel()
        answer = await client.call_tool("search", {"query": "staging"})
        released.set()
        await anyio.to_thread.run_sync(ended.wait)
        return answer

    assert not talk(serve(workspace), converse).is_error


def test_memories_and_documents_are_resources(workspace, mode):
    async def read_all(client):
        listed, cursor = [], None
        while True:
            page = await client.list_resources(cursor=cursor)
            listed += page.resources
            cursor = page.next_cursor
            if cursor is None:
                break
        return {each.uri: (await client.read_resource(each.uri)).contents[0] for each in listed}

    texts = talk(serve(workspace), read_all, mode=mode)
    assert texts["athand://memory/vpn"].text.startswith("Staging deploys need the VPN\n\n(shop,")
    assert texts["athand://document/notes/deploying.md"].text == NOTE
    assert texts["athand://document/notes/deploying.md"].mime_type == "text/markdown"
    assert "Umlauts" in texts["athand://document/notes/deep/Gr%C3%B6%C3%9Fe%20%26%20mehr.txt"].text


@pytest.mark.parametrize(
    "uri",
    [
        "athand://memory/nope",
        "athand://memory/",
        "athand://document/notes/nope.md",
        "athand://document/notes",
        "athand://document/notes/../store.db",
        "athand://document/notes/%2e%2e/store.db",
        "athand://document/notes/%2Fetc%2Fpasswd",
        "athand://document/notes//etc/passwd",
        "athand://document/..%2F/store.db",
        "athand://document/notes/a%00b",
        "athand://elsewhere/x",
        "file:///etc/passwd",
    ],
)
def test_what_is_no_resource_is_not_found(workspace, mode, uri):
    async def read(client):
        with pytest.raises(MCPError) as raised:
            await client.read_resource(uri)
        return raised.value.error

    error = talk(serve(workspace), read, mode=mode)
    assert error.code == (-32002 if mode == "legacy" else -32602)
    assert error.data == {"uri": uri}


def test_a_cursor_that_leads_nowhere_is_refused(workspace):
    async def page(client):
        for cursor in ("nope/", "notes/broken", "\x00"):
            with pytest.raises(MCPError) as raised:
                await client.list_resources(cursor=cursor)
            assert raised.value.error.code == -32602

    talk(serve(workspace), page)


def test_resources_and_prompts_are_those_of_the_toolsets(workspace):
    async def look(client):
        templates = [each.name for each in (await client.list_resource_templates()).resource_templates]
        prompts = [each.name for each in (await client.list_prompts()).prompts]
        return templates, prompts, [each.uri for each in (await client.list_resources()).resources]

    assert talk(serve(workspace, toolsets=["flows"]), look) == ([], ["walk"], [])
    templates, prompts, uris = talk(serve(workspace, toolsets=["documents"]), look)
    assert (templates, prompts, uris) == (["document"], [], [])


def test_prompts_are_filled_with_what_is_known(workspace, mode):
    async def fill(client):
        asked = {
            "recall": {"task": "deploy to staging", "project": "shop"},
            "remember": {"project": "shop"},
            "find_tool": {"task": "read the contents of a file"},
            "walk": {"goal": "buy a kettle", "app": "shop"},
        }
        listed = [each.name for each in (await client.list_prompts()).prompts]
        assert listed == [*asked]
        return {name: (await client.get_prompt(name, given)).messages[0].content.text for name, given in asked.items()}

    texts = talk(serve(workspace), fill, mode=mode)
    assert "Staging deploys need the VPN" in texts["recall"] and "deploying.md" in texts["recall"]
    assert "memory_supersede" in texts["remember"]
    assert "files__read_file" in texts["find_tool"]
    assert "add-to-cart" in texts["walk"]


@pytest.mark.parametrize(
    ("name", "given", "says"),
    [
        ("nope", {}, "There are: recall, remember, find_tool, walk"),
        ("recall", {}, "missing: task"),
        ("recall", {"task": " "}, "missing: task"),
        ("find_tool", {"task": "x", "tool": "y"}, "not known: tool"),
    ],
)
def test_a_prompt_that_cannot_be_filled_says_why(workspace, name, given, says):
    async def get(client):
        with pytest.raises(MCPError, match=says):
            await client.get_prompt(name, given)

    talk(serve(workspace), get)


def test_arguments_are_completed_with_the_names_there_are(workspace, mode):
    async def complete(client):
        recall = types.PromptReference(name="recall")
        document = types.ResourceTemplateReference(uri="athand://document/{folder_id}/{+path}")
        project = await client.complete(recall, {"name": "project", "value": "sh"})
        folder = await client.complete(document, {"name": "folder_id", "value": "not"})
        task = await client.complete(recall, {"name": "task", "value": "x"})
        return [each.completion.values for each in (project, folder, task)]

    assert talk(serve(workspace), complete, mode=mode) == [["shop"], ["notes"], []]


def test_what_the_log_says_is_told_to_a_client_that_asked(workspace, mode, monkeypatch):
    real = type(workspace.athand).search

    def warning(self, query, **more):
        logging.getLogger("athand").warning("the model is %s", "gone")
        logging.getLogger("athand").info("too small to be told")
        return real(self, query, **more)

    monkeypatch.setattr(type(workspace.athand), "search", warning)
    heard = []

    async def hear(told):
        heard.append((told.level, told.logger, told.data))

    async def converse(client):
        await client.call_tool("search", {"query": "unheard"})
        if mode == "legacy":
            wish = types.SetLevelRequest(params=types.SetLevelRequestParams(level="warning"))
            await client.session.send_request(wish, types.EmptyResult)
        meta = {} if mode == "legacy" else {"io.modelcontextprotocol/logLevel": "warning"}
        await client.call_tool("search", {"query": "heard"}, meta=meta)

    talk(serve(workspace), converse, mode=mode, logging_callback=hear)
    assert heard == [("warning", "athand", "the model is gone")]


def test_names_of_files_that_are_no_unicode_do_no_harm():
    result = render_result(operations()["memory_brief"], "a name \udcff in an answer", {})
    assert json.loads(result.model_dump_json())["content"][0]["text"] == "a name ? in an answer"


def test_a_screenshot_comes_with_the_picture_unless_that_is_too_large(tmp_path, monkeypatch):
    (tmp_path / "seen.png").write_bytes(b"a picture")
    answer = {"path": str(tmp_path / "seen.png")}

    def kinds():
        return [each.type for each in render_result(operations()["ui_screenshot"], answer, {}).content]

    assert kinds() == ["text", "image"]
    monkeypatch.setattr(render, "_MAX_IMAGE_BYTES", 8)
    assert kinds() == ["text"]
