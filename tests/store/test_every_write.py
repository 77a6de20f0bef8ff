"""After every single write of every corpus the store is sound, and can be backed up."""

import pytest
from tests.tools.servers.kit import FILES, WEATHER

NOTES = "# Deploying\n\nStaging deploys need the VPN.\n\n## Rollback\n\nRun the rollback script, then tell Mira.\n"
CHANGED = [{**FILES[0], "description": "Something else entirely"}, *FILES[1:]]


def memory_writes(memories, folder):
    yield "add", lambda: memories.add("Tokens rotate every 24 hours", id="old", author="Mira", tags=["auth"])
    yield "add many", lambda: memories.add_many({"content": f"fact number {at}", "id": f"m{at}"} for at in range(3))
    yield "add again", lambda: memories.add("Tokens rotate every 24 hours")
    yield "add what is only punctuation", lambda: memories.add("— … !", id="signs")
    yield "update", lambda: memories.update("m0", content="another fact")
    yield "pin", lambda: memories.pin("m0")
    yield "unpin", lambda: memories.unpin("m0")
    yield "reinforce", lambda: memories.reinforce("m0")
    yield "deemphasize", lambda: memories.deemphasize("m0")
    yield "search", lambda: memories.search("fact")
    yield "supersede", lambda: memories.supersede("m1", "m2")
    yield "unsupersede", lambda: memories.unsupersede("m1")
    yield "relate", lambda: memories.relate("m1", "old", "CONTRADICTS")
    yield "delete", lambda: memories.delete("m1")
    yield "restore", lambda: memories.restore("m1")
    yield "delete again", lambda: memories.delete("m1")
    yield "hard delete of a deleted one", lambda: memories.delete("m1", hard=True)
    yield "hard delete", lambda: memories.delete("signs", hard=True)
    yield "start a session", lambda: memories.start_session("shop", id="work")
    yield "add in a session", lambda: memories.add("Only here", project="shop", session="work", tier="session")
    yield "end a session", lambda: memories.end_session("work", summary="All was well")
    yield "folder", lambda: memories.folder("shop").create("/memories/notes.md", "a note\n")
    yield "empty file in the folder", lambda: memories.folder("shop").create("/memories/empty.md", "")
    yield "delete in the folder", lambda: memories.folder("shop").delete("/memories/notes.md")
    yield "export", lambda: memories.export(folder / "memories.jsonl")
    yield "forget", lambda: memories.forget(dry_run=False, project="shop")
    yield "forget for good", lambda: memories.forget(dry_run=False, hard=True, project="default")
    yield "import", lambda: memories.import_(folder / "memories.jsonl")
    yield "reindex", memories.reindex


def document_writes(documents, folder):
    notes = folder / "notes"
    notes.mkdir()
    (folder / "nothing").mkdir()
    (notes / "deploy.md").write_text(NOTES)
    (notes / "empty.md").write_text("")
    (notes / "blank.txt").write_text(" \n\n \n")
    (notes / "broken.pdf").write_bytes(b"%PDF-1.7 no more than this")
    yield "add a folder", lambda: documents.add(notes, folder_id="notes")
    yield "add a folder without files", lambda: documents.add(folder / "nothing", folder_id="nothing")
    yield "a file becomes empty", lambda: [(notes / "deploy.md").write_text(""), documents.refresh("notes")]
    yield "and full again", lambda: [(notes / "deploy.md").write_text(NOTES), documents.refresh("notes")]
    yield "a file goes", lambda: [(notes / "blank.txt").unlink(), documents.refresh("notes")]
    yield "reindex", documents.reindex
    yield "remove a folder without files", lambda: documents.remove("nothing")
    yield "remove a folder", lambda: documents.remove("notes")


def tool_writes(tools, folder):
    yield "add", lambda: tools.add("files", FILES)
    yield "add a server without tools", lambda: tools.add("nothing", [])
    yield "change", lambda: tools.add("files", CHANGED)
    yield "add to another catalogue", lambda: tools.add("weather", WEATHER, catalogue="other")
    first = f"files__{FILES[0]['name']}"
    yield "reject", lambda: tools.reject(first)
    yield "approve", lambda: tools.approve(first)
    yield "disable", lambda: tools.disable(first)
    yield "enable", lambda: tools.enable(first)
    yield "disable a server", lambda: tools.disable("files")
    yield "enable a server", lambda: tools.enable("files")
    yield "rule", lambda: tools.rule("files__*", "deny")
    yield "no rule", lambda: tools.rule("files__*", None)
    yield "search", lambda: tools.search("read a file")
    yield "reindex", tools.reindex
    yield "remove", lambda: tools.remove("nothing")
    yield "remove a server with tools", lambda: tools.remove("files")


def flow_writes(flows, folder):
    yield "start a session", lambda: flows.start_session(goal="Send 0.1 ETH", app="wallet", id="s-1")
    yield "start one without a goal", lambda: flows.start_session(id="s-2")
    yield "reindex sessions without steps", flows.reindex
    yield "record", lambda: flows.record("s-1", tool="ui_click", target={"testId": "send-button"})
    yield (
        "record a failure",
        lambda: flows.record("s-1", tool="ui_type", ok=False, error={"code": "E", "message": "no"}),
    )
    yield "share secrets", lambda: flows.share_secrets("s-1", "s-2")
    yield "export", lambda: flows.export(folder / "sessions")
    yield "delete", lambda: flows.delete("s-1")
    yield "import", lambda: flows.import_(folder / "sessions")
    yield "reindex", flows.reindex
    yield "delete a session without steps", lambda: flows.delete("s-2")


WRITES = {"memories": memory_writes, "documents": document_writes, "tools": tool_writes, "flows": flow_writes}


@pytest.mark.parametrize("corpus", WRITES)
def test_after_every_write_the_store_is_sound_and_can_be_backed_up(athand, location, tmp_path, corpus):
    done = 0
    for name, write in WRITES[corpus](athand.corpora[corpus], tmp_path):
        write()
        assert athand.check() == [], name
        if location == ":memory:":
            athand.back_up(tmp_path / "backup.db", force=True)
        done += 1
    assert done > 7


def test_an_item_that_lost_its_passages_is_named_and_indexed_again(athand):
    athand.memories.add("Staging deploys need the VPN", id="lost")
    athand.flows.start_session(id="without-steps")
    with athand._store.transaction() as transaction:
        transaction.remove(athand.memories.index, "default", ["lost"])
    assert athand.check() == ["memories: 1 are not in the index; run: athand reindex"]
    athand.memories.reindex()
    assert athand.check() == [] and athand.search("VPN")
