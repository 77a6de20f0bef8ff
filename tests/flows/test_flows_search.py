"""What a search of flows finds, in which order, with which reasons, and when it stays silent."""

from datetime import UTC, datetime, timedelta

import pytest
from tests.engines import one_engine

from athand import Athand
from athand.app import SCHEMAS
from athand.embed import DEFAULT_MODEL, LazyEmbedder
from athand.errors import InvalidInput
from athand.flows import Flows, Observation
from athand.store import open_store

SESSIONS = (
    ("wallet", "Send 0.1 ETH to another account", ["send"], "home", "send-button"),
    ("wallet", "Swap DAI for USDC", ["swap"], "swap", "get-quotes"),
    ("wallet", "Reveal the secret recovery phrase", ["security"], "settings", "reveal-phrase"),
    ("shop", "Return a damaged item for a refund", ["returns"], "orders", "return-items"),
    ("shop", "Write a five star review with a photo", ["review"], "product", "write-review"),
    ("mail", "Turn on the vacation auto-reply", ["vacation"], "settings", "responder-switch"),
    ("travel", "Reserve a hotel room with breakfast in Rome", ["hotels"], "hotels", "reserve-room"),
    ("tracker", None, [], "board", "burndown-chart-link"),
)


def hours_ago(hours):
    return datetime.now(UTC) - timedelta(hours=hours)


def fill(flows, moment):
    for number, (app, goal, flow_tags, screen, test_id) in enumerate(SESSIONS):
        begun = moment - timedelta(hours=7 * number)
        id_ = flows.start_session(app=app, goal=goal, flow_tags=flow_tags, id=f"s{number}", created_at=begun).id
        seen = Observation(screen=screen, test_ids=[{"testId": test_id}, {"testId": "app-logo"}])
        for at, (tool, target) in enumerate([("ui_describe_screen", None), ("ui_click", {"testId": test_id})]):
            flows.record(id_, tool=tool, target=target, before=seen, timestamp=begun + timedelta(seconds=at))
    return flows


@pytest.fixture(scope="module")
def filled(engine):
    """The sessions, for tests that only read."""
    return fill(engine.flows, hours_ago(1))


def first(flows, query, **options):
    return flows.search(query, **options)[0]


@pytest.mark.parametrize(
    ("query", "session"),
    [
        ("transfer ether", "s0"),
        ("exchange tokens", "s1"),
        ("show my seed phrase", "s2"),
        ("get the money back for a broken product", "s3"),
        ("rate a product", "s4"),
        ("automatic answer while on holiday", "s5"),
        ("accommodation in Italy", "s6"),
        ("burndown", "s7"),
        ("hotels screen", "s6"),
        ("ui_click reserve-room", "s6"),
    ],
)
def test_a_session_is_found_by_what_it_was_for(filled, query, session):
    assert first(filled, query).session_id == session


@pytest.mark.parametrize(
    "query",
    [
        "xyzzy plugh",
        "qwertz",
        "eigenvalues of a hermitian matrix",
        "who composed the ninth symphony",
        "🦖",
        "%%%",
    ],
)
def test_nonsense_finds_nothing_though_sessions_are_fresh(filled, query):
    assert filled.search(query) == []


@pytest.mark.parametrize("query", ["", "   ", "\n"])
def test_an_empty_query_finds_nothing(filled, query):
    assert filled.search(query) == []


@pytest.mark.parametrize(
    "query", ['"', "NEAR(", "send*", "send\0", "a:b", "-", "' OR 1=1 --", "\ud800", "送金", "x" * 100_000]
)
def test_every_text_is_a_query(filled, query):
    assert all(hit.score > 0 for hit in filled.search(query))
    assert filled.search("send")  # and nothing is the worse for it


@one_engine
@pytest.mark.parametrize("wrong", [{"query": 3}, {"limit": 0}, {"limit": True}, {"limit": 10_000}, {"min_score": 2}])
def test_what_makes_no_sense_is_refused(flows, wrong):
    with pytest.raises(InvalidInput):
        flows.search(**{"query": "send", **wrong})


def test_a_hit_tells_what_was_done_where_and_why(filled):
    hit = first(filled, "swap click")
    assert (hit.corpus, hit.tool, hit.screen, hit.session_id) == ("flows", "ui_click", "swap", "s1")
    assert hit.session_goal == hit.title == "Swap DAI for USDC"
    assert hit.item.id == hit.id
    assert hit.timestamp == hit.item.timestamp
    assert hit.text == hit.snippet
    assert set(hit.why.signals) == {"keyword", "semantic", "goal", "recency"}
    assert hit.to_dict()["matched_fields"] == list(hit.matched_fields)


def test_scores_are_the_sums_of_their_reasons(filled):
    hits = filled.search("return a hotel item", limit=50)
    for hit in hits:
        assert sum(signal.contribution for signal in hit.why.signals.values()) == pytest.approx(hit.why.total, abs=1e-9)
        assert hit.score == min(1.0, max(0.0, hit.why.total)) > 0
    assert [hit.why.total for hit in hits] == sorted((hit.why.total for hit in hits), reverse=True)


def test_the_same_words_score_high_and_other_words_for_it_about_half(filled):
    assert first(filled, "Swap DAI for USDC").score > 0.8
    assert 0.2 < first(filled, "accommodation in Italy").score < 0.8


def test_a_least_score_is_kept(filled):
    every = filled.search("settings phrase")
    least = every[0].score - 1e-4
    assert [hit.id for hit in filled.search("settings phrase", min_score=least)] == [
        hit.id for hit in every if hit.score >= least
    ]
    assert len(every) > len(filled.search("settings phrase", min_score=least))


def test_a_typo_is_mended_and_said(filled):
    hits = filled.search("revael phrase")
    assert hits[0].session_id == "s2"
    assert hits.did_you_mean == {"revael": "reveal"}


def test_a_session_without_one_successful_action_is_found_only_by_those_who_ask_for_failures(athand):
    flows = fill(athand.flows, hours_ago(1))
    flows.start_session(app="garden", goal="Water the tulips", id="failed")
    flows.record("failed", tool="ui_describe_screen", before=Observation(screen="beds"))
    error = {"code": "no_such_element", "message": "There is no tap."}
    flows.record("failed", tool="ui_click", target={"testId": "tulip-tap"}, ok=False, error=error)
    assert "failed" not in {hit.session_id for hit in flows.search("water the tulips")}
    for options in ({"filters": {"outcome": "error"}}, {"scope": {"session": "failed"}}):
        assert first(flows, "water the tulips", **options).session_id == "failed"
    flows.record("failed", tool="ui_click", target={"testId": "tulip-tap"})
    assert first(flows, "water the tulips").session_id == "failed"


def test_a_correction_never_comes_from_another_app(filled):
    assert filled.search("hotls").did_you_mean == {"hotls": "hotels"}
    assert not filled.search("hotls", filters={"app": "mail"}).did_you_mean


def test_limit_is_how_many_steps(filled):
    assert len(filled.search("settings", limit=3)) == 3
    assert len(filled.search("settings")) == 4


def test_once_names_each_session_by_its_best_step(filled):
    hits = filled.search("settings responder", once=True)
    assert sorted(hit.session_id for hit in hits) == ["s2", "s5"]
    assert hits[0].tool == "ui_click"


def test_a_long_session_is_shown_from_its_beginning(flows):
    """More steps than are candidates, all done within the same moment."""
    moment = hours_ago(2)
    flows.start_session(id="other", goal="Swap tokens", app="wallet")
    flows.start_session(id="long", goal="Bridge ETH to Polygon", app="wallet", created_at=moment)
    for number in range(250):
        flows.record("long", tool="ui_click", target={"testId": f"row-{number}"}, timestamp=moment)
        flows.record("other", tool="ui_click", target={"testId": f"cell-{number}"}, timestamp=hours_ago(1))
    hits = flows.search("polygon")
    assert [hit.item.position for hit in hits] == list(range(1, 21))


def test_a_matching_step_of_a_poorly_named_session_is_found_among_many(flows):
    for number in range(40):
        id_ = flows.start_session(app="shop", goal=f"Pay order {number}", flow_tags=["checkout"]).id
        for name in ("pay-now", "card-number", "confirm"):
            flows.record(id_, tool="ui_click", target={"testId": name}, before=Observation(screen="checkout"))
    flows.start_session(id="poor", app="shop", goal="run 17")
    flows.record(
        "poor", tool="ui_click", target={"testId": "gift-wrap-checkbox"}, before=Observation(screen="checkout")
    )
    assert first(flows, "gift wrap at checkout").session_id == "poor"


def test_a_profile_adds_synonyms_and_a_prefix(tmp_path):
    (tmp_path / "shop.toml").write_text('prefix = "sh_"\nsynonyms = [["basket", "trolley"]]\n', encoding="utf-8")
    store = open_store(":memory:", SCHEMAS)
    flows = Flows(store, LazyEmbedder(DEFAULT_MODEL), profile_folders=[tmp_path])
    flows.start_session(id="s", app="shop")
    flows.record("s", tool="sh_click", target={"testId": "basket-link"})
    flows.record("s", tool="sh_type", target={"testId": "amount"}, input={"text": "2"})
    assert [hit.tool for hit in flows.search("trolley", filters={"app": "shop"})] == ["sh_click"]
    assert [hit.matched_fields for hit in flows.search("sh_click")] == [("tool:sh_click",)]
    assert first(flows, "trolleys").session_id == "s"
    store.close()


CLICKS = (
    ("test", "Click the button.", ["click-test"], 1_400),
    ("button", 'Click on the "yes" button.', ["click-button"], 1),
    ("sequence", "Click button ONE, then click button TWO.", ["click-button-sequence"], 1),
    ("like", 'For the user @ultrices, click on the "Like" button.', ["social-media"], 1),
    ("tree", 'Find and click on the file named "Lyda".', ["navigate-tree"], 1),
)


def click(flows, id_, goal, flow_tags, hours):
    flows.start_session(id=id_, app="web", goal=goal, flow_tags=flow_tags, created_at=hours_ago(hours))
    seen = Observation(screen=flow_tags[0], a11y=[{"role": "button", "name": "Click the button"}])
    for tool, target in (("ui_describe_screen", None), ("ui_click", {"role": "button", "name": "button"})):
        flows.record(id_, tool=tool, target=target, before=seen, timestamp=hours_ago(hours))


@pytest.fixture
def clicked(flows):
    """Sessions that share words, tags and tools; the fresh ones have more of them."""
    for each in CLICKS:
        click(flows, *each)
    return flows


@pytest.mark.parametrize(("id_", "goal"), [each[:2] for each in CLICKS])
def test_a_session_whose_goal_is_the_query_comes_first_however_old(clicked, id_, goal):
    for query in (goal, goal.upper(), goal.rstrip(".").replace('"', "")):
        hits = clicked.search(query)
        assert [hit.session_id for hit in hits[:2]] == [id_, id_]
        assert hits[0].score == 1.0


def test_a_goal_in_nearly_the_same_words_comes_before_one_that_shares_a_few(clicked):
    hits = clicked.search('For the user @dolores, click on the "Block" button.', once=True)
    assert [hit.session_id for hit in hits[:2]] == ["like", "button"]


def test_of_sessions_with_the_same_goal_the_newest_comes_first(clicked):
    click(clicked, "again", "Click the button.", ["click-test"], 2)
    hits = clicked.search("click the button", once=True)
    assert [hit.session_id for hit in hits[:2]] == ["again", "test"]


def test_a_long_goal_is_found_by_itself(flows):
    words = " ".join(f"word{number}" for number in range(900))
    for ending in ("north", "south"):
        flows.record(flows.start_session(id=ending, goal=f"{ending} {words}").id, tool="ui_click")
    assert first(flows, f"south {words}").session_id == "south"


def test_a_broken_profile_is_noted_and_the_search_goes_on(tmp_path, caplog):
    (tmp_path / "shop.toml").write_text("prefix = 3", encoding="utf-8")
    (tmp_path / "._mail.toml").write_text("left behind by a copy", encoding="utf-8")
    store = open_store(":memory:", SCHEMAS)
    flows = Flows(store, LazyEmbedder(DEFAULT_MODEL), profile_folders=[tmp_path])
    flows.record(flows.start_session(id="s", app="mail", goal="Pay for postage").id, tool="ui_click")
    for filters in (None, {"app": "shop"}, {"app": "mail"}):
        hits = flows.search("send", filters=filters)
        assert [hit.session_id for hit in hits] == ([] if filters == {"app": "shop"} else ["s"])
        assert ["shop.toml" in note for note in hits.notes] == ([] if filters == {"app": "mail"} else [True])
    assert len([record for record in caplog.records if "shop.toml" in record.message]) == 1
    (tmp_path / "shop.toml").write_text('prefix = "sh_"', encoding="utf-8")
    assert not flows.search("send").notes
    store.close()


def test_what_is_deleted_is_not_found(flows):
    fill(flows, hours_ago(1)).delete("s1")
    assert "s1" not in {hit.session_id for hit in flows.search("swap DAI")}


def test_both_engines_answer_the_same(postgres_url):
    moment = hours_ago(1)
    with Athand(":memory:") as one, Athand(postgres_url) as other:
        fill(one.flows, moment)
        fill(other.flows, moment)
        for query in ("send", "settings", "return a hotel item", "accommodation in Italy", "revael phrase", "click"):
            here, there = one.flows.search(query), other.flows.search(query)
            assert [(hit.session_id, hit.tool, hit.matched_fields) for hit in here] == [
                (hit.session_id, hit.tool, hit.matched_fields) for hit in there
            ]
            assert [hit.score for hit in here] == pytest.approx([hit.score for hit in there], abs=1e-3)
            assert here.did_you_mean == there.did_you_mean
