"""What an agent is told when it looks at a screen."""

from datetime import UTC, datetime, timedelta

import pytest
from tests.engines import one_engine
from tests.flows.prediction import ask, best, page, record_session, record_step

from athand import Athand
from athand.flows import Observation

HOME = page("home", "send:button:Send", "swap:button:Swap", "menu:button:Menu")
SEND = page("send", "to:textbox:Recipient", "amount:textbox:Amount", "next:button:Continue")
SWAP = page("swap", "from:combobox:From", "amount:textbox:Amount", "review:button:Review")
CONFIRM = page("confirm", "ok:button:Confirm", "no:button:Reject")


@pytest.fixture
def flows(location):
    with Athand(location) as opened:
        yield opened.flows


def a_transfer(flows, goal="Send 1 ETH to a friend", **session):
    return record_session(
        flows,
        goal,
        ("mm_click", "send", HOME),
        ("mm_type", "to", SEND, {"text": "0xabc"}),
        ("mm_type", "amount", SEND, {"text": "1"}),
        ("mm_click", "next", SEND),
        ("mm_click", "ok", CONFIRM),
        **session,
    )


def an_exchange(flows, goal="Swap ETH for DAI", **session):
    steps = (("mm_click", "swap", HOME), ("mm_type", "amount", SWAP, {"text": "2"}), ("mm_click", "review", SWAP))
    return record_session(flows, goal, *steps, ("mm_click", "ok", CONFIRM), **session)


def test_nothing_is_said_where_nothing_is_known(flows):
    assert ask(flows, "Send 1 ETH", HOME) is None


def test_the_goal_decides_between_two_ways(flows):
    for _ in range(2):
        a_transfer(flows)
        an_exchange(flows)
    assert best(ask(flows, "Send some ETH to my friend", HOME)) == ("click", "send")
    assert best(ask(flows, "Swap some ETH for DAI", HOME)) == ("click", "swap")


def test_what_was_done_last_decides_what_comes_next(flows):
    for _ in range(2):
        a_transfer(flows)
    steps = [("mm_click", "send", HOME), ("mm_type", "to", SEND), ("mm_type", "amount", SEND)]
    expected = [("type", "to"), ("type", "amount"), ("click", "next")]
    for number, after in enumerate(expected, 1):
        assert best(ask(flows, "Send 3 ETH to a friend", SEND, *steps[:number])) == after


@one_engine
def test_an_action_belongs_to_the_screen_it_was_done_on(flows):
    a_transfer(flows)
    known = ask(flows, "Send 1 ETH to a friend", SEND, ("mm_click", "send", HOME))
    values = {each.preferred_target.value for each in known.suggested_next_actions}
    assert "send" not in values and "ok" not in values


@one_engine
def test_click_and_type_on_one_target_are_two_actions(flows):
    record_session(flows, "Fill in", ("ui_click", "to", SEND), ("ui_type", "to", SEND, {"text": "x"}))
    known = ask(flows, "Fill in", SEND)
    assert {(each.action, each.preferred_target.value) for each in known.suggested_next_actions} >= {("click", "to")}
    assert best(ask(flows, "Fill in", SEND, ("ui_click", "to", SEND))) == ("type", "to")


def test_what_failed_is_no_suggestion(flows):
    record_session(flows, "Send", ("ui_click", "send", HOME, None, "TIMEOUT"))
    known = ask(flows, "Send", HOME)
    assert known is None or not known.suggested_next_actions


def test_a_pair_that_failed_twice_is_avoided_and_never_suggested(flows):
    a_transfer(flows)
    for _ in range(2):
        record_session(flows, "Send 1 ETH", ("mm_click", "send", HOME, None, "TARGET_NOT_FOUND"))
    known = ask(flows, "Send 1 ETH to a friend", HOME)
    (avoided,) = known.avoid
    assert (avoided.target["testId"], avoided.error_code, avoided.frequency) == ("send", "TARGET_NOT_FOUND", 2)
    assert avoided.action == "click" and "TARGET_NOT_FOUND" in avoided.rationale
    assert all(each.preferred_target.value != "send" for each in known.suggested_next_actions)


def test_a_success_since_ends_the_avoiding(flows):
    for _ in range(2):
        record_session(flows, "Send 1 ETH", ("mm_click", "send", HOME, None, "TIMEOUT"))
    a_transfer(flows)
    known = ask(flows, "Send 1 ETH to a friend", HOME)
    assert not known.avoid
    assert best(known) == ("click", "send")


@one_engine
def test_two_failures_of_other_kinds_are_not_twice_the_same(flows):
    for code in ("TIMEOUT", "TARGET_NOT_FOUND"):
        record_session(flows, "Send 1 ETH", ("mm_click", "send", HOME, None, code))
    known = ask(flows, "Send 1 ETH", HOME)
    assert known is None or not known.avoid


@one_engine
def test_one_failure_lowers_confidence(flows):
    a_transfer(flows)
    before = ask(flows, "Send 1 ETH to a friend", HOME).suggested_next_actions[0].confidence
    record_session(flows, "Send 1 ETH", ("mm_click", "send", HOME, None, "TIMEOUT"))
    after = ask(flows, "Send 1 ETH to a friend", HOME).suggested_next_actions[0]
    assert after.preferred_target.value == "send" and after.confidence < before


@one_engine
def test_what_just_failed_here_is_not_suggested_again(flows):
    a_transfer(flows)
    known = ask(flows, "Send 1 ETH to a friend", HOME, ("mm_click", "send", HOME, None, "TIMEOUT"))
    assert all(each.preferred_target.value != "send" for each in known.suggested_next_actions)


@one_engine
def test_more_sessions_that_agree_make_surer(flows):
    a_transfer(flows)
    once = ask(flows, "Send 1 ETH to a friend", HOME).suggested_next_actions[0].confidence
    for _ in range(4):
        a_transfer(flows)
    often = ask(flows, "Send 1 ETH to a friend", HOME).suggested_next_actions[0]
    assert 0 < once < often.confidence <= 1
    assert often.rationale == "Done 5 of 5 times at the beginning in sessions with a similar goal."


@one_engine
def test_where_sessions_end_nothing_is_sure(flows):
    for _ in range(3):
        a_transfer(flows)
    record_session(flows, "Send 1 ETH to a friend", ("mm_click", "send", HOME), ("mm_click", "menu", HOME))
    in_between = ask(flows, "Send 1 ETH to a friend", HOME).suggested_next_actions[0].confidence
    _, steps = a_transfer(flows)
    at_the_end = flows.prior_knowledge(steps[-1].session_id, HOME, previous=steps[-1])
    assert all(each.confidence < in_between / 2 for each in at_the_end.suggested_next_actions)


def test_the_own_session_is_no_knowledge_of_its_own(flows):
    id_, steps = a_transfer(flows)
    assert flows.prior_knowledge(id_, HOME, previous=steps[-1]) is None


@one_engine
def test_what_is_not_on_the_page_is_not_suggested(flows):
    a_transfer(flows)
    known = ask(flows, "Send 1 ETH to a friend", page("home", "menu:button:Menu"))
    assert not known.suggested_next_actions


@one_engine
def test_without_a_look_at_the_page_all_targets_are_possible(flows):
    a_transfer(flows)
    assert best(ask(flows, "Send 1 ETH to a friend", Observation("home"))) == ("click", "send")


@one_engine
def test_a_test_id_first_then_a_selector_then_role_and_name(flows):
    target = {"testId": "send", "selector": "#send", "role": "button", "name": "Send"}
    record_session(flows, "Send", ("ui_click", target, HOME))
    first = ask(flows, "Send", HOME).suggested_next_actions[0]
    assert [first.preferred_target.type, *(each.type for each in first.fallback_targets)] == [
        "testId",
        "selector",
        "a11yHint",
    ]
    first = ask(flows, "Send", page("home", "renamed:button:Send")).suggested_next_actions[0]
    assert [first.preferred_target.type, *(each.type for each in first.fallback_targets)] == ["selector", "a11yHint"]


@one_engine
def test_an_action_without_a_target_gives_its_value(flows):
    record_session(flows, "Search", ("ui_press", None, HOME, {"key": "Enter"}))
    first = ask(flows, "Search", HOME).suggested_next_actions[0]
    assert (first.action, first.preferred_target, first.input) == ("press", None, {"key": "Enter"})


@one_engine
def test_a_value_of_the_goal_is_typed_again_as_this_goal_has_it(flows):
    form = page("form", "name:textbox:Name", "go:button:Submit")
    record_session(
        flows,
        'Enter "Olin" as name and press Submit',
        ("ui_type", "name", form, {"text": "Olin"}),
        ("ui_click", "go", form),
    )
    first = ask(flows, 'Enter "Bob" as name and press Submit', form).suggested_next_actions[0]
    assert (first.action, first.input) == ("type", {"text": "Bob"})


@one_engine
def test_a_value_of_the_goal_in_a_selector_is_that_of_this_goal(flows):
    tree = page("tree", ":heading:Files")
    record_session(flows, 'Open the file "Ada"', ("ui_click", {"selector": '#tree span:text-is("Ada")'}, tree))
    known = ask(flows, 'Open the file "Lyda"', tree)
    assert best(known) == ("click", '#tree span:text-is("Lyda")')


@one_engine
@pytest.mark.parametrize("goal", ["Close everything", None])
def test_a_selector_with_a_value_of_another_goal_is_not_suggested(flows, goal):
    tree = page("tree", ":heading:Files")
    record_session(flows, 'Open the file "Ada"', ("ui_click", {"selector": '#tree span:text-is("Ada")'}, tree))
    assert not ask(flows, goal, tree).suggested_next_actions


@one_engine
def test_a_choice_that_only_another_goal_names_is_not_offered(flows):
    shop = page("shop", "size:combobox:Size")
    record_session(flows, 'Buy shoes of size "Large"', ("ui_select", "size", shop, {"value": "Large"}))
    first = ask(flows, 'Buy shoes of size "Small"', shop).suggested_next_actions[0]
    assert (first.action, first.input) == ("select", {"value": "Small"})
    first = ask(flows, "Buy some shoes", shop).suggested_next_actions[0]
    assert (first.action, first.preferred_target.value, first.input) == ("select", "size", None)


@one_engine
def test_an_address_that_only_another_goal_names_is_not_offered(flows):
    record_session(
        flows, 'Search for "red shoes"', ("ui_navigate", None, HOME, {"url": "https://shop.example/?q=red+shoes"})
    )
    first = ask(flows, 'Search for "hats"', HOME).suggested_next_actions[0]
    assert (first.action, first.input) == ("navigate", {"url": "https://shop.example/?q=hats"})
    assert not ask(flows, "Search for something", HOME).suggested_next_actions


@one_engine
def test_a_typed_text_is_no_part_of_a_word_of_the_goal(flows):
    form = page("form", "name:textbox:Name")
    record_session(flows, "Fill in the form", ("ui_type", "name", form, {"text": "for"}))
    assert ask(flows, "Fill in the form", form).suggested_next_actions[0].input is None


@one_engine
def test_keys_pressed_into_a_secret_field_are_no_suggestion(flows):
    form = page("unlock", "pin:textbox:PIN", "go:button:Unlock")
    keys = [("ui_press", "pin", form, {"key": key}) for key in "4711"]
    record_session(flows, "Unlock", *keys, ("ui_click", "go", form))
    known = ask(flows, "Unlock", form)
    assert all(each.action != "press" for each in known.suggested_next_actions)


SECTION = {"role": "tab", "name": "Section #12"}
SUBMIT = {"role": "button", "name": "Submit"}


def sections(*numbers):
    return page("sections", *(f":tab:Section #{number}" for number in numbers), ":button:Submit")


@one_engine
def test_a_name_with_another_number_now_is_the_same_element(flows):
    for number in (12, 17, 9):
        tab = {**SECTION, "name": f"Section #{number}"}
        record_session(
            flows, "Expand and submit", ("ui_click", tab, sections(number)), ("ui_click", SUBMIT, sections(number))
        )
    now, clicked = sections(24), ("ui_click", {"role": "tab", "name": "Section #24"}, sections(24))
    known = ask(flows, "Expand and submit", now)
    assert best(known) == ("click", {"role": "tab", "name": "Section #24"})
    assert known.suggested_next_actions[0].rationale.startswith("Done 3 of 3 times")
    assert best(ask(flows, "Expand and submit", now, clicked)) == ("click", SUBMIT)
    assert best(ask(flows, "Expand and submit", page("sections", ":button:Submit"), clicked)) == ("click", SUBMIT)


@one_engine
def test_one_of_two_with_other_numbers_is_not_guessed(flows):
    record_session(flows, "Expand and submit", ("ui_click", SECTION, sections(12)), ("ui_click", SUBMIT, sections(12)))
    known = ask(flows, "Expand and submit", sections(24, 31))
    assert all(each.preferred_target.value["role"] != "tab" for each in known.suggested_next_actions)


@one_engine
def test_a_number_that_the_goal_names_is_not_exchanged_for_another(flows):
    record_session(flows, "Expand section 12", ("ui_click", SECTION, sections(12)))
    assert best(ask(flows, "Expand section 24", sections(24)))[1]["name"] == "Section #24"
    for goal in ("Expand section 12", "Expand section 24"):
        assert not ask(flows, goal, sections(31)).suggested_next_actions


@one_engine
def test_what_is_there_twice_is_found_by_a_way_of_its_own_or_said_to_be_doubtful(flows):
    once, twice = page("list", "no:button:No"), page("list", "no:button:No", "no:button:No")
    own = {"testId": "no", "selector": "#list > button", "role": "button", "name": "No"}
    record_session(flows, "Say no", ("ui_click", own, once))
    assert best(ask(flows, "Say no", once)) == ("click", "no")
    assert best(ask(flows, "Say no", twice)) == ("click", "#list > button")


@one_engine
def test_what_is_there_twice_lowers_confidence(flows):
    once, twice = (page("dialog", *[":button:No"] * number, ":button:Help") for number in (1, 2))
    for name in ("No", "Help"):
        record_session(flows, "Answer", ("ui_click", {"role": "button", "name": name}, once))
    shown = [
        next(each for each in ask(flows, "Answer", seen).suggested_next_actions if "No" in str(each.preferred_target))
        for seen in (once, twice)
    ]
    assert shown[1].confidence < shown[0].confidence
    assert "There are 2 such elements" in shown[1].rationale and "such elements" not in shown[0].rationale


@one_engine
def test_what_no_goal_names_is_not_given_away(flows):
    a_transfer(flows)
    known = ask(flows, "Send 1 ETH to a friend", SEND, ("mm_click", "send", HOME))
    assert best(known) == ("type", "to")
    assert known.suggested_next_actions[0].input is None


@one_engine
def test_a_redacted_value_never_appears(flows):
    form = page("unlock", "password:textbox:Password")
    record_session(flows, 'Unlock with "hunter22x"', ("ui_type", "password", form, {"text": "hunter22x"}))
    known = ask(flows, 'Unlock with "swordfish9"', form)
    assert known.suggested_next_actions[0].input is None
    assert "hunter22x" not in str(known.to_dict())


@one_engine
def test_a_name_of_the_goal_is_another_element_here(flows):
    dialog = page("dialog", ":button:Ok", ":button:Cancel")
    record_session(flows, 'Click on the "Ok" button', ("ui_click", {"a11yRef": "e1"}, dialog))
    assert best(ask(flows, 'Click on the "Cancel" button', dialog)) == ("click", {"role": "button", "name": "Cancel"})


@one_engine
def test_all_that_the_goal_lists_then_on(flows):
    boxes = page(
        "list", *(f":checkbox:{name}" for name in ("ash", "elm", "fir", "oak", "yew", "box", "bay")), ":button:Submit"
    )
    box = lambda name: ("ui_click", {"role": "checkbox", "name": name}, boxes)  # noqa: E731
    submit = ("ui_click", {"role": "button", "name": "Submit"}, boxes)
    record_session(flows, "Select ash, elm and click Submit.", box("ash"), box("elm"), submit)
    record_session(flows, "Select box, bay and click Submit.", box("box"), box("bay"), submit)
    goal, wanted = "Select fir, yew, oak and click Submit.", ["fir", "yew", "oak"]
    steps = []
    for name in wanted:
        assert best(ask(flows, goal, boxes, *steps)) == ("click", {"role": "checkbox", "name": name})
        steps.append(box(name))
    assert best(ask(flows, goal, boxes, *steps)) == ("click", {"role": "button", "name": "Submit"})


@one_engine
def test_another_version_counts_less_unless_it_was_confirmed(flows):
    for _ in range(2):
        record_session(flows, "Send", ("ui_click", "send", HOME), app_version="1")
        record_session(flows, "Send", ("ui_click", "menu", HOME), app_version="2")
    assert best(ask(flows, "Send", HOME, app_version="2")) == ("click", "menu")
    assert best(ask(flows, "Send", HOME, app_version="1")) == ("click", "send")


@one_engine
def test_older_knowledge_counts_less(flows):
    old = datetime.now(UTC) - timedelta(days=300)
    for _ in range(2):
        begun = flows.start_session(goal="Send", created_at=old)
        flows.record(begun.id, tool="ui_click", target={"testId": "send"}, before=HOME, timestamp=old)
        record_session(flows, "Send", ("ui_click", "menu", HOME))
    assert best(ask(flows, "Send", HOME)) == ("click", "menu")


def test_apps_do_not_know_of_one_another(flows):
    a_transfer(flows, app="wallet")
    assert ask(flows, "Send 1 ETH to a friend", HOME, app="shop") is None


def test_related_sessions_are_of_the_last_hours_and_at_most_five(flows):
    for days in range(8):
        then = datetime.now(UTC) - timedelta(days=days, minutes=1)
        flows.start_session(goal="Send ETH to a friend", created_at=then, id=f"s{days}", flow_tags=["send"])
    begun = flows.start_session(goal="Send ETH to a friend")
    known = flows.prior_knowledge(begun.id, HOME)
    assert [each.session_id for each in known.related_sessions] == ["s0", "s1"]
    known = flows.prior_knowledge(begun.id, HOME, window_hours=24 * 30)
    assert [each.session_id for each in known.related_sessions] == [f"s{days}" for days in range(5)]


def test_what_another_process_recorded_is_known_at_once(tmp_path):
    path = tmp_path / "store.db"
    with Athand(path) as one, Athand(path) as other:
        assert ask(one.flows, "Send 1 ETH to a friend", HOME) is None
        id_, _ = a_transfer(other.flows)
        assert best(ask(one.flows, "Send 1 ETH to a friend", HOME)) == ("click", "send")
        other.flows.delete(id_)
        known = ask(one.flows, "Send 1 ETH to a friend", HOME)
        assert known is None or not known.suggested_next_actions


def test_a_session_that_is_done_with_refs_is_known_by_its_test_ids(flows):
    for _ in range(2):
        a_transfer(flows)
    known = ask(flows, "Send 1 ETH to a friend", SEND, ("mm_click", {"a11yRef": "e1"}, HOME))
    assert best(known) == ("type", "to")


@one_engine
def test_it_can_be_printed_as_json(flows):
    a_transfer(flows)
    known = ask(flows, "Send 1 ETH to a friend", SEND, ("mm_click", "send", HOME)).to_dict()
    assert known["schemaVersion"] == 1
    assert known["query"]["screen"] == "send" and known["query"]["previous"] == "click Send"
    assert set(known["suggestedNextActions"][0]) >= {"rank", "action", "rationale", "confidence", "preferredTarget"}
    assert known["relatedSessions"] and known["similarSteps"]


def test_a_step_after_the_last_one_is_not_history(flows):
    for _ in range(2):
        a_transfer(flows)
    id_, steps = a_transfer(flows)
    assert best(flows.prior_knowledge(id_, SEND, previous=steps[0])) == ("type", "to")
    record_step(flows, id_, "mm_click", "menu", HOME)
    assert best(flows.prior_knowledge(id_, SEND, previous=steps[1])) == ("type", "amount")
