"""Plant defects, one at a time, and see that `make test` would fail: python -m scripts.mutants [WORD ...].

Each defect is one that a user would suffer from. It is planted in a copy of the project, and the tests that should
find it are run there as `make test` runs them. Words choose the defects whose names have them.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PARTS = ("src", "tests", "docs", "benchmarks", "scripts", "pyproject.toml", "README.md", "CHANGELOG.md", "Makefile")


@dataclass(frozen=True)
class Mutant:
    """A text of a source file, the defect that takes its place, and where it should be noticed."""

    name: str
    file: str
    right: str
    wrong: str
    tests: str


MUTANTS = (
    Mutant(
        "a write does not wait for the disk",
        "store/sqlite/engine.py",
        "'FULL' if durable else 'NORMAL'",
        "'OFF'",
        "tests/faults/test_power_loss.py",
    ),
    Mutant(
        "pages of other origins may call",
        "adapters/http/middleware/auth.py",
        "if any(not self._is_own_origin(origin, hosts[0]) for origin in origins):",
        "if False:",
        "tests/adapters/test_http_guards.py tests/adapters/test_surfaces_attacks.py",
    ),
    Mutant(
        "one route needs no scope",
        "adapters/http/middleware/auth.py",
        "if rule is None or rule.scope is None or",
        'if rule is None or rule.scope is None or rule.path == "/v1/memories/update" or',
        "tests/adapters/test_http_guards.py tests/adapters/test_http_tokens.py tests/adapters/test_http_operations.py",
    ),
    Mutant("BM25 with b = 1", "rank.py", "\nB = 0.5", "\nB = 1.0", "tests/test_rank.py"),
    Mutant(
        "what is superseded stays valid",
        "memories/relations.py",
        "return _set_end(transaction, old, new.valid_from, now)",
        "return _set_end(transaction, old, None, now)",
        "tests/memories",
    ),
    Mutant(
        "the second page of a search of content begins one too late",
        "documents/content_response.py",
        "start = matches.offset_after(request.after)",
        "start = matches.offset_after(request.after) + (request.after is not None)",
        "tests/documents/test_content_paging.py",
    ),
    Mutant(
        "the second page of found documents begins one too late",
        "documents/search.py",
        "[each for each in best if _sort_key(each) > after]",
        "[each for each in best if _sort_key(each) > after][1:]",
        "tests/documents",
    ),
    Mutant(
        "the second page of a list of documents begins one too late",
        "documents/browse.py",
        "page = [to_document(row) for row in rows[:limit]]",
        'rows = rows[1:] if state["after"] else rows\n    page = [to_document(row) for row in rows[:limit]]',
        "tests/documents/test_browse.py",
    ),
    Mutant(
        "a tool that is not approved can be called",
        "tools/calls.py",
        "    if tool.block_reason is None:\n",
        "    if True:\n",
        "tests/tools/test_tools_rug_pull.py tests/tools/test_tools_calls.py",
    ),
    Mutant(
        "keys of AWS are not taken out",
        "redaction.py",
        r'    ("AWS access key", "IA", r"(?:AKIA|ASIA|ABIA)[A-Z0-9]{16}(?![A-Za-z0-9])"),' + "\n",
        "",
        "tests/test_redaction.py",
    ),
    Mutant(
        "passwords in addresses are not taken out",
        "redaction.py",
        r"""    ("password", "://", r"://[^\s:/?#@\"'<>]*:", r"[^\s/\"'<>]+(?=@[\w\[{$])"),""" + "\n",
        "",
        "tests/test_redaction.py",
    ),
    Mutant(
        "everything fits: one search", "calibration.py", "\nFLOOR = 0.08", "\nFLOOR = 0.0", "tests/test_everything.py"
    ),
    Mutant(
        "everything fits: memories",
        "memories/scoring.py",
        "\nFLOOR = 0.12\nFLOOR_OF_UNKNOWN_WORDS = 0.15",
        "\nFLOOR = 0.0\nFLOOR_OF_UNKNOWN_WORDS = 0.0",
        "tests/memories",
    ),
    Mutant("everything fits: documents", "documents/scoring.py", "\nFLOOR = 0.16", "\nFLOOR = 0.0", "tests/documents"),
    Mutant(
        "a replay clicks the second-best element",
        "flows/replay/healing.py",
        "target = unique_target(best.element, elements)",
        "target = unique_target((second or best).element, elements)",
        "tests/flows/test_flows_healing.py tests/flows/test_flows_replay.py",
    ),
)


def main() -> None:
    """Plant the defects that were named, or all; exit 1 if one of them is not noticed."""
    words = [word.lower() for word in sys.argv[1:]]
    chosen = [mutant for mutant in MUTANTS if all(word in mutant.name.lower() for word in words)]
    alive = [mutant.name for mutant in chosen if not _is_noticed(mutant)]
    print(f"{len(chosen) - len(alive)} of {len(chosen)} noticed")
    sys.exit(bool(alive))


def _is_noticed(mutant: Mutant) -> bool:
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        _plant(mutant, Path(folder))
        ran = subprocess.run(
            [sys.executable, "-m", "pytest", "-x", "-m", "not slow and not soak", *mutant.tests.split()],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": f"{folder}/src"},
            capture_output=True,
            text=True,
        )
    if ran.returncode not in (0, 1):
        sys.exit(f"The tests could not be run:\n{ran.stdout}{ran.stderr}")
    first = next((line for line in ran.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))), "NOT NOTICED")
    print(f"{mutant.name}: {first} ({time.monotonic() - began:.0f} s)", flush=True)
    return ran.returncode == 1


def _plant(mutant: Mutant, folder: Path) -> None:
    for part in PARTS:
        copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
        copy(ROOT / part, folder / part)
    (folder / ".cache").symlink_to(ROOT / ".cache")
    file = folder / "src" / "athand" / mutant.file
    text = file.read_text()
    if text.count(mutant.right) != 1:
        sys.exit(f"{mutant.file} does not have exactly once: {mutant.right}")
    file.write_text(text.replace(mutant.right, mutant.wrong))


if __name__ == "__main__":
    main()
