"""Flows: search, what comes next, healing, looking at pages, and MiniWoB++ where it is installed."""

from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from typing import Any

from benchmarks import flows_heal, flows_next, flows_observe, flows_prior, flows_search, miniwob
from benchmarks.flow_walks import FOR_TUNING
from benchmarks.tables import table

_NEXT = ("top-1", "top-3", "frequency per screen, top-1", "values offered", "calibration error")


def measure() -> dict[str, Any]:
    """Everything, one after the other."""
    found = {
        "search": flows_search.measure(),
        "next": {"report": flows_next.run(), "tune": flows_next.run(FOR_TUNING)},
        "prior": flows_prior.measure(),
        "heal": flows_heal.measure(),
        "observe": flows_observe.main(),
    }
    return found | ({"miniwob": miniwob.measure()} if find_spec("miniwob") else {})


def tables(results: Mapping[str, Any]) -> Iterator[str]:
    """A table for each."""
    yield from flows_search.tables(results["search"])
    yield from _next(results["next"])
    yield from flows_prior.tables(results["prior"])
    yield "Healing\n"
    names = ("precision", "recall", "abstention")
    rows = [
        [half, str(each["cases"]), *(f"{each[name]:.3f}" for name in names)] for half, each in results["heal"].items()
    ]
    yield table(["half", "cases", *names], rows) + "\n"
    yield "A look at 150 elements\n"
    yield table(list(results["observe"]), [[f"{value:.1f}" for value in results["observe"].values()]]) + "\n"
    if "miniwob" in results:
        yield f"MiniWoB++, {results['miniwob']['sessions']} recorded sessions\n"
        yield from miniwob.tables(results["miniwob"])


def _next(halves: Mapping[str, Any]) -> Iterator[str]:
    """How often the next action was known, by how many sessions there are; then how far confidence is right."""
    found = [(half, number, each) for half, numbers in halves.items() for number, each in numbers.items()]
    rows = [
        [half, number, str(each["moments"]), *(f"{each[name]:.3f}" for name in _NEXT)] for half, number, each in found
    ]
    yield "The next action, simulated sessions, each left out in turn\n"
    yield table(["apps", "known", "moments", *_NEXT], rows) + "\n"
    half, number, last = found[len(found) // 2 - 1]
    reliable = [[f"{said:.2f}", f"{came:.2f}", str(count)] for said, came, count in last["reliability"]]
    yield f"Confidence, {half} apps, {number}\n"
    yield table(["mean confidence", "came next", "suggestions"], reliable) + "\n"
