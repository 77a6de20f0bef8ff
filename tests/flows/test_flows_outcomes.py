"""What became visible after a step: it is recorded without secrets, found by a search, and shown the next time."""

import pytest

from athand.errors import InvalidInput
from athand.flows.model import Observation

LOGIN = """<!doctype html><title>{title}</title><h1>Log in</h1>
<form onsubmit="{script}; return false"><label>User <input data-testid="user"></label>
<label>Password <input data-testid="password" type="password"></label>
<button data-testid="log-in">Log in</button></form><div id="said"></div>"""
WRONG = "document.getElementById('said').innerHTML = '<p class=errornote>Please enter the correct password.</p>'"
ECHO = "document.getElementById('said').innerHTML = '<p role=alert>' + document.forms[0][1].value + ' is wrong</p>'"
LATER = f"setTimeout(() => {{ {WRONG} }}, 1500)"


@pytest.fixture
def login(browser, tmp_path):
    """Opens a page with a login whose button does what a script says."""

    def go(script=WRONG, title="Log in"):
        page = tmp_path / f"{title}.html"
        page.write_text(LOGIN.format(title=title, script=script.replace('"', "&quot;")))
        browser.navigate(page.as_uri())
        return browser

    return go


def last_step(flows, browser):
    return flows.steps(browser.session_id)[-1]


def test_a_step_records_the_message_that_became_visible(login, shared_flows):
    browser = login()
    browser.click(test_id="log-in")
    assert last_step(shared_flows, browser).appeared == ("Please enter the correct password.",)
    browser.click(test_id="log-in")
    assert last_step(shared_flows, browser).appeared == (), "it was there before"


def test_another_page_is_recorded_by_its_title_and_heading(login, shared_flows, at):
    browser = login(title="Welcome")
    assert last_step(shared_flows, browser).appeared[0] == "title: Welcome"
    at("/shop.html")
    assert last_step(shared_flows, browser).appeared[:2] == ("title: Shop · Harbour", "Home")


def test_what_comes_later_is_recorded_with_the_step_that_saw_it(login, shared_flows):
    browser = login(LATER)
    browser.click(test_id="log-in")
    browser.wait_for(text="Please enter")
    assert last_step(shared_flows, browser).appeared == ("Please enter the correct password.",)


def test_a_password_that_the_page_repeats_is_not_recorded(login, shared_flows):
    browser = login(ECHO)
    browser.type("correct horse battery", test_id="password")
    browser.click(test_id="log-in")
    [said] = last_step(shared_flows, browser).appeared
    assert said.endswith("is wrong") and "horse" not in said
    assert "horse" not in str([step.to_dict() for step in shared_flows.steps(browser.session_id)])


def test_the_outcome_is_found_by_a_search_and_shown_the_next_time(login, shared_flows):
    with shared_flows.open_browser(git={}, app="staff", goal="Log in") as first:
        first.navigate(login(title="Staff").get_state().url)
        first.click(test_id="log-in")
        address = first.get_state().url
    found = shared_flows.search("please enter the correct password", filters={"app": "staff"})
    assert found[0].item.verb == "click"
    assert 'appeared:"Please enter the correct password."' in found[0].matched_fields
    with shared_flows.open_browser(git={}, app="staff", goal="Log in", url=address) as second:
        shown = second.describe_screen().to_dict()["priorKnowledge"]["suggestedNextActions"]
    assert [each["lastTime"] for each in shown if each["action"] == "click"] == ["Please enter the correct password."]


def test_an_outcome_is_recorded_for_another_program_and_survives_a_transfer(flows, tmp_path):
    flows.start_session(id="s", app="shop")
    flows.record("s", tool="click", target={"testId": "order"}, before=Observation("cart"), appeared=["Thank you, Ada"])
    flows.export(tmp_path / "out")
    kept = flows.steps("s")[0].appeared
    flows.delete("s")
    flows.import_(tmp_path / "out")
    assert kept == flows.steps("s")[0].appeared == ("Thank you, Ada",)
    assert flows.summarize("s").actions == ('click order on cart → "Thank you, Ada"',)
    with pytest.raises(InvalidInput, match="appeared"):
        flows.record("s", tool="click", appeared="Thank you")
