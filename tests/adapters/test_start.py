"""What starts quickly: which modules a command imports before it answers."""

import os
import subprocess
import sys

import pytest

SDK = {"mcp", "mcp_types", "pydantic", "fastapi", "starlette", "uvicorn", "httpx", "httpx2", "anyio"}
ENGINE = {"numpy", "apsw", "tokenizers", "rapidfuzz", "athand.app"}
FOR_OTHER_WORK = {
    "athand.tools.poisoning.scan",
    "athand.documents.chunking",
    "jsonschema",
    "rich.progress",
    "onnxruntime",
    "playwright",
    "psycopg",
    "watchfiles",
    "asyncio",
}


@pytest.fixture
def home(tmp_path):
    """The environment of somebody who has a store."""
    environment = {**os.environ, "ATHAND_HOME": str(tmp_path / "home")}
    add = [sys.executable, "-m", "athand", "memory", "add", "Staging deploys need the VPN"]
    subprocess.run(add, env=environment, cwd=tmp_path, check=True, capture_output=True, timeout=120)
    return environment


def imported(home, *arguments, cwd):
    """What a command prints, and the modules that it has imported in the end."""
    command = [sys.executable, "-X", "importtime", "-m", "athand", *arguments]
    ran = subprocess.run(command, env=home, cwd=cwd, check=True, capture_output=True, text=True, timeout=120)
    lines = [line for line in ran.stderr.splitlines() if line.startswith("import time:")]
    return ran.stdout, {line.rpartition("|")[2].strip() for line in lines}


def test_the_version_is_said_without_the_engine_and_without_what_draws_tables(home, tmp_path):
    said, modules = imported(home, "--version", cwd=tmp_path)
    assert "version" in said and "click" in modules
    assert modules.isdisjoint({*SDK, *ENGINE, *FOR_OTHER_WORK, "rich"})


def test_a_search_imports_neither_the_sdk_nor_what_reads_files_and_judges_tools(home, tmp_path):
    said, modules = imported(home, "search", "how do I deploy to staging?", cwd=tmp_path)
    assert "VPN" in said and "numpy" in modules
    assert modules.isdisjoint({*SDK, *FOR_OTHER_WORK})


def test_a_search_for_programs_imports_nothing_that_draws_tables(home, tmp_path):
    said, modules = imported(home, "search", "deploy", "--json", cwd=tmp_path)
    assert "VPN" in said
    assert "rich" not in modules
