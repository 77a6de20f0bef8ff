"""Searching tools: by name, by words, by meaning; and finding nothing where nothing fits."""

import threading
from functools import partial

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.engines import one_engine
from tests.tools.servers.kit import FILES, MAIL, TEXT, WEATHER, a_tool, ids, many_tools
from tests.waiting import PATIENCE

from athand import Athand
from athand.embed import DEFAULT_MODEL, LazyEmbedder
from athand.errors import AthandError, InvalidInput, StoreError, Unavailable


@pytest.fixture(scope="module")
def crowd(tmp_path_factory):
    """Hundreds of tools; many tests read them, none changes them."""
    with Athand(tmp_path_factory.mktemp("crowd") / "store.db") as opened:
        opened.tools.add("files", FILES)
        opened.tools.add("weather-station", WEATHER)
        opened.tools.add("mail", MAIL)
        opened.tools.add("office", many_tools())
        noisy = "read_file " * 10
        opened.tools.add("copycat", [a_tool("duplicate", noisy), a_tool("read_files_of_friends", noisy)])
        yield opened.tools


def test_a_hit_says_what_was_found_how_well_and_why(stocked):
    hit = stocked.search("weather forecast for a city")[0]
    assert (hit.id, hit.item.server, hit.item.name) == ("weather__get_forecast", "weather", "get_forecast")
    assert hit.corpus == "tools"
    assert 0.35 <= hit.score <= 1
    assert hit.text == hit.item.description == "Weather forecast of the next days for a city."
    assert "forecast" in hit.reason
    assert hit.item.input_schema["properties"] == {"city": TEXT}


QUERIES = ("read_file", "weather forecast", "send a mail to my boss", "what storms are coming", "raed_file", "forecats")


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("alpha", [None, 0.0, 0.25, 1.0])
def test_the_breakdown_adds_up(crowd, query, alpha):
    hits = crowd.search(query, limit=100, threshold=0.0, alpha=alpha)
    assert hits
    share = 0.7 if alpha is None else alpha
    for hit in hits:
        assert hit.combined == pytest.approx(share * hit.semantic + (1 - share) * hit.lexical, abs=1e-9)
        contributions = [signal.contribution for signal in hit.why.signals.values()]
        assert hit.why.total == pytest.approx(sum(contributions), abs=1e-9)
        assert hit.score == pytest.approx(min(1.0, max(0.0, hit.why.total)), abs=1e-9)
        assert 0 <= hit.semantic <= 1
        assert 0 <= hit.lexical <= 1
        assert hit.reason


NAMES = ("read_file", "readFile", "read file", "READ_FILE", "read-file", "  read_file  ")
FULL_NAMES = ("files__read_file", "files read_file", "files.read_file", "files/readFile", "files:read_file")


@pytest.mark.parametrize("alpha", [None, 0.0, 1.0])
@pytest.mark.parametrize("name", [*NAMES, *FULL_NAMES])
def test_a_name_however_it_is_written_comes_first(crowd, name, alpha):
    hits = crowd.search(name, alpha=alpha)
    assert hits[0].id == "files__read_file"
    assert hits[0].score >= 0.9
    assert hits[0].reason == "its name"


@pytest.mark.parametrize("name", ["weather-station__get_alerts", "weather station get alerts", "office__export_recipe"])
def test_every_name_in_a_crowd_is_first(crowd, name):
    hits = crowd.search(name)
    assert hits[0].item.name in ("get_alerts", "export_recipe")
    assert hits[0].score >= 0.9


@pytest.mark.parametrize("typo", ["raed_file", "read_fiel", "readfile", "red_file", "read_filee", "files__raed_file"])
def test_a_name_with_a_typo_is_found(crowd, typo):
    hits = crowd.search(typo)
    assert hits[0].id == "files__read_file"
    assert hits[0].score >= 0.35


@pytest.mark.parametrize("query", ["wether forecast", "weather forcast", "send emial", "severe wheather"])
def test_a_typo_in_a_short_request_does_not_hide_the_tool(crowd, query):
    wanted = "send_email" if "send" in query else "get_alerts" if "severe" in query else "get_forecast"
    found = crowd.search(query)
    assert wanted in [hit.item.name for hit in found]


@one_engine
@pytest.mark.parametrize("request_", ["search arxiv for papers", "add an idea to my mind map"])
def test_a_server_is_named_by_a_part_of_its_name_or_by_its_words(tools, request_):
    papers, ideas = "Search papers by words.", "Add an idea."
    for server in ("mcp-simple-arxiv", "library"):
        tools.add(server, [a_tool("search_papers", papers)])
    for server in ("mindmap", "diary"):
        tools.add(server, [a_tool("add_idea", ideas)])
    first, second = tools.search(request_)[:2]
    assert first.item.server in ("mcp-simple-arxiv", "mindmap")
    assert second.score < first.score
    assert second.why.signals["server"].calibrated == 0.8


@pytest.mark.parametrize(
    "request_",
    [
        "forecast the weather in Oslo and send a mail to my boss",
        "get the weather in Oslo, then also mail it to my boss",
    ],
)
def test_each_of_two_wishes_in_a_sentence_finds_its_tool(crowd, request_):
    assert {"get_forecast", "send_email"} <= {hit.item.name for hit in crowd.search(request_, limit=5)}


@pytest.mark.parametrize("query", ["order bread", "concert tickets", "call the bank", "sand the floor"])
def test_an_english_word_is_not_taken_for_another(stocked, query):
    stocked.add("files", FILES)
    stocked.add("odd", [a_tool("convert_ticket", "Converts a ticket."), a_tool("go_back", "Goes back."), *MAIL])
    found = stocked.search(query, threshold=0)
    assert not {"bread", "concert", "bank", "sand"}.intersection(found.did_you_mean)


@pytest.mark.parametrize("query", ["lock the city gate", "severe back pain"])
def test_a_short_request_needs_more_than_one_of_its_words_or_the_meaning(stocked, query):
    assert stocked.search(query) == []
    assert stocked.search(query).closest
    assert stocked.search(query, threshold=0.35) != []


@pytest.mark.parametrize("id_", ["the tool!", "größe ändern", "a" * 100, "выполнить", "工具 搜索"])
def test_a_tool_whose_name_was_made_safe_is_found_by_its_id_and_its_name(tools, id_):
    tools.add("files", FILES)
    tools.add("odd server", [a_tool(id_, "Something else.")])
    made = tools.list("odd server")[0]
    for query in (made.id, id_):
        hits = tools.search(query)
        assert hits[0].id == made.id
        assert hits[0].score >= 0.9


def _tool_that_requires(name, description, **parameters):
    properties = {each: {"type": "string", "description": text} for each, text in parameters.items()}
    schema = {"type": "object", "properties": properties, "required": list(parameters)}
    return {"name": name, "description": description, "inputSchema": schema}


_ZONE = "IANA timezone name (e.g., 'America/New_York', 'Europe/London'). Use 'Etc/UTC' as local timezone"
CLOCK = (  # as mcp-server-time has them
    _tool_that_requires(
        "convert_time",
        "Convert time between timezones",
        source_timezone=f"Source {_ZONE} if no source timezone provided by the user.",
        target_timezone="Target IANA timezone name (e.g., 'Asia/Tokyo', 'America/San_Francisco'). "
        "Use 'Etc/UTC' as local timezone if no target timezone provided by the user.",
        time="Time to convert in 24-hour format (HH:MM)",
    ),
    _tool_that_requires(
        "get_current_time",
        "Get current time in a specific timezone",
        timezone=f"{_ZONE} if no timezone provided by the user.",
    ),
)


@one_engine
@pytest.mark.parametrize(
    ("request_", "wanted"),
    [
        ("what time is it in Tokyo?", "get_current_time"),
        ("what time is it in tokyo", "get_current_time"),
        ("if it is 9am in New York, what time is it in Tokyo?", "convert_time"),
        ("convert 14:30 from UTC to Paris time", "convert_time"),
        ("convert_time", "convert_time"),
    ],
)
def test_of_two_tools_that_fit_the_one_is_first_whose_arguments_are_known(stocked, request_, wanted):
    stocked.add("time", CLOCK)
    assert stocked.search(request_)[0].item.name == wanted


def test_a_word_that_no_model_knows_passes_the_threshold(stocked):
    stocked.add("zorp", [a_tool("qxv_run", "Runs a qxvbrtl on the machine.")])
    hits = stocked.search("qxvbrtl")
    assert ids(hits)[0] == "zorp__qxv_run"
    assert hits[0].score >= 0.35


@one_engine
@pytest.mark.parametrize(
    ("request_", "wanted"),
    [
        ("will it rain in Paris tomorrow?", "get_forecast"),
        ("show me the contents of notes.txt", "read_file"),
        ("write an email to Anna that I am late", "send_email"),
        ("is there a storm warning", "get_alerts"),
    ],
)
def test_a_natural_sentence_finds_its_tool(stocked, request_, wanted):
    assert wanted in [hit.item.name for hit in stocked.search(request_)]


@one_engine
@pytest.mark.parametrize("query", ["qqqq zzzz", "who won the chess championship in 1972", "xylophone"])
def test_where_nothing_fits_nothing_is_returned_but_the_closest_names(stocked, query):
    hits = stocked.search(query, threshold=0.5)
    assert hits == []
    known = {tool.id for tool in stocked.list()}
    assert set(hits.closest) <= known
    assert len(hits.closest) <= 3


def test_the_closest_names_are_those_that_look_alike(crowd):
    hits = crowd.search("read_filing", threshold=1.0)
    assert hits == []
    assert "files__read_file" in hits.closest


def test_an_empty_request_and_an_empty_catalogue_find_nothing(tools):
    assert tools.search("read a file") == []
    tools.add("files", FILES)
    assert tools.search("") == tools.search("  \n ") == []


def test_a_request_of_several_parts_finds_the_tools_of_all(crowd):
    request = "Read the file notes.txt. Then check the weather forecast for Rome. Finally send an email to Anna."
    found = {hit.item.name for hit in crowd.search(request, limit=5, threshold=0.0)}
    assert {"read_file", "get_forecast", "send_email"} <= found


def test_a_server_filters(crowd):
    hits = crowd.search("find a message", server="mail", limit=10, threshold=0.0)
    assert len(hits) == 2
    assert {hit.item.server for hit in hits} == {"mail"}
    assert crowd.search("read_file", server="mail") == []
    assert crowd.search("read_file", server="nobody") == []


@one_engine
def test_a_server_that_is_named_prefers_its_tools(tools):
    for server in ("github", "gitlab"):
        tools.add(server, [a_tool("create_issue", "Create an issue in a repository.")])
    for server in ("github", "gitlab"):
        hits = tools.search(f"create an issue on {server}", limit=2)
        assert ids(hits)[0] == f"{server}__create_issue"
        assert hits[0].score > hits[1].score


@one_engine
def test_servers_whose_names_have_the_same_words_are_all_named(tools):
    for server in ("my-git", "my_git", "other"):
        tools.add(server, [a_tool("push", "Push commits to the remote.")])
    hits = tools.search("push commits with my git", limit=3)
    assert {hit.item.server for hit in hits[:2]} == {"my-git", "my_git"}
    assert hits[0].score == pytest.approx(hits[1].score, abs=0.05)


WRONG = {
    "limit": (0, 101, -1, "3", True, 2.5),
    "threshold": (-0.1, 1.1, float("nan"), "0.5"),
    "alpha": (-0.1, 1.5, float("nan"), "x"),
    "mode": ("fuzzy", 5),
    "server": ("", 5, "\0"),
    "catalogue": ("", "\ud800", 5, [5]),
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in WRONG.items() for value in values])
def test_arguments_out_of_range_are_refused_by_name(crowd, name, value):
    with pytest.raises(InvalidInput, match=name):
        crowd.search("read", **{name: value})


def test_a_request_must_be_text_and_a_mode_goes_without_alpha(crowd):
    with pytest.raises(InvalidInput, match="query"):
        crowd.search(None)
    with pytest.raises(InvalidInput, match="mode or alpha"):
        crowd.search("read", mode="keyword", alpha=0.5)


@pytest.mark.parametrize("limit", [1, 2, 100])
def test_there_are_never_more_than_asked_for(crowd, limit):
    assert len(crowd.search("one of the user", limit=limit, threshold=0.0)) <= limit
    assert len(crowd.search("invoice", limit=limit, threshold=0.0)) >= min(limit, 2)


def test_the_threshold_is_kept(crowd):
    for hit in crowd.search("export an invoice", limit=100, threshold=0.6):
        assert hit.score >= 0.6
    everything = crowd.search("export an invoice", limit=100, threshold=0.0)
    assert everything[-1].score < 0.6


def test_what_is_not_given_comes_from_the_settings(open_tools):
    tools = open_tools(limit=1, threshold=0.9)
    tools.add("files", FILES)
    assert len(tools.search("file", threshold=0.0)) == 1
    assert tools.search("put it on the disk") == []


def test_the_modes_are_ends_of_alpha(crowd):
    assert ids(crowd.search("storm", mode="keyword")) == ids(crowd.search("storm", alpha=0))
    assert ids(crowd.search("storm", mode="semantic")) == ids(crowd.search("storm", alpha=1))
    assert all(hit.semantic == 0 for hit in crowd.search("storm", mode="keyword"))


class HangingEmbedder(LazyEmbedder):
    """Answers no request until it is let go."""

    def __init__(self):
        super().__init__(DEFAULT_MODEL)
        self.is_free, self.hangs = threading.Event(), False

    def attempt(self, action):
        if self.hangs:
            self.is_free.wait(PATIENCE)
        return super().attempt(action)


@pytest.mark.parametrize("alpha", [None, 1.0])
def test_a_model_that_hangs_leaves_the_words(open_tools, alpha):
    model = HangingEmbedder()
    tools = open_tools(embedder=model, search_seconds=0.2)
    tools.add("weather", WEATHER)
    model.hangs = True
    try:
        hits = tools.search("severe storms", alpha=alpha)
        assert ids(hits)[0] == "weather__get_alerts"
        assert "keyword only" in hits.notes[0]
        assert "0.2 s" in hits.notes[0]
        assert hits[0].combined == pytest.approx(hits[0].lexical, abs=1e-9)
    finally:
        model.is_free.set()


class BrokenEmbedder(LazyEmbedder):
    """Cannot be loaded."""

    def _load(self):
        raise Unavailable("the model is not on this machine")


@pytest.mark.parametrize("alpha", [None, 0.0, 1.0])
def test_without_a_model_the_words_are_searched_and_that_is_said(open_tools, alpha):
    tools = open_tools(embedder=BrokenEmbedder(DEFAULT_MODEL))
    tools.add("weather", WEATHER)
    tools.add("files", FILES)
    hits = tools.search("severe storms", alpha=alpha)
    assert ids(hits)[0] == "weather__get_alerts"
    assert hits[0].score >= 0.35
    assert bool(hits.notes) is (alpha != 0.0)
    assert tools.search("read_file")[0].score >= 0.9
    assert tools.stats().cached == 0


def test_a_missing_model_is_in_the_status():
    with Athand(":memory:") as opened:
        opened._embedder._load = BrokenEmbedder(DEFAULT_MODEL)._load
        opened.tools.add("files", FILES)
        status = opened.status()
    assert any("the model is not on this machine" in problem for problem in status.problems)
    assert status.corpora["tools"]["count"] == 3


def test_tools_added_without_a_model_are_found_by_meaning_once_there_is_one(open_tools, tmp_path, counting):
    without = open_tools(tmp_path / "store.db", embedder=BrokenEmbedder(DEFAULT_MODEL))
    without.add("weather", WEATHER)
    without.close()
    tools = open_tools(tmp_path / "store.db", embedder=counting)
    assert tools.search("will it rain").notes
    assert tools.embed_missing()
    hits = tools.search("will it rain in Paris tomorrow?")
    assert ids(hits)[0] == "weather__get_forecast"
    assert hits[0].semantic > 0
    assert not hits.notes


def test_the_scores_do_not_depend_on_what_was_asked_before(open_tools, tmp_path, counting):
    """A search while the vectors are being made must not leave anything behind that later searches use."""
    without = open_tools(tmp_path / "store.db", embedder=BrokenEmbedder(DEFAULT_MODEL))
    without.add("office", many_tools())
    asked = open_tools(tmp_path / "store.db", embedder=counting)
    asked.search("send an invoice")
    asked.embed_missing()
    fresh = open_tools(tmp_path / "store.db", embedder=counting)
    for query in ("send an invoice", "drive the car", "print a picture"):
        scores = [[hit.score for hit in each.search(query, limit=10, threshold=0.0)] for each in (asked, fresh)]
        assert scores[0] == pytest.approx(scores[1], abs=1e-9)


def test_the_words_of_a_query_reach_the_model_as_a_query(open_tools, counting):
    tools = open_tools(embedder=counting)
    tools.add("weather", WEATHER)
    tools.search("will it rain")
    assert "will it rain" in counting.asked
    assert "will it rain" not in counting.embedded
    assert not any("Weather forecast" in text for text in counting.asked)
    assert any("Weather forecast" in text for text in counting.embedded)


def test_the_order_is_the_same_every_time(crowd):
    for query in ("invoice", "delete something", "a"):
        first = ids(crowd.search(query, limit=50, threshold=0.0))
        assert all(ids(crowd.search(query, limit=50, threshold=0.0)) == first for _ in range(3))


def test_both_engines_find_the_same(postgres_url):
    with Athand(":memory:") as one, Athand(postgres_url) as other:
        for each in (one, other):
            each.tools.add("files", FILES)
            each.tools.add("office", many_tools())
        for query in ("read a file", "invoice", "translate_recipe", "trnslate recipe", "share my photos", "zzz"):
            found = [each.tools.search(query, limit=10, threshold=0.0) for each in (one, other)]
            assert ids(found[0]) == ids(found[1])
            assert [hit.score for hit in found[0]] == pytest.approx([hit.score for hit in found[1]], abs=1e-6)


def test_a_search_over_everything_finds_tools_too(athand):
    athand.tools.add("weather", WEATHER)
    athand.memories.add("The weather in Rome was fine.")
    hits = athand.search("weather forecast for a city")
    assert "weather__get_forecast" in ids(hits)
    assert ids(athand.search("weather", corpora=["tools"], limit=1)) != []


HOSTILE = ("\0", "\ud800", "' OR 1=1 --", '"', "%", "_", "*", "NEAR(", "a\0b", "{}", "\\", "🦄" * 9, ":x")
ANYTHING = st.one_of(
    st.text(max_size=60),
    st.text(st.characters(codec=None), max_size=30),
    st.sampled_from(HOSTILE),
)


@pytest.fixture(scope="module")
def both(module_postgres_url):
    with Athand(":memory:") as one, Athand(module_postgres_url) as other:
        for each in (one, other):
            each.tools.add("files", FILES)
        yield one.tools, other.tools


@pytest.mark.parametrize("many", [40, pytest.param(150, marks=pytest.mark.slow)])
def test_every_text_is_a_legal_request(both, many):
    known = {tool.id for tool in both[0].list()}

    @settings(max_examples=many)
    @given(query=ANYTHING, alpha=st.sampled_from([None, 0.0, 1.0]))
    def ask(query, alpha):
        for tools in both:
            assert {hit.id for hit in tools.search(query, alpha=alpha)} <= known

    ask()


@pytest.mark.parametrize("query", HOSTILE)
def test_a_text_that_is_syntax_elsewhere_is_a_legal_request(both, query):
    for tools in both:
        assert tools.search(query) is not None


def everything_about(tools, name):
    """All that can be asked with a name in it."""
    yield from (partial(each, name) for each in (tools.describe, tools.list, tools.approve, tools.disable, tools.call))
    yield from (partial(each, name) for each in (tools.read_on, tools.refresh, tools.remove, tools.stubs))
    yield from (partial(each, catalogue=name) for each in (tools.list, tools.servers, tools.rules))
    yield partial(tools.describe, "files__read_file", catalogue=name)
    yield partial(tools.search, "file", server=name)
    yield partial(tools.search, "file", catalogue=[name, "default"])
    yield partial(tools.rule, name, None)


@pytest.mark.parametrize("many", [15, pytest.param(100, marks=pytest.mark.slow)])
def test_every_name_is_answered_or_refused(both, many):
    @settings(max_examples=many)
    @given(name=ANYTHING)
    @example("\0")
    @example("\ud800")
    @example("' OR 1=1 --")
    @example(":x")
    def ask(name):
        for tools in both:
            for question in everything_about(tools, name):
                try:
                    question()
                except AthandError as error:
                    assert str(error)
                    assert not isinstance(error, StoreError)

    ask()


def test_a_very_long_request_is_answered(crowd):
    assert crowd.search("read the file " * 20_000) is not None
    assert crowd.search("x" * 300_000) == []
