"""How good the answers are: Athand with its own model and with all-MiniLM-L6-v2, and its peers, in one run."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from athand.evaluation import MEASURES, LabelledSet, evaluate
from benchmarks.data import load_sets, minilm
from benchmarks.engines import ATHAND, BY_NAME, KEYWORDS, AthandEngine, Engine, PerProject, Search, is_installed
from benchmarks.tables import bold_best, table

NONSENSE = "qwxyz zzgrmpf"
ASKED, OF = "cranfield", "metatool-dev"
WITH_MINILM = "Athand, MiniLM"
PEERS = [BY_NAME[name] for name in ("FTS5", KEYWORDS, "bm25s", "wordllama", "LanceDB hybrid")]
MISSING = "not installed"

Results = dict[str, Any]


def measure() -> Results:
    """Every engine on every set."""
    sets = load_sets()
    foreign = [question.text for each in sets if each.name == ASKED for question in each.questions]
    return {"sets": {each.name: _measure_set(each, foreign if each.name == OF else []) for each in sets}}


def _measure_set(labelled: LabelledSet, foreign: list[str]) -> Results:
    engines = {}
    for name, engine in _engines().items():
        print(f"{labelled.name}: {name} …", flush=True)
        engines[name] = _measure_engine(engine, labelled, foreign) if engine else None
    return {"passages": len(labelled.items), "questions": len(labelled.questions), "engines": engines}


def _engines() -> dict[str, Engine | PerProject | None]:
    """What is measured, by name; None is what is not installed."""
    model = minilm()
    ours = {ATHAND: AthandEngine(), WITH_MINILM: AthandEngine(model=str(model)) if model else None}
    return ours | {peer.name: PerProject(peer) if is_installed(peer) else None for peer in PEERS}


def _measure_engine(engine: Engine | PerProject, labelled: LabelledSet, foreign: list[str]) -> Results:
    with TemporaryDirectory() as name:
        engine.build(Path(name), labelled.items)
        with engine.open(Path(name)) as search:
            report = evaluate(labelled.questions, lambda asked, limit: search(asked.text, asked.project, limit))
            return report.to_dict() | {"nonsense": len(search(NONSENSE, None, 10)), "foreign": _share(search, foreign)}


def _share(search: Search, questions: list[str]) -> float | None:
    """Which share of the questions gets any answer."""
    return sum(bool(search(question, None, 10)) for question in questions) / len(questions) if questions else None


def tables(results: Results) -> Iterator[str]:
    """One table per set, then categories, then what should not be answered."""
    yield "Half of these questions also chose the ranking constants; `benchmarks/tune.py` prints the other half alone."
    for name, found in results["sets"].items():
        title = f"### {name}: {found['passages']:,} passages, {found['questions']:,} questions"
        yield f"{title}\n\n{_measures(found['engines'])}"
    for name, found in results["sets"].items():
        if len(found["engines"][ATHAND]["by_category"]) > 1:
            yield f"### {name}: recall@10 by category\n\n{_categories(found['engines'])}"
    yield f"### What nothing answers\n\n{_unanswerable(results['sets'])}"


def _measures(engines: Mapping[str, Results | None]) -> str:
    ran = {name: found for name, found in engines.items() if found}
    columns = [bold_best([found["measures"][measure] for found in ran.values()]) for measure in MEASURES]
    plain = ran[KEYWORDS]["measures"]["nDCG@10"]
    rows = [
        [name, *(column[at] for column in columns), f"{found['measures']['nDCG@10'] / plain - 1:+.0%}", _p50(found)]
        for at, (name, found) in enumerate(ran.items())
    ]
    rows += [[f"{name}: {MISSING}"] + ["-"] * (len(MEASURES) + 2) for name, found in engines.items() if not found]
    return table(["engine", *MEASURES, f"nDCG against {KEYWORDS}", "p50 ms"], rows)


def _p50(found: Results) -> str:
    return f"{found['milliseconds']['p50']:.1f}"


def _categories(engines: Mapping[str, Results | None]) -> str:
    ran = {name: found["by_category"] for name, found in engines.items() if found}
    categories = list(ran[ATHAND])
    columns = [bold_best([found[category]["recall@10"] for found in ran.values()]) for category in categories]
    return table(["engine", *categories], [[name, *(column[at] for column in columns)] for at, name in enumerate(ran)])


def _unanswerable(sets: Mapping[str, Results]) -> str:
    """How many hits a nonsense query gets, and how often one set's questions are answered from another."""
    names = [name for name, found in sets[OF]["engines"].items() if found]
    header = ["engine", *(f"`{NONSENSE}` in {name}" for name in sets), f"{ASKED}'s questions answered in {OF}"]
    counts = {name: [found["engines"][name]["nonsense"] for found in sets.values()] for name in names}
    shares = {name: f"{sets[OF]['engines'][name]['foreign']:.0%}" for name in names}
    return table(header, [[name, *counts[name], shares[name]] for name in names])


if __name__ == "__main__":
    print("\n" + "\n\n".join(tables(measure())))
