"""Flows in bad hands: secrets in odd places, hostile files and arguments, many at once. Nothing leaks or breaks."""

import ast
import json
import os
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engines import one_engine

from athand import Athand
from athand.errors import AthandError, Conflict, InvalidInput, NotFound, StoreError
from athand.flows.profiles import Profiles, load_profile
from athand.flows.secrets import MASK
from athand.text import text_hash

SECRET = "zz8Q!hunter7"
TOKEN = "ghp_" + "a1B2c3D4" * 5


@pytest.fixture(scope="module")
def kept():
    """One store in memory for all that is only tried out."""
    with Athand(":memory:") as athand:
        athand.flows.start_session(id="s", goal="Try it")
        yield athand.flows


@pytest.fixture
def on_disk(tmp_path):
    """Flows in a file, and whether a text is in any file of the store."""
    with Athand(tmp_path / "store.db") as athand:
        athand.flows.start_session(id="s", goal="Log in")

        def has(text):
            return [file.name for file in tmp_path.glob("store.db*") if text.encode() in file.read_bytes()]

        yield athand.flows, has


def field(name, **facts):
    return {"ref": "e1", "role": "textbox", "name": name, **facts}


def page(*nodes, **more):
    return {"url": "https://shop.test/login", "a11y": list(nodes), **more}


# Secrets


@pytest.mark.parametrize(
    "given",
    [
        {"tool": "ui_type", "input": {"secret": True, "args": {"text": SECRET}}},
        {"tool": "ui_run_steps", "input": {"steps": [{"tool": "type", "test_id": "password", "text": SECRET}]}},
        {"tool": "ui_run_steps", "input": {"secret": True, "steps": [{"tool": "type", "ref": "e9", "text": SECRET}]}},
        {"tool": "ui_login", "input": {"user": "ann", "password": SECRET}},
        {"tool": "ui_fill", "input": {"fields": {"Password": SECRET}}},
        {"tool": "ui_fill", "input": {"fields": [{"name": "PIN", "value": SECRET}]}},
        {"tool": "ui_fill", "input": {"api_key": {"value": SECRET}}},
        {"tool": "ui_type", "target": {"testId": "password"}, "input": {"text": [SECRET]}},
        {"tool": "ui_select", "target": {"role": "combobox", "name": "Security answer"}, "input": {"label": SECRET}},
        {"tool": "ui_press", "target": {"selector": "input[type=password]"}, "input": {"key": SECRET}},
        {"tool": "ui_describe_screen", "before": page(field("Password", value=SECRET))},
        {"tool": "ui_describe_screen", "before": page(field("Password", value=SECRET), field(f"You wrote {SECRET}"))},
        {
            "tool": "ui_list_testids",
            "before": page(test_ids=[{"testId": "seed-phrase", "tag": "textarea", "text": SECRET}]),
        },
        {
            "tool": "ui_type",
            "target": {"testId": "password"},
            "input": {"text": SECRET},
            "ok": False,
            "error": {"code": "TIMEOUT", "message": f'fill("{SECRET}")\nCall log: - fill("{SECRET}")', "log": [SECRET]},
            "screenshot": f"/tmp/{SECRET}.png",
            "prior_knowledge": {"query": {"goal": f"Log in with {SECRET}"}},
        },
    ],
    ids=lambda given: given["tool"],
)
def test_a_secret_reaches_no_disk_whatever_way_it_comes(on_disk, given):
    flows, has = on_disk
    flows.record("s", **given)
    assert not has(SECRET)


@pytest.mark.parametrize(
    "given",
    [
        {"launch": {"url": f"https://ann:{SECRET}@shop.test/"}},
        {"launch": {"password": SECRET}},
        {"launch": {"headers": [f"Authorization: Bearer {TOKEN}"]}},
        {"git": {"branch": f"fix/{TOKEN}"}},
        {"tags": [TOKEN]},
        {"flow_tags": [TOKEN]},
        {"app_version": TOKEN},
        {"goal": f"Log in with the token {TOKEN}"},
    ],
)
def test_a_session_begins_without_secrets(on_disk, given):
    flows, has = on_disk
    flows.start_session(**given)
    assert not has(SECRET)
    assert not has(TOKEN)


@one_engine
def test_a_commit_and_a_branch_are_no_secrets(flows):
    git = {"branch": "feat/PROJ-1234-login", "commit": text_hash("x").hex()[:40], "dirty": True}
    assert flows.start_session(git=git, tags=["nightly", "v1.2.3"]).git == git


def test_what_was_kept_before_it_was_known_to_be_secret_is_taken_out(flows):
    flows.start_session(id="s", goal=f"Try {SECRET}", tags=[SECRET], launch={"note": SECRET})
    shown = {"query": {"goal": f"Try {SECRET}"}}
    flows.record("s", tool="ui_describe_screen", before=page(field("Notes", value=SECRET)), prior_knowledge=shown)
    flows.record("s", tool="ui_type", target={"role": "textbox", "name": "Notes"}, input={"text": SECRET})
    flows.record("s", tool="ui_click", target={"testId": f"row-{SECRET}"})
    flows.record("s", tool="ui_type", target={"testId": "password"}, input={"text": SECRET})
    told = json.dumps([flows.session("s").to_dict(), *(step.to_dict() for step in flows.steps("s"))])
    assert SECRET not in told
    assert MASK in flows.steps("s")[1].input["text"]
    assert [step.position for step in flows.steps("s")] == [1, 2, 3, 4]
    made = flows.fingerprint()
    flows.reindex()
    assert flows.fingerprint() == made


def test_what_was_kept_before_is_not_left_on_disk(on_disk):
    flows, has = on_disk
    flows.record("s", tool="ui_describe_screen", before=page(field("Notes", value=SECRET)))
    assert has(SECRET)
    flows.record("s", tool="ui_type", target={"testId": "password"}, input={"text": SECRET})
    assert not has(SECRET)


@one_engine
def test_what_never_came_to_a_field_is_not_kept(flows):
    flows.start_session(id="s")
    lost = {"ok": False, "error": {"code": "TARGET_NOT_FOUND"}}
    skipped = [{"tool": "click", "testId": "nope"}, {"tool": "type", "ref": "e9", "text": SECRET}]
    for call in (
        {
            "tool": "ui_type",
            "target": {"testId": "f1"},
            "input": {"text": SECRET},
            "before": page(field("Name")),
            **lost,
        },
        {"tool": "ui_type", "input": {"text": SECRET}, **lost},
        {"tool": "ui_run_steps", "input": {"steps": skipped}, **lost},
    ):
        assert SECRET not in str(flows.record("s", **call).to_dict())
    seen = page(field("Name", testId="f1"))
    disabled = {"target": {"testId": "f1"}, "before": seen, "ok": False, "error": {"code": "TARGET_NOT_ENABLED"}}
    assert flows.record("s", tool="ui_type", input={"text": "Ann"}, **disabled).input["text"] == "Ann"
    assert flows.record("s", tool="ui_describe_screen", before=page(field("Ann"))).before.a11y[0]["name"] == "Ann"


@one_engine
@pytest.mark.parametrize(
    ("name", "value", "is_kept"),
    [
        ("token", "4f9a8b7c6d5e4f3a2b1c", False),
        ("Key", "AKxf73kLmQ92pdDs81hX", False),
        ("Token", "Ether", True),
        ("Token", "0x" + "52908400098527886E0F7030069857D2E4169EE7", True),
        ("Keyword", "x" * 20 + "1", True),
        ("Search for a token", "Wrapped-Bitcoin-2024-v2", True),
    ],
)
def test_a_key_that_a_machine_made_is_secret_also_in_a_plain_field(flows, name, value, is_kept):
    flows.start_session(id="s")
    role = "searchbox" if name.startswith("Search") else "textbox"
    seen = page({**field(name, value=value), "role": role})
    looked = flows.record("s", tool="ui_describe_screen", before=seen)
    typed = flows.record("s", tool="ui_type", target={"a11yRef": "e1"}, input={"text": value}, before=seen)
    assert ((value in str(looked.to_dict())), (value in str(typed.to_dict()))) == (is_kept, is_kept)


@one_engine
def test_a_password_that_is_a_word_takes_no_names_away(flows):
    names = {"flow_tags": ["login"], "tags": ["test"], "git": {"branch": "test"}, "app_version": "test"}
    flows.start_session(id="s", goal="Log in", **names)
    seen = {"url": "https://x/", "screen": "test", "test_ids": [{"testId": "test"}]}
    flows.record("s", tool="ui_click", target={"testId": "test"}, before=seen, after_screen="test")
    flows.record("s", tool="ui_type", target={"testId": "password"}, input={"text": "test"}, before=seen)
    session, (first, second) = flows.session("s"), flows.steps("s")
    assert (session.tags, session.git, session.app_version) == (("test",), {"branch": "test"}, "test")
    assert (first.screen, first.after_screen, first.target) == ("test", "test", {"testId": "test"})
    assert (second.screen, second.input["text"]) == ("test", MASK)


def test_what_is_written_key_by_key_is_one_secret(on_disk):
    flows, has = on_disk
    for key in ["z", "z", "Shift+Q", "Digit7", "!", "Backspace", "Enter"]:
        flows.record("s", tool="ui_press", target={"testId": "password"}, input={"key": key})
    keys = [step.input["key"] for step in flows.steps("s")]
    assert keys == [MASK] * 5 + ["Backspace", "Enter"]
    flows.record("s", tool="ui_describe_screen", before=page(field("You wrote zzQ7! here")))
    assert not has("zzQ7!")


@one_engine
def test_keys_in_other_fields_are_kept(flows):
    flows.start_session(id="s")
    flows.record("s", tool="ui_press", target={"testId": "search"}, input={"key": "a"})
    flows.record("s", tool="ui_press", input={"key": "Control+v"})
    assert [step.input["key"] for step in flows.steps("s")] == ["a", "Control+v"]


def test_a_secret_in_an_imported_folder_is_taken_out_of_the_steps_before_it_too(flows, tmp_path):
    steps = [
        {"tool": {"name": "mm_describe_screen"}, "observation": {"a11y": {"nodes": [field(f"Yours: {SECRET}")]}}},
        {"tool": {"name": "mm_type", "target": {"testId": "unlock-password"}, "input": {"text": SECRET}}},
    ]
    written(tmp_path / "one", {"sessionId": "one", "goal": f"Unlock with {SECRET}"}, *steps)
    assert flows.import_(tmp_path).steps == 2
    told = json.dumps([flows.session("one").to_dict(), *(step.to_dict() for step in flows.steps("one"))])
    assert SECRET not in told


# Hostile files


def written(folder, session, *steps):
    (folder / "steps").mkdir(parents=True)
    (folder / "session.json").write_text(json.dumps(session))
    for at, step in enumerate(steps):
        timed = {"timestamp": f"2026-01-05T10:00:{at:02}Z"} | step if isinstance(step, dict) else step
        (folder / "steps" / f"{at}.json").write_text(json.dumps(timed))
    return folder


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 10**20)
    | st.floats()
    | st.sampled_from(["", "x", "\0", "\ud800", "\x1b[31m", "http://[", "a" * 300, "2026-01-05", "../x", "e1"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "name", "value"]), inner),
    max_leaves=5,
)
STEP = {
    "schemaVersion": 1,
    "timestamp": "2026-01-05T10:00:00Z",
    "sessionId": "s",
    "tool": {"name": "mm_click", "input": {"text": "x"}, "target": {"testId": "send", "a11yRef": "e1"}},
    "outcome": {"ok": False, "error": {"code": "X", "message": "no"}},
    "timing": {"durationMs": 5},
    "observation": {
        "moment": "before",
        "state": {"currentScreen": "home", "currentUrl": "https://x/#/home"},
        "testIds": [{"testId": "send", "tag": "button", "text": "Send", "visible": True}],
        "a11y": {"nodes": [{"ref": "e1", "role": "button", "name": "Send", "path": ["main"], "level": 1}]},
        "priorKnowledge": {"query": {}},
    },
    "afterScreen": "home",
    "labels": ["interaction"],
    "screenshot": {"path": "x.png"},
}
SESSION = {
    "schemaVersion": 1,
    "sessionId": "s",
    "createdAt": "2026-01-05T10:00:00Z",
    "goal": "Send",
    "flowTags": ["send"],
    "tags": ["a"],
    "git": {"branch": "main", "commit": "abc", "dirty": False},
    "app": "wallet",
    "appVersion": "1",
    "launch": {"url": "https://x/"},
    "hasMetadata": True,
}


def places(value, path=()):
    """Where something can be put into a JSON value."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in entries:
        yield (*path, key)
        yield from places(each, (*path, key))


def with_value(whole, path, value):
    copy = json.loads(json.dumps(whole))
    at = copy
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return copy


@settings(max_examples=60)
@given(st.sampled_from(list(places(STEP))), values, st.sampled_from(list(places(SESSION))), values, st.booleans())
def test_no_file_of_others_breaks_an_import(tmp_path_factory, in_step, value, in_session, other, both):
    step = with_value(STEP, in_step, value)
    session = with_value(SESSION, in_session, other) if both else SESSION
    folder = tmp_path_factory.mktemp("import")
    written(folder / "s", session, step)
    with Athand(":memory:") as athand:
        done = athand.flows.import_(folder)
        assert done.sessions == 1 or done.problems
        for known in athand.flows.sessions():
            used_everywhere(athand.flows, known.id, folder / "out")


def used_everywhere(flows, id_, out):
    """Whatever can be done with a session is done."""
    steps = flows.steps(id_)
    json.dumps([step.to_dict() for step in steps])
    flows.summarize(id_)
    flows.search("send home")
    for step in steps[:1]:
        if step.before is not None:
            flows.prior_knowledge(flows.start_session(app=step.app, goal="Send").id, step.before)
    for language in ("python", "typescript"):
        try:
            source = flows.script(id_, language)
        except InvalidInput:
            continue
        if language == "python":
            ast.parse(source)
    assert flows.export(out, id_)
    again = flows.import_(out)
    assert (again.known, again.problems) == (1, ())


@one_engine
def test_what_is_hidden_or_too_much_is_not_read(flows, tmp_path, monkeypatch):
    written(tmp_path / ".unfinished-x", {"sessionId": "half"}, {"tool": {"name": "x"}})
    written(tmp_path / "whole", {"sessionId": "whole"}, {"tool": {"name": "x"}})
    monkeypatch.setattr("athand.flows.transfer.LARGEST_SESSION", 10)
    assert [problem.partition(":")[0] for problem in flows.import_(tmp_path).problems] == ["whole"]
    monkeypatch.undo()
    assert flows.import_(tmp_path).sessions == 1
    with pytest.raises(InvalidInput, match="characters"):
        flows.record("whole", tool="x", input={str(at): "x" * 9_999 for at in range(300)})


@one_engine
def test_a_pipe_a_link_and_deep_json_are_named_and_do_not_block(flows, tmp_path):
    folder = written(tmp_path / "s", {"sessionId": "s"}, {"tool": {"name": "mm_click"}})
    os.mkfifo(folder / "steps" / "1.json")
    (folder / "steps" / "2.json").symlink_to("/etc/hostname")
    (folder / "steps" / "3.json").write_text('{"a":' * 50_000)
    (folder / "steps" / "4.json").write_text(
        '{"timestamp":"2026-01-05","tool":{"name":"x","input":' + '{"a":' * 400 + "1" + "}" * 402
    )
    (folder / "steps" / "5.json").mkdir()
    done = flows.import_(tmp_path)
    assert (done.sessions, done.steps, len(done.problems)) == (1, 1, 5)


def test_steps_are_read_in_the_order_of_their_times_whatever_their_zone(flows, tmp_path):
    times = ["2026-01-05T12:00:00+02:00", "2026-01-05T10:00:01Z", "2026-01-05T09:59:59Z"]
    steps = [{"timestamp": each, "tool": {"name": f"tool{at}"}} for at, each in enumerate(times)]
    written(tmp_path / "s", {"sessionId": "s"}, *steps)
    flows.import_(tmp_path)
    assert [step.tool for step in flows.steps("s")] == ["tool2", "tool0", "tool1"]


def test_a_longer_folder_of_a_known_session_does_not_change_what_it_was_for(flows, tmp_path):
    written(tmp_path / "a" / "s", {"sessionId": "s", "goal": "Send coins"}, {"tool": {"name": "mm_click"}})
    written(tmp_path / "b" / "s", {"sessionId": "s", "goal": "Buy tea"}, *[{"tool": {"name": "mm_click"}}] * 2)
    flows.import_(tmp_path / "a")
    assert flows.import_(tmp_path / "b").steps == 1
    made = flows.fingerprint()
    flows.reindex()
    assert flows.fingerprint() == made
    assert len(flows.search("send coins")) == 2


@one_engine
@pytest.mark.parametrize(
    "tool", ["../../../evil", "a/b", "/etc/passwd", "..", "\N{GRINNING FACE}" * 60, "x" * 250, "a\\b:c"]
)
def test_the_name_of_a_tool_leads_nowhere_in_an_export(flows, tmp_path, tool):
    flows.start_session(id="s")
    flows.record("s", tool=tool)
    [folder] = flows.export(tmp_path / "out")
    everything = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert all(file.is_relative_to(folder) for file in everything)
    assert len(everything) == 2
    flows.delete("s")
    assert flows.import_(tmp_path / "out").steps == 1
    assert flows.steps("s")[0].tool == tool


@one_engine
def test_an_export_that_fails_leaves_nothing_and_can_be_done_again(flows, tmp_path, monkeypatch):
    flows.start_session(id="s")
    flows.record("s", tool="ui_click")
    with monkeypatch.context() as patch:
        patch.setattr("athand.flows.transfer.step_to_json", lambda step: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            flows.export(tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []
    assert flows.export(tmp_path / "out") == [tmp_path / "out" / "s"]


@one_engine
def test_an_export_to_an_impossible_place_says_so(flows, tmp_path):
    flows.start_session(id="s")
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be written"):
        flows.export(tmp_path / "file")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "s").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Conflict, match="already"):
        flows.export(tmp_path / "out")
    assert not (tmp_path / "elsewhere").exists()


# Hostile arguments

PLACES = "tool target input ok error before after_screen screenshot duration_ms timestamp appeared".split()


def deep(levels):
    whole = at = {}
    for _ in range(levels):
        at["a"] = at = {}
    return whole


def endless():
    whole = {}
    whole["x"] = whole
    return whole


odd = values | st.sampled_from(
    [10**400, -1, 1e308, deep(200), endless(), b"x", {1: 2}, object(), {"": ""}, datetime.max]
)


@settings(max_examples=150)
@given(st.sampled_from(PLACES), odd)
def test_no_argument_breaks_a_record(kept, name, value):
    refuses(lambda: kept.record("s", **({"tool": "ui_click"} | {name: value})))


@settings(max_examples=150)
@given(
    st.sampled_from(["screen", "url", "test_ids", "a11y", "node", "entry"]),
    st.sampled_from(list(STEP["observation"]["a11y"]["nodes"][0])),
    odd,
)
def test_no_observation_breaks_a_record_or_prior_knowledge(kept, part, key, value):
    seen = {"url": "https://x/", "a11y": [{"ref": "e1", "role": "heading", "name": "x"}], "test_ids": [{"testId": "x"}]}
    if part == "node":
        seen["a11y"][0][key] = value
    elif part == "entry":
        seen["test_ids"][0][key] = value
    else:
        seen[part] = value
    refuses(lambda: kept.record("s", tool="ui_click", target={"a11yRef": "e1"}, before=seen))
    refuses(lambda: kept.prior_knowledge("s", seen, window_hours=value if isinstance(value, int) else None))


@settings(max_examples=100)
@given(
    odd, st.sampled_from(["screen", "tag", "flow_tag", "since_hours", "app", "outcome", "session", "gitBranch", "x"])
)
def test_no_argument_breaks_a_search(kept, value, name):
    for use in (
        lambda: kept.search(value),
        lambda: kept.search("x", limit=value),
        lambda: kept.search("x", scope=value),
        lambda: kept.search("x", scope={"session": value}),
        lambda: kept.search("x", min_score=value),
        lambda: kept.search("x", filters={name: value}),
        lambda: kept.sessions(filters={name: value}),
        lambda: kept.sessions(filters=value),
        lambda: kept.last(value),
        lambda: kept.last(session=value),
        lambda: kept.session(value),
        lambda: kept.script("s", value),
        lambda: kept.reject_heal(value, "x"),
        lambda: kept.profile(value),
        lambda: kept.start_session(goal=value),
        lambda: kept.start_session(git=value),
        lambda: kept.start_session(launch=value),
        lambda: kept.start_session(created_at=value),
    ):
        refuses(use)


def test_what_is_too_deep_is_refused(kept):
    for use in (
        lambda: kept.record("s", tool="x", input=deep(5_000)),
        lambda: kept.record("s", tool="x", target={"testId": deep(5_000)}),
        lambda: kept.record("s", tool="x", prior_knowledge=deep(5_000)),
        lambda: kept.record(
            "s", tool="x", before={"url": "", "a11y": [{"role": "x", "name": "x", "path": deep(5_000)}]}
        ),
        lambda: kept.start_session(launch=deep(5_000)),
    ):
        with pytest.raises(InvalidInput):
            use()


def refuses(use):
    """It works, or it says what is wrong."""
    try:
        use()
    except AthandError as error:
        assert str(error)


def test_values_of_a_replay_are_checked(kept):
    kept.start_session(id="v")
    kept.record("v", tool="ui_type", target={"testId": "x"}, input={"text": "y"})
    for wrong in (5, ["x"], {"x": 5}, {5: "x"}):
        with pytest.raises(InvalidInput):
            kept.replay(None, "v", values=wrong)
    with pytest.raises(InvalidInput):
        kept.replay(None, "v", goal=5)


@pytest.mark.parametrize("id_", ["x" * 256, "é" * 128, "a\u202eb", "a\u200bb", "a\u00a0b"])
def test_an_id_is_short_and_can_be_seen(kept, id_):
    for use in (lambda: kept.start_session(id=id_), lambda: kept.start_session(app=id_)):
        with pytest.raises(InvalidInput):
            use()


def test_a_profile_names_screens_that_can_be_kept(tmp_path):
    for screen in ("x" * 300, "a\\nb", "a\\u001bb"):
        (tmp_path / "shop.toml").write_text(f'url_rules = [{{pattern = "/x", screen = "{screen}"}}]')
        with pytest.raises(InvalidInput, match="screen"):
            load_profile(tmp_path / "shop.toml")
    for name in ("../x", "/etc/passwd", ".hidden", "a\\b"):
        with pytest.raises(InvalidInput):
            Profiles([tmp_path]).get(name)


# Long and odd texts, on both engines


def test_very_long_and_odd_texts_are_kept(flows):
    long = "ab\N{GRINNING FACE} " * 5_000
    flows.start_session(id="s", app="x" * 200, goal="é" * 4_000, tags=["t" * 256], git={"branch": "b" * 256})
    nodes = [{"ref": "e1", "role": "button", "name": long, "testId": long, "value": long, "path": [long] * 9}]
    for tool, code in (("t" * 256, "C" * 256), ("ui_click", "X")):
        step = flows.record(
            "s",
            tool=tool,
            target={"testId": long, "selector": long, "role": "button", "name": long},
            input={"url": long, "key": long, long: long},
            ok=False,
            error={"code": code, "message": long},
            before={"url": "https://x/" + long, "a11y": nodes, "test_ids": [{"testId": long, "text": long}]},
            after_screen="s" * 256,
            screenshot="/" + "p" * 4_000,
        )
        assert flows.steps("s")[-1] == step
    flows.reject_heal(step, "e" * 256)
    assert flows.rejected_heals(step) == {"e" * 256}
    assert flows.search("ab", filters={"app": "x" * 200, "outcome": "error"})


@pytest.mark.parametrize(
    "url", ["https://x/a%00%0A%0Ab", "https://x/%1B%0A%0A", "https://x/%C2%9B", "https://x/#/%00%0a%0a"]
)
def test_no_address_makes_a_screen_that_cannot_be_kept(flows, url):
    flows.start_session(id="s")
    step = flows.record("s", tool="ui_click", target={"testId": "x"}, before={"url": url})
    assert step.screen.isprintable()
    assert flows.record("s", tool="ui_click", before={"url": url, "screen": step.screen}, after_screen=step.screen).ok


# Many at once, clocks, other apps

WALK = """
import sys
from athand import Athand
with Athand(sys.argv[1]) as athand:
    for number in range(15):
        athand.flows.record("s", tool="ui_click", target={"testId": f"{sys.argv[2]}-{number}"})
"""


def test_two_processes_record_in_one_session(tmp_path, postgres_url):
    for place in (str(tmp_path / "store.db"), postgres_url):
        with Athand(place) as athand:
            athand.flows.start_session(id="s")
        both = [subprocess.Popen([sys.executable, "-c", WALK, place, name]) for name in ("one", "two")]
        assert [each.wait(120) for each in both] == [0, 0]
        with Athand(place) as athand:
            steps = athand.flows.steps("s")
            assert [step.position for step in steps] == list(range(1, 31))
            assert {step.target["testId"] for step in steps} == {
                f"{who}-{at}" for who in ("one", "two") for at in range(15)
            }
            assert athand.flows.session("s").steps == 30


def test_eight_threads_record_search_ask_and_delete(flows):
    flows.start_session(id="all", app="x")
    failures = []

    def walk(number):
        try:
            flows.start_session(id=f"s{number}", goal=f"Walk {number}", app="x")
            for at in range(6):
                flows.record(
                    f"s{number}", tool="ui_type", target={"testId": "password"}, input={"text": f"{SECRET}{at}"}
                )
                flows.record("all", tool="ui_click", target={"testId": f"{number}-{at}"}, before=page())
                flows.prior_knowledge(f"s{number}", page())
                flows.search("walk click")
            if number % 2:
                flows.delete(f"s{number}")
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=walk, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not failures
    assert not any(thread.is_alive() for thread in threads)
    assert [step.position for step in flows.steps("all")] == list(range(1, 49))
    assert {each.id for each in flows.sessions(20)} == {"all", "s0", "s2", "s4", "s6"}


def test_what_is_recorded_while_it_is_deleted_is_not_found_or_gone(flows):
    flows.start_session(id="s")
    ended = []

    def walk():
        try:
            while True:
                flows.record("s", tool="ui_click", target={"testId": "x"}, before=page())
        except AthandError as error:
            ended.append(error)

    thread = threading.Thread(target=walk)
    thread.start()
    flows.delete("s")
    thread.join(60)
    assert [type(error) for error in ended] == [NotFound]
    assert (flows.count(), flows.count_steps()) == ({}, 0)


def test_a_clock_that_goes_back_changes_no_order_and_hides_no_deletion(location, monkeypatch):
    now = [datetime(2026, 5, 1, tzinfo=UTC)]
    with Athand(location) as athand:
        flows = athand.flows
        monkeypatch.setattr(flows, "now", lambda: now[0])
        for id_ in ("one", "two", "own"):
            flows.start_session(id=id_, goal=f"Buy tea {id_}")
            if id_ != "own":
                flows.record(id_, tool="ui_click", target={"testId": "buy"}, before=page())
                now[0] -= timedelta(hours=1)
                flows.record(id_, tool="ui_click", target={"testId": "pay"}, before=page())
        assert [step.target["testId"] for step in flows.steps("one")] == ["buy", "pay"]
        known = flows.prior_knowledge("own", page())
        assert {each.session_id for each in known.related_sessions} == {"one", "two"}
        flows.delete("two")
        flows.start_session(id="three", goal="Buy tea three")
        for test_id in ("buy", "pay"):
            flows.record("three", tool="ui_click", target={"testId": test_id}, before=page())
        known = flows.prior_knowledge("own", page())
        assert {each.session_id for each in known.related_sessions} == {"one", "three"}


def test_one_app_knows_nothing_of_another(flows):
    for app in ("bank", "shop"):
        flows.start_session(id=f"{app}-1", app=app, goal=f"Pay with {app}")
        flows.record(f"{app}-1", tool="ui_click", target={"testId": f"{app}-pay"}, before=page())
    flows.start_session(id="own", app="shop", goal="Pay with shop")
    known = json.dumps(flows.prior_knowledge("own", page()).to_dict())
    assert "shop-pay" in known
    assert "bank" not in known
    assert {hit.session_id for hit in flows.search("pay", filters={"app": "shop"})} == {"shop-1"}
    assert not flows.search("bank", filters={"app": "shop"})


def test_a_deleted_session_takes_its_rejections_and_secrets_with_it(on_disk):
    flows, has = on_disk
    step = flows.record("s", tool="ui_click", target={"testId": "buy"}, before=page())
    flows.reject_heal(step, "button Elsewhere")
    assert has("button Elsewhere")
    flows.delete("s")
    assert not has("button Elsewhere")
    assert flows.rejected_heals(step) == frozenset()


def test_a_browser_whose_session_was_deleted_can_still_be_closed(in_shared_chromium):
    with Athand(":memory:") as athand:
        browser = athand.flows.open_browser(git={})
        athand.flows.delete(browser.session_id)
        with pytest.raises(NotFound):
            browser.describe_screen()
        assert browser.cleanup().was_running
        assert not browser.is_open


# What is shown


def test_nothing_that_a_page_says_steers_the_terminal(run, tmp_path):
    evil = "\x1b]8;;https://evil.test\x07click\x1b]8;;\x07\x9b31m\rx"
    with Athand(tmp_path / "store.db") as athand:
        athand.flows.start_session(id="s", goal="Pay \x1b[2J now")
        seen = page(field(evil, value=evil), test_ids=[{"testId": evil, "text": evil}])
        for _ in range(2):
            athand.flows.record(
                "s",
                tool="ui_click",
                target={"testId": evil},
                input={"value": evil},
                ok=False,
                error={"code": "X", "message": evil},
                before=seen,
            )
    commands = (["show", "s"], ["show", "s", "--full"], ["last"], ["sessions"], ["summarize", "s"], ["search", "pay"])
    for words in (*commands, ["summarize", "s", "--quiet"], ["search", "pay", "--explain"], ["suggest", "s"]):
        shown = run("flows", *words)
        assert not set("\x1b\x07\x9b\r") & set(shown.out + shown.err), words


@settings(max_examples=100)
@given(
    st.text(min_size=1, max_size=40)
    | st.sampled_from(['"""', "'''\nevil()", "\\\nevil()", "{evil()}", "#\revil()", "\u2028evil()"])
)
def test_a_script_of_hostile_names_holds_nothing_but_texts(kept, text):
    text = text.replace("\0", "").encode("utf-8", "ignore").decode() or "x"
    session = kept.start_session(goal=f"{text}x").id
    seen = {"url": f"https://x/{text}", "a11y": [{"ref": "e1", "role": text, "name": text, "frame": [text]}]}
    kept.record(session, tool="ui_navigate", input={"url": f"https://x/{text}"})
    kept.record(session, tool="ui_type", target={"role": text, "name": text}, input={"text": text}, before=seen)
    kept.record(session, tool="ui_switch_tab", input={"title": text, "index": [text]}, before=seen)
    kept.record(session, tool="ui_click", target={"selector": text}, before=seen)
    kept.script(session, "typescript")
    for node in ast.walk(ast.parse(kept.script(session, "python"))):
        if isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
            assert called in ALLOWED or called.startswith("test_")
        assert not isinstance(node, (ast.Lambda, ast.Await, ast.NamedExpr, ast.Starred))


ALLOWED = frozenset(
    "get rstrip value tab goto fill press press_sequentially clear click filter locator frame_locator get_by_role "
    "get_by_text get_by_test_id compile expect to_have_url to_be_visible RuntimeError AssertionError range enumerate "
    "close title wait_for_timeout is_closed sync_playwright launch new_page select_option".split()
)
