"""The operations that drive a browser, in a real one."""

import tempfile
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
from tests.adapters.operating import Caller, calling, names_in
from tests.flows.sharing import shared_chromium
from tests.flows.waiting import opens_a_tab, patient_replays, settled_once
from tests.flows.webapp import WebApp
from tests.waiting import PATIENCE, until

from athand.adapters.operations.browsers import Browsers
from athand.errors import ActionFailed, Conflict, InvalidInput

PASSWORD = "correct horse 7!"


@pytest.fixture(scope="module")
def site():
    with WebApp() as app:
        yield app.url


@pytest.fixture(scope="module")
def at(tmp_path_factory):
    """One workspace for all tests of the module, whose pictures do not stay behind."""
    folder = tmp_path_factory.mktemp("ui")
    with pytest.MonkeyPatch.context() as patch, calling(folder) as call:
        patch.setenv("HOME", str(folder / "home"))
        patch.setattr(tempfile, "tempdir", str(folder))
        yield call.at


@pytest.fixture(scope="module")
def one(at, site):
    """A browser for several tests, which is the only one before and after each."""
    options = {"goal": "Log in", "flow_tags": ["login"], "git": {}, "timeout_s": PATIENCE}
    return Caller(at)("ui_launch", session="one", url=f"{site}/login.html", **options)


@pytest.fixture
def call(at):
    return Caller(at)


def processes():
    """The browsers that this process has started."""
    found = []
    for process in psutil.Process().children(recursive=True):
        try:
            if any("athand-browser-" in each for each in process.cmdline()):
                found.append(process)
        except (psutil.NoSuchProcess, psutil.ZombieProcess):
            continue
    return found


def gone(process):
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


def test_all_operations_of_a_browser_answer_as_their_schemas_say(call, one, site):
    call("ui_navigate", url=f"{site}/login.html")
    assert call("ui_get_state")["title"] == "Log in · Harbour"
    assert "user-name" in [each["testId"] for each in call("ui_list_testids", limit=50)["test_ids"]]
    nodes = call("ui_accessibility_snapshot", root="login-form")["nodes"]
    user = next(each["ref"] for each in nodes if each["name"] == "User name")
    assert call("ui_type", text="anna", ref=user)["ok"]
    assert call("ui_select", label="German", test_id="language")["ok"]
    assert call("ui_press", key="Tab")["ok"]
    described = call("ui_describe_screen", screenshot=True)
    assert (described["screen"], described["screenshot"][-4:]) == (one["screen"], ".png")
    steps = [{"tool": "type", "test_id": "password", "text": PASSWORD}, {"tool": "click", "testId": "log-in"}]
    assert [each["ok"] for each in call("ui_run_steps", steps=steps)["results"]] == [True, True]
    assert call("ui_wait_for", url="*/shop.html*")["url"].endswith("/shop.html")
    assert call("ui_click", role="link", name="Orders")["url"].endswith("#/orders")
    assert Path(call("ui_screenshot", name="orders")["path"]).read_bytes().startswith(b"\x89PNG")
    assert call("knowledge_search", query="orders", scope="current")["hits"][0]["session_id"] == "one"

    told = []
    missing = call("knowledge_replay", session_id="one")
    assert (missing["ok"], missing["code"]) == (False, "VALUE_NEEDED")
    given = {"values": {"password": PASSWORD}, "browser": "one"}
    with patient_replays():
        again = call("knowledge_replay", session_id="one", progress=lambda *far: told.append(far[0]), **given)
    assert (again["ok"], told) == (True, list(range(1, again["total"] + 1))), again["reason"]
    call("ui_navigate", url=f"{site}/leaving.html")
    with settled_once(opens_a_tab):
        call("ui_run_steps", steps=[{"tool": "click", "testId": "new-tab"}])
    assert call("ui_switch_tab", url="/login.html")["screen"] == one["screen"]
    assert call("ui_close_tab")["url"].endswith("/leaving.html")
    assert PASSWORD not in str([call("knowledge_steps", session_id=each) for each in ("one", again["session_id"])])
    assert call.performed >= names_in("ui") - {"ui_launch", "ui_cleanup"}


def test_two_browsers_are_told_apart_and_one_that_died_is_launched_again(call, one, site, request):
    started = processes()
    with shared_chromium(request.config):
        call("ui_launch", session="two", url=f"{site}/shop.html", git={})
    with pytest.raises(InvalidInput, match="one, two") as failed:
        call("ui_get_state")
    assert failed.value.code == "SEVERAL_BROWSERS"
    assert call("ui_get_state", session_id="two")["url"].endswith("/shop.html")
    with pytest.raises(ActionFailed, match="one, two") as failed:
        call("ui_click", session_id="three", test_id="x")
    assert failed.value.code == "NOT_LAUNCHED"
    with pytest.raises(Conflict) as failed:
        call("ui_launch", session="one")
    assert failed.value.code == "ALREADY_LAUNCHED"

    next(each for each in started if "--type=" not in " ".join(each.cmdline())).kill()
    with pytest.raises(ActionFailed) as failed:
        call("ui_get_state", session_id="one")
    assert failed.value.code == "BROWSER_CLOSED"
    assert call("ui_launch", session="one", url=f"{site}/login.html", timeout_s=PATIENCE)["session_id"] == "one"
    closed = call("ui_cleanup", session_id="two")
    assert closed == {"session_id": "two", "was_running": True, "step_id": call("knowledge_last", n=1)[0]["id"]}
    assert call("ui_get_state")["session_id"] == "one", "the only one that is open needs no name"


@pytest.mark.parametrize(
    "wrong",
    [{"test_id": "fixed", "timeout_s": 0.3}, {"test_id": "x", "role": "y"}, {"selector": "!"}, {}, {"into": "x"}],
)
def test_what_is_typed_is_in_no_error_and_in_no_trace_of_one(call, one, site, wrong):
    call("ui_navigate", url=f"{site}/login.html")
    with pytest.raises((ActionFailed, InvalidInput)) as failed:
        call("ui_type", text=PASSWORD, **wrong)
    assert PASSWORD not in "".join(traceback.format_exception(failed.value))


@pytest.mark.parametrize("url", ["file:///etc/passwd", "FILE:/etc/passwd", " file:///etc"])
def test_no_file_of_the_machine_is_opened(call, one, url):
    with pytest.raises(InvalidInput, match="does not open local files"):
        call("ui_launch", url=url, git={})
    with pytest.raises(InvalidInput, match="does not open local files"):
        call("ui_navigate", url=url)


def test_a_session_that_was_recorded_leads_to_no_file_either_and_its_browser_is_closed(call, one):
    before = {"url": "file:///etc/passwd", "test_ids": [{"testId": "x"}]}
    call("knowledge_start_session", id="trap")
    call("knowledge_record", session_id="trap", tool="click", target={"testId": "x"}, before=before)
    running = processes()
    done = call("knowledge_replay", session_id="trap")
    assert (done["ok"], done["code"]) == (False, "BAD_URL")
    until(lambda: {each.pid for each in processes()} <= {each.pid for each in running})


def test_closing_leaves_no_browser(call, one):
    running = processes()
    assert running
    call.at.browsers.close()
    until(lambda: all(map(gone, running)))
    assert call("knowledge_last", n=1, session="one")[0]["verb"] == "cleanup"
    with pytest.raises(ActionFailed) as failed:
        call("ui_get_state")
    assert failed.value.code == "NOT_LAUNCHED"


class Fake:
    """A browser that only says whether it lives, and may refuse to be cleaned up."""

    def __init__(self, session_id):
        self.session_id, self.is_alive = session_id, False

    def launch(self, **_):
        if self.is_alive:
            raise Conflict("A browser is running already.")
        time.sleep(0.01)  # a launch takes its time
        self.is_alive = True
        return self

    def cleanup(self):
        self.is_alive = False
        if self.session_id == "stubborn":
            raise ActionFailed("It does not want to.")


class FakeFlows:
    def __init__(self):
        self.made = []

    def prepare_browser(self, session=None, **_):
        self.made.append(Fake(session or f"s{len(self.made)}"))
        return self.made[-1]


def test_one_browser_that_cannot_be_closed_keeps_no_other_open():
    flows = FakeFlows()
    browsers = Browsers(flows)
    for name in ("first", "stubborn", "last"):
        browsers.launch(session=name)
    with pytest.raises(ActionFailed, match="does not want"):
        browsers.close()
    assert not any(each.is_alive for each in flows.made)
    browsers.close()


def test_of_many_who_launch_one_session_at_the_same_time_one_succeeds():
    flows = FakeFlows()
    browsers = Browsers(flows)
    with ThreadPoolExecutor(8) as pool:
        launches = [pool.submit(browsers.launch, session="same") for _ in range(8)]
    assert sum(isinstance(each.exception(), Conflict) for each in launches) == 7
    assert len(flows.made) == 1


def test_browsers_that_died_are_forgotten_and_there_are_not_too_many():
    browsers = Browsers(FakeFlows())
    launched = [browsers.launch() for _ in range(8)]
    with pytest.raises(Conflict, match="s0, s1"):
        browsers.launch()
    launched[0].is_alive = False
    assert browsers.launch().session_id == "s8"
    with pytest.raises(ActionFailed, match="s0"):
        browsers.get("s0")
