"""What is in the catalogues: what is indexed when, what is kept apart, and that nothing a server says can break it."""

import json
import math

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.engines import one_engine
from tests.tools.servers.kit import FILES, MAIL, WEATHER, CountingEmbedder, a_tool, ids, many_tools, write_config
from tests.waiting import PATIENCE

from athand import Athand
from athand.embed import DEFAULT_MODEL, LazyEmbedder
from athand.errors import AthandError, Conflict, InvalidInput, NotFound, StoreError
from athand.tools.scoring import INDEX

# Embedding


def test_a_server_more_embeds_its_tools_only(open_tools, counting):
    tools = open_tools(embedder=counting)
    tools.add("files", FILES)
    assert len(counting.embedded) == len(FILES)
    tools.add("weather", WEATHER)
    assert len(counting.embedded) == len(FILES) + len(WEATHER)


def test_an_unchanged_list_embeds_nothing(open_tools, counting):
    tools = open_tools(embedder=counting)
    tools.add("files", FILES)
    before = list(counting.embedded)
    taken = tools.add("files", FILES)
    assert counting.embedded == before
    assert (taken.new, taken.changed, taken.same) == (0, 0, 3)


def test_one_changed_description_embeds_that_tool_only(open_tools, counting):
    tools = open_tools(embedder=counting)
    tools.add("files", FILES)
    counting.embedded.clear()
    taken = tools.add("files", [{**FILES[0], "description": "Read anything at all."}, *FILES[1:]])
    assert len(counting.embedded) == 1
    assert "Read anything at all." in counting.embedded[0]
    assert (taken.new, taken.changed, taken.same, taken.embedded) == (0, 1, 2, 1)
    assert ids(tools.search("read anything at all"))[0] == "files__read_file"
    assert tools.describe("files__read_file").description == "Read anything at all."


def test_the_same_text_is_embedded_once_for_all_servers_and_catalogues(open_tools, counting):
    tools = open_tools(embedder=counting)
    tools.add("files", FILES)
    counting.embedded.clear()
    tools.add("documents", FILES)
    tools.add("files", FILES, catalogue="elsewhere")
    assert counting.embedded == []


def test_without_the_cache_everything_is_embedded_again(open_tools, counting):
    tools = open_tools(embedder=counting, use_cache=False)
    tools.add("files", FILES)
    tools.add("files", FILES, catalogue="elsewhere")
    assert len(counting.embedded) == 2 * len(FILES)
    assert tools.stats().hit_rate == 0


def test_what_comes_back_need_not_be_embedded_again(open_tools, counting):
    tools = open_tools(embedder=counting)
    tools.add("files", FILES)
    tools.remove("files")
    assert tools.search("read_file") == []
    counting.embedded.clear()
    tools.add("files", FILES)
    assert counting.embedded == []
    assert ids(tools.search("read_file"))[0] == "files__read_file"


def test_a_damaged_vector_is_made_again(open_tools, tmp_path, counting):
    location = tmp_path / "store.db"
    tools = open_tools(location, embedder=counting)
    tools.add("files", FILES)
    table, column = "vectors", "vector"
    with tools.store.transaction() as transaction:
        transaction.execute(f"UPDATE {table} SET {column} = :bytes", {"bytes": b"\x00\x01"})
    tools.close()
    again = CountingEmbedder()
    other = open_tools(location, embedder=again)
    other.add("elsewhere", FILES)
    assert len(again.embedded) == len(FILES)
    other.reindex()
    assert ids(other.search("read the contents"))[0].endswith("read_file")


def test_another_model_makes_vectors_of_its_own(open_tools, tmp_path):
    class OtherWeights(CountingEmbedder):
        def _load(self):
            loaded = super()._load()
            type(loaded).model_id = "other-weights"
            return loaded

    tools = open_tools(tmp_path / "store.db")
    tools.add("files", FILES)
    model = OtherWeights()
    other = open_tools(tmp_path / "store.db", embedder=model)
    assert other.search("read the contents").notes
    assert other.embed_missing()
    assert len([text for text in model.embedded if "file" in text]) == len(FILES)
    hits = other.search("read the contents")
    assert not hits.notes
    assert hits[0].semantic > 0


def test_making_everything_anew_gives_the_same(athand):
    tools = athand.tools
    tools.add("files", FILES)
    tools.add("weather", WEATHER, catalogue="elsewhere")
    tools.reject("files__write_file")
    tools.disable("files__remove_file")
    tools.add("mail", MAIL)
    tools.remove("mail")
    before = tools.store.fingerprint(INDEX)
    assert tools.reindex() == 5
    assert tools.store.fingerprint(INDEX) == before
    assert athand.check() == []


def test_the_statistics_add_up(open_tools, counting):
    tools = open_tools(embedder=counting)
    assert tools.stats().hit_rate == tools.stats().tokens_saved == 0
    tools.add("files", FILES)
    tools.add("copy", FILES)
    tools.search("read_file", limit=1)
    tools.search("nothing of that kind at all", threshold=1.0)
    stats = tools.stats()
    assert (stats.servers, stats.tools, stats.indexed, stats.cached, stats.searches) == (2, 6, 6, 6, 2)
    assert stats.hit_rate == pytest.approx(0.5)
    assert 0 < stats.tokens_per_search < stats.tokens_of_all
    assert abs(stats.tokens_saved - 2 * (stats.tokens_of_all - stats.tokens_per_search)) <= 2
    assert (stats.calls, stats.failures) == (0, 0)


def test_what_was_counted_is_kept(open_tools, tmp_path):
    for expected in (1, 2):
        tools = open_tools(tmp_path / "store.db")
        tools.add("files", FILES)
        tools.search("read")
        tools.close()
        assert open_tools(tmp_path / "store.db").stats().searches == expected


# Catalogues


@pytest.fixture
def two(tools):
    """The same server in two catalogues, and one more in each."""
    tools.add("files", FILES, catalogue="one")
    tools.add("files", [{**FILES[0], "description": "Another way to read."}], catalogue="two")
    tools.add("weather", WEATHER, catalogue="one")
    tools.add("mail", MAIL, catalogue="two")
    return tools


def test_catalogues_are_apart(two):
    for catalogue, own in (("one", {"files", "weather"}), ("two", {"files", "mail"})):
        hits = two.search("read send forecast file mail weather", catalogue=catalogue, limit=100, threshold=0.0)
        assert {hit.item.catalogue for hit in hits} == {catalogue}
        assert {tool.server for tool in two.list(catalogue=catalogue)} == own
        assert {server.name for server in two.servers(catalogue=catalogue)} == own
    with pytest.raises(NotFound):
        two.describe("mail__send_email", catalogue="one")


def test_neither_corrections_nor_close_names_come_from_another_catalogue(two):
    hits = two.search("send_emial", catalogue="one", threshold=0.9)
    assert hits == []
    assert "email" not in hits.did_you_mean.values()
    assert not any("mail" in id_ for id_ in hits.closest)
    found = two.search("send_emial", catalogue="two")
    assert ids(found)[0] == "mail__send_email"


def test_an_id_in_two_catalogues_must_be_said_which(two):
    with pytest.raises(Conflict, match="'one', 'two'"):
        two.describe("files__read_file")
    for decide in (two.approve, two.reject, two.disable, two.call):
        with pytest.raises(Conflict, match="catalogue"):
            decide("files__read_file")
    with pytest.raises(Conflict, match="catalogue"):
        two.remove("files")
    assert two.describe("files__read_file", catalogue="two").description == "Another way to read."


def test_of_several_catalogues_the_first_that_has_a_server_wins(two):
    assert two.describe("files__read_file", catalogue=["two", "one"]).catalogue == "two"
    assert two.describe("files__read_file", catalogue=["one", "two"]).catalogue == "one"
    for order in (["two", "one"], ["one", "two"]):
        hits = two.search("read_file", catalogue=order, limit=10, threshold=0.0)
        assert [hit.item.catalogue for hit in hits if hit.id == "files__read_file"] == [order[0]]
    assert "files__write_file" in ids(two.search("write_file", catalogue=["one", "two"]))
    assert "files__write_file" not in ids(two.search("write_file", catalogue=["two", "one"], threshold=0.0))
    with pytest.raises(NotFound):
        two.describe("files__write_file", catalogue=["two", "one"])


@pytest.mark.parametrize("decide", ["disable", "reject"])
def test_what_the_first_catalogue_hides_is_not_shown_from_the_second(two, decide):
    getattr(two, decide)("files__read_file", catalogue="two")
    assert "files__read_file" not in ids(two.search("read_file", catalogue=["two", "one"], limit=10, threshold=0.0))
    assert two.describe("files__read_file", catalogue=["two", "one"]).block_reason
    assert "files__read_file" in ids(two.search("read_file", catalogue="one"))


def test_decisions_are_made_in_one_catalogue(two):
    two.reject("files__read_file", catalogue="one")
    assert two.describe("files__read_file", catalogue="two").state == "approved"
    two.remove("files", catalogue="one")
    assert [tool.id for tool in two.list("files")] == ["files__read_file"]
    assert two.count() == {"one": 2, "two": 3}


def test_tools_are_listed_in_the_same_order_everywhere(tools):
    tools.add("s", [a_tool(name) for name in ("b", "A", "a_b", "a-b", "B", "aB", "_a", "Z1", "z0")])
    listed = [tool.id for tool in tools.list()]
    assert listed == sorted(listed)


@one_engine
def test_an_empty_list_of_catalogues_has_nothing(two):
    assert two.search("read_file", catalogue=[]) == two.list(catalogue=[]) == two.servers(catalogue=[]) == []


# Showing and hiding


def test_a_disabled_tool_is_not_found_until_it_is_enabled(stocked):
    assert stocked.disable("files__read_file").enabled is False
    assert "files__read_file" not in ids(stocked.search("read_file", limit=100, threshold=0.0))
    assert "files__read_file" in [tool.id for tool in stocked.list()]
    assert stocked.describe("files__read_file").block_reason == "is disabled"
    stocked.add("files", FILES)
    assert "files__read_file" not in ids(stocked.search("read_file", limit=100, threshold=0.0))
    stocked.enable("files__read_file")
    assert ids(stocked.search("read_file"))[0] == "files__read_file"


def test_a_disabled_server_shows_none_of_its_tools(stocked):
    assert stocked.disable("files").state == "disabled"
    assert stocked.search("read_file", server="files", threshold=0.0) == []
    stocked.add("files", [a_tool("copy_file", "Copy a file.")], description="another description")
    assert stocked.search("copy_file", server="files", threshold=0.0) == []
    assert next(server for server in stocked.servers() if server.name == "files").state == "disabled"
    stocked.enable("files")
    assert ids(stocked.search("read_file"))[0] == "files__read_file"
    assert ids(stocked.search("copy_file"))[0] == "files__copy_file"


def test_a_rejected_tool_is_not_found_until_it_is_approved(stocked):
    stocked.reject("files__read_file")
    assert "files__read_file" not in ids(stocked.search("read_file", limit=100, threshold=0.0))
    stocked.add("files", FILES)
    assert stocked.describe("files__read_file").state == "rejected"
    stocked.approve("files__read_file")
    assert ids(stocked.search("read_file"))[0] == "files__read_file"


def test_removing_a_server_takes_its_tools_along(stocked):
    stocked.remove("files")
    assert stocked.list("files") == stocked.search("read_file", server="files") == []
    assert "files" not in {server.name for server in stocked.servers()}
    with pytest.raises(NotFound):
        stocked.remove("files")


def test_servers_say_how_many_tools_they_have(stocked):
    servers = {server.name: server for server in stocked.servers()}
    assert [servers[name].tools for name in ("files", "mail", "weather")] == [3, 2, 2]
    assert (servers["files"].state, servers["files"].transport, servers["files"].waiting) == ("none", "none", 0)
    stocked.add("files", [], description="Everything on the disk.")
    described = next(server for server in stocked.servers() if server.name == "files")
    assert (described.description, described.tools) == ("Everything on the disk.", 3)


# Whatever servers say


@one_engine
def test_a_schema_that_is_none_is_kept_and_flagged(tools):
    schema = {"type": "object", "properties": {"path": {"type": "str"}, "n": {"type": "int"}}}
    tools.add("files", [{"name": "read", "description": "Reads.", "inputSchema": schema}])
    tool = tools.describe("files__read")
    assert tool.input_schema == schema
    assert tool.state == "approved"
    assert tool.flags
    assert not any(flag.is_dangerous for flag in tool.flags)
    assert ids(tools.search("read")) == ["files__read"]
    for language in ("typescript", "python"):
        assert "read" in tools.stubs("files__read", language)


@one_engine
@pytest.mark.parametrize("wrong", ["read", {"name": "read"}, None, 5])
def test_what_is_no_list_of_tools_is_refused(tools, wrong):
    with pytest.raises(InvalidInput, match="tools"):
        tools.add("files", wrong)
    assert tools.servers() == []


@one_engine
def test_what_cannot_be_a_tool_is_left_out_and_the_rest_taken(tools, caplog):
    taken = tools.add("files", [None, 5, "read", {}, {"name": ""}, {"name": 7}, [], FILES[0]])
    assert taken.new == 1
    assert len(taken.left_out) == 7
    assert taken.left_out[0] == "tool 1: A tool is an object with a name, not NoneType."
    assert tools.add("files", [{"name": "x" * 1001}]).left_out[0].startswith("tool 1: A tool needs a name")
    assert [tool.id for tool in tools.list()] == ["files__read_file"]
    assert "left out" in caplog.text


def test_the_first_of_two_tools_with_one_name_counts(tools):
    tools.add("files", [FILES[0], {**FILES[0], "description": "An impostor."}])
    assert tools.describe("files__read_file").description == "Read the contents of a file."


def test_names_that_look_alike_are_different_tools(tools):
    names = ["read", "Read", "READ", "read ", "re-ad", "re_ad", "re\u0430d", "read\u200b"]
    tools.add("s", [a_tool(name) for name in names])
    listed = tools.list()
    assert sorted(tool.name for tool in listed) == sorted(names)
    assert len({tool.id.lower() for tool in listed} | {tool.id for tool in listed}) >= len(names)


def test_servers_that_look_alike_keep_their_tools_apart(tools):
    for server in ("a__b", "a", "A", "a b", "a.b"):
        tools.add(server, [a_tool("b__c", server), a_tool("c", server)])
    assert len(tools.list()) == 10
    assert all(tool.description == tool.server for tool in tools.list())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None), max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=12,
)
SCHEMAS = JSON | st.fixed_dictionaries(
    {"type": JSON, "properties": st.dictionaries(st.text(max_size=6), JSON, max_size=3)},
    optional={"required": JSON, "$ref": st.just("#"), "enum": JSON, "items": JSON, "anyOf": JSON, "$defs": JSON},
)
NAMES = st.text(max_size=20) | st.text(st.characters(codec=None), min_size=1, max_size=9)
STRANGE = st.fixed_dictionaries(
    {"name": NAMES | JSON},
    optional={"title": JSON, "description": JSON | st.text(), "inputSchema": SCHEMAS, "outputSchema": SCHEMAS}
    | {"annotations": JSON},
)


@pytest.fixture(scope="module")
def both(module_postgres_url):
    with Athand(":memory:") as one, Athand(module_postgres_url) as other:
        yield one.tools, other.tools


@pytest.mark.parametrize("many", [30, pytest.param(150, marks=pytest.mark.slow)])
def test_nothing_that_a_server_says_breaks_anything(both, many):
    @settings(max_examples=many)
    @given(listed=st.lists(STRANGE | JSON, min_size=1, max_size=3), server=NAMES, catalogue=NAMES)
    @example(listed=[{"name": "a\0b", "description": "x\0y", "title": "\0"}], server="s", catalogue="c")
    @example(listed=[{"name": "a\ud800", "description": "\udfff", "title": "\ud800"}], server="s", catalogue="c")
    @example(
        listed=[{"name": "n", "inputSchema": {"properties": {"a\0": {"description": "\0\ud800"}}}}],
        server="s",
        catalogue="c",
    )
    @example(
        listed=[{"name": "n", "annotations": {"readOnlyHint": "yes"}, "inputSchema": {"x": math.nan}}],
        server="s",
        catalogue="c",
    )
    @example(listed=[FILES[0]], server="\ud800", catalogue="a\0b")
    def take_in(listed, server, catalogue):
        for tools in both:
            taken_in(tools, listed, server, catalogue)

    take_in()


def taken_in(tools, listed, server, catalogue):
    """Whatever is listed can be shown, found and written down; whoever lists it, and where, may be refused by name."""
    try:
        tools.add(server, listed, catalogue=catalogue)
        for tool in tools.list(server, catalogue=catalogue):
            assert tools.describe(tool.id, catalogue=catalogue) == tool
            json.dumps(tool.to_dict())
            tools.search(tool.name, catalogue=catalogue)
            tools.stubs(tool.id, "python", catalogue=catalogue)
            tools.stubs(tool.id, "typescript", catalogue=catalogue)
    except InvalidInput as error:
        assert any(f"{what} " in str(error) for what in ("server", "catalogue"))


@pytest.mark.parametrize("many", [1_000, pytest.param(5_000, marks=pytest.mark.slow)])
def test_thousands_of_tools_can_be_added_and_found(open_tools, many):
    tools = open_tools()
    listed = [a_tool(f"{tool['name']}_{number}", tool["description"]) for number in range(30) for tool in many_tools()]
    assert tools.add("office", [*listed[: many - len(FILES)], *FILES]).new == many
    assert ids(tools.search("read_file"))[0] == "office__read_file"
    assert ids(tools.search("translate_recipe_4"))[0] == "office__translate_recipe_4"
    assert tools.stats().tokens_of_all > 20 * many
    assert tools.add("office", FILES).same == 3


def test_everything_is_there_after_reopening(tmp_path):
    with Athand(tmp_path / "store.db") as opened:
        opened.tools.add("files", FILES, description="Files.")
        before = opened.tools.list()
    with Athand(tmp_path / "store.db") as opened:
        assert opened.tools.list() == before
        assert ids(opened.tools.search("read_file"))[0] == "files__read_file"


def test_a_full_disk_does_not_stop_a_search(open_tools, tmp_path, monkeypatch):
    tools = open_tools(tmp_path / "store.db")
    tools.add("files", FILES)
    monkeypatch.setattr("athand.tools.usage._FLUSH_AFTER", 1)

    def full(**how):
        raise StoreError("The disk is full.")

    with monkeypatch.context() as patch:
        patch.setattr(tools.store, "transaction", full)
        assert ids(tools.search("read_file"))[0] == "files__read_file"
    tools.search("read_file")
    assert tools.stats().searches == 2


# Configurations


@one_engine
def test_a_server_with_a_mistake_in_its_configuration_is_named_and_the_others_work(tools, board, tmp_path):
    config = write_config(tmp_path / "mcp.json", files=board().entry(), broken={"args": ["x"]}, odd=5)
    tools.load(config)
    assert tools.wait(PATIENCE)
    servers = {server.name: server for server in tools.servers()}
    assert servers["files"].state == "connected"
    for name in ("broken", "odd"):
        assert servers[name].state == "failing"
        assert name in servers[name].reason
        assert "without a server" not in servers[name].reason


def test_what_a_configuration_names_no_more_is_gone(tools, board, tmp_path):
    files, mail = board("files"), board("mail", MAIL)
    config = write_config(tmp_path / "mcp.json", files=files.entry(), mail=mail.entry())
    tools.load(config)
    assert tools.wait(PATIENCE)
    assert len(tools.list()) == 5
    write_config(config, mail=mail.entry())
    tools.load(config)
    assert {tool.server for tool in tools.list()} == {"mail"}
    assert [server.name for server in tools.servers()] == ["mail"]


@one_engine
def test_a_server_that_its_configuration_disables_shows_no_tools(tools, board, tmp_path):
    made = board()
    config = write_config(tmp_path / "mcp.json", files=made.entry())
    tools.load(config)
    assert tools.wait(PATIENCE)
    write_config(config, files=made.entry(disabled=True))
    assert tools.load(config)[0].state == "disabled"
    assert tools.search("read_file", threshold=0.0) == []
    write_config(config, files=made.entry())
    tools.load(config)
    tools.enable("files")
    assert ids(tools.search("read_file"))[0] == "files__read_file"


@one_engine
def test_tools_can_be_kept_out_by_the_configuration(tools, board, tmp_path):
    made = board()
    tools.load(
        write_config(tmp_path / "mcp.json", files=made.entry(includeTools=["*_file"], excludeTools=["remove_*"]))
    )
    assert tools.wait(PATIENCE)
    assert [tool.name for tool in tools.list()] == ["read_file", "write_file"]


@one_engine
def test_tools_of_a_server_that_is_down_are_found(tools, live, tmp_path):
    made = live()
    made.path.unlink()  # the next question ends it
    with pytest.raises(AthandError):
        tools.refresh("files", seconds=PATIENCE)
    assert ids(tools.search("read_file"))[0] == "files__read_file"
    assert tools.describe("files__read_file").description == "Read the contents of a file."


def test_the_user_the_project_and_one_more_have_catalogues_of_their_own(tools, board, tmp_path):
    project = tmp_path / "project"
    user = write_config(tmp_path / "user.json", files=board("a").entry())
    own = write_config(project / ".mcp.json", files=board("b").entry())
    more = write_config(tmp_path / "more.json", files=board("c").entry())
    catalogues = tools.load_all(user=user, folder=project / "deep" / "inside", config=more)
    assert catalogues == (str(more), str(project), "default")
    assert {server.catalogue: server.source for server in tools.servers()} == {
        "default": str(user),
        str(project): str(own),
        str(more): str(more),
    }
    assert {server.state for server in tools.servers()} == {"unknown", "untrusted"}


@one_engine
@pytest.mark.parametrize("text", ["{", "[]", '{"mcpServers": 5}', "\0", ""])
def test_a_broken_project_file_does_not_take_the_users_own_servers_away(tools, board, tmp_path, text, caplog):
    user = write_config(tmp_path / "user.json", files=board().entry())
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / ".mcp.json").write_text(text)
    catalogues = tools.load_all(user=user, folder=tmp_path / "project")
    assert catalogues[-1] == "default"
    assert [server.name for server in tools.servers()] == ["files"]
    assert ".mcp.json" in caplog.text


def test_a_project_in_a_very_deep_folder_has_a_catalogue_too(tools, board, tmp_path):
    folder = tmp_path.joinpath(*["a-folder-with-a-long-name"] * 15)
    write_config(folder / ".mcp.json", files=board().entry())
    catalogues = tools.load_all(folder=folder)
    assert len(catalogues) == 2
    assert tools.servers(catalogue=catalogues[0])[0].source == str(folder / ".mcp.json")


def test_a_model_that_is_loaded_late_is_no_part_of_listing(open_tools):
    class NeverLoaded(LazyEmbedder):
        def _load(self):
            raise AssertionError("nobody needs the model for that")

    tools = open_tools(embedder=NeverLoaded(DEFAULT_MODEL))
    assert tools.list() == tools.servers() == []
    assert tools.search("read", mode="keyword") == []


def test_long_definitions_do_not_fill_an_answer(tools):
    long = {"type": "object", "properties": {f"name{at}": {"type": "string"} for at in range(300)}}
    text = "Read the tide at the pier. " + "It says more. " * 500
    tools.add("sea", [{"name": f"tide_{at}", "description": text, "inputSchema": long} for at in range(3)])
    tools.add("air", [{"name": "wind", "description": "Read the wind at the pier.", "inputSchema": {"type": "object"}}])
    whole = tools.search("read the tide at the pier", limit=4)
    cut = tools.search("read the tide at the pier", limit=4, longest=8_000)
    assert [hit.id for hit in cut] == [hit.id for hit in whole]
    assert sum(len(json.dumps(hit.item.to_dict())) + len(hit.text) for hit in cut) < 12_000
    for hit in cut:
        assert hit.text == hit.item.description
        assert hit.item.server == "air" or "`describe` of this tool" in hit.item.input_schema["description"]
    assert tools.describe("sea__tide_0").input_schema == long
