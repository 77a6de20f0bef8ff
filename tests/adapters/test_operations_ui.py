"""The operations that drive a browser, in a real one."""

import os
import tempfile
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import psutil
import pytest
from tests.adapters.operating import Caller, calling, names_in
from tests.flows.sharing import shared_chromium
from tests.flows.waiting import opens_a_tab, patient_replays, settled_once
from tests.flows.webapp import PAGES, Server, WebApp
from tests.waiting import PATIENCE, until

from athand import Athand
from athand.adapters.operations import SCOPES, operations
from athand.adapters.operations import Caller as Token
from athand.adapters.operations.browsers import Browsers
from athand.config import Settings
from athand.errors import ActionFailed, Conflict, InvalidInput, Refused

PASSWORD = "correct horse 7!"
ANN, BOB = (Token(name, frozenset(["search", "call-tools"])) for name in ("ann", "bob"))
OWNER = Token("owner", frozenset(SCOPES))


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
    assert call("ui_back")["url"].endswith("/shop.html")
    assert call("ui_forward")["url"].endswith("#/orders")
    assert call("ui_hover", role="link", name="Orders")["ok"]
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


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "FILE:/etc/passwd",
        " file:///etc",
        "about:version",
        "About:settings",
    ],
)
def test_no_file_of_the_machine_is_opened(call, one, url):
    with pytest.raises(InvalidInput, match="does not open local files"):
        call("ui_launch", url=url, git={})
    with pytest.raises(InvalidInput, match="does not open local files"):
        call("ui_navigate", url=url)


@pytest.mark.parametrize("url", ["view-source:file:///etc/passwd", "chrome://version", "devtools://devtools/x"])
def test_no_page_of_the_browser_itself_is_opened(call, one, url):
    with pytest.raises(InvalidInput) as failed:
        call("ui_navigate", url=url)
    assert failed.value.code == "BAD_URL"


@pytest.fixture
def marked(tmp_path):
    """A file of the machine that no page may show."""
    file = tmp_path / "secret.html"
    file.write_text("<h1>Marker of a local file</h1>")
    return file.as_uri()


def test_a_link_and_a_redirect_lead_to_no_file_of_the_machine(call, one, marked):
    class Trap(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(302 if self.path == "/redirect" else 200)
            self.send_header("Location", marked)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            body = f'<a href="{marked}">Open</a><a href="{marked}" target="_blank">Elsewhere</a>'
            self.wfile.write(f'{body}<iframe src="{marked}"></iframe>'.encode())

        def log_message(self, *_):
            pass

    with Server(("127.0.0.1", 0), Trap) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        with pytest.raises(ActionFailed):
            call("ui_navigate", url=f"{address}/redirect")
        call("ui_navigate", url=address)
        for name in ("Open", "Elsewhere"):
            call("ui_click", role="link", name=name)
            assert "Marker of a local file" not in str(call("ui_describe_screen"))
        server.shutdown()
    for tab in reversed(call("ui_get_state")["tabs"][1:]):
        call("ui_close_tab", index=tab["index"])


def test_a_page_of_a_file_is_left_at_once_however_the_browser_got_there(call, one, site, marked):
    browser = call.at.browsers.get("one")
    for look in (lambda: call("ui_describe_screen"), lambda: call("ui_screenshot"), lambda: call("ui_press", key="a")):
        browser._process.run(lambda context: context.page.goto(marked), PATIENCE)
        with pytest.raises(ActionFailed, match="files of this machine") as failed:
            look()
        assert failed.value.code == "BAD_URL"
        assert call("ui_get_state")["url"] == "about:blank"
    call("ui_navigate", url=f"{site}/login.html")


def test_an_agent_loads_no_extension_of_the_machine(call, one):
    folder = str(PAGES / "extension")
    call("knowledge_start_session", id="walk")
    call("knowledge_record", session_id="walk", tool="press", input={"key": "Tab"})
    for ask in (
        lambda: call("ui_launch", extension=folder, git={}),
        lambda: call("knowledge_replay", session_id="walk", extension=folder),
    ):
        with pytest.raises(Refused, match="athand config set extensions"):
            ask()


def test_the_owner_and_the_settings_allow_an_extension(tmp_path):
    (tmp_path / "wallet").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "wallet")
    settings = Settings(home=str(tmp_path), extensions=os.pathsep.join([str(tmp_path / "wallet"), "/other"]))
    with Athand(":memory:", settings=settings) as athand:
        assert athand.flows.is_known_extension(tmp_path / "link")
        assert not athand.flows.is_known_extension(tmp_path)
    flows = FakeFlows()
    assert Browsers(flows).launch(OWNER, extension="/any").is_alive
    flows.known = {"/wallet"}
    assert Browsers(flows).launch(ANN, extension="/wallet").is_alive
    with pytest.raises(Refused):
        Browsers(flows).launch(ANN, extension="/any")


def test_a_session_that_was_recorded_leads_to_no_file_either_and_its_browser_is_closed(call, one):
    before = {"url": "file:///etc/passwd", "test_ids": [{"testId": "x"}]}
    call("knowledge_start_session", id="trap")
    call("knowledge_record", session_id="trap", tool="click", target={"testId": "x"}, before=before)
    running = processes()
    done = call("knowledge_replay", session_id="trap")
    assert (done["ok"], done["code"]) == (False, "BAD_URL")
    until(lambda: {each.pid for each in processes()} <= {each.pid for each in running})


def test_an_operation_uses_the_browser_of_its_caller(call, one):
    state = operations()["ui_get_state"]
    assert state.perform(call.at, {"session_id": "one"})["session_id"] == "one"
    for arguments in ({"session_id": "one"}, {}):
        with pytest.raises(ActionFailed) as failed:
            state.perform(call.at, arguments, caller=BOB)
        assert failed.value.code == "NOT_LAUNCHED"
    for name, arguments in (
        ("ui_cleanup", {"session_id": "one"}),
        ("knowledge_replay", {"session_id": "one", "browser": "one"}),
        ("knowledge_search", {"query": "log in", "scope": "current"}),
    ):
        with pytest.raises(ActionFailed):
            operations()[name].perform(call.at, arguments, caller=BOB)


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
        self.made, self.known = [], set()

    def is_known_extension(self, folder):
        return folder in self.known

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
    launched = [browsers.launch() for _ in range(4)]
    with pytest.raises(Conflict, match="s0, s1"):
        browsers.launch()
    launched[0].is_alive = False
    assert browsers.launch().session_id == "s4"
    with pytest.raises(ActionFailed, match="s0"):
        browsers.get("s0")


def test_nobody_uses_the_browser_of_another_caller():
    browsers = Browsers(FakeFlows())
    browsers.launch(ANN, session="of ann")
    for session in ("of ann", None):
        with pytest.raises(ActionFailed) as failed:
            browsers.get(session, BOB)
        assert (failed.value.code, "of ann" in str(failed.value)) == ("NOT_LAUNCHED", False)
        with pytest.raises(ActionFailed):
            browsers.cleanup(session, BOB)
    browsers.launch(BOB, session="of bob")
    with pytest.raises(ActionFailed, match=r"Open: of bob\."):
        browsers.get("of ann", BOB)
    with pytest.raises(ActionFailed), browsers.open_or_launch("of ann", BOB):
        pass
    with pytest.raises(Conflict, match="Another caller"):
        browsers.launch(BOB, session="of ann")
    assert (browsers.get(None, ANN).session_id, browsers.get(None, BOB).session_id) == ("of ann", "of bob")


def test_one_caller_leaves_browsers_for_others():
    browsers = Browsers(FakeFlows())
    for _ in range(4):
        browsers.launch(ANN)
    with pytest.raises(Conflict, match="4 browsers are open"):
        browsers.launch(ANN)
    for _ in range(4):
        browsers.launch(BOB)
    with pytest.raises(Conflict, match="of all callers") as failed:
        browsers.launch(OWNER)
    assert "s0" not in str(failed.value)
