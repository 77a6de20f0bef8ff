"""A browser from launch to cleanup: crashes, hanging pages, threads, extensions, and nothing left behind."""

import asyncio
import gc
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import psutil
import pytest
from tests.flows.webapp import PAGES
from tests.waiting import PATIENCE, until

from athand.errors import ActionFailed, Conflict, InvalidInput, Unavailable
from athand.flows.browser import chromium, process


@pytest.fixture
def flows(shared_flows):
    return shared_flows


def browsers_in(folder_prefix="athand-browser-"):
    """The processes of browsers that were started with a profile of ours by this process."""
    found = {}
    for child in psutil.Process().children(recursive=True):
        try:
            if any(folder_prefix in each for each in child.cmdline()):
                found |= {each.pid: each for each in (child, *child.children(recursive=True))}
        except (psutil.NoSuchProcess, psutil.ZombieProcess):
            continue
    return list(found.values())


def main_process():
    return next(each for each in browsers_in() if not any("--type=" in part for part in each.cmdline()))


def have_ended(processes):
    return not any(each.is_running() and each.status() != psutil.STATUS_ZOMBIE for each in processes)


def test_a_launch_begins_a_session_and_cleanup_leaves_nothing(flows, site):
    described = {"goal": "Log in", "flow_tags": ["login"], "tags": ["t"], "app_version": "2"}
    browser = flows.open_browser(url=f"{site}/login.html", git={"branch": "main"}, timeout_s=PATIENCE, **described)
    session = flows.session(browser.session_id)
    assert (session.goal, session.flow_tags, session.app_version, session.git) == (
        "Log in",
        ("login",),
        "2",
        {"branch": "main"},
    )
    assert session.launch["url"] == f"{site}/login.html"
    assert flows.steps(session.id)[0].after_screen.startswith("/login")
    profile = next(part.split("=", 1)[1] for part in main_process().cmdline() if part.startswith("--user-data-dir="))
    folder = Path(profile).parent
    assert folder.stat().st_mode & 0o777 == 0o700
    processes = browsers_in()
    assert browser.cleanup().was_running
    assert not folder.exists()
    until(lambda: have_ended(processes))
    assert not browser.cleanup().was_running
    assert [step.verb for step in flows.steps(session.id)] == ["launch", "cleanup"]


def test_what_stopped_answering_is_ended_with_its_browser(flows, monkeypatch):
    before = set(psutil.Process().children())
    browser = flows.open_browser(timeout_s=PATIENCE)
    [driver] = set(psutil.Process().children()) - before
    started = [driver, *driver.children(recursive=True)]
    folder = browser._process._folder.path
    monkeypatch.setattr(process, "_STOP_S", 0.3)
    driver.suspend()  # from now on nothing that it is told is done
    browser._process.close()
    assert not driver.is_running(), "it has ended, and was waited for"
    until(lambda: have_ended(started))
    assert not folder.exists()


def test_an_open_browser_is_at_its_address_and_not_launched_twice(flows, in_shared_chromium):
    browser = flows.open_browser(session="first-use")
    assert browser.session_id == "first-use"
    assert browser.get_state().url == "about:blank"
    with pytest.raises(Conflict) as failed:
        browser.launch()
    assert failed.value.code == flows.last(1)[0].error["code"] == "ALREADY_LAUNCHED"
    browser.cleanup()
    for call in (browser.get_state, lambda: browser.run_steps([{"tool": "get_state"}])):
        with pytest.raises(ActionFailed) as failed:
            call()
        assert failed.value.code == flows.last(1)[0].error["code"] == "NOT_LAUNCHED"
    assert browser.launch().session_id == "first-use", "a session that exists is gone on with"
    browser.cleanup()


def test_a_prepared_browser_waits_for_its_launch(flows):
    browser = flows.prepare_browser()
    for call in (browser.get_state, lambda: browser.click(test_id="x")):
        with pytest.raises(ActionFailed) as failed:
            call()
        assert failed.value.code == "NOT_LAUNCHED"
    assert (browser.is_open, browser.session_id) == (False, None)


def test_pictures_outlive_the_browser_and_go_with_the_session(flows, site, in_shared_chromium):
    with flows.open_browser(url=f"{site}/login.html") as browser:
        session, path = browser.session_id, Path(browser.screenshot().path)
    assert (path.is_file(), path.parent, path.stat().st_mode & 0o777) == (True, flows.pictures(session), 0o600)
    flows.delete(session)
    assert not path.parent.exists()


def test_two_browsers_run_side_by_side_and_under_an_event_loop(flows, site):
    async def main():
        with (
            flows.open_browser(url=f"{site}/login.html", timeout_s=PATIENCE) as one,
            flows.open_browser(url=f"{site}/shop.html", timeout_s=PATIENCE) as two,
        ):
            await asyncio.to_thread(one.type, "anna", test_id="user-name")
            two.click(test_id="nav-orders")
            assert one.get_state().url.endswith("/login.html")
            assert two.get_state().url.endswith("#/orders")
            assert one.session_id != two.session_id

    asyncio.run(main())


def test_a_crashed_browser_is_reported_and_can_be_launched_again(flows, site):
    with flows.open_browser(url=f"{site}/login.html", timeout_s=PATIENCE) as browser:
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
    with flows.open_browser(url=f"{site}/login.html", timeout_s=PATIENCE) as browser:
        for child in browsers_in():
            if "--type=renderer" in child.cmdline():
                child.kill()
        with pytest.raises(ActionFailed) as failed:
            until(lambda: not browser.get_state())  # the browser hears of it a little later
        assert failed.value.code == "BROWSER_CLOSED"


def test_a_hanging_page_does_not_hang_the_caller(flows, site):
    with flows.open_browser(url=f"{site}/leaving.html", timeout_s=PATIENCE) as browser:
        with pytest.raises(ActionFailed) as failed:
            browser.click(test_id="hang", timeout_s=1)
        assert failed.value.code == "TIMEOUT"
        processes = browsers_in()
    until(lambda: have_ended(processes))


def test_an_unpacked_extension_is_loaded(flows, tmp_path):
    with flows.open_browser(extension=PAGES / "extension", timeout_s=PATIENCE, screenshots=tmp_path) as browser:
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
    with pytest.raises(InvalidInput):
        flows.open_browser(**options)
    assert browsers_in() == []


def test_an_address_that_fails_ends_the_launch(flows):
    with pytest.raises(ActionFailed) as failed:
        flows.open_browser(url="http://127.0.0.1:1/", goal="Nowhere", timeout_s=PATIENCE)
    assert failed.value.code == flows.last(1)[0].error["code"] == "NAVIGATION_FAILED"
    until(lambda: browsers_in() == [])


def test_without_a_browser_it_says_how_to_get_one(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(chromium, "_EXECUTABLE_PATHS", ())
    monkeypatch.setattr(chromium, "_SHELL_PATHS", ())
    with pytest.raises(Unavailable, match="athand flows setup-browser"):
        chromium.find_executable(None)
    own = put_program(tmp_path / "chromium")
    assert chromium.find_executable(None) == own
    assert chromium.find_executable(None, own="/no/such") == own


def put_program(path):
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return str(path)


def test_without_a_window_the_headless_shell_is_used(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(chromium, "_SHELL_PATHS", ())
    full, shell, named = (put_program(tmp_path / name) for name in ("chromium", "chromium-headless-shell", "named"))
    assert chromium.find_executable(None) == shell
    assert chromium.find_executable(None, is_headless=False) == full
    assert chromium.find_executable(named) == named


def test_the_headless_shell_is_installed_beside_the_systems_chromium_only(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(chromium, "_SHELL_PATHS", ())
    full, another, said = put_program(tmp_path / "chromium"), put_program(tmp_path / "chrome"), []
    shell = tmp_path / "chromium-headless-shell"
    installer = [sys.executable, "-c", "import pathlib, sys; pathlib.Path(sys.argv[1]).touch(0o755)", str(shell)]
    monkeypatch.setattr(chromium, "_system_commands", lambda *packages: [[*installer, "install", *packages]])
    assert chromium.install_headless_shell(another, said.append) == another and said == []
    assert chromium.install_headless_shell(full, said.append) == str(shell)
    assert said[0].endswith("install chromium-headless-shell")
    shell.unlink()
    monkeypatch.setattr(chromium, "_system_commands", lambda *_: [(sys.executable, "-c", "raise SystemExit(3)")])
    assert chromium.install_headless_shell(full) == full
    monkeypatch.setattr(chromium, "_system_commands", lambda *_: [])
    assert chromium.install_headless_shell(full) == full


def test_without_playwright_it_says_how_to_get_it(flows, monkeypatch):
    monkeypatch.setitem(sys.modules, "playwright.async_api", None)
    with pytest.raises(Unavailable, match=r"pip install 'athand\[browser\]'"):
        flows.open_browser()


def test_installing_says_what_failed(monkeypatch):
    monkeypatch.setattr(
        chromium, "_install_commands", lambda: [(sys.executable, "-c", "print('no disk'); raise SystemExit(3)")]
    )
    said = []
    with pytest.raises(Unavailable, match="no disk"):
        chromium.install_chromium(said.append)
    assert "no disk" in said


def test_a_browser_that_is_forgotten_ends(flows):
    browser = flows.open_browser()
    processes = browsers_in()
    assert processes
    del browser
    gc.collect()
    until(lambda: have_ended(processes))


@pytest.fixture
def temporary():
    """A folder for temporary files with a short name, for there are sockets in it."""
    with tempfile.TemporaryDirectory(prefix="r-") as folder:
        yield Path(folder)


def program(temporary, ending):
    """Starts a program that opens a browser, says so with `opened`, and ends in some way; in a group of its own."""
    code = f"""
import os, sys, time
from athand import Athand
athand = Athand(":memory:")
browser = athand.flows.open_browser()
opened = lambda: print("open", flush=True)
{ending}
"""
    started = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(temporary)},
        start_new_session=True,
    )
    assert started.stdout.readline() == "open\n", started.communicate(timeout=PATIENCE)[1]
    return started


def is_used(folder):
    commands = (each.info["cmdline"] or [] for each in psutil.process_iter(["cmdline"]))
    return any(str(folder) in part for command in commands for part in command)


def test_a_program_that_fails_takes_its_browser_along(temporary):
    _, said = program(temporary, "opened(); raise RuntimeError('x')").communicate(timeout=PATIENCE)
    assert said.endswith("RuntimeError: x\n")
    until(lambda: not is_used(temporary))
    assert list(temporary.iterdir()) == []


def test_ctrl_c_ends_the_browser_without_a_word(temporary):
    started = program(temporary, "try: opened(); time.sleep(600)\nexcept KeyboardInterrupt: sys.exit(130)")
    os.killpg(started.pid, signal.SIGINT)
    _, said = started.communicate(timeout=PATIENCE)
    assert (started.returncode, said) == (130, "")
    until(lambda: not is_used(temporary))
    assert list(temporary.iterdir()) == []


def test_what_a_killed_program_left_is_taken_away_by_the_next(temporary):
    program(temporary, "opened(); os.kill(os.getpid(), 9)").communicate(timeout=PATIENCE)
    until(lambda: not is_used(temporary))
    assert len(list(temporary.iterdir())) == 1
    program(temporary, "opened(); browser.cleanup()").communicate(timeout=PATIENCE)
    assert list(temporary.iterdir()) == []


def test_only_what_nobody_uses_is_taken_away(temporary, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    used = process.ProfileFolder()
    outside = temporary / "outside"
    outside.mkdir(mode=0o700)
    (outside / "owner.lock").touch()
    (temporary / "athand-browser-link").symlink_to(outside)
    for name, mode in (("open", 0o755), ("left", 0o700)):
        folder = temporary / f"athand-browser-{name}"
        folder.mkdir(mode=mode)
        (folder / "owner.lock").touch()
    (temporary / "athand-browser-new").mkdir(mode=0o700)
    process.remove_stale_folders()
    kept = {"outside", "athand-browser-link", "athand-browser-open", "athand-browser-new", used.path.name}
    assert {each.name for each in temporary.iterdir()} == kept
    used.remove()
    assert not used.path.exists()
