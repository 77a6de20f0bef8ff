"""What is seen on a page in a real Chromium: test ids, the accessibility tree, frames, shadow roots, hardened pages."""

from pathlib import Path

import pytest
from tests.waiting import PATIENCE

from athand.errors import ActionFailed, InvalidInput


def by_test_id(described):
    return {each["testId"]: each for each in described.observation.test_ids}


def node(described, name):
    return next(each for each in described.observation.a11y if each["name"] == name)


def test_test_ids_come_with_tag_text_visibility_role_and_name(at):
    seen = by_test_id(at("/slow.html").describe_screen())
    assert seen["start"] == {
        "testId": "start",
        "tag": "button",
        "text": "Start",
        "visible": True,
        "role": "button",
        "name": "Start",
    }
    assert seen["plain-div"]["tag"] == "div"
    assert [name for name, each in seen.items() if not each["visible"]] == [
        "hidden-button",
        "unseen",
        "no-room",
        "said",
    ]
    assert seen["wrapper"]["visible"], "what has no box of its own shows what is in it"
    assert [each["testId"] for each in at("/slow.html").list_testids().test_ids][:2] == ["start", "vanish"]


def test_accessibility_nodes_say_what_can_be_used_and_in_which_state(at):
    described = at("/login.html").describe_screen()
    assert node(described, "Log in")["role"] == "heading"
    assert node(described, "Later")["disabled"] is True
    assert node(described, "Remember me")["checked"] is False
    language = node(described, "Language")
    assert (language["role"], language["value"], language["options"]) == (
        "combobox",
        "English",
        ["English", "German", "French"],
    )
    assert node(described, "Customer number")["readonly"] is True
    assert node(described, "User name")["path"] == ["main", 'form "Log in"']
    password = node(described, "Password")
    assert (password["inputType"], password["autocomplete"], password["htmlName"]) == (
        "password",
        "current-password",
        "password",
    )
    assert [each["ref"] for each in described.observation.a11y][:3] == ["e1", "e2", "e3"]
    assert not {"StaticText", "InlineTextBox", "paragraph"} & {each["role"] for each in described.observation.a11y}


def test_what_is_in_a_password_field_is_never_seen(at):
    browser = at("/login.html")
    browser.type("correct horse battery", test_id="password")
    described = browser.describe_screen()
    assert node(described, "Password")["protected"] is True
    assert "correct horse" not in str(described.to_dict())
    assert "•" not in str(described.to_dict())


def test_open_and_closed_shadow_roots_are_seen(at):
    seen = by_test_id(at("/shadow.html").describe_screen())
    assert [seen[name]["visible"] for name in ("slotted", "open-button", "closed-button", "nested-button")] == [
        True
    ] * 4
    assert seen["closed-button"]["name"] == "Closed button"


def test_frames_are_seen_and_hidden_ones_are_not_visible(at):
    described = at("/frames.html").describe_screen()
    seen = by_test_id(described)
    assert seen["button-one"]["visible"] and seen["button-two"]["visible"]
    assert not seen["button-hidden"]["visible"]
    names = [each["name"] for each in described.observation.a11y if each["role"] == "button"]
    assert names == ["Outer", "Press one", "Press two"]


def test_a_frame_of_another_site_does_not_hide_the_rest(at):
    browser = at("/elsewhere.html")
    assert "here" in by_test_id(browser.describe_screen())
    assert browser.click(test_id="here").ok
    assert browser.click(selector="text=Press one").ok, "selectors reach into every frame"


def test_a_hardened_page_is_seen_like_any_other(at):
    seen = by_test_id(at("/scuttled.html").describe_screen())
    assert seen["word"]["name"] == "Word"
    assert seen["go"]["visible"]


def test_test_ids_have_a_limit_and_visible_ones_come_first(at):
    listed = at("/many.html?count=200").list_testids()
    assert (len(listed.test_ids), listed.total) == (150, 200)
    assert all(each["visible"] for each in listed.test_ids)
    assert [each["testId"] for each in listed.test_ids][8:10] == ["row-8", "row-10"]
    browser = at("/many.html?count=510")
    assert len(browser.list_testids(limit=500).test_ids) == 500
    with pytest.raises(InvalidInput):
        browser.list_testids(limit=501)


def test_a_restless_page_can_be_looked_at(at):
    browser = at("/restless.html")
    assert all("press-me" in by_test_id(browser.describe_screen()) for _ in range(10))


@pytest.mark.parametrize(
    ("path", "screen"),
    [("/shop.html#/orders", "/orders"), ("/desk/tickets/9", "/desk/tickets/:id"), ("/shop.html#/send", "/send")],
)
def test_screens_follow_hash_and_history_routes(at, path, screen):
    assert at(path).get_state().screen.startswith(screen)


def test_an_open_dialog_is_in_the_tree(at):
    browser = at("/dialogs.html")
    browser.click(test_id="open-modal")
    described = browser.describe_screen()
    assert node(described, "Delete account?")["role"] == "dialog"
    assert 'dialog "Delete account?"' in node(described, "Yes, delete")["path"]


def test_a_part_of_the_tree_can_be_asked_for(at, shared_flows, site):
    browser = at("/login.html")
    inside = browser.accessibility_snapshot(root="login-form")
    assert {each["name"] for each in inside.nodes} >= {"User name", "Later"}
    nodes = at("/frames.html").accessibility_snapshot(root={"testId": "frame-two"}).nodes
    assert [each["name"] for each in nodes] == ["Press two", "Field two"]
    with shared_flows.open_browser(timeout_s=0.3, git={}) as hasty, pytest.raises(ActionFailed) as failed:
        hasty.navigate(f"{site}/login.html", timeout_s=PATIENCE)
        hasty.accessibility_snapshot(root={"testId": "nowhere"})
    assert failed.value.code == "TARGET_NOT_FOUND"


def test_the_state_has_address_title_and_tabs(at, site):
    state = at("/login.html").get_state()
    assert (state.url, state.title) == (f"{site}/login.html", "Log in · Harbour")
    assert [(tab.index, tab.is_active) for tab in state.tabs] == [(0, True)]
    assert state.to_dict()["tabs"][0]["title"] == "Log in · Harbour"


def test_a_description_is_plain_json(at):
    shown = at("/login.html").describe_screen().to_dict()
    assert shown["screen"] and shown["session_id"] and 'button x2: "Log in"' in shown["page"]


def test_waiting_ends_when_the_thing_is_there_or_gone(at):
    browser = at("/slow.html")
    browser.click(test_id="start")
    assert browser.wait_for(test_id="late").ok
    assert browser.wait_for(text="Late").ok
    assert browser.wait_for(test_id="plain-div", state="hidden").ok
    assert browser.wait_for(selector="#place button").ok
    assert browser.wait_for(url="*/slow.html").ok
    assert browser.wait_for(screen=browser.get_state().screen).ok
    with pytest.raises(ActionFailed) as failed:
        browser.wait_for(text="Never written", timeout_s=0.3)
    assert failed.value.code == "TIMEOUT"
    assert "'Never written'" in str(failed.value)


def test_waiting_is_for_one_thing(at):
    browser = at("/slow.html")
    for given, code in [
        ({}, "NO_TARGET"),
        ({"text": "a", "screen": "b"}, "TWO_TARGETS"),
        ({"text": "a", "test_id": "b"}, "TWO_TARGETS"),
    ]:
        with pytest.raises(InvalidInput) as failed:
            browser.wait_for(**given)
        assert failed.value.code == code


def test_pictures_are_saved_where_only_the_user_can_read_them(at, shared_flows, tmp_path):
    browser = at("/login.html")
    shot = browser.screenshot("login")
    assert shot.path.endswith("/login.png")
    assert Path(shot.path).read_bytes().startswith(b"\x89PNG")
    assert Path(shot.path).stat().st_mode & 0o777 == 0o600
    assert shared_flows.last(1)[0].screenshot == shot.path
    assert browser.describe_screen().screenshot is None
    assert browser.describe_screen(screenshot=True).screenshot
    for name in ("../login", "/tmp/x", "a/b", ".hidden", "a\\b", ""):
        with pytest.raises(InvalidInput):
            browser.screenshot(name)


def test_a_picture_is_not_named_by_a_secret(at, shared_flows, tmp_path):
    browser, password, token = at("/login.html"), "Tr0ub4dor-horse", "ghp_" + "A1b2C3d4" * 5
    browser.type(password, test_id="password")
    for name in (password, f"after-{password}.png", password[::-1], password.encode().hex(), token):
        with pytest.raises(InvalidInput, match="The name of the screenshot") as error:
            browser.screenshot(name)
        assert name not in str(error.value)
        assert name not in str(shared_flows.last(1)[0].to_dict())
    assert not [*tmp_path.rglob("*.png")]
    assert browser.screenshot("after-login").path.endswith("/after-login.png")
