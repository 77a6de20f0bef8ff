"""What was promised of prior knowledge, with its settled meanings: screens, hints, observability, unknown screens."""

from datetime import UTC, datetime, timedelta

import pytest
from tests.engines import one_engine
from tests.flows.prediction import ask, page, record_session, record_step

from athand import Athand
from athand.flows import Observation
from athand.flows.model import UNKNOWN
from athand.flows.prediction.page import MAX_POINTS, PageSignature, similarity_points

SEND = page("send", "send-page-recipient-input:textbox:Recipient address", ":textbox:Amount", ":button:Send")
URL = "chrome-extension://abcdefgh/home.html#/send/"


@pytest.fixture
def flows(location):
    with Athand(location) as opened:
        yield opened.flows


@one_engine
def test_the_address_tells_the_screen_before_any_test_id(flows):
    seen = Observation(url=URL, test_ids=({"testId": "account-menu-icon"},))
    session = flows.start_session(app="metamask")
    assert record_step(flows, session.id, "mm_click", "account-menu-icon", seen).screen == "send"


@one_engine
def test_a_session_with_refs_only_suggests_role_and_name(flows):
    record_session(flows, "Send ETH", ("mm_click", {"a11yRef": "e3"}, SEND), app="metamask")
    first = ask(flows, "Send ETH", SEND, app="metamask").suggested_next_actions[0]
    assert first.to_dict()["preferredTarget"] == {"type": "a11yHint", "value": {"role": "button", "name": "Send"}}


@one_engine
def test_a_ref_is_never_offered(flows):
    record_session(
        flows, "Send ETH", ("mm_click", {"a11yRef": "e3"}, SEND), ("mm_type", {"a11yRef": "e2"}, SEND, {"text": "1"})
    )
    shown = ask(flows, "Send ETH", SEND).to_dict()
    assert all("a11yRef" not in (step.get("target") or {}) for step in shown["similarSteps"])
    assert all(action["preferredTarget"]["type"] == "a11yHint" for action in shown["suggestedNextActions"])


@one_engine
def test_a_similar_step_has_the_role_and_name_of_its_target(flows):
    record_session(flows, "Send ETH", ("mm_type", "send-page-recipient-input", SEND, {"text": "0x1"}))
    (similar,) = ask(flows, "Send ETH", SEND).similar_steps
    assert (similar.tool, similar.screen) == ("mm_type", "send")
    assert similar.target["testId"] == "send-page-recipient-input"
    assert similar.a11y_hint == {"role": "textbox", "name": "Recipient address"}
    assert 0 < similar.confidence <= 1
    assert "testId: send-page-recipient-input" in similar.snippet and "screen: send" in similar.snippet


def test_what_was_shown_is_recorded_with_the_step(flows):
    record_session(flows, "Send ETH", ("mm_click", {"a11yRef": "e3"}, SEND))
    session = flows.start_session(goal="Send ETH")
    known = flows.prior_knowledge(session.id, SEND)
    step = flows.record(session.id, tool="mm_describe_screen", before=SEND, prior_knowledge=known)
    assert flows.steps(session.id)[0].prior_knowledge == known.to_dict() == step.prior_knowledge


def test_points_are_those_of_the_seed():
    seen = PageSignature(
        frozenset(("send",)), frozenset("abcd"), frozenset((("button", "A"), ("button", "B"), ("link", "C")))
    )
    nothing = PageSignature()
    assert similarity_points("send", nothing, "send", nothing, has_action=False) == 8
    assert similarity_points("send", nothing, "send", nothing, has_action=True) == 10
    assert similarity_points(UNKNOWN, nothing, UNKNOWN, nothing, has_action=False) == 0
    assert similarity_points(UNKNOWN, PageSignature(frozenset(("send",))), "x", seen, has_action=False) == 6
    assert similarity_points(UNKNOWN, PageSignature(test_ids=frozenset("a")), "x", seen, has_action=False) == 3
    assert similarity_points(UNKNOWN, PageSignature(test_ids=frozenset("abcd")), "x", seen, has_action=False) == 9
    assert similarity_points(UNKNOWN, PageSignature(nodes=seen.nodes), "x", seen, has_action=False) == 4
    assert similarity_points("send", seen, "send", seen, has_action=True) == MAX_POINTS


def test_something_to_click_alone_is_no_likeness():
    assert similarity_points("home", PageSignature(), "send", PageSignature(), has_action=True) == 0


def test_two_unknown_screens_are_not_the_same(flows):
    one = Observation(UNKNOWN, "", ({"testId": "left"},), ())
    other = Observation(UNKNOWN, "", ({"testId": "right"},), ())
    record_session(flows, "Go on", ("ui_click", "left", one))
    known = ask(flows, "Something else entirely", other)
    assert known is None or not (known.suggested_next_actions or known.similar_steps)


def test_unknown_screens_that_look_the_same_are(flows):
    one = Observation(UNKNOWN, "", ({"testId": "left"}, {"testId": "right"}), ())
    record_session(flows, "Go on", ("ui_click", "left", one))
    assert ask(flows, "Go on", one).suggested_next_actions[0].preferred_target.value == "left"


def test_known_screens_come_before_unknown_ones(flows):
    record_session(flows, "Send ETH", ("mm_click", {"a11yRef": "e3"}, SEND))
    unknown = Observation(UNKNOWN, "https://app.example/send", (), SEND.a11y)
    record_session(flows, "Send ETH", ("mm_type", {"a11yRef": "e2"}, unknown, {"text": "1"}))
    screens = [step.screen for step in ask(flows, "Send ETH", SEND).similar_steps]
    assert screens[0] == "send"


def test_everything_is_limited(flows):
    many = page("many", *(f"b{at}:button:B{at}" for at in range(30)))
    for start in range(0, 24, 4):
        record_session(flows, "Press", *(("ui_click", f"b{start + at}", many) for at in range(4)))
    for at in range(24, 30):
        record_session(flows, "Press", *[("ui_click", f"b{at}", many, None, "TIMEOUT")] * 2)
    known = ask(flows, "Press", many)
    assert len(known.related_sessions) == 5
    assert len(known.similar_steps) == 10
    assert len(known.suggested_next_actions) <= 5
    assert [each.rank for each in known.suggested_next_actions] == list(range(1, len(known.suggested_next_actions) + 1))
    assert len(known.avoid) == 5


def test_old_sessions_are_not_related_but_still_known(flows):
    then = datetime.now(UTC) - timedelta(days=10)
    session = flows.start_session(goal="Send ETH", created_at=then)
    flows.record(session.id, tool="mm_click", target={"a11yRef": "e3"}, before=SEND, timestamp=then)
    known = ask(flows, "Send ETH", SEND)
    assert not known.related_sessions
    assert known.suggested_next_actions


@one_engine
def test_a_look_at_the_screen_alone_suggests_nothing(flows):
    record_session(flows, "Send ETH", ("mm_describe_screen", None, SEND))
    known = ask(flows, "Send ETH", SEND)
    assert known is not None and not known.suggested_next_actions
