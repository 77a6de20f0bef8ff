"""Flows in a store: copied, indexed anew, deleted without a trace, the same on both engines."""

from datetime import UTC, datetime, timedelta

import pytest

from athand import Athand
from athand.errors import Unavailable
from athand.flows import Observation
from athand.flows.secrets import MASK

GOALS = ("Send 0.1 ETH to another account", "Swap ETH for DAI", "Add an item to the cart and pay", "Close the ticket")
PASSWORD = "correct-horse-7!"
BEGUN = datetime(2026, 5, 1, tzinfo=UTC)


def record_some(flows):
    for at, goal in enumerate(GOALS):
        session = flows.start_session(
            goal=goal,
            app="wallet" if at < 2 else "shop",
            id=f"s{at}",
            tags=["x"],
            created_at=BEGUN + timedelta(days=at),
        )
        for position in range(3):
            seen = Observation(
                f"screen{position}",
                f"https://app.test/{at}/{position}",
                [{"testId": f"button-{position}"}],
                [{"ref": "e1", "role": "button", "name": f"Next {position}"}],
            )
            flows.record(
                session.id,
                tool="ui_click",
                target={"a11yRef": "e1"},
                before=seen,
                timestamp=BEGUN + timedelta(days=at, seconds=position),
            )
    flows.reject_heal(flows.steps("s0")[0], "testId=other")


def test_flows_are_copied_with_everything_else(location, tmp_path):
    with Athand(location) as athand:
        record_some(athand.flows)
        rows = athand.copy_to(tmp_path / "copy.db")
        assert (rows["flows"], rows["flow_steps"], rows["flow_rejections"]) == (4, 12, 1)
        with Athand(str(tmp_path / "copy.db")) as copied:
            for goal in (*GOALS, "next", "screen2"):
                ours, theirs = athand.flows.search(goal), copied.flows.search(goal)
                assert [(hit.id, round(hit.score, 3)) for hit in ours] == [
                    (hit.id, round(hit.score, 3)) for hit in theirs
                ]
            assert copied.flows.steps("s2") == athand.flows.steps("s2")
            assert copied.flows.rejected_heals(copied.flows.steps("s0")[0]) == {"testId=other"}
            assert copied.flows.fingerprint() == athand.flows.fingerprint()
            assert copied.check() == []


def test_an_index_made_anew_is_identical(athand):
    record_some(athand.flows)
    before = athand.flows.fingerprint()
    assert athand.flows.reindex() == 12
    assert athand.flows.fingerprint() == before


def test_both_engines_answer_alike(postgres_url):
    with Athand(":memory:") as one, Athand(postgres_url) as other:
        for each in (one, other):
            record_some(each.flows)
        for query in (*GOALS, "pay", "cart item", "screen1", "clsoe tikcet", "zebra"):
            ours, theirs = one.flows.search(query), other.flows.search(query)
            assert [_shown(hit) for hit in ours] == [_shown(hit) for hit in theirs]


def _shown(hit):
    return hit.session_id, hit.item.position, round(hit.score, 3), hit.matched_fields


def test_a_deleted_session_leaves_nothing_on_disk(tmp_path):
    with Athand(str(tmp_path / "r.db")) as athand:
        record_some(athand.flows)
        session = athand.flows.start_session(goal="Quintessential errand", id="gone")
        seen = Observation("perambulator", "https://zanzibar.test/", [{"testId": "marzipan"}])
        athand.flows.record(session.id, tool="ui_click", target={"testId": "marzipan"}, before=seen)
        athand.flows.delete("gone")
        assert athand.check() == []
    found = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()).lower()
    for word in (b"quintessenti", b"perambul", b"zanzibar", b"marzipan"):
        assert word not in found


def test_everything_is_counted_and_found_in_one_search(athand):
    record_some(athand.flows)
    athand.memories.add("Paying in the shop needs a cart with an item")
    assert athand.status().corpora["flows"] == {"count": 4, "steps": 12, "apps": 2}
    hits = athand.search("add an item to the cart")
    flows = [hit for hit in hits if hit.corpus == "flows"]
    assert [hit.session_id for hit in flows] == ["s2"]  # a session once, though all its steps match
    assert {hit.corpus for hit in hits} == {"flows", "memories"}
    assert {hit.corpus for hit in athand.search("add an item to the cart", app="shop")} == {"flows"}
    assert not athand.search("add an item to the cart", app="wallet")


def test_without_a_model_flows_are_found_by_keyword_and_it_is_said(athand, monkeypatch):
    def unavailable(*_):
        raise Unavailable("The model is on holiday.")

    monkeypatch.setattr("athand.embed.loader.load_embedder", unavailable)
    record_some(athand.flows)
    hits = athand.flows.search("swap")
    assert hits[0].session_id == "s1"
    assert hits.notes == ("Searched by keyword only: The model is on holiday.",)


@pytest.mark.parametrize("is_early", [False, True])
def test_a_typed_password_is_in_no_rejected_element_and_no_rejected_action(tmp_path, is_early):
    typed = {"tool": "type", "target": {"testId": "password"}, "input": {"text": PASSWORD}}
    with Athand(str(tmp_path / "r.db")) as athand:
        session = athand.flows.start_session(app="shop").id
        if not is_early:
            athand.flows.record(session, **typed)
        named = athand.flows.record(session, tool="click", target={"testId": PASSWORD})
        plain = athand.flows.record(session, tool="click", target={"testId": "save"})
        athand.flows.reject_heal(named, "other")
        athand.flows.reject_heal(plain, PASSWORD)
        athand.flows.reject_heal(plain, "cancel")
        if is_early:
            athand.flows.record(session, **typed)
        steps = [step for step in athand.flows.steps(session) if step.verb == "click"]
        assert athand.flows.rejected_heals(steps[0]) == {"other"}
        assert athand.flows.rejected_heals(steps[1]) == {"cancel", MASK}
    assert not [file for file in tmp_path.rglob("*") if file.is_file() and PASSWORD.encode() in file.read_bytes()]
