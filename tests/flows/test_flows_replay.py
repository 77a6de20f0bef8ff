"""Replay in a real browser: a session is done again, on pages that stayed, changed, moved or are gone."""

from functools import partial

import pytest
from tests.flows.changing import served
from tests.flows.sharing import shared_chromium
from tests.flows.waiting import has, in_vain, patient_replays
from tests.waiting import PATIENCE

from athand.errors import InvalidInput
from athand.flows import service

PASSWORD = "correct horse 7!"
RENAMED = ('data-testid="sign-in">Log in', 'data-testid="login-submit">Sign in')
GOAL = 'Buy as "Ada" with the note "gift"'


@pytest.fixture(scope="module")
def served_site():
    with served() as site:
        yield site


@pytest.fixture
def site(served_site):
    yield served_site
    served_site.restore()


@pytest.fixture(autouse=True)
def patience():
    with patient_replays():
        yield


@pytest.fixture
def flows(shared_flows):
    return shared_flows


@pytest.fixture
def browser(shared_flows, in_shared_chromium):
    with shared_flows.open_browser(git={}, app="shop") as browser:
        yield browser


def purchase(flows, browser, site):
    """A session that bought something, in the usual ways: by test id, ref, selector, role and name."""
    session = flows.start_session(goal=GOAL, flow_tags=["buy"], app="shop")
    with browser.record_into(session.id):
        browser.navigate(site.url)
        browser.type("Ada", test_id="username")
        browser.type(PASSWORD, role="textbox", name="Password")
        browser.click(test_id="sign-in")
        browser.select(label="Large", test_id="size")
        browser.type("gift", selector="#note")
        cart = next(node for node in browser.describe_screen().observation.a11y if node["name"] == "Add to cart")
        browser.click(ref=cart["ref"])
        with pytest.raises(Exception, match="no such"):
            browser.click(test_id="no such", timeout_s=0.2)
        browser.click(test_id="checkout")
    return session.id


@pytest.fixture(scope="module")
def bought(request, shared_flows, served_site):
    """A purchase to be done again; it is only read."""
    with (
        shared_chromium(request.config),
        shared_flows.open_browser(git={}, app="shop") as browser,
    ):
        return purchase(shared_flows, browser, served_site)


def test_a_session_is_done_again(flows, browser, bought, site):
    done = flows.replay(browser, bought, values={"password": PASSWORD})

    assert (done.ok, done.done, done.total, done.code) == (True, 8, 8, None)
    assert browser.observe().test_ids[0]["testId"] == "thanks"
    again = flows.session(done.session_id)
    assert (again.goal, again.flow_tags, again.launch) == (GOAL, ("buy",), {"replayOf": bought})
    assert "replay" in again.tags
    steps = flows.steps(again.id)
    assert [step.verb for step in steps] == ["navigate", "type", "type", "click", "select", "type", "click", "click"]
    assert all(step.ok and "a11yRef" not in step.target for step in steps)
    assert PASSWORD not in str([step.to_dict() for step in steps])
    assert browser.session_id != again.id  # what comes after it is no part of it


def test_what_was_secret_is_asked_for_before_anything_is_done(flows, browser, bought):
    before = len(flows.sessions(100))

    done = flows.replay(browser, bought)

    assert (done.ok, done.code, done.stopped_at, done.done) == (False, "VALUE_NEEDED", 3, 0)
    assert "Password" in done.reason
    assert len(flows.sessions(100)) == before


def test_another_goal_brings_its_own_values(flows, browser, bought, site):
    site.change("/", ("location.href = '/shop'", "location.href = '/shop?for=' + this.username.value"))

    done = flows.replay(browser, bought, goal='Buy as "Bob" with the note "fragile"', values={"password": PASSWORD})

    assert done.ok, done.reason
    typed = [step.input["text"] for step in flows.steps(done.session_id) if step.verb == "type"]
    assert typed[0] == "Bob"
    assert typed[2] == "fragile"


def test_a_value_can_be_told_for_any_field(flows, browser, bought):
    done = flows.replay(browser, bought, values={"username": "Cy", "Password": PASSWORD})

    assert done.ok, done.reason
    assert next(step.input["text"] for step in flows.steps(done.session_id) if step.verb == "type") == "Cy"


def test_a_renamed_element_is_healed_and_recorded_with_both_names(flows, browser, bought, site):
    site.change("/", RENAMED)

    with in_vain(has("login-submit")):
        done = flows.replay(browser, bought, values={"password": PASSWORD})

    assert done.ok, done.reason
    assert [(each.position, each.now["testId"]) for each in done.healed] == [(4, "login-submit")]
    step = next(step for step in flows.steps(done.session_id) if "healed" in step.input)
    assert step.target["testId"] == "login-submit"
    assert step.input["healed"]["target"]["testId"] == "sign-in"
    assert done.to_dict()["healed"][0]["was"]["testId"] == "sign-in"


def test_of_two_new_elements_the_one_that_is_clearly_more_alike_is_clicked(flows, browser, bought, site):
    other = '<button type="button" data-testid="passkey">Log in later</button>'
    site.change("/", RENAMED, ("</form>", f"{other}</form>"))

    with in_vain(has("login-submit")):
        done = flows.replay(browser, bought, values={"password": PASSWORD})

    assert done.ok, done.reason
    assert [each.now["testId"] for each in done.healed] == ["login-submit"]
    assert "next is button" in done.healed[0].reason


def test_without_healing_it_stops_at_the_renamed_element(flows, browser, bought, site):
    site.change("/", RENAMED)

    with in_vain(has("login-submit")):
        done = flows.replay(browser, bought, values={"password": PASSWORD}, heal=False)

    assert (done.ok, done.code, done.stopped_at, done.done) == (False, "TARGET_NOT_FOUND", 4, 3)


def test_a_rejected_heal_is_not_done_again(flows, browser, site):
    own = purchase(flows, browser, site)
    site.change("/", RENAMED)
    with in_vain(has("login-submit")):
        first = flows.replay(browser, own, values={"password": PASSWORD})
        step = next(step for step in flows.steps(own) if step.position == first.healed[0].position)

        flows.reject_heal(step, first.healed[0].element)
        second = flows.replay(browser, own, values={"password": PASSWORD})

    assert (second.ok, second.code, second.stopped_at) == (False, "TARGET_NOT_FOUND", 4)


def test_an_element_that_is_gone_stops_it_though_a_like_one_is_there(flows, browser, bought, site):
    site.change("/shop", ('<button data-testid="add-to-cart" onclick="cart.showModal()">Add to cart</button>', ""))

    with in_vain(has("add-to-wishlist")):
        done = flows.replay(browser, bought, values={"password": PASSWORD})

    assert (done.code, done.stopped_at, done.done) == ("TARGET_NOT_FOUND", 8, 6)
    assert "Add to cart" in done.reason
    assert "add-to-cart" in done.missing
    assert "add-to-wishlist" not in done.missing


def test_another_page_than_expected_stops_it_and_it_says_how(flows, browser, bought, site):
    site.change("/", ("location.href = '/shop'", "location.href = '/help'"))

    with in_vain(has("ask")):
        done = flows.replay(browser, bought, values={"password": PASSWORD})

    assert (done.code, done.stopped_at, done.done) == ("PAGE_DIFFERS", 5, 4)
    assert "shop" in done.expected_screen
    assert "help" in done.seen_screen
    assert "size" in done.missing


def test_a_heading_that_was_reworded_is_no_other_page(flows, browser, bought, site):
    site.change("/shop", ("<h1>Shop</h1>", "<h1>All our goods</h1>"))

    assert flows.replay(browser, bought, values={"password": PASSWORD}).ok


def test_a_page_that_takes_its_time_is_waited_for(flows, browser, bought, site):
    site.change(
        "/shop",
        (
            "<h1>Shop</h1>",
            "<script>document.currentScript.parentNode.hidden = true;"
            "setTimeout(() => { document.body.hidden = false }, 800)</script><h1>Shop</h1>",
        ),
    )

    done = flows.replay(browser, bought, values={"password": PASSWORD})

    assert done.ok, done.reason


def test_the_tail_of_a_session_is_done_where_it_was_done(flows, browser, bought, site):
    browser.navigate(f"{site.url}/help")
    told = []

    done = flows.replay(browser, bought, start=5, progress=told.append)

    assert [step.verb for step in told] == ["select", "type", "click", "click"]

    assert (done.ok, done.total) == (True, 4), done.reason
    assert [step.verb for step in flows.steps(done.session_id)] == ["navigate", "select", "type", "click", "click"]


def test_a_browser_that_is_not_running_is_launched_into_the_new_session(flows, bought, in_shared_chromium):
    with flows.open_browser(git={}) as other:
        other.cleanup()
        done = flows.replay(other, bought, values={"password": PASSWORD})

        assert done.ok, done.reason
        assert flows.steps(done.session_id)[0].verb == "launch"


def test_one_of_several_that_look_the_same_is_found_by_its_place_while_there_are_as_many(flows, browser, site):
    rows = "".join(
        f"<li>{each} <button onclick=\"shown.textContent = 'Gone {each}'\">Delete</button></li>" for each in "abc"
    )
    site.pages["/list"] = f'<h1 id="shown">List</h1><ul>{rows}</ul>'
    session = flows.start_session(app="shop", goal="Delete b")
    with browser.record_into(session.id):
        browser.navigate(f"{site.url}/list")
        second = [node for node in browser.describe_screen().observation.a11y if node["name"] == "Delete"][1]
        browser.click(ref=second["ref"])

    assert flows.replay(browser, session.id).ok
    assert any(node["name"] == "Gone b" for node in browser.observe().a11y)

    site.change("/list", ("<li>a", "<li>new <button>Delete</button></li><li>a"))
    with in_vain(lambda seen: sum(node["name"] == "Delete" for node in seen.a11y) == 4):
        done = flows.replay(browser, session.id)
    assert (done.ok, done.code) == (False, "TARGET_NOT_FOUND")


def test_a_target_that_is_there_twice_now_is_left_alone(flows, browser, bought, site):
    site.change("/", ("</form>", '<button data-testid="sign-in">Log in</button></form>'))

    with in_vain(has("sign-in")):
        done = flows.replay(browser, bought, values={"password": PASSWORD})

    assert (done.code, done.stopped_at, done.done) == ("AMBIGUOUS_TARGET", 4, 3)


def test_a_name_in_the_goal_leads_to_another_element(flows, browser, site):
    site.pages["/choice"] = (
        "<h1>Choice</h1>"
        + "".join(f"<button onclick=\"out.textContent = '{each} chosen'\">{each}</button>" for each in ("Ok", "Cancel"))
        + '<p role="status" id="out"></p>'
    )
    session = flows.start_session(app="shop", goal='Click on the "Ok" button')
    with browser.record_into(session.id):
        browser.navigate(f"{site.url}/choice")
        browser.click(role="button", name="Ok")

    done = flows.replay(browser, session.id, goal='Click on the "cancel" button')

    assert done.ok, done.reason
    assert flows.steps(done.session_id)[-1].target["name"] == "Cancel"


def test_a_value_of_the_goal_in_a_selector_leads_to_another_element(flows, browser, site):
    look = "display: inline-block; width: 9px; height: 9px"  # no text: nothing but a selector tells them apart
    icon = "<i class=open style='{}' onclick=\"out.textContent = '{} opened'\"></i>"
    rows = "".join(f"<li>{each} {icon.format(look, each)}</li>" for each in ("Ada", "Bo"))
    site.pages["/rows"] = f'<h1>Rows</h1><ul>{rows}</ul><p role="status" id="out"></p>'
    session = flows.start_session(app="shop", goal='Open the row of "Ada"')
    with browser.record_into(session.id):
        browser.navigate(f"{site.url}/rows")
        browser.click(selector='li:has-text("Ada") >> .open')

    done = flows.replay(browser, session.id, goal='Open the row of "Bo"')
    assert done.ok, done.reason
    assert flows.steps(done.session_id)[-1].target["selector"] == 'li:has-text("Bo") >> .open'

    stopped = flows.replay(browser, session.id, goal="Look at the rows")
    assert (stopped.ok, stopped.code, stopped.done) == (False, "TARGET_NOT_FOUND", 1)
    assert "only the recorded goal has" in stopped.reason


def test_an_element_with_another_number_is_used_unless_the_goal_asks_for_a_number(flows, browser, site):
    site.pages["/cart"] = "<h1>Cart</h1><button>Pay 10.50 euro</button><button>Back</button>"
    session = flows.start_session(app="shop", goal="Pay what is in the cart")
    with browser.record_into(session.id):
        browser.navigate(f"{site.url}/cart")
        browser.click(role="button", name="Pay 10.50 euro")
    site.change("/cart", ("10.50", "7"))

    done = flows.replay(browser, session.id, heal=False)
    assert done.ok, done.reason
    assert flows.steps(done.session_id)[-1].target["name"] == "Pay 7 euro"

    with in_vain(has("Pay 7 euro")):
        done = flows.replay(browser, session.id, goal="Pay 10.50 euro for what is in the cart")
    assert (done.ok, done.code, done.done) == (False, "TARGET_NOT_FOUND", 1)


def test_lists_of_another_length_are_gone_through(flows, browser, site):
    boxes = "".join(f'<label><input type="checkbox">{each}</label>' for each in ("milk", "eggs", "bread", "salt"))
    site.pages["/boxes"] = f"<h1>List</h1>{boxes}<button>Submit</button>"
    session = flows.start_session(app="shop", goal='Select "milk" and "eggs" and click Submit')
    with browser.record_into(session.id):
        browser.navigate(f"{site.url}/boxes")
        browser.click(role="checkbox", name="milk")
        browser.click(role="checkbox", name="eggs")
        browser.click(role="button", name="Submit")

    longer = flows.replay(browser, session.id, goal='Select "salt" and "bread" and "milk" and click Submit')
    shorter = flows.replay(browser, session.id, goal='Select "bread" and click Submit')

    def clicked(done):
        return [step.target["name"] for step in flows.steps(done.session_id) if step.verb == "click"]

    assert clicked(longer) == ["salt", "bread", "milk", "Submit"]
    assert clicked(shorter) == ["bread", "Submit"]


def test_a_session_without_actions_and_a_browser_for_another_app_are_refused(flows, browser, site):
    empty = flows.start_session(app="shop")
    other = flows.start_session(app="bank")
    flows.record(other.id, tool="click", target={"testId": "x"})

    with pytest.raises(InvalidInput, match="no successful action"):
        flows.replay(browser, empty.id)
    with pytest.raises(InvalidInput, match="launched for the app 'shop'"):
        flows.replay(browser, other.id)


def test_what_the_browser_cannot_do_is_told_with_its_code(flows, browser, bought, site, monkeypatch):
    site.change("/", ('<input data-testid="username" name="username">', '<input data-testid="username" disabled>'))

    for limit in (1, 10, PATIENCE):  # as long as it takes to find out
        monkeypatch.setattr(service, "replay", partial(service.replay, timeout_s=limit))
        done = flows.replay(browser, bought, values={"password": PASSWORD})
        if done.code != "TIMEOUT":
            break

    assert (done.ok, done.stopped_at, done.code) == (False, 2, "TARGET_NOT_ENABLED")


def test_what_was_typed_in_secret_is_kept_in_no_session_of_the_same_browser(flows, browser, site):
    site.pages["/echo"] = (
        '<h1>Echo</h1><input type="password" aria-label="Password" oninput="out.textContent = this.value">'
        '<p role="status" id="out"></p>'
    )
    one, other = flows.start_session(app="shop"), flows.start_session(app="shop")
    with browser.record_into(one.id):
        browser.navigate(f"{site.url}/echo")
        browser.type("correct-horse-9", role="textbox", name="Password")
    with browser.record_into(other.id):
        browser.describe_screen()
    browser.describe_screen()
    for session_id in (one.id, other.id, browser.session_id):
        assert "correct-horse-9" not in str([step.to_dict() for step in flows.steps(session_id)])
