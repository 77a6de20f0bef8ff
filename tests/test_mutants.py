"""The planted defects of `make mutants` can be planted: a change of the code takes them along."""

import ast

import pytest
from scripts import mutants
from scripts.mutants import ROOT, read_mutants

MUTANTS = read_mutants()


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name.replace(" ", "_"))
def test_a_planted_defect_fits_the_code_and_names_tests_that_exist(mutant):
    planted = mutant.apply(ROOT)
    assert planted != (ROOT / mutant.file).read_text("utf-8")
    if mutant.file.endswith(".py"):
        ast.parse(planted)
    assert mutant.tests
    for test in mutant.tests:
        file, *names = test.partition("[")[0].split("::")
        text = (ROOT / file).read_text("utf-8")
        assert all(f"def {name}(" in text or f"class {name}:" in text for name in names)


def test_planted_defects_have_names_of_their_own():
    names = [mutant.name for mutant in MUTANTS]
    assert len(names) == len(set(names))


HANGS = "import time\n\nimport pytest\n\n\n{}def test_it():\n    time.sleep(3600)\n"


@pytest.mark.parametrize(
    ("limit", "verdict"),
    [("@pytest.mark.timeout(0.5)\n", "it hangs: noticed"), ("", "it hangs: DID NOT END")],
    ids=["with its own limit", "without"],
)
def test_a_defect_that_hangs_is_noticed_only_by_a_test_with_a_limit_of_its_own(
    tmp_path, monkeypatch, capsys, limit, verdict
):
    monkeypatch.setattr(mutants, "SECONDS", 60.0 if limit else 5.0)
    (tmp_path / "pytest.ini").write_text("[pytest]\ntimeout = 0.5\nmarkers = slow\n soak\n")
    (tmp_path / "test_hangs.py").write_text(HANGS.format(limit))
    (tmp_path / "right.txt").write_text("right")
    defect = mutants.Mutant("it hangs", "right.txt", "right", "wrong", ("test_hangs.py::test_it",))
    assert mutants._is_noticed(defect, tmp_path) is bool(limit)
    assert capsys.readouterr().out.startswith(verdict)
    assert (tmp_path / "right.txt").read_text() == "right"
