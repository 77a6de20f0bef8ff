"""Plant defects, one at a time, and see that the tests notice: python -m scripts.mutants [WORD ...], or make mutants.

Each defect is one that a user would suffer from. `scripts/defects/*.toml` names it, the text of a file, what takes its
place, and the tests that must fail then. First these tests pass as the project is; then each defect is planted in a
copy of the project, and every test that it names must fail there. Words choose the defects whose names have them.
A test that has a time limit of its own may fail by it; where there is none, a defect that hangs is not noticed.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PARTS = ("src", "tests", "docs", "benchmarks", "scripts", "pyproject.toml", "README.md", "CHANGELOG.md", "Makefile")
NOTICED = "noticed"
SECONDS = 600.0  # that the tests of one defect may take


@dataclass(frozen=True)
class Mutant:
    """A text that a file has once, the defect that takes its place, and the tests that must fail then."""

    name: str
    file: str
    right: str
    wrong: str
    tests: tuple[str, ...]

    def apply(self, root: Path) -> str:
        """The text of the file with the defect in it."""
        text = (root / self.file).read_text("utf-8")
        if text.count(self.right) != 1:
            raise ValueError(f"{self.name}: {self.file} does not have exactly once: {self.right}")
        return text.replace(self.right, self.wrong)


def read_mutants() -> list[Mutant]:
    """All defects, in the order of their files."""
    files = sorted((ROOT / "scripts" / "defects").glob("*.toml"))
    rows = [row for file in files for row in tomllib.loads(file.read_text("utf-8"))["mutant"]]
    return [Mutant(**{**row, "tests": tuple(row["tests"])}) for row in rows]


def main() -> None:
    """Plant the defects that were named, or all; exit 1 if one of them is not noticed."""
    words = [word.lower() for word in sys.argv[1:]]
    chosen = [mutant for mutant in read_mutants() if all(word in mutant.name.lower() for word in words)]
    with tempfile.TemporaryDirectory() as folder:
        copy = _copy_project(Path(folder))
        if failed := _failures(copy, {test for mutant in chosen for test in mutant.tests}):
            sys.exit("These tests fail without any defect:\n" + "\n".join(failed))
        alive = [mutant for mutant in chosen if not _is_noticed(mutant, copy)]
    print(f"{len(chosen) - len(alive)} of {len(chosen)} noticed")
    sys.exit(bool(alive))


def _copy_project(folder: Path) -> Path:
    for part in PARTS:
        copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
        copy(ROOT / part, folder / part)
    (folder / ".cache").symlink_to(ROOT / ".cache")
    return folder


def _is_noticed(mutant: Mutant, copy: Path) -> bool:
    began = time.monotonic()
    file = copy / mutant.file
    right = file.read_text("utf-8")
    file.write_text(mutant.apply(copy), "utf-8")
    try:
        verdict = _judge(mutant, _failures(copy, mutant.tests, SECONDS))
    except subprocess.TimeoutExpired:
        verdict = "DID NOT END"
    file.write_text(right, "utf-8")
    print(f"{mutant.name}: {verdict} ({time.monotonic() - began:.0f} s)", flush=True)
    return verdict == NOTICED


def _judge(mutant: Mutant, failed: Iterable[str]) -> str:
    passed = [test for test in mutant.tests if not any(_is_of(each, test) for each in failed)]
    return f"NOT NOTICED by {', '.join(passed)}" if passed else NOTICED


def _failures(copy: Path, tests: Iterable[str], seconds: float | None = None) -> list[str]:
    # The limit of pytest for every test is off: only a test with a limit of its own fails by time.
    command = [sys.executable, "-m", "pytest", "-rfE", "--tb=no", "-o", "timeout=0", "-m", "not slow and not soak"]
    env = {**os.environ, "PYTHONPATH": f"{copy}/src"}
    with tempfile.TemporaryFile("w+", encoding="utf-8") as output:
        process = subprocess.Popen(
            [*command, *sorted(tests)], cwd=copy, env=env, stdout=output, stderr=output, start_new_session=True
        )
        try:
            code = process.wait(seconds)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        output.seek(0)
        said = output.read()
    if code not in (0, 1):
        sys.exit(f"The tests could not be run:\n{said}")
    lines = [line.split(" ", 1) for line in said.splitlines()]
    return [line[1] for line in lines if line[0] in ("FAILED", "ERROR")]


def _is_of(failure: str, test: str) -> bool:
    """Whether a failed test is the named one, one of its cases, or one of the named class or file."""
    return failure.split(" - ")[0] == test or failure.startswith((f"{test}[", f"{test}::"))


if __name__ == "__main__":
    main()
