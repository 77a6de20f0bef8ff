import asyncio
import threading
from contextvars import copy_context
from itertools import count

import pytest

from athand import Athand
from athand.adapters.operations.threads import Threads
from athand.cancellation import check_cancelled, run_until
from athand.errors import Cancelled

PATIENCE = 60.0


@pytest.fixture
def pool():
    threads = Threads(PATIENCE)
    yield threads
    threads.close()


@pytest.fixture
def athand():
    with Athand(":memory:") as opened:
        yield opened


def give_up_in_the_middle(pool, work, begun, go_on):
    """Run work in the pool, give it up once it has begun, let it go on, and return what became of it."""
    ended, outcome = threading.Event(), []

    def watched():
        try:
            outcome.append(work())
        except Cancelled as error:
            outcome.append(error)
        finally:
            ended.set()

    async def attack():
        task = asyncio.create_task(pool.run(watched))
        assert await asyncio.to_thread(begun.wait, PATIENCE)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        go_on.set()
        assert await asyncio.to_thread(ended.wait, PATIENCE)

    asyncio.run(attack())
    return outcome[0]


def endless_memories(begun, go_on):
    for number in count():
        yield {"content": f"The build number {number} is green."}
        begun.set()
        go_on.wait(PATIENCE)


def test_memories_whose_caller_gives_up_while_they_are_read_are_not_added(pool, athand):
    begun, go_on = threading.Event(), threading.Event()
    outcome = give_up_in_the_middle(
        pool, lambda: athand.memories.add_many(endless_memories(begun, go_on)), begun, go_on
    )
    assert isinstance(outcome, Cancelled)
    assert athand.memories.list(project="default") == []


def test_indexing_whose_caller_gives_up_stops_and_goes_on_the_next_time(pool, athand, tmp_path, monkeypatch):
    for number in range(600):
        (tmp_path / f"note-{number}.md").write_text(f"# Note {number}\n\nAbout beans.\n")
    begun, go_on = threading.Event(), threading.Event()

    def wait_once(done, total):
        begun.set()
        go_on.wait(PATIENCE)

    monkeypatch.setattr("athand.documents.index._GRACE_SECONDS", 0.0)
    folder = str(tmp_path)
    give_up_in_the_middle(pool, lambda: athand.documents.add(folder, progress=wait_once), begun, go_on)
    [stopped] = athand.documents.list_folders()
    assert stopped.state == "pending"
    assert stopped.documents < 600
    assert athand.documents.refresh(stopped.folder_id).documents == 600


def test_work_that_is_given_up_before_it_begins_is_not_begun():
    given_up = threading.Event()
    given_up.set()
    with pytest.raises(Cancelled):
        copy_context().run(run_until, given_up, lambda: pytest.fail("it was begun"))


def test_nothing_is_cancelled_outside_of_a_request():
    check_cancelled()
