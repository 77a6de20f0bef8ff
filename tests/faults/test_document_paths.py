"""Nobody gets out of a folder: not by a path, not by an id, not by swapping files for links at the right moment."""

import os
import threading
import time
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

from athand import Athand
from athand.errors import AthandError, InvalidInput, NotFound

CANARY = "zyxwcanaryoutside"
TRAVERSALS = [
    "..",
    "../",
    "../..",
    "../canary.md",
    "../outside/canary.md",
    "../../../../../../etc/passwd",
    "./../outside/canary.md",
    "docs/../../outside/canary.md",
    "docs/../../outside",
    "docs/./../../outside/canary.md",
    "docs//..//..//outside/canary.md",
    "folder/../..",
    "/etc/passwd",
    "//etc/passwd",
    "/{outside}/canary.md",
    "{outside}/canary.md",
    "file://{outside}/canary.md",
    "~/canary.md",
    "~root/.ssh/id_rsa",
    "$HOME/canary.md",
    "%2e%2e/outside/canary.md",
    "%2e%2e%2foutside%2fcanary.md",
    "..%2foutside%2fcanary.md",
    "..%c0%af..%c0%afetc/passwd",
    "%252e%252e%252foutside",
    "..\\outside\\canary.md",
    "..\\..\\..\\etc\\passwd",
    "C:\\Windows\\win.ini",
    "docs\\..\\..\\outside",
    "../outside/canary.md\0.md",
    "guide.md\0/../../outside/canary.md",
    "\0",
    "\u2025/outside/canary.md",
    "\uff0e\uff0e/outside/canary.md",
    "..\uff0foutside\uff0fcanary.md",
    "..\u2215outside\u2215canary.md",
    "..\u2044outside",
    ".. /outside/canary.md",
    "../outside/canary.md.",
    "../outside/canary.md...",
    "..." * 100,
    "../" * 5_000 + "etc/passwd",
    "a" * 100_000,
    "out.md",
    "outside",
    "outside/canary.md",
    "outside/../outside/canary.md",
    "chain",
    "chain/canary.md",
    "/dev/stdin",
    "/dev/zero",
    "/proc/self/environ",
    "/proc/self/" + "root" + "/{outside}/canary.md",
    "/proc/self/cwd",
    "/proc/self/fd/0",
    "\ud800/../outside",
    "\udcff",
    "\x1b[31m/..",
    "\n../outside/canary.md",
    " ../outside/canary.md",
    "'; DROP TABLE documents; --",
    "..;/outside/canary.md",
    "[.][.]/outside/*",
    "{..,docs}/outside",
    "**/../outside/**",
    "../**",
    "/**/canary.md",
    "[z-a]",
    "[[:foo:]]",
    "[!",
    "[]",
    "(?:..)/",
    "\\",
    "*\\",
    "?" * 300,
]


@pytest.fixture
def place(tmp_path):
    """A folder with links out of it, and a canary outside."""
    folder, outside = tmp_path / "folder", tmp_path / "outside"
    (folder / "docs").mkdir(parents=True)
    outside.mkdir()
    (outside / "canary.md").write_text(f"# Canary\n\n{CANARY}\n")
    os.utime(outside / "canary.md", (1_000_000_000, 1_000_000_000))
    (folder / "docs" / "guide.md").write_text("# Guide\n\nInside of the folder.\n")
    (folder / "out.md").symlink_to(outside / "canary.md")
    (folder / "outside").symlink_to(outside)
    (folder / "chain").symlink_to("outside")
    return tmp_path


def calls(documents):
    """Everything that takes a path or an id."""
    return {
        "explore": lambda path: documents.explore("folder", path),
        "list_documents": lambda path: documents.list_documents("folder", path),
        "get_document_data": lambda path: documents.get_document_data("folder", path),
        "get_document_text": lambda path: documents.get_document_text("folder", path),
        "get_chunks": lambda path: documents.get_chunks("folder", [path]),
        "search": lambda path: documents.search("canary inside", path=path),
        "search_content": lambda path: documents.search_content(exact_terms=["inside", CANARY], path=path).data,
        "folder of search": lambda path: documents.search("canary inside", folder_id=path),
        "folder of search_content": lambda path: documents.search_content(path, exact_terms=["inside"]),
        "folder of explore": lambda path: documents.explore(path),
        "folder of list_documents": lambda path: documents.list_documents(path),
        "folder of get_document_text": lambda path: documents.get_document_text(path, "docs/guide.md"),
        "folder of find_documents": lambda path: documents.find_documents("canary inside", folder_id=path),
        "refresh": documents.refresh,
        "problems": documents.problems,
        "remove": documents.remove,
    }


def wrong_with(name, call, path):
    """What is wrong with the answer: only a polite refusal, and what is inside of the folder, are right."""
    try:
        answer = call(path)
    except (NotFound, InvalidInput):
        return None
    except Exception as error:
        return repr(error)
    if name.startswith("get_"):
        return "found something"
    shown = str(getattr(answer, "results", answer))
    return "told something from outside" if CANARY in shown or "root:" in shown else None


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_no_path_and_no_id_leads_out_of_the_folder(place, engine, request):
    assert len(TRAVERSALS) >= 40
    location = place / "r.db" if engine == "sqlite" else request.getfixturevalue("postgres_url")
    canary = place / "outside" / "canary.md"
    with Athand(location) as athand:
        athand.documents.add(place / "folder")
        before = canary.stat().st_atime_ns
        paths = [path.replace("{outside}", str(place / "outside").strip("/")) for path in TRAVERSALS]
        asked = [(name, call, path) for path in paths for name, call in calls(athand.documents).items()]
        wrong = [(name, path[:80], problem) for name, call, path in asked if (problem := wrong_with(name, call, path))]
        assert wrong == []
        assert canary.stat().st_atime_ns == before
        assert athand.documents.search_content(exact_terms=[CANARY]).data.results == ()
        assert [each.document_id for each in athand.documents.list_documents("folder")] == ["docs/guide.md"]
        assert athand.check() == []


@pytest.mark.parametrize("path", ["", "docs", "docs/", "./docs", "/docs", "docs/*.md", "**", "*.md", "guide.md"])
def test_usual_paths_work(place, path):
    with Athand(place / "r.db") as athand:
        athand.documents.add(place / "folder")
        assert [each.document_id for each in athand.documents.list_documents("folder", path)] == ["docs/guide.md"]
        assert athand.documents.search_content(exact_terms=["inside"], path=path or None).data.results


@pytest.mark.parametrize(
    "swaps", [300, pytest.param(2_000, marks=pytest.mark.slow), pytest.param(200_000, marks=pytest.mark.soak)]
)
def test_links_swapped_in_while_the_folder_is_read_lead_nowhere(tmp_path, seed, swaps):
    random = Random(seed)
    folder, outside = tmp_path / "folder", tmp_path / "outside"
    for name in ("outside/d", "outside", "folder/dir/d", "folder"):
        (tmp_path / name).mkdir(parents=True, exist_ok=True)
    for name in ("a.md", "d/a.md"):
        (outside / name).write_text(f"# Canary\n\n{CANARY}\n" * 3)
        (folder / "dir" / name).write_text("# Good\n\nfine and inside\n")
    (folder / "file.md").write_text("# Good\n\nfine and inside\n")
    with Athand(tmp_path / "r.db") as athand:
        athand.documents.add(folder)
        stop = threading.Event()
        done = []
        swapping = threading.Thread(target=_swap, args=(folder, outside, random, stop, done))
        swapping.start()
        rounds = 0
        while swapping.is_alive() and (len(done) < swaps or rounds <= 20):
            with suppress(AthandError):  # the folder may look empty for a moment
                athand.documents.refresh("folder")
            rounds += 1
        stop.set()
        swapping.join()
        assert len(done) >= swaps and rounds > 20
        print(f"{len(done)} swaps, {rounds} rounds")  # noqa: T201 - shown when it fails
        assert athand.documents.search_content(exact_terms=[CANARY]).data.results == ()
        athand.documents.refresh("folder")
        assert {each.document_id for each in athand.documents.list_documents("folder")} == {
            "file.md",
            "dir/a.md",
            "dir/d/a.md",
        }
        assert athand.check() == []
        stored = b"".join(each.read_bytes() for each in tmp_path.glob("r.db*") if each.is_file())
        assert CANARY.encode() not in stored


def _swap(folder, outside, random, stop, done):
    """A file or a directory becomes a link to the canary, and itself again, as fast as possible."""
    aside = folder.parent / "aside"
    while not stop.is_set():
        inside, target = random.choice((("file.md", "a.md"), ("dir", ""), ("dir/a.md", "a.md"), ("dir/d", "d")))
        place = folder / inside
        (folder.parent / "link").symlink_to(outside / target)
        place.rename(aside)
        (folder.parent / "link").rename(place)
        time.sleep(random.choice((0, 0, 0.0002, 0.001)))
        place.unlink()
        aside.rename(place)
        if random.random() < 0.2 and inside != "dir":  # what has changed is read again
            os.utime(folder / "file.md")
            os.utime(folder / "dir" / "a.md")
        done.append(inside)


def test_a_folder_that_becomes_a_link_is_not_followed_to_another_one_silently(tmp_path):
    folder, outside = tmp_path / "folder", tmp_path / "outside"
    for each, word in ((folder, "inside"), (outside, CANARY)):
        each.mkdir()
        (each / "a.md").write_text(f"# Text\n\n{word}\n")
    with Athand(tmp_path / "r.db") as athand:
        athand.documents.add(folder)
        folder.rename(tmp_path / "aside")
        folder.symlink_to(outside)
        with pytest.raises(AthandError):
            athand.documents.refresh("folder")
        assert athand.documents.search_content(exact_terms=[CANARY]).data.results == ()
        assert athand.documents.search_content(exact_terms=["inside"]).data.results


def test_folder_ids_are_names_and_nothing_else(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.md").write_text("# Text\n\nwords\n")
    with Athand(tmp_path / "r.db") as athand:
        for name in ("../x", "a/b", "a b", "", " ", "\0", "x" * 300, "\x1b[31m", "a\n", "\ud800", "'"):
            with pytest.raises(AthandError):
                athand.documents.add(tmp_path / "folder", folder_id=name)
        for path in ("", "\0", "nowhere", "/dev/null", tmp_path / "folder" / "a.md", "\ud800", "x" * 10_000):
            with pytest.raises(AthandError):
                athand.documents.add(path) if path != "" else athand.documents.add(Path("nowhere"))
        assert athand.documents.list_folders() == []
