"""Hints say the command that is right for the way Athand was installed, and the metadata are complete."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import athand
from athand.distribution import DISTRIBUTION, install_hint, upgrade_hint

ROOT = Path(__file__).parents[1]
OLD_NAME = re.compile("(?<!sto)recol" + "lect", re.IGNORECASE)  # not StoreCollector


@pytest.fixture
def prefix(tmp_path, monkeypatch):
    """The folder of an environment that Athand runs in, still empty."""
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    return tmp_path


@pytest.fixture
def pipx(prefix):
    (prefix / "pipx_metadata.json").write_text('{"main_package": {"package": "athand"}}', "utf-8")


@pytest.fixture
def uv(prefix):
    (prefix / "uv-receipt.toml").write_text('[tool]\nrequirements = [{ name = "athand" }]\n', "utf-8")


def test_in_a_virtual_environment_pip_installs_an_extra_and_upgrades(prefix):
    assert install_hint("browser") == "pip install 'athand[browser]'"
    assert upgrade_hint() == "pip install --upgrade athand"


@pytest.mark.usefixtures("pipx")
def test_what_pipx_installed_gets_the_packages_of_an_extra_injected():
    assert install_hint("browser") == "pipx inject athand playwright"
    assert sorted(install_hint("onnx").split()) == sorted("pipx inject athand onnxruntime huggingface-hub".split())
    assert upgrade_hint() == "pipx upgrade athand"


@pytest.mark.usefixtures("pipx")
def test_a_package_with_extras_of_its_own_keeps_them_and_is_quoted_for_the_shell():
    assert install_hint("postgres") == "pipx inject athand 'psycopg[binary,pool]'"


@pytest.mark.usefixtures("uv")
def test_a_tool_of_uv_is_installed_again_with_the_extra():
    assert install_hint("browser") == "uv tool install 'athand[browser]'"
    assert upgrade_hint() == "uv tool upgrade athand"


@pytest.mark.usefixtures("pipx")
def test_an_extra_without_packages_is_left_to_pip():
    assert install_hint("unheard-of") == "pip install 'athand[unheard-of]'"


def test_no_module_writes_such_a_command_itself():
    commands = ("pip install", "pipx ", "uv tool")
    texts = {
        path: path.read_text("utf-8")
        for path in (ROOT / "src" / DISTRIBUTION).rglob("*.py")
        if path.name != "distribution.py"
    }
    assert [str(path) for path, text in texts.items() if any(each in text for each in commands)] == []


@pytest.fixture(scope="module")
def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def test_the_name_and_the_version_are_written_alike_everywhere(project):
    assert (project["name"], project["version"]) == (DISTRIBUTION, athand.__version__)
    assert list(project["scripts"]) == [DISTRIBUTION]


def test_an_index_of_packages_can_show_who_wrote_it_where_it_is_and_what_it_does(project):
    assert [author["name"] for author in project["authors"]] == ["The Athand authors"]
    assert 40 <= len(project["description"]) <= 100
    assert set(project["urls"]) == {"Homepage", "Source", "Issues", "Changelog"}
    assert all(url.startswith("https://") and f"/{DISTRIBUTION}" in url for url in project["urls"].values())


def test_classifiers_and_keywords_say_whom_it_is_for_and_what_it_runs_on(project):
    groups = {classifier.partition(" :: ")[0] for classifier in project["classifiers"]}
    assert groups >= {
        "Development Status",
        "Intended Audience",
        "Operating System",
        "Programming Language",
        "Topic",
        "Typing",
    }
    assert project["license"] == "MIT", "the licence is an SPDX expression, so that no classifier names it again"
    assert "License" not in groups
    assert {"agents", "memory", "search", "mcp"} <= set(project["keywords"])
    assert len(set(project["keywords"])) == len(project["keywords"])


def test_the_files_that_the_metadata_name_are_there(project):
    assert all((ROOT / name).is_file() for name in (project["readme"], *project["license-files"], "CHANGELOG.md"))


def test_no_file_bears_the_former_name():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True)
    if listed.returncode:
        pytest.skip("only a checkout knows which files are tracked")
    names = [name for name in listed.stdout.decode().split("\0") if name]
    assert [name for name in names if OLD_NAME.search(name)] == []
    assert [name for name in names if _mentions_old_name(ROOT / name)] == []


def _mentions_old_name(path):
    content = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
    return b"\0" not in content[:8192] and OLD_NAME.search(content.decode("utf-8", "replace")) is not None
