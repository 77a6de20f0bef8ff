"""Which sessions and steps are searched: scopes and filters, and what is wrong with bad ones."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from tests.engines import one_engine

from athand.errors import InvalidInput, NotFound
from athand.flows import Observation


def hours_ago(hours):
    return datetime.now(UTC) - timedelta(hours=hours)


@pytest.fixture(scope="module")
def filled(engine):
    """Three sessions that send something, each in its own way; they are only read."""
    flows = engine.flows
    flows.start_session(
        id="nightly",
        app="wallet",
        app_version="12.1",
        goal="Send ETH",
        flow_tags=["send", "eth"],
        tags=["smoke"],
        git={"branch": "feat/send"},
        created_at=hours_ago(30),
    )
    flows.start_session(
        id="plain", app="wallet", goal="Send tokens", flow_tags=["send-tokens"], tags=['a "quoted" tag']
    )
    flows.start_session(id="mail", app="mail", goal="Send a message", flow_tags=["send"], tags=["Smoke"])
    for id_, screen in (("nightly", "home"), ("plain", "confirm"), ("mail", "compose")):
        flows.record(
            id_, tool="ui_click", before=Observation(screen=screen), timestamp=hours_ago(30 if id_ == "nightly" else 0)
        )
    flows.record(
        "plain",
        tool="ui_click",
        before=Observation(screen="home"),
        ok=False,
        error={"code": "TIMEOUT", "message": "too slow"},
    )
    return flows


def found(flows, **filters):
    return sorted({hit.session_id for hit in flows.search("send", filters=filters)})


@pytest.mark.parametrize(
    ("filters", "sessions"),
    [
        ({}, ["mail", "nightly", "plain"]),
        ({"flow_tag": "send"}, ["mail", "nightly"]),
        ({"flowTag": "send"}, ["mail", "nightly"]),
        ({"flow_tag": "sen"}, []),
        ({"tag": "smoke"}, ["nightly"]),
        ({"tag": 'a "quoted" tag'}, ["plain"]),
        ({"tag": "%"}, []),
        ({"screen": "home"}, ["nightly", "plain"]),
        ({"screen": "hom"}, []),
        ({"since_hours": 24}, ["mail", "plain"]),
        ({"sinceHours": 48.5}, ["mail", "nightly", "plain"]),
        ({"since_hours": 1e12}, ["mail", "nightly", "plain"]),
        ({"gitBranch": "feat/send"}, ["nightly"]),
        ({"git_branch": "main"}, []),
        ({"app": "wallet"}, ["nightly", "plain"]),
        ({"app": "nobody"}, []),
        ({"app_version": "12.1"}, ["nightly"]),
        ({"outcome": "error"}, ["plain"]),
        ({"outcome": "ok"}, ["mail", "nightly", "plain"]),
        ({"session": "mail"}, ["mail"]),
        ({"app": "wallet", "screen": "home", "outcome": "ok"}, ["nightly"]),
        ({"screen": None, "app": None}, ["mail", "nightly", "plain"]),
    ],
)
def test_a_filter_leaves_what_fits(filled, filters, sessions):
    assert found(filled, **filters) == sessions
    # A list of sessions takes the same filters: a session fits if one of its steps does.
    assert sorted(session.id for session in filled.sessions(filters=filters)) == sessions


def test_a_filter_on_steps_is_about_the_step_itself(filled):
    (hit,) = filled.search("send", filters={"outcome": "error"})
    assert hit.item.error["code"] == "TIMEOUT"
    assert [hit.screen for hit in filled.search("send", filters={"session": "plain", "screen": "confirm"})] == [
        "confirm"
    ]


def test_filters_are_applied_before_the_best_are_chosen(flows):
    """Asking for ten gives ten, however many better ones do not fit."""
    flows.start_session(id="good", goal="Send tokens", flow_tags=["send"], app="wallet")
    flows.start_session(id="poor", app="wallet")
    for number in range(120):
        flows.record("good", tool="ui_click", target={"testId": f"send-{number}"}, before=Observation(screen="home"))
        flows.record("good", tool="ui_click", target={"testId": f"send-{number}"}, before=Observation(screen="send"))
    rare = Observation(screen="rare", a11y=[{"ref": "e1", "role": "button", "name": "Send"}])
    flows.record("poor", tool="ui_click", target={"testId": "begin"}, before=Observation(screen="home"))
    for _ in range(12):
        flows.record("poor", tool="ui_describe_screen", before=rare)
    hits = flows.search("send tokens", limit=10, filters={"screen": "rare"})
    assert [hit.session_id for hit in hits] == ["poor"] * 10


def test_sessions_without_metadata_fail_filters_on_metadata(flows, tmp_path):
    folder = tmp_path / "known" / "bare" / "steps"
    folder.mkdir(parents=True)
    step = {
        "schemaVersion": 1,
        "timestamp": "2026-01-05T10:00:00Z",
        "sessionId": "bare",
        "tool": {"name": "ui_click", "target": {"testId": "send-button"}},
        "outcome": {"ok": True},
        "observation": {"state": {"currentScreen": "home"}, "testIds": [], "a11y": {"nodes": []}},
    }
    (folder / "2026-01-05.json").write_text(json.dumps(step), encoding="utf-8")
    flows.import_(tmp_path / "known", app="wallet")
    assert found(flows) == ["bare"]
    assert found(flows, screen="home") == ["bare"]
    for metadata in ({"flow_tag": "send"}, {"tag": "send"}, {"git_branch": "main"}, {"app_version": "1"}):
        assert found(flows, **metadata) == []


@one_engine
@pytest.mark.parametrize(
    "filters",
    [
        {"colour": "red"},
        {"outcome": "great"},
        {"since_hours": -1},
        {"since_hours": "yesterday"},
        {"since_hours": float("nan")},
        {"screen": ""},
        {"tag": ["a", "b"]},
        {"session": "../etc/passwd"},
        {"app": "a/b"},
        "home",
        ["home"],
    ],
)
def test_a_filter_that_makes_no_sense_is_refused(flows, filters):
    with pytest.raises(InvalidInput):
        flows.search("send", filters=filters)


class TestScope:
    @pytest.mark.parametrize(
        "scope",
        [
            {"scope": "current", "session": "plain"},
            {"scope": "session", "session": "plain"},
            {"scope": {"session": "plain"}},
            {"scope": {"sessionId": "plain"}},
        ],
    )
    def test_one_session_is_searched(self, filled, scope):
        assert {hit.session_id for hit in filled.search("send", **scope)} == {"plain"}

    def test_all_are_searched_from_within_one(self, filled):
        assert len({hit.session_id for hit in filled.search("send", scope="all", session="plain")}) == 3

    @pytest.mark.parametrize("scope", [{"scope": "current", "session": "nobody"}, {"scope": {"session": "nobody"}}])
    def test_a_session_must_exist(self, flows, scope):
        with pytest.raises(NotFound, match="nobody"):
            flows.search("send", **scope)

    @pytest.mark.parametrize("id_", ["../secrets", "a/b", "a\\b", "..", "", "a\0b"])
    def test_a_session_is_never_a_path(self, flows, id_):
        with pytest.raises(InvalidInput):
            flows.search("send", scope={"session": id_})
        with pytest.raises(InvalidInput):
            flows.search("send", scope="current", session=id_)

    @pytest.mark.parametrize("scope", ["everywhere", "current", {}, {"session": "a", "sessionId": "b"}, None, 3])
    def test_a_scope_that_makes_no_sense_is_refused(self, flows, scope):
        with pytest.raises(InvalidInput, match="scope"):
            flows.search("send", scope=scope)

    def test_scope_and_filter_must_agree(self, filled):
        assert filled.search("send", scope={"session": "plain"}, filters={"session": "plain"})
        with pytest.raises(InvalidInput, match="Give one"):
            filled.search("send", scope={"session": "plain"}, filters={"session": "mail"})

    def test_a_session_of_another_app_than_the_filter_has_nothing(self, filled):
        assert not filled.search("send", scope={"session": "plain"}, filters={"app": "mail"})


def test_long_steps_do_not_fill_an_answer(flows):
    flows.start_session(goal="Pay the boat", app="wallet", id="paid")
    seen = Observation(screen="pier", test_ids=tuple({"testId": f"plank-{at}"} for at in range(900)))
    flows.record("paid", tool="ui_type", target={"testId": "boat"}, input={"text": "x" * 5_000}, before=seen)
    [whole] = flows.search("pay the boat", limit=2)
    [cut] = flows.search("pay the boat", limit=2, longest=4_000)
    assert cut.id == whole.id and len(whole.item.before.test_ids) == 900
    assert len(json.dumps(cut.item.to_dict(), default=str)) < 2_500
    assert "`steps` of its session" in cut.item.prior_knowledge["note"]
    assert flows.search("pay the boat", limit=2, longest=2_000_000)[0].item == whole.item
