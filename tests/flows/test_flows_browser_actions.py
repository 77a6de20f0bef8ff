"""Using a page in a real Chromium: targets of every kind, what can stand in the way, tabs, and batches."""

import os
import signal
import threading

import pytest
from tests.flows.waiting import asks_for_data, goes_to, opens_a_tab, settled_once
from tests.waiting import PATIENCE, until

from athand.errors import ActionFailed, AthandError, InvalidInput
from athand.flows.browser import context, targets


def said(browser, name="said"):
    return next(each["text"] for each in browser.list_testids().test_ids if each["testId"] == name)


def ref_of(browser, name):
    return next(each["ref"] for each in browser.describe_screen().observation.a11y if each["name"] == name)


def code_of(error, call, **given):
    with pytest.raises(error) as failed:
        call(**given)
    assert len(str(failed.value)) > 20, "a message says what happened"
    return failed.value.code


def code_in_time(call, **given):
    """What stands in the way, tried again with more time where the machine was too slow to find out."""
    codes = (code_of(ActionFailed, call, timeout_s=limit, **given) for limit in (0.5, 5, PATIENCE))
    return next((code for code in codes if code != "TIMEOUT"), "TIMEOUT")


@pytest.mark.parametrize(
    "target",
    [
        {"test_id": "plain-div"},
        {"selector": "[onclick^=say]"},
        {"role": "generic", "name": "Just a div"},
        {"target": {"testId": "plain-div"}},
        {"target": {"role": "generic", "name": "Just a div"}},
    ],
)
def test_a_target_can_be_named_in_every_way(at, target):
    browser = at("/slow.html")
    browser.click(**target)
    assert said(browser) == "div clicked"


def test_whatever_listens_to_clicks_can_be_seen_and_clicked(at):
    browser = at("/tree.html")
    seen = [each for each in browser.describe_screen().observation.a11y if each.get("clickable")]
    assert [(each["role"], each["name"]) for each in seen] == [
        ("generic", "Letter"),
        ("generic", "Folder"),
        ("generic", "Cell"),
        ("generic", "Paragraph"),
        ("generic", "Like"),
        ("heading", "Heading"),
    ]
    for each in seen:
        browser.click(role=each["role"], name=each["name"])
        assert said(browser) == each["name"].lower()


def test_refs_lead_to_what_they_meant(at, shared_flows):
    browser = at("/login.html")
    browser.click(ref=ref_of(browser, "Large"))
    assert "large" in said(browser, "typed")
    step = shared_flows.last(2)[1]
    assert step.target["a11yRef"].startswith("e")
    assert (step.target["role"], step.target["name"]) == ("radio", "Large")


def test_the_second_of_two_twins_is_reached_by_its_ref(at, shared_flows):
    browser = at("/slow.html")
    refs = [each["ref"] for each in browser.describe_screen().observation.a11y if each["name"] == "Twin"]
    assert len(refs) == 2
    browser.click(ref=refs[1])
    step = shared_flows.last(1)[0]
    assert step.target["selector"] == "html:nth-of-type(1) > body:nth-of-type(1) > button:nth-of-type(6)"
    focused = [each.get("focused", False) for each in browser.accessibility_snapshot().nodes if each["name"] == "Twin"]
    assert focused == [False, True]


def test_typing_sends_keys_and_replaces_or_appends(at):
    browser = at("/login.html")
    browser.type("anna", test_id="user-name")
    assert int(said(browser, "typed").split()[0]) >= 4
    browser.type("second", test_id="note", clear=False)
    browser.type("ben", role="textbox", name="User name")
    values = {each["name"]: each.get("value") for each in browser.accessibility_snapshot().nodes}
    assert (values["User name"], values["Note"]) == ("ben", "firstsecond")
    browser.type("2001-02-03", test_id="born")
    assert said(browser, "typed").endswith("born 2001-02-03")


def test_enter_submits(at):
    browser = at("/login.html")
    browser.type("anna", test_id="user-name")
    with settled_once(goes_to("/shop.html")):
        result = browser.type("secret-word", test_id="password", submit=True)
    assert result.url.endswith("/shop.html")
    assert result.screen.startswith("/shop")


def test_lists_boxes_and_keys(at):
    browser = at("/login.html")
    browser.select("de", test_id="language")
    assert ", de," in said(browser, "typed")
    browser.select(label="French", test_id="language")
    assert ", fr," in said(browser, "typed")
    browser.click(role="checkbox", name="Remember me")
    checked = {each["name"]: each.get("checked") for each in browser.accessibility_snapshot().nodes}
    assert checked["Remember me"] is True
    browser.click(test_id="user-name")
    browser.press("x")
    browser.press("y", test_id="user-name")
    values = {each["name"]: each.get("value") for each in browser.accessibility_snapshot().nodes}
    assert sorted(values["User name"]) == ["x", "y"]


def test_closed_shadow_roots_take_mouse_and_keys(at):
    browser = at("/shadow.html")
    browser.click(test_id="closed-button")
    assert said(browser) == "closed clicked, trusted true"
    browser.type("new", test_id="closed-input")
    assert said(browser) == "typed new"
    browser.type("er", test_id="closed-input", clear=False)
    assert said(browser) == "typed newer"
    browser.select("Three", role="combobox", name="Closed list")
    assert said(browser) == "chose Three"
    browser.click(test_id="nested-button")
    assert said(browser) == "nested clicked"
    browser.click(role="button", name="Open button")
    assert said(browser) == "open clicked"
    assert code_of(ActionFailed, browser.click, test_id="closed-disabled") == "TARGET_NOT_ENABLED"
    assert code_of(ActionFailed, browser.select, value="Nine", test_id="closed-select") == "OPTION_NOT_FOUND"


def test_frames_are_used_like_the_page(at):
    browser = at("/frames.html")
    browser.type("hello", test_id="input-two")
    browser.click(role="button", name="Press two")
    assert said(browser, "said-two") == "two pressed hello"
    browser.click(ref=ref_of(browser, "Press one"))
    assert said(browser, "said-one") == "one pressed"
    browser.click(selector="text=Press one")
    assert code_of(ActionFailed, browser.click, selector="button >> nth=0") == "AMBIGUOUS_TARGET"


def test_a_hardened_page_is_used_like_any_other(at):
    browser = at("/scuttled.html")
    browser.type("hello", test_id="word")
    browser.click(test_id="go")
    assert said(browser) == "went with hello"
    browser.select("Two", selector="select")
    assert said(browser) == "chose Two"
    browser.click(ref=ref_of(browser, "Go"))
    browser.wait_for(text="went with hello")
    assert browser.screenshot().path


def test_a_restless_page_can_be_used(at):
    browser = at("/restless.html")
    for _ in range(3):
        browser.click(test_id="press-me")
    browser.click(ref=ref_of(browser, "No test id"))
    browser.click(role="button", name="No test id")
    assert said(browser, "count") == "5"


def test_what_comes_late_is_waited_for(at):
    browser = at("/slow.html")
    browser.click(test_id="start")
    browser.click(test_id="late")
    assert said(browser) == "late clicked"
    browser.click(test_id="unready")
    assert said(browser) == "ready clicked"


def test_data_that_an_action_asks_for_is_waited_for(at, monkeypatch):
    monkeypatch.setattr(context, "_SETTLE_MAX_S", PATIENCE)
    browser = at("/shop.html")
    with settled_once(asks_for_data(browser)):
        browser.click(test_id="refresh")
    assert said(browser, "balance") == "Balance: 13 coins"


def test_data_that_a_new_page_asks_for_is_waited_for(at, monkeypatch):
    monkeypatch.setattr(context, "_SETTLE_MAX_S", PATIENCE)
    assert said(at("/account.html"), "balance") == "Balance: 13 coins"


def test_a_page_that_takes_its_time_is_waited_for(at, site):
    browser = at("/login.html")
    browser.navigate(f"data:text/html,<a data-testid=go href='{site}/slow/1500'>Go</a>")
    with settled_once(goes_to("/slow/1500")):
        assert browser.click(test_id="go").url == f"{site}/slow/1500"


def test_what_stands_in_the_way_has_a_name(at):
    browser = at("/slow.html")
    cases = [
        ({"test_id": "nowhere"}, "TARGET_NOT_FOUND"),
        ({"role": "button", "name": "Nowhere"}, "TARGET_NOT_FOUND"),
        ({"selector": "#nowhere"}, "TARGET_NOT_FOUND"),
        ({"test_id": "hidden-button"}, "TARGET_NOT_VISIBLE"),
        ({"selector": ".hidden"}, "TARGET_NOT_VISIBLE"),
        ({"test_id": "unready"}, "TARGET_NOT_ENABLED"),
        ({"test_id": "twin"}, "AMBIGUOUS_TARGET"),
        ({"role": "button", "name": "Twin"}, "AMBIGUOUS_TARGET"),
        ({"selector": "button"}, "AMBIGUOUS_TARGET"),
        ({"ref": "e999"}, "UNKNOWN_REF"),
        ({"ref": "nonsense"}, "UNKNOWN_REF"),
    ]
    for target, code in cases:
        assert code_in_time(browser.click, **target) == code, target


def test_what_cannot_be_done_to_an_element_has_a_name(at):
    browser = at("/login.html")
    assert code_in_time(browser.type, text="x", test_id="log-in") == "TARGET_NOT_EDITABLE"
    assert code_in_time(browser.type, text="x", test_id="remember") == "TARGET_NOT_EDITABLE"
    assert code_in_time(browser.type, text="x", test_id="fixed") == "TARGET_NOT_ENABLED"
    assert code_in_time(browser.type, text="soon", test_id="born") == "BAD_VALUE"
    assert code_in_time(browser.select, value="x", test_id="log-in") == "NOT_A_SELECT"
    assert code_in_time(browser.select, value="xx", test_id="language") == "OPTION_NOT_FOUND"
    assert code_of(InvalidInput, browser.press, key="NoSuchKey") == "UNKNOWN_KEY"
    assert code_of(InvalidInput, browser.click, selector="[[") == "BAD_SELECTOR"


def test_what_is_covered_cannot_be_clicked(at):
    browser = at("/leaving.html")
    browser.click(test_id="cover")
    assert code_in_time(browser.click, test_id="covered") == "TARGET_COVERED"
    browser = at("/dialogs.html")
    browser.click(test_id="open-modal")
    assert code_in_time(browser.click, test_id="behind") == "TARGET_COVERED"
    browser.click(test_id="modal-yes")
    assert said(browser) == "deleted"


def test_exactly_one_target_is_needed(at):
    browser = at("/slow.html")
    assert code_of(InvalidInput, browser.click) == "NO_TARGET"
    assert code_of(InvalidInput, browser.click, role="button") == "NO_TARGET"
    assert code_of(InvalidInput, browser.click, name="Start") == "NO_TARGET"
    assert code_of(InvalidInput, browser.click, target="start") == "NO_TARGET"
    assert code_of(InvalidInput, browser.type, text="x") == "NO_TARGET"
    assert code_of(InvalidInput, browser.click, test_id="a", ref="e1") == "TWO_TARGETS"
    assert code_of(InvalidInput, browser.click, test_id="a", role="button", name="b") == "TWO_TARGETS"
    assert code_of(InvalidInput, browser.click, test_id="a", target={"selector": "b"}) == "TWO_TARGETS"


def test_an_element_that_is_gone_is_not_found_by_its_ref(at):
    browser = at("/slow.html")
    ref = ref_of(browser, "Vanish")
    browser.click(ref=ref)
    assert code_of(ActionFailed, browser.click, ref=ref) == "TARGET_NOT_FOUND"


def test_refs_end_with_the_page_they_were_seen_on(at):
    browser = at("/leaving.html")
    ref = ref_of(browser, "Cover")
    browser.click(test_id="leave-soon")
    browser.wait_for(url="/login.html")
    assert code_of(ActionFailed, browser.click, ref=ref) == "NAVIGATED"


def test_refs_outlive_small_changes(at):
    browser = at("/login.html")
    first, second = ref_of(browser, "Small"), ref_of(browser, "Large")
    browser.click(ref=first)
    browser.list_testids()
    browser.click(ref=second)
    assert "large" in said(browser, "typed")


def test_hostile_test_ids_are_only_text(at):
    page = "<button data-testid='a\"]:not(x)\\\n' onclick='document.title=1'>A</button><p data-testid=b>b</p>"
    browser = at("/login.html")
    browser.navigate(f"data:text/html,{page}".replace("\n", "%0A").replace("#", "%23"))
    browser.click(test_id='a"]:not(x)\\\n')
    assert browser.get_state().title == "1"


def test_addresses_that_fail_or_are_no_pages(at, site):
    browser = at("/login.html")
    assert code_of(ActionFailed, browser.navigate, url="http://127.0.0.1:1/") == "NAVIGATION_FAILED"
    assert code_of(ActionFailed, browser.navigate, url="http://no-such-host.invalid/") == "NAVIGATION_FAILED"
    for url in ("javascript:alert(1)", "example.com", "chrome://settings", "view-source:http://a.b", " "):
        with pytest.raises(InvalidInput):
            browser.navigate(url)
    assert "404" in browser.navigate(f"{site}/missing.html").note
    assert code_of(ActionFailed, browser.navigate, url=f"{site}/slow/60000", timeout_s=0.5) == "TIMEOUT"


def test_dialogs_are_dismissed_and_reported(at):
    browser = at("/dialogs.html")
    result = browser.click(test_id="ask")
    assert "'Really?'" in result.note and "dismissed" in result.note
    assert said(browser) == "no"
    browser.click(test_id="ask-soon")
    until(lambda: any("Soon is now" in each for each in browser.get_state().dialogs))
    assert browser.press("Tab").ok


def test_new_tabs_are_announced_and_can_be_used(at):
    browser = at("/leaving.html")
    with settled_once(opens_a_tab):
        result = browser.click(test_id="new-tab")
    assert "number 1" in result.note
    assert result.url.endswith("/leaving.html"), "the tab that is used stays"
    assert browser.switch_tab(1).url.endswith("/login.html")
    browser.type("anna", test_id="user-name")
    assert code_of(ActionFailed, browser.switch_tab, index=7) == "UNKNOWN_TAB"
    assert code_of(ActionFailed, browser.switch_tab, title="Nowhere") == "UNKNOWN_TAB"
    assert code_of(InvalidInput, browser.switch_tab) == "NO_TARGET"
    assert browser.switch_tab(title="Leaving").url.endswith("/leaving.html")
    assert browser.switch_tab(url="/login").screen.startswith("/login")
    assert browser.close_tab().url.endswith("/leaving.html")
    assert code_of(ActionFailed, browser.close_tab) == "LAST_TAB"


def test_refs_belong_to_one_tab(at):
    browser = at("/leaving.html")
    with settled_once(opens_a_tab):
        browser.click(test_id="popup")
    ref = ref_of(browser, "Cover")
    browser.switch_tab(1)
    assert code_of(ActionFailed, browser.click, ref=ref) == "UNKNOWN_REF"


def test_a_batch_runs_in_order_and_stops_at_the_first_error(at, shared_flows):
    browser = at("/shop.html#/send")
    steps = [
        {"tool": "type", "testId": "recipient", "text": "anna"},
        {"tool": "ui_type", "args": {"test_id": "amount", "text": "3"}},
        {"tool": "click", "target": {"role": "button", "name": "Confirm"}},
        {"tool": "wait_for", "text": "Done."},
    ]
    done = browser.run_steps(steps)
    assert done.ok and len(done.results) == 4
    assert done.results[-1]["result"]["url"].endswith("#/sent")
    failed = browser.run_steps([{"tool": "click", "testId": "nowhere", "timeout_s": 0.3}, {"tool": "get_state"}])
    assert not failed.ok and failed.not_run == 1
    assert failed.results[0]["error"]["code"] == "TARGET_NOT_FOUND"
    on = browser.run_steps(
        [{"tool": "click", "testId": "nowhere", "timeout_s": 0.3}, {"tool": "get_state"}], stop_on_error=False
    )
    assert [each["ok"] for each in on.results] == [False, True]
    assert [step.verb for step in shared_flows.last(3)] == ["run_steps", "get_state", "click"]


def test_a_batch_is_checked_before_anything_is_done(at, shared_flows):
    browser = at("/shop.html")
    for steps in ([], "click", [{"tool": "launch"}], [{"tool": "fly"}], ["click"], [{"tool": "type", "testId": "a"}]):
        with pytest.raises(InvalidInput):
            browser.run_steps(steps)
    with pytest.raises(AthandError):
        browser.run_steps([{"tool": "click", "testId": "nav-orders"}, {"tool": "navigate", "colour": "red"}])
    assert browser.get_state().url.endswith("/shop.html")


def test_many_threads_may_use_one_browser(at, shared_flows):
    browser = at("/restless.html#still")  # a button replaced between press and release gets no click from any browser
    failures = []

    def click():
        try:
            browser.click(test_id="press-me")
        except AthandError as error:
            failures.append(error)

    threads = [threading.Thread(target=click) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert said(browser, "count") == "8"
    positions = [step.position for step in shared_flows.steps(browser.session_id)]
    assert positions == list(range(1, len(positions) + 1))


def test_an_interrupted_call_ends_and_leaves_a_browser_that_works(at, monkeypatch):
    browser = at("/slow.html")
    locate, sought = targets.locate, []

    async def interrupted(context, target, snapshot):
        sought.append(target.value)
        if len(sought) == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return await locate(context, target, snapshot)

    monkeypatch.setattr(targets, "locate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        browser.click(test_id="nowhere")
    assert browser.click(test_id="start").ok
    assert browser.wait_for(test_id="late").ok
    assert "nowhere" not in sought[sought.index("start") :]
