import json
import os
import signal
import subprocess
import sys

import pytest
from tests.waiting import PATIENCE

from athand.adapters.cli.words import WITHIN

DEPLOYING = """# Deploying

## Staging
Staging deploys need the VPN. Run `make release` and wait for the smoke test.

## Production
Production is deployed on Tuesdays by two people.
"""
CLIENT = '''"""Talks to the API."""


def refresh_token(client):
    """Get a new token before the old one ends."""
    return client.post("/token")
'''


@pytest.fixture
def notes(tmp_path):
    """A folder of two documents, a secret, a binary file and one that is ignored."""
    folder = tmp_path / "Notes"
    (folder / "src").mkdir(parents=True)
    (folder / "deploying.md").write_text(DEPLOYING)
    (folder / "src" / "client.py").write_text(CLIENT)
    (folder / ".env").write_text("TOKEN=1\n")
    (folder / "logo.png").write_bytes(b"\x89PNG")
    (folder / ".gitignore").write_text("*.log\n.gitignore\n")
    (folder / "noise.log").write_text("noise")
    return folder


@pytest.fixture
def indexed(run, notes):
    added = run("docs", "add", str(notes))
    assert added.code == 0, added.err
    return added


def test_a_mistyped_folder_is_named_right(run, tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("Deploys need the VPN")
    run("docs", "add", str(tmp_path / "notes"))
    assert "Did you mean notes?" in run("docs", "list", "ntoes").err


def test_adding_a_folder_tells_what_was_found_left_out_and_wrong(indexed):
    assert indexed.out.startswith("Indexed notes: 2 documents in 2 chunks")
    assert "Left out: 1 binary, 2 ignored" in indexed.err
    assert "1 problem:" in indexed.err
    assert "quarantined: its name says that it holds secrets" in indexed.err
    assert "athand docs status notes --problems" in indexed.err
    assert 'athand docs search "…" --folder notes' in indexed.err


def test_progress_is_no_data(run, notes, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    shown = run("docs", "add", str(notes))
    assert "Indexing" not in shown.out
    assert "Indexing Notes" in shown.err
    assert "Indexing" not in run("docs", "add", str(notes), "--json").err


def test_a_folder_has_a_name_and_a_project(run, notes):
    added = run("docs", "add", str(notes), "--name", "handbook", "--project", "shop", "--json").json
    assert (added["folder_id"], added["project"], added["state"], added["progress"]) == ("handbook", "shop", "ready", 1)
    assert (added["documents"], added["problems"], added["path"]) == (2, 1, str(notes))
    assert run("docs", "add", str(notes), "-q").out == "handbook\n"


def test_a_question_is_answered_with_place_lines_and_reasons(run, indexed):
    shown = run("docs", "search", "how do I deploy to staging?").out
    assert f"deploying.md:1{WITHIN}Deploying" in shown
    assert "4  Staging deploys need the VPN. Run `make release` and wait" in shown
    assert "keyword █" in shown
    assert "meaning █" in shown
    assert "matched: deploy, staging" in shown
    assert "documents 2 files (fresh)" in run("docs", "search", "staging").err


def test_search_keeps_to_folders_paths_and_scores(run, indexed):
    def found(*arguments):
        return [hit["item"]["document_id"] for hit in run("docs", "search", "token", "--json", *arguments).json["hits"]]

    assert "src/client.py" in found("--folder", "notes", "--path", "*.py")
    assert found("--path", "*.html") == []
    assert found("--min-score", "1", "--path", "*.md") == []
    assert len(found("--limit", "1")) == 1


def test_explain_shows_how_a_score_came_about(run, indexed):
    shown = run("docs", "search", "refresh a token", "--explain").out
    for word in ("signal", "measured", "adds", "total"):
        assert word in shown


def test_the_words_that_matched_stand_out(run, indexed, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "33mVPN" in run("docs", "search", "vpn").out
    assert "33mrefresh_token" in run("docs", "content", "--term", "refresh_token").out


def test_content_is_searched_by_concepts_and_terms(run, indexed):
    exact = run("docs", "content", "--term", "refresh_token", "--json").json
    assert [each["document_id"] for each in exact["data"]["results"]] == ["src/client.py"]
    assert exact["data"]["results"][0]["relevance_score"] == pytest.approx(1 / 3)
    both = run("docs", "content", "--concept", "deploying to staging", "--term", "VPN", "--min-score", "0.1")
    assert "deploying.md:1" in both.out
    assert "exact terms" in both.out
    assert "Passages about deploying to staging" in both.err
    nothing = run("docs", "content", "--term", "nowhere at all")
    assert (nothing.code, nothing.out) == (0, "")
    assert "Nothing fits" in nothing.err


def test_the_next_page_is_a_command_away(run, indexed):
    first = run("docs", "content", "--term", "the", "--limit", "1")
    command = next(line for line in first.err.splitlines() if "More:" in line).split("athand ")[1].split()
    second = run(*command)
    assert second.code == 0
    assert "More:" not in second.err
    assert {first.out.split()[2], second.out.split()[2]} == {"deploying.md:1", "src/client.py:1"}


def test_documents_are_found_without_their_content(run, indexed):
    found = run("docs", "find", "staging deploys", "--json").json
    assert found["documents"][0]["document_id"] == "deploying.md"
    assert "content" not in found["documents"][0]
    shown = run("docs", "find", "staging deploys", "--folder", "notes")
    assert "deploying.md  Deploying  notes" in shown.out
    assert "markdown · 1 chunk" in shown.out
    page = run("docs", "find", "token staging", "--limit", "1")
    command = next(line for line in page.err.splitlines() if "More:" in line).split("athand ")[1].split()
    assert run(*command, "-q").out != run("docs", "find", "token staging", "--limit", "1", "-q").out


def test_status_shows_folders_and_their_problems(run, indexed):
    lines = run("docs", "status").out.splitlines()
    assert lines[0].split()[:6] == ["folder", "state", "documents", "chunks", "problems", "age"]
    assert lines[1].split()[:5] == ["notes", "ready", "2", "2", "1"]
    assert "athand docs status --problems" in run("docs", "status").err
    assert ".env" in run("docs", "status", "notes", "--problems").out
    assert run("docs", "status", "--json").json[0]["folder_id"] == "notes"
    assert run("docs", "status", "--problems", "--json").json[0]["document_id"] == ".env"


def test_a_folder_that_is_away_is_offline_and_still_found(run, indexed, notes):
    notes.rename(notes.with_name("elsewhere"))
    status = run("docs", "status")
    assert "offline" in status.out
    assert "is not there now" in " ".join(status.out.split())
    found = run("docs", "search", "staging deploys")
    assert "deploying.md:1" in found.out
    assert "offline" in found.err
    assert run("docs", "refresh", "notes").code == 69
    assert run("docs", "refresh").code == 0


def test_what_changed_is_found_without_being_asked_for(run, indexed, notes):
    (notes / "zebra.md").write_text("# Zebras\nThe zebra is striped.\n")
    assert "zebra.md:1" in run("docs", "search", "zebra").out
    (notes / "zebra.md").unlink()
    assert run("docs", "refresh", "--json").json[0]["documents"] == 2
    assert run("docs", "refresh", "notes").out.startswith("Indexed notes: 2 documents")


def test_a_folder_is_forgotten_when_that_is_meant(run, indexed, notes):
    refused = run("docs", "remove", "notes")
    assert refused.code == 2
    assert "--yes" in refused.err
    removed = run("docs", "remove", "notes", "--yes")
    assert "Forgot notes with 2 documents" in removed.err
    assert (notes / "deploying.md").exists()
    assert run("docs", "status", "--json").json == []
    assert "athand docs add" in run("docs", "status").err


def test_quiet_prints_ids_only(run, indexed):
    chunk = run("docs", "search", "staging", "--json").json["hits"][0]["id"]
    assert run("docs", "search", "staging", "-q", "--limit", "1").out == f"{chunk}\n"
    assert run("docs", "content", "--term", "VPN", "-q").out == f"{chunk}\n"
    assert run("docs", "find", "staging", "-q", "--limit", "1").out == "deploying.md\n"
    assert run("docs", "status", "-q").out == "notes\n"
    assert run("docs", "status", "-q", "--problems").out == ".env\n"
    assert run("docs", "refresh", "-q").out == "notes\n"
    assert run("docs", "remove", "notes", "-q", "--yes").out == "notes\n"


def test_without_folders_every_question_says_how_to_begin(run):
    assert "athand docs add" in run("docs", "search", "anything").err
    assert "athand docs add" in run("docs", "refresh").err
    assert "athand docs add" in run("search", "anything").err
    assert run("docs", "watch").code == 1


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("docs", "search", "x", "--folder", "nope"), 1, "No folder 'nope'"),
        (("docs", "status", "nope"), 1, "athand docs status"),
        (("docs", "remove", "nope"), 1, "No folder 'nope'"),
        (("docs", "refresh", "nope"), 1, "No folder 'nope'"),
        (("docs", "add", "/no/such/folder"), 1, "does not exist"),
        (("docs", "add", __file__), 2, "is not a folder"),
        (("docs", "content"), 2, "Give a --concept or a --term"),
        (("docs", "content", "--token", "made-up"), 2, "Ask again without a token"),
        (("docs", "content", "--term", "x", "--limit", "51"), 2, "'--limit': it must be a whole number from 1 to 50"),
        (("docs", "find"), 2, "Find what?"),
        (("docs", "nonsense"), 2, "No such command"),
    ],
)
def test_a_mistake_is_one_clear_sentence_with_the_right_exit_code(run, arguments, code, message):
    outcome = run(*arguments)
    assert outcome.code == code
    assert message in outcome.err
    assert outcome.out == ""
    assert "Traceback" not in outcome.err


def test_every_command_teaches_by_an_example(run):
    names = "add status refresh watch remove search content find explore list show text chunks".split()
    listed = run("docs", "--help").out
    for name in names:
        assert f"  {name} " in listed
        assert f"athand docs {name}" in run("docs", name, "--help").out.partition("Example")[2]


def test_a_name_that_is_taken_is_refused(run, indexed, tmp_path):
    (tmp_path / "other").mkdir()
    refused = run("docs", "add", str(tmp_path / "other"), "--name", "notes")
    assert refused.code == 1
    assert "Choose another one with --name" in refused.err


def test_a_tampered_token_is_refused(run, indexed):
    token = run("docs", "content", "--term", "the", "--limit", "1", "--json").json["continuation"]["next_token"]
    changed = token[:-2] + ("A" if token[-2] != "A" else "B") + token[-1]
    refused = run("docs", "content", "--token", changed)
    assert refused.code == 2
    assert "changed on the way" in refused.err
    assert run("docs", "list", "notes", "--token", token).code == 2


def test_watching_tells_each_change_and_ends_with_ctrl_c(indexed, notes, tmp_path):
    environment = {**os.environ, "ATHAND_STORE": str(tmp_path / "store.db")}
    command = [sys.executable, "-c", "from athand.adapters.cli import main; main()", "docs", "watch", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as watch:
        assert json.loads(watch.stdout.readline())["paths"] == 0
        (notes / "zebra.md").write_text("# Zebras\n")
        seen = json.loads(watch.stdout.readline())
        assert seen["folder"]["documents"] == 3
        watch.send_signal(signal.SIGINT)
        assert watch.wait(PATIENCE) == 130
        assert "Traceback" not in watch.stderr.read()


STUCK = """
import time
from athand.adapters.cli import main
from athand.documents.index import _UpdateRun

def write(self, batch):
    print("begun", flush=True)
    while True:
        time.sleep(0.01)  # one long sleep may begin just after a signal, and hear nothing of it
_UpdateRun.write = write
main()
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_indexing_that_is_ended_is_said_to_be_interrupted(run, notes, tmp_path, number, code):
    words = [sys.executable, "-c", STUCK, "docs", "add", str(notes), "--store", str(tmp_path / "store.db")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"begun\n"
        process.send_signal(number)
        process.communicate(timeout=PATIENCE)
    [folder] = run("docs", "status", "--json").json
    assert (process.returncode, folder["state"]) == (code, "pending") and "interrupted" in folder["reason"]
    assert run("docs", "refresh", "--json").json[0]["state"] == "ready"


def test_memories_and_documents_answer_together(run, indexed, add):
    add("Staging deploys need a fresh token", "--project", "shop")
    shown = run("search", "how do I deploy to staging?")
    assert "memory    Staging deploys need a fresh token" in shown.out
    assert "document  deploying.md:1" in shown.out
    assert "memories 1 · documents 2 files (fresh)" in shown.err
    only = run("search", "how do I deploy to staging?", "--folder", "notes", "--json").json["hits"]
    assert {hit["corpus"] for hit in only} == {"documents"}
    beside = run("memory", "search", "staging", "--documents", "--project", "shop", "--json").json["hits"]
    assert {hit["corpus"] for hit in beside} == {"memories", "documents"}


def test_the_status_of_everything_has_documents(run, indexed):
    shown = run("status").out
    assert "documents  2 in 1 folder · 2 chunks · 1 file with problems" in shown
    assert ".env" in run("status", "--problems").out
    assert run("status", "--json").json["corpora"]["documents"]["count"] == 2
    assert run("status", "--problems", "--json").json["document_problems"][0]["document_id"] == ".env"


def test_reindexing_makes_every_index_anew(run, indexed, add):
    add("Staging deploys need a fresh token")
    assert run("reindex", "--verify", "--json").json == {
        "memories": 1,
        "documents": 2,
        "tools": 0,
        "flows": 0,
        "identical": True,
    }
    again = run("reindex", "--verify").err
    assert "Indexed 1 memory, 2 documents, 0 tools and 0 steps of flows. The index was already identical." in again
