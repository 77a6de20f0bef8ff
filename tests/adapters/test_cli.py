import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest


def add(run, text, *options):
    return run("memory", "add", text, "--json", *options).json["id"]


def test_a_memory_is_added_and_found_again(run):
    added = run("memory", "add", "Staging deploys need the VPN", "--project", "shop")
    assert added.code == 0
    assert "in shop: Staging deploys need the VPN" in added.out
    found = run("search", "how do I deploy to staging?")
    assert "Staging deploys need the VPN" in found.out
    assert "keyword █" in found.out
    assert "meaning █" in found.out
    assert "1 hit" in found.err


def test_every_command_prints_json(run):
    id_ = add(run, "Staging deploys need the VPN", "--tag", "deploy", "--author", "mira")
    assert run("memory", "search", "vpn", "--json").json["hits"][0]["id"] == id_
    assert run("search", "vpn", "--json").json["hits"][0]["item"]["author"] == "mira"
    assert run("memory", "list", "--json").json[0]["tags"] == ["deploy"]
    assert run("memory", "show", id_, "--json").json["content"] == "Staging deploys need the VPN"
    assert run("status", "--json").json["corpora"]["memories"]["count"] == 1
    assert run("bench", "--json").json["measures"]["recall@5"] == 1.0
    assert run("reindex", "--verify", "--json").json == {
        "memories": 1,
        "documents": 0,
        "tools": 0,
        "flows": 0,
        "identical": True,
    }
    assert run("memory", "delete", id_, "--json").json["is_deleted"] is True
    assert run("memory", "restore", id_, "--json").json["is_deleted"] is False


def test_options_are_understood_before_and_after_the_command(run, tmp_path):
    elsewhere = str(tmp_path / "elsewhere.db")
    run("--store", elsewhere, "memory", "add", "kept elsewhere")
    assert len(run("memory", "list", "--store", elsewhere, "--json").json) == 1
    assert run("memory", "list", "--json").json == []


def test_data_dir_names_a_folder(run, tmp_path, monkeypatch):
    monkeypatch.delenv("ATHAND_STORE")
    run("memory", "add", "in a folder", "--data-dir", str(tmp_path / "data"))
    assert (tmp_path / "data" / "athand.db").is_file()


def test_the_model_option_has_an_effect(run):
    wrong = run("memory", "add", "x", "--model", "nope")
    assert wrong.code == 2
    assert "No model named 'nope'" in wrong.err


def test_quiet_prints_the_data_only(run):
    added = run("memory", "add", "something", "--quiet")
    assert added.out.strip() == run("memory", "list", "--json").json[0]["id"]
    assert added.err == ""
    assert run("search", "something", "-q").err == ""


def test_explain_shows_how_a_score_came_about(run):
    add(run, "Staging deploys need the VPN")
    shown = run("search", "staging", "--explain").out
    for word in ("signal", "measured", "weight", "adds", "total"):
        assert word in shown


def test_a_typo_is_mentioned_beside_the_answer(run):
    add(run, "Tokens rotate every day")
    assert "tokns is unknown here; searched for tokens too." in run("search", "tokns").err


def test_nothing_found_is_no_failure(run):
    add(run, "Tokens rotate every day")
    nothing = run("search", "qwxyz zzgrmpf")
    assert (nothing.code, nothing.out) == (0, "")
    assert "Nothing fits" in nothing.err


def test_an_empty_store_says_how_to_begin(run):
    assert "athand memory add" in run("search", "anything").err
    assert "athand memory add" in run("memory", "list").err
    assert run("bench").code == 1


def test_text_is_read_from_standard_input(run, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("from a pipe ☕\n".encode())))
    assert run("memory", "add", "-", "--json").json["content"] == "from a pipe ☕"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xff\xfe")))
    assert run("memory", "add", "-").code == 2


def test_a_hard_delete_wants_to_be_meant(run):
    id_ = add(run, "secret")
    refused = run("memory", "delete", id_, "--hard")
    assert refused.code == 2
    assert "--yes" in refused.err
    assert run("memory", "delete", id_, "--hard", "--yes").code == 0
    assert run("memory", "show", id_).code == 1


def test_a_deleted_memory_can_be_brought_back(run):
    id_ = add(run, "secret")
    assert f"athand memory restore {id_}" in run("memory", "delete", id_).err
    assert run("memory", "list", "--json").json == []
    assert run("memory", "restore", id_).code == 0
    assert len(run("memory", "list", "--json").json) == 1


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("memory", "show", "nope"), 1, "No memory 'nope'. See what there is with: athand memory list"),
        (("memory", "add", ""), 2, "content is empty"),
        (("memory", "add", "x" * 1_000_001), 2, "at most 1,000,000 fit"),
        (("memory", "search", "x", "--limit", "0"), 2, "'--limit': it must be a whole number from 1"),
        (("search", "x", "--min-score", "7"), 2, "'--min-score': it must be a number from 0 to 1"),
        (("search", "x", "--corpus", "films"), 2, "No corpus named films"),
        (("search", "x", "--corpus", "memory"), 2, "No corpus named memory. Did you mean memories?"),
        (("search", "x", "--corpus", "documnets"), 2, "Did you mean documents?"),
        (("memory", "add", "x", "--created-at", "soon"), 2, "is not a time"),
        (("nonsense",), 2, "No such command"),
        (("serach",), 2, "Did you mean 'search'?"),
        (("install", "claud-code"), 2, "Did you mean claude-code?"),
        (("tools", "import", "courser"), 2, "Did you mean cursor?"),
        (("memory", "list", "--sector", "reflectiv"), 2, "Did you mean reflective?"),
        (("install", "nonsense"), 2, "is not one of"),
        (("memory", "add"), 2, "Missing argument"),
    ],
)
def test_a_mistake_is_one_clear_sentence_with_the_right_exit_code(run, arguments, code, message):
    outcome = run(*arguments)
    assert outcome.code == code
    assert message in outcome.err
    assert outcome.out == ""
    assert "Traceback" not in outcome.err


def test_a_quiet_status_tells_problems_only(run):
    run("memory", "add", "x y z")
    assert run("status", "--quiet").out == ""


def test_status_checks_the_store(run):
    add(run, "something")
    shown = run("status", "--check")
    assert "memories   1 in 1 project" in shown.out
    assert "checked" in shown.out


def test_bench_measures_a_labelled_set(run, tmp_path):
    (tmp_path / "memories.jsonl").write_text(
        '{"id": "a", "content": "the vpn is needed"}\n{"id": "b", "content": "cats sleep"}\n'
    )
    (tmp_path / "queries.jsonl").write_text('{"id": "q", "query": "who needs a vpn?", "relevant": ["a"]}\n')
    assert run("bench", str(tmp_path), "--json").json["measures"]["nDCG@10"] == 1.0
    assert "nDCG@10" in run("bench", str(tmp_path)).out


def test_bench_explains_a_folder_it_cannot_read(run, tmp_path):
    assert "is no labelled set" in run("bench", str(tmp_path)).err
    (tmp_path / "memories.jsonl").write_text('{"id": "a", "content": "x"}\n')
    (tmp_path / "queries.jsonl").write_text("oops\n")
    assert "queries.jsonl line 1 is not JSON" in run("bench", str(tmp_path)).err


def test_help_teaches_and_imports_nothing_heavy():
    code = (
        "import sys; from athand.adapters.cli.main import cli\n"
        "try: cli(['--help'])\nexcept SystemExit: pass\n"
        "print([name for name in ('numpy', 'apsw', 'rich', 'tokenizers', 'mcp') if name in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "athand demo" in shown
    assert shown.strip().endswith("[]")


def test_every_command_has_help(run):
    for command in (("search",), ("memory",), ("memory", "add"), ("status",), ("reindex",), ("demo",), ("bench",)):
        shown = run(*command, "--help")
        assert shown.code == 0
        assert "Usage: athand" in shown.out


def test_a_closed_pipe_is_no_crash(tmp_path):
    environment = {**os.environ, "ATHAND_STORE": str(tmp_path / "store.db")}
    command = [sys.executable, "-c", "from athand.adapters.cli import main; main()", "memory", "list", "--json"]
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as closed:
        done = subprocess.run(command, stdout=closed, stderr=subprocess.PIPE, text=True, env=environment, check=False)
    assert "Traceback" not in done.stderr


def test_a_closed_output_is_no_crash():
    words = [sys.executable, "-c", "from athand.adapters.cli import main; main()", "config", "--json"]
    done = subprocess.run(
        ["/bin/sh", "-c", '"$@" >&- <&-', "sh", *words], stderr=subprocess.PIPE, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_colours_are_left_out_where_nobody_sees_them(run):
    add(run, "Staging deploys need the VPN")
    assert "\x1b[" not in run("search", "staging").out


def test_the_package_carries_its_model():
    import athand

    folder = Path(athand.__file__).parent / "embed" / "athand_static_1"
    assert {file.name for file in folder.iterdir()} >= {"model.safetensors", "tokenizer.json"}


def test_a_question_needs_no_quotes(run):
    id_ = add(run, "Staging deploys need the VPN", "--project", "shop")
    for words in (("search",), ("memory", "search")):
        found = run(*words, "deploys", "to", "staging", "--project", "shop", "--json").json
        assert [hit["id"] for hit in found["hits"]] == [id_]
    for group in ("docs", "tools", "flows"):
        assert run(group, "search", "deploys", "to", "staging", "--json").code == 0


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("memory", "show", "nope"), {"type": "NotFound", "exit_code": 1}),
        (("memory", "add"), {"type": "MissingParameter", "exit_code": 2}),
        (("search", "x", "--limit", "0"), {"type": "BadParameter", "exit_code": 2}),
    ],
)
def test_with_json_an_error_is_json_too(run, arguments, error):
    refused = run(*arguments, "--json")
    assert refused.out == ""
    told = json.loads(refused.err)["error"]
    assert error.items() <= told.items()
    assert told["message"]
    assert "{" not in run(*arguments).err


def test_a_mistyped_store_is_no_new_store(run, tmp_path):
    mistyped = tmp_path / "wrok.db"
    for arguments in (("search", "x"), ("memory", "list"), ("status",), ("docs", "status"), ("export", "x.zip")):
        refused = run(*arguments, "--store", str(mistyped))
        assert (refused.code, refused.out) == (1, "")
        assert f"There is no store {mistyped}" in refused.err
    assert not mistyped.exists()
    assert run("store", "init", "--store", str(mistyped)).code == 0
    assert run("memory", "list", "--store", str(mistyped), "--json").json == []


def test_what_ascii_lacks_is_replaced_in_the_output_and_escaped_in_json(run, tmp_path):
    add(run, "Café ☕ needs the VPN")
    run("memory", "add", "The café ☕ opens at nine", "--project", "shop")

    def show(encoding, *words):
        environment = {**os.environ, "PYTHONIOENCODING": encoding}
        command = [sys.executable, "-m", "athand", *words]
        return subprocess.run(command, capture_output=True, check=True, env=environment)

    for encoding in ("ascii", "latin-1"):
        shown = show(encoding, "search", "vpn")
        assert "\\u2615 needs the VPN" in shown.stdout.decode(encoding)
        assert "1 hit in" in shown.stderr.decode(encoding)
    found = json.loads(show("ascii", "search", "vpn", "--json").stdout.decode("ascii"))
    assert found["hits"][0]["item"]["content"] == "Café ☕ needs the VPN"
    for words in (("memory", "list"), ("doctor",), ("--help",)):
        show("ascii", *words).stdout.decode("ascii")
