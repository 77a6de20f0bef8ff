"""What a driven browser leaves in the store: a step for every call, on the screen it was done on, and no secrets."""

import json
import subprocess

import pytest
from tests.flows.waiting import goes_to, settled_once

from athand import Athand
from athand.errors import ActionFailed, InvalidInput
from athand.flows.profiles import Profiles

SECRET = "tr0ub4dor-and-three"


@pytest.fixture
def flows(shared_flows):
    return shared_flows


@pytest.fixture
def login(flows, browser, at):
    """The browser at the login page, in a session of its own."""
    with browser.record_into(flows.start_session(goal="Log in as anna").id):
        yield at("/login.html")


def test_every_call_is_a_step_on_the_screen_it_was_done_on(flows, login):
    login.describe_screen()
    login.type("anna", test_id="user-name")
    login.type(SECRET, test_id="password")
    with settled_once(goes_to("/shop.html")):
        login.click(role="button", name="Log in")
    login.navigate(login.get_state().url)
    look, name, password, click, state, move = flows.steps(login.session_id)[-6:]
    assert [step.tool for step in (look, name)] == ["ui_describe_screen", "ui_type"]
    assert name.target == {"testId": "user-name", "role": "textbox", "name": "User name"}
    assert name.input["text"] == "anna"
    assert (click.screen, click.after_screen) == (look.screen, state.screen)
    assert click.screen != click.after_screen
    assert click.target == {"testId": "log-in", "role": "button", "name": "Log in"}
    assert "log-in" in click.before.visible_test_ids
    assert move.input == {"url": state.before.url}
    assert all(step.ok and step.duration_ms for step in (look, name, password, click, state, move))


@pytest.mark.parametrize(
    "target", [{"test_id": "password"}, {"selector": "input[type=password] >> nth=0"}, {"selector": "#pin"}]
)
def test_what_is_typed_into_password_fields_is_kept_nowhere(flows, login, target, tmp_path):
    login.type(SECRET, **target)
    login.type(f"my {SECRET}", test_id="user-name")
    login.describe_screen()
    login.run_steps([{"tool": "type", "text": SECRET, **target}])
    kept = json.dumps([step.to_dict() for step in flows.steps(login.session_id)])
    assert SECRET not in kept
    flows.export(tmp_path / "out")
    written = "".join(path.read_text() for path in (tmp_path / "out").rglob("*.json"))
    assert written and SECRET not in written


def test_the_caller_can_say_that_a_text_is_secret(flows, login):
    login.type(SECRET, test_id="user-name", secret=True)
    login.describe_screen()
    assert SECRET not in json.dumps([step.to_dict() for step in flows.steps(login.session_id)])


def test_failed_calls_are_steps_too(flows, login):
    with pytest.raises(ActionFailed):
        login.click(test_id="nowhere", timeout_s=0.2)
    with pytest.raises(InvalidInput):
        login.click()
    with pytest.raises(InvalidInput):
        login.navigate("javascript:alert(1)")
    with pytest.raises(InvalidInput):
        login.screenshot("../x")
    failed = flows.last(4, session=login.session_id)[::-1]
    assert [step.error["code"] for step in failed] == ["TARGET_NOT_FOUND", "NO_TARGET", "BAD_URL", "INVALID_INPUT"]
    assert failed[0].target == {"testId": "nowhere"}
    assert failed[0].before.visible_test_ids
    assert not any(step.ok for step in failed)


def test_knowledge_of_earlier_sessions_comes_with_the_description(flows, at):
    described = {"goal": "Send 3 coins to anna", "flow_tags": ["send"]}
    for _ in range(2):
        with (browser := at("/shop.html#/send")).record_into(flows.start_session(**described).id):
            browser.describe_screen()
            browser.type("anna", test_id="recipient")
            browser.type("3", test_id="amount")
            browser.click(test_id="send-confirm")
    with (browser := at("/shop.html#/send")).record_into(flows.start_session(**described).id):
        first = browser.describe_screen()
        assert first.prior_knowledge.suggested_next_actions[0].preferred_target.value == "recipient"
        assert first.to_dict()["priorKnowledge"]["suggestedNextActions"][0]["action"] == "type"
        assert flows.last(1)[0].prior_knowledge["suggestedNextActions"]
        browser.type("anna", test_id="recipient")
        following = browser.describe_screen().prior_knowledge.suggested_next_actions[0]
        assert following.preferred_target.value == "amount"
        assert browser.knowledge_search("send coins")
        assert browser.knowledge_search("recipient", scope="current")
        assert browser.knowledge_last(2)[0].verb == "describe_screen"
        assert browser.knowledge_sessions(5)[0].id == browser.session_id
        assert browser.knowledge_summarize().session.id == browser.session_id


def test_an_app_has_its_own_names_for_the_tools(flows, site, in_shared_chromium):
    with flows.open_browser(url=f"{site}/login.html", app="metamask", git={}) as browser:
        browser.click(test_id="log-in")
        assert [step.tool for step in flows.steps(browser.session_id)] == ["mm_launch", "mm_click"]
        assert browser.run_steps([{"tool": "mm_get_state"}]).ok


def test_another_test_id_attribute_comes_from_the_profile(site, in_shared_chromium, tmp_path, monkeypatch):
    folder = tmp_path / "profiles"
    folder.mkdir()
    (folder / "desk.toml").write_text('test_id_attribute = "id"\n')
    profile = Profiles((folder,)).get("desk")
    assert profile.test_id_attribute == "id"
    with Athand(":memory:") as athand:
        monkeypatch.setattr(athand.flows, "profile", lambda app: profile)
        with athand.flows.open_browser(url=f"{site}/scuttled.html", app="desk", git={}) as browser:
            assert [each["testId"] for each in browser.list_testids().test_ids] == ["field", "list", "go", "said"]
            browser.click(test_id="go")
            assert browser.wait_for(text="went with").ok


def test_dialogs_can_be_accepted(flows, site, in_shared_chromium):
    with flows.open_browser(url=f"{site}/dialogs.html", dialogs="accept", git={}) as browser:
        assert "accepted" in browser.click(test_id="ask").note
        assert browser.wait_for(text="yes").ok


def test_the_branch_is_read_from_the_working_folder(flows, in_shared_chromium, tmp_path, monkeypatch):
    repository = tmp_path / "work"
    repository.mkdir()
    for command in ("init -q -b trunk", "-c user.name=a -c user.email=a@b.c commit -q --allow-empty -m first"):
        subprocess.run(["git", *command.split()], cwd=repository, check=True)
    monkeypatch.chdir(repository)
    (repository / "new").write_text("x")
    with flows.open_browser() as browser:
        git = flows.session(browser.session_id).git
        assert (git["branch"], git["dirty"], len(git["commit"])) == ("trunk", True, 40)
