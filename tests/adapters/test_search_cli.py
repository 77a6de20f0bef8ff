"""How the search over everything looks."""

import pytest
from rich.cells import cell_len

from athand import Athand


@pytest.fixture
def full(run, tmp_path):
    """A store with memories, a folder and a tool; `run` runs commands on it."""
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "deploy.md").write_text("# Deploying\n\nRun `make release`, then deploy to staging.\n")
    with Athand(tmp_path / "store.db") as opened:
        opened.memories.add("Staging deploys need the VPN and a fresh token, production deploys do not", project="shop")
        opened.memories.add("We deploy to staging on Tuesdays", project="shop")
        opened.documents.add(tmp_path / "notes", folder_id="notes")
        opened.tools.add("ci", [{"name": "trigger_pipeline", "description": "Deploys a branch to staging."}])
    return run


def test_each_hit_shows_score_kind_name_and_origin_with_its_reasons_in_one_line(full):
    shown = full("search", "how do I deploy to staging?").out
    heads = [line for line in shown.splitlines() if line.lstrip()[:2] in ("0.", "1.")]
    assert {line.split()[1] for line in heads} == {"memory", "document", "tool"}
    tool = next(line for line in heads if " tool " in line)
    assert "ci__trigger_pipeline" in tool
    assert tool.rstrip().endswith("server ci")
    assert shown.count("keyword █") == len(heads)
    assert "common scale" not in shown


def test_the_last_lines_tell_where_the_hits_are_and_what_was_searched(full):
    *_, places, searched = full("search", "deploy to staging", "--limit", "2").err.splitlines()
    assert "project shop 2" in places
    assert "folder notes 1" in places
    assert "server ci 1" in places
    assert searched.startswith(" 2 of 4 hits in ")
    assert searched.endswith("· memories 2 · documents 1 file (fresh) · tools 1")


@pytest.mark.parametrize("width", ["60", "80", "120"])
def test_no_line_is_wider_than_the_terminal(full, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", width)
    for options in ((), ("--explain",)):
        shown = full("search", "how do I deploy to staging?", *options).out
        assert max(map(cell_len, shown.splitlines())) <= int(width)


def test_explaining_tells_what_the_common_scale_did(full):
    shown = full("search", "how do I deploy to staging?", "--explain").out
    assert shown.count("common scale") == shown.count("total")


def test_where_nothing_fits_the_next_step_is_a_command(full):
    nothing = full("search", "qwxyz zzgrmpf")
    assert nothing.out == ""
    assert "Nothing fits" in nothing.err
    assert "athand search 'qwxyz zzgrmpf' --min-score 0" in nothing.err
    assert "--min-score" not in full("search", "qwxyz zzgrmpf", "--min-score", "0").err
