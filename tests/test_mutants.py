"""The planted defects of `make mutants` can be planted: a change of the code takes them along."""

import ast

import pytest
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
