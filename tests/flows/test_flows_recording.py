"""Sessions and steps as they are kept: on which screen, on what, how it ended, and nothing secret."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.engines import one_engine

from athand import Athand
from athand.errors import Conflict, InvalidInput, NotFound
from athand.flows import Observation

HOME = Observation(
    screen="home",
    url="https://wallet.test/#/",
    test_ids=[{"testId": "send-button", "tag": "button", "text": "Send", "visible": True}],
    a11y=[{"ref": "e1", "role": "button", "name": "Send"}, {"ref": "e2", "role": "link", "name": "Activity"}],
)


@pytest.fixture
def session(flows):
    return flows.start_session(goal="Send 0.1 ETH to another account", flow_tags=["send"], app="wallet", id="s-1")


def test_a_session_keeps_all_that_is_said_of_it(flows):
    git = {"branch": "feat/send", "commit": "abc123", "dirty": True}
    begun = datetime(2026, 3, 1, 12, tzinfo=UTC)
    flows.start_session(
        goal="Send tokens",
        flow_tags=["send"],
        tags=["nightly", "nightly"],
        app="wallet",
        app_version="12.1",
        git=git,
        launch={"headless": True},
        id="mine",
        created_at=begun,
    )
    kept = flows.session("mine")
    assert (kept.goal, kept.flow_tags, kept.tags, kept.app) == ("Send tokens", ("send",), ("nightly",), "wallet")
    assert (kept.app_version, kept.git, kept.launch, kept.created_at) == ("12.1", git, {"headless": True}, begun)
    assert kept.to_dict()["created_at"] == begun.isoformat()


def test_a_session_id_is_taken_once(flows, session):
    with pytest.raises(Conflict, match="s-1"):
        flows.start_session(id="s-1")


@pytest.mark.parametrize("id_", ["../escape", "a/b", "a\\b", "..", ".hidden", "C:evil", "", "x\0y", "a\nb"])
def test_a_session_id_is_never_a_path(flows, id_):
    with pytest.raises(InvalidInput):
        flows.start_session(id=id_)
    for use in (flows.session, flows.steps, flows.summarize, flows.delete):
        with pytest.raises((InvalidInput, NotFound)):
            use(id_)
    with pytest.raises((InvalidInput, NotFound)):
        flows.record(id_, tool="ui_click")


def test_a_step_belongs_to_the_screen_it_was_done_on(flows, session):
    step = flows.record(
        session.id, tool="mm_click", target={"testId": "send-button"}, before=HOME, after_screen="send", duration_ms=12
    )
    [kept] = flows.steps(session.id)
    assert kept == step
    assert (kept.screen, kept.after_screen, kept.verb, kept.position) == ("home", "send", "click", 1)
    assert kept.before == Observation("home", HOME.url, tuple(HOME.test_ids), tuple(HOME.a11y))
    assert kept.labels == ("interaction",)
    assert flows.session(session.id).steps == 1


@one_engine
def test_a_ref_is_resolved_to_role_and_name_at_the_moment_of_the_action(flows, session):
    step = flows.record(session.id, tool="mm_click", target={"a11yRef": "e2"}, before=HOME)
    assert step.target == {"a11yRef": "e2", "role": "link", "name": "Activity"}


def test_a_failed_step_keeps_its_error_and_the_next_is_the_way_out(flows, session):
    error = {"code": "TARGET_NOT_FOUND", "message": "gone"}
    failed = flows.record(session.id, tool="mm_click", target={"testId": "x"}, ok=False, error=error, before=HOME)
    after = flows.record(session.id, tool="mm_click", target={"testId": "send-button"}, before=HOME)
    assert flows.steps(session.id)[0].error == error
    assert not failed.ok
    assert "error-recovery" in after.labels
    assert "error-recovery" not in flows.record(session.id, tool="mm_click", before=HOME).labels


@one_engine
@pytest.mark.parametrize(
    ("tool", "target", "label"),
    [
        ("ui_describe_screen", None, "discovery"),
        ("ui_navigate", None, "navigation"),
        ("ui_type", {"testId": "amount"}, "interaction"),
        ("mm_click", {"testId": "confirm-footer-button"}, "confirmation"),
    ],
)
def test_steps_are_labelled(flows, session, tool, target, label):
    assert label in flows.record(session.id, tool=tool, target=target).labels


@one_engine
def test_without_a_screen_it_is_worked_out(flows):
    flows.start_session(app="metamask", id="m")
    seen = Observation(url="chrome-extension://abc/home.html#/send/asset")
    assert flows.record("m", tool="mm_click", before=seen).screen == "send"
    assert flows.record("m", tool="mm_click").screen == "unknown"


def test_the_newest_steps_come_first(flows, session):
    other = flows.start_session(id="s-2")
    for at in range(3):
        flows.record(session.id, tool="ui_click", target={"testId": f"a{at}"})
        flows.record(other.id, tool="ui_click", target={"testId": f"b{at}"})
    assert [step.target["testId"] for step in flows.last(3)] == ["b2", "a2", "b1"]
    assert [step.target["testId"] for step in flows.last(2, session="s-1")] == ["a2", "a1"]
    with pytest.raises(NotFound, match="athand flows sessions"):
        flows.last(session="nobody")


def test_sessions_newest_first_and_by_filter(flows):
    for days, tag in ((3, "send"), (2, "swap"), (1, "send")):
        created = datetime.now(UTC) - timedelta(days=days)
        flows.start_session(id=f"s{days}", flow_tags=[tag], created_at=created, app="wallet")
    assert [each.id for each in flows.sessions()] == ["s1", "s2", "s3"]
    assert [each.id for each in flows.sessions(filters={"flow_tag": "send"})] == ["s1", "s3"]
    assert [each.id for each in flows.sessions(filters={"sinceHours": 30})] == ["s1"]
    assert flows.sessions(filters={"app": "other"}) == []


def test_a_summary_says_where_it_went_and_what_failed(flows, session):
    flows.record(session.id, tool="mm_describe_screen", before=HOME)
    flows.record(session.id, tool="mm_click", target={"testId": "send-button"}, before=HOME)
    error = {"code": "TIMEOUT", "message": "slow"}
    flows.record(session.id, tool="mm_click", ok=False, error=error, before=Observation("send"))
    summary = flows.summarize(session.id)
    assert (summary.steps, summary.ok, summary.failed) == (3, 2, 1)
    assert summary.screens == ("home", "send")
    assert summary.errors == {"TIMEOUT": 1}
    assert summary.actions[0] == "click send-button on home"


@one_engine
@pytest.mark.parametrize(
    "given",
    [
        {"tool": ""},
        {"tool": 3},
        {"tool": "ui_click", "target": "send-button"},
        {"tool": "ui_click", "target": {"testid": "x"}},
        {"tool": "ui_click", "target": {"role": "button"}},
        {"tool": "ui_click", "target": {"testId": 5}},
        {"tool": "ui_click", "input": {"f": open}},
        {"tool": "ui_click", "input": {"f": float("nan")}},
        {"tool": "ui_click", "error": {"code": "X"}},
        {"tool": "ui_click", "before": "home"},
        {"tool": "ui_click", "before": {"scren": "home"}},
        {"tool": "ui_click", "before": Observation(test_ids=[{"id": "x"}])},
        {"tool": "ui_click", "before": Observation(a11y=["x"])},
        {"tool": "ui_click", "duration_ms": -1},
        {"tool": "ui_click", "timestamp": "tomorrow"},
    ],
)
def test_bad_records_are_refused_and_nothing_is_kept(flows, session, given):
    with pytest.raises(InvalidInput):
        flows.record(session.id, **given)
    assert flows.steps(session.id) == []


def test_odd_text_of_a_page_is_kept_as_far_as_a_store_can(flows, session):
    seen = Observation(
        "x", "http://a/\0", [{"testId": "a\0b"}], [{"ref": "e1", "role": "text", "name": "\ud800 long" * 9000}]
    )
    flows.record(session.id, tool="ui_click", before=seen, input={"text": "nul \0"})
    [step] = flows.steps(session.id)
    assert "\0" not in step.before.test_ids[0]["testId"]
    assert len(step.before.a11y[0]["name"]) < 20_000


def test_what_looks_the_same_twice_is_kept_once(flows, session, athand):
    for _ in range(5):
        flows.record(session.id, tool="ui_describe_screen", before=HOME)
    with athand._store.snapshot() as snapshot:
        assert snapshot.rows("SELECT count(*) FROM flow_observations") == [(1,)]


def test_a_deleted_session_is_gone(flows, session):
    other = flows.start_session(goal="Send more", id="s-2")
    for each in (session, other):
        flows.record(each.id, tool="mm_click", target={"testId": "send-button"}, before=HOME)
    assert flows.delete(session.id) == 1
    with pytest.raises(NotFound):
        flows.session(session.id)
    assert {hit.session_id for hit in flows.search("send")} == {"s-2"}
    assert flows.steps("s-2")[0].before is not None


PASSWORD = "Tr0ub4dor-horse"


def _on_disk(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file())


def test_a_password_typed_through_a_ref_is_nowhere_on_disk(tmp_path):
    seen = Observation("unlock", "https://w.test/unlock", (), [{"ref": "e5", "role": "textbox", "name": "Password"}])
    echo = Observation(
        "unlock",
        f"https://w.test/unlock?q={PASSWORD}",
        [{"testId": "hint", "text": f"You typed {PASSWORD}!"}],
        [{"ref": "e5", "role": "textbox", "name": "Password", "value": PASSWORD}],
    )
    with Athand(str(tmp_path / "r.db")) as athand:
        flows = athand.flows
        flows.start_session(goal=f"Unlock with {PASSWORD}", id="s")
        step = flows.record("s", tool="mm_type", target={"a11yRef": "e5"}, input={"text": PASSWORD}, before=seen)
        assert PASSWORD not in str(step.to_dict())
        assert step.target["name"] == "Password"
        flows.record("s", tool="mm_describe_screen", before=echo)
        error = {"code": "TIMEOUT", "message": f"could not type {PASSWORD}"}
        flows.record("s", tool="mm_click", ok=False, error=error, before=echo)
        assert PASSWORD not in str(flows.session("s").to_dict())
        assert PASSWORD.encode() not in _on_disk(tmp_path)
        assert flows.search("unlock")
    assert PASSWORD.encode() not in _on_disk(tmp_path)
    assert b"troub4dor" not in _on_disk(tmp_path).lower()


@one_engine
def test_a_password_inside_a_batch_is_not_kept(flows, session):
    steps = [
        {"tool": "type", "args": {"testId": "password-input", "text": PASSWORD}},
        {"tool": "click", "testId": "ok"},
    ]
    step = flows.record(session.id, tool="mm_run_steps", input={"steps": steps})
    assert PASSWORD not in str(step.to_dict())
    assert step.input["steps"][1] == {"tool": "click", "testId": "ok"}


@one_engine
def test_typed_text_that_is_no_secret_is_kept(flows, session):
    step = flows.record(
        session.id, tool="mm_type", target={"testId": "amount-input"}, input={"text": "0.1"}, before=HOME
    )
    assert step.input == {"text": "0.1"}
