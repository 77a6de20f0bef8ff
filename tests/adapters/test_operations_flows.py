"""The operations on flows that need no browser."""

import pytest
from tests.adapters.operating import calling, names_in

from athand.adapters.operations import operations
from athand.errors import ActionFailed, InvalidInput, NotFound

HOME = {"url": "https://wallet.test/home", "test_ids": [{"testId": "send", "tag": "button", "text": "Send"}]}
SEND = {"url": "https://wallet.test/send", "test_ids": [{"testId": "amount", "tag": "input"}]}
PASSWORD = "correct horse 7!"
IN_A_BROWSER = {"knowledge_replay"}  # test_operations_ui.py


@pytest.fixture
def call(tmp_path):
    with calling(tmp_path) as call:
        yield call


def recorded(call, id_):
    """A session that sends something."""
    call("knowledge_start_session", id=id_, goal="Send 5 coins to jon", flow_tags=["send"], tags=["demo"], app="wallet")
    first = call("knowledge_record", session_id=id_, tool="click", target={"testId": "send"}, before=HOME)
    call(
        "knowledge_record",
        session_id=id_,
        tool="ui_type",
        target={"testId": "amount"},
        input={"text": "5"},
        before=SEND,
    )
    failed = {"code": "TARGET_NOT_FOUND", "message": "no such button"}
    call("knowledge_record", session_id=id_, tool="click", target={"testId": "gone"}, ok=False, error=failed)
    return first


def test_all_operations_on_flows_answer_as_their_schemas_say(call, tmp_path):
    step = recorded(call, "one")
    recorded(call, "two")
    assert (step["position"], step["target"], step["screen"]) == (1, {"testId": "send"}, step["before"]["screen"])

    within = {"scope": {"session": "two"}, "filters": {"flow_tag": "send", "outcome": "ok"}}
    hits = call("knowledge_search", query="send coins", **within)["hits"]
    assert {hit["session_id"] for hit in hits} == {"two"}
    assert (
        call("knowledge_search", query="send coins", scope="current", session="one")["hits"][0]["session_id"] == "one"
    )
    assert [each["session_id"] for each in call("knowledge_last", n=1)] == ["two"]
    assert [each["id"] for each in call("knowledge_sessions", filters={"tag": "demo"})] == ["two", "one"]
    assert call("knowledge_session", session_id="one")["goal"] == "Send 5 coins to jon"
    assert [each["verb"] for each in call("knowledge_steps", session_id="one")] == ["click", "type", "click"]
    assert call("knowledge_summarize", session_id="one")["errors"] == {"TARGET_NOT_FOUND": 1}
    assert {"default", "metamask"} <= {each["name"] for each in call("knowledge_profiles")}
    assert "sync_playwright" in call("knowledge_script", session_id="one")

    folders = call("knowledge_export", path=str(tmp_path / "out"))["folders"]
    assert call("knowledge_delete", session_id="one")["steps"] == 3
    told = []
    taken = call("knowledge_import", path=str(tmp_path / "out"), progress=lambda *far: told.append(far))
    assert (taken["sessions"], taken["known"], told[-1]) == (1, 1, (2, len(folders)))

    assert call("knowledge_reject_heal", session_id="one", position=1, element='button "Sent"')["position"] == 1
    previous = call("knowledge_steps", session_id="one")[0]["id"]
    knowledge = call("knowledge_prior", session_id="one", observation=SEND, previous=previous)
    assert knowledge["suggestedNextActions"][0]["preferredTarget"] == {"type": "testId", "value": "amount"}
    assert call("knowledge_prior", session_id="one")["suggestedNextActions"][0]["action"] == "type"
    call("knowledge_start_session", id="alone", app="elsewhere")
    assert call("knowledge_prior", session_id="alone", observation={"url": "https://else.test/"}) is None
    assert call.performed == names_in("flows") - IN_A_BROWSER


@pytest.mark.parametrize(
    ("name", "given", "error"),
    [
        ("knowledge_session", {"session_id": "../../etc"}, InvalidInput),
        ("knowledge_steps", {"session_id": "nobody"}, NotFound),
        ("knowledge_reject_heal", {"session_id": "one", "position": 9, "element": "x"}, NotFound),
        ("knowledge_prior", {"session_id": "one", "observation": HOME, "previous": "no step"}, NotFound),
        ("knowledge_search", {"query": "x", "scope": "current"}, ActionFailed),
        ("knowledge_search", {"query": "x", "scope": {"folder": "y"}}, InvalidInput),
        ("knowledge_search", {"query": "x", "filters": {"colour": "red"}}, InvalidInput),
        ("knowledge_record", {"session_id": "one", "tool": "click", "target": {"id": "x"}}, InvalidInput),
        ("knowledge_script", {"session_id": "one", "language": "cobol"}, InvalidInput),
        ("knowledge_import", {"path": "/no/such/folder"}, NotFound),
    ],
)
def test_what_cannot_be_done_is_refused_with_a_reason(call, name, given, error):
    call("knowledge_start_session", id="one")
    with pytest.raises(error, match=r".{20}"):
        call(name, **given)


def test_what_was_typed_in_secret_is_not_answered_again(call):
    call("knowledge_start_session", id="one")
    before = {"a11y": [{"ref": "e1", "role": "textbox", "name": "Password"}]}
    given = {"tool": "type", "target": {"a11yRef": "e1"}, "input": {"text": PASSWORD}, "before": before}
    call("knowledge_record", session_id="one", **given)
    assert PASSWORD not in str(call("knowledge_steps", session_id="one"))


def test_an_agent_reads_and_writes_no_path_of_the_machine():
    owners = {name for name in names_in("flows") if operations()[name].scope == "admin"}
    assert owners == {"knowledge_export", "knowledge_import"}
