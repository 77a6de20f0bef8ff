"""How well and how fast tools are found, beside the BM25 search of FastMCP.

Constants were chosen on one half of the requests (benchmarks/tune_tools.py); figures are of the other half, which was
read only to make this table.
"""

import asyncio
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from athand import Athand, Settings
from athand.evaluation import percentiles
from benchmarks import real_tools
from benchmarks.data import CACHE
from benchmarks.tables import bold_best, table
from benchmarks.tool_sets import (
    SETS,
    Request,
    is_for_reporting,
    is_for_tuning,
    questions_for_no_tool,
    requests_of,
    tools_of,
)
from benchmarks.tune_tools import filled, measures

LARGE = 5_000
FASTMCP = "FastMCP BM25"
ATHAND, BY_WORDS = "Athand", "Athand, words only"
MEASURES = ("nDCG@10", "R@5", "answered", "silent")

Search = Callable[[str, int], list[str]]  # a request, how many names


def measure() -> dict[str, Any]:
    """Both sets, both halves, all engines; then the speed of a large catalogue."""
    return {
        "sets": {name: _set(name) for name in SETS},
        "real": _real(),
        "large": _large(),
    }


def _set(name: str) -> dict[str, Any]:
    with closing(filled(Athand(":memory:", settings=Settings()), name)) as athand:
        halves = {"report": is_for_reporting, "tune": is_for_tuning}
        return {half: _half(athand, name, is_wanted) for half, is_wanted in halves.items()}


def _half(athand: Athand, name: str, is_wanted: Callable[[str], bool]) -> dict[str, Any]:
    return _measured(athand, tools_of(name), requests_of(name, is_wanted), questions_for_no_tool(is_wanted))


def _real() -> dict[str, Any]:
    """The tools of real servers, with requests of our own."""
    tools, asked = real_tools.tools(), real_tools.requests()
    with closing(Athand(":memory:", settings=Settings())) as athand:
        for server in sorted({tool["server"] for tool in tools}):
            athand.tools.add(server, [tool for tool in tools if tool["server"] == server])
        served = [request for request in asked if request.tools]
        return _measured(athand, tools, served, [request for request in asked if not request.tools])


def _measured(
    athand: Athand,
    tools: Sequence[Mapping[str, Any]],
    requests: Sequence[Request],
    questions: Sequence[Request],
) -> dict[str, Any]:
    engines = {
        ATHAND: measures(athand, requests, questions),
        BY_WORDS: measures(athand, requests, questions, alpha=0.0),
    }
    if find_spec("fastmcp"):
        engines[FASTMCP] = _of_peer(_fastmcp(tools), requests, questions)
    return {"requests": len(requests), "questions": len(questions), "engines": engines}


def _of_peer(search: Search, requests: Sequence[Request], questions: Sequence[Request]) -> dict[str, float]:
    """The measures of an engine that knows no threshold: what it returns, it answers."""
    from athand.evaluation import ndcg

    found = [search(request.text, 10) for request in requests]
    pairs = list(zip(requests, found, strict=True))
    return {
        "nDCG@10": statistics.mean(ndcg(names, {name: 1 for name in request.tools}, 10) for request, names in pairs),
        "R@5": statistics.mean(len(request.tools & set(names[:5])) / len(request.tools) for request, names in pairs),
        "answered": statistics.mean(bool(names) for names in found),
        "silent": statistics.mean(not search(question.text, 10) for question in questions),
    }


def _fastmcp(tools: Sequence[Mapping[str, Any]]) -> Search:
    """The search of the transform alone, without a server around it."""
    from fastmcp.server.transforms.search import BM25SearchTransform
    from fastmcp.tools.base import Tool

    listed = [
        Tool(name=tool["name"], description=tool["description"], parameters=tool["input_schema"] or {})
        for tool in tools
    ]
    transform = BM25SearchTransform(max_results=10)

    def search(request: str, limit: int) -> list[str]:
        return [tool.name for tool in asyncio.run(transform._search(listed, request))][:limit]

    return search


def _large() -> dict[str, Any]:
    """A catalogue of thousands: taken in, taken in again, searched; on disk, as it would be."""
    tools = _many_tools()
    requests = [each.text for name in SETS for each in requests_of(name, is_for_tuning)[:150]]
    short = [each.text for each in requests_of(SETS[0], is_for_tuning)[:300] if len(each.text.split()) <= 12]
    with TemporaryDirectory(dir=CACHE) as work:
        athand = Athand(Path(work) / "athand.db", settings=Settings())
        with closing(athand):
            from_nothing = _seconds(lambda: athand.tools.add("large", tools))
            again = _seconds(lambda: athand.tools.add("large", tools))
            athand.tools.search("warm up")
            found = {"index_s": from_nothing, "again_s": again, "tools": len(tools)}
            searches = {"short": short, "mixed": requests}
            found |= {f"{kind} ms": _timed(athand.tools.search, asked) for kind, asked in searches.items()}
    if find_spec("fastmcp"):
        peer = _fastmcp(tools)
        peer("warm up", 3)
        found |= {
            f"{kind} ms, {FASTMCP}": _timed(lambda text: peer(text, 3), asked) for kind, asked in searches.items()
        }
    return found


def _many_tools() -> list[dict[str, Any]]:
    """The tools of both sets, and so many of them once more under other names that there are enough."""
    own = [tool for name in SETS for tool in tools_of(name)]
    return [*own, *({**tool, "name": f"{tool['name']}_again"} for tool in own[: LARGE - len(own)])]


def _seconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _timed(search: Callable[[str], Any], requests: Sequence[str]) -> dict[str, float]:
    return percentiles([1000 * _seconds(lambda text=text: search(text)) for text in requests])


def tables(results: Mapping[str, Any]) -> Iterator[str]:
    """The measures of both halves, the speed."""
    for name, halves in results["sets"].items():
        for half, found in halves.items():
            yield from _engines(f"{name}, {half} half", found)
    yield from _engines("five real servers", results["real"])
    yield from _speed(results["large"])


def _engines(what: str, found: Mapping[str, Any]) -> Iterator[str]:
    engines = found["engines"]
    columns = [bold_best([engines[engine][each] for engine in engines]) for each in MEASURES]
    rows = [[engine, *cells] for engine, *cells in zip(engines, *columns, strict=True)]
    yield f"{what}: {found['requests']} requests, {found['questions']} questions for no tool\n"
    yield table(["engine", *MEASURES], rows) + "\n"


def _speed(large: Mapping[str, Any]) -> Iterator[str]:
    yield f"{large['tools']:,} tools: indexed in {large['index_s']:.1f} s, again in {large['again_s']:.2f} s\n"
    timed = {name: value for name, value in large.items() if isinstance(value, Mapping)}
    rows = [[name, f"{each['p50']:.1f}", f"{each['p99']:.1f}"] for name, each in timed.items()]
    yield table(["requests", "p50", "p99"], rows) + "\n"
