"""`athand flows record` and `replay`: lines are walked in a real browser, and walked again."""

import io
import json
import os
import pty
import stat
import subprocess
import sys
import textwrap

import pytest
from tests.flows.sharing import shared_chromium
from tests.flows.waiting import has, in_vain, patient_replays
from tests.flows.webapp import PAGES, WebApp
from tests.waiting import PATIENCE

from athand import Athand
from athand.adapters.cli.flows_line_parser import parse_json, parse_words
from athand.errors import InvalidInput


@pytest.fixture(scope="module")
def site():
    with WebApp() as app:
        yield app.url


@pytest.fixture
def in_browser(request):
    """Commands of this test open their browsers in the one Chromium of the process, and wait as long as it takes."""
    with shared_chromium(request.config), patient_replays():
        yield


@pytest.fixture
def say(run, monkeypatch):
    """Runs a command with something on its standard input."""

    def say(text, *words):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(textwrap.dedent(text).encode())))
        return run(*words)

    return say


# What can be said in a line


@pytest.mark.parametrize(
    ("line", "step"),
    [
        ("describe", {"tool": "describe_screen"}),
        ("click send-button", {"tool": "click", "test_id": "send-button"}),
        ("click e12", {"tool": "click", "ref": "e12"}),
        ("click testid=e12", {"tool": "click", "test_id": "e12"}),
        ('click role=button name="Send it"', {"tool": "click", "role": "button", "name": "Send it"}),
        ('click selector="a[href=x]"', {"tool": "click", "selector": "a[href=x]"}),
        ('type e3 "0.1 ETH"', {"tool": "type", "ref": "e3", "text": "0.1 ETH"}),
        ('type q "value=5"', {"tool": "type", "test_id": "q", "text": "value=5"}),
        ('type q text="name=x"', {"tool": "type", "test_id": "q", "text": "name=x"}),
        ("type pw secret", {"tool": "type", "test_id": "pw", "text": "secret"}),
        ("type pw x secret submit", {"tool": "type", "test_id": "pw", "text": "x", "secret": True, "submit": True}),
        ("type q x append", {"tool": "type", "test_id": "q", "text": "x", "clear": False}),
        ("type pw", {"tool": "type", "test_id": "pw"}),
        ("press Enter", {"tool": "press", "key": "Enter"}),
        ("press Enter q timeout=2", {"tool": "press", "key": "Enter", "test_id": "q", "timeout_s": 2.0}),
        ("select language de", {"tool": "select", "test_id": "language", "value": "de"}),
        ("select language label=German", {"tool": "select", "test_id": "language", "label": "German"}),
        ("goto https://x.test/?name=a#b", {"tool": "navigate", "url": "https://x.test/?name=a#b"}),
        ("wait spinner hidden", {"tool": "wait_for", "test_id": "spinner", "state": "hidden"}),
        ('wait text="Loading" hidden', {"tool": "wait_for", "text": "Loading", "state": "hidden"}),
        ("screenshot home full", {"tool": "screenshot", "name": "home", "full_page": True}),
        ("tabs", {"tool": "get_state"}),
        ("tab 1", {"tool": "switch_tab", "index": 1}),
        ("tab title=Shop", {"tool": "switch_tab", "title": "Shop"}),
        ("close-tab", {"tool": "close_tab"}),
    ],
)
def test_a_line_says_what_to_do(line, step):
    assert parse_words(line) == step


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("fly", "No command 'fly'"),
        ("press", "the key is missing"),
        ("goto", "the url is missing"),
        ("select language", "the value is missing"),
        ("click one two", "one word too many"),
        ("tab one", "must be a number"),
        ("wait x timeout=soon", "must be a number"),
        ('type q "open', "cannot be read"),
    ],
)
def test_a_line_that_says_nothing_is_told_so(line, said):
    with pytest.raises(InvalidInput, match=said):
        parse_words(line)


@pytest.mark.parametrize("line", ["oops", "[1]", '"click"', "[" * 100_000])
def test_only_objects_are_steps(line):
    with pytest.raises(InvalidInput):
        parse_json(line)


# In a real browser


def test_a_script_is_recorded(run, say, site, tmp_path, in_browser):
    script = """
        # send something
        describe
        click nav-send
        type recipient mira
        type testid=amount 5
        click role=button name=Confirm
        wait screen=/sent
        screenshot end
        tabs
    """
    words = ("--goal", "Send 5 coins", "--app", "shop", "--flow-tag", "send", "--tag", "t", "--session", "mine")
    shown = say(script, "flows", "record", f"{site}/shop.html", *words, "--screenshots", str(tmp_path / "shots"))
    assert shown.code == 0, shown.err
    assert 'link x3: "Home" [e2] | "Orders" [e3]' in shown.out
    assert "✓ /sent" in shown.out
    assert "athand flows show mine" in shown.err
    picture = tmp_path / "shots" / "end.png"
    assert stat.S_IMODE(picture.stat().st_mode) == 0o600
    kept = run("flows", "show", "mine", "--json").json
    assert (kept["goal"], kept["app"], kept["flow_tags"], kept["tags"]) == ("Send 5 coins", "shop", ["send"], ["t"])
    verbs = ["launch", "describe_screen", "click", "type", "type", "click", "wait_for", "screenshot", "get_state"]
    assert [step["verb"] for step in kept["steps"]] == [*verbs, "cleanup"]
    again = say("describe\nquit\nfly", "flows", "record", f"{site}/shop.html", "--goal", "Send coins", "--app", "shop")
    assert "click test id nav-send" in again.out, "what worked before is told"


def test_a_script_ends_at_its_first_failure(run, say, site, in_browser):
    script = "help\ntype q\n"
    shown = say(script, "flows", "record", f"{site}/shop.html", "--session", "a")
    assert shown.code == 1
    assert "line 2: InvalidInput: type: the text is missing." in shown.err
    assert "type TARGET" in shown.out
    shown = say("click nope\nclick nav-send", "flows", "record", "--session", "b", "--timeout", "0.3")
    assert shown.code == 1
    assert "line 1: TARGET_NOT_FOUND" in shown.err
    assert [step["verb"] for step in run("flows", "show", "b", "--json").json["steps"]] == [
        "launch",
        "click",
        "cleanup",
    ]
    assert say("", "flows", "record", f"{site}/shop.html", "-q", "--session", "c").out == "c\n"


def test_a_program_speaks_json(say, site, tmp_path, in_browser):
    lines = [
        {"tool": "type", "testId": "password", "text": "hunter-2222"},
        {"tool": "fly"},
        {"tool": "click"},
        {"tool": "ui_list_testids"},
    ]
    text = "\n".join(["oops", *map(json.dumps, lines)])
    shown = say(text, "flows", "record", f"{site}/login.html", "--json", "--session", "j")
    assert shown.code == 0, shown.err
    answers = [json.loads(line) for line in shown.out.splitlines()]
    assert [(each["tool"], each["ok"]) for each in answers] == [
        ("launch", True),
        (None, False),
        ("type", True),
        ("fly", False),
        ("click", False),
        ("ui_list_testids", True),
        ("cleanup", True),
    ]
    assert answers[4]["error"]["code"] == "NO_TARGET"
    assert answers[5]["result"]["total"] > 5
    assert answers[-1] == {"tool": "cleanup", "ok": True, "session_id": "j", "steps": 5}
    assert b"hunter-2222" not in b"".join(file.read_bytes() for file in tmp_path.glob("store.db*"))
    assert "hunter-2222" not in shown.out


def test_somebody_at_the_keyboard_is_asked_for_secrets_without_showing_them(site, tmp_path):
    ours, theirs = pty.openpty()
    environment = {**os.environ, "ATHAND_STORE": str(tmp_path / "store.db"), "TERM": "dumb"}
    code = "from athand.adapters.cli import main; main()"
    command = [
        sys.executable,
        "-c",
        code,
        "flows",
        "record",
        f"{site}/login.html",
        "--session",
        "k",
        "--timeout",
        str(PATIENCE),
    ]
    with subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, start_new_session=True
    ) as p:
        os.close(theirs)
        said = _talk(ours, [("> ", "fly"), ("> ", "type password"), ("shown)", "hunter-2222"), ("> ", "quit")])
        assert p.wait(PATIENCE) == 0
    os.close(ours)
    assert "No command 'fly'" in said
    assert "hunter-2222" not in said
    with Athand(str(tmp_path / "store.db")) as athand:
        typed = next(step for step in athand.flows.steps("k") if step.verb == "type")
    assert (typed.ok, "hunter" in str(typed)) == (True, False)


def _talk(terminal, answers):
    """Everything that was said, each question answered when it comes."""
    said, rest = b"", [*answers]
    heard = 0
    while True:
        try:
            said += os.read(terminal, 4096)
        except OSError:  # the other side has gone
            return said.decode()
        if rest and rest[0][0].encode() in said[heard:]:
            heard = len(said)
            os.write(terminal, rest.pop(0)[1].encode() + b"\n")


@pytest.fixture
def sent(say, site, in_browser):
    """A session that sent coins."""
    script = 'click nav-send\ntype recipient "mira"\ntype amount 5\nclick send-confirm\n'
    goal = ("--goal", "Send coins to 'mira'", "--app", "shop", "--session", "sent")
    assert say(script, "flows", "record", f"{site}/shop.html", *goal, "-q").code == 0


def test_a_session_is_done_again(run, sent, in_browser):
    shown = run("flows", "replay", "sent")
    assert shown.code == 0, shown.out + shown.err
    assert "Replayed all 4 actions." in shown.out
    assert shown.err.count("✓") == 4
    assert "mira" not in shown.err
    done = run("flows", "replay", "sent", "--goal", "Send coins to 'jon'", "--value", "amount=7", "--json").json
    assert (done["ok"], done["done"], done["of"]) == (True, 4, "sent")
    steps = run("flows", "show", done["session_id"], "--json").json["steps"]
    assert [step["input"]["text"] for step in steps if step["verb"] == "type"] == ["jon", "7"]


def test_a_replay_stops_where_the_page_differs(run, say, site, in_browser):
    record = ("flows", "record", f"{site}/login.html", "--session", "in", "-q")
    say("type user-name mira\ntype password hunter-2222\nclick log-in\n", *record)
    refused = run("flows", "replay", "in")
    assert refused.code == 1
    assert "VALUE_NEEDED" in refused.out
    assert run("flows", "replay", "in", "--value", "password=x", "--start", "3").code == 0
    assert run("flows", "replay", "in", "--value", "password").code == 2
    assert "NO_SUCH" in run("flows", "replay", "in", "--value-env", "password=NO_SUCH").err


def test_a_secret_comes_from_the_environment(run, say, site, monkeypatch, in_browser):
    say("type password hunter-2222\n", "flows", "record", f"{site}/login.html", "--session", "in", "-q")
    monkeypatch.setenv("SHOP_PASSWORD", "hunter-3333")
    shown = run("flows", "replay", "in", "--value-env", "password=SHOP_PASSWORD")
    assert shown.code == 0, shown.out + shown.err
    assert "hunter" not in shown.out + shown.err


def test_an_element_with_another_name_is_healed_until_that_is_rejected(run, say, tmp_path, in_browser):
    page = (PAGES / "shop.html").read_text()
    folder = tmp_path / "pages"
    folder.mkdir()
    (folder / "shop.html").write_text(page)
    with WebApp(folder) as app:
        say("click nav-send\nclick send-confirm\n", "flows", "record", f"{app.url}/shop.html", "--session", "s", "-q")
        (folder / "shop.html").write_text(
            page.replace('"nav-send"', '"nav-send-link"').replace(">Send<", ">Send coins<")
        )
        with in_vain(has("nav-send-link")):
            strict = run("flows", "replay", "s", "--no-heal")
            assert strict.code == 1
            assert "TARGET_NOT_FOUND" in strict.out
            healed = run("flows", "replay", "s")
            assert healed.code == 0, healed.out
            assert 'link "Send coins" instead of link "Send"' in healed.out
            [heal] = run("flows", "replay", "s", "--json").json["healed"]
            assert run("flows", "reject-heal", "s", str(heal["position"]), heal["element"]).code == 0
            assert run("flows", "replay", "s").code == 1


def test_a_browser_is_found(run, monkeypatch, tmp_path):
    found = run("flows", "setup-browser")
    assert found.code == 0
    assert os.access(found.out.strip(), os.X_OK)
    monkeypatch.setenv("ATHAND_CHROMIUM", found.out.strip())
    assert run("flows", "setup-browser", "--json").json == {"browser": found.out.strip()}
    monkeypatch.setenv("ATHAND_CHROMIUM", str(tmp_path / "none"))
    assert run("flows", "setup-browser").code == 2
