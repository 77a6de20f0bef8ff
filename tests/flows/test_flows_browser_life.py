"""A browser from launch to cleanup: crashes, hanging pages, threads, extensions, and nothing left behind."""

import asyncio
import gc
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest
from tests.flows.webapp import PAGES

from recollect.errors import ActionFailed, Conflict, InvalidInput, Unavailable
from recollect.flows.browser import chromium


@pytest.fixture
def flows(shared_flows):
    return shared_flows


def browsers_in(folder_prefix="recollect-browser-"):
    """The processes of browsers that were started with a profile of ours by this process."""
    found = []
    for process in psutil.Process().children(recursive=True):
        try:
            if any(folder_prefix in each for each in process.cmdline()):
                found.append(process)
        except (psutil.NoSuchProcess, psutil.ZombieProcess):
            continue
    return found


def main_process():
    return next(each for each in browsers_in() if not any("--type=" in part for part in each.cmdline()))


def until(condition, limit_s=20):
    end = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < end, "it should have happened by now"
        time.sleep(0.05)


def test_a_launch_begins_a_session_and_cleanup_leaves_nothing(flows, site):
    browser = flows.open_browser(git={"branch": "main"})
    launched = browser.launch(url=f"{site}/login.html", goal="Log in", flow_tags=["login"], tags=["t"], app_version="2")
    session = flows.session(launched.session_id)
    assert (session.goal, session.flow_tags, session.app_version, session.git) == (
        "Log in",
        ("login",),
        "2",
        {"branch": "main"},
    )
    assert session.launch["url"] == f"{site}/login.html"
    assert launched.screen.startswith("/login")
    profile = next(part.split("=", 1)[1] for part in main_process().cmdline() if part.startswith("--user-data-dir="))
    assert Path(profile).stat().st_mode & 0o777 == 0o700
    processes = browsers_in()
    assert browser.cleanup().was_running
    assert not Path(profile).exists()
    until(lambda: not any(each.is_running() and each.status() != psutil.STATUS_ZOMBIE for each in processes))
    assert not browser.cleanup().was_running
    assert [step.verb for step in flows.steps(session.id)] == ["launch", "cleanup"]


def test_two_launches_are_one_too_many(flows):
    with flows.open_browser() as browser:
        with pytest.raises(Conflict) as failed:
            browser.launch()
        assert failed.value.code == "ALREADY_LAUNCHED"
        assert flows.last(1)[0].error["code"] == "ALREADY_LAUNCHED"
        first = browser.session_id
        browser.cleanup()
        assert browser.launch().session_id != first


def test_nothing_works_before_a_launch_or_after_a_cleanup(flows):
    browser = flows.open_browser()
    for call in (
        browser.get_state,
        lambda: browser.click(test_id="x"),
        lambda: browser.run_steps([{"tool": "get_state"}]),
    ):
        with pytest.raises(ActionFailed) as failed:
            call()
        assert failed.value.code == "NOT_LAUNCHED"
    session = browser.launch().session_id
    browser.cleanup()
    with pytest.raises(ActionFailed):
        browser.click(test_id="x")
    assert flows.last(1, session=session)[0].error["code"] == "NOT_LAUNCHED"


def test_opened_with_an_address_it_starts_at_its_first_use(flows, site):
    browser = flows.open_browser(url=f"{site}/login.html", session="first-use")
    assert browser.get_state().url == f"{site}/login.html"
    assert browser.session_id == "first-use"
    browser.cleanup()
    assert browser.launch().session_id == "first-use", "a session that exists is gone on with"
    browser.cleanup()


def test_two_browsers_run_side_by_side(flows, site):
    with flows.open_browser(url=f"{site}/login.html") as one, flows.open_browser(url=f"{site}/shop.html") as two:
        one.type("anna", test_id="user-name")
        two.click(test_id="nav-orders")
        assert one.get_state().url.endswith("/login.html")
        assert two.get_state().url.endswith("#/orders")
        assert one.session_id != two.session_id


def test_a_crashed_browser_is_reported_and_can_be_launched_again(flows, site):
    with flows.open_browser(url=f"{site}/login.html") as browser:
        session = browser.session_id
        main_process().kill()
        with pytest.raises(ActionFailed) as failed:
            browser.click(test_id="log-in")
        assert failed.value.code == "BROWSER_CLOSED"
        assert flows.last(1, session=session)[0].error["code"] == "BROWSER_CLOSED"
        browser.launch()
        assert browser.click(test_id="log-in").ok
        main_process().kill()
        browser.launch()
        assert browser.get_state().url.endswith("/login.html")


def test_a_crashed_page_is_reported(flows, site):
    with flows.open_browser(url=f"{site}/login.html", timeout_s=3) as browser:
        for process in browsers_in():
            if "--type=renderer" in process.cmdline():
                process.kill()
        with pytest.raises(ActionFailed) as failed:
            for _ in range(20):
                browser.get_state()
                time.sleep(0.1)
        assert failed.value.code == "BROWSER_CLOSED"
        browser.launch()
        assert browser.get_state().url.endswith("/login.html")


def test_a_hanging_page_does_not_hang_the_caller(flows, site):
    with flows.open_browser(url=f"{site}/leaving.html", timeout_s=1) as browser:
        begun = time.monotonic()
        for call in (lambda: browser.click(test_id="hang-soon"), browser.get_state, browser.get_state):
            try:
                call()
            except ActionFailed as failed:
                assert failed.code == "TIMEOUT"
        with pytest.raises(ActionFailed):
            browser.describe_screen()
        assert time.monotonic() - begun < 60
        processes = browsers_in()
    until(lambda: not any(each.is_running() and each.status() != psutil.STATUS_ZOMBIE for each in processes))


def test_many_threads_may_use_one_browser(flows, site):
    with flows.open_browser(url=f"{site}/restless.html", timeout_s=30) as browser:
        failures = []

        def click():
            try:
                browser.click(test_id="press-me")
            except Exception as error:
                failures.append(error)

        threads = [threading.Thread(target=click) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        assert browser.wait_for(text="8").ok
        positions = [step.position for step in flows.steps(browser.session_id)]
        assert positions == list(range(1, len(positions) + 1))


def test_it_works_under_a_running_event_loop(flows, site):
    async def main():
        with flows.open_browser(url=f"{site}/login.html") as browser:
            await asyncio.to_thread(browser.type, "anna", test_id="user-name")
            return browser.get_state().url

    assert asyncio.run(main()).endswith("/login.html")


def test_an_unpacked_extension_is_loaded(flows, tmp_path):
    with flows.open_browser(extension=PAGES / "extension", timeout_s=20, screenshots=tmp_path) as browser:
        until(lambda: len(browser.get_state().tabs) > 1)
        browser.switch_tab(url="chrome-extension://")
        described = browser.describe_screen()
        assert [each["testId"] for each in described.observation.test_ids] == ["unlock-password", "unlock-submit"]
        browser.type("opensesame", test_id="unlock-password")
        browser.click(test_id="unlock-submit")
        assert browser.wait_for(text="Your account").url.endswith("#/home")
        assert browser.navigate(browser.get_state().url.split("#")[0]).ok
        browser.screenshot()


@pytest.mark.parametrize(
    "options",
    [
        {"colour": "red"},
        {"url": "javascript:alert(1)"},
        {"viewport": "wide"},
        {"timeout_s": 0},
        {"timeout_s": "long"},
        {"extension": "/nowhere"},
        {"dialogs": "shout"},
        {"executable": "/no/such/browser"},
    ],
)
def test_a_launch_that_cannot_be_is_refused(flows, options):
    browser = flows.open_browser()
    with pytest.raises(InvalidInput):
        browser.launch(**options)
    assert not browser.is_open
    assert browsers_in() == []


def test_an_address_that_fails_ends_the_launch(flows):
    browser = flows.open_browser(goal="Nowhere")
    with pytest.raises(ActionFailed) as failed:
        browser.launch(url="http://127.0.0.1:1/")
    assert failed.value.code == "NAVIGATION_FAILED"
    assert not browser.is_open
    assert flows.last(1)[0].error["code"] == "NAVIGATION_FAILED"


def test_without_a_browser_it_says_how_to_get_one(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(chromium, "_PLACES", ())
    with pytest.raises(Unavailable, match="recollect flows setup-browser"):
        chromium.find(None)
    own = tmp_path / "chromium"
    own.write_text("#!/bin/sh\n")
    own.chmod(0o755)
    assert chromium.find(None) == str(own)
    assert chromium.find(None, own="/no/such") == str(own)


def test_without_playwright_it_says_how_to_get_it(flows, monkeypatch):
    monkeypatch.setitem(sys.modules, "playwright.async_api", None)
    with pytest.raises(Unavailable, match=r"pip install 'recollect\[browser\]'"):
        flows.open_browser().launch()


def test_installing_says_what_failed(monkeypatch):
    monkeypatch.setattr(
        chromium, "_installers", lambda: [(sys.executable, "-c", "print('no disk'); raise SystemExit(3)")]
    )
    said = []
    with pytest.raises(Unavailable, match="no disk"):
        chromium.install(said.append)
    assert "no disk" in said


def test_a_browser_that_is_forgotten_ends(flows):
    from recollect.flows.browser import Browser

    browser = Browser(flows)
    browser.launch()
    processes = browsers_in()
    assert processes
    del browser
    gc.collect()
    until(lambda: not any(each.is_running() and each.status() != psutil.STATUS_ZOMBIE for each in processes))


@pytest.mark.parametrize(
    "ending", ["pass", "raise SystemExit(3)", "raise RuntimeError('x')", "os.kill(os.getpid(), 9)"]
)
def test_a_program_that_ends_takes_its_browser_along(tmp_path, ending):
    program = f"""
import os
from recollect import Recollect
recollect = Recollect(":memory:")
browser = recollect.flows.open_browser()
browser.launch()
print(browser._running.window.folder, flush=True)
{ending}
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, cwd=tmp_path)
    folder = done.stdout.strip()
    assert folder, done.stderr

    def is_used():
        commands = (each.info["cmdline"] or [] for each in psutil.process_iter(["cmdline"]))
        return any(folder in part for command in commands for part in command)

    until(lambda: not is_used())
    if "kill" in ending:
        shutil.rmtree(folder)  # nobody was left to do it
    assert not Path(folder).exists()


def test_an_interrupted_call_leaves_a_browser_that_works(flows, site):
    with flows.open_browser(url=f"{site}/slow.html", timeout_s=20) as browser:
        threading.Timer(0.7, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            browser.click(test_id="nowhere")
        assert browser.click(test_id="start").ok
