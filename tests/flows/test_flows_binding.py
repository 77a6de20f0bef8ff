"""What a goal names takes the place of what another goal named."""

import pytest

from recollect.flows.binding import bind, slots, values_in


@pytest.mark.parametrize(
    ("old", "new", "text", "bound"),
    [
        ('Enter "Olin" as name and press Submit', 'Enter "Bob" as name and press Submit', "Olin", "Bob"),
        ("Search for red shoes", "Search for blue hats", "red shoes", "blue hats"),
        (
            "Invite ann@example.org to the team",
            "Invite bob@example.org to the team",
            "ann@example.org",
            "bob@example.org",
        ),
        ("Choose 03/12/2016 as the date", "Choose 10/01/2017 as the date", "03/12/2016", "10/01/2017"),
        ('Send 0.5 ETH to "Alice"', 'Transfer 0.7 ETH to the account "Bob"', "0.5", "0.7"),
        ('Send 0.5 ETH to "Alice"', 'Transfer 0.7 ETH to the account "Bob"', "Alice", "Bob"),
        ("Select Brazil from the list", "Select New Zealand from the list", "Brazil", "New Zealand"),
        ('Log in as user "a" with password "b"', 'With password "d" log in as user "c"', "b", "d"),
        ('Delete "Bob"', 'Delete "Ann"', "Delete Bob now", "Delete Ann now"),
    ],
)
def test_a_value_of_the_old_goal_becomes_that_of_the_new_one(old, new, text, bound):
    assert bind(text, old, new) == bound


@pytest.mark.parametrize("text", ["Submit", "Olinda", ""])
def test_what_no_goal_names_stays(text):
    assert bind(text, 'Enter "Olin" as name', 'Enter "Bob" as name') == text


@pytest.mark.parametrize(("old", "new"), [(None, "Enter x"), ("Enter x", None), (None, None), ("", "")])
def test_without_two_goals_nothing_is_bound(old, new):
    assert bind("x", old, new) == "x"


def test_a_target_named_by_the_goal_becomes_another_element():
    target = {"testId": "choice-1", "role": "button", "name": "Ok"}
    found = bind(target, 'Click on the "Ok" button', 'Click on the "Cancel" button')
    assert found == {"role": "button", "name": "Cancel"}


def test_a_target_that_the_goal_does_not_name_keeps_all_it_has():
    target = {"testId": "go", "role": "button", "name": "Submit"}
    assert bind(target, 'Enter "Olin" and submit', 'Enter "Bob" and submit') == target


def test_lists_of_other_lengths_leave_values_over():
    found = slots('Select words "a" and "b" and click Submit.', 'Select words "x", "y" and "z" and click Submit.')
    assert found.pairs == (("a", "x"), ("b", "y"))
    assert found.more_new == ("z",)


def test_lists_without_quotes_are_lists_too():
    found = slots("Select 7nUI, cWo and click Submit.", "Select abc, dEf, ghi and click Submit.")
    assert found.new == ("abc", "dEf", "ghi")


def test_another_word_for_the_same_is_no_value():
    assert bind("Send", "Send the tokens to my friend", "Transfer the tokens to my friend") == "Send"


def test_goals_with_nothing_in_common_bind_nothing():
    assert slots("Export my issues", "Turn on the vacation reply").pairs == ()


def test_values_are_what_is_quoted_addresses_and_numbers():
    assert values_in('Send 0.5 ETH to "Ann Lee" or ann@example.org, don\'t ask') == (
        "0.5",
        "Ann Lee",
        "ann@example.org",
    )
