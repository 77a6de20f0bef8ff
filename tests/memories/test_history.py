"""Transcripts of past sessions become memories: each turn once, whatever is in the file."""

import subprocess
import sys
from datetime import UTC, datetime

import pytest
from tests.engines import one_engine
from tests.memories.transcripts_kit import CLAUDE, CODEX, GEMINI, SESSION, claude, failed, say, tool, write
from tests.waiting import PATIENCE

from athand import Athand
from athand.adapters.project import project_of_session
from athand.memories.history.browse import list_sessions, list_turns
from athand.memories.history.importer import import_history
from athand.memories.history.lines import LONGEST_LINE
from athand.memories.history.transcripts import find_transcripts

KEY = "sk-ant-api03-" + "Ab3" * 12


@pytest.fixture
def home(tmp_path):
    return tmp_path / "somebody"


@pytest.fixture
def claude_file(home):
    return write(home / ".claude" / "projects" / "-gone-shop" / f"{SESSION}.jsonl", CLAUDE)


@pytest.fixture
def codex_file(home):
    return write(home / ".codex" / "sessions" / "2026" / "01" / "06" / "rollout-2026-01-06-019a2d7a.jsonl", CODEX)


@pytest.fixture
def read(memories, home):
    """Reads all transcripts; the turns and what has changed."""

    def read():
        return import_history(memories, find_transcripts(home, {}), project_of_session, "here")

    return read


def turns(memories, session=SESSION):
    return list_turns(memories, session)


def test_a_turn_of_claude_code_is_a_memory_with_what_was_said_done_and_failed(memories, read, claude_file):
    assert (read().new, memories.projects()) == (2, ["shop"])
    first, second = turns(memories)
    assert first.content == (
        "Why does the checkout time out?\n\n"
        "Agent: The pool of Redis connections was too small; it is 32 now.\n\n"
        "Calls: Bash make test-checkout; Edit /gone/shop/src/cart.py\n\n"
        "Failed: E TimeoutError: redis:6379 does not answer"
    )
    assert (first.files, first.context, first.written_by) == (("src/cart.py",), "claude-code, branch main", "history")
    assert first.created_at == datetime(2026, 1, 5, 10, 0, 3, tzinfo=UTC) and second.content.startswith("Write that")
    (session,) = list_sessions(memories)
    assert (session.title, session.turns, session.ended_at) == (
        "Checkout timeout",
        2,
        datetime(2026, 1, 5, 10, 5, 4, tzinfo=UTC),
    )


def test_a_turn_of_codex_is_one_too(memories, read, codex_file):
    read()
    (turn,) = turns(memories, "019a2d7a")
    assert turn.content == (
        "make the deploy script wait for the load balancer\n\n"
        "Agent: It polls /healthz for at most 60 s now.\n\n"
        "Calls: shell bash -lc ./deploy.sh; apply_patch\n\n"
        "Failed: Exit code: 7 no healthy upstream"
    )
    assert (turn.project, turn.files, turn.context) == ("infra", ("deploy.sh",), "codex, branch fix")


@one_engine
def test_a_turn_of_gemini_is_one_too_and_a_message_that_grows_counts_once(memories, read, home):
    file = home / ".gemini" / "tmp" / "web" / "chats" / "session-2026-01-07T08-00-76a0.jsonl"
    write(file, GEMINI[:3])
    (file.parents[1] / ".project_root").write_text("/gone/web")
    assert read().new == 1
    write(file, GEMINI[3:], "a")
    assert (read().new, read().files) == (0, 0)
    (turn,) = turns(memories, "76a0")
    assert turn.content == (
        "fix the test of the form\n\nAgent: The label was missing.\n\n"
        "Calls: run_shell_command npm test; replace /gone/web/src/form.ts\n\nFailed: 1 failing: form"
    )
    assert (turn.project, turn.files) == ("web", ("src/form.ts",))


@one_engine
def test_what_another_agent_did_in_the_session_is_of_it(memories, read, claude_file):
    asked = claude("user", "Look for all uses of the pool", "10:01:00", "s1", isSidechain=True)
    helper = claude_file.parent / SESSION / "subagents" / "agent-a748733.jsonl"
    write(helper, [asked, claude("assistant", [say("Three uses.")], "10:01:05", "s2", isSidechain=True)])
    read()
    assert [each.content.split("\n")[0] for each in turns(memories)][1] == "Look for all uses of the pool"
    assert [each.title for each in list_sessions(memories)] == ["Checkout timeout"]


def test_reading_twice_adds_nothing_and_a_file_that_has_grown_is_read_on(memories, read, claude_file, codex_file):
    assert read().new == 3
    again = read()
    assert (again.files, again.new, again.changed) == (0, 0, 0)
    write(claude_file, [claude("assistant", [say("And it is pushed.")], "10:05:30", "a5")], "a")
    grown = read()
    assert (grown.files, grown.turns, grown.new, grown.changed) == (1, 1, 0, 1)
    write(claude_file, [claude("user", "Thanks, now deploy", "10:06:00", "u3")], "a")
    assert (read().new, [each.content for each in turns(memories)][1:]) == (
        1,
        ["Write that down in the changelog\n\nAgent: Done.\nAnd it is pushed.", "Thanks, now deploy"],
    )


@one_engine
def test_a_file_that_shrinks_or_is_written_anew_is_read_again_and_adds_only_what_is_new(memories, read, claude_file):
    read()
    write(claude_file, CLAUDE[:8])
    assert (read().new, len(turns(memories))) == (0, 2)
    write(claude_file, [claude("user", "Another question", "11:00:00", "u9"), *CLAUDE])
    assert (read().new, len(turns(memories))) == (1, 3)


@one_engine
def test_what_was_read_outlives_its_file_and_what_was_forgotten_stays_forgotten(memories, read, claude_file):
    read()
    assert len(memories.forget(dry_run=False, written_by="history", in_session=SESSION)) == 2
    write(claude_file, [{"type": "summary", "summary": "x"}, *CLAUDE])
    assert read().new == 0 and list_sessions(memories) == []
    memories.restore(memories.list(include_deleted=True, written_by="history")[0].id)
    claude_file.unlink()
    read()
    assert len(turns(memories)) == 1


@one_engine
def test_turns_are_found_below_what_was_remembered_on_purpose_and_no_brief_lists_them(memories, read, home):
    words = "The kiosk needs a restart after the nightly update"
    write(home / ".claude" / "projects" / "x" / "a.jsonl", [claude("user", words, "10:00:00", "u1")])
    read()
    kept = memories.add(words, project="shop", created_at=datetime(2026, 1, 5, tzinfo=UTC))
    assert not kept.deduplicated and not kept.similar
    hits = memories.search("restart of the kiosk", project="shop", reinforce=False)
    assert [hit.item.written_by for hit in hits] == ["agent", "history"]
    assert memories.open(hits[1].id).memory.content == words
    assert memories.brief("shop").count("\n- ") == len(memories.list(project="shop")) == 1


@one_engine
def test_secrets_are_removed_before_anything_is_cut(memories, read, home):
    pasted = "x" * 2_950 + f" my key is {KEY}"
    long = "noise " * 2_000 + f"password=hunter2hunter2 {'y' * 280}"
    write(
        home / ".claude" / "projects" / "x" / "a.jsonl",
        [
            claude("user", pasted, "10:00:00", "u1"),
            claude("assistant", [tool("Bash", command=f"curl -H 'x-api-key: {KEY}' {'z' * 40}")], "10:00:01", "a1"),
            claude("user", [failed(long)], "10:00:02", "r1"),
        ],
    )
    read()
    (turn,) = turns(memories)
    assert "sk-ant" not in turn.content and "hunter2" not in turn.content and "y" * 280 in turn.content


@one_engine
def test_hostile_files_cost_their_lines_and_nothing_else(memories, read, home):
    file = home / ".claude" / "projects" / "x" / "a.jsonl"
    write(file, CLAUDE)
    future = claude("user", "from a clock that is ahead", "10:00:00", "u5") | {"timestamp": "2999-01-01T00:00:00Z"}
    odd = [
        claude("user", "no time \ud800 \x07 here", "10:00:00", "u6")
        | {"timestamp": 5, "sessionId": "a\nb", "cwd": "\0"},
        {"type": "user", "message": {"role": "user", "content": [1, None, {"type": "text", "text": 5}]}},
        {"type": "assistant", "message": {"content": [{"type": "tool_use", "name": None, "input": [1]}]}},
        {"type": ["user"], "message": 5},
        claude("user", "<private>nothing but this</private>", "10:00:00", "u7"),
    ]
    with file.open("ab") as more:
        more.write(b'{"broken": \n\xff\xfe\n[1]\n\n' + b"[" * 100_000 + b"\n")
        more.write(b'{"type": "user", "a": "' + b"x" * LONGEST_LINE + b'"}\n')
    write(file, [future, *odd], "a")
    with file.open("ab") as more:
        more.write(b'{"type": "user", "half of a rec')
    counts = read()
    assert (counts.new, counts.skipped_lines, counts.problems) == (4, 5, [])
    written = [each.content for each in memories.list(written_by="history", limit=100)]
    assert "from a clock that is ahead" in written and "no time ? here" in " ".join(" ".join(written).split())
    assert max(each.created_at for each in memories.list(written_by="history")) <= memories.now()


@one_engine
def test_what_cannot_be_read_is_named_and_the_rest_is_read(memories, read, claude_file, codex_file):
    claude_file.rename(claude_file.with_suffix(".moved"))
    claude_file.symlink_to(claude_file.with_suffix(".moved"))
    counts = read()
    assert counts.new == 1 and str(claude_file) in counts.problems[0]


@pytest.mark.slow
@one_engine
def test_a_line_of_100_mb_is_left_out(memories, read, claude_file):
    with claude_file.open("ab") as more:
        more.write(b'{"a": "' + b"x" * 100_000_000 + b'"}\n')
    write(claude_file, [claude("user", "after it", "12:00:00", "u8")], "a")
    assert read().new == 3 and turns(memories)[-1].content == "after it"


WRITER = """
import sys
from pathlib import Path
from athand import Athand
from athand.adapters.project import project_of_session
from athand.memories.history import importer
importer._BATCH = 3
with Athand(sys.argv[1]) as athand:
    add = importer._add
    def told(memories, items):
        added = add(memories, items)
        print(len(added), flush=True)
        return added
    importer._add = told
    importer.import_history(athand.memories, importer_transcripts(Path(sys.argv[2])), project_of_session, "here")
""".replace(
    "importer_transcripts(Path(sys.argv[2]))",
    "__import__('athand.memories.history.transcripts', fromlist=['x']).find_transcripts(Path(sys.argv[2]), {})",
)


def test_an_import_that_is_killed_has_lost_nothing_and_goes_on(tmp_path, home):
    records = [
        claude("user", f"question {number} about part {number * 7}", "10:00:00", f"u{number}") for number in range(60)
    ]
    write(home / ".claude" / "projects" / "x" / "a.jsonl", records)
    store = tmp_path / "store.db"
    command = [sys.executable, "-c", WRITER, str(store), str(home)]
    killed = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    acknowledged = sum(int(killed.stdout.readline()) for _ in range(4))
    killed.kill()
    killed.wait(PATIENCE)
    killed.stdout.close()
    with Athand(store) as athand:
        before = len(athand.memories.list(written_by="history", limit=100))
        assert 60 > before >= acknowledged == 12
        import_history(athand.memories, find_transcripts(home, {}), project_of_session, "here")
        assert sorted(each.content for each in list_turns(athand.memories, SESSION)) == sorted(
            each["message"]["content"] for each in records
        )
        assert athand.check() == []


# On the command line


@pytest.fixture
def user(claude_file, home, monkeypatch):
    monkeypatch.setenv("HOME", str(home))


def test_nothing_is_read_until_the_user_says_yes(run, user, monkeypatch):
    refused = run("history", "import")
    assert refused.code != 0 and "athand config set history true" in refused.err
    assert run("history", "list", "--json").json == []
    run("config", "set", "history", "true")
    assert run("history", "import", "--json").json["new"] == 2
    assert run("history", "import", "--exclude", "gone-shop", "--json").json["files"] == 0


def test_past_sessions_are_listed_shown_and_searched(run, user):
    assert "2 new turns" in run("history", "import", "--yes").err
    assert "Checkout timeout" in run("history", "list").out
    assert "The pool of Redis" in run("history", "show", SESSION[:8]).out
    assert "no past session" in run("history", "show", "nothing").err
    assert "The pool of Redis" in run("history", "search", "redis connections too small").out
    assert "The pool of Redis" in run("search", "redis connections too small").out


def test_the_hook_at_the_end_of_a_session_reads_its_transcript_if_that_is_allowed(run, user, claude_file, monkeypatch):
    from athand.adapters.cli import hook
    from athand.adapters.cli.hook_files import HookFiles
    from athand.adapters.cli.session import Session

    run("memory", "add", "so that there is a store")
    given = {"session_id": SESSION, "cwd": "/", "transcript_path": str(claude_file)}
    for allowed, sessions in (("false", 0), ("true", 1)):
        monkeypatch.setenv("ATHAND_HISTORY", allowed)
        assert hook.answer(Session(), "session-end", given, HookFiles(claude_file.parent)) == ""
        assert len(run("history", "list", "--json").json) == sessions
