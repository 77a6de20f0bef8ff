"""Many processes write, search and reinforce at once on one server."""

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from random import Random

import pytest
from stores import fork, join_all, made_up_word, sentence

from athand import Athand

SHARED = 8  # so many deeds belong to one text that all add


@pytest.mark.parametrize(
    "deeds", [15, pytest.param(150, marks=pytest.mark.slow), pytest.param(1000, marks=pytest.mark.soak)]
)
def test_many_processes_write_search_and_reinforce_and_no_update_is_lost(postgres_url, tmp_path, seed, deeds):
    random = Random(seed)
    processes = [
        fork(_live, postgres_url, f"own{at}", random.random(), deeds, tmp_path / f"told{at}") for at in range(4)
    ]
    join_all(processes)
    told = [json.loads(file.read_text()) for file in sorted(tmp_path.glob("told*"))]
    used = sum((Counter(each["used"]) for each in told), Counter())
    added = [id_ for each in told for id_ in each["added"]]
    with Athand(postgres_url) as athand:
        with athand._store.snapshot() as snapshot:
            rows = snapshot.rows("SELECT id, content, access_count FROM memories")
        assert {id_: count for id_, _, count in rows if count} == dict(used)
        assert sorted(id_ for id_, _, _ in rows) == sorted(added)
        assert len(rows) == len({content for _, content, _ in rows})
        assert athand.check() == []
    print(f"{len(added)} added, {sum(used.values())} times used")  # noqa: T201
    assert any(each["merged"] for each in told)


def _live(url, project, seed, deeds, file):
    """Four threads of one process; what they did to which memory is written into the file."""
    with Athand(url) as athand:
        lives = [_Life(athand.memories, project, Random(seed + at)) for at in range(4)]
        with ThreadPoolExecutor(4) as threads:
            for each in [threads.submit(life.live, deeds) for life in lives]:
                each.result()
    told = {
        "added": [id_ for life in lives for id_ in life.added],
        "used": sum((life.used for life in lives), Counter()),
        "merged": sum(life.merged for life in lives),
    }
    file.write_text(json.dumps(told))


class _Life:
    """One thread: it adds, searches and reinforces, in a project of its own and in one that all share."""

    def __init__(self, memories, project, random):
        self.added, self.used, self.merged, self._deeds = [], Counter(), 0, 0
        self._memories, self._random = memories, random
        self._projects = (project, "shared")

    def live(self, deeds):
        self._add(self._projects[0])  # a project that has nothing yet would be said to be unknown
        for self._deeds in range(deeds):
            if self._deeds % SHARED == 0:
                self._add_what_all_add()
            self._random.choice(
                (self._add_somewhere, self._add_what_all_add, self._search, self._search, self._reinforce)
            )()

    def _add(self, project):
        word = made_up_word(self._random)
        text = sentence(self._random, word)
        self.added.append(self._memories.add(text, id=word, project=project).id)

    def _add_somewhere(self):
        self._add(self._random.choice(self._projects))

    def _add_what_all_add(self):
        """The same text as everybody else adds at about this time."""
        memory = self._memories.add(f"Noted: {made_up_word(Random(self._deeds // SHARED))}", project="shared")
        if memory.deduplicated:
            self.merged += 1
            self.used[memory.id] += 1
        else:
            self.added.append(memory.id)

    def _search(self):
        project = self._random.choice((*self._projects, None))
        hits = self._memories.search(sentence(self._random), project=project, limit=5)
        assert not hits.notes
        self.used.update(hit.id for hit in hits)

    def _reinforce(self):
        id_ = self._random.choice(self.added)
        assert self._memories.reinforce(id_, 0.01).id == id_
        self.used[id_] += 1
