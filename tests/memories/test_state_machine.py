"""Whatever is done in whatever order: the store and a plain model of it never disagree."""

import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import settings
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)

from athand.app import SCHEMAS
from athand.embed import LazyEmbedder
from athand.embed.models import DEFAULT_MODEL
from athand.errors import Conflict, InvalidInput, NotFound
from athand.memories import Memories
from athand.store import open_store

EMBEDDER = LazyEmbedder(DEFAULT_MODEL)
# Words no one would take for a misspelling of another.
TOPICS = "aardvark binoculars chrysanthemum dulcimer eggshell funicular gyroscope harpsichord".split()
PROJECTS = ("north", "south")
topics = st.sampled_from(TOPICS)


@dataclass
class Kept:
    """What the model knows of a memory."""

    project: str
    topic: str
    number: int
    deleted: bool = False
    superseded_by: str | None = None
    ended: bool = False

    @property
    def content(self):
        return f"{self.topic} number {self.number}"

    @property
    def shows(self):
        return not self.deleted and not self.ended


class MemoriesAgainstModel(RuleBasedStateMachine):
    ids = Bundle("ids")

    def __init__(self):
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.now = datetime(2026, 1, 1, tzinfo=UTC)
        self.model: dict[str, Kept] = {}
        self.added = 0
        self.open()

    def open(self):
        self.store = open_store(str(Path(self.folder.name) / "store.db"), SCHEMAS)
        self.memories = Memories(self.store, EMBEDDER, clock=self.tick)

    def tick(self):
        self.now += timedelta(seconds=1)
        return self.now

    def teardown(self):
        self.store.close()
        self.folder.cleanup()

    @rule(target=ids, topic=topics, project=st.sampled_from(PROJECTS))
    def add(self, topic, project):
        self.added += 1
        kept = Kept(project, topic, self.added)
        memory = self.memories.add(kept.content, project=project)
        assert not memory.deduplicated
        self.model[memory.id] = kept
        return memory.id

    @rule(target=ids, count=st.integers(0, 5), topic=topics)
    def add_several(self, count, topic):
        kept = [Kept("north", topic, self.added + number) for number in range(1, count + 1)]
        self.added += count
        memories = self.memories.add_many({"content": each.content, "project": each.project} for each in kept)
        self.model |= {memory.id: each for memory, each in zip(memories, kept, strict=True)}
        return multiple(*(memory.id for memory in memories))

    @rule(id_=ids)
    def add_again(self, id_):
        """The same text: merged if it holds, else added."""
        if (kept := self.model.get(id_)) is None:
            return
        same = [
            other for other, each in self.model.items() if (each.project, each.content) == (kept.project, kept.content)
        ]
        holding = [other for other in same if self.model[other].shows]
        memory = self.memories.add(kept.content.upper(), project=kept.project)
        assert memory.deduplicated == bool(holding)
        if holding:
            assert memory.id in holding
        else:
            self.memories.delete(memory.id, hard=True)

    @rule(id_=ids, topic=topics)
    def update(self, id_, topic):
        self.added += 1
        with self.refusal_if_gone(id_):
            self.memories.update(id_, content=f"{topic} number {self.added}")
            self.model[id_].topic, self.model[id_].number = topic, self.added

    @rule(old=ids, new=ids)
    def supersede(self, old, new):
        refused = self.why_not(old, new)
        if refused:
            with pytest.raises(refused):
                self.memories.supersede(old, new)
        else:
            self.memories.supersede(old, new)
            self.model[old].superseded_by, self.model[old].ended = new, True

    def why_not(self, old, new):
        if old not in self.model or new not in self.model:
            return NotFound
        if self.model[old].deleted or self.model[new].deleted:
            return Conflict
        if self.model[old].superseded_by or old in self.chain(new):
            return Conflict
        if old == new or self.model[old].project != self.model[new].project:
            return InvalidInput
        return None

    def chain(self, id_):
        chain = []
        while successor := self.model[chain[-1] if chain else id_].superseded_by:
            assert successor not in chain, "a circle"
            chain.append(successor)
        return chain

    @rule(old=ids)
    def unsupersede(self, old):
        if old in self.model and not self.model[old].ended and not self.model[old].deleted:
            with pytest.raises(Conflict):
                self.memories.unsupersede(old)
            return
        with self.refusal_if_gone(old):
            self.memories.unsupersede(old)
            self.model[old].superseded_by, self.model[old].ended = None, False

    @rule(id_=ids)
    def delete(self, id_):
        if id_ in self.model:
            self.memories.delete(id_)
            self.model[id_].deleted = True

    @rule(id_=consumes(ids))
    def erase(self, id_):
        if id_ not in self.model:
            return
        self.memories.delete(id_, hard=True)
        gone = self.model.pop(id_)
        for each in self.model.values():
            if each.superseded_by == id_:
                each.superseded_by = gone.superseded_by
        with pytest.raises(NotFound):
            self.memories.get(id_)

    @rule(id_=ids)
    def restore(self, id_):
        if id_ not in self.model:
            return
        if self.model[id_].deleted:
            self.memories.restore(id_)
            self.model[id_].deleted = False
        else:
            with pytest.raises(Conflict):
                self.memories.restore(id_)

    @rule(topic=topics, project=st.sampled_from((*PROJECTS, None)), mode=st.sampled_from(("keyword", "hybrid")))
    def search(self, topic, project, mode):
        hits = self.memories.search(topic, project=project, mode=mode, limit=1000, min_score=0)
        found = {hit.id for hit in hits if topic in hit.item.content}
        assert found == {
            id_
            for id_, kept in self.model.items()
            if kept.shows and kept.topic == topic and project in (None, kept.project)
        }
        assert all(self.model[hit.id].shows for hit in hits)

    @rule(topic=topics)
    def search_with_history(self, topic):
        hits = self.memories.search(
            topic, include_superseded=True, mode="keyword", limit=1000, reinforce=False, min_score=0
        )
        expected = {id_ for id_, kept in self.model.items() if not kept.deleted and kept.topic == topic}
        assert {hit.id for hit in hits} == expected, "a superseded memory is lost"
        for hit in hits:
            assert hit.is_superseded == self.model[hit.id].ended
            existing = [each for each in self.chain(hit.id) if not self.model[each].deleted]
            assert (hit.superseded_by.id if hit.superseded_by else None) == (existing[-1] if existing else None)

    @rule()
    def reopen(self):
        self.store.close()
        self.open()

    @rule()
    def reindex(self):
        before = self.memories.fingerprint()
        self.memories.reindex()
        assert self.memories.fingerprint() == before

    @invariant()
    def the_same_memories_are_there(self):
        listed = {memory.id: memory for memory in self.memories.list(limit=1000, include_deleted=True)}
        assert {id_: (each.project, each.content, each.deleted) for id_, each in self.model.items()} == {
            id_: (memory.project, memory.content, memory.is_deleted) for id_, memory in listed.items()
        }
        assert sum(self.memories.count().values()) == sum(not each.deleted for each in self.model.values())

    def refusal_if_gone(self, id_):
        """NotFound or Conflict is expected for what is erased or deleted."""
        if id_ not in self.model:
            return pytest.raises(NotFound)
        if self.model[id_].deleted:
            return pytest.raises(Conflict)
        return _Nothing()


class _Nothing:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


@pytest.mark.parametrize(
    ("examples", "steps"),
    [(10, 30), pytest.param(25, 30, marks=pytest.mark.slow), pytest.param(1000, 80, marks=pytest.mark.soak)],
)
def test_the_store_agrees_with_the_model(examples, steps):
    run_state_machine_as_test(
        MemoriesAgainstModel,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
        ),
    )
