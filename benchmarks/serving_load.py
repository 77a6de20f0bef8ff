"""Many callers at once, over HTTP: what they ask, how long they wait; and a plain app to compare with."""

import http.client
import json
import random
import re
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

WRITES = 0.1
PATIENCE = 60  # seconds
JSON = "application/json"

Request = tuple[str, str, bytes | None]  # method, address, body
Maker = Callable[[random.Random, str, str], Request]  # from a question and a new text


def ask(path: str, **arguments: Any) -> Request:
    return "GET", f"{path}?{urlencode(arguments)}", None


def send(path: str, **arguments: Any) -> Request:
    return "POST", path, json.dumps(arguments).encode()


def of_athand(chance: random.Random, question: str, text: str) -> Request:
    """One in ten adds a memory; the others search everything, memories or documents, each as often."""
    if chance.random() < WRITES:
        return send("/v1/memories/add", content=text, project=f"project-{chance.randrange(1000)}")
    kind = chance.randrange(3)
    if kind == 0:
        return send("/v1/memories/search", query=question)
    return ask("/v1/search" if kind == 1 else "/v1/documents/search", query=question)


def of_plain(chance: random.Random, question: str, text: str) -> Request:
    """As many writes; every search is the one that the plain app has."""
    if chance.random() < WRITES:
        return send("/add", text=text)
    return ask("/search", query=question)


@dataclass
class Load:
    """Callers, each with a connection of its own, who ask again as soon as they are answered."""

    port: int
    token: str
    make: Maker
    questions: Sequence[str]
    texts: Sequence[str]
    times: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))  # ms, by route
    errors: list[str] = field(default_factory=list)

    def run(self, callers: int, seconds: float) -> dict[str, Any]:
        """All of them for so long; what was measured."""
        self.times.clear()
        until = time.perf_counter() + seconds
        threads = [threading.Thread(target=self._call, args=(number, until)) for number in range(callers)]
        started = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return self._measured(time.perf_counter() - started)

    def _call(self, number: int, until: float) -> None:
        chance = random.Random(number)
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": JSON}
        while (started := time.perf_counter()) < until:
            text = f"{chance.choice(self.texts)} {chance.choice(self.texts)} {chance.random()}"
            method, path, body = self.make(chance, chance.choice(self.questions), text)
            try:
                connection.request(method, path, body, headers)
                answer = connection.getresponse()
                said = answer.read()
            except OSError as error:
                self.errors.append(repr(error))
                connection.close()
                continue
            if answer.status != 200:
                self.errors.append(f"{answer.status} {said[:200]!r}")
            self.times[path.partition("?")[0]].append((time.perf_counter() - started) * 1000)
        connection.close()

    def _measured(self, seconds: float) -> dict[str, Any]:
        every = [each for times in self.times.values() for each in times]
        return {
            "requests": len(every),
            "per_s": len(every) / seconds,
            **percentiles(every),
            "errors": len(self.errors),
            "first_error": self.errors[0] if self.errors else None,
            "routes": {route: {"requests": len(times), **percentiles(times)} for route, times in self.times.items()},
        }


def percentiles(times: Sequence[float]) -> dict[str, float]:
    ordered = sorted(times)
    return {f"p{part}": ordered[min(len(ordered) - 1, len(ordered) * part // 100)] for part in (50, 95, 99)}


def plain_app(file: Path) -> Any:
    """What somebody would write in an hour: FastAPI over one FTS5 table, a connection per thread, durable writes."""
    import apsw
    from fastapi import Body, FastAPI

    app, own = FastAPI(), threading.local()
    sql = "SELECT id, project, text, bm25(passages) FROM passages WHERE passages MATCH ? ORDER BY rank LIMIT 10"

    def connection() -> apsw.Connection:
        if not hasattr(own, "connection"):
            own.connection = apsw.Connection(str(file))
            own.connection.set_busy_timeout(10_000)
            own.connection.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL")
        return own.connection

    @app.get("/search")
    def search(query: str) -> list[dict[str, Any]]:
        match = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", query.lower()))
        return [{"id": row[0], "text": row[2], "score": -row[3]} for row in connection().execute(sql, (match,))]

    @app.post("/add")
    def add(text: str = Body(embed=True)) -> dict[str, str]:
        row = (f"new-{time.time_ns()}", "default", text)
        connection().execute("INSERT INTO passages VALUES (?, ?, ?)", row)
        return {"id": row[0]}

    return app


if __name__ == "__main__":
    import uvicorn

    config = uvicorn.Config(plain_app(Path(sys.argv[1])), port=int(sys.argv[2]), log_level="error")
    uvicorn.Server(config).run()
