"""Sessions as folders: what others wrote is read, what we wrote comes back the same, and nothing escapes."""

import json

import pytest
from tests.engines import one_engine

from athand import Athand
from athand.errors import BadData, Conflict, InvalidInput, NotFound
from athand.flows import Observation


def node(ref, role, name):
    return {"ref": ref, "role": role, "name": name, "path": []}


def step_file(at, tool, target=None, screen="home", nodes=(), test_ids=(), ok=True, **more):
    outcome = {"ok": ok} if ok else {"ok": False, "error": {"code": "TARGET_NOT_FOUND", "message": "no"}}
    return {
        "schemaVersion": 1,
        "timestamp": f"2026-01-05T10:00:{at:02}.000Z",
        "sessionId": "mm-1",
        "tool": {"name": tool, "input": {}, **({"target": target} if target else {})},
        "outcome": outcome,
        "observation": {
            "state": {"currentScreen": screen, "currentUrl": f"chrome-extension://x/home.html#/{screen}"},
            "testIds": [{"testId": each, "tag": "element", "visible": True} for each in test_ids],
            "a11y": {"nodes": list(nodes)},
        },
        "labels": ["interaction"],
        **more,
    }


SESSION = {
    "schemaVersion": 1,
    "sessionId": "mm-1",
    "createdAt": "2026-01-05T10:00:00.000Z",
    "goal": "Send 0.1 ETH to another account",
    "flowTags": ["send"],
    "tags": ["visual-test"],
    "git": {"branch": "feat/send", "commit": "abc", "dirty": False},
}


def write(folder, session, *steps):
    (folder / "steps").mkdir(parents=True)
    if session is not None:
        (folder / "session.json").write_text(json.dumps(session))
    for at, step in enumerate(steps):
        (folder / "steps" / f"{at}.json").write_text(json.dumps(step))
    return folder


def test_a_folder_of_sessions_is_read(flows, tmp_path):
    write(
        tmp_path / "k" / "mm-1", SESSION, step_file(1, "mm_click", {"testId": "send-button"}, test_ids=["send-button"])
    )
    done = flows.import_(tmp_path / "k", app="metamask")
    assert (done.sessions, done.steps, done.known, done.problems) == (1, 1, 0, ())
    session = flows.session("mm-1")
    assert (session.goal, session.flow_tags, session.git["branch"]) == (SESSION["goal"], ("send",), "feat/send")
    [hit] = flows.search("transfer ETH")
    assert (hit.session_id, hit.screen, hit.tool) == ("mm-1", "home", "mm_click")


def test_one_session_is_read_too_and_reading_again_adds_nothing_but_what_is_new(flows, tmp_path):
    folder = write(tmp_path / "mm-1", SESSION, step_file(1, "mm_click", {"testId": "a"}))
    assert flows.import_(folder).steps == 1
    again = flows.import_(folder)
    assert (again.sessions, again.steps, again.known) == (0, 0, 1)
    (folder / "steps" / "9.json").write_text(json.dumps(step_file(9, "mm_click", {"testId": "b"})))
    assert flows.import_(folder).steps == 1
    assert [step.target["testId"] for step in flows.steps("mm-1")] == ["a", "b"]


def test_what_was_seen_after_an_action_is_what_was_seen_before_the_next(flows, tmp_path):
    """An older program kept the screen that an action led to."""
    steps = [
        step_file(1, "mm_describe_screen", nodes=[node("e1", "button", "Send")], screen="home"),
        step_file(2, "mm_click", {"a11yRef": "e1"}, screen="send", nodes=[node("e7", "textbox", "Recipient")]),
        step_file(3, "mm_type", {"a11yRef": "e7"}, screen="send", nodes=[node("e8", "textbox", "Amount")]),
    ]
    flows.import_(write(tmp_path / "mm-1", SESSION, *steps))
    look, click, typed = flows.steps("mm-1")
    assert (look.screen, click.screen, click.after_screen, typed.screen) == ("home", "home", "send", "send")
    assert (click.target["name"], typed.target["name"]) == ("Send", "Recipient")


def test_what_was_seen_before_an_action_stays_with_it(flows, tmp_path):
    steps = [
        step_file(1, "mm_click", {"testId": "send-button"}, screen="home", test_ids=["send-button"]),
        step_file(2, "mm_type", {"testId": "recipient"}, screen="send", test_ids=["recipient"]),
    ]
    flows.import_(write(tmp_path / "mm-1", SESSION, *steps))
    assert [step.screen for step in flows.steps("mm-1")] == ["home", "send"]


def test_a_session_without_metadata_is_read_and_fails_filters_on_metadata(flows, tmp_path):
    flows.import_(write(tmp_path / "mm-9", None, step_file(1, "mm_click", {"testId": "send-button"})))
    assert not flows.session("mm-9").has_metadata
    assert flows.search("send")
    assert not flows.search("send", filters={"flow_tag": "send"})
    assert flows.sessions(filters={"tag": "x"}) == []


@one_engine
def test_what_is_damaged_is_named_and_the_rest_is_read(flows, tmp_path):
    root = tmp_path / "k"
    folder = write(root / "mm-1", SESSION, step_file(1, "mm_click", {"testId": "a"}))
    (folder / "steps" / "broken.json").write_text('{"tool": ')
    (folder / "steps" / "list.json").write_text("[]")
    write(root / "bad", {"schemaVersion": 99}, step_file(1, "mm_click"))
    write(root / "evil", {**SESSION, "sessionId": "../evil"}, step_file(1, "mm_click"))
    done = flows.import_(root)
    assert (done.sessions, done.steps) == (1, 1)
    assert len(done.problems) == 4
    assert any("broken.json" in each for each in done.problems)
    assert any("schemaVersion 99" in each for each in done.problems)
    assert any("looks like a path" in each for each in done.problems)


@one_engine
def test_links_out_of_the_folder_are_not_followed(flows, tmp_path):
    (tmp_path / "secret.json").write_text(json.dumps(step_file(1, "mm_click", {"testId": "stolen"})))
    folder = write(tmp_path / "mm-1", SESSION, step_file(2, "mm_click", {"testId": "own"}))
    (folder / "steps" / "0-link.json").symlink_to(tmp_path / "secret.json")
    done = flows.import_(folder)
    assert (done.steps, len(done.problems)) == (1, 1)


@one_engine
def test_a_folder_that_is_none(flows, tmp_path):
    with pytest.raises(NotFound):
        flows.import_(tmp_path / "nowhere")
    with pytest.raises(BadData, match=r"session\.json"):
        flows.import_(tmp_path)


def test_what_is_exported_comes_back_the_same(flows, tmp_path):
    seen = Observation("home", "https://w.test/", [{"testId": "send", "visible": True}], [node("e1", "button", "Send")])
    flows.start_session(
        goal="Send", flow_tags=["send"], tags=["t"], app="wallet", app_version="3", git={"branch": "b"}, id="s"
    )
    flows.record("s", tool="ui_click", target={"a11yRef": "e1"}, before=seen, after_screen="send", duration_ms=5.5)
    error = {"code": "TIMEOUT", "message": "late"}
    flows.record("s", tool="ui_click", ok=False, error=error, before=seen, prior_knowledge={"schemaVersion": 1})
    flows.record("s", tool="ui_press", input={"key": "Enter"})
    [folder] = flows.export(tmp_path / "out", session="s")
    assert oct(folder.stat().st_mode & 0o777) == "0o700"
    with Athand(":memory:") as other:
        done = other.flows.import_(tmp_path / "out")
        assert done.problems == ()
        assert other.flows.session("s") == flows.session("s")
        ours, theirs = flows.steps("s"), other.flows.steps("s")
        assert [_without_id(step) for step in ours] == [_without_id(step) for step in theirs]


def _without_id(step):
    return {name: value for name, value in step.to_dict().items() if name != "id"}


@one_engine
def test_an_export_never_overwrites(flows, tmp_path):
    flows.start_session(id="s")
    flows.export(tmp_path)
    with pytest.raises(Conflict, match="already"):
        flows.export(tmp_path)
    with pytest.raises(InvalidInput):
        flows.export(tmp_path, session="../s")


@one_engine
def test_a_secret_in_an_older_folder_does_not_reach_the_store(flows, tmp_path):
    typed = step_file(2, "mm_type", {"testId": "unlock-password"}, screen="unlock")
    typed["tool"]["input"] = {"text": "hunter2secret"}
    later = step_file(3, "mm_describe_screen", screen="home", nodes=[node("e1", "textbox", "hunter2secret")])
    flows.import_(write(tmp_path / "mm-1", SESSION, typed, later))
    assert "hunter2secret" not in str([step.to_dict() for step in flows.steps("mm-1")])
