"""What users of the first knowledge search rely on: words, tags, goals, synonyms, evidence, order."""

from datetime import UTC, datetime, timedelta

import pytest

from athand.flows import Observation
from athand.text import FLOW_STOP_WORDS, expand_synonyms, split_identifier, synonym_table, tokenize

SEND = {"ref": "e1", "role": "button", "name": "Send", "path": []}
HOME = Observation(screen="home", url="chrome-extension://wallet/home.html#/")


def seen(*nodes, screen="home", test_ids=()):
    return Observation(screen=screen, test_ids=[{"testId": each} for each in test_ids], a11y=nodes)


def hours_ago(hours):
    return datetime.now(UTC) - timedelta(hours=hours)


@pytest.fixture
def session(flows):
    """A session that nobody described."""
    return flows.start_session(app="metamask", id="s-1").id


@pytest.fixture
def described(flows):
    return flows.start_session(
        app="metamask",
        id="s-1",
        goal="Send 0.1 ETH to another account",
        flow_tags=["send"],
        tags=["visual-test"],
    ).id


class TestTokenize:
    def test_a_query_is_split_into_words(self):
        assert tokenize("send flow ETH to another account", FLOW_STOP_WORDS) == ["send", "eth", "another", "account"]

    def test_stop_words_are_left_out(self):
        assert tokenize("send to the account", FLOW_STOP_WORDS) == ["send", "account"]

    def test_single_letters_are_left_out(self):
        assert tokenize("a b cd efg", FLOW_STOP_WORDS) == ["cd", "efg"]

    @pytest.mark.parametrize("text", ["", "   "])
    def test_nothing_has_no_words(self, text):
        assert tokenize(text, FLOW_STOP_WORDS) == []

    def test_each_word_comes_once(self):
        assert tokenize("send send SEND", FLOW_STOP_WORDS) == ["send"]

    def test_the_prefix_of_tools_is_no_word(self):
        assert tokenize("mm_click", FLOW_STOP_WORDS) == ["click"]


class TestIdentifiers:
    @pytest.mark.parametrize(
        ("identifier", "words"),
        [
            ("coin-overview-send-button", ["coin", "overview", "send", "button"]),
            ("sendTokenButton", ["send", "token", "button"]),
            ("send_token_btn", ["send", "token", "btn"]),
            ("coin-overview_sendButton", ["coin", "overview", "send", "button"]),
            ("sendETHButton", ["send", "eth", "button"]),
            ("", []),
        ],
    )
    def test_an_identifier_is_split(self, identifier, words):
        assert split_identifier(identifier) == words

    @pytest.mark.parametrize("query", ["send", "coin overview", "coin-overview"])
    def test_parts_of_a_test_id_match(self, flows, session, query):
        flows.record(session, tool="mm_click", target={"testId": "coin-overview-send-button"}, before=HOME)
        (hit,) = flows.search(query, limit=10, scope="current", session=session)
        assert "testId:coin-overview-send-button" in hit.matched_fields

    def test_parts_of_a_camel_case_test_id_match(self, flows, session):
        flows.record(session, tool="mm_click", target={"testId": "sendTokenButton"}, before=HOME)
        assert flows.search("token", limit=10, scope="current", session=session)

    def test_half_a_word_is_no_match(self, flows, session):
        flows.record(session, tool="mm_click", target={"testId": "resend-code-link"}, before=HOME)
        assert not flows.search("send", scope="current", session=session)


class TestSynonyms:
    @pytest.mark.parametrize("word", ["send", "transfer", "pay"])
    def test_a_group_is_found_by_each_of_its_words(self, word):
        assert set(expand_synonyms([word], synonym_table())) == {"send", "transfer", "pay"}

    def test_other_words_stay_alone(self):
        assert expand_synonyms(["eth", "account", "balance"], synonym_table()) == ["eth", "account", "balance"]

    def test_some_words_may_have_synonyms(self):
        expanded = expand_synonyms(["send", "eth"], synonym_table())
        assert {"send", "transfer", "eth"} <= set(expanded)
        assert "ethereum" not in expanded

    def test_no_word_comes_twice(self):
        expanded = expand_synonyms(["send", "transfer"], synonym_table())
        assert len(expanded) == len(set(expanded))

    def test_a_synonym_finds_a_step(self, flows, session):
        flows.record(session, tool="mm_click", target={"testId": "send-button"}, before=seen(SEND))
        assert flows.search("transfer ETH", limit=10, scope="current", session=session)

    @pytest.mark.parametrize("query", ["transfer tokens", "paying"])
    def test_a_synonym_finds_a_goal(self, flows, described, query):
        flows.record(described, tool="mm_click", before=HOME)
        (hit,) = flows.search(query, limit=10)
        assert {"goal", "flowTag:send"} <= set(hit.matched_fields)

    def test_the_word_itself_counts_more(self, flows):
        for id_, tag in (("a", "transfer"), ("b", "send")):
            flows.start_session(id=id_, flow_tags=[tag], app="metamask", created_at=hours_ago(5))
            flows.record(id_, tool="mm_click", before=HOME)
        assert [hit.session_id for hit in flows.search("transfer")] == ["a", "b"]
        assert [hit.session_id for hit in flows.search("send")] == ["b", "a"]


class TestSteps:
    def test_any_word_is_enough(self, flows, session):
        flows.record(session, tool="mm_click", target={"testId": "send-button"}, before=seen(SEND))
        assert flows.search("send flow ETH to account", limit=10, scope="current", session=session)

    def test_any_word_is_enough_among_many_steps_too(self, flows, session):
        for _ in range(30):
            flows.record(session, tool="mm_click", target={"testId": "send-button"}, before=seen(SEND))
        assert flows.search("send flow ETH to account", limit=10, scope="current", session=session)

    def test_more_of_the_words_come_first(self, flows, session):
        flows.record(session, tool="mm_click", target={"testId": "send-button"}, before=HOME)
        flows.record(session, tool="mm_click", target={"testId": "send-to-account"}, before=HOME)
        first, second = flows.search("send account", limit=10, scope="current", session=session)
        assert "send-to-account" in first.snippet
        assert "send-button" in second.snippet

    def test_mm_click_is_about_clicking(self, flows, session):
        flows.record(session, tool="mm_click", target={"testId": "next"}, before=HOME)
        flows.record(session, tool="mm_type", target={"testId": "amount"}, input={"text": "1"}, before=HOME)
        (hit,) = flows.search("mm_click", scope="current", session=session)
        assert hit.tool == "mm_click"
        assert hit.matched_fields == ("tool:mm_click",)

    def test_a_name_on_the_page_is_enough(self, flows, session):
        flows.record(session, tool="mm_describe_screen", before=seen(SEND))
        (hit,) = flows.search("send", scope="current", session=session)
        assert hit.matched_fields == ('a11y:button:"Send"',)

    @pytest.mark.parametrize("query", ["unlock", "login"])
    def test_a_screen_matches(self, flows, session, query):
        flows.record(session, tool="mm_type", target={"testId": "password"}, before=seen(screen="unlock"))
        (hit,) = flows.search(query, scope="current", session=session)
        assert "screen:unlock" in hit.matched_fields


class TestSessions:
    def test_words_of_the_goal_match(self, flows, described):
        flows.record(described, tool="mm_click", before=HOME)
        assert flows.search("send ETH account", limit=10)

    def test_a_session_whose_flow_tag_matches_comes_first(self, flows, described):
        flows.start_session(app="metamask", id="a-other", goal="Test swap functionality", flow_tags=["swap"])
        for id_ in (described, "a-other"):
            flows.record(id_, tool="mm_click", target={"testId": "action-button"}, before=HOME)
        assert flows.search("send", limit=10)[0].session_id == described

    @pytest.mark.parametrize("old_goal", ["Send tokens", "Send"])
    def test_of_two_that_match_the_recent_one_comes_first(self, flows, described, old_goal):
        flows.start_session(app="metamask", id="old", goal=old_goal, flow_tags=["send"], created_at=hours_ago(100))
        for id_ in ("old", described):
            flows.record(id_, tool="mm_click", before=HOME)
        assert [hit.session_id for hit in flows.search("send", limit=10)] == [described, "old"]

    @pytest.mark.parametrize("query", ["xyzzy", "photosynthesis of rainforest plants", "why do cats purr"])
    def test_being_recent_is_no_match(self, flows, described, query):
        flows.record(described, tool="mm_click", target={"testId": "send-button"}, before=seen(SEND))
        assert not flows.search(query)

    def test_a_role_is_no_match(self, flows, session):
        flows.record(session, tool="mm_click", target={"testId": "send"}, before=seen(SEND))
        assert not flows.search("button")

    def test_steps_of_a_session_come_in_order_where_only_its_goal_matches(self, flows, described):
        for name in ("first", "second", "third"):
            flows.record(described, tool="mm_click", target={"testId": name}, before=HOME)
        hits = flows.search("ETH to another account")
        assert [hit.item.target["testId"] for hit in hits] == ["first", "second", "third"]
        assert {hit.matched_fields for hit in hits} == {("goal",)}

    def test_equals_come_in_the_same_order_every_time(self, flows):
        moment = hours_ago(10)
        for id_ in ("b", "c", "a"):
            flows.start_session(app="metamask", id=id_, flow_tags=["send"], created_at=moment)
        flows.start_session(app="metamask", id="newer", flow_tags=["send"], created_at=moment + timedelta(seconds=1))
        for id_ in ("c", "newer", "a", "b"):
            flows.record(id_, tool="mm_click", before=HOME, timestamp=moment)
        assert [hit.session_id for hit in flows.search("send")] == ["newer", "a", "b", "c"]


class TestEvidence:
    def test_a_snippet_begins_with_what_matched(self, flows, session):
        flows.record(session, tool="mm_click", target={"testId": "send-button"}, before=seen(SEND))
        (hit,) = flows.search("send", limit=10, scope="current", session=session)
        assert hit.snippet.startswith("match: ")
        assert hit.snippet.endswith("testId: send-button, labels: interaction, screen: home")
        assert 'a11y:button:"Send"' in hit.matched_fields

    def test_a_hit_has_the_goal_of_its_session(self, flows):
        flows.start_session(app="metamask", id="s", goal="Test send flow", flow_tags=["send"])
        flows.record("s", tool="mm_click", before=HOME)
        assert flows.search("send", limit=10)[0].session_goal == "Test send flow"

    def test_no_field_is_named_twice(self, flows, session):
        flows.record(
            session,
            tool="mm_click",
            target={"testId": "send-token-button"},
            before=seen({**SEND, "name": "Send token"}, SEND, test_ids=["send-token-button", "send-token-title"]),
        )
        (hit,) = flows.search("send token", scope="current", session=session)
        assert len(hit.matched_fields) == len(set(hit.matched_fields))
        assert {"testId:send-token-button", 'a11y:button:"Send token"'} <= set(hit.matched_fields)

    def test_every_kind_of_field_is_named(self, flows):
        flows.start_session(
            app="metamask",
            id="s",
            goal="Swap and confirm",
            flow_tags=["swap"],
            tags=["swap-smoke"],
            git={"branch": "feat/swap"},
        )
        flows.record(
            "s",
            tool="mm_click",
            target={"testId": "swap-confirm", "role": "button", "name": "Swap"},
            before=seen({"ref": "e1", "role": "heading", "name": "Swap"}, screen="swap", test_ids=["swap-title"]),
        )
        (hit,) = flows.search("click swap interaction")
        assert hit.matched_fields == (
            "tool:mm_click",
            "screen:swap",
            "testId:swap-confirm",
            'a11y:button:"Swap"',
            "label:interaction",
            'a11y:heading:"Swap"',
            "goal",
            "flowTag:swap",
            "tag:swap-smoke",
            "branch:feat/swap",
            "visible:swap-title",
        )
        assert hit.why.matched == hit.matched_fields

    def test_the_error_of_a_step_is_shown(self, flows, session):
        flows.record(
            session,
            tool="mm_click",
            target={"selector": "div.actions > button.send:nth-of-type(2)"},
            ok=False,
            error={"code": "TARGET_NOT_FOUND", "message": "gone"},
            before=HOME,
        )
        (hit,) = flows.search("click", scope="current", session=session)
        assert "selector: div.actions > button.send:nth-" in hit.snippet
        assert "nth-o" not in hit.snippet
        assert hit.snippet.endswith("error: TARGET_NOT_FOUND")
