"""What the design of tool search promised, and what went wrong with it on paper: each as something one can see."""

import json
import os
import sys

import pytest
from tests.engines import one_engine
from tests.tools.patience import LIMIT
from tests.tools.servers.kit import FILES, MAIL, TEXT, WEATHER, a_tool, ids, many_tools, write_config
from tests.waiting import PATIENCE, eventually

from athand import Athand
from athand.config import load_settings
from athand.embed import DEFAULT_MODEL, LazyEmbedder
from athand.errors import InvalidInput, NotFound


def opened_with(**environment):
    """A store with some tools, opened by somebody who has set these variables."""
    settings = load_settings(environment={**environment, "HOME": os.environ["HOME"]})
    opened = Athand(":memory:", settings=settings)
    opened.tools.add("files", FILES)
    opened.tools.add("office", many_tools())
    return opened


# Defaults and settings


@one_engine
def test_the_defaults_are_three_hits_above_035_with_07_for_meaning(stocked):
    hits = stocked.search("read or write or remove a file")
    assert len(hits) == 3
    assert all(hit.score >= 0.35 for hit in hits)
    for hit in hits:
        assert hit.combined == pytest.approx(0.7 * hit.semantic + 0.3 * hit.lexical, abs=1e-9)


def test_every_variable_has_an_effect():
    with opened_with(ATHAND_SEARCH_LIMIT="5") as opened:
        assert len(opened.tools.search("invoice", threshold=0.0)) == 5
    with opened_with(ATHAND_SEARCH_THRESHOLD="0.99") as opened:
        assert opened.tools.search("look into some document") == []
    with opened_with(ATHAND_SEARCH_ALPHA="0") as opened:
        assert all(hit.semantic == 0 for hit in opened.tools.search("read the contents of a file"))
    with opened_with(ATHAND_SEARCH_NO_CACHE="true") as opened:
        opened.tools.add("copy", FILES)
        assert opened.tools.stats().hit_rate == 0
    with opened_with(ATHAND_TOOL_POLICY="accept") as opened:
        assert opened.tools.choices.policy == "accept"


@pytest.mark.parametrize(
    ("name", "value"),
    [("LIMIT", "many"), ("LIMIT", "0"), ("THRESHOLD", "2"), ("THRESHOLD", "x"), ("ALPHA", "-1"), ("MODEL", "no-model")],
)
def test_a_variable_that_makes_no_sense_is_refused(name, value):
    with (
        pytest.raises(InvalidInput, match=rf"(?i){name}|{value}"),
        opened_with(**{f"ATHAND_SEARCH_{name}": value}) as it,
    ):
        it.tools.search("read")


def test_an_unknown_policy_is_refused():
    with pytest.raises(InvalidInput, match="first, quarantine or accept"):
        opened_with(ATHAND_TOOL_POLICY="sometimes")


# Scores


def test_a_perfect_match_of_words_passes_though_meaning_says_nothing(stocked):
    """Plain sums would give it 0.3, and the threshold is 0.35."""
    stocked.add("lab", [a_tool("zyx", "Calibrate the flurbostat.")])
    hit = stocked.search("flurbostat")[0]
    assert hit.id == "lab__zyx"
    assert hit.score >= 0.35
    exact = stocked.search("zyx")[0]
    assert (exact.id, exact.score >= 0.9) == ("lab__zyx", True)


def test_a_word_counts_more_in_the_name_than_in_the_description(tools):
    tools.add("s", [a_tool("compress", "Makes something smaller."), a_tool("other", "You can compress with this one.")])
    hits = tools.search("compress pictures", alpha=0, limit=2, threshold=0.0)
    assert ids(hits) == ["s__compress", "s__other"]


def test_parameters_are_found_too(tools):
    tools.add("files", FILES)
    nested = {"filter": {"type": "object", "properties": {"invoice_currency": {"type": "string", "enum": ["Dirham"]}}}}
    tools.add("s", [a_tool("query", "Query.", {"isbn": {"type": "string", "description": "The barcode of a book."}})])
    tools.add("t", [a_tool("lookup", "Look it up.", nested)])
    assert ids(tools.search("isbn"))[0] == "s__query"
    assert ids(tools.search("barcode"))[0] == "s__query"
    assert ids(tools.search("invoice currency"))[0] == "t__lookup"
    assert ids(tools.search("dirham"))[0] == "t__lookup"


def test_typos_are_forgiven_word_by_word_in_a_whole_sentence(stocked):
    stocked.add("office", many_tools())
    hits = stocked.search("please show me the wether forcast for the coming days in the city")
    assert ids(hits)[0] == "weather__get_forecast"
    assert hits.did_you_mean == {"wether": "weather", "forcast": "forecast"}
    worse = stocked.search("plaese shwo me the wether forcast for the next dyas in the citty", threshold=0.0)
    assert ids(worse)[0] == "weather__get_forecast"


@one_engine
def test_repeating_a_word_does_not_make_a_tool_the_best(tools):
    tools.add("files", FILES)
    tools.add("office", many_tools())
    tools.add("loud", [a_tool("shout", "file " * 200), a_tool("spam", "read file read_file " * 50)])
    assert ids(tools.search("read_file"))[0] == "files__read_file"
    assert ids(tools.search("read the contents of a file"))[0] == "files__read_file"


@one_engine
def test_a_long_description_does_not_bury_a_tool(tools):
    tools.add("files", FILES)
    filler = "It works with every system and is described at length in the manual of the house. " * 200
    tools.add("long", [a_tool("brew_coffee", f"Brew coffee in the kitchen. {filler}")])
    assert ids(tools.search("make me a coffee"))[0] == "long__brew_coffee"


@one_engine
@pytest.mark.parametrize(
    ("request_", "wanted"),
    [
        (
            "Find the messages of Anna in my inbox, write a summary to a file, and what will the weather be in Oslo?",
            {"search_inbox", "write_file", "get_forecast"},
        ),
        ("Read the file report.md. Send an email with it to the team.", {"read_file", "send_email"}),
        ("Are there storm warnings?\nIf so, send an email to everybody.", {"get_alerts", "send_email"}),
    ],
)
def test_all_parts_of_a_task_are_among_the_first_five(stocked, request_, wanted):
    stocked.add("office", [tool for tool in many_tools() if "message" not in tool["name"]])
    found = {hit.item.name for hit in stocked.search(request_, limit=5, threshold=0.0)}
    assert wanted <= found


# Lazy and progressive


def test_the_model_is_loaded_by_the_first_that_needs_it(tmp_path, open_tools):
    loaded = []

    class Watched(LazyEmbedder):
        def _load(self):
            loaded.append(True)
            return super()._load()

    open_tools(tmp_path / "store.db").add("files", FILES)
    tools = open_tools(tmp_path / "store.db", embedder=Watched(DEFAULT_MODEL))
    tools.list()
    tools.servers()
    tools.describe("files__read_file")
    tools.stubs("files__read_file")
    tools.search("read", alpha=0)
    assert not loaded
    tools.search("read")
    assert loaded


def test_tools_are_found_as_soon_as_their_own_server_has_answered(open_tools, board, tmp_path):
    tools, made = open_tools(), board()
    endless = ["-c", "import time; time.sleep(3600)"]
    silent = {"command": sys.executable, "args": endless, "connectSeconds": LIMIT}
    tools.load(write_config(tmp_path / "mcp.json", files=made.entry(), silent=silent))
    assert eventually(lambda: ids(tools.search("read_file"))[:1] == ["files__read_file"])
    assert tools.call("files__read_file", {"path": "a"})
    assert {each.name: each.state for each in tools.servers()} == {"files": "connected", "silent": "connecting"}
    assert not tools.wait(0.01)


def test_a_change_of_the_configuration_keeps_the_vectors(open_tools, counting, board, tmp_path):
    tools, files, mail = open_tools(embedder=counting), board("files"), board("mail", MAIL)
    config = write_config(tmp_path / "mcp.json", files=files.entry())
    tools.load(config)
    assert tools.wait(PATIENCE)
    assert len(counting.embedded) == len(FILES)
    write_config(config, files=files.entry(), mail=mail.entry())
    tools.load(config)
    assert tools.wait(PATIENCE)
    assert len(counting.embedded) == len(FILES) + len(MAIL)
    tools.refresh("files")
    assert len(counting.embedded) == len(FILES) + len(MAIL)


def test_a_change_on_a_live_server_embeds_that_tool_when_it_is_approved(open_tools, counting, board, tmp_path):
    tools, files = open_tools(embedder=counting), board("files")
    tools.load(write_config(tmp_path / "mcp.json", files=files.entry()))
    assert tools.wait(PATIENCE)
    counting.embedded.clear()
    files.change(description="Another way to read.")
    tools.refresh("files")
    assert counting.embedded == []
    tools.approve("files__read_file")
    assert len(counting.embedded) == 1
    assert "Another way to read." in counting.embedded[0]


# Answers


@one_engine
def test_the_answer_is_plain_json(stocked):
    answer = json.loads(json.dumps(stocked.search("read_file").to_dict()))
    hit = answer["hits"][0]
    assert (hit["id"], hit["item"]["server"], hit["item"]["kind"]) == ("files__read_file", "files", "read")
    assert {"score", "semantic", "lexical", "combined", "reason", "why"} <= set(hit)
    assert hit["why"]["total"] == pytest.approx(sum(each["contribution"] for each in hit["why"]["signals"].values()))


@one_engine
@pytest.mark.parametrize("language", ["typescript", "python"])
def test_stubs_are_of_just_these_tools(stocked, language):
    code = stocked.stubs(["files__read_file", "mail__send_email"], language)
    assert "Read the contents of a file." in code
    assert "Send an email to somebody." in code
    assert "Weather" not in code
    with pytest.raises(NotFound, match="nope"):
        stocked.stubs(["files__read_file", "nope"], language)


@one_engine
def test_an_unknown_language_is_refused(stocked):
    with pytest.raises(InvalidInput, match="typescript"):
        stocked.stubs("files__read_file", "cobol")


def test_the_status_counts_tools_and_what_waits(athand, board, tmp_path):
    made = board("files", FILES)
    athand.tools.load(write_config(tmp_path / "mcp.json", files=made.entry(), dead={"command": "/nowhere"}))
    assert athand.tools.wait(PATIENCE)
    made.write([*FILES, a_tool("more", "One more.", {"x": TEXT})])
    athand.tools.refresh("files")
    status = athand.status()
    assert (status.corpora["tools"]["count"], status.corpora["tools"]["waiting"]) == (4, 1)
    # Between two tries it is connecting.
    assert eventually(lambda: any(problem.startswith("dead is failing") for problem in athand.status().problems))


@one_engine
def test_searching_costs_a_fraction_of_listing(stocked):
    stocked.add("office", many_tools())
    for _ in range(3):
        stocked.search("weather forecast")
    stats = stocked.stats()
    assert stats.tools == len(FILES) + len(MAIL) + len(WEATHER) + len(many_tools())
    assert stats.indexed == stats.cached == stats.tools
    assert stats.tokens_per_search * 10 < stats.tokens_of_all
    assert stats.tokens_saved > stats.tokens_of_all
