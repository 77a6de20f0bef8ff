"""`recollect demo`: the whole thing in a minute, on an example of its own, touching nothing of yours."""

import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from recollect.adapters.cli.answers import answer
from recollect.adapters.cli.session import Session, command

if TYPE_CHECKING:
    from recollect.app import Recollect

_top = click.Group()

_MEMORIES = (
    ("shop", 3, "Staging deploys need the VPN and a fresh token; production does not.", "mira", ("deploy",)),
    (
        "shop",
        41,
        "Decided to keep carts in PostgreSQL instead of Redis: a lost cart costs more than 4 ms.",
        "mira",
        ("db",),
    ),
    (
        "shop",
        12,
        "The checkout test is flaky when the clock crosses midnight UTC; freeze time in the fixture.",
        "jon",
        (),
    ),
    ("shop", 77, "Customers in Norway are charged in NOK; rounding is to whole kroner.", "ada", ("payments",)),
    ("shop", 6, "API keys rotate every 24 hours; cache them per worker, never on disk.", "ada", ("auth",)),
    ("shop", 19, "Image uploads over 8 MB fail behind the old load balancer with a bare 502.", "jon", ()),
    ("blog", 2, "Posts are rendered at build time; a typo fix needs a rebuild, not a cache purge.", "mira", ()),
    ("blog", 30, "Readers asked for dark mode three times this month.", "ada", ("ui",)),
    ("blog", 55, "The RSS feed must keep GUIDs when a slug changes, or every reader sees old posts as new.", "jon", ()),
    ("home", 9, "Prefers short answers with the command first and the reason after it.", "user", ("preference",)),
    ("home", 120, "The NAS backs up at 03:00; do not schedule anything heavy before 04:30.", "user", ()),
    ("home", 200, "Grandma's birthday is on the 14th of June; she likes tulips.", "user", ()),
)
_HANDBOOK = Path(__file__).parent / "handbook"
# What is asked, what to look at, and how many answers; the last one is answered by memories and documents together.
_QUESTIONS = (
    ("By meaning: no word in common with the answer.", "Scandinavian currency", 1, False),
    ("With a typo, and with the arithmetic of the score.", "postgress or redis?", 1, True),
    ("Nothing fits, so nothing is returned.", "qwxyz zzgrmpf", 1, False),
    ("Memories and documents together, best first, each with its reasons.", "when do API keys expire?", 2, False),
)


@command(_top, "demo")
def demo(session: Session) -> None:
    """See it work: memories, a folder of documents, a few questions, answers with their reasons."""
    from recollect.app import Recollect

    with (
        tempfile.TemporaryDirectory() as folder,
        Recollect(str(Path(folder) / "demo.db"), model=session.model) as recollect,
    ):
        _fill(session, recollect)
        for remark, question, limit, explain in _QUESTIONS:
            _ask(session, recollect, remark, question, limit, explain=explain)
    session.say('\nYour turn:  recollect memory add "…"   recollect docs add FOLDER   then   recollect search "…"')


def _fill(session: Session, recollect: "Recollect") -> None:
    """The memories of three projects, and a small handbook."""
    now = datetime.now(UTC)
    session.say(f"Adding {len(_MEMORIES)} memories of three projects to a store of its own …")
    recollect.memories.add_many(
        {
            "content": content,
            "project": project,
            "author": author,
            "tags": tags,
            "created_at": now - timedelta(days=days),
        }
        for project, days, content, author, tags in _MEMORIES
    )
    added = recollect.documents.add(_HANDBOOK)
    session.say(f"Indexing a handbook beside them: {added.documents} documents in {added.chunks} chunks …")


def _ask(session: Session, recollect: "Recollect", remark: str, question: str, limit: int, *, explain: bool) -> None:
    flag = " --explain" if explain else ""
    session.say(f"\n{click.style('# ' + remark, dim=True)}\n$ recollect search {question!r}{flag}\n")
    started = time.perf_counter()
    hits = recollect.search(question, limit=limit)
    answer(session, recollect, hits, time.perf_counter() - started, explain=explain)
