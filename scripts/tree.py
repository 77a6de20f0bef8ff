"""Write the tree of AGENTS.md anew, one line a file, from the first sentence of each module: python -m scripts.tree."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "athand"
PAGE = ROOT / "AGENTS.md"
BEGIN, END = "<!-- tree -->\n", "<!-- end of tree -->"
_NAMES = 34  # columns for the name of a file


def summary(path: Path) -> str:
    """The first sentence of a module's docstring, without its full stop."""
    text = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    first = " ".join(text.split("\n\n")[0].split())
    return first.split(". ")[0].removesuffix(".")


def lines(folder: Path, depth: int = 0) -> Iterator[str]:
    """The modules of a package, then its packages, each with its summary."""
    modules = sorted(path for path in folder.glob("*.py") if path.name != "__init__.py")
    for path in modules:
        yield f"{'  ' * depth + path.name:{_NAMES}}{summary(path)}"
    for inner in sorted(path.parent for path in folder.glob("*/__init__.py")):
        yield f"{'  ' * depth + inner.name + '/':{_NAMES}}{summary(inner / '__init__.py')}".rstrip()
        yield from lines(inner, depth + 1)


def page() -> str:
    """AGENTS.md with the tree as it should be."""
    before, rest = PAGE.read_text("utf-8").split(BEGIN)
    after = rest.split(END)[1]
    return f"{before}{BEGIN}```\n" + "\n".join(lines(PACKAGE)) + f"\n```\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
