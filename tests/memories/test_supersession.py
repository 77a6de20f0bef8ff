"""However memories are superseded and un-superseded: none is lost, and no chain closes."""

import contextlib

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from athand.app import SCHEMAS
from athand.embed import LazyEmbedder
from athand.embed.models import DEFAULT_MODEL
from athand.errors import Conflict, InvalidInput
from athand.memories import Memories
from athand.store import open_store

EMBEDDER = LazyEmbedder(DEFAULT_MODEL)
COUNT = 7
numbers = st.integers(0, COUNT - 1)
attempts = st.lists(st.tuples(st.sampled_from(("supersede", "undo", "relate")), numbers, numbers), max_size=40)


@pytest.mark.parametrize("examples", [20, pytest.param(60, marks=pytest.mark.slow)])
def test_supersession_loses_nothing_and_never_forms_a_circle(examples):
    settings(max_examples=examples)(given(attempts)(check))()


def check(attempts):
    memories = Memories(open_store(":memory:", SCHEMAS), EMBEDDER)
    ids = [
        memory.id for memory in memories.add_many({"content": f"the weather report number {at}"} for at in range(COUNT))
    ]
    for kind, one, other in attempts:
        attempt(memories, kind, ids[one], ids[other])
    successor = successors(memories, ids)
    for id_ in ids:
        assert_ends(id_, successor)
    hits = memories.search("weather report", include_superseded=True, limit=100, mode="keyword")
    assert {hit.id for hit in hits} == set(ids)
    assert {hit.id for hit in hits if not hit.is_superseded} == set(ids) - set(successor)
    assert {hit.id for hit in memories.search("weather report", limit=100, mode="keyword")} == set(ids) - set(successor)
    for hit in hits:
        assert (hit.superseded_by.id if hit.superseded_by else hit.id) == assert_ends(hit.id, successor)


def attempt(memories, kind, one, other):
    actions = {
        "supersede": lambda: memories.supersede(one, other),
        "undo": lambda: memories.unsupersede(one),
        "relate": lambda: memories.relate(other, one, "SUPERSEDES"),
    }
    with contextlib.suppress(Conflict, InvalidInput):
        actions[kind]()


def successors(memories, ids):
    """Every valid supersession, old to new; each memory has at most one."""
    found = {}
    for id_ in ids:
        for each in memories.related(id_):
            relation = each.relation
            if relation.type == "SUPERSEDES" and relation.target_id == id_:
                assert id_ not in found
                found[id_] = relation.source_id
    return found


def assert_ends(id_, successor):
    """Follow the chain to its end; a circle would not have one."""
    for _ in range(COUNT):
        if id_ not in successor:
            return id_
        id_ = successor[id_]
    raise AssertionError("a circle")


def test_relations_are_found_from_their_project_whichever_tier_their_memories_get(memories):
    cart = memories.add("Carts live in Redis", project="shop", id="cart")
    answer = memories.add("Answers are kept short", project="shop", id="answer")
    memories.relate("cart", "answer", "RELATED_TO")
    memories.supersede("answer", memories.add("Answers are kept long", project="shop", id="long").id)

    def counts(project):
        found = memories.search("carts and answers", project=project, include_superseded=True, reinforce=False)
        return {hit.id: (hit.related_count, hit.superseded_by and hit.superseded_by.id) for hit in found}

    everything = {"cart": (1, None), "answer": (2, "long"), "long": (1, None)}
    assert counts("shop") == counts(None) == everything
    memories.update("answer", tier="global")
    assert counts("shop") == counts(None) == everything
    assert counts("blog") == {"answer": (0, None)}  # the others are not to be seen there
    memories.update("answer", tier="project")
    assert counts("shop") == everything
    assert [each.memory.id for each in memories.related(cart.id)] == [answer.id]
