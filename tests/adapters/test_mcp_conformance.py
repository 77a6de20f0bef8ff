"""The protocol's own conformance suite: all passes but what needs tools and prompts of the suite's own servers."""

import json
import re
import subprocess
from functools import cache
from pathlib import Path

import pytest
from tests.adapters.mcp_kit import gateway, opened
from tests.tools.node import node, package
from tests.waiting import PATIENCE

PAGE = Path(__file__).parents[2] / "docs" / "mcp-conformance.md"
STABLE, NEXT = "@modelcontextprotocol/conformance", "conformance-next"
# Which edition is run for which version of the protocol, and how many scenarios that has; some are of earlier versions.
RUNS = {(STABLE, "2025-11-25"): 32, (NEXT, "2025-11-25"): 33, (NEXT, "2026-07-28"): 40}
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
    """Runs an edition, once; the checks of every scenario that did not succeed."""

    @cache
    def outcome(name, version):
        return conclude(url, name, version, tmp_path_factory.mktemp("run"))

    return outcome


def suite(name, *words):
    command = [node(), str(package(name) / "dist" / "index.js"), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=2 * PATIENCE).stdout


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


@pytest.mark.parametrize(
    ("name", "version"),
    [
        pytest.param(STABLE, "2025-11-25", marks=pytest.mark.slow),
        pytest.param(NEXT, "2025-11-25", marks=pytest.mark.slow),
        (NEXT, "2026-07-28"),
    ],
)
def test_what_is_not_passed_is_on_the_page_and_needs_something_of_the_suites_own(outcome, name, version):
    found = outcome(name, version)
    assert len(found) == RUNS[name, version]
    assert {scenario for scenario, checks in found.items() if checks} <= documented()
    for scenario, checks in found.items():
        for check in checks:
            assert scenario in SUBSCRIBING or OWN.search(check.get("errorMessage", "")), (scenario, check)


@pytest.mark.slow
def test_the_page_names_exactly_what_is_not_passed(outcome):
    found = [outcome(*run) for run in RUNS]
    names = scenarios(STABLE) | scenarios(NEXT)
    failed = {scenario for each in found for scenario, checks in each.items() if checks}
    not_run = names - {scenario for each in found for scenario in each}
    assert len(names) > 60 and documented() == failed | not_run
