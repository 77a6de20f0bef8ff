"""`recollect demo`: the whole thing in a minute, on an example of its own, touching nothing of yours."""

import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click

from recollect.adapters.cli.session import Session, command

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
_QUESTIONS = (
    ("By meaning: no word in common with the answer.", "Scandinavian currency", False),
    ("With a typo, and with the arithmetic of the score.", "postgress or redis?", True),
    ("Nothing fits, so nothing is returned.", "qwxyz zzgrmpf", False),
    ("Best first, each with its reasons.", "when do keys and tokens expire?", False),
)


@command(_top, "demo")
def demo(session: Session) -> None:
    """See it work: a dozen memories, a few questions, an answer with its reasons."""
    from recollect.adapters.cli.everything import answer
    from recollect.app import Recollect

    now = datetime.now(UTC)
    with (
        tempfile.TemporaryDirectory() as folder,
        Recollect(str(Path(folder) / "demo.db"), model=session.model) as recollect,
    ):
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
        for remark, question, explain in _QUESTIONS:
            flag = " --explain" if explain else ""
            session.say(f"\n{click.style('# ' + remark, dim=True)}\n$ recollect search {question!r}{flag}\n")
            started = time.perf_counter()
            hits = recollect.search(question, limit=2)
            answer(session, recollect, hits, time.perf_counter() - started, explain=explain)
    session.say('\nYour turn:  recollect memory add "…"   then   recollect search "…"')
