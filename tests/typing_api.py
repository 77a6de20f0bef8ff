"""Never run, only type-checked: how the public names are used and what they give."""

from datetime import datetime
from typing import assert_type

from athand import SEED_WEIGHTS, Athand, Hit, Hits, Memory, Settings, Status, Why
from athand.flows import FlowHit, FlowSession, Observation, PriorKnowledge, Replay, Step
from athand.flows.browser import Browser
from athand.tools import CallResult, Tool, ToolHit


def use() -> None:
    with Athand("team.db", model="athand-static-1", settings=Settings(device="cpu")) as athand:
        assert_type(athand, Athand)
        memory = athand.memories.add("text", project="shop", tags=["a"], created_at=datetime.now())
        assert_type(memory, Memory)
        assert_type(athand.memories.list(limit=5, project="shop"), list[Memory])
        assert_type(athand.memories.supersede("a", "b"), Memory)
        assert_type(athand.memories.timeline("a").before, tuple[Memory, ...])
        assert_type(athand.memories.brief("shop"), str)
        athand.memories.search("text", weights=SEED_WEIGHTS, mode="keyword", as_of="2026-01-01")
        assert_type(athand.tools.search("text", limit=3, threshold=0.35), Hits[ToolHit])
        assert_type(athand.tools.describe("git__git_log"), Tool)
        assert_type(athand.tools.call("git__git_log", {"max_count": 3}), CallResult)
        assert_type(athand.tools.stubs(["git__git_log"], language="python"), str)
        assert_type(athand.flows.start_session(goal="Buy shoes", flow_tags=["buy"]), FlowSession)
        step = athand.flows.record("id", tool="ui_click", target={"testId": "buy"}, before=Observation("shop"))
        assert_type(step, Step)
        assert_type(athand.flows.search("buy", limit=20, scope="all", filters={"app": "shop"}), Hits[FlowHit])
        assert_type(athand.flows.prior_knowledge("id", Observation("shop"), previous=step), PriorKnowledge | None)
        assert_type(athand.flows.last(n=20, session="id"), list[Step])
        assert_type(athand.flows.sessions(limit=10), list[FlowSession])
        browser = athand.flows.open_browser(url="http://localhost:8000/")
        assert_type(browser, Browser)
        assert_type(athand.flows.replay(browser, "id"), Replay)
        hits = athand.search("text", corpora=["memories"], limit=3)
        assert_type(hits, Hits[Hit])
        for hit in hits:
            assert_type(hit, Hit)
            assert_type(hit.why, Why)
            assert_type(hit.why.total, float)
        assert_type(athand.status(), Status)
