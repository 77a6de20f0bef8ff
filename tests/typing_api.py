"""Never run, only type-checked: how the public names are used and what they give."""

from datetime import datetime
from typing import assert_type

from recollect import SEED_WEIGHTS, Hit, Hits, Memory, Recollect, Settings, Status, Why
from recollect.flows import FlowHit, FlowSession, Observation, PriorKnowledge, Replay, Step
from recollect.flows.browser import Browser
from recollect.tools import CallResult, Tool, ToolHit


def use() -> None:
    with Recollect("team.db", model="recollect-static-1", settings=Settings(device="cpu")) as recollect:
        assert_type(recollect, Recollect)
        memory = recollect.memories.add("text", project="shop", tags=["a"], created_at=datetime.now())
        assert_type(memory, Memory)
        assert_type(recollect.memories.list(limit=5, project="shop"), list[Memory])
        assert_type(recollect.memories.supersede("a", "b"), Memory)
        assert_type(recollect.memories.timeline("a").before, tuple[Memory, ...])
        assert_type(recollect.memories.brief("shop"), str)
        recollect.memories.search("text", weights=SEED_WEIGHTS, mode="keyword", as_of="2026-01-01")
        assert_type(recollect.tools.search("text", limit=3, threshold=0.35), Hits[ToolHit])
        assert_type(recollect.tools.describe("git__git_log"), Tool)
        assert_type(recollect.tools.call("git__git_log", {"max_count": 3}), CallResult)
        assert_type(recollect.tools.stubs(["git__git_log"], language="python"), str)
        assert_type(recollect.flows.start_session(goal="Buy shoes", flow_tags=["buy"]), FlowSession)
        step = recollect.flows.record("id", tool="ui_click", target={"testId": "buy"}, before=Observation("shop"))
        assert_type(step, Step)
        assert_type(recollect.flows.search("buy", limit=20, scope="all", filters={"app": "shop"}), Hits[FlowHit])
        assert_type(recollect.flows.prior_knowledge("id", Observation("shop"), previous=step), PriorKnowledge | None)
        assert_type(recollect.flows.last(n=20, session="id"), list[Step])
        assert_type(recollect.flows.sessions(limit=10), list[FlowSession])
        browser = recollect.flows.open_browser(url="http://localhost:8000/")
        assert_type(browser, Browser)
        assert_type(recollect.flows.replay(browser, "id"), Replay)
        hits = recollect.search("text", corpora=["memories"], limit=3)
        assert_type(hits, Hits[Hit])
        for hit in hits:
            assert_type(hit, Hit)
            assert_type(hit.why, Why)
            assert_type(hit.why.total, float)
        assert_type(recollect.status(), Status)
