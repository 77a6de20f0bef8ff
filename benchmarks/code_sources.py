"""Sources of well-known packages, in pinned versions, to ask questions of; kept in a cache, never in the repository."""

import hashlib
import re
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urljoin
from urllib.request import urlopen

from benchmarks.data import CACHE

SOURCES = CACHE / "sources"
_SECONDS = 180


@dataclass(frozen=True)
class Package:
    """One pinned archive; `keep` names the folders and files to unpack, all if it is empty."""

    name: str
    version: str
    registry: str
    sha256: str
    keep: tuple[str, ...] = ()


CODE = (
    Package("requests", "2.32.5", "pypi", "dbba0bac56e100853db0ea71b82b4dfd5fe2bf6d3754a8893c3af500cec7d7cf"),
    Package("click", "8.3.1", "pypi", "12ff4785d337a1bb490bb7e9c2b1ee5da3112e94a8622f26a6c77f5d2fc6842a"),
    Package("express", "4.21.2", "npm", "fc43a91e7dc7affb53c6ad7123a4f35485ed3c45226ae7a3847b7738e783e008"),
    Package("flask", "3.1.2", "pypi", "bf656c15c80190ed628ad08cdfd3aaa35beb087855e2f494910aa3774cc4fd87"),
    Package(
        "axios",
        "1.13.2",
        "npm",
        "6b4421f0d98e874f7151a88741d3aff2014b8f31e80aef2efa83bfb88662adec",
        ("lib", "README.md", "CHANGELOG.md", "index.js", "index.d.ts", "package.json"),
    ),
    Package("hiredis", "3.3.0", "pypi", "105596aad9249634361815c574351f1bd50455dc23b537c2940066c4a9dea685"),
    Package("pydantic-core", "2.41.5", "pypi", "08daa51ea16ad373ffd5e7606252cc32f07bc72b28284b6bc9c6df804816476e"),
    Package("httpx", "0.28.1", "pypi", "75e98c5f16b0f35b567856f597f06ff2270a374470a5c2392242528e3e3e42fc"),
    Package("rich", "14.3.4", "pypi", "817e02727f2b25b40ef56f5aa2217f400c8489f79ca8f46ea2b70dd5e14558a9"),
    Package(
        "zod",
        "4.1.12",
        "npm",
        "2ef9d7a7d822b059c9bd21f87caa4fdc48220d437353678984df942fb67b43fa",
        ("src/v4", "README.md", "package.json"),
    ),
    Package("commander", "14.0.2", "npm", "09106ecd2c62a34c8bc466d5b46096e383e474af120a6295dcd0473e45b6c2f1"),
)
PAGES = (
    Package("hatch", "1.15.1", "pypi", "444a78123c9837e8c9f5adfbf2b8b0a72139587eb49d6b368038b0521136fc43", ("docs",)),
    Package(
        "django-ninja", "1.4.5", "pypi", "aa1a2ee2b22c5f1c2f4bfbc004386be7074cbfaf133680c2b359a31221965503", ("docs",)
    ),
    Package(
        "starlette", "0.50.0", "pypi", "a2a17b22203254bcbc2e1f926d2d55f3f9497f769416b3190768befe598fa3ca", ("docs",)
    ),
    Package("scrapy", "2.13.4", "pypi", "e09bce40c56b56f9f86b0d078a0e5cdd08283c83076170ce7a8eec7189ac2493", ("docs",)),
    Package("celery", "5.5.3", "pypi", "6c972ae7968c2b5281227f01c3a3f984037d21c5129d07bf3550cc2afc6b10a5", ("docs",)),
)


def fetch(cache: Path = SOURCES, packages: tuple[Package, ...] = CODE + PAGES) -> dict[str, Path]:
    """The folder of each package's sources by its name; what the cache lacks is downloaded."""
    return {package.name: _present(cache, package) for package in packages}


def _present(cache: Path, package: Package) -> Path:
    folder = cache / f"{package.name}-{package.version}"
    if not folder.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as unfinished:
            archive = _download(package, Path(unfinished))
            # Under its own name only when complete: an interrupted download must not be taken for the sources.
            _unpack(archive, Path(unfinished) / "sources", package.keep).rename(folder)
    return folder


def _download(package: Package, folder: Path) -> Path:
    archive = _from_npm(package, folder) if package.registry == "npm" else _from_pypi(package, folder)
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    if digest != package.sha256:
        raise SystemExit(f"{package.name} {package.version}: the archive's sha256 is {digest}, not the pinned one.")
    return archive


def _from_npm(package: Package, folder: Path) -> Path:
    npm = shutil.which("npm")
    if npm is None:
        raise SystemExit(f"npm is missing, and {package.name} comes from there. Install Node.js, then try again.")
    command = [npm, "pack", "--silent", f"{package.name}@{package.version}"]
    subprocess.run(command, cwd=folder, check=True, timeout=_SECONDS, capture_output=True)
    return next(folder.glob("*.tgz"))


def _from_pypi(package: Package, folder: Path) -> Path:
    """The archive as it is: `pip download` would run the package's own build to learn its name."""
    from pip._internal.models.index import PyPI  # pip knows where its registry is; no address is written here

    index = f"{PyPI.simple_url}/{package.name}/"
    name = f"{package.name.replace('-', '_')}-{package.version}.tar.gz"
    link = re.search(rf'href="([^"#]+/{re.escape(name)})[#"]', _read(index).decode())
    if link is None:
        raise SystemExit(f"The registry has no {name}.")
    archive = folder / name
    archive.write_bytes(_read(urljoin(index, link[1])))
    return archive


def _read(address: str) -> bytes:
    with urlopen(address, timeout=_SECONDS) as answer:
        return bytes(answer.read())


def _unpack(archive: Path, folder: Path, keep: tuple[str, ...]) -> Path:
    """Every archive has one folder around everything; it is taken off."""
    with tarfile.open(archive) as bundle:
        # The data filter refuses names and links that lead out of the folder, devices, and odd permissions.
        bundle.extractall(folder, members=_members(bundle, keep), filter="data")
    return folder


def _members(bundle: tarfile.TarFile, keep: tuple[str, ...]) -> Iterator[tarfile.TarInfo]:
    for member in bundle:
        inner = member.name.partition("/")[2]
        wanted = not keep or any(inner == name or inner.startswith(f"{name}/") for name in keep)
        if member.isfile() and inner and wanted:
            yield member.replace(name=inner)


if __name__ == "__main__":
    for name, path in fetch().items():
        print(f"{name:16} {path}")
