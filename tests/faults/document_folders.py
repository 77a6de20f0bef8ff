"""What the fault tests of documents share: a folder that changes, an index of it, and whether the two are alike."""

import os
from contextlib import contextmanager

import psutil
from stores import EMBEDDER, made_up_word, sentence

from athand.app import SCHEMAS
from athand.documents import Documents
from athand.store import open_store

ENDINGS = ("md", "md", "md", "txt", "py", "html", "json")


@contextmanager
def indexed(location):
    """A store and its documents, with a model that is loaded already."""
    store = open_store(str(location), SCHEMAS)
    documents = Documents(store, EMBEDDER)
    try:
        yield store, documents
    finally:
        documents.close()
        store.close()


def fill(folder, random, files):
    """New files, in several directories, each with a word of its own."""
    return [write(folder, random) for _ in range(files)]


def write(folder, random, path=None):
    word = made_up_word(random)
    path = path or folder / random.choice("abc") / random.choice(("", "x", "y")) / f"{word}.{random.choice(ENDINGS)}"
    path.parent.mkdir(parents=True, exist_ok=True)
    paragraphs = [
        f"## Part {at}\n\n{sentence(random)}. {sentence(random, word)}.\n" for at in range(random.randint(1, 9))
    ]
    path.write_text(f"# {word}\n\n" + "\n".join(paragraphs))
    return path


def edit(folder, random, times=4):
    """What people do to files: change, add, delete, move, move a whole directory."""
    for _ in range(times):
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        chosen = random.choice(files)
        kind = random.choice(("change", "change", "add", "delete", "move", "move directory", "touch"))
        if kind == "change":
            write(folder, random, chosen)
        elif kind == "add":
            write(folder, random)
        elif kind == "delete" and len(files) > 10:
            chosen.unlink()
        elif kind == "move":
            chosen.rename(chosen.with_name(f"{made_up_word(random)}{chosen.suffix}"))
        elif kind == "move directory":
            (folder / "a").rename(folder / made_up_word(random))
            write(folder, random, folder / "a" / "new.md")
        else:
            os.utime(chosen)


def on_disk(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def listed(documents, folder_id="folder"):
    found, token = set(), None
    while True:
        page = documents.list_documents(folder_id, limit=500, continuation_token=token)
        found |= {each.document_id for each in page}
        token = page.continuation.next_token
        if token is None:
            return found


def assert_alike(location, fresh, folder):
    """The index is whole, is what a fresh one would be, and what everything derived made anew is."""
    with indexed(location) as (store, documents):
        documents.refresh("folder")
        assert store.check_integrity() == []
        [state] = documents.list_folders()
        assert (state.state, state.reason) == ("ready", None)
        assert listed(documents) == on_disk(folder)
        assert documents.problems() == []
        is_ = documents.fingerprint()
        with indexed(fresh) as (_, other):
            other.add(folder)
            assert is_ == other.fingerprint()
        documents.reindex()
        assert documents.fingerprint() == is_


def children():
    """The processes that this one has started and that have not ended."""
    alive = psutil.Process().children(recursive=True)
    return {each.pid for each in alive if each.status() != psutil.STATUS_ZOMBIE}
