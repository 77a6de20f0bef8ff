"""`athand flows`: sessions are found, looked at, moved."""

import subprocess
import sys

import pytest

from athand import Athand
from athand.adapters.cli import flows
from athand.flows import Observation
from athand.flows.export import LANGUAGES

SEND = Observation(
    screen="send",
    url="https://wallet.test/#/send",
    test_ids=[{"testId": "amount", "tag": "input"}, {"testId": "confirm", "tag": "button", "text": "Confirm"}],
    a11y=[{"ref": "e1", "role": "textbox", "name": "Amount"}, {"ref": "e2", "role": "button", "name": "Confirm"}],
)
HOME = Observation(screen="home", url="https://wallet.test/#/", test_ids=[{"testId": "send-button"}])


@pytest.fixture
def walked(tmp_path):
    """A store with four sessions: two that sent coins, one that failed, one that only looked."""

    def walk(flows, id_, goal, **about):
        flows.start_session(goal=goal, app="wallet", id=id_, **about)
        flows.record(id_, tool="ui_click", target={"testId": "send-button"}, before=HOME, after_screen="send")
        flows.record(id_, tool="ui_type", target={"testId": "amount"}, input={"text": "5"}, before=SEND)
        flows.record(id_, tool="ui_click", target={"role": "button", "name": "Confirm"}, before=SEND, duration_ms=12)

    with Athand(str(tmp_path / "store.db")) as athand:
        walk(athand.flows, "s-1", "Send coins to mira", flow_tags=["send"], git={"branch": "feat/send"})
        walk(athand.flows, "s-2", "Send coins to jon", flow_tags=["send"], tags=["nightly"])
        athand.flows.start_session(goal="Swap coins \x1b[31mred", app="other", id="s-3")
        gone = {"code": "TARGET_NOT_FOUND", "message": "There is no test id 'swap'."}
        athand.flows.record("s-3", tool="ui_click", target={"testId": "swap"}, before=HOME, ok=False, error=gone)
        athand.flows.start_session(goal="Send coins to ada", app="wallet", id="s-4")
        seen = {"before": HOME, "input": {"limit": 150}}
        athand.flows.record("s-4", tool="ui_describe_screen", **seen)


# Finding


@pytest.mark.parametrize(
    ("options", "ids"),
    [
        ((), ["s-4", "s-3", "s-2", "s-1"]),
        (("--limit", "1"), ["s-4"]),
        (("--flow-tag", "send"), ["s-2", "s-1"]),
        (("--tag", "nightly"), ["s-2"]),
        (("--screen", "send"), ["s-2", "s-1"]),
        (("--branch", "feat/send"), ["s-1"]),
        (("--app", "other"), ["s-3"]),
        (("--outcome", "error"), ["s-3"]),
        (("--since", "1"), ["s-4", "s-3", "s-2", "s-1"]),
    ],
)
def test_sessions_are_listed_and_filtered(run, walked, options, ids):
    assert [each["id"] for each in run("flows", "sessions", *options, "--json").json] == ids


def test_the_list_shows_what_each_session_was_for(run, walked):
    shown = run("flows", "sessions")
    assert "Send coins to mira" in shown.out
    assert run("flows", "sessions", "-q").out.split() == ["s-4", "s-3", "s-2", "s-1"]
    assert "No session matches" in run("flows", "sessions", "--tag", "none").err


def test_an_empty_store_says_how_to_begin(run):
    for command in (("sessions",), ("last",)):
        shown = run("flows", *command)
        assert (shown.code, shown.out) == (0, "")
        assert "athand flows record" in shown.err


def test_steps_are_found_with_reasons(run, walked):
    shown = run("flows", "search", "confirm sending coins", "--limit", "1")
    assert 'click button "Confirm" on send' in shown.out
    assert "session s-" in shown.out
    assert "keyword █" in shown.out
    assert 'a11y:button:"Confirm"' in shown.out
    assert "flows 4" in shown.err
    hits = run("flows", "search", "confirm", "--session", "s-1", "--json").json["hits"]
    assert {hit["session_id"] for hit in hits} == {"s-1"}
    assert hits[0]["title"] == "Send coins to mira"
    assert hits[0]["snippet"].startswith("match: ")
    assert "total" in run("flows", "search", "confirm", "--explain").out


def test_filters_and_a_least_score_hold_for_the_search(run, walked):
    assert run("flows", "search", "coins", "--app", "other", "-q").out == ""  # nothing went well there
    assert run("flows", "search", "coins", "--app", "other", "--outcome", "error", "-q").out.count("\n") == 1
    assert run("flows", "search", "coins", "--outcome", "error", "--json").json["hits"][0]["session_id"] == "s-3"
    assert run("flows", "search", "coins of the kettle", "--min-score", ".99", "-q").out == ""
    assert run("flows", "search", "qwxyz zzgrmpf").out == ""


def test_the_search_over_everything_shows_a_flow_as_its_session(run, walked):
    shown = run("search", "send coins to mira")
    first = shown.out.splitlines()[0]
    assert "flow" in first
    assert "Send coins to mira" in first
    assert "wallet · " in first
    hits = run("search", "coins", "--json").json["hits"]
    assert len({hit["session_id"] for hit in hits}) == len(hits) == 2  # those in which something went well
    assert {hit["session_id"] for hit in run("search", "coins", "--app", "wallet", "--json").json["hits"]} == {
        "s-1",
        "s-2",
    }
    assert run("search", "coins", "--app", "other", "--json").json["hits"] == []
    assert "flows" not in run("search", "coins", "--project", "shop").err


def test_a_session_is_shown_step_by_step(run, walked):
    lines = run("flows", "show", "s-1").out.splitlines()
    assert lines[0].strip() == "Send coins to mira"
    steps = [line.split() for line in lines if "✓" in line]
    assert [step[0] for step in steps] == ["1", "2", "3"]
    assert steps[0][1:] == ["click", "send-button", "home", "→", "send", "✓"]
    assert "“5”" in steps[1]
    assert steps[2][-2:] == ["12", "ms"]
    assert "✗ TARGET_NOT_FOUND" in run("flows", "show", "s-3").out
    assert [step["position"] for step in run("flows", "show", "s-1", "--json").json["steps"]] == [1, 2, 3]


def test_one_step_is_shown_with_what_was_seen(run, walked):
    shown = run("flows", "show", "s-1", "--step", "2").out
    for words in ("test id amount", '{"text": "5"}', "https://wallet.test/#/send", "textbox", "confirm"):
        assert words in shown
    assert "There is no test id 'swap'." in run("flows", "show", "s-3", "--full").out
    assert run("flows", "show", "s-1", "--step", "2", "--json").json["position"] == 2
    missing = run("flows", "show", "s-1", "--step", "9")
    assert missing.code == 1
    assert "It has the steps 1 to 3" in missing.err


def test_what_pages_say_does_not_steer_the_terminal(run, walked):
    for command in (("sessions",), ("show", "s-3"), ("search", "swap"), ("summarize", "s-3")):
        assert "\x1b" not in run("flows", *command).out


def test_the_newest_steps_come_first(run, walked):
    assert [step["session_id"] for step in run("flows", "last", "-n", "2", "--json").json] == ["s-4", "s-3"]
    assert "send-button" in run("flows", "last", "--session", "s-1").out


def test_a_session_in_a_few_lines(run, walked):
    shown = run("flows", "summarize", "s-1").out
    assert "3 steps" in shown
    assert "home → send" in shown
    assert run("flows", "summarize", "s-3", "--json").json["errors"] == {"TARGET_NOT_FOUND": 1}
    assert len(run("flows", "summarize", "s-1", "-q").out.splitlines()) == 3


def test_in_80_columns_each_step_keeps_its_element(run, walked, tmp_path, monkeypatch):
    with Athand(str(tmp_path / "store.db")) as athand:
        screen = "a-screen-with-a-very-long-name-of-many-words"
        seen = Observation(screen=screen, test_ids=[{"testId": "pay-now"}])
        athand.flows.start_session(id="long", app="wallet")
        gone = {"code": "TARGET_NOT_FOUND_ANYWHERE", "message": "no"}
        target = {"testId": "pay-now"}
        more = {"target": target, "before": seen, "after_screen": f"{screen}-2", "duration_ms": 123_456}
        athand.flows.record("long", tool="ui_click", ok=False, error=gone, **more)
    monkeypatch.setenv("COLUMNS", "80")
    assert "pay-now" in run("flows", "show", "long").out


def test_an_id_that_is_almost_right_is_asked_for(run, walked):
    assert "Did you mean s-1?" in run("flows", "show", "z-1").err
    assert "Did you mean" not in run("flows", "show", "something-else").err


def test_what_comes_next_is_suggested(run, walked):
    shown = run("flows", "suggest", "s-4")
    assert "click test id send-button" in shown.out
    assert "█" in shown.out
    assert "s-1" in shown.out
    known = run("flows", "suggest", "s-4", "--json").json
    assert known["suggestedNextActions"][0]["preferredTarget"] == {"type": "testId", "value": "send-button"}
    assert run("flows", "suggest", "s-4", "-q").out.split()[0] == "click"


def test_nothing_known_is_said(run, tmp_path):
    with Athand(str(tmp_path / "store.db")) as athand:
        athand.flows.start_session(id="new")
        assert "has seen no screen yet" in run("flows", "suggest", "new").err
        athand.flows.record("new", tool="ui_describe_screen", before=HOME)
    assert "Nothing is known" in run("flows", "suggest", "new").err
    assert run("flows", "suggest", "new", "--json").json is None


# Keeping and moving


def test_a_session_leaves_as_a_folder_and_comes_back(run, walked, tmp_path):
    out = tmp_path / "out"
    assert run("flows", "export", "s-1", "--output", str(out)).out.strip() == str(out / "s-1")
    assert run("flows", "export", "--all", "--output", str(tmp_path / "all"), "--json").json["folders"][2:]
    again = run("flows", "import", str(out))
    assert (again.code, "1 session known already" in again.err) == (0, True)
    elsewhere = run("flows", "import", str(tmp_path / "all"), "--store", str(tmp_path / "other.db"), "--json")
    assert (elsewhere.json["sessions"], elsewhere.json["steps"], elsewhere.json["problems"]) == (4, 8, [])


def test_what_cannot_be_read_is_named(run, walked, tmp_path):
    run("flows", "export", "s-1", "--output", str(tmp_path / "out"))
    folder = tmp_path / "out" / "s-1"
    (folder / "steps" / "00009-click.json").write_text("oops")
    some = run("flows", "import", str(tmp_path / "out"), "--store", str(tmp_path / "other.db"))
    assert some.code == 0
    assert "00009-click.json" in some.err
    (folder / "session.json").write_text("oops")
    none = run("flows", "import", str(tmp_path / "out"), "--store", str(tmp_path / "third.db"))
    assert none.code == 65
    assert "session.json" in none.err
    assert run("flows", "import", str(tmp_path / "nowhere")).code == 1


def test_a_session_becomes_a_test(run, walked, tmp_path):
    for language in LANGUAGES:
        assert "send-button" in run("flows", "export", "s-1", "--format", language).out
    file = tmp_path / "test_send.py"
    written = run("flows", "export", "s-1", "--format", "python", "--output", str(file))
    assert (written.code, written.out) == (0, "")
    compile(file.read_text(), "test", "exec")
    refused = run("flows", "export", "s-1", "--format", "python", "--output", str(file))
    assert refused.code == 1
    assert "--force" in refused.err
    assert run("flows", "export", "s-1", "--format", "python", "--output", str(file), "--force").code == 0
    assert run("flows", "export", "s-1", "--format", "python", "--json").json["source"] == file.read_text()


@pytest.mark.parametrize("words", [(), ("s-1", "--all"), ("--all", "--format", "python")])
def test_an_export_says_of_what(run, walked, words):
    assert run("flows", "export", *words).code == 2


def test_a_session_is_deleted_only_if_meant(run, walked):
    refused = run("flows", "delete", "s-1")
    assert refused.code == 2
    assert "--yes" in refused.err
    assert "its 3 steps" in run("flows", "delete", "s-1", "--yes").err
    assert run("flows", "show", "s-1").code == 1


def test_profiles_are_listed(run):
    assert run("flows", "profiles", "-q").out.split()[:2] == ["default", "metamask"]
    assert "confirm-transaction" in run("flows", "profiles", "--json").out
    assert "mm_*" in run("flows", "profiles").out


def test_status_and_reindex_include_flows(run, walked):
    assert "4 sessions · 8 steps · 2 apps" in run("status").out
    assert run("status", "--json").json["corpora"]["flows"] == {"count": 4, "steps": 8, "apps": 2}
    indexed = run("reindex", "--verify", "--json").json
    assert (indexed["flows"], indexed["identical"]) == (8, True)
    assert "8 steps of flows" in run("reindex").err


@pytest.mark.parametrize("command", ["show", "summarize", "suggest", "delete", "replay", "export"])
def test_an_unknown_session_is_one_clear_sentence(run, command):
    shown = run("flows", command, "nope")
    assert shown.code == 1
    assert "nope" in shown.err
    assert "Traceback" not in shown.err


def test_words_written_out_for_the_help_are_those_of_the_engine():
    assert flows.LANGUAGES == LANGUAGES


def test_help_of_flows_imports_nothing_heavy():
    code = (
        "import sys; from athand.adapters.cli.main import cli\n"
        "try: cli(['flows', '--help'])\nexcept SystemExit: pass\n"
        "print([name for name in ('numpy', 'apsw', 'rich', 'playwright') if name in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "setup-browser" in shown
    assert shown.strip().endswith("[]")
