"""Hints say the command that is right for the way Athand was installed, and the metadata are complete."""

import sys
from pathlib import Path

import pytest

from athand.distribution import DISTRIBUTION, install_hint, upgrade_hint

SRC = Path(__file__).parents[1] / "src"


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
        path: path.read_text("utf-8") for path in (SRC / DISTRIBUTION).rglob("*.py") if path.name != "distribution.py"
    }
    assert [str(path) for path, text in texts.items() if any(each in text for each in commands)] == []
