import json


def test_the_timeline_is_drawn_in_order(run, tokens):
    shown = run("memory", "timeline", "new").out
    lines = [line.rstrip() for line in shown.splitlines()]
    assert lines[0].startswith(" 09 Nov 2024 ─┬─ Auth tokens rotate every 24 h")
    assert lines[0].endswith("superseded by new")
    assert lines[1] == " " * 14 + "│"
    assert lines[2].startswith(" 12 Nov 2024 ─┼─ ● Auth tokens rotate every 12 h since")
    assert lines[2].endswith("session “audit follow-up”")
    assert lines[3].startswith(" " * 14 + "└─ Decided to cache tokens per worker")
    assert "reflective" in lines[3]
    assert len(lines) == 4


def test_in_80_columns_the_timeline_keeps_the_text(run, tokens, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert "─┬─ Auth tokens rotate every 24 h" in run("memory", "timeline", "new").out
    assert "● Auth tokens rotate every 12 h since" in run("memory", "timeline", "new").out


def test_the_timeline_can_be_short(run, tokens):
    assert run("memory", "timeline", "new", "--before", "0", "--after", "0").out.startswith(" 12 Nov 2024 ─── ● Auth")
    assert run("memory", "timeline", "new", "--before", "1", "--after", "0", "-q").out.split() == ["old", "new"]
    found = run("memory", "timeline", "new", "--json").json
    assert [each["id"] for each in found["before"]] == ["old"]
    assert found["anchor"]["id"] == "new"
    assert found["sessions"]["audit"]["summary"] == "audit follow-up"


def test_the_session_of_a_memory(run, tokens):
    shown = run("memory", "context", "new").out
    for part in ("audit follow-up", "created in it", "1 in this session"):
        assert part in shown
    assert run("memory", "context", "new", "-q").out == "audit\n"
    nothing = run("memory", "context", "cache")
    assert (nothing.code, nothing.out) == (0, "")
    assert "No session" in nothing.err
    assert run("memory", "context", "cache", "--json").json is None


def test_the_brief_is_markdown(run, tokens):
    shown = run("memory", "brief", "--project", "shop").out
    assert "## Last session\n2024-11-12: audit follow-up" in shown
    assert "- Auth tokens rotate every 12 h since the audit (" in shown
    assert run("memory", "brief", "--project", "shop", "--json").json == {"brief": shown.rstrip("\n")}
    assert len(run("memory", "brief", "--project", "shop", "--max-tokens", "20").out) < len(shown)
    assert "athand memory stats" in run("memory", "brief", "--project", "empty").err
    assert "Did you mean shop?" in run("memory", "brief", "--project", "shpo").err


def test_sessions_begin_and_end(run):
    id_ = run("memory", "start-session", "--project", "shop", "-q").out.strip()
    assert id_ in run("memory", "start-session", "--project", "shop", "--id", id_).out
    assert "open" in run("memory", "sessions").out
    assert "“done”" in run("memory", "end-session", id_, "--summary", "done").err
    assert [each["summary"] for each in run("memory", "sessions", "--json").json] == ["done"]
    assert run("memory", "sessions", "--project", "shop", "-q").out.strip() == id_
    assert "athand memory start-session" in run("memory", "sessions", "--project", "other").err


def test_stats_count_and_draw(run, tokens):
    shown = run("memory", "stats").out
    assert "3 memories · 1 superseded · 1 session · 1 relation" in shown
    assert "semantic" in shown
    assert "█" in shown
    assert run("memory", "stats", "--project", "shop", "--json").json["by_project"] == {"shop": 3}
    assert run("memory", "stats", "-q").out == "3\n"
    assert "0 memories" in run("memory", "stats", "--project", "none").out


def test_what_is_exported_can_be_imported_the_same(run, tokens, tmp_path, pipe):
    lines = run("memory", "export", "-")
    assert lines.err == ""
    elsewhere = ("--store", str(tmp_path / "elsewhere.db"))
    pipe(lines.out.encode())
    imported = run("memory", "import", "-", *elsewhere)
    assert "Imported 3 new memories" in imported.err
    assert run("memory", "export", "-", *elsewhere).out == lines.out
    assert json.loads(lines.out.splitlines()[0])["format"] == "athand-memories"


def test_an_export_can_be_of_one_project_and_go_to_a_file(run, tokens, add, tmp_path):
    add("elsewhere", "--project", "home")
    file = tmp_path / "shop.jsonl"
    assert "Exported 3 memories" in run("memory", "export", str(file), "--project", "shop").err
    assert run("memory", "export", str(file), "--json").json == {"memories": 4}
    assert run("memory", "export", str(file), "-q").out == "4\n"
    assert run("memory", "import", str(file), "--json").json == {"memories": 4, "new": 0}


def test_notes_are_imported_into_a_project(run, tmp_path):
    (tmp_path / "notes.md").write_text("# Deploy\n\n- Staging needs the VPN\n- Production does not\n")
    assert "Imported 2 new memories" in run("memory", "import", str(tmp_path / "notes.md"), "--project", "shop").err
    kept = run("memory", "list", "--project", "shop", "--json").json
    assert {each["written_by"] for each in kept} == {"import"}
    (tmp_path / "notes").write_text("plain words\n")
    assert run("memory", "import", str(tmp_path / "notes"), "--format", "markdown").code == 0


def test_a_file_that_cannot_be_imported_or_written_is_one_sentence(run, tmp_path):
    (tmp_path / "bad.jsonl").write_text("{}\noops\n")
    bad = run("memory", "import", str(tmp_path / "bad.jsonl"))
    assert bad.code == 65
    assert "bad.jsonl line" in bad.err
    missing = run("memory", "import", str(tmp_path / "missing.jsonl"))
    assert missing.code == 1
    nowhere = run("memory", "export", str(tmp_path / "no" / "folder" / "x.jsonl"))
    assert nowhere.code != 0
    for outcome in (bad, missing, nowhere):
        assert "Traceback" not in outcome.err
        assert outcome.out == ""
