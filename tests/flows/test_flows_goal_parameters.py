"""What a goal names takes the place of what another goal named."""

import pytest

from athand.flows.goal_parameters import bind, mask_numbers, match_goals, values_in


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


REPORT, BLOCK = 'For the user @ann, click on the "Report" button.', 'For the user @bob, click on the "Block" button.'


@pytest.mark.parametrize(
    ("old", "new", "selector", "bound"),
    [
        ('Open "Ada"', 'Open "Lyda"', '#tree span:text-is("Ada") >> nth=0', '#tree span:text-is("Lyda") >> nth=0'),
        ('Open "Ada"', 'Open "Lyda"', "a[title='Ada']", "a[title='Lyda']"),
        ('Open "Ada"', 'Open "Lyda"', "text=Ada", "text=Lyda"),
        ('Open "Ada"', 'Open «Ann "O" Neill»', '[title="Ada"]', '[title="Ann \\"O\\" Neill"]'),
        (REPORT, BLOCK, 'div:has(:text-is("@ann")) >> .more', 'div:has(:text-is("@bob")) >> .more'),
        (
            REPORT,
            BLOCK,
            'div:has(:text-is("@ann")) >> li:has-text("Report")',
            'div:has(:text-is("@bob")) >> li:has-text("Block")',
        ),
        ('Open "Ada"', 'Open "Lyda"', "#Adaptor", "#Adaptor"),
        ('Send 0 to "Ada"', 'Send 5 to "Lyda"', "#list li >> nth=0", "#list li >> nth=0"),
        ('Tick "a"', 'Tick "b"', "ul > li a", "ul > li a"),
    ],
)
def test_texts_in_a_selector_are_bound_and_nothing_else_in_it(old, new, selector, bound):
    assert bind({"selector": selector}, old, new) == {"selector": bound}


@pytest.mark.parametrize("selector", ["div >> .like", "#LIKE", '[title="Like"]', "[data-kind=like]", "text=Like it"])
def test_a_selector_for_what_only_the_old_goal_names_leads_nowhere(selector):
    target = {"selector": selector, "role": "button", "name": "+"}
    assert bind(target, 'Click "Like"', "Click on whatever comes first") == {}


def test_another_element_keeps_nothing_of_the_old_one_but_what_the_goal_changed():
    target = {"selector": 'li:has-text("Ada") >> button', "testId": "open-7", "role": "button", "name": "Open"}
    assert bind(target, 'Open "Ada"', 'Open "Lyda"') == {"selector": 'li:has-text("Lyda") >> button'}
    target = {"selector": 'span:text-is("Ada")', "role": "generic", "name": "Ada"}
    assert bind(target, 'Open "Ada"', 'Open "Lyda"') == {
        "selector": 'span:text-is("Lyda")',
        "role": "generic",
        "name": "Lyda",
    }


@pytest.mark.parametrize("blank", ["+", "%20"])
def test_an_address_is_bound_as_addresses_are_written(blank):
    old, new = 'Search for "red shoes"', 'Search for "blue hats"'
    assert bind(f"https://shop.example/?q=red{blank}shoes", old, new) == f"https://shop.example/?q=blue{blank}hats"


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("Section #12", "Section #24", True),
        ("Checkout (3 items, $10.50)", "checkout (12 items, $1,204.00)", True),
        ("12", "24", False),
        ("Inbox", "Sent", False),
        ("Section 1", "Chapter 1", False),
        ("API v2", "API v3", False),
    ],
)
def test_names_that_differ_in_numbers_only(one, other, is_same):
    assert (mask_numbers(one) == mask_numbers(other) != "") == is_same


def test_lists_of_other_lengths_leave_values_over():
    found = match_goals('Select words "a" and "b" and click Submit.', 'Select words "x", "y" and "z" and click Submit.')
    assert found.pairs == (("a", "x"), ("b", "y"))
    assert found.unpaired_new == ("z",)


def test_lists_without_quotes_are_lists_too():
    found = match_goals("Select 7nUI, cWo and click Submit.", "Select abc, dEf, ghi and click Submit.")
    assert found.new == ("abc", "dEf", "ghi")


def test_another_word_for_the_same_is_no_value():
    assert bind("Send", "Send the tokens to my friend", "Transfer the tokens to my friend") == "Send"


def test_goals_with_nothing_in_common_bind_nothing():
    assert match_goals("Export my issues", "Turn on the vacation reply").pairs == ()


def test_values_are_what_is_quoted_addresses_and_numbers():
    assert values_in('Send 0.5 ETH to "Ann Lee" or ann@example.org, don\'t ask') == (
        "0.5",
        "Ann Lee",
        "ann@example.org",
    )
