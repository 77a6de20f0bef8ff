"""The protocol's own conformance suite: all passes but what needs tools and prompts of the suite's own servers."""

import json
import re
import subprocess
from pathlib import Path

import pytest
from tests.adapters.mcp_kit import gateway, opened
from tests.tools.node import node, package

PAGE = Path(__file__).parents[2] / "docs" / "mcp-conformance.md"
# Which edition is run for which version of the protocol; a run has the scenarios of earlier versions too.
RUNS = (
    ("@modelcontextprotocol/conformance", "2025-11-25"),
    ("conformance-next", "2025-11-25"),
    ("conformance-next", "2026-07-28"),
)
# How a check fails that needs something of the suite's own; subscribing is not offered for anything.
OWN = re.compile(
    r"test_|test://|json_schema_2020_12_tool|Not testable|initial InputRequiredResult|inputRequests and requestState"
)
SUBSCRIBING = {"resources-subscribe", "resources-unsubscribe"}


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    """The suite sends no token: the gateway takes it for the owner, and checks all else."""
    folder = tmp_path_factory.mktemp("conformance")
    with (
        opened(folder) as workspace,
        gateway(workspace, folder / "tokens", trusting=True, toolsets=["all"]) as (url, _),
    ):
        yield url


@pytest.fixture(scope="module")
def outcome(url, tmp_path_factory):
    """The checks of every scenario of every run that did not succeed."""
    return {run: conclude(url, *run, tmp_path_factory.mktemp("run")) for run in RUNS}


def suite(name, *words):
    command = [node(), str(package(name) / "dist" / "index.js"), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=240).stdout


def conclude(url, name, version, folder):
    suite(name, "server", "--url", url, "--suite", "all", "--spec-version", version, "--output-dir", str(folder))
    found = {}
    for file in folder.glob("*/checks.json"):
        scenario = re.sub(r"^server-|-\d{4}-\d\d-\d\dT[\d-]+Z$", "", file.parent.name)
        found[scenario] = [check for check in json.loads(file.read_text()) if check["status"] == "FAILURE"]
    return found


def documented():
    """The scenarios that the page says are not passed."""
    return set(re.findall(r"^\| `([\w-]+)` \|", PAGE.read_text("utf-8"), re.MULTILINE))


def scenarios(name):
    return set(re.findall(r"^  - ([\w-]+)", suite(name, "list", "--server"), re.MULTILINE))


def test_the_page_names_exactly_what_is_not_passed(outcome):
    names = {*scenarios(RUNS[0][0]), *scenarios(RUNS[-1][0])}
    failed = {scenario for found in outcome.values() for scenario, checks in found.items() if checks}
    not_run = names - {scenario for found in outcome.values() for scenario in found}
    assert len(names) > 60 and documented() == failed | not_run


def test_what_is_not_passed_needs_something_of_the_suites_own(outcome):
    for run, found in outcome.items():
        for scenario, checks in found.items():
            for check in checks:
                assert scenario in SUBSCRIBING or OWN.search(check.get("errorMessage", "")), (run, scenario, check)


def test_all_runs_have_run(outcome):
    assert [len(found) for found in outcome.values()] == [32, 33, 40]
