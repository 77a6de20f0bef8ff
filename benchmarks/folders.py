"""How fast folders are indexed and searched, and in how much memory, beside LanceDB, semble and ripgrep.

1,569 Markdown files (11 MB) and 5,000 source files (48 MB) of the packages that are installed here. Every task runs in
a process of its own; searches are asked after a warm-up.
"""

import json
import random
import re
import shutil
import statistics
import subprocess
import sysconfig
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from athand import Athand, Settings
from athand.evaluation import percentiles
from benchmarks.data import CACHE, shared_folder
from benchmarks.documents import Folders, _as_model2vec, load
from benchmarks.engines import BY_NAME
from benchmarks.fresh import call, peak_megabytes
from benchmarks.tables import table

FILES, MEGABYTES = 5_000, 48
SEARCHES, WARM_UP = 100, 10
SEED = 5
RIPGREP = Path(sysconfig.get_paths()["scripts"]) / "rg"
_WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]{5,}")

Results = dict[str, Any]


def measure() -> Results:
    """Both folders, all that is installed."""
    with TemporaryDirectory(dir=CACHE) as work:
        folders = {
            "Markdown": shared_folder("data") / "documents/k8s-dev/files",
            "source": _gathered(Path(work) / "gathered"),
        }
        return {name: _measure_folder(path, Path(work) / name) for name, path in folders.items()}


def _measure_folder(folder: Path, work: Path) -> Results:
    work.mkdir(exist_ok=True)
    print(f"{folder.name}: Athand …", flush=True)
    questions, terms = _questions(folder), _terms(folder)
    found = {
        "files": sum(1 for _ in _files(folder)),
        "megabytes": sum(path.stat().st_size for path in _files(folder)) / 1e6,
        "Athand": call("benchmarks.folders:index", str(folder), str(work))
        | call("benchmarks.folders:search", str(work), questions, terms),
    }
    if find_spec("lancedb"):
        print(f"{folder.name}: LanceDB FTS …", flush=True)
        found["LanceDB FTS"] = call("benchmarks.folders:lancedb", str(work), questions)
    if find_spec("semble"):
        print(f"{folder.name}: semble …", flush=True)
        found["semble"] = call("benchmarks.folders:semble", str(folder), str(work), questions)
    if RIPGREP.is_file():
        found["ripgrep"] = {"exact": _timed(lambda term: _ripgrep(folder, term), terms)}
    return found


def index(folder: str, work: str) -> Results:
    """From nothing, again without a change, and one change with the watcher running."""
    path = Path(work) / "athand.db"
    with Athand(path, settings=Settings()) as athand:
        first = _seconds(lambda: athand.documents.add(folder, folder_id="all"))
        again = _seconds(lambda: athand.documents.refresh("all"))
        chunks = sum(athand.documents.count().values())
    return {
        "first_s": first,
        "again_s": again,
        "chunks": chunks,
        "watched_s": _watched(Path(work)),
        "database_mb": path.stat().st_size / 1e6,
        "indexing_peak_mb": peak_megabytes(),
    }


def _watched(work: Path) -> float:
    """The time from a change in a copy of a folder to its being found; the median of several."""
    folder = work / "watched"
    shutil.copytree(shared_folder("data") / "documents/k8s-dev/files", folder)
    changed = next(folder.rglob("*.md"))
    changed.chmod(0o644)
    with Athand(work / "watched.db", settings=Settings()) as athand:
        athand.documents.add(folder, folder_id="watched")
        athand.documents.watch()
        time.sleep(3)
        return statistics.median(_until_found(athand, changed, f"zyzzyva{number}") for number in range(5))


def _until_found(athand: Athand, path: Path, word: str) -> float:
    started = time.perf_counter()
    path.write_text(f"{path.read_text('utf-8')}\n{word}\n", encoding="utf-8")
    while not athand.documents.count() or not _has(athand, word):
        time.sleep(0.02)
    return time.perf_counter() - started


def _has(athand: Athand, word: str) -> bool:
    """Asked of the store alone: a search would look at the folder by itself."""
    with athand._store.snapshot() as snapshot:
        sql = "SELECT 1 FROM document_chunks WHERE content LIKE :word LIMIT 1"
        return bool(snapshot.rows(sql, {"word": f"%{word}%"}))


def search(work: str, questions: list[str], terms: list[str]) -> Results:
    """Every kind of search, and the page that follows."""
    with Athand(Path(work) / "athand.db", settings=Settings()) as athand:
        content = athand.documents.search_content
        tokens: list[str] = []

        def hybrid(at: tuple[str, str]) -> None:
            content(semantic_concepts=[at[0]], exact_terms=[at[1]])

        def long(at: str) -> None:
            answer = content(semantic_concepts=[at], min_score=0.3)
            tokens.extend(filter(None, [answer.continuation.next_token]))

        found = {
            "search": _timed(athand.documents.search, questions),
            "concepts": _timed(lambda text: content(semantic_concepts=[text]), questions),
            "exact": _timed(lambda term: content(exact_terms=[term]), terms),
            "hybrid": _timed(hybrid, list(zip(questions, terms, strict=False))),
        }
        _timed(long, questions[:20])
        found["next page"] = _timed(lambda token: content(continuation_token=token), tokens[-16:], warm_up=0)
    return found | {"searching_peak_mb": peak_megabytes()}


def lancedb(work: str, questions: list[str]) -> Results:
    """LanceDB's full-text index over the same chunks; vectors are made too, as its own reader would."""
    engine, folder = BY_NAME["LanceDB FTS"], Path(work) / "lancedb"
    folder.mkdir()
    with Athand(Path(work) / "athand.db", settings=Settings()) as athand:
        items = list(Folders(athand).chunks())
    first = _seconds(lambda: engine.build(folder, items))
    with engine.open(folder) as ask:
        return {"first_s": first, "search": _timed(lambda text: ask(text, None, 10), questions)}


def semble(folder: str, work: str, questions: list[str]) -> Results:
    """semble over the same files, with the same static vectors."""
    from semble.index.index import SembleIndex
    from semble.types import ContentType

    model, content = str(_as_model2vec(Path(work) / "model")), (ContentType.CODE, ContentType.DOCS)
    started = time.perf_counter()
    built = SembleIndex.from_path(folder, model_path=model, content=content)
    first = time.perf_counter() - started
    timed = _timed(lambda text: built.search(text, top_k=10), questions)
    return {"first_s": first, "search": timed, "searching_peak_mb": peak_megabytes()}


def _ripgrep(folder: Path, term: str) -> None:
    subprocess.run(
        [str(RIPGREP), "--fixed-strings", "--count", term, str(folder)], stdout=subprocess.DEVNULL, check=False
    )


def _timed(ask: Callable[[Any], Any], asked: Sequence[Any], warm_up: int = WARM_UP) -> dict[str, float]:
    for each in asked[:warm_up]:
        ask(each)
    return percentiles([_seconds(lambda each=each: ask(each)) * 1000 for each in asked[warm_up:]])


def _seconds(action: Callable[[], Any]) -> float:
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def _questions(folder: Path) -> list[str]:
    if folder.name == "files":
        lines = (folder.parent / "queries.jsonl").read_text("utf-8").splitlines()
        return [json.loads(line)["query"] for line in lines][: SEARCHES + WARM_UP]
    return [question["query"] for question in load("code")][: SEARCHES + WARM_UP]


def _terms(folder: Path) -> list[str]:
    """Words that are in the folder, the rare with the common."""
    chance, files = random.Random(SEED), list(_files(folder))
    words = (_WORD.findall(chance.choice(files).read_text("utf-8", "replace")) for _ in range(10 * SEARCHES))
    return [chance.choice(found) for found in words if found][: SEARCHES + WARM_UP]


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file())


def _gathered(folder: Path) -> Path:
    """Source files of installed packages, copied until there are enough of them."""
    packages, size, count = Path(sysconfig.get_paths()["purelib"]), 0, 0
    for path in sorted(packages.rglob("*.py"), key=lambda path: str(path.relative_to(packages))):
        if count < FILES and path.stat().st_size > 0 and size + path.stat().st_size < MEGABYTES * 1e6:
            target = folder / path.relative_to(packages)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
            count, size = count + 1, size + path.stat().st_size
    return folder


def tables(results: Results) -> Iterator[str]:
    """What indexing takes, and what searches take."""
    for name, found in results.items():
        ours = found["Athand"]
        yield (
            f"{name}: {found['files']:,} files, {found['megabytes']:.0f} MB, {ours['chunks']:,} chunks. From nothing "
            f"{ours['first_s']:.1f} s, unchanged {ours['again_s']:.2f} s; "
            f"a change in 1,569 files is found after {ours['watched_s']:.2f} s; "
            f"memory {ours['indexing_peak_mb']:.0f} MB indexing, {ours['searching_peak_mb']:.0f} MB searching; "
            f"database {ours['database_mb']:.0f} MB."
        )
        rows = [
            (engine, kind, f"{times['p50']:.1f}", f"{times['p99']:.1f}", _ratio(times, kind, ours))
            for engine, measured in found.items()
            if isinstance(measured, dict)
            for kind, times in measured.items()
            if isinstance(times, dict)
        ]
        yield table(("engine", "search", "p50 ms", "p99 ms", "times ours"), rows)


def _ratio(times: dict[str, float], kind: str, ours: Results) -> str:
    return f"{times['p50'] / ours[kind]['p50']:.2f}"


if __name__ == "__main__":
    print("\n\n".join(tables(measure())))
