"""Healing: a renamed element is found, a similar one is not mistaken for it, and doubt means no."""

from datetime import UTC, datetime

import pytest
from benchmarks.flows_heal import measure
from benchmarks.flows_renames import measure as measure_renames

from athand.flows.model import Observation, Step
from athand.flows.replay.healing import Abstained, Heal, heal
from athand.flows.replay.label_similarity import are_opposites, label_similarity, label_words

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def a_page(*elements):
    """A page of `test id|role|name`; any part may be empty."""
    parts = [each.split("|") for each in elements]
    ids = tuple({"testId": test_id, "tag": "button", "visible": True} for test_id, _, _ in parts if test_id)
    nodes = tuple(
        {"ref": f"e{at}", "role": role, "name": name, **({"testId": test_id} if test_id else {})}
        for at, (test_id, role, name) in enumerate(parts, 1)
        if role
    )
    return Observation("home", "http://x/", ids, nodes)


def a_click(target, before):
    return Step("s", "x", "app", 1, NOW, "ui_click", "click", {}, target, True, None, (), "home", before)


def healed(target, before, now, rejected=(), **more):
    return heal(a_click(target, before), before, now, rejected, **more)


BEFORE = a_page("send-button|button|Send", "swap-button|button|Swap", "menu|button|Menu")
SEND = {"testId": "send-button", "role": "button", "name": "Send"}


def test_a_renamed_element_is_found():
    found = healed(
        SEND, BEFORE, a_page("btn-send-v2|button|Send crypto", "swap-button|button|Swap", "menu|button|Menu")
    )

    assert isinstance(found, Heal)
    assert found.target == {"testId": "btn-send-v2", "role": "button", "name": "Send crypto"}
    assert "Send crypto" in found.reason


def test_a_reworded_element_without_test_ids_is_found_by_role_and_name():
    before = a_page("|button|Log in", "|link|Forgot password?", "|link|Help")
    found = healed(
        {"role": "button", "name": "Log in"}, before, a_page("|button|Sign in", "|link|Forgot password?", "|link|Help")
    )

    assert isinstance(found, Heal)
    assert found.target == {"role": "button", "name": "Sign in"}


SECTION = {"role": "tab", "name": "Section #12"}


def sections(*numbers):
    return a_page(*(f"|tab|Section #{number}" for number in numbers), "|button|Submit")


def test_another_number_in_a_name_makes_no_other_element():
    found = healed(SECTION, sections(12), sections(24))

    assert isinstance(found, Heal)
    assert found.target == {"role": "tab", "name": "Section #24"}
    assert found.score >= 0.8


@pytest.mark.parametrize(
    ("before", "now"),
    [
        (sections(12), sections(24, 31)),
        (sections(12, 24), sections(24, 31)),  # one of them was there before
        (sections(12, 17), sections(24)),  # it may be the other one
        (sections(12, 24), sections(24)),
    ],
)
def test_of_several_with_numbers_none_is_taken(before, now):
    assert isinstance(healed(SECTION, before, now), Abstained)


def test_a_number_that_is_asked_for_is_not_exchanged():
    assert isinstance(healed(SECTION, sections(12), sections(24), is_asked_for=True), Abstained)


def test_what_was_there_before_is_never_taken_for_it():
    before = a_page("send-button|button|Send", "send-all|button|Send all")

    found = healed(SEND, before, a_page("send-all|button|Send all"))

    assert isinstance(found, Abstained)
    assert "No new element" in found.reason


def test_what_was_there_is_known_again_when_it_changes_too():
    before = a_page("send-button|button|Send", "inbox|link|Sent (3)")

    assert isinstance(healed(SEND, before, a_page("inbox|link|Send (4)")), Abstained)
    assert isinstance(healed(SEND, before, a_page("link-inbox|link|Sent (3)")), Abstained)


@pytest.mark.parametrize("places", [(0, 1), (1, 0)])
def test_of_two_new_ones_the_one_that_is_clearly_more_alike_is_taken(places):
    new = ("btn-send|button|Send", "send-feedback|button|Send a note")

    found = healed(SEND, BEFORE, a_page("swap-button|button|Swap", *(new[at] for at in places), "menu|button|Menu"))

    assert isinstance(found, Heal)
    assert found.target["testId"] == "btn-send"
    assert 0.5 < found.runner_up < found.score


def test_two_that_are_as_good_are_none():
    found = healed(
        SEND, BEFORE, a_page("a|button|Send", "swap-button|button|Swap", "menu|button|Menu", "b|button|Send")
    )

    assert isinstance(found, Abstained)
    assert "not clearly ahead" in found.reason
    assert found.reason.count('"Send"') == 2  # both are named, with their scores


def test_an_element_that_fits_another_lost_one_is_none():
    before = a_page("a1|button|Save draft", "a2|button|Save copy", "menu|button|Menu")

    found = healed(
        {"testId": "a1", "role": "button", "name": "Save draft"}, before, a_page("b7|button|Save", "menu|button|Menu")
    )

    assert isinstance(found, Abstained)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Sign in", "Sign up"),
        ("Next", "Previous"),
        ("Accept", "Decline"),
        ("Show details", "Hide details"),
        ("Buy", "Sell"),
    ],
)
def test_the_opposite_is_not_it(old, new):
    before = a_page(f"|button|{old}", "|link|Help")

    assert isinstance(
        healed({"role": "button", "name": old}, before, a_page(f"|button|{new}", "|link|Help")), Abstained
    )


def test_an_element_of_another_kind_is_not_it():
    assert isinstance(
        healed(SEND, BEFORE, a_page("t|heading|Send", "swap-button|button|Swap", "menu|button|Menu")), Abstained
    )
    field = {"testId": "amount", "role": "textbox", "name": "Amount"}
    assert isinstance(healed(field, a_page("amount|textbox|Amount"), a_page("x|button|Amount")), Abstained)


def test_a_rejected_element_is_not_proposed_again():
    now = a_page("btn-send-v2|button|Send", "swap-button|button|Swap", "menu|button|Menu")
    first = healed(SEND, BEFORE, now)
    assert isinstance(first, Heal)

    assert isinstance(healed(SEND, BEFORE, now, {first.element}), Abstained)


def test_without_knowledge_of_the_page_nothing_is_healed():
    assert isinstance(heal(a_click(SEND, None), None, BEFORE), Abstained)
    nameless = a_page("|button|")
    assert isinstance(healed({"a11yRef": "e1"}, nameless, nameless), Abstained)


def test_hidden_elements_are_no_candidates():
    now = Observation("home", "http://x/", ({"testId": "send-btn", "tag": "button", "text": "Send", "visible": False},))

    assert isinstance(healed(SEND, BEFORE, now), Abstained)


def test_words_are_compared_by_what_they_mean():
    assert label_words("loginSubmitBtn") == ("login", "submit")
    assert label_words("Log in") == ("login",)
    assert label_similarity(label_words("Delete account"), label_words("Remove the account")) > 0.8
    assert label_similarity(label_words("Send"), label_words("Help")) == 0
    assert label_similarity((), ("send",)) == 0
    assert are_opposites(label_words("Log in"), label_words("Log out"))
    assert not are_opposites(label_words("Log in"), label_words("Sign in"))


def test_on_pages_that_changed_a_heal_is_right_or_left_out():
    found = measure()["report"]

    assert found["cases"] >= 500
    assert found["precision"] >= 0.98
    assert found["recall"] >= 0.85
    assert found["abstention"] >= 0.99


def test_renamed_siblings_are_matched_one_to_one():
    before = a_page("create-password-new|textbox|", "create-password-confirm|textbox|", "terms|link|Terms")
    now = a_page("create-password-new-input|textbox|", "create-password-confirm-input|textbox|", "terms|link|Terms")

    found = [healed({"testId": f"create-password-{each}"}, before, now) for each in ("new", "confirm")]

    assert [each.target["testId"] for each in found] == ["create-password-new-input", "create-password-confirm-input"]


@pytest.mark.parametrize(
    ("was", "new"),
    [
        ("autoDetectTokens|checkbox|", "autodetect-tokens|checkbox|"),
        ("detect-nft|checkbox|", "detect-nfts|checkbox|"),
        ("|button|Greet me", "|button|Greet now"),
    ],
)
def test_words_that_are_joined_in_the_plural_or_only_stop_words_do_not_matter(was, new):
    test_id, role, name = was.split("|")
    target = {"testId": test_id} if test_id else {"role": role, "name": name}

    found = healed(target, a_page(was, "|link|Help"), a_page(new, "|link|Help"))

    assert isinstance(found, Heal)


def test_a_new_element_whose_name_and_test_id_both_speak_of_something_else_is_not_the_old_one():
    before = a_page("subscribe|button|Subscribe", "menu|button|Menu")

    found = healed(
        {"testId": "subscribe", "role": "button", "name": "Subscribe"},
        before,
        a_page("subscribe-report|button|Subscribe report", "menu|button|Menu"),
    )

    assert isinstance(found, Abstained)


@pytest.mark.parametrize("half", ["reported", "reported, test ids only"])
def test_of_the_renames_of_a_redesign_most_are_found_and_of_the_removals_none_is_replaced(half):
    found = measure_renames()[half]

    assert found["renames"]["right"] >= 0.6 * found["renames"]["cases"]
    assert found["renames"].get("wrong", 0) <= 1
    assert found["removals"].get("wrong", 0) <= 1
